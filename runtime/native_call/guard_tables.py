"""Guard tables: the conditions and the instructions of a call, as words for the native entry.

A table has a header, a record for each guard, a record for each instruction of a plan, the slots of
results, and the known part of the vector. Records refer to a call's values by their numbers in the
vector (see `builder.HEADER`). A table has the addresses of objects; `Table.kept` keeps these
objects alive. To add a guard, add a row to `GUARDS` with its words and its code.
"""

from __future__ import annotations

import struct
import sys
from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from types import CellType, FunctionType
from typing import Any, Final

import numpy as np

from axiomjit.base.config import packed_settings
from axiomjit.base.dtypes import DTYPES
from axiomjit.base.records import Record
from axiomjit.runtime.memory.allocation import address, span
from axiomjit.runtime.native_call import structures as fields
from axiomjit.runtime.native_call.builder import HEADER, STACK_WORDS, EntryBuilder, Row
from axiomjit.runtime.native_call.instructions import (
    SET_ATTRIBUTE,
    SET_KEY,
    SET_POSITION,
    NativePlan,
    Store,
)
from axiomjit.runtime.native_call.source_rows import OF_MISSING, SOURCE_ROWS
from axiomjit.runtime.native_call.structures import (
    ALIGNED,
    BYTES,
    CONTENTS,
    FUNCTION_PARTS,
    SIZES,
    WRITEABLE,
    InDict,
    NoAttributes,
    Slot,
    attribute_place,
    dtype_word,
    outside_refusal,
    place_of_key,
    runtime_block,
    stores_plainly,
    version,
)
from axiomjit.runtime.native_call.words import (
    COMPUTED,
    LARGEST,
    LEAST,
    WORD_ROWS,
    FloatWord,
    Word,
    Words,
    read_integer,
)
from axiomjit.runtime.object_cache.llvm_text import Value
from axiomjit.symbolic.data_dependent import OtherLengthError
from axiomjit.symbolic.dims import Dim, Symbol
from axiomjit.symbolic.dims import Guard as Comparison

Array = np.ndarray[Any, Any]
MAX_TABLES: Final = 8
"""The largest number of tables of a native entry; a further table replaces the oldest."""
_NUMBERS: Final = {float: 1, complex: 2}
"""The number of words of each type of Python number that kernels take by value."""
_BIT_CLASSES: Final = {np.dtype(code).type for code in DTYPES}
"""The classes of NumPy scalars that consist only of the bits of their value."""
UNUSED_SLOTS: Final = 2
"""The number of slots for guarded values that no step uses; a complex number needs two slots."""


def _guard_array(e: EntryBuilder, row: Row, array: Value, missed: str) -> None:
    """Emit the check of an array's layout, and of its address unless the row has address 0."""
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
    """Emit the check of the type of a float or complex number, whose value kernels get."""
    e.require(e.test("eq", e.load(value, fields.TYPE), row["type"]), missed)
    slot = row["slot"]
    e.store(value, e.at(e.objects, slot))
    first, bits = e.at(e.values, slot), e.add(value, fields.VALUE)
    with e.count(row["words"]) as number:
        e.store(e.word(bits, number), e.at(first, number))


def _guard_scalar(e: EntryBuilder, row: Row, value: Value, missed: str) -> None:
    """Emit the check of the type of a NumPy scalar, from which kernels read the value."""
    e.require(e.test("eq", e.load(value, fields.TYPE), row["type"]), missed)
    e.fill_slot(row["slot"], value, e.add(value, fields.VALUE))


def _guard_integer(e: EntryBuilder, row: Row, value: Value, missed: str) -> None:
    """Emit the check of the value of an int; a value of more than 64 bits fails it."""
    e.require(e.test("eq", read_integer(e, row, value, missed), row["value"]), missed)


def _guard_same(e: EntryBuilder, row: Row, value: Value, missed: str) -> None:
    """Emit the check that a value is the known object."""
    e.require(e.test("eq", value, row["same"]), missed)


def _guard_disjoint(e: EntryBuilder, row: Row, array: Value, missed: str) -> None:
    """Emit the check that the byte ranges of two arrays do not overlap.

    The layouts of both arrays are guarded by other records. The row has the distances from an
    array's first element to the bounds of its range.
    """
    other = e.word(e.vector, row["other"])
    one, two = e.load(array, fields.DATA), e.load(other, fields.DATA)
    low, end = e.add(one, row["low"]), e.add(one, row["end"])
    other_low, other_end = e.add(two, row["other_low"]), e.add(two, row["other_end"])
    disjoint = e.variable(0)
    for first_end, next_low in ((end, other_low), (other_end, low)):
        with e.when(e.test("sle", first_end, next_low)):
            e.store(1, disjoint)
    e.require(e.test("ne", e.load(disjoint), 0), missed)


GUARDS: Final[dict[str, tuple[tuple[str, ...], Callable[..., None]]]] = {
    "array": (("slot", "dtype", "rank", "flags", "address"), _guard_array),
    "number": (("type", "slot", "words"), _guard_number),
    "scalar": (("type", "slot"), _guard_scalar),
    "integer": (("type", "value"), _guard_integer),
    "same": (("same",), _guard_same),
    "disjoint": (("other", "low", "end", "other_low", "other_end"), _guard_disjoint),
    **SOURCE_ROWS,
    **WORD_ROWS,
}
"""The words and the code of each guard; in a record, an array's shape and strides follow the
words.
"""
Known = tuple[()] | tuple[object] | None
"""A tuple with the object that a value must be, () if the value must be missing, None for any
value.
"""
_GUARD_NUMBERS: Final = {name: number for number, name in enumerate(GUARDS)}


def guard_objects(e: EntryBuilder, missed: str) -> None:
    """Emit code that checks the guards of a table, and reads the values from outside the call."""
    with e.records(e.add(e.table, 8 * len(HEADER)), e.head("guards")) as record:
        value = e.word(e.vector, Row(e, record, ("source",))["source"])
        asks = [partial(_guard_value, e, name, record, value, missed) for name in GUARDS]
        e.choose_kind(record, asks)


def _guard_value(e: EntryBuilder, name: str, record: Value, value: Value, missed: str) -> None:
    words, ask = GUARDS[name]
    if name not in (*OF_MISSING, *COMPUTED):
        e.require(e.test("ne", value, 0), missed)
    ask(e, Row(e, record, ("source", *words)), value, missed)


class Table(Record):
    """The words of a guard table, and the objects whose addresses are among the words."""

    words: bytes
    kept: tuple[object, ...]


class Guards:
    """A writer of one guard table: its records and the objects that they refer to."""

    def __init__(self, plan: NativePlan | None, writes: Sequence[int] = ()) -> None:
        """Start without records; objects that no step uses get slots behind the plan's slots."""
        self._plan, lent = plan, () if plan is None else plan.lent
        self._writable = {*writes, *lent}
        self._unused = 0 if plan is None else plan.slots
        self._words = Words(self._unused + UNUSED_SLOTS)
        self._outside: list[int] = []
        self._fixed: dict[int, int] = {}
        self._versions: dict[type, int] = {}
        self._stores: list[Store] = []
        self._source_of_words = 0
        self.records: list[list[int]] = []
        self.kept: list[object] = []

    def add(self, source: int, value: Any, position: int | None) -> bool:
        """Guard a value of the vector; `position` is None for a static argument.

        Returns:
            True if the value can be guarded.
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
            self._record("number", source, id(kind), slot, _NUMBERS[kind])
        elif kind is int:
            return self._add_static(source, value)
        elif isinstance(value, np.generic) and value.dtype.kind in "biufc":
            if code is not None:
                return False
            self._record("scalar", source, self._keep(kind), slot)
        else:
            return False
        return True

    def _slot(self, position: int) -> tuple[int, str | None]:
        """The slot of an argument, with the dtype if it is a number; or an unused slot."""
        given = {} if self._plan is None else self._plan.given
        return given.get(position, (self._unused, None))

    def _add_static(self, source: int, value: Any) -> bool:
        """Guard the value of a static argument; True if it can be guarded."""
        if type(value) is int:
            if not -(2**63) <= value < 2**63:
                return False
            self._record("integer", source, id(int), value)
            return True
        if value is None or value is ... or type(value) in (bool, str, bytes, float):
            self.same(source, value)
            return True
        return False

    def word(self, source: int, value: int, symbol: Symbol) -> bool:
        """Read an int as the value of a symbol; True if the int fits into a word."""
        fits = LEAST <= value <= LARGEST and self._plan is not None
        if fits:
            self._record("integer_word", source, id(int), self._words.given(symbol))
            self._source_of_words = source
        return fits

    def limit(self, comparisons: Iterable[Comparison]) -> None:
        """Guard the recorded outcomes of comparisons of lengths."""
        for one in comparisons:
            self._words.limit(one)

    def _keep(self, value: object) -> int:
        """The address of an object, which the table keeps alive."""
        self.kept.append(value)
        return id(value)

    def watch(self, array: Array, address_too: bool) -> int:
        """Guard the layout of a captured array, and with `address_too` its address.

        Returns:
            The array's number in the vector.
        """
        where, source = address(array) if address_too else 0, self.fixed(array)
        self._array(source, array, self._unused, 0, where)
        return source

    def hold(self, array: Array, slot: int) -> None:
        """Put an array that the plan holds into a slot; its address is read in each call."""
        self._array(self.fixed(array), array, slot, 0, 0)

    def hold_argument(self, array: Array, position: int) -> None:
        """Put an array into the slot of an argument; its address is read in each call."""
        self.hold(array, self._slot(position)[0])

    def disjoint(self, source: int, array: Array, other_source: int, other: Array) -> None:
        """Guard that two arrays share no memory; other records guard their layouts."""
        spans = [span(one.shape, one.strides, one.itemsize) for one in (array, other)]
        if array.size and other.size:
            self._record("disjoint", source, other_source, *spans[0], *spans[1])

    def _array(self, source: int, array: Array, slot: int, flags: int, where: int) -> None:
        layout = [dtype_word(array.dtype), array.ndim, flags, where, *array.shape, *array.strides]
        self._record("array", source, slot, *layout)

    def _record(self, guard: str, source: int, *words: int) -> None:
        self.records.append([_GUARD_NUMBERS[guard], 3 + len(words), source, *words])

    # --- values from outside ------------------------------------------------------------------

    def fixed(self, value: object) -> int:
        """The number in the vector of an object that is the same object in all calls."""
        if id(value) not in self._fixed:
            self._outside.append(self._keep(value))
            self._fixed[id(value)] = -len(self._outside)
        return self._fixed[id(value)]

    def _read(self, row: str, source: int, known: Known, kind: type, *words: int) -> int:
        """Add a row that reads a part of a value; return the part's number, 0 if it is known."""
        number = 0
        if known is None:
            self._outside.append(0)
            number = -len(self._outside)
        address = self._keep(known[0]) if known else 0
        self._record(row, source, number, address, self._keep(kind), *words)
        return number

    def item(self, source: int, whole: object, key: Any, known: Known = None) -> int | None:
        """The number of an entry of a container; None if native code cannot read the entry."""
        kind = type(whole)
        if not outside_refusal():
            if isinstance(whole, dict) and _is_plain_key(key):
                place = -1
                if type(key) is str:
                    key, place = place_of_key(whole, sys.intern(key))
                words = self._keep(key), place
                return self._read("dict_item", source, known, kind, *words)
            if isinstance(whole, list | tuple) and type(key) is int and 0 <= key < 2**63:
                words = key, isinstance(whole, list)
                return self._read("position", source, known, kind, *words)
        return None

    def attribute(self, source: int, whole: object, name: str, known: Known = None) -> int | None:
        """The number under which rows read an instance's own attribute; None if they cannot."""
        kind = type(whole)
        place = attribute_place(kind, name)
        if place is None or not self.unchanged(kind):
            return None
        if isinstance(place, NoAttributes):
            self.of_class(source, kind)
            return 0 if known == () else None
        if isinstance(place, Slot):
            return self._read("word", source, known, kind, place.at)
        interned = self._keep(sys.intern(str(name)))
        if isinstance(place, InDict):
            return self._read("own", source, known, kind, place.at, interned)
        words = place.at, place.keys, place.count
        return self._read("inline", source, known, kind, *words, interned)

    def contents(self, source: int, known: Known = None) -> int | None:
        """The number under which rows read the value in a cell; None if they cannot."""
        refused = outside_refusal()
        return None if refused else self._read("word", source, known, CellType, CONTENTS)

    def function_part(self, source: int, name: str, known: Known = None) -> int | None:
        """The number under which rows read a part of a function; None if they cannot read it."""
        if outside_refusal() or name not in FUNCTION_PARTS:
            return None
        known = () if known == (None,) else known
        return self._read("word", source, known, FunctionType, FUNCTION_PARTS[name])

    def unchanged(self, kind: type) -> bool:
        """Guard a class and its bases against changes; True if the class can be guarded."""
        known = version(kind)
        if known and kind not in self._versions:
            self._record("version", self.fixed(kind), known)
            self._versions[kind] = known
        return known is not None

    def same(self, source: int, value: object) -> None:
        """Guard that a value is this object."""
        self._record("same", source, self._keep(value))

    def defined(self, source: int) -> None:
        """Guard that the value is not missing."""
        self._record("defined", source)

    def of_class(self, source: int, kind: type) -> None:
        """Guard the class of a value."""
        self._record("class", source, self._keep(kind))

    def length(self, source: int, whole: object, count: int) -> bool:
        """Guard the number of entries of a container; True if the number can be guarded."""
        at = next((at for kind, at in SIZES.items() if isinstance(whole, kind)), None)
        if at is None or outside_refusal():
            return False
        self._record("length", source, self._keep(type(whole)), at, count)
        return True

    def keys(self, source: int, whole: object) -> bool:
        """Guard the keys of a dict by identity and order; True if the keys can be guarded."""
        if not isinstance(whole, dict) or isinstance(whole, OrderedDict) or outside_refusal():
            return False  # an OrderedDict keeps its order beside the table
        given = [self._keep(key) for key in dict.__iter__(whole)]
        self._record("keys", source, self._keep(type(whole)), len(given), *given)
        return True

    def equals(self, source: int, value: Any) -> bool:
        """Guard that a value has the type and value of `value`; True if this can be guarded.

        `value` is the value in this call; values of its type are compared by value.
        """
        kind = type(value)
        number = kind in (float, complex) or (
            isinstance(value, np.generic) and kind in _BIT_CLASSES
        )
        if number:
            bits = np.asarray(value).tobytes()
            mask = (1 << 8 * min(len(bits), 8)) - 1
            words = [int.from_bytes(bits[k : k + 8], "little") for k in range(0, len(bits), 8)]
            signed = [_signed(word) for word in (mask, *words)]
            self._record("bits", source, self._keep(kind), len(words), *signed)
        elif kind is int and -(2**63) <= value < 2**63:
            self._record("integer", source, id(int), value)
        elif kind in (str, bytes, int):
            self._record("equal", source, self._keep(kind), self._keep(value))
        elif kind is tuple:
            return self.length(source, value, len(value)) and all(
                self._equal_item(source, value, k) for k in range(len(value))
            )
        elif isinstance(value, np.void):
            return False  # the elements of a record may be changed
        else:
            self.same(source, value)
        return True

    def _equal_item(self, source: int, value: tuple[Any, ...], position: int) -> bool:
        number = self.item(source, value, position)
        return number is not None and self.equals(number, value[position])

    def one(self, source: int, other: int) -> None:
        """Guard that two values are the same object, or are both missing."""
        self._record("one", source, other)

    def distinct(self, source: int, others: Sequence[int]) -> None:
        """Guard that a value is a different object than each of the values numbered `others`."""
        self._record("distinct", source, len(others), *others)

    # --- effects ------------------------------------------------------------------------------

    def store_item(
        self,
        target: int,
        whole: object,
        key: Any,
        slot: int = -1,
        number: int = 0,
    ) -> bool:
        """Store a result or a value of the vector into a container, after the plan has run.

        Returns:
            True if the container is a dict or list into which native code can store.
        """
        if outside_refusal():
            return False
        if type(whole) is dict and _is_plain_key(key):
            word = self._keep(sys.intern(key) if type(key) is str else key)
            self._stores.append(Store(SET_KEY, target, word, slot, number))
        elif type(whole) is list and type(key) is int and 0 <= key < 2**63:
            self._stores.append(Store(SET_POSITION, target, key, slot, number))
        else:
            return False
        self.of_class(target, type(whole))
        return True

    def store_attribute(
        self,
        target: int,
        whole: object,
        name: str,
        slot: int = -1,
        number: int = 0,
    ) -> bool:
        """Store a result or a value of the vector into an attribute of an instance or cell.

        Returns:
            True if the store runs no user code.
        """
        kind = type(whole)
        if outside_refusal() or not stores_plainly(kind, name) or not self.unchanged(kind):
            return False
        self.of_class(target, kind)
        word = self._keep(sys.intern(str(name)))
        self._stores.append(Store(SET_ATTRIBUTE, target, word, slot, number))
        return True

    # --- the table ----------------------------------------------------------------------------

    def table(
        self,
        positional: int,
        names: tuple[str, ...],
        hits: Any,
        runner: Callable[..., Any] | None = None,
        otherwise: Callable[..., Any] | None = None,
        errors: type[Exception] = OtherLengthError,
        passed: Sequence[int] = (),
    ) -> Table:
        """The table of a call, whose result the plan or the function `runner` returns.

        If the plan or the runner raises one of `errors`, it does not fit the call, and `otherwise`
        returns the result. `passed` are the numbers of values from outside that `runner` gets
        behind the arguments.

        Raises:
            OverflowError: a number has more than 64 bits.
        """
        plan = self._plan
        for array, slot in () if plan is None else plan.held:
            self.hold(array, slot)
        done = () if plan is None else (*plan.steps, *self._stores)
        steps, patches = self._with_words([word for step in done for word in step.record()])
        records = [word for record in self.records for word in record]
        head = {
            "runtime": id(runtime_block()) + BYTES,
            "settings": packed_settings(),
            "positional": positional,
            "keywords": len(names),
            "names": id(names),
            "guards": len(self.records),
            "hits": hits.buffer_info()[0],
            "runner": 0 if runner is None else id(runner),
            "otherwise": 0 if otherwise is None else id(otherwise),
            "errors": id(errors),
        }
        results = () if plan is None else plan.results
        arguments = positional + len(names)
        head |= self._lengths(arguments, len(passed), len(steps) if patches else 0)
        head["patches"] = len(patches) // 2
        parts = {"steps": steps, "results": results, "outside": self._outside, "passed": passed}
        parts["patches"] = patches
        at = len(HEADER) + len(records)
        for name, part in parts.items():
            head[f"{name}_at"] = at
            at += len(part)
        words = [*(head.get(name, 0) for name in HEADER), *records, *steps, *results]
        words += [*reversed(self._outside), *passed, *patches]
        kept = (names, hits, *self.kept, runner, otherwise, errors)
        kept += () if plan is None else plan.kept()
        try:
            return Table(struct.pack(f"<{len(words)}q", *words), kept)
        except struct.error as error:
            raise OverflowError("a number in a table has more than 64 bits") from error

    def _with_words(self, steps: Sequence[Word]) -> tuple[list[int], list[int]]:
        """The words of instructions, and the patches for words that each call computes.

        The rows that compute these words and check limits become the last records of the table.
        """
        plain = [one.constant if isinstance(one, Dim) and not one.symbols else one for one in steps]
        computed = {k: one for k, one in enumerate(plain) if isinstance(one, Dim | FloatWord)}
        for name, words in self._words.finish(computed.values()):
            self._record(name, self._source_of_words, *words)
        patches = [part for k, one in computed.items() for part in (k, self._words.slot(one))]
        return [one if isinstance(one, int) else 0 for one in plain], patches

    def _lengths(self, arguments: int, passed: int, patched: int) -> dict[str, int]:
        """The words of the header that describe the plan and the memory layout of a call.

        A call copies `patched` words of instructions.
        """
        plan, slots, operands, block_words = self._plan, UNUSED_SLOTS, arguments + passed, 0
        found: dict[str, int] = {}
        if plan is not None:
            slots, operands = slots + plan.slots + self._words.count, plan.operands
            block_words = plan.block_words
            found = {
                "owned": plan.owned,
                "slots": plan.slots,
                "steps": len(plan.steps) + len(self._stores),
                "results": len(plan.results),
                "form": plan.form,
            }
        vector_from = 2 * slots + operands
        block_from = vector_from + (len(self._outside) + arguments) * bool(self._outside)
        steps_from = block_from + block_words
        memory = 8 * (steps_from + patched)
        return found | {
            "outside": len(self._outside),
            "passed": passed,
            "values_from": slots,
            "operands_from": 2 * slots,
            "vector_from": vector_from,
            "block_from": block_from,
            "steps_from": steps_from,
            "step_words": patched,
            "memory": memory if memory > 8 * STACK_WORDS else 0,
        }


def _is_plain_key(key: Any) -> bool:
    """True if a search for a key runs no user code, apart from methods of other keys."""
    if type(key) is tuple:
        return all(map(_is_plain_key, key))
    return key is None or type(key) in (str, int, bool, float, complex, bytes)


def _signed(word: int) -> int:
    return word - (1 << 64) if word >> 63 else word


def with_table(tables: tuple[object, ...], table: Table) -> tuple[object, ...]:
    """The tables of a cell, with a new table in front, which replaces an equal table."""
    pairs = list(zip(tables[::2], tables[1::2], strict=True))
    others = [pair for pair in pairs if pair[0] != table.words][: MAX_TABLES - 1]
    return tuple(part for pair in ((table.words, table.kept), *others) for part in pair)
