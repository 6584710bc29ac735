"""The HTML document around the parts of a page, with the form that filters them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib.resources import files
from typing import TypeVar

from axiomjit.base.errors import amount
from axiomjit.base.records import Record
from axiomjit.bench.report.plots import Markup, join, tag

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
