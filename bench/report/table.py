"""Results and cases as text tables, losses first."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from axiomjit.bench.report.footnotes import Footnotes
from axiomjit.bench.report.units import (
    count_things,
    count_threads,
    digits,
    memory,
    seconds,
    shorten,
)
from axiomjit.bench.suite.ranking import LOSS, Ranking
from axiomjit.bench.suite.records import NUMPY, OK, OURS, Case, Result, Timing
from axiomjit.bench.suite.workload import Workload, facts

SHORT: Final = 60
LEFT_OUT: Final = ("dtype", "memory")
"""Columns that the README's table leaves out."""
Rows = list[list[str]]


def list_cases(workloads: Iterable[Workload]) -> str:
    """Return a line per case: name, group, elements and dtype of its arguments, its function."""
    rows = []
    for w in workloads:
        size, dtype = facts(w.arguments(0))
        rows.append([w.group, w.name, str(size), dtype, w.text])
    return _columns(rows)


def table(result: Result) -> str:
    """Return the table of a run with all threads, as text."""
    lines = [f"time by NumPy's in the same rounds, {count_threads(result.threads[-1])}"]
    for title, rows in _parts(result):
        lines += ["", f"{title}: {len(rows) - 1} of {len(result.cases)}", _columns(rows).rstrip()]
    refused = _refused(result)
    lines += _listed(f"not run by axiomjit: {len(refused)} of {len(result.cases)}", refused)
    absent = [f"{p.name}: {p.reason}" for p in result.peers if p.status != OK]
    lines += _listed("libraries left out", absent)
    notes = [f"{n.letter}  {n.what}: {n.why}" for n in _footnotes(result).notes]
    lines += _listed("without a time", notes)
    lines += ["", *_means(result)]
    lines.append(f"\n{result.wall_s:.0f} s, {result.cpu_s:.0f} s of processor time")
    environment = result.environment
    if environment.load_start > environment.cores / 2:
        busy = f"load {environment.load_start:.1f} on {environment.cores} cores"
        lines.append(f"the machine was busy ({busy}): times and ratios are unreliable")
    return "\n".join(lines) + "\n"


def markdown(result: Result) -> str:
    """Return the table of a run with all threads, in Markdown."""
    environment = result.environment
    versions = (f"{name} {version}" for name, version in environment.versions.items())
    blocks = [
        f"{environment.cpu}, {environment.cores} cores, load {environment.load_start:.1f} to "
        f"{environment.load_end:.1f}; {', '.join(versions)}; {environment.date[:10]}. "
        f"Time of a call by NumPy's in the same rounds with {count_threads(result.threads[-1])}; "
        "`axiomjit, 1 thread` is its ratio where all are pinned to one core; `compile` is the "
        "first compile of a fresh process; `of bound` is the part of the roofline that is reached."
    ]
    for title, rows in _parts(result):
        shown = [k for k, name in enumerate(rows[0]) if name not in LEFT_OUT]
        lines = [_pipes([rows[0][k] for k in shown]), _pipes(["---"] * len(shown))]
        lines += [_pipes([f"`{row[0]}`", *(row[k] for k in shown[1:])]) for row in rows[1:]]
        heading = f"**{title[0].upper()}{title[1:]}**: {len(rows) - 1} of {len(result.cases)} cases"
        blocks += [heading, "\n".join(lines)]
    refused = refused_names(result)
    if refused:
        of = f"{len(refused)} of {len(result.cases)} cases"
        blocks.append(f"**Not compiled yet**: {of}: {', '.join(refused)}")
    reasons = [(note, note.why.replace("`", "'")) for note in _footnotes(result).notes]
    notes = [f"- {note.letter}: {note.what}: `{why}`" for note, why in reasons]
    if notes:
        blocks.append("**Without a time**\n\n" + "\n".join(notes))
    blocks.append("Over all cases, in the geometric mean: " + "; ".join(_means(result)) + ".")
    return "\n\n".join(blocks) + "\n"


def _parts(result: Result) -> list[tuple[str, Rows]]:
    """Return three tables: losses to NumPy, losses to others, the rest.

    Each has a heading row, and the largest ratio on top.
    """
    ranking = Ranking(result, result.threads[-1])
    parts: dict[str, list[Case]] = {
        "slower than NumPy": [],
        "slower than another library": [],
        "as fast as any": [],
    }
    for case in ranking.losses_first():
        if ranking.time(case):
            numpy = ranking.against(case, NUMPY)
            lost = numpy is not None and numpy.verdict == LOSS
            index = 0 if lost else 1 if ranking.verdict(case) == LOSS else 2
            parts[tuple(parts)[index]].append(case)
    peers = [p.name for p in result.peers if p.status == OK and p.name != NUMPY]
    serial = result.threads[0] if len(result.threads) > 1 else None
    head = ["case", "elements", "dtype", NUMPY, *peers]
    head += [f"{OURS}, {count_threads(serial)}"] if serial else []
    head += ["compile", "of bound", "memory"]
    notes = _footnotes(result)
    return [
        (title, [head, *(_row(ranking, case, peers, serial, notes) for case in cases)])
        for title, cases in parts.items()
        if cases
    ]


def _row(
    ranking: Ranking, case: Case, peers: Sequence[str], serial: int | None, footnotes: Footnotes
) -> list[str]:
    ours, run, numpy = ranking.time(case), case.run(OURS), ranking.time(case, NUMPY)
    assert ours
    assert run
    row = [case.name, f"{case.size:,}", case.dtype, seconds(numpy.median_s) if numpy else ""]
    row += [_ratio(ranking.time(case, peer)) or footnotes.mark(peer, case.name) for peer in peers]
    row += [_ratio(run.at(serial))] if serial else []
    return [
        *row,
        seconds(run.cold_compile_s or 0.0),
        f"{ours.of_bound:.0%}" if ours.of_bound else "",
        "" if run.memory_peak_bytes is None else memory(run.memory_peak_bytes),
    ]


def _ratio(timing: Timing | None) -> str:
    return digits(timing.ratio) if timing else ""


def _refused(result: Result) -> list[str]:
    """Return the cases that axiomjit does not run, with the reasons."""
    pairs = ((case.name, case.run(OURS)) for case in result.cases)
    return [
        f"{name}: {shorten(run.reason, SHORT)}" for name, run in pairs if run and run.status != OK
    ]


def refused_names(result: Result) -> list[str]:
    """Return the names of the cases that axiomjit does not run, as code."""
    return [f"`{line.partition(':')[0]}`" for line in _refused(result)]


def _footnotes(result: Result) -> Footnotes:
    return Footnotes(result, (peer.name for peer in result.peers if peer.name != OURS))


def _listed(title: str, lines: Sequence[str]) -> list[str]:
    return ["", title, *(f"  {line}" for line in lines)] if lines else []


def _means(result: Result) -> list[str]:
    ranking = Ranking(result, result.threads[-1])
    scores = (ranking.score(peer, result.cases) for peer in ranking.peers)
    return [
        f"{digits(s.mean)} of {s.peer}'s time in {count_things(sum(s.verdicts.values()), 'case')}, "
        f"slower in {s.verdicts[LOSS]}"
        for s in scores
        if s
    ]


def _pipes(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _columns(rows: Sequence[Sequence[str]]) -> str:
    """Return rows as aligned columns; the last column is not padded."""
    widths = [max(len(row[k]) for row in rows) for k in range(len(rows[0]) - 1)]
    lines = (
        "  ".join([*(f"{cell:{n}}" for cell, n in zip(row[:-1], widths, strict=True)), row[-1]])
        for row in rows
    )
    return "\n".join(line.rstrip() for line in lines) + "\n"
