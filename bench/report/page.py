"""The report of a run: one self-contained HTML file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from axiomjit.bench.report.chart_ratios import ratio_bars
from axiomjit.bench.report.chart_roofline import bound_strip, roofline, work_table
from axiomjit.bench.report.chart_times import STAGES, compile_curves, size_curves, stage_time
from axiomjit.bench.report.controls import controls, each
from axiomjit.bench.report.footnotes import Footnotes
from axiomjit.bench.report.markup import Markup, join, tag
from axiomjit.bench.report.page_frame import Section, document, write
from axiomjit.bench.report.page_summary import cautions, summary
from axiomjit.bench.report.page_table import case_table
from axiomjit.bench.report.plots import folded, table
from axiomjit.bench.report.units import count, count_things, count_threads, memory, seconds
from axiomjit.bench.suite.ranking import Ranking, rivals
from axiomjit.bench.suite.records import OURS, Case, Environment, Limits, Result

COLOURS: Final = 9
"""The number of colours in page.css; further peers share them."""


def write_page(result: Result, path: Path) -> None:
    """Write the report of a run as one self-contained HTML file.

    Raises:
        BenchError: the file cannot be written.
    """
    write(page(result), path)


def page(result: Result) -> Markup:
    """Return the report of a run as HTML."""
    rankings = {threads: Ranking(result, threads) for threads in result.threads}
    peers = rivals(result)
    colours = {name: f"c{k % COLOURS}" for k, name in enumerate((OURS, *peers))}
    small = _small(rankings, colours)
    parts: list[Section | Markup] = [
        summary(result, tuple(rankings.values())),
        controls(result.threads, (case.group for case in result.cases), peers),
        _table(result, rankings),
        _bars(rankings, colours),
        _machine(result, rankings),
        _compile(result.cases, colours),
        *([small] if small else []),
        _environment(result),
    ]
    return document("axiomjit benchmark", _about(result), parts, cautions(result))


def _about(result: Result) -> list[str]:
    """Return two lines that say what was measured."""
    env, cases = result.environment, count_things(len(result.cases), "case")
    versions = ", ".join(f"{name} {env.versions[name]}" for name in env.versions)
    return [
        f"{env.cpu}, {env.cores} cores · {_moment(env)} · {cases}",
        f"{versions}, Python {env.python} · commit {_commit(env)} · load {env.load_start:.2f} to "
        f"{env.load_end:.2f}",
    ]


def _moment(env: Environment) -> str:
    return env.date[:16].replace("T", " ") + " UTC"


def _commit(env: Environment) -> str:
    return env.commit[:10] if env.commit else "unknown"


def _table(result: Result, rankings: Mapping[int, Ranking]) -> Section:
    words = (
        "Axiomjit's time divided by the peer's, with its 95 % interval: ▲ is a loss, ≈ is level, "
        "a letter stands for the reason, below, of a case without a time. Press a heading to sort."
    )
    notes = Footnotes(result, (peer.name for peer in result.peers))
    tables = each(rankings, lambda ranking: case_table(ranking, notes), "No cases.")
    lines = [tag("li", tag("b", note.letter), f" {note.what}: {note.why}") for note in notes.notes]
    below = tag("ul", *lines, class_="notes small quiet") if lines else None
    return Section("cases", "Cases, losses first", join(tag("p", words), tables, below))


def _bars(rankings: Mapping[int, Ranking], colours: Mapping[str, str]) -> Section:
    words = (
        "Bars to the left of 1: axiomjit is faster; to the right: the peer. Thin lines are 95 % "
        "intervals, a bar with a gap goes on beyond the axis."
    )
    bars = each(rankings, lambda ranking: ratio_bars(ranking, colours), "No ratios.")
    return Section("ratios", "Ratios case by case", join(tag("p", words), bars))


def _machine(result: Result, rankings: Mapping[int, Ranking]) -> Section:
    limits = {limit.threads: limit for limit in result.limits}
    words = (
        "Operations and bytes are those that axiomjit's plan of a case counts. The roofs were "
        "measured in the same run: bandwidth by a triad over working sets of several sizes, "
        "arithmetic by fused multiply-adds."
    )
    shares = (
        "The least time that memory and arithmetic allow, divided by the time taken; above 100 % "
        "where caches beat the triad."
    )

    def draw(ranking: Ranking) -> Markup | None:
        strip = bound_strip(ranking)
        if strip is None:
            return None
        roofs = roofline(ranking, limits.get(ranking.threads))
        numbers = folded("The numbers", work_table(ranking))
        return join(roofs, tag("h3", "Share of the bound"), tag("p", shares), strip, numbers)

    plots = each(rankings, draw, "No case has both a plan and a time.")
    return Section("machine", "Against the machine", join(tag("p", words), plots))


def _compile(cases: Sequence[Case], colours: Mapping[str, str]) -> Section:
    rows = []
    for case in cases:
        for peer in colours:
            times = [stage_time(case.run(peer), stage) for stage in STAGES]
            if any(time is not None for time in times):
                rows.append([case.name, peer, *(_time(time) for time in times)])
    head = ["case", "peer", *(stage.title.lower() for stage in STAGES)]
    words = (
        "How many cases are ready after how long. A curve that ends below 100 % belongs to a peer "
        "that does not run all cases."
    )
    curves = compile_curves(cases, colours) or tag("p", "No case has these times.", class_="quiet")
    numbers = folded("The numbers", table(head, rows, "Compile times by case and peer"))
    return Section("compile", "Before the first result", join(tag("p", words), curves, numbers))


def _time(value: float | None) -> str:
    return "–" if value is None else seconds(value)


def _small(rankings: Mapping[int, Ranking], colours: Mapping[str, str]) -> Section | None:
    if not any(case.series for ranking in rankings.values() for case in ranking.cases):
        return None

    def draw(ranking: Ranking) -> Markup | None:
        drawn = size_curves(ranking, colours)
        if drawn is None:
            return None
        rows = []
        for case in sorted(ranking.cases, key=lambda case: (case.series, case.size)):
            found = [ranking.time(case, peer) for peer in colours]
            if case.series and any(found):
                times = [_time(t.median_s if t else None) for t in found]
                rows.append([case.name, case.size, *times])
        numbers = table(["case", "elements", *colours], rows, "Time of a call by size and peer")
        return join(drawn, folded("The numbers", numbers))

    words = "Time of one call against the number of elements: what a call costs by itself."
    plots = each(rankings, draw, "No times.")
    return Section("small", "Small arrays", join(tag("p", words), plots))


def _environment(result: Result) -> Section:
    env, minutes = result.environment, result.wall_s / 60
    rows = {
        "Processor": f"{env.cpu}, {env.cores} cores",
        "Features": env.features,
        "Machine": env.machine,
        "Memory": memory(env.memory_bytes),
        "Governor": env.governor or "unknown",
        "Load": f"{env.load_start:.2f} at the start, {env.load_end:.2f} at the end",
        "System": f"{env.os}, Python {env.python}",
        "BLAS": env.blas,
        "Versions": ", ".join(f"{name} {version}" for name, version in env.versions.items()),
        "Thread limits": ", ".join(f"{k}={v}" for k, v in env.thread_limits.items()) or "none",
        "Commit": f"{env.commit or 'unknown'}{', with changes' if env.modified else ''}",
        "Run": f"{_moment(env)}, {minutes:.0f} min, seed {result.seed}"
        + (", quick" if result.quick else ""),
    }
    rows |= {f"Limits, {count_threads(part.threads)}": _limits(part) for part in result.limits}
    entries = [join(tag("dt", name), tag("dd", text)) for name, text in rows.items()]
    peers = [
        [p.name, p.version or "–", p.status, _time(p.import_s), p.reason] for p in result.peers
    ]
    head = ["peer", "version", "status", "import", "reason"]
    numbers = folded("The peers", table(head, peers, "Peers of this run"))
    return Section("environment", "Where and how", join(tag("dl", *entries), numbers))


def _limits(limits: Limits) -> str:
    triads = [f"{count(t.bytes_per_s, 'B/s')} over {memory(t.bytes)}" for t in limits.triads]
    peaks = [
        f"{dtype} {count(peak, 'flop/s') if peak else 'not measured'}"
        for dtype, peak in limits.flops_per_s.items()
    ]
    return f"triad {', '.join(triads)}; multiply-add {', '.join(peaks)}"
