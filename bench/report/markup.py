"""HTML and SVG as text: every string that is not markup already is escaped."""

from __future__ import annotations

from html import escape
from math import isfinite

# The elements of HTML that have no end tag.
VOID = frozenset({"br", "input", "link", "meta", "wbr"})


class Markup(str):
    """Text that is HTML or SVG already."""

    __slots__ = ()


def tag(name: str, /, *children: object, **attributes: object) -> Markup:
    """One element.

    Args:
        name: of the element.
        *children: markup as it is, text to escape, None for nothing.
        **attributes: underscores stand for hyphens, a last one is dropped (`class_`); None and
            False leave the attribute out, True writes it without a value.
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
    """Markup and escaped text, one after the other."""
    return Markup(
        "".join(
            child if isinstance(child, Markup) else escape(_text(child), quote=False)
            for child in children
            if child is not None
        )
    )


def percent(fraction: float) -> str:
    """A position in a plot, as SVG and CSS write it."""
    return f"{_text(100 * fraction)}%"


def _text(value: object) -> str:
    """Floats short: a hundredth of a pixel or of a percent is not seen."""
    if isinstance(value, float) and isfinite(value):
        return f"{value:.2f}".rstrip("0").rstrip(".")
    return str(value)
