"""The report of a run as one self-contained HTML file, with the form that filters its parts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from importlib.resources import files
from typing import Final, TypeVar

from axiomjit.base.errors import amount
from axiomjit.base.records import Record
from axiomjit.bench.report.charts import (
    STAGES,
    Markup,
    bound_strip,
    breakable,
    compile_curves,
    folded,
    join,
    numbers,
    percent,
    ratio_bars,
    roofline,
    size_curves,
    stage_time,
    table,
    tag,
    works,
)
from axiomjit.bench.report.table import (
    Footnotes,
    count,
    digits,
    memory,
    pace,
    seconds,
    share,
    shorten,
)
from axiomjit.bench.suite.records import OURS, TIMEOUT, WRONG, Case, Environment, Limits, Result
from axiomjit.bench.suite.results import LOSS, TIE, WIN, Ranking, rivals

T = TypeVar("T")


class Section(Record):
    """A part of a page with a heading; `name` is its anchor, to which a link at the top leads."""

    name: str
    title: str
    content: Markup

    @property
    def markup(self) -> Markup:
        """Return the section with its heading."""
        heading = tag("h2", self.title, id=self.name)
        return tag("section", heading, self.content, aria_labelledby=self.name)


def document(
    title: str,
    about: Iterable[str],
    parts: Sequence[Section | Markup],
    cautions: Iterable[str],
) -> Markup:
    """Return an HTML page."""
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        # A page without an icon makes the browser request one from the server.
        tag("link", rel="icon", href="data:,"),
        tag("title", title),
        tag("style", _asset("page.css")),
    )
    lines = [tag("p", line) for line in about]
    lines += [tag("p", line, class_="caution") for line in cautions]
    links = [tag("a", p.title, href=f"#{p.name}") for p in parts if isinstance(p, Section)]
    if len(links) > 1:
        lines.append(tag("nav", *links, aria_label="Sections"))
    theme = tag("button", "Light / dark", type="button", id="theme", hidden=True)
    body = tag(
        "body",
        tag("header", tag("div", tag("h1", title), *lines), theme, class_="top"),
        tag("main", *(part.markup if isinstance(part, Section) else part for part in parts)),
        tag("div", id="tip", role="status", hidden=True),
        tag("script", _asset("page.js")),
    )
    return join(Markup("<!DOCTYPE html>\n"), tag("html", head, body, lang="en"), "\n")


def _asset(name: str) -> Markup:
    """Return the text of a file in this folder."""
    return Markup(files("axiomjit.bench.report").joinpath(name).read_text(encoding="utf-8"))


def controls(threads: Iterable[int], groups: Iterable[str], peers: Iterable[str]) -> Markup:
    """Return the form that filters all later parts of a page; it is hidden until page.js runs."""
    numbers = [(str(number), amount(number, "thread")) for number in threads]
    choices = [("", "all"), *((group, group) for group in dict.fromkeys(groups))]
    boxes = [
        tag("label", tag("input", type="checkbox", checked=True, data_choose="peer", value=p), p)
        for p in peers
    ]
    search = tag("input", type="search", data_choose="case", placeholder="part of a name")
    return tag(
        "form",
        tag("label", "Threads", _select("threads", numbers)) if len(numbers) > 1 else None,
        tag("label", "Group", _select("group", choices)),
        tag("label", "Case", search),
        tag("fieldset", tag("legend", "Peers", class_="unseen"), *boxes) if boxes else None,
        tag("output", aria_live="polite", class_="quiet small"),
        class_="controls",
        aria_label="What to show",
        hidden=True,
    )


def _select(name: str, options: Iterable[tuple[str, str]]) -> Markup:
    entries = (tag("option", text, value=value) for value, text in options)
    return tag("select", *entries, data_choose=name)


def each(parts: Mapping[int, T], draw: Callable[[T], Markup | None], absent: str) -> Markup:
    """Return a drawing for each number of threads; page.js shows the chosen drawing.

    Args:
        parts: the argument of `draw` for each number of threads.
        draw: a function that returns a drawing, or None if there is nothing to draw.
        absent: the text that is shown in place of a missing drawing.
    """
    drawn = []
    for threads, part in parts.items():
        heading = tag("p", amount(threads, "thread"), class_="threads")
        content = draw(part) or tag("p", absent, class_="quiet")
        drawn.append(tag("div", heading, content, data_threads=threads))
    return join(*drawn)


COLOURS: Final = 9
"""The number of colours in page.css; with more peers, colours repeat."""
VERDICT_WORDS: Final = {WIN: "won", TIE: "level", LOSS: "lost"}
VERDICT_SIGNS: Final = {TIE: "≈", LOSS: "▲"}
MAX_FUNCTION_LETTERS: Final = 44
"""The largest number of letters of a function that are shown; the tooltip has the full text."""


def page(result: Result) -> Markup:
    """Return the report of a run as HTML."""
    rankings = {threads: Ranking(result, threads) for threads in result.threads}
    peers = rivals(result)
    colours = {name: f"c{k % COLOURS}" for k, name in enumerate((OURS, *peers))}
    parts: list[Section | Markup] = [
        _summary(result, tuple(rankings.values())),
        controls(result.threads, (case.group for case in result.cases), peers),
        _cases(result, rankings),
        _ratios(rankings, colours),
        _machine(result, rankings),
        _compile(result.cases, colours),
        *(_small(rankings, colours) if any(case.series for case in result.cases) else ()),
        _environment(result),
    ]
    return document("axiomjit benchmark", _about(result), parts, _cautions(result))


def _about(result: Result) -> list[str]:
    """Return a line with the machine and the date, and a line with the versions."""
    env, cases = result.environment, amount(len(result.cases), "case")
    commit = env.commit[:10] if env.commit else "unknown"
    return [
        f"{env.cpu}, {env.cores} cores · {_moment(env)} · {cases}",
        f"{_versions(env)}, Python {env.python} · commit {commit} · load {env.load_start:.2f} to "
        f"{env.load_end:.2f}",
    ]


def _moment(env: Environment) -> str:
    return env.date[:16].replace("T", " ") + " UTC"


def _versions(env: Environment) -> str:
    return ", ".join(f"{name} {version}" for name, version in env.versions.items())


def _time(value: float | None) -> str:
    return "–" if value is None else seconds(value)


def _share(value: float | None) -> str:
    return share(value) if value else "–"


def _cautions(result: Result) -> Iterator[str]:
    """Yield warnings about conditions that make the figures of a run less certain."""
    env = result.environment
    if result.quick:
        yield "A quick run: fewer rounds, one number of threads, no second process."
    if env.modified:
        yield "The tree had changes that the commit does not have."
    if env.load_start > 0.5 * env.cores:
        yield f"The machine was busy: load {env.load_start:.2f} on {env.cores} cores at the start."
    if env.governor not in (None, "performance"):
        yield f"The frequency governor was {env.governor!r}: clocks may have changed."


def _summary(result: Result, rankings: Sequence[Ranking]) -> Section:
    """Return the section with scores by peer and threads, missing results, and means by group."""
    blocks = []
    for ranking in rankings:
        cards = [_card(ranking, peer) for peer in ranking.peers]
        heading = tag("h3", amount(ranking.threads, "thread"))
        blocks.append(join(heading, tag("div", *cards, class_="cards")))
    if rivals(result):
        words = tag(
            "p",
            "Geometric mean of axiomjit's time divided by the peer's, in the steady state, over "
            "the cases that both run: below 1 axiomjit is faster. A case is won or lost when the "
            "95 % interval of its ratio excludes 1, and level otherwise.",
        )
        blocks += [*_absences(result), _by_group(result, rankings)]
    else:
        words = tag("p", "No peer has a time.", class_="quiet")
        blocks += _absences(result)
    return Section("summary", "In short", join(words, *blocks))


def _card(ranking: Ranking, peer: str) -> Markup | None:
    found = ranking.score(peer, ranking.cases)
    if found is None:
        return None
    total, parts, counts = sum(found.verdicts.values()), [], []
    for verdict, word in VERDICT_WORDS.items():
        number = found.verdicts[verdict]
        if number:
            parts.append(tag("i", class_=verdict, style=f"width:{percent(number / total)}"))
        counts.append(tag("span", tag("b", number), f" {word}", class_=verdict))
    return tag(
        "div",
        tag("h4", f"against {peer}"),
        tag("p", digits(found.mean), tag("span", pace(found.mean)), class_="big"),
        tag("div", *parts, class_="share", aria_hidden="true"),
        tag("p", *counts, class_="counts"),
        tag("p", f"from {digits(found.best)} to {digits(found.worst)}", class_="quiet small"),
        class_="card",
    )


def _absences(result: Result) -> Iterator[Markup]:
    """Yield the peers without times, the cases that axiomjit does not run, and wrong results."""
    timed = (OURS, *rivals(result))
    for peer in result.peers:
        if peer.name not in timed:
            yield tag("p", f"{peer.name} has no times: {peer.reason or peer.status}")
    missing, wrong = [], []
    for case in result.cases:
        ours = case.run(OURS)
        if ours is None or not ours.timings:
            why = f"{ours.status}, {ours.reason}" if ours else "it was not asked"
            missing.append(f"{case.name}: {why}")
        wrong += [
            f"{case.name}, {run.peer}: {run.status}, {run.reason}"
            for run in case.runs
            if run.peer != OURS and run.status in (WRONG, TIMEOUT)
        ]
    refused = f"{len(missing)} of {len(result.cases)} cases are not run by axiomjit"
    useless = f"{amount(len(wrong), 'result')} of peers did not count"
    for title, lines in ((refused, missing), (useless, wrong)):
        if lines:
            items = [tag("li", line) for line in lines]
            yield folded(title, tag("ul", *items, class_="small"))


def _by_group(result: Result, rankings: Sequence[Ranking]) -> Markup:
    """Return a table of geometric means by group and number of threads."""
    rows: list[list[object]] = []
    for group, members in rankings[0].groups.items():
        for ranking in rankings:
            scores = [ranking.score(peer, members) for peer in ranking.peers]
            means = [digits(score.mean) if score else "–" for score in scores]
            rows.append([group, ranking.threads, len(members), *means])
    head = ["group", "threads", "cases", *rivals(result)]
    return folded("Means by group", table("Geometric means of ratios by group", head, rows))


def _cases(result: Result, rankings: Mapping[int, Ranking]) -> Section:
    words = (
        "Axiomjit's time divided by the peer's, with its 95 % interval: ▲ is a loss, ≈ is level, "
        "a letter stands for the reason, below, of a case without a time. Press a heading to sort."
    )
    footnotes = Footnotes(result, (peer.name for peer in result.peers))
    tables = each(rankings, lambda ranking: _case_table(ranking, footnotes), "No cases.")
    lines = [
        tag("li", tag("b", n.letter), f" {n.subject}: {n.short_reason}") for n in footnotes.notes
    ]
    below = tag("ul", *lines, class_="notes small quiet") if lines else None
    return Section("cases", "Cases, losses first", join(tag("p", words), tables, below))


def _case_table(ranking: Ranking, footnotes: Footnotes) -> Markup:
    """Return a table with axiomjit's time of each case, its ratios to peers and its bound share."""
    head = [
        _head("case", "text"),
        _head("axiomjit", "number", "steady"),
        *(_head(peer, "number", "ratio", data_peer=peer) for peer in ranking.peers),
        _head("bound", "number", "share"),
        _head("function", "text"),
    ]
    rows = [_case_row(case, ranking, footnotes) for case in ranking.losses_first()]
    threads = amount(ranking.threads, "thread")
    caption = f"Axiomjit's time divided by each peer's, {threads}, losses first"
    return table(caption, head, rows, class_="sortable")


def _head(name: str, kind: str, note: str | None = None, **data: object) -> Markup:
    """Return a heading that sorts its column when it is clicked."""
    below = tag("span", note, class_="quiet") if note else None
    return tag("th", tag("button", name, below, type="button"), scope="col", data_kind=kind, **data)


def _case_row(case: Case, ranking: Ranking, footnotes: Footnotes) -> Markup:
    ours = ranking.time(case)
    time = seconds(ours.median_s) if ours else _why_not(case, OURS, footnotes)
    bound = ours.of_bound if ours else None
    return tag(
        "tr",
        tag("th", breakable(case.name), tag("small", case.group, class_="quiet"), scope="row"),
        _number(time, ours.median_s if ours else None),
        *(_ratio(case, peer, ranking, footnotes) for peer in ranking.peers),
        _number(_share(bound), bound),
        tag("td", shorten(case.text, MAX_FUNCTION_LETTERS), class_="quiet", title=case.text),
        data_case=case.name,
        data_group=case.group,
    )


def _number(text: object, value: float | None, style: str = "", **data: object) -> Markup:
    """Return a table cell that sorts by `value`; a cell with None sorts last."""
    key = None if value is None else f"{value:.6g}"
    return tag("td", text, class_=f"number {style}".strip(), data_value=key, **data)


def _ratio(case: Case, peer: str, ranking: Ranking, footnotes: Footnotes) -> Markup:
    found = ranking.ratio_to(case, peer)
    if found is None:
        return _number(_why_not(case, peer, footnotes), None, data_peer=peer)
    verdict = found.verdict
    sign = (
        None if verdict == WIN else tag("b", VERDICT_SIGNS[verdict], role="img", aria_label=verdict)
    )
    interval = tag("small", f"{digits(found.low)}–{digits(found.high)}", class_="quiet")
    text = join(sign, digits(found.ratio), interval)
    return _number(text, found.ratio, verdict, data_peer=peer)


def _why_not(case: Case, peer: str, footnotes: Footnotes) -> Markup:
    """Return the letter of the reason why a peer has no time; a dash without a reason."""
    run = case.run(peer)
    if run is None or run.timings:
        return tag("span", "–", class_="quiet")
    return tag("span", footnotes.mark(peer, case.name), class_="quiet", title=run.reason)


def _ratios(rankings: Mapping[int, Ranking], colours: Mapping[str, str]) -> Section:
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
        heading = join(tag("h3", "Share of the bound"), tag("p", shares))
        return join(roofs, heading, strip, _work_numbers(ranking))

    plots = each(rankings, draw, "No case has both a plan and a time.")
    return Section("machine", "Against the machine", join(tag("p", words), plots))


def _work_numbers(ranking: Ranking) -> Markup:
    """Return a table of the operations and bytes of each case's plan, and its speed."""
    rows = []
    for work in works(ranking):
        run, taken_s = work.case.run(OURS), work.time.median_s
        peak = run.memory_peak_bytes if run else None
        rows.append([
            work.case.name,
            count(work.cost.flops),
            memory(work.moved),
            digits(work.cost.flops / work.moved) if work.moved else "–",
            count(work.speed, "op/s"),
            count(work.moved / taken_s, "B/s"),
            _share(work.time.of_bound),
            memory(work.cost.temporary_bytes),
            memory(peak) if peak is not None else "–",
        ])  # fmt: skip
    head = ["case", "operations", "moved", "per byte", "speed", "bandwidth", "of bound"]
    return numbers("Operations and bytes by case", [*head, "temporary", "memory peak"], rows)


def _compile(cases: Sequence[Case], colours: Mapping[str, str]) -> Section:
    rows = []
    for case in cases:
        for peer in colours:
            times = [stage_time(case.run(peer), stage) for stage in STAGES]
            if any(time is not None for time in times):
                rows.append([case.name, peer, *map(_time, times)])
    head = ["case", "peer", *(stage.title.lower() for stage in STAGES)]
    words = (
        "How many cases are ready after how long. A curve that ends below 100 % belongs to a peer "
        "that does not run all cases."
    )
    curves = compile_curves(cases, colours) or tag("p", "No case has these times.", class_="quiet")
    below = numbers("Compile times by case and peer", head, rows)
    return Section("compile", "Before the first result", join(tag("p", words), curves, below))


def _small(rankings: Mapping[int, Ranking], colours: Mapping[str, str]) -> Iterable[Section]:
    def draw(ranking: Ranking) -> Markup | None:
        drawn = size_curves(ranking, colours)
        if drawn is None:
            return None
        rows = []
        for case in sorted(ranking.cases, key=lambda case: (case.series, case.size)):
            found = [ranking.time(case, peer) for peer in colours]
            if case.series and any(found):
                rows.append(
                    [case.name, case.size, *(_time(t.median_s if t else None) for t in found)]
                )
        caption = "Time of a call by size and peer"
        return join(drawn, numbers(caption, ["case", "elements", *colours], rows))

    words = "Time of one call against the number of elements: what a call costs by itself."
    plots = each(rankings, draw, "No times.")
    yield Section("small", "Small arrays", join(tag("p", words), plots))


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
        "Versions": _versions(env),
        "Thread limits": ", ".join(f"{k}={v}" for k, v in env.thread_limits.items()) or "none",
        "Commit": f"{env.commit or 'unknown'}{', with changes' if env.modified else ''}",
        "Run": f"{_moment(env)}, {minutes:.0f} min, seed {result.seed}"
        + (", quick" if result.quick else ""),
    }
    rows |= {f"Limits, {amount(part.threads, 'thread')}": _limits(part) for part in result.limits}
    entries = [join(tag("dt", name), tag("dd", text)) for name, text in rows.items()]
    peers = [
        [p.name, p.version or "–", p.status, _time(p.import_s), p.reason] for p in result.peers
    ]
    head = ["peer", "version", "status", "import", "reason"]
    below = folded("The peers", table("Peers of this run", head, peers))
    return Section("environment", "Where and how", join(tag("dl", *entries), below))


def _limits(limits: Limits) -> str:
    triads = [f"{count(t.bytes_per_s, 'B/s')} over {memory(t.bytes)}" for t in limits.triads]
    peaks = [
        f"{dtype} {count(peak, 'flop/s') if peak else 'not measured'}"
        for dtype, peak in limits.flops_per_s.items()
    ]
    return f"triad {', '.join(triads)}; multiply-add {', '.join(peaks)}"
