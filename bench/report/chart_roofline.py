"""The roofline chart: limits of the machine, and the speed that the cases reach."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from axiomjit.base.records import Record
from axiomjit.bench.report.markup import Markup, tag
from axiomjit.bench.report.plots import Axis, Point, legend, mark, plot, segment, table
from axiomjit.bench.report.scales import Bands, LogScale, log_scale
from axiomjit.bench.report.units import (
    BINARY,
    COUNT,
    count,
    digits,
    memory,
    seconds,
    share,
    short,
    shorten,
)
from axiomjit.bench.suite.ranking import LOSS, TIE, WIN, Ranking
from axiomjit.bench.suite.records import OURS, Case, Limits, Timing

TALLEST: Final = 1e4
"""The largest ratio of speeds drawn to scale; slower cases are drawn at the rim."""
SMALLEST: Final = 1e-3
"""The share of the bound below which a case is drawn at the rim."""
DASHES: Final = 5
"""The number of line styles in page.css."""
SHAPES = {WIN: "circle", TIE: "square", LOSS: "diamond"}
MEANING = (
    (f"dot {WIN}", "beats every peer"),
    (f"dot {TIE}", "level with the best"),
    (f"dot {LOSS}", "loses to a peer"),
    ("dot beyond", "hollow: beyond the axis"),
)


class Reach(Record):
    """A case as a point of the plot: operations per byte, operations per second."""

    case: Case
    time: Timing
    intensity: float
    speed: float
    verdict: str


class Roof(Record):
    """A limit of the machine as a line of the plot."""

    name: str
    start: Point
    end: Point


def reaches(ranking: Ranking) -> list[Reach]:
    """Return a point for each case that computes something, by arithmetic intensity."""
    found = []
    for case in ranking.cases:
        time, cost = ranking.time(case), case.cost
        if time is None or cost is None or not cost.flops:
            continue
        moved = max(cost.bytes_read + cost.bytes_written, 1)
        speed = cost.flops / time.median_s
        found.append(Reach(case, time, cost.flops / moved, speed, ranking.verdict(case)))
    return sorted(found, key=lambda reach: reach.intensity)


def roofline(ranking: Ranking, limits: Limits | None) -> Markup | None:
    """Plot speed against arithmetic intensity, under the machine's limits; None without points."""
    points = reaches(ranking)
    if not points:
        return None
    peaks = {k: v for k, v in (limits.flops_per_s if limits else {}).items() if v}
    rates = {t.bytes: t.bytes_per_s for t in (limits.triads if limits else ())}
    across = log_scale((p.intensity for p in points), 1.6)
    # The axes show all limits; a call on ten elements may be far below the lowest speed drawn.
    roofs = [*peaks.values(), *(rate * across.low for rate in rates.values())]
    floor = max([*(p.speed for p in points), *roofs]) / TALLEST
    up = log_scale([*(max(p.speed, floor) for p in points), *roofs], 1.6)
    x = Axis("operations per byte moved", across, lambda v: f"{v:.3g}", most=8)
    y = Axis("operations per second", up, lambda v: short(v, COUNT))
    marks = [
        mark(
            (x.place(p.intensity), y.place(max(p.speed, floor))),
            _tip(p),
            p.verdict if p.speed >= floor else f"{p.verdict} beyond",
            SHAPES[p.verdict],
            data_case=p.case.name,
            data_group=p.case.group,
        )
        for p in points
    ]
    found = [*_tops(peaks, up), *_slopes(rates, max(peaks.values(), default=up.high), across, up)]
    styles = [f"roof r{k % DASHES}" for k in range(len(found))]
    pairs = list(zip(found, styles, strict=True))
    lines = [segment(roof.start, roof.end, style) for roof, style in pairs]
    drawn = plot("Roofline", x, y, [tag("g", *lines), *marks], height=420)
    return tag("div", legend(MEANING), _roof_legend(pairs), drawn)


def _tops(peaks: Mapping[str, float], up: LogScale) -> Iterator[Roof]:
    """Yield a line per peak of arithmetic, the highest first."""
    for dtype, peak in sorted(peaks.items(), key=lambda pair: -pair[1]):
        height = up.place(peak)
        yield Roof(f"{count(peak, 'flop/s')} of {dtype}", (0, height), (1, height))


def _slopes(
    rates: Mapping[int, float], top: float, across: LogScale, up: LogScale
) -> Iterator[Roof]:
    """Yield a line per bandwidth, up to the highest peak; the highest bandwidth first."""
    for size, rate in sorted(rates.items(), key=lambda pair: -pair[1]):
        last = max(across.low, min(across.high, top / rate))
        start, end = ((across.place(v), up.place(rate * v)) for v in (across.low, last))
        yield Roof(f"{count(rate, 'B/s')} over {short(size, BINARY)}", start, end)


def _roof_legend(roofs: Sequence[tuple[Roof, str]]) -> Markup | None:
    """Return the legend of the lines; labels at the lines would overprint other things."""
    entries = []
    for roof, style in roofs:
        line = tag("line", x1=0, x2=34, y1=5, y2=5, class_=style)
        entries.append(tag("li", tag("svg", line, width=34, height=10), roof.name))
    return tag("ul", *entries, class_="legend") if entries else None


def _tip(point: Reach) -> str:
    part = point.time.of_bound
    bound = f"\n{share(part)} of what memory and arithmetic allow" if part else ""
    return (
        f"{point.case.name}\n{count(point.speed, 'flop/s')} at {digits(point.intensity)} flop/byte"
        f"\n{seconds(point.time.median_s)} per call{bound}"
    )


def work_table(ranking: Ranking) -> Markup:
    """Return a table of what each case computes and moves, by axiomjit's plan, and its speed."""
    rows = []
    for case in ranking.cases:
        time, cost, run = ranking.time(case), case.cost, case.run(OURS)
        if time is None or cost is None or run is None:
            continue
        moved, peak = cost.bytes_read + cost.bytes_written, run.memory_peak_bytes
        rows.append(
            [
                case.name,
                count(cost.flops),
                memory(moved),
                digits(cost.flops / moved) if moved else "–",
                count(cost.flops / time.median_s, "op/s"),
                count(moved / time.median_s, "B/s"),
                share(time.of_bound) if time.of_bound else "–",
                memory(cost.temporary_bytes),
                memory(peak) if peak is not None else "–",
            ]
        )
    head = ["case", "operations", "moved", "per byte", "speed", "bandwidth", "of bound"]
    head += ["temporary", "memory peak"]
    return table(head, rows, "Operations and bytes by case")


def bound_strip(ranking: Ranking) -> Markup | None:
    """Plot the share of its bound that each case reaches, a line per group; None without bounds."""
    shares = []
    for case in ranking.cases:
        time = ranking.time(case)
        if time is not None and time.of_bound:
            shares.append((case, time, time.of_bound))
    if not shares:
        return None
    groups = list(dict.fromkeys(case.group for case, _, _ in shares))
    floor = max(min(0.1, *(part for _, _, part in shares)), SMALLEST)
    high = max(1.5, *(1.3 * part for _, _, part in shares))
    x = Axis(
        "share of the bound", LogScale(floor / 1.3, high), lambda v: f"{100 * v:.3g} %", most=4
    )
    y = Axis("", Bands(len(groups)), lambda v: shorten(groups[int(v)], 16))
    marks = [
        mark(
            (x.place(max(part, floor)), y.place(groups.index(case.group))),
            f"{case.name}\n{share(part)} of its bound\n{seconds(time.median_s)} per call",
            verdict if part >= floor else f"{verdict} beyond",
            SHAPES[verdict],
            data_case=case.name,
            data_group=case.group,
        )
        for case, time, part in shares
        for verdict in (ranking.verdict(case),)
    ]
    full = segment((x.place(1.0), 0), (x.place(1.0), 1), "roof")
    title = "Share of the bound reached"
    return plot(title, x, y, [full, *marks], height=28 * len(groups), style="named")
