"""Guard tables: the conditions of a call and its instructions, as words for the entry.

A table is a header, a record for each guarded object, one for each instruction of a plan, and the
slots of results. It refers to objects by address; `Table.kept` keeps them alive. To add a guard,
add a row to `GUARDS`: its words, and the code that checks it.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Final

import numpy as np

from axiomjit.base.config import settings_number
from axiomjit.base.records import Record
from axiomjit.runtime.memory.allocation import address, span
from axiomjit.runtime.native_call import structures as fields
from axiomjit.runtime.native_call.builder import HEADER, STACK_WORDS, EntryBuilder, Row
from axiomjit.runtime.native_call.instructions import NativePlan, Words
from axiomjit.runtime.native_call.structures import (
    ALIGNED,
    BYTES,
    WRITEABLE,
    dtype_word,
    runtime_block,
)
from axiomjit.runtime.object_cache.llvm_text import Value
from axiomjit.symbolic.data_dependent import OtherLengthError

Array = np.ndarray[Any, Any]
MOST_TABLES: Final = 8
"""Most tables of one entry; a further one replaces the oldest."""
_NUMBERS: Final = {float: 1, complex: 2}
"""The size, in words, of each Python number type whose values kernels get."""
UNUSED_SLOTS: Final = 2
"""Slots for guarded values that no step uses; a complex number takes two."""


def _guard_array(e: EntryBuilder, row: Row, array: Value, missed: str) -> None:
    """Check the layout of an array, and its address unless that is 0."""
    e.require(e.test("eq", e.load(array, fields.TYPE), e.runtime("array_type")), missed)
    dtype = e.both(e.load(e.load(array, fields.DTYPE), fields.DTYPE_KIND), fields.DTYPE_BYTES)
    e.require(e.test("eq", dtype, row["dtype"]), missed)
    rank = e.load(array, fields.RANK, bits=32)
    e.require(e.test("eq", rank, row["rank"]), missed)
    wanted = row["flags"]
    e.require(e.test("eq", e.both(e.load(array, fields.FLAGS, bits=32), wanted), wanted), missed)
    data, known = e.load(array, fields.DATA), row["address"]
    with e.when(e.test("ne", known, 0)):
        e.require(e.test("eq", data, known), missed)
    shape, strides = e.load(array, fields.SHAPE), e.load(array, fields.STRIDES)
    lengths = row.tail
    steps = e.at(lengths, rank)
    with e.count(rank) as number:
        e.require(e.test("eq", e.word(shape, number), e.word(lengths, number)), missed)
        e.require(e.test("eq", e.word(strides, number), e.word(steps, number)), missed)
    e.fill_slot(row["slot"], array, data)


def _guard_number(e: EntryBuilder, row: Row, value: Value, missed: str) -> None:
    """Check the type of a float or complex number; kernels get its value."""
    e.require(e.test("eq", e.load(value, fields.TYPE), row["type"]), missed)
    slot = row["slot"]
    e.store(value, e.at(e.objects, slot))
    first, bits = e.at(e.values, slot), e.add(value, fields.VALUE)
    with e.count(row["words"]) as number:
        e.store(e.word(bits, number), e.at(first, number))


def _guard_scalar(e: EntryBuilder, row: Row, value: Value, missed: str) -> None:
    """Check the type of a NumPy scalar; kernels read its value."""
    e.require(e.test("eq", e.load(value, fields.TYPE), row["type"]), missed)
    e.fill_slot(row["slot"], value, e.add(value, fields.VALUE))


def _guard_integer(e: EntryBuilder, row: Row, value: Value, missed: str) -> None:
    """Check the value of an int; an overflow fails the guard."""
    e.require(e.test("eq", e.load(value, fields.TYPE), row["type"]), missed)
    number = e.call(e.runtime("int_value"), value, e.scratch)
    e.require(e.test("eq", e.load(e.scratch, 0, bits=32), 0), missed)
    e.require(e.test("eq", number, row["value"]), missed)


def _guard_same(e: EntryBuilder, row: Row, value: Value, missed: str) -> None:
    """Check the identity of an object."""
    e.require(e.test("eq", value, row["same"]), missed)


def _guard_disjoint(e: EntryBuilder, row: Row, array: Value, missed: str) -> None:
    """Check that the byte ranges of two arrays do not overlap.

    Other records guard the layouts of both; the range is given by distances from the first element.
    """
    other = _guarded(e, row, "other_source", "other_object")
    one, two = e.load(array, fields.DATA), e.load(other, fields.DATA)
    low, end = e.add(one, row["low"]), e.add(one, row["end"])
    other_low, other_end = e.add(two, row["other_low"]), e.add(two, row["other_end"])
    disjoint = e.variable(0)
    for first_end, next_low in ((end, other_low), (other_end, low)):
        with e.when(e.test("sle", first_end, next_low)):
            e.store(1, disjoint)
    e.require(e.test("ne", e.load(disjoint), 0), missed)


_OBJECT: Final = ("source", "object")
"""First words of a guard: the number of an argument, or -1 for the object in the next word."""
GUARDS: Final[dict[str, tuple[Words, Callable[..., None]]]] = {
    "array": (("slot", "dtype", "rank", "flags", "address"), _guard_array),
    "number": (("type", "slot", "words"), _guard_number),
    "scalar": (("type", "slot"), _guard_scalar),
    "integer": (("type", "value"), _guard_integer),
    "same": (("same",), _guard_same),
    "disjoint": (
        ("other_source", "other_object", "low", "end", "other_low", "other_end"),
        _guard_disjoint,
    ),
}
"""The words of each guard, and the code that checks it; an array's also has shape and strides."""


def guard_objects(e: EntryBuilder, missed: str) -> None:
    """Check the guards of a table: every argument, and every captured array."""
    with e.records(e.add(e.table, 8 * len(HEADER)), e.head("guards")) as record:
        value = _guarded(e, Row(e, record, _OBJECT), *_OBJECT)
        rows = [(Row(e, record, (*_OBJECT, *words)), ask) for words, ask in GUARDS.values()]
        e.choose_kind(record, [partial(ask, e, row, value, missed) for row, ask in rows])


def _guarded(e: EntryBuilder, row: Row, source: str, thing: str) -> Value:
    """The object that a record guards: the argument of a number, or a fixed object."""
    number, value = row[source], e.variable(0)
    e.store(row[thing], value)
    with e.when(e.test("sge", number, 0)):
        e.store(e.word(e.arguments, number), value)
    return e.load(value)


class Table(Record):
    """The words of a table, and the objects they refer to."""

    words: bytes
    kept: tuple[object, ...]


class Guards:
    """The records of one table, and the objects they refer to."""

    def __init__(self, plan: NativePlan | None, writes: Sequence[int] = ()) -> None:
        """Start without records; guarded objects get the slots of the plan."""
        self._plan, lent = plan, () if plan is None else plan.lent
        self._writable = {*writes, *lent}
        self._unused = 0 if plan is None else plan.slots
        self.records: list[list[int]] = []
        self.kept: list[object] = []

    def add(self, source: int, value: Any, position: int | None) -> bool:
        """Guard an argument of a call; it has a position in the program unless it is static.

        Returns:
            True if it can be guarded.
        """
        if position is None:
            return self._add_static(source, value)
        slot, code = self._slot(position)
        kind = type(value)
        if kind is np.ndarray:
            writable = position in self._writable
            if writable and not value.flags.writeable:
                return False
            flags = ALIGNED * value.flags.aligned | WRITEABLE * writable
            self._array(source, value, slot, flags, 0)
        elif kind in _NUMBERS:
            used = slot != self._unused
            if used and (code is None or np.dtype(code) != np.dtype(kind)):
                return False
            self._record("number", source, 0, id(kind), slot, _NUMBERS[kind])
        elif kind is int:
            return self._add_static(source, value)
        elif isinstance(value, np.generic) and value.dtype.kind in "biufc":
            if code is not None:
                return False
            self._record("scalar", source, 0, id(kind), slot)
            self.kept.append(kind)  # otherwise another class could get its address
        else:
            return False
        return True

    def _slot(self, position: int) -> tuple[int, str | None]:
        """The slot of an argument in the plan and the dtype of a number; or an unused slot."""
        given = {} if self._plan is None else self._plan.given
        return given.get(position, (self._unused, None))

    def _add_static(self, source: int, value: Any) -> bool:
        """Guard the value of a static argument: an int, or an immutable object."""
        if type(value) is int:
            if not -(2**63) <= value < 2**63:
                return False
            self._record("integer", source, 0, id(int), value)
            return True
        if value is None or value is ... or type(value) in (bool, str, bytes, float):
            self._record("same", source, 0, id(value))
            self.kept.append(value)
            return True
        return False

    def watch(self, array: Array, address_too: bool) -> None:
        """Guard the layout of a captured array, and perhaps its address."""
        where = address(array) if address_too else 0
        self._array(-1, array, self._unused, 0, where)

    def hold(self, array: Array, slot: int) -> None:
        """Put a constant of the plan into a slot; its address is read in each call."""
        self._array(-1, array, slot, 0, 0)

    def hold_argument(self, array: Array, position: int) -> None:
        """Put an array into the slot of an argument; its address is read in each call."""
        self.hold(array, self._slot(position)[0])

    def disjoint(self, source: int, array: Array, other_source: int, other: Array) -> None:
        """Guard that an argument shares no memory with another array; other records guard both.

        The source of an array that is not an argument is -1.
        """
        spans = [span(one.shape, one.strides, one.itemsize) for one in (array, other)]
        if array.size and other.size:
            where = other_source, 0 if other_source >= 0 else id(other)
            self._record("disjoint", source, 0, *where, *spans[0], *spans[1])

    def _array(self, source: int, array: Array, slot: int, flags: int, where: int) -> None:
        given = source >= 0
        if not given:
            self.kept.append(array)
        layout = [dtype_word(array.dtype), array.ndim, flags, where, *array.shape, *array.strides]
        self._record("array", source, 0 if given else id(array), slot, *layout)

    def _record(self, guard: str, source: int, thing: int, *words: int) -> None:
        self.records.append([[*GUARDS].index(guard), 4 + len(words), source, thing, *words])

    def table(
        self,
        positional: int,
        names: tuple[str, ...],
        hits: Any,
        runner: Callable[..., Any] | None = None,
        otherwise: Callable[..., Any] | None = None,
        errors: type[Exception] = OtherLengthError,
    ) -> Table:
        """The table of a call that the plan or the function `runner` answers.

        If one of `errors` is raised, the plan does not fit the call, and `otherwise` answers it.
        """
        plan = self._plan
        for array, slot in () if plan is None else plan.held:
            self.hold(array, slot)
        records = [word for record in self.records for word in record]
        head = {
            "runtime": id(runtime_block()) + BYTES,
            "settings": settings_number(),
            "positional": positional,
            "keywords": len(names),
            "names": id(names),
            "guards": len(self.records),
            "hits": hits.buffer_info()[0],
            "runner": 0 if runner is None else id(runner),
            "otherwise": 0 if otherwise is None else id(otherwise),
            "errors": id(errors),
        }
        steps = [] if plan is None else [word for step in plan.steps for word in step.record()]
        head |= _plan_words(plan, len(HEADER) + len(records), len(steps))
        words = [*(head.get(name, 0) for name in HEADER), *records, *steps]
        words += () if plan is None else plan.results
        kept = (names, hits, *self.kept, runner, otherwise, errors)
        kept += () if plan is None else plan.kept()
        return Table(struct.pack(f"<{len(words)}q", *words), kept)


def _plan_words(plan: NativePlan | None, steps_at: int, size: int) -> dict[str, int]:
    """The header's words about a plan, and the memory layout of a call."""
    slots, block_from = UNUSED_SLOTS, 2 * UNUSED_SLOTS
    found: dict[str, int] = {}
    if plan is not None:
        slots += plan.slots
        block_from = 2 * slots + plan.operands
        memory = 8 * (block_from + plan.block_words)
        found = {
            "owned": plan.owned,
            "slots": plan.slots,
            "steps": len(plan.steps),
            "steps_at": steps_at,
            "results": len(plan.results),
            "results_at": steps_at + size,
            "form": plan.form,
            "memory": memory if memory > 8 * STACK_WORDS else 0,
        }
    at = {"values_from": slots, "operands_from": 2 * slots, "block_from": block_from}
    return found | at


def with_table(tables: tuple[object, ...], table: Table) -> tuple[object, ...]:
    """The tables of a cell with a new one in front; an equal one is replaced."""
    pairs = list(zip(tables[::2], tables[1::2], strict=True))
    others = [pair for pair in pairs if pair[0] != table.words][: MOST_TABLES - 1]
    return tuple(part for pair in ((table.words, table.kept), *others) for part in pair)
