"""The charts of a run: the ratios of each case, the roofline, and curves of times.

Charts are SVG, with tables and legends beside them. Positions in a chart are percentages, and text
and marks have a fixed size. An `<svg>` without a view box fills the area between the axes; labels
are outside this area, in the padding of the frame. Hence a phone and a wide screen show marks and
text of the same size, without a script.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from html import escape
from math import ceil, floor, isfinite, log10, sqrt
from typing import Final

from axiomjit.base.records import Record
from axiomjit.bench.report.table import (
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
from axiomjit.bench.suite.records import Case, Cost, Limits, Run, Timing
from axiomjit.bench.suite.results import LOSS, TIE, WIN, PeerRatio, Ranking

# HTML elements without an end tag.
VOID = frozenset({"br", "input", "link", "meta", "wbr"})


class Markup(str):
    """A text that is HTML or SVG already, and is not escaped again."""

    __slots__ = ()


def tag(name: str, /, *children: object, **attributes: object) -> Markup:
    """Return an element of HTML or SVG.

    Args:
        name: the name of the element.
        *children: the content; text is escaped, markup is not, and None is left out.
        **attributes: the attributes; in a name, underscores stand for hyphens and a last underscore
            is dropped (`class_`). None and False leave the attribute out, True writes it without a
            value.
    """
    parts = [name]
    for key, value in attributes.items():
        if value is None or value is False:
            continue
        key = "viewBox" if key == "view_box" else key.rstrip("_").replace("_", "-")
        parts.append(key if value is True else f'{key}="{escape(_text(value))}"')
    start = f"<{' '.join(parts)}>"
    return Markup(start if name in VOID else f"{start}{join(*children)}</{name}>")


def join(*children: object) -> Markup:
    """Return the concatenation of markup and escaped text."""
    return Markup(
        "".join(
            child if isinstance(child, Markup) else escape(_text(child), quote=False)
            for child in children
            if child is not None
        )
    )


def percent(fraction: float) -> str:
    """Return a fraction of a plot's width or height as a percentage, for SVG and CSS."""
    return f"{_text(100 * fraction)}%"


def _text(value: object) -> str:
    """Return a value as text; floats are rounded to hundredths."""
    if isinstance(value, float) and isfinite(value):
        return f"{value:.2f}".rstrip("0").rstrip(".")
    return str(value)


LEAST_SPAN: Final = 4.0
"""The smallest ratio of a logarithmic axis's ends, so that noise does not fill a plot."""

# Ticks within a decade, the finest division first.
MANTISSAS = (
    (1, 1.1, 1.2, 1.3, 1.4, 1.6, 1.8, 2, 2.5, 3, 4, 5, 6, 7, 8, 9),
    (1, 1.2, 1.5, 2, 3, 5, 7),
    (1, 2, 5),
    (1, 3),
    (1,),
)


class LogScale(Record):
    """A logarithmic axis from `low` to `high`, both positive."""

    low: float
    high: float

    def place(self, value: float) -> float:
        """Return the position of a value: 0 at the low end, 1 at the high end; clipped outside."""
        inside = min(max(value, self.low), self.high)
        return (log10(inside) - log10(self.low)) / (log10(self.high) - log10(self.low))

    def ticks(self, most: int) -> list[float]:
        """Return at most `most` round values on the axis."""
        decades = range(floor(log10(self.low)), ceil(log10(self.high)) + 1)
        found: list[float] = []
        for mantissas in MANTISSAS:
            ticks = (mantissa * 10.0**decade for decade in decades for mantissa in mantissas)
            found = [t for t in ticks if self.low / t < 1 + 1e-9 and t / self.high < 1 + 1e-9]
            if len(found) <= most:
                return found
        return found[:: ceil(len(found) / most)]


class LinearScale(Record):
    """A linear axis from `low` to `high`."""

    low: float
    high: float

    def place(self, value: float) -> float:
        """Return the position of a value: 0 at the low end, 1 at the high end; clipped outside."""
        return (min(max(value, self.low), self.high) - self.low) / (self.high - self.low)

    def ticks(self, most: int) -> list[float]:
        """Return `most` values at equal distances, with both ends."""
        return [self.low + (self.high - self.low) * step / (most - 1) for step in range(most)]


def log_scale(values: Iterable[float], margin: float = 1.2) -> LogScale:
    """Return a logarithmic scale for all values, with a margin at both ends.

    Args:
        values: the values; only positive and finite values count.
        margin: the factor of free space at both ends; it grows until the scale spans LEAST_SPAN.
    """
    seen = [value for value in values if isfinite(value) and value > 0] or [1.0]
    margin = max(margin, sqrt(LEAST_SPAN * min(seen) / max(seen)))
    return LogScale(min(seen) / margin, max(seen) * margin)


class Bands(Record):
    """An axis of names in bands from top to bottom; value k is the middle of band k."""

    count: int

    def place(self, value: float) -> float:
        """Return the position of a name, from 0 at the bottom to 1 at the top."""
        return 1 - (value + 0.5) / self.count

    def ticks(self, most: int) -> list[float]:
        """Return a tick for each name."""
        return [float(k) for k in range(self.count)]


class Axis(Record):
    """A scale, its title, the format of its ticks, and the largest number of ticks."""

    title: str
    scale: LogScale | LinearScale | Bands
    form: Callable[[float], str]
    most: int = 6


class Chart:
    """A chart of lines and marks between two axes; positions are values on the axes."""

    def __init__(self, title: str, x: Axis, y: Axis) -> None:
        self.title, self.x, self.y = title, x, y
        self.lines: list[Markup] = []
        self.marks: list[Markup] = []

    def mark(
        self, x: float, y: float, tip: str, style: str, shape: str = "circle", **data: object
    ) -> None:
        """Add the mark of one data point."""
        across, up = self._place(x, y)
        shared = {"role": "img", "aria_label": tip, "tabindex": -1, **data}
        if shape == "circle":
            drawn = tag("circle", cx=across, cy=up, r=4.5, class_=f"mark {style}", **shared)
        else:
            style = f"mark {shape} {style}"
            drawn = tag("rect", x=across, y=up, width=8, height=8, class_=style, **shared)
        self.marks.append(drawn)

    def curve(self, points: Iterable[tuple[float, float]], style: str, peer: str) -> None:
        """Add a line through points; the page hides the line together with its peer."""
        places = ((self.x.scale.place(x), self.y.scale.place(y)) for x, y in points)
        pairs = " ".join(f"{100 * x:.2f},{100 * (1 - y):.2f}" for x, y in places)
        line = tag("polyline", points=pairs, class_=style, vector_effect="non-scaling-stroke")
        drawn = tag(
            "svg",
            line,
            view_box="0 0 100 100",
            preserveAspectRatio="none",
            class_="stretched",
            width="100%",
            height="100%",
            aria_hidden="true",
        )
        self.lines.append(tag("g", drawn, data_peer=peer))

    def segment(self, start: tuple[float, float], end: tuple[float, float], style: str) -> None:
        """Add a straight line between two points."""
        (x1, y1), (x2, y2) = self._place(*start), self._place(*end)
        self.lines.append(tag("line", class_=style, x1=x1, y1=y1, x2=x2, y2=y2))

    def rule(self, style: str, x: float) -> None:
        """Add a vertical line through the entire area."""
        at = percent(self.x.scale.place(x))
        self.lines.append(tag("line", class_=style, x1=at, y1="100%", x2=at, y2="0%"))

    def draw(self, height: int, style: str = "") -> Markup:
        """Return the chart as markup: the grid, then lines, then marks in front."""
        lines, labels = [], []
        for tick in self.x.scale.ticks(self.x.most):
            at = percent(self.x.scale.place(tick))
            lines.append(tag("line", x1=at, x2=at, y1="0", y2="100%"))
            words = self.x.form(tick)
            labels.append(tag("text", words, x=at, y="100%", dy=18, text_anchor="middle"))
        for tick in self.y.scale.ticks(self.y.most):
            at = percent(1 - self.y.scale.place(tick))
            lines.append(tag("line", x1="0", x2="100%", y1=at, y2=at))
            words = self.y.form(tick)
            labels.append(tag("text", words, x="0", y=at, dx=-8, dy=4, text_anchor="end"))
        labels += [
            tag(
                "text", self.x.title, x="50%", y="100%", dy=38, text_anchor="middle", class_="axis"
            ),
            tag("text", self.y.title, x="0", y="0", dx=-50, dy=-12, class_="axis"),
        ]
        grid = tag("g", *lines, class_="grid")
        decoration = tag("g", grid, tag("g", *labels, class_="labels"), aria_hidden="true")
        area = tag(
            "svg",
            decoration,
            *self.lines,
            *self.marks,
            class_="plot",
            role="group",
            aria_label=self.title,
            height=height,
        )
        return tag("div", area, class_=f"frame {style}".strip(), data_marks=True)

    def _place(self, x: float, y: float) -> tuple[str, str]:
        return percent(self.x.scale.place(x)), percent(1 - self.y.scale.place(y))


def panel(title: str, text: str, chart: Markup) -> Markup:
    """Return a chart below a heading and a line of text."""
    return tag("figure", tag("figcaption", tag("h3", title), tag("p", text)), chart)


def panels(drawn: Iterable[Markup], colours: Mapping[str, str]) -> Markup | None:
    """Return panels side by side, below a legend of their lines; None without panels."""
    found = list(drawn)
    lines = ((f"line {style}", name) for name, style in colours.items())
    return join(legend(lines), tag("div", *found, class_="panels")) if found else None


def legend(entries: Iterable[tuple[str, str]]) -> Markup:
    """Return a legend of colours; an entry is a CSS class and a name."""
    items = (tag("li", tag("i", class_=style), name) for style, name in entries)
    return tag("ul", *items, class_="legend")


def table(
    caption: str,
    head: Iterable[str],
    rows: Iterable[Sequence[object] | Markup],
    **attributes: object,
) -> Markup:
    """Return a table in a scrolling box, above a hint for hidden columns.

    Args:
        caption: the caption for screen readers.
        head: the headings, as texts or as cells.
        rows: the rows; a row is its cells, with its name first, or markup.
        **attributes: the attributes of the table.
    """
    heads = (h if isinstance(h, Markup) else tag("th", h, scope="col") for h in head)
    body = (
        row
        if isinstance(row, Markup)
        else tag("tr", tag("th", row[0], scope="row"), *(tag("td", cell) for cell in row[1:]))
        for row in rows
    )
    drawn = tag(
        "table",
        tag("caption", caption, class_="unseen"),
        tag("thead", tag("tr", *heads)),
        tag("tbody", *body),
        **attributes,
    )
    box = tag("div", drawn, class_="scroll", tabindex=0, role="region", aria_label=caption)
    more = tag("p", "The table goes on to the right: scroll →", class_="more small", hidden=True)
    return tag("div", box, more, class_="wide")


def numbers(caption: str, head: Iterable[str], rows: Iterable[Sequence[object]]) -> Markup:
    """Return the table of a chart's numbers, hidden until it is clicked."""
    return folded("The numbers", table(caption, head, rows))


def folded(summary: str, content: Markup) -> Markup:
    """Return content that is hidden until its summary is clicked."""
    return tag("details", tag("summary", summary), content)


def breakable(name: str) -> Markup:
    """Return a name that a browser may break after each underscore."""
    *words, last = name.split("_")
    return join(*(join(word, "_", tag("wbr")) for word in words), last)


# Bars of ratios beyond these limits end at the edge; tooltips and table show the numbers.
FASTEST, SLOWEST = 0.01, 30.0
MAX_SPEED_RATIO: Final = 1e4
"""The largest ratio of two speeds on the axis; slower cases are drawn at the edge."""
MIN_BOUND_SHARE: Final = 1e-3
"""The smallest share of the machine's bound on the axis; cases below it are drawn at the edge."""
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
    # Labels at the lines would cover marks and text.
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
