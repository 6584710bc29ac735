"""Operands of traced calls: the nodes of traced arrays and of lengths, also inside lists."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import Any

from axiomjit.graph.traced_values import TracedValue
from axiomjit.tracing.lengths import unwrap
from axiomjit.tracing.outside_arrays import plain


def node_of(value: Any) -> object:
    """The node of a traced array, the symbol of a length, lists of them; others as they are."""
    if isinstance(value, list | tuple | deque) and traced_in(value):
        return (tuple if isinstance(value, tuple) else list)(map(node_of, value))
    return value.node if issubclass(type(value), TracedValue) else plain(unwrap(value))


def traced_in(value: object) -> list[Any]:
    """The traced arrays in nested lists and tuples, which may contain themselves."""
    return [one for one in leaves_in(value) if issubclass(type(one), TracedValue)]


def leaves_in(value: object) -> Iterator[Any]:
    """What stands in nested lists and tuples, which may contain themselves."""
    waiting: list[Any] = [value]
    seen: set[int] = set()
    while waiting:
        one = waiting.pop()
        if not issubclass(type(one), list | tuple | deque):  # runs no code of the object's
            yield one
        elif id(one) not in seen:
            seen.add(id(one))
            waiting += reversed(one)
