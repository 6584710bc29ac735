"""Writes guard tables: what a call depends on, and what it does then, as words for the entry.

A table refers to objects by their addresses; `Table.kept` holds them for as long as it lives.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from axiomjit.base.config import config, settings_number
from axiomjit.base.records import Record
from axiomjit.runtime.entry import layout as at
from axiomjit.runtime.entry.native_calls import runtime_block
from axiomjit.runtime.entry.structures import ALIGNED, BYTES, WRITEABLE, dtype_word
from axiomjit.runtime.pool.memory import address, poison

Array = np.ndarray[Any, Any]
MOST_TABLES: Final = 8
"""Tables of one entry; beyond them the oldest goes."""
_NUMBERS: Final = {float: 1, complex: 2}
"""Words of the Python numbers whose values go to kernels."""


class NewArray(Record):
    """An array that a call makes: a result where it is kept, else scratch of the kernel."""

    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    strides: tuple[int, ...] | None
    slot: int
    kept: bool

    def words(self) -> list[int]:
        """Its record."""
        strides = self.strides or ()
        size = at.NEW_SHAPE + len(self.shape) + len(strides)
        fill = np.full(8, poison(self.dtype), self.dtype).tobytes()[:8] if config.check else b""
        filled = [int(config.check), _signed(fill), self.size_bytes()]
        head = [size, id(self.dtype), len(self.shape), self.slot, int(self.kept), *filled]
        return [*head, int(self.strides is not None), *self.shape, *strides]

    def size_bytes(self) -> int:
        """The bytes of its elements."""
        size: int = self.dtype.itemsize
        for length in self.shape:
            size *= length
        return size


class NativeCall(Record):
    """A plan of one kernel, bound to lengths: where its words come from, and what it makes.

    `slots` has the word of each array or number argument by position, with the dtype of a number;
    `held` the arrays of the plan with their words; `owner` keeps the code at `kernel` in memory,
    and `handle` knows who runs it.
    """

    kernel: int
    owner: object
    handle: Any
    words: tuple[int, ...]
    grid: int
    combines: bool
    releases: bool
    slots: dict[int, tuple[int, str | None]]
    held: tuple[tuple[Array, int], ...]
    new: tuple[NewArray, ...]
    results: tuple[int, ...]
    written: frozenset[int]


class Guards:
    """The records of one table, and the objects that they refer to."""

    def __init__(self, call: NativeCall | None) -> None:
        """Begin; a kernel's words are filled from the guarded objects."""
        self._call = call
        self.records: list[list[int]] = []
        self.kept: list[object] = []

    def add(self, source: int, value: Any, position: int | None) -> bool:
        """Guard an argument of a call, which the program has at a position if it is not static.

        Returns:
            Whether that can be done.
        """
        if position is None:
            return self._add_static(source, value)
        slot, code = at.MOST_WORDS, None
        if self._call is not None:
            slot, code = self._call.slots.get(position, (slot, None))
        kind = type(value)
        if kind is np.ndarray:
            written = self._call is not None and position in self._call.written
            flags = ALIGNED if value.flags.aligned else 0
            self._array(source, value, slot, flags | (WRITEABLE if written else 0), 0)
        elif kind in _NUMBERS:
            if code is not None and np.dtype(code) != np.dtype(kind):
                return False
            count = _NUMBERS[kind] if slot < at.MOST_WORDS else 0
            self._record(at.NUMBER, source, 0, id(kind), slot, count)
        elif kind is int:
            return self._add_static(source, value)
        elif isinstance(value, np.generic) and value.dtype.kind in "biufc":
            if code is not None:
                return False
            self._record(at.SCALAR, source, 0, id(kind), slot)
        else:
            return False
        return True

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
        self._array(-1, array, at.MOST_WORDS, 0, where)

    def hold(self, array: Array, slot: int) -> None:
        """Let the kernel read an array that its plan holds, where that lies at each call."""
        self._array(-1, array, slot, 0, 0)

    def _array(self, source: int, array: Array, slot: int, flags: int, where: int) -> None:
        given = source >= 0
        if not given:
            self.kept.append(array)
        layout = [dtype_word(array.dtype), array.ndim, flags, where, *array.shape, *array.strides]
        self._record(at.ARRAY, source, 0 if given else id(array), slot, *layout)

    def _record(self, kind: int, source: int, value: int, *words: int) -> None:
        self.records.append([kind, at.FIRST + len(words), source, value, *words])


class Table(Record):
    """The words of a table, and what they refer to."""

    words: bytes
    kept: tuple[object, ...]


def native_table(
    call: NativeCall, guards: Guards, positional: int, names: tuple[str, ...], hits: Any, form: int
) -> Table:
    """The table of a call that runs one kernel natively; `form` as in the layout."""
    records = [word for record in guards.records for word in record]
    first = len(at.HEADER) + len(records)
    new = [word for array in call.new for word in array.words()]
    allocations_at = first + len(call.words)
    head = {
        "kernel": call.kernel,
        "grid": call.grid,
        "combines": int(call.combines),
        "releases": int(call.releases),
        "template": len(call.words),
        "template_at": first,
        "allocations": len(call.new),
        "allocations_at": allocations_at,
        "results": len(call.results),
        "results_at": allocations_at + len(new),
        "form": form,
    }
    kept = (call.owner, call, *(array.dtype for array in call.new))
    behind = [*call.words, *new, *call.results]
    return _table(head, guards, records, behind, positional, names, hits, kept)


def python_table(
    runner: Callable[..., Any], guards: Guards, positional: int, names: tuple[str, ...], hits: Any
) -> Table:
    """The table of a call that a Python function answers, given all arguments by position."""
    records = [word for record in guards.records for word in record]
    head = {"runner": id(runner)}
    return _table(head, guards, records, [], positional, names, hits, (runner,))


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


def _signed(raw: bytes) -> int:
    return int.from_bytes(raw, "little", signed=True)
