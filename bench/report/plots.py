"""The parts of pages: charts as SVG, tables and legends.

Positions in a chart are percentages, and text and marks have a fixed size. An `<svg>` without a
view box fills the area between the axes; labels are outside this area, in the padding of the frame.
Hence a phone and a wide screen show marks and text of the same size, without a script.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from html import escape
from math import ceil, floor, isfinite, log10, sqrt
from typing import Final

from axiomjit.base.records import Record

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
        """Add a line through points; the page hides it together with its peer."""
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
