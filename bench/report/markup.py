"""Build HTML and SVG as text; every string that is not already markup is escaped."""

from __future__ import annotations

from html import escape
from math import isfinite

# HTML elements without an end tag.
VOID = frozenset({"br", "input", "link", "meta", "wbr"})


class Markup(str):
    """Text that already is HTML or SVG."""

    __slots__ = ()


def tag(name: str, /, *children: object, **attributes: object) -> Markup:
    """Return one element.

    Args:
        name: of the element.
        *children: markup is not changed, text is escaped, None is left out.
        **attributes: underscores stand for hyphens, a trailing one is dropped (`class_`); None and
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
    """Return markup and escaped text, concatenated."""
    return Markup(
        "".join(
            child if isinstance(child, Markup) else escape(_text(child), quote=False)
            for child in children
            if child is not None
        )
    )


def percent(fraction: float) -> str:
    """Return a position in a plot as SVG and CSS write it."""
    return f"{_text(100 * fraction)}%"


def _text(value: object) -> str:
    """Return a value as text; floats are rounded to hundredths."""
    if isinstance(value, float) and isfinite(value):
        return f"{value:.2f}".rstrip("0").rstrip(".")
    return str(value)
