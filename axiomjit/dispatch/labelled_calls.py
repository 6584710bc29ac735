"""Native calls with labelled arrays: the labels find a callable of the arrays alone.

Apart from `jit.py`, as calls without labels do not use it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from axiomjit.base.bounded_tables import BoundedTable
from axiomjit.base.native_callable import NativeCallable
from axiomjit.base.tree import ContainerForm, form_of
from axiomjit.dispatch.arguments import Array

LABELS: Final = 64
"""The most combinations of labels for which a function has native calls."""
MISSED: Final = object()
"""The result of a call that no table answers."""
_NUMBERS: Final = frozenset({int, float, complex})


class ArrayCalls(NativeCallable[Any]):
    """Calls with the arrays of labelled arguments; answered natively, or by `MISSED`."""

    def answer(self, args: Any, kwargs: Mapping[str, Any]) -> Any:
        """Return `MISSED`: the function answers with the labelled arrays."""
        return MISSED


class LabelledCalls:
    """For each combination of labels, the native calls of one function."""

    def __init__(self) -> None:
        """Start without calls."""
        self._by_labels: BoundedTable[object, ArrayCalls] = BoundedTable(limit=LABELS)
        self.hits = 0
        """Number of calls answered."""

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
        """The callable for the labels of a call, and the call's arrays; None without labels."""
        found = _arrays_of(args)
        if found is None:
            return None
        calls = self._by_labels.get(found[0])
        if calls is None:
            calls = ArrayCalls()
            self._by_labels.keep(found[0], calls)
        return (calls, found[1]) if calls.wants_guard() else None

    def clear(self) -> None:
        """Drop all."""
        self._by_labels.clear()


def _arrays_of(args: Sequence[Any]) -> tuple[object, list[Any]] | None:
    """The labels of arguments, and their arrays and numbers; None if one is something else."""
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
