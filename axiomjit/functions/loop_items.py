"""The items of loops over arrays, and over lists that loops have filled, by position."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from axiomjit.functions.operators import is_traced
from axiomjit.symbolic.dims import Dim, current_scope
from axiomjit.tracing.lengths import SymbolicInt, length
from axiomjit.tracing.list_items import ListItems

if TYPE_CHECKING:
    from axiomjit.functions.library_calls import LibraryCalls


class Items:
    """The items of traced arrays and lists by position, also inside `enumerate` or `zip`."""

    def __init__(self, calls: LibraryCalls, source: tuple[Any, ...]) -> None:
        """Take the tuple that `loop_statements` makes of the expression after `in`."""
        self._calls = calls
        kind, self._function, *rest = source
        value: Any = None if kind else self._function
        self._value = value
        count = {"zip": len(rest), "enumerate": 1}.get(kind, 0)
        self._parts = [Items(calls, one) for one in rest[:count]]
        self._starts = rest[count:]
        self.length: Any = None
        self.filled: Any = None
        """A mask of the places that are items, for a list whose items conditions decide; else
        None.
        """
        self._items: Any = None
        if not kind and type(value) is list and len(value) == 1 and type(value[0]) is ListItems:
            self._items, self.filled = value[0], value[0].filled
            self.length = length(self._items.places.node.shape[0])
        elif not kind:
            is_array = is_traced(value) and value.node.shape != ()
            self.length = calls.length(value) if is_array else None
        elif self._function is {"zip": zip, "enumerate": enumerate}[kind]:
            self.length = self._common_length()

    def _common_length(self) -> Any:
        """The smallest number of items of a part; None if it is not known before the loop."""
        first, *others = (one.length for one in self._parts)
        chosen = any(one.filled is not None for one in self._parts)
        if chosen or first is None or any(one is None for one in others):
            return None
        if not all(type(one) is int or isinstance(one, SymbolicInt) for one in self._starts):
            return None
        least = first
        for one in others:
            if not self._calls.truth(one == least) and self._calls.truth(one < least):
                least = one
        return least

    def iterable(self) -> Any:
        """The object that Python iterates over."""
        if not self._parts:
            return self._value
        parts = [one.iterable() for one in self._parts]
        return self._calls.call(self._function, *parts, *self._starts)

    def at(self, index: Any) -> Any:
        """The item of the trip with this index."""
        if self._items is not None:
            return self._items.place(index)
        if not self._parts:
            return self._calls.item(self._value, index)
        parts = tuple(one.at(index) for one in self._parts)
        if self._function is zip:
            return parts
        return (index + self._starts[0] if self._starts else index, *parts)


def trips_at_hand(start: Any, stop: Any, step: Any) -> float:
    """The number of trips in the traced call; infinite if the number depends on other loops."""
    scope, known = current_scope(), []
    for one in (start, stop, step):
        value: Any = one.dim if isinstance(one, SymbolicInt) else one
        if is_traced(value):
            return float("inf")
        if isinstance(value, Dim):
            if scope.indices is not None and scope.indices.occur_in(value):
                return float("inf")
            value = scope.value(value)
        if not isinstance(value, int | np.integer) or isinstance(value, bool):
            return 0
        known.append(int(value))
    return len(range(*known)) if known[2] else 0
