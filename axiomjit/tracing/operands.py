"""Operands of traced calls: the nodes of traced arrays and of lengths, also inside lists."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from typing import Any

from axiomjit.base.reachable import Path, reachable
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


def leaves_in(value: object) -> list[Any]:
    """What stands in nested lists and tuples, which may contain themselves."""
    return [one for _, one in reachable((value,), _entries) if not _is_sequence(one)]


def _entries(path: Path, value: Any) -> Iterable[tuple[object, object]]:
    return enumerate(value) if _is_sequence(value) else ()


def _is_sequence(value: object) -> bool:
    return issubclass(type(value), list | tuple | deque)  # runs no code of the object's
