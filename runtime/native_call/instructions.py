"""The instructions of native calls, with their records in guard tables and their code.

Instructions work on slots. A slot holds an object and its word for kernels. The object is an
argument, an array of the plan or an object made by an instruction. The word is the address of the
object's data, or the bits of a number. To add an instruction, add a class and its row in
`INSTRUCTIONS`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Final

import numpy as np

from axiomjit.base.config import config
from axiomjit.base.records import Record
from axiomjit.runtime.memory.allocation import poison
from axiomjit.runtime.native_call import structures as fields
from axiomjit.runtime.native_call.builder import EntryBuilder, Row
from axiomjit.runtime.native_call.structures import WRITEABLE
from axiomjit.runtime.native_call.words import Word
from axiomjit.runtime.object_cache.llvm_text import Value
from axiomjit.symbolic.dims import Dim

Array = np.ndarray[Any, Any]
Words = tuple[str, ...]
Length = int | Dim
"""A length: a number, or a length that each call computes from integer arguments (`words`)."""
SCALARS, TUPLE, NOTHING = 1, 2, 4
"""Three bits of the `form` of a plan: results without dimensions are NumPy scalars; the results are
in a tuple; the call returns None.
"""


class Instruction(Record):
    """An instruction of a native plan."""

    def words(self) -> Sequence[Word]:
        """The words of the record: the words named in `INSTRUCTIONS`, then further words."""
        return [getattr(self, name) for name in INSTRUCTIONS[type(self)][0]]

    def record(self) -> list[Word]:
        """The record in a guard table: the kind, the number of words in all, and the words."""
        words = self.words()
        return [[*INSTRUCTIONS].index(type(self)), 2 + len(words), *words]


class NewArray(Instruction):
    """Make an array in new memory, or in the memory of the array at slot `base`.

    The memory at `base` is used from `offset` bytes on, and the new array is a view of the array at
    `base`. With `takes`, the new array gets the memory of the array at `base` as its own, and slot
    `base` is then empty. Without strides, the new array is in C order.
    """

    dtype: np.dtype[Any]
    shape: tuple[Length, ...]
    strides: tuple[Length, ...] | None
    slot: int
    base: int = -1
    offset: Length = 0
    takes: bool = False
    writable: bool = True

    @property
    def size_bytes(self) -> Length:
        """The number of bytes of the array's elements."""
        size: Length = self.dtype.itemsize
        for length in self.shape:
            size *= length
        return size

    def words(self) -> Sequence[Word]:
        """The words of the record; under `config.check`, one is the value that fills the array."""
        flags = WRITEABLE if self.writable and self.base >= 0 else 0
        is_filled = config.check and (self.base < 0 or self.takes)
        fill = np.full(8, poison(self.dtype), self.dtype).tobytes()[:8] if is_filled else b""
        return (
            *(self.slot, id(self.dtype), len(self.shape), self.strides is not None),
            *(self.base, self.offset, self.takes, flags, is_filled),
            *(int.from_bytes(fill, "little", signed=True), self.size_bytes),
            *(*self.shape, *(self.strides or ())),
        )


def _make_array(e: EntryBuilder, row: Row, failed: str) -> None:
    """Emit code that makes an array, in given memory or in memory that NumPy allocates."""
    base, dtype, rank, shape = row["base"], row["dtype"], row["rank"], row.tail
    data, owner, strides = e.variable(0), e.variable(0), e.variable(0)
    with e.when(e.test("sge", base, 0)):
        e.store(e.add(e.word(e.values, base), row["offset"]), data)
        e.store(e.word(e.objects, base), owner)
    with e.when(e.test("ne", row["is_strided"], 0)):
        e.store(e.at(shape, rank), strides)
    e.call(e.runtime("take"), dtype)
    given = e.load(strides), e.load(data), row["flags"]
    array = e.call(e.runtime("new_array"), e.runtime("array_type"), dtype, rank, shape, *given, 0)
    e.require(e.test("ne", array, 0), failed)
    begin = e.load(array, fields.DATA)
    e.fill_slot(row["slot"], array, begin)
    with e.when(e.test("ne", row["is_filled"], 0)), e.count(row["size_bytes"]) as number:
        shift = e.shift_left(e.both(number, 7), 3)
        e.store_byte(e.shift_right(row["fill"], shift), begin, number)
    held = e.load(owner)
    with e.when(e.test("ne", held, 0)):
        taken, shared, behind = e.label(), e.label(), e.label()
        e.choose(e.test("ne", row["takes"], 0), taken, shared)
        e.begin(taken)
        e.store(0, e.at(e.objects, base))
        e.go(behind)
        e.begin(shared)
        e.call(e.runtime("take"), held)
        e.go(behind)
        e.begin(behind)
        # `set_base` takes the reference to the owner even if it fails.
        found = e.call_short(e.runtime("set_base"), array, held)
        e.require(e.test("eq", found, 0), failed)


class Run(Instruction):
    """Run a kernel over all its units; with `releases`, without the GIL.

    `fills` are pairs of the index of a word in the argument block and the slot of its value.
    """

    kernel: int
    block: tuple[Word, ...]
    fills: tuple[tuple[int, int], ...]
    grid: Length
    combines: bool
    releases: bool

    def words(self) -> Sequence[Word]:
        """The named words, the words of the argument block, and the pairs in `fills`."""
        facts = self.kernel, self.grid, self.combines, self.releases
        pairs = [word for pair in self.fills for word in pair]
        return *facts, len(self.block), len(self.fills), *self.block, *pairs


def _run_kernel(e: EntryBuilder, row: Row, failed: str) -> None:
    """Emit the run of a kernel; a run without the GIL is followed by a check for signals."""
    _fill_block(e, row)
    status, thread, counted = e.variable(0), e.variable(0), e.runtime("kernels_run")
    e.store(e.add(e.load(counted), 1), counted)
    releases, grid = row["releases"], row["grid"]
    with e.when(e.test("ne", releases, 0)):
        e.store(e.call(e.runtime("save_thread")), thread)
    run = partial(e.call_short, row["kernel"], e.scratch, e.scratch, e.argument_block, 0)
    with e.when(e.test("ne", grid, 0)):
        e.store(run(grid), status)
    combines = e.variable(row["combines"])
    with e.when(e.test("ne", e.load(status), 0)):
        e.store(0, combines)
    with e.when(e.test("ne", e.load(combines), 0)):
        e.store(run(0), status)
    with e.when(e.test("ne", releases, 0)):
        e.call(e.runtime("restore_thread"), e.load(thread))
        stopped = e.call_short(e.runtime("check_signals"))
        e.require(e.test("eq", stopped, 0), failed)
    found = e.load(status)
    with e.when(e.test("ne", found, 0)):
        e.call_format(
            e.runtime("set_error"), *map(e.runtime, ("status_error", "status_text")), found
        )
        e.go(failed)
        e.begin(e.label())


def _fill_block(e: EntryBuilder, row: Row) -> None:
    """Emit code that fills the argument block with constant words and words from slots."""
    template, words = row.tail, row["words"]
    e.copy_words(template, e.argument_block, words)
    cursor = e.variable(e.at(template, words))
    with e.count(row["fills"]):
        pair = e.load(cursor)
        value = e.word(e.values, e.word(pair, 1))
        e.store(value, e.at(e.argument_block, e.word(pair, 0)))
        e.store(e.add(pair, 16), cursor)


class CallPython(Instruction):
    """Call a Python function with the objects at slots.

    The function returns the results as a tuple of new arrays. If the instruction has no results,
    the function's value is ignored. With `entire`, the function's value is the only result and may
    have any type.
    """

    function: Callable[..., Any]
    operands: tuple[int, ...]
    results: tuple[int, ...]
    entire: bool = False

    def words(self) -> Sequence[int]:
        """The named words, the slots of operands, and the slots of results."""
        counts = len(self.operands), len(self.results), self.entire
        return id(self.function), *counts, *self.operands, *self.results


def _call_python(e: EntryBuilder, row: Row, failed: str) -> None:
    count, slots = row["operands"], row.tail
    with e.count(count) as number:
        operand = e.word(e.objects, e.word(slots, number))
        e.store(operand, e.at(e.operands, number))
    made = e.call(e.runtime("vectorcall"), row["function"], e.operands, count, 0)
    e.require(e.test("ne", made, 0), failed)
    targets = e.at(slots, count)
    entire, tuples, behind = e.label(), e.label(), e.label()
    e.choose(e.test("ne", row["entire"], 0), entire, tuples)
    e.begin(entire)
    e.store(made, e.at(e.objects, e.word(targets, 0)))
    e.go(behind)
    e.begin(tuples)
    with e.count(row["results"]) as number:
        one = e.load(e.at(made, number), fields.TUPLE_ITEMS)
        e.call(e.runtime("take"), one)
        e.fill_slot(e.word(targets, number), one, e.load(one, fields.DATA))
    e.call(e.runtime("drop"), made)
    e.go(behind)
    e.begin(behind)


class Expect(Instruction):
    """Require an integer in a range at a slot; otherwise the table does not fit the call."""

    slot: int
    low: Length
    high: Length


def _expect(e: EntryBuilder, row: Row, failed: str) -> None:
    number = e.load(e.word(e.values, row["slot"]))
    e.require(e.test("sge", number, row["low"]), e.unfit)
    e.require(e.test("sle", number, row["high"]), e.unfit)


class NewInteger(Instruction):
    """Make a Python int from a word."""

    slot: int
    value: Length


def _make_integer(e: EntryBuilder, row: Row, failed: str) -> None:
    made = e.call(e.runtime("new_integer"), row["value"])
    e.require(e.test("ne", made, 0), failed)
    e.fill_slot(row["slot"], made, "0")


class AsNumber(Instruction):
    """Convert the result without dimensions at a slot to a Python number of a class."""

    slot: int
    kind: type

    def words(self) -> Sequence[int]:
        """The slot, and the address of the class."""
        return self.slot, id(self.kind)


def _make_number(e: EntryBuilder, row: Row, failed: str) -> None:
    slot = row["slot"]
    element = _as_result(e, f"{SCALARS}", slot)
    e.require(e.test("ne", element, 0), failed)
    e.store(element, e.at(e.objects, slot))
    e.store(element, e.operands)
    made = e.call(e.runtime("vectorcall"), row["python"], e.operands, 1, 0)
    e.require(e.test("ne", made, 0), failed)
    e.store(made, e.at(e.objects, slot))
    e.call(e.runtime("drop"), element)


class Drop(Instruction):
    """Release the array at a slot, which no later instruction needs."""

    slot: int


def _drop_array(e: EntryBuilder, row: Row, failed: str) -> None:
    slot = row["slot"]
    array = e.word(e.objects, slot)
    e.store(0, e.at(e.objects, slot))
    e.call(e.runtime("drop"), array)


class Share(Instruction):
    """Copy the reference at one of the caller's slots to a slot of the plan."""

    slot: int
    source: int


def _share_object(e: EntryBuilder, row: Row, failed: str) -> None:
    source = row["source"]
    thing = e.word(e.objects, source)
    e.call(e.runtime("take"), thing)
    e.fill_slot(row["slot"], thing, e.word(e.values, source))


class Store(Instruction):
    """Store an object into a container of the vector by a C function of container, key and object.

    The object is the result at `slot`, as a NumPy scalar if it has no dimensions. If `slot` is -1,
    the object is the value of the vector with this `number`. A list's setter takes over the
    reference to the object; other setters do not.
    """

    setter: str
    target: int
    key: int
    slot: int = -1
    number: int = 0

    def words(self) -> Sequence[int]:
        """The words of the record, with the address of the setter."""
        is_taken = self.setter == SET_POSITION
        where = self.target, self.key, self.slot, self.number
        return _function(self.setter), is_taken, *where


def _function(name: str) -> int:
    """The address of a function of `RUNTIME`."""
    at = 8 * [*fields.RUNTIME].index(name)
    return int.from_bytes(fields.runtime_block()[at : at + 8], "little")


SET_ATTRIBUTE, SET_KEY, SET_POSITION = "set_attribute", "set_key", "set_position"
"""The names of the setters of an attribute or a cell, of a dict, and of a list."""


def _store(e: EntryBuilder, row: Row, failed: str) -> None:
    value, slot = e.variable(e.word(e.vector, row["number"])), row["slot"]
    with e.when(e.test("sge", slot, 0)):
        result = _as_result(e, f"{SCALARS}", slot)
        e.require(e.test("ne", result, 0), failed)
        e.store(result, e.at(e.objects, slot))
        e.store(result, value)
    with e.when(e.test("ne", row["is_taken"], 0)):
        e.call(e.runtime("take"), e.load(value))
    target = e.word(e.vector, row["target"])
    found = e.call_short(row["setter"], target, row["key"], e.load(value))
    e.require(e.test("eq", found, 0), failed)


INSTRUCTIONS: Final[dict[type[Instruction], tuple[Words, Callable[..., None]]]] = {
    NewArray: (
        (
            *("slot", "dtype", "rank", "is_strided", "base", "offset", "takes", "flags"),
            *("is_filled", "fill", "size_bytes"),
        ),
        _make_array,
    ),
    Run: (("kernel", "grid", "combines", "releases", "words", "fills"), _run_kernel),
    Expect: (("slot", "low", "high"), _expect),
    CallPython: (("function", "operands", "results", "entire"), _call_python),
    NewInteger: (("slot", "value"), _make_integer),
    AsNumber: (("slot", "python"), _make_number),
    Drop: (("slot",), _drop_array),
    Share: (("slot", "source"), _share_object),
    Store: (("setter", "is_taken", "target", "key", "slot", "number"), _store),
}
"""For each instruction, the names of its words in order, and the function that emits its code."""


class NativePlan(Record):
    """A plan as instructions: it is bound to lengths and has the slots of its objects.

    `given` has the slot of each argument by position, with the dtype if the argument is a number.
    `held` has the constants of the plan with their slots. Slots below `owned` belong to the caller.
    `results` are the slots of results, and `form` describes the container of the results. A result
    may be a writable view of an argument at a position in `lent`. `kernels` has pairs of the handle
    of a kernel and the owner of its code.
    """

    given: dict[int, tuple[int, str | None]]
    held: tuple[tuple[Array, int], ...]
    owned: int
    slots: int
    steps: tuple[Instruction, ...]
    results: tuple[int, ...]
    form: int
    lent: frozenset[int]
    kernels: tuple[tuple[Any, object], ...]

    @property
    def operands(self) -> int:
        """The largest number of operands of a step that calls a Python function or class."""
        counts = [len(s.operands) for s in self.steps if isinstance(s, CallPython)]
        return max([*counts, *(1 for s in self.steps if isinstance(s, AsNumber))], default=0)

    @property
    def block_words(self) -> int:
        """The number of words of the plan's largest argument block."""
        return max([len(s.block) for s in self.steps if isinstance(s, Run)], default=0)

    def with_numbers(self, kinds: Mapping[int, type]) -> NativePlan | None:
        """The plan with some results as Python numbers; `kinds` has their classes by index.

        None if a Python function returns all results of the plan.
        """
        if any(isinstance(step, CallPython) and step.entire for step in self.steps):
            return None if kinds else self
        made = (AsNumber(self.results[number], kind) for number, kind in kinds.items())
        return self.replace(steps=(*self.steps, *made))

    def kept(self) -> tuple[object, ...]:
        """The objects that the records refer to, and the owners of the kernels' code."""
        return (*(owner for _, owner in self.kernels), self)


def answer(e: EntryBuilder, missed: str) -> None:
    """Emit code that calls the table's Python function or runs the instructions of its plan.

    If the plan does not fit the call, the code at `missed` runs next.
    """
    hits = e.head("hits")
    e.store(e.add(e.load(hits), 1), hits)
    runner = e.head("runner")
    with e.when(e.test("ne", runner, 0)):
        result = _run_python(e, runner)
        e.drop_memory()
        with e.when(e.test("eq", result, 0)):
            _answer_otherwise(e)
        e.drop_tables()
        e.give(result)
    failed, e.unfit = e.label(), e.label()
    with e.count(e.head("slots"), first=e.head("owned")) as number:
        e.store(0, e.at(e.objects, number))
    with e.records(e.steps(), e.head("steps")) as record:
        rows = INSTRUCTIONS.values()
        e.choose_kind(record, [partial(do, e, Row(e, record, words), failed) for words, do in rows])
    result = _results(e, failed)
    _drop_all(e)
    e.drop_memory()
    e.drop_tables()
    e.give(e.load(result))
    e.go(failed)
    e.begin(failed)
    _drop_all(e)
    e.drop_memory()
    _answer_otherwise(e)
    e.drop_tables()
    e.give(0)
    e.go(e.unfit)
    e.begin(e.unfit)
    _drop_all(e)
    e.store(e.add(e.load(hits), -1), hits)
    e.go(missed)


def _run_python(e: EntryBuilder, runner: Value) -> Value:
    """The result of a Python function for the arguments and the values in `passed`."""
    given, count, passed = e.variable(e.arguments), e.argument_count(), e.head("passed")
    with e.when(e.test("ne", passed, 0)):
        e.copy_words(e.arguments, e.operands, count)
        numbers, behind = e.at(e.table, e.head("passed_at")), e.at(e.operands, count)
        with e.count(passed) as number:
            e.store(e.word(e.vector, e.word(numbers, number)), e.at(behind, number))
        e.store(e.operands, given)
    return e.call(e.runtime("vectorcall"), runner, e.load(given), e.add(count, passed), 0)


def _results(e: EntryBuilder, failed: str) -> Value:
    """The variable with the call's result; the results are moved out of their slots."""
    numbers, form, result = e.at(e.table, e.head("results_at")), e.head("form"), e.variable(0)
    tuples, single, behind = e.label(), e.label(), e.label()
    with e.when(e.test("ne", e.both(form, NOTHING), 0)):
        nothing = e.runtime("nothing")
        e.call(e.runtime("take"), nothing)
        e.store(nothing, result)
        e.go(behind)
        e.begin(e.label())
    e.choose(e.test("ne", e.both(form, TUPLE), 0), tuples, single)
    e.begin(single)
    e.store(_as_result(e, form, e.word(numbers, 0)), result)
    e.go(behind)
    e.begin(tuples)
    total = e.head("results")
    together = e.call(e.runtime("new_tuple"), total)
    e.require(e.test("ne", together, 0), failed)
    e.store(together, result)
    with e.count(total) as number:
        item = _as_result(e, form, e.word(numbers, number))
        e.call(e.runtime("set_item"), together, number, item)
        with e.when(e.test("eq", item, 0)):  # out of memory: the tuple frees its items
            e.call(e.runtime("drop"), together)
            e.store(0, result)
            e.go(behind)
            e.begin(e.label())
    e.go(behind)
    e.begin(behind)
    return result


def _as_result(e: EntryBuilder, form: Value, slot: Value) -> Value:
    """The array at a slot, or its NumPy scalar; the slot is then empty.

    The slot may already hold a number, which NumPy's conversion function does not accept.
    """
    result = e.variable(e.word(e.objects, slot))
    e.store(0, e.at(e.objects, slot))
    is_array = e.test("eq", e.load(e.load(result), fields.TYPE), e.runtime("array_type"))
    with e.when(e.test("ne", e.both(form, SCALARS), 0)), e.when(is_array):
        e.store(e.call(e.runtime("as_scalar"), e.load(result)), result)
    return e.load(result)


def _drop_all(e: EntryBuilder) -> None:
    """Emit code that releases the arrays that are still in their slots."""
    with e.count(e.head("slots"), first=e.head("owned")) as number:
        array = e.word(e.objects, number)
        with e.when(e.test("ne", array, 0)):
            e.call(e.runtime("drop"), array)


def _answer_otherwise(e: EntryBuilder) -> None:
    """Emit code that calls the table's function `otherwise` after one of the errors in `errors`."""
    otherwise = e.head("otherwise")
    with e.when(e.test("ne", otherwise, 0)):
        found = e.call_short(e.runtime("is_error"), e.head("errors"))
        with e.when(e.test("ne", found, 0)):
            e.call(e.runtime("clear_error"))
            result = e.call(e.runtime("vectorcall"), otherwise, e.arguments, e.given, e.names)
            e.drop_tables()
            e.give(result)
