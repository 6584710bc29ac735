"""HTML as a tree, refused unless every element is closed where it should be."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html.parser import HTMLParser

VOID = {"br", "input", "link", "meta", "wbr"}


class Element:
    def __init__(self, tag: str, attributes: dict[str, str | None]) -> None:
        self.tag, self.attributes = tag, attributes
        self.children: list[Element | str] = []

    @property
    def text(self) -> str:
        return "".join(c if isinstance(c, str) else c.text for c in self.children)

    @property
    def classes(self) -> list[str]:
        return (self.attributes.get("class") or "").split()

    def all(self, tag: str | None = None, style: str | None = None, **data: str) -> list[Element]:
        """Elements below, by tag, class and attributes (underscores stand for hyphens)."""
        wanted = {key.replace("_", "-"): value for key, value in data.items()}
        return [
            element
            for element in self._below()
            if tag in (None, element.tag)
            and (style is None or style in element.classes)
            and all(element.attributes.get(k) == v for k, v in wanted.items())
        ]

    def one(self, tag: str | None = None, style: str | None = None, **data: str) -> Element:
        (found,) = self.all(tag, style, **data)
        return found

    def _below(self) -> Iterator[Element]:
        for child in self.children:
            if isinstance(child, Element):
                yield child
                yield from child._below()


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.open = [Element("document", {})]

    def handle_starttag(self, tag, attributes):
        names = [name for name, _ in attributes]
        if len(names) != len(set(names)):
            raise ValueError(f"<{tag}> has an attribute twice: {names}")
        element = Element(tag, dict(attributes))
        self.open[-1].children.append(element)
        if tag not in VOID:
            self.open.append(element)

    def handle_endtag(self, tag):
        if self.open[-1].tag != tag:
            raise ValueError(f"</{tag}> closes <{self.open[-1].tag}>")
        self.open.pop()

    def handle_data(self, data):
        self.open[-1].children.append(data)


def read_html(text: str) -> Element:
    """The document as a tree.

    Raises:
        ValueError: an element is not closed, or closed in the wrong place.
    """
    reader = _Reader()
    reader.feed(text)
    reader.close()
    if len(reader.open) > 1:
        raise ValueError(f"<{reader.open[-1].tag}> is not closed")
    return reader.open[0]


def outside_references(tree: Element) -> list[str]:
    """Whatever a browser would fetch, or go to, outside the page."""
    found = []
    for element in tree.all():
        for name in ("href", "src", "srcset", "action", "data", "poster", "xlink:href"):
            value = element.attributes.get(name) or ""
            if value and not value.startswith(("#", "data:")):
                found.append(f"<{element.tag} {name}={value!r}>")
        code = element.text if element.tag in ("style", "script") else ""
        code += element.attributes.get("style") or ""
        found += re.findall(r"url\([^)]*\)|@import[^;]*|https?://\S+|fetch\(|import\(", code)
    return found


def dangling_names(tree: Element) -> list[str]:
    """Ids that are taken twice, and references to ids that nobody has."""
    ids = [e.attributes["id"] for e in tree.all() if "id" in e.attributes]
    found = sorted({name for name in ids if ids.count(name) > 1})
    for element in tree.all():
        for attribute in ("aria-labelledby", "for"):
            name = element.attributes.get(attribute)
            if name is not None and name not in ids:
                found.append(name)
        target = element.attributes.get("href") or ""
        if target.startswith("#") and target[1:] not in ids:
            found.append(target)
    return found
