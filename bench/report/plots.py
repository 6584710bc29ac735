"""Plots as SVG that fills its box: positions are percentages, text and marks have a fixed size.

An `<svg>` without a view box spans the area between the axes; labels are outside it, in the padding
of the frame. So a phone and a wide screen show marks and type of the same size, without a script.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from axiomjit.base.records import Record
from axiomjit.bench.report.markup import Markup, join, percent, tag
from axiomjit.bench.report.scales import Bands, DateScale, LinearScale, LogScale

Point = tuple[float, float]  # fractions of the area, from the left and from the bottom


class Axis(Record):
    """A scale with its title, and the format of its ticks."""

    title: str
    scale: LogScale | LinearScale | Bands | DateScale
    form: Callable[[float], str]
    most: int = 6

    def place(self, value: float) -> float:
        """Return the position of a value as a fraction of the axis."""
        return self.scale.place(value)


def plot(
    title: str, x: Axis, y: Axis, layers: Iterable[Markup], height: int = 340, style: str = ""
) -> Markup:
    """Return axes with grid, ticks and titles, and the layers, drawn in order."""
    lines, labels = [], []
    for tick in x.scale.ticks(x.most):
        at = percent(x.place(tick))
        lines.append(tag("line", x1=at, x2=at, y1="0", y2="100%"))
        labels.append(tag("text", x.form(tick), x=at, y="100%", dy=18, text_anchor="middle"))
    for tick in y.scale.ticks(y.most):
        at = percent(1 - y.place(tick))
        lines.append(tag("line", x1="0", x2="100%", y1=at, y2=at))
        labels.append(tag("text", y.form(tick), x="0", y=at, dx=-8, dy=4, text_anchor="end"))
    titles = (
        tag("text", x.title, x="50%", y="100%", dy=38, text_anchor="middle", class_="axis"),
        tag("text", y.title, x="0", y="0", dx=-50, dy=-12, class_="axis"),
    )
    decoration = tag(
        "g",
        tag("g", *lines, class_="grid"),
        tag("g", *labels, *titles, class_="labels"),
        aria_hidden="true",
    )
    area = tag(
        "svg", decoration, *layers, class_="plot", role="group", aria_label=title, height=height
    )
    return tag("div", area, class_=f"frame {style}".strip(), data_marks=True)


def mark(point: Point, tip: str, style: str, shape: str = "circle", **data: object) -> Markup:
    """Return the mark of one data point.

    Args:
        point: its position.
        tip: the text of its tooltip; the first line is its name.
        style: CSS classes.
        shape: "circle", "square" or "diamond".
        **data: further attributes.
    """
    across, up = percent(point[0]), percent(1 - point[1])
    shared = {"role": "img", "aria_label": tip, "tabindex": -1, **data}
    if shape == "circle":
        return tag("circle", cx=across, cy=up, r=4.5, class_=f"mark {style}", **shared)
    return tag("rect", x=across, y=up, width=8, height=8, class_=f"mark {shape} {style}", **shared)


def curve(points: Sequence[Point], style: str) -> Markup:
    """Return a line through the points; draw it before their marks."""
    pairs = " ".join(f"{100 * x:.2f},{100 * (1 - y):.2f}" for x, y in points)
    line = tag("polyline", points=pairs, class_=style, vector_effect="non-scaling-stroke")
    return tag(
        "svg",
        line,
        view_box="0 0 100 100",
        preserveAspectRatio="none",
        class_="stretched",
        width="100%",
        height="100%",
        aria_hidden="true",
    )


def segment(start: Point, end: Point, style: str) -> Markup:
    """Return a straight line."""
    ends = {"x1": percent(start[0]), "y1": percent(1 - start[1])}
    ends |= {"x2": percent(end[0]), "y2": percent(1 - end[1])}
    return tag("line", class_=style, **ends)


def legend(entries: Iterable[tuple[str, str]]) -> Markup:
    """Return a legend of colours, from pairs of a CSS class and a name."""
    return tag(
        "ul",
        *(tag("li", tag("i", class_=style), name) for style, name in entries),
        class_="legend",
    )


def table(head: Sequence[str], rows: Iterable[Sequence[object]], caption: str) -> Markup:
    """Return a plain table in a scrolling box; the first column holds the rows' names."""
    body = [
        tag("tr", tag("th", row[0], scope="row"), *(tag("td", cell) for cell in row[1:]))
        for row in rows
    ]
    return scrolling(caption, [tag("th", name, scope="col") for name in head], body)


def scrolling(
    caption: str, head: Iterable[Markup], rows: Iterable[Markup], **attributes: object
) -> Markup:
    """Return a table in a scrolling box; a line below says so where columns are hidden."""
    table = tag(
        "table",
        tag("caption", caption, class_="unseen"),
        tag("thead", tag("tr", *head)),
        tag("tbody", *rows),
        **attributes,
    )
    box = tag("div", table, class_="scroll", tabindex=0, role="region", aria_label=caption)
    more = tag("p", "The table goes on to the right: scroll →", class_="more small", hidden=True)
    return tag("div", box, more, class_="wide")


def breakable(name: str) -> list[Markup]:
    """Return a name that a browser may break after each underscore."""
    *words, last = name.split("_")
    return [*(join(word, "_", tag("wbr")) for word in words), join(last)]


def folded(summary: str, content: Markup) -> Markup:
    """Return content that is hidden until its summary is clicked, such as a plot's numbers."""
    return tag("details", tag("summary", summary), content)
