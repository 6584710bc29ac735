"""Operands of traced calls: the nodes of traced arrays and of lengths, also inside lists."""

from __future__ import annotations

from collections import deque
from typing import Any

from axiomjit.graph.traced_values import TracedValue
from axiomjit.tracing.lengths import unwrap


def node_of(value: Any) -> object:
    """The node of a traced array, the symbol of a length, lists of them; others as they are."""
    if isinstance(value, list | tuple | deque) and traced_in(value):
        return (tuple if isinstance(value, tuple) else list)(map(node_of, value))
    return value.node if issubclass(type(value), TracedValue) else unwrap(value)


def traced_in(value: object) -> list[Any]:
    """The traced arrays in nested lists and tuples, which may contain themselves."""
    found: list[Any] = []
    waiting: list[Any] = [value]
    seen: set[int] = set()
    while waiting:
        one = waiting.pop()
        if issubclass(type(one), list | tuple | deque):  # runs no code of the object's
            if id(one) not in seen:
                seen.add(id(one))
                waiting += reversed(one)
        elif issubclass(type(one), TracedValue):
            found.append(one)
    return found
