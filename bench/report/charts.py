"""The charts of a run: the ratios of each case, the roofline, and curves of times."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import isfinite
from typing import Final

from axiomjit.base.records import Record
from axiomjit.bench.report.plots import (
    Axis,
    Bands,
    Chart,
    LinearScale,
    LogScale,
    Markup,
    breakable,
    join,
    legend,
    log_scale,
    panel,
    panels,
    percent,
    tag,
)
from axiomjit.bench.report.units import (
    BINARY,
    COUNT,
    TIME,
    count,
    digits,
    pace,
    seconds,
    share,
    short,
    shorten,
)
from axiomjit.bench.suite.ranking import LOSS, TIE, WIN, PeerRatio, Ranking
from axiomjit.bench.suite.records import Case, Cost, Limits, Run, Timing

# Bars of ratios beyond these limits end at the edge; tooltips and table show the numbers.
FASTEST, SLOWEST = 0.01, 30.0
MAX_SPEED_RATIO: Final = 1e4
"""The largest ratio of two speeds on the axis; slower cases are drawn at the edge."""
MIN_BOUND_SHARE: Final = 1e-3
"""The smallest share of the bound on the axis; cases below it are drawn at the edge."""
DASHES: Final = 5
"""The number of dash patterns for lines in page.css."""
SHAPES = {WIN: "circle", TIE: "square", LOSS: "diamond"}
MEANING = (
    (f"dot {WIN}", "beats every peer"),
    (f"dot {TIE}", "level with the best"),
    (f"dot {LOSS}", "loses to a peer"),
    ("dot beyond", "hollow: beyond the axis"),
)


def ratio_bars(ranking: Ranking, colours: Mapping[str, str]) -> Markup:
    """Return a row for each case; its bars are axiomjit's ratios to the times of peers."""
    ratios = [ratio for case in ranking.cases for ratio in ranking.ratios(case)]
    ends = [end for r in ratios for end in (r.low, r.high) if isfinite(end) and end > 0]
    low, high = min([*ends, 0.5]), max([*ends, 2.0])
    scale = LogScale(max(low / 1.1, FASTEST), min(high * 1.1, SLOWEST))
    ticks = [(percent(scale.place(tick)), tick) for tick in scale.ticks(8)]
    labels = [tag("text", f"{tick:.3g}", x=x, y=13, text_anchor="middle") for x, tick in ticks]
    ruler = tag("svg", *labels, class_="ruler", height=16, width="100%", aria_hidden="true")
    rules = [
        tag("line", x1=x, x2=x, y1="0", y2="100%", class_="one" if tick == 1 else None)
        for x, tick in ticks
    ]
    grid = tag("svg", *rules, class_="grid", width="100%", height="100%", aria_hidden="true")
    groups = []
    for group, members in ranking.groups.items():
        rows = [tag("div", tag("h3", group), ruler, class_="row head")]
        for case in members:
            track = tag("div", _bars(case, ranking, colours, scale, grid), class_="track")
            name = tag("div", breakable(case.name), class_="name")
            rows.append(tag("div", name, track, class_="row", data_case=case.name))
        groups.append(tag("div", *rows, class_="bars", data_group=group))
    names = legend((colours[peer], peer) for peer in ranking.peers)
    return tag("div", names, tag("div", *groups, class_="columns"), data_marks=True)


def _bars(
    case: Case, ranking: Ranking, colours: Mapping[str, str], scale: LogScale, grid: Markup
) -> Markup:
    found = ranking.ratios(case)
    if found:
        return join(grid, *(_bar(case, ratio, colours[ratio.peer], scale) for ratio in found))
    words = "no other peer has a time" if ranking.time(case) else "not run by axiomjit"
    return tag("p", words, class_="quiet small")


def _bar(case: Case, found: PeerRatio, style: str, scale: LogScale) -> Markup:
    one, end = scale.place(1.0), scale.place(found.ratio)
    if scale.low < found.ratio < scale.high:
        low, high = percent(scale.place(found.low)), percent(scale.place(found.high))
        last = tag("line", x1=low, x2=high, y1=4, y2=4, class_="whisker")
    else:
        rim, shift = percent(end), f"translate({8 if found.ratio < 1 else -8} 0)"
        last = tag("line", x1=rim, x2=rim, y1=0, y2=8, class_="gap", transform=shift)
    tip = (
        f"{case.name}\n{pace(found.ratio)} than {found.peer}\n"
        f"ratio {digits(found.ratio)}, 95 % interval {digits(found.low)} to {digits(found.high)}"
    )
    left, width = percent(min(one, end)), percent(abs(end - one))
    return tag(
        "svg",
        tag("rect", x=left, width=width, y=1, height=6, class_=style),
        last,
        class_="lane mark",
        role="img",
        tabindex=-1,
        aria_label=tip,
        data_peer=found.peer,
        width="100%",
        height=8,
    )


class Work(Record):
    """A case, the cost of its plan, and the time of its call."""

    case: Case
    cost: Cost
    time: Timing

    @property
    def moved(self) -> int:
        """Return the number of bytes that the plan reads and writes."""
        return self.cost.bytes_read + self.cost.bytes_written

    @property
    def intensity(self) -> float:
        """Return the number of operations of the plan per byte that it moves."""
        return self.cost.flops / max(self.moved, 1)

    @property
    def speed(self) -> float:
        """Return the number of operations per second."""
        return self.cost.flops / self.time.median_s


def works(ranking: Ranking) -> list[Work]:
    """Return the work of the cases that have a plan and a time."""
    pairs = ((case, ranking.time(case)) for case in ranking.cases)
    return [Work(case, case.cost, time) for case, time in pairs if case.cost and time]


def roofline(ranking: Ranking, limits: Limits | None) -> Markup | None:
    """Plot speed against arithmetic intensity, with the machine's limits; None without points."""
    points = sorted((w for w in works(ranking) if w.cost.flops), key=lambda w: w.intensity)
    if not points:
        return None
    peaks = {k: v for k, v in (limits.flops_per_s if limits else {}).items() if v}
    rates = {t.bytes: t.bytes_per_s for t in (limits.triads if limits else ())}
    across = log_scale((p.intensity for p in points), 1.6)
    # The axes show all limits; a call on ten elements may be far below the lowest speed drawn.
    roofs = [*peaks.values(), *(rate * across.low for rate in rates.values())]
    floor = max([*(p.speed for p in points), *roofs]) / MAX_SPEED_RATIO
    up = log_scale([*(max(p.speed, floor) for p in points), *roofs], 1.6)
    x = Axis("operations per byte moved", across, lambda v: f"{v:.3g}", most=8)
    chart = Chart("Roofline", x, Axis("operations per second", up, lambda v: short(v, COUNT)))
    names = [*_draw_roofs(chart, peaks, rates, across, up)]
    chart.lines = [tag("g", *chart.lines)]
    for p in points:
        tip = (
            f"{p.case.name}\n{count(p.speed, 'flop/s')} at {digits(p.intensity)} flop/byte\n"
            f"{seconds(p.time.median_s)} per call"
        )
        if p.time.of_bound:
            tip += f"\n{share(p.time.of_bound)} of what memory and arithmetic allow"
        _mark_case(chart, ranking, p.case, (p.intensity, p.speed), (0.0, floor), tip)
    # Labels at the lines would overprint other things.
    lines = tag("ul", *names, class_="legend") if names else None
    return tag("div", legend(MEANING), lines, chart.draw(420))


def _draw_roofs(
    chart: Chart,
    peaks: Mapping[str, float],
    rates: Mapping[int, float],
    across: LogScale,
    up: LogScale,
) -> Iterator[Markup]:
    """Draw a line for each limit, arithmetic before bandwidth; yield the entries of the legend."""
    roofs = []
    for dtype, peak in sorted(peaks.items(), key=lambda pair: -pair[1]):
        name = f"{count(peak, 'flop/s')} of {dtype}"
        roofs.append((name, (across.low, peak), (across.high, peak)))
    top = max(peaks.values(), default=up.high)
    for size, rate in sorted(rates.items(), key=lambda pair: -pair[1]):
        name, last = f"{count(rate, 'B/s')} over {short(size, BINARY)}", top / rate
        last = max(across.low, min(across.high, last))
        roofs.append((name, (across.low, rate * across.low), (last, rate * last)))
    for k, (name, start, end) in enumerate(roofs):
        style = f"roof r{k % DASHES}"
        chart.segment(start, end, style)
        line = tag("line", x1=0, x2=34, y1=5, y2=5, class_=style)
        yield tag("li", tag("svg", line, width=34, height=10), name)


def bound_strip(ranking: Ranking) -> Markup | None:
    """Plot the share of the bound that each case reaches, by group; None without bounds."""
    pairs = ((case, ranking.time(case)) for case in ranking.cases)
    shares = [(case, t, t.of_bound) for case, t in pairs if t is not None and t.of_bound]
    if not shares:
        return None
    groups = list(dict.fromkeys(case.group for case, _, _ in shares))
    floor = max(min(0.1, *(part for _, _, part in shares)), MIN_BOUND_SHARE)
    scale = LogScale(floor / 1.3, max(1.5, *(1.3 * part for _, _, part in shares)))
    x = Axis("share of the bound", scale, lambda v: f"{100 * v:.3g} %", most=4)
    y = Axis("", Bands(len(groups)), lambda v: shorten(groups[int(v)], 16))
    chart = Chart("Share of the bound reached", x, y)
    chart.rule("roof", 1.0)
    for case, time, part in shares:
        tip = f"{case.name}\n{share(part)} of its bound\n{seconds(time.median_s)} per call"
        _mark_case(chart, ranking, case, (part, groups.index(case.group)), (floor, 0), tip)
    return chart.draw(28 * len(groups), "named")


def _mark_case(
    chart: Chart,
    ranking: Ranking,
    case: Case,
    point: tuple[float, float],
    least: tuple[float, float],
    tip: str,
) -> None:
    """Mark a case by its verdict; a point below the smallest values is hollow and at the edge."""
    verdict, beyond = ranking.verdict(case), point[0] < least[0] or point[1] < least[1]
    chart.mark(
        max(point[0], least[0]),
        max(point[1], least[1]),
        tip,
        f"{verdict} beyond" if beyond else verdict,
        SHAPES[verdict],
        data_case=case.name,
        data_group=case.group,
    )


class Stage(Record):
    """A time before the steady state: its field in `Run`, its title and its meaning."""

    field: str
    title: str
    meaning: str


STAGES = (
    Stage("first_call_s", "First call", "import, compile and run in a fresh process"),
    Stage("cold_compile_s", "Cold compile", "empty caches, without the import"),
    Stage("warm_load_s", "Warm load", "a second process, caches on disk filled"),
)


def stage_time(run: Run | None, stage: Stage) -> float | None:
    """Return the seconds of a stage in a run; None if the run has no such time."""
    value: float | None = getattr(run, stage.field) if run else None
    return value


def compile_curves(cases: Sequence[Case], colours: Mapping[str, str]) -> Markup | None:
    """Plot, for each stage, the share of cases that are ready after a time; peers have curves."""
    drawn = ((stage, _stage_curves(cases, colours, stage)) for stage in STAGES)
    return panels((panel(s.title, s.meaning, c) for s, c in drawn if c), colours)


def _stage_curves(cases: Sequence[Case], colours: Mapping[str, str], stage: Stage) -> Markup | None:
    times = {
        peer: sorted(
            (time, case.name)
            for case in cases
            if (time := stage_time(case.run(peer), stage)) is not None
        )
        for peer in colours
    }
    every = [time for found in times.values() for time, _ in found]
    if not every:
        return None
    # A peer without a compiler takes nanoseconds, which would compress the rest of the axis.
    floor = max(min(every), max(every) / 1e6, 1e-6)
    scale = log_scale([floor, *(t for t in every if t > floor)])
    ready = Axis("cases ready", LinearScale(0, 1), lambda v: f"{100 * v:.0f} %", most=5)
    chart = Chart(stage.title, Axis("time", scale, _tick, most=5), ready)
    for peer, found in times.items():
        corners = []  # the points of a staircase from 0 upwards
        for k, (time, name) in enumerate(found):
            corners += [(time, k / len(cases)), (time, (k + 1) / len(cases))]
            tip, style = f"{name}\n{peer}: {seconds(time)}", f"small {colours[peer]}"
            chart.mark(*corners[-1], tip, style, data_peer=peer, data_case=name)
        chart.curve(corners, f"line {colours[peer]}", peer)
    return chart.draw(260)


def size_curves(ranking: Ranking, colours: Mapping[str, str]) -> Markup | None:
    """Plot the time of a call against the number of elements, for each series; peers have lines."""
    series: dict[str, list[Case]] = {}
    for case in ranking.cases:
        if case.series:
            series.setdefault(case.series, []).append(case)
    drawn = ((name, m, _size_curves(ranking, m, colours)) for name, m in series.items())
    return panels((panel(name, m[0].text, chart) for name, m, chart in drawn if chart), colours)


def _size_curves(
    ranking: Ranking, cases: Sequence[Case], colours: Mapping[str, str]
) -> Markup | None:
    ordered = sorted(cases, key=lambda case: case.size)
    times = {
        peer: [(case, t) for case in ordered if (t := ranking.time(case, peer)) is not None]
        for peer in colours
    }
    every = [t.median_s for found in times.values() for _, t in found]
    if not every:
        return None
    x = Axis("elements", log_scale((case.size for case in cases), 1.3), _elements)
    chart = Chart(cases[0].series, x, Axis("time per call", log_scale(every), _tick))
    for peer, found in times.items():
        chart.curve(((c.size, t.median_s) for c, t in found), f"line {colours[peer]}", peer)
        for case, t in found:
            tip = (
                f"{case.name}\n{peer}: {seconds(t.median_s)} per call\n"
                f"95 % interval {seconds(t.low_s)} to {seconds(t.high_s)}"
            )
            data = {"data_peer": peer, "data_case": case.name}
            chart.mark(case.size, t.median_s, tip, f"small {colours[peer]}", **data)
    return chart.draw(260)


def _elements(value: float) -> str:
    return f"{value:.0f}" if value < 10_000 else short(value, COUNT)


def _tick(value: float) -> str:
    return short(value, TIME)
