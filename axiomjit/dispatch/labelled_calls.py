"""Native calls with labelled arrays: a table finds, by the labels, a callable of plain arrays.

The module is separate from `jit.py`, since calls without labels do not use it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from axiomjit.base.caching import BoundedTable
from axiomjit.base.native_callable import NativeCallable
from axiomjit.base.tree import ContainerForm, form_of
from axiomjit.dispatch.arguments import Array

MAX_LABELS: Final = 64
"""The largest number of combinations of labels for which one function has native calls."""
MISSED: Final = object()
"""The result of `answer` if no native table answers the call."""
_NUMBERS: Final = frozenset({int, float, complex})


class ArrayCalls(NativeCallable[Any]):
    """The native calls with the arrays of labelled arguments; another call returns `MISSED`."""

    def answer(self, args: Any, kwargs: Mapping[str, Any]) -> Any:
        """Return `MISSED`, so that the function is called with the labelled arrays."""
        return MISSED


class LabelledCalls:
    """The native calls of one function, by the labels of the arguments."""

    def __init__(self) -> None:
        """Make an empty table."""
        self._by_labels: BoundedTable[object, ArrayCalls] = BoundedTable(limit=MAX_LABELS)
        self.hits = 0
        """The number of calls that were answered natively."""

    def answer(self, args: Sequence[Any]) -> Any:
        """The result of a call with positional arguments; MISSED if no native table answers it."""
        found = _arrays_of(args) if self._by_labels else None
        calls = None if found is None else self._by_labels.get(found[0])
        if found is None or calls is None:
            return MISSED
        made = calls(*found[1])
        self.hits += made is not MISSED
        return made

    def callable_of(self, args: Sequence[Any]) -> tuple[ArrayCalls, list[Any]] | None:
        """The callable for the labels of a call, and its arrays; None without labels."""
        found = _arrays_of(args)
        if found is None:
            return None
        calls = self._by_labels.get(found[0])
        if calls is None:
            calls = ArrayCalls()
            self._by_labels.keep(found[0], calls)
        return (calls, found[1]) if calls.wants_guard() else None

    def clear(self) -> None:
        """Drop all native calls."""
        self._by_labels.clear()


def _arrays_of(args: Sequence[Any]) -> tuple[object, list[Any]] | None:
    """The labels of arguments, and their arrays and numbers; None for arguments of other kinds."""
    key: list[object] = []
    arrays: list[Any] = []
    labelled = False
    for value in args:
        kind: Any = type(value)
        if kind is Array or kind in _NUMBERS:
            arrays.append(value)
            key.append(None)
            continue
        form: ContainerForm | None = form_of(kind)
        if form is None or not form.is_labelled:
            return None
        labelled = True
        fixed, parts = form.apart(value)
        key.append((kind, fixed))
        arrays += parts
    return (tuple(key), arrays) if labelled else None
