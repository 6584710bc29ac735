"""The document around a page: head, style, script; and writing it to a file."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from importlib.resources import files
from pathlib import Path

from axiomjit.base.errors import BenchError
from axiomjit.base.records import Record
from axiomjit.bench.report.markup import Markup, join, tag


class Section(Record):
    """A part of a page, which the links at the top lead to; `name` is its anchor."""

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
    cautions: Iterable[str] = (),
) -> Markup:
    """Return a whole page.

    Args:
        title: of the page.
        about: lines below the title.
        parts: sections and other elements, in order.
        cautions: warnings for the reader, a line each.
    """
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
    links = [
        tag("a", part.title, href=f"#{part.name}") for part in parts if isinstance(part, Section)
    ]
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


def write(text: str, path: Path) -> None:
    """Write a page to a file.

    Raises:
        BenchError: the file cannot be written.
    """
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise BenchError(f"write {path}", str(error), "name a file that can be written") from error


def _asset(name: str) -> Markup:
    """Return the text of a file in this folder."""
    return Markup(files("axiomjit.bench.report").joinpath(name).read_text(encoding="utf-8"))
