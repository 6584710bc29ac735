"""The form in which a reader chooses threads, group, case and peers; page.js acts on it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TypeVar

from axiomjit.bench.report.markup import Markup, join, tag
from axiomjit.bench.report.units import count_threads

T = TypeVar("T")


def controls(threads: Iterable[int], groups: Iterable[str], peers: Iterable[str] = ()) -> Markup:
    """Return the form that filters all parts below; it is hidden until the script runs."""
    numbers = [(str(number), count_threads(number)) for number in threads]
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


def each(parts: Mapping[int, T], draw: Callable[[T], Markup | None], absent: str) -> Markup:
    """Return a drawing for each number of threads; the script shows the chosen one.

    Args:
        parts: what to draw, by number of threads.
        draw: returns None where there is nothing to show.
        absent: the text that is shown then.
    """
    return join(
        *(
            tag(
                "div",
                tag("p", count_threads(threads), class_="threads"),
                draw(part) or tag("p", absent, class_="quiet"),
                data_threads=threads,
            )
            for threads, part in parts.items()
        )
    )


def _select(name: str, options: Iterable[tuple[str, str]]) -> Markup:
    entries = (tag("option", text, value=value) for value, text in options)
    return tag("select", *entries, data_choose=name)
