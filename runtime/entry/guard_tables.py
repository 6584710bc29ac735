"""Writes guard tables: what a call depends on, and what it does then, as words for the entry.

A table refers to objects by their addresses; `Table.kept` holds them for as long as it lives.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from axiomjit.base.config import settings_number
from axiomjit.base.records import Record
from axiomjit.runtime.entry import layout as at
from axiomjit.runtime.entry.native_calls import runtime_block
from axiomjit.runtime.entry.native_plans import NativePlan
from axiomjit.runtime.entry.structures import ALIGNED, BYTES, WRITEABLE, dtype_word
from axiomjit.runtime.pool.memory import address, span
from axiomjit.symbolic.data_dependent import OtherLengthError

Array = np.ndarray[Any, Any]
MOST_TABLES: Final = 8
"""Tables of one entry; beyond them the oldest goes."""
_NUMBERS: Final = {float: 1, complex: 2}
"""Words of the Python numbers whose values go to kernels."""


class Guards:
    """The records of one table, and the objects that they refer to."""

    def __init__(self, plan: NativePlan | None, writes: Sequence[int] = ()) -> None:
        """Begin; guarded objects come to the places of the plan.

        Args:
            plan: None where a Python function answers the call.
            writes: the positions of arguments that are written.
        """
        self._plan, lent = plan, () if plan is None else plan.lent
        self._writable = {*writes, *lent}
        self._unused = 0 if plan is None else plan.places
        self.records: list[list[int]] = []
        self.kept: list[object] = []

    def add(self, source: int, value: Any, position: int | None) -> bool:
        """Guard an argument of a call, which the program has at a position if it is not static.

        Returns:
            Whether that can be done.
        """
        if position is None:
            return self._add_static(source, value)
        place, code = self._place(position)
        kind = type(value)
        if kind is np.ndarray:
            writable = position in self._writable
            if writable and not value.flags.writeable:
                return False
            flags = ALIGNED * value.flags.aligned | WRITEABLE * writable
            self._array(source, value, place, flags, 0)
        elif kind in _NUMBERS:
            used = place != self._unused
            if used and (code is None or np.dtype(code) != np.dtype(kind)):
                return False
            self._record(at.NUMBER, source, 0, id(kind), place, _NUMBERS[kind])
        elif kind is int:
            return self._add_static(source, value)
        elif isinstance(value, np.generic) and value.dtype.kind in "biufc":
            if code is not None:
                return False
            self._record(at.SCALAR, source, 0, id(kind), place)
            self.kept.append(kind)  # else another class might come to stand there
        else:
            return False
        return True

    def _place(self, position: int) -> tuple[int, str | None]:
        """Where the plan has an argument, and the dtype of a number; else a place for no step."""
        given = {} if self._plan is None else self._plan.given
        return given.get(position, (self._unused, None))

    def _add_static(self, source: int, value: Any) -> bool:
        """An argument by its value: an int, or an object that never changes."""
        if type(value) is int:
            if not -(2**63) <= value < 2**63:
                return False
            self._record(at.INTEGER, source, 0, id(int), value)
            return True
        if value is None or value is ... or type(value) in (bool, str, bytes, float):
            self._record(at.SAME, source, 0, id(value))
            self.kept.append(value)
            return True
        return False

    def watch(self, array: Array, address_too: bool) -> None:
        """Guard how an array lies that the program has from elsewhere, and where."""
        where = address(array) if address_too else 0
        self._array(-1, array, self._unused, 0, where)

    def hold(self, array: Array, place: int) -> None:
        """Let a plan have an array that it holds, where that lies at each call."""
        self._array(-1, array, place, 0, 0)

    def hold_argument(self, array: Array, position: int) -> None:
        """Let a plan have an array at the position of an argument, where that lies at each call."""
        self.hold(array, self._place(position)[0])

    def apart(self, source: int, array: Array, other_source: int, other: Array) -> None:
        """Guard that an argument shares no memory with another array; both are guarded before.

        An array that is no argument has the source -1.
        """
        spans = [span(one.shape, one.strides, one.itemsize) for one in (array, other)]
        if array.size and other.size:
            where = other_source, 0 if other_source >= 0 else id(other)
            self._record(at.APART, source, 0, *where, *spans[0], *spans[1])

    def _array(self, source: int, array: Array, place: int, flags: int, where: int) -> None:
        given = source >= 0
        if not given:
            self.kept.append(array)
        layout = [dtype_word(array.dtype), array.ndim, flags, where, *array.shape, *array.strides]
        self._record(at.ARRAY, source, 0 if given else id(array), place, *layout)

    def _record(self, kind: int, source: int, value: int, *words: int) -> None:
        self.records.append([kind, at.FIRST + len(words), source, value, *words])


class Table(Record):
    """The words of a table, and what they refer to."""

    words: bytes
    kept: tuple[object, ...]


def native_table(
    plan: NativePlan,
    guards: Guards,
    positional: int,
    names: tuple[str, ...],
    hits: Any,
    otherwise: Callable[..., Any] | None = None,
    errors: type[Exception] = OtherLengthError,
) -> Table:
    """The table of a call that runs a plan natively.

    Where the plan finds that it does not fit the call, which it says by `errors`, `otherwise`
    answers it.
    """
    records = [word for record in guards.records for word in record]
    steps = [word for step in plan.steps for word in step.words()]
    steps_at = len(at.HEADER) + len(records)
    head = {
        "owned": plan.owned,
        "places": plan.places,
        "steps": len(plan.steps),
        "steps_at": steps_at,
        "results": len(plan.results),
        "results_at": steps_at + len(steps),
        "form": plan.form,
        "otherwise": 0 if otherwise is None else id(otherwise),
        "errors": id(errors),
        **_memory(plan.places, plan.operands, plan.block_words),
    }
    kept = (*plan.kept(), otherwise, errors)
    return _table(head, guards, records, [*steps, *plan.results], positional, names, hits, kept)


def python_table(
    runner: Callable[..., Any], guards: Guards, positional: int, names: tuple[str, ...], hits: Any
) -> Table:
    """The table of a call that a Python function answers, given all arguments by position."""
    records = [word for record in guards.records for word in record]
    head = {"runner": id(runner), **_memory()}
    return _table(head, guards, records, [], positional, names, hits, (runner,))


def _memory(places: int = 0, operands: int = 0, block_words: int = 0) -> dict[str, int]:
    """How the memory of a call is laid out, and how much of it is not on the stack."""
    places += at.UNUSED_PLACES
    block_from = 2 * places + operands
    words = block_from + block_words
    return {
        "memory": 8 * words if words > at.STACK_WORDS else 0,
        "values_from": places,
        "operands_from": 2 * places,
        "block_from": block_from,
    }


def _table(
    head: dict[str, int],
    guards: Guards,
    records: Sequence[int],
    behind: Sequence[int],
    positional: int,
    names: tuple[str, ...],
    hits: Any,
    kept: tuple[object, ...],
) -> Table:
    common = {
        "runtime": id(runtime_block()) + BYTES,
        "settings": settings_number(),
        "positional": positional,
        "keywords": len(names),
        "names": id(names),
        "records": len(guards.records),
        "hits": hits.buffer_info()[0],
    }
    header = [(common | head).get(name, 0) for name in at.HEADER]
    words = [*header, *records, *behind]
    kept = (names, hits, *guards.kept, *kept)
    return Table(struct.pack(f"<{len(words)}q", *words), kept)


def with_table(tables: tuple[object, ...], table: Table) -> tuple[object, ...]:
    """The tables of a cell with a new one in front, for which an equal one goes."""
    pairs = list(zip(tables[::2], tables[1::2], strict=True))
    others = [pair for pair in pairs if pair[0] != table.words][: MOST_TABLES - 1]
    return tuple(part for pair in ((table.words, table.kept), *others) for part in pair)
