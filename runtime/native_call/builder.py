"""Builders of the entry's LLVM text: every value is a 64-bit integer, every variable is memory.

LLVM's own passes turn the variables into registers; addresses are integers until they are used.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Final

from axiomjit.runtime.native_call.structures import RUNTIME

Value = str
"""A number in LLVM text: a literal, or the name of a result."""
NAME: Final = "axiomjit_entry"
HEADER: Final = (
    *("runtime", "settings", "positional", "keywords", "names", "guards", "hits", "runner"),
    *("owned", "slots", "steps", "steps_at", "results", "results_at", "form", "otherwise"),
    *("errors", "memory", "values_from", "operands_from", "block_from"),
)
"""The words of a guard table's header. Guards follow, then the instructions of a plan, then the
slots of results. `runner` is a Python function in place of a plan. Words named `_at` are word
indices in the table. `otherwise` is a function that answers if one of `errors` is raised. `memory`
is the number of bytes that the call allocates, 0 if `STACK_WORDS` are enough; words named `_from`
are word indices in that memory, which begins with the objects of all slots.
"""
STACK_WORDS: Final = 256
"""Words on the stack of a native call, for slots, operands and an argument block."""


class Builder:
    """Writes the body of one function, block after block."""

    def __init__(self, name: str, parameters: int) -> None:
        """Begin a function with this number of parameters, which returns one value."""
        self.parameters = tuple(f"%p{k}" for k in range(parameters))
        given = ", ".join(f"i64 {p}" for p in self.parameters)
        self._head = [f"define i64 @{name}({given}) {{", "entry:"]
        self._lines: list[str] = []
        self._count = 0

    def text(self) -> str:
        """The text of the function; its stack memory comes first, so that it is allocated once."""
        return "\n".join((*self._head, *self._lines, " unreachable", "}")) + "\n"

    def _name(self) -> str:
        self._count += 1
        return f"v{self._count}"

    def _result(self, text: str) -> Value:
        name = "%" + self._name()
        self._lines.append(f" {name} = {text}")
        return name

    def _pointer(self, address: Value) -> Value:
        return self._result(f"inttoptr i64 {address} to ptr")

    # --- memory -------------------------------------------------------------------------------

    def block(self, words: int) -> Value:
        """The address of new stack memory of this number of words."""
        name = "%" + self._name()
        self._head.append(f" {name} = alloca [{words} x i64], align 16")
        return self._result(f"ptrtoint ptr {name} to i64")

    def variable(self, value: Value | int) -> Value:
        """The address of a word with this initial value."""
        address = self.block(1)
        self.store(value, address)
        return address

    def load(self, address: Value, offset: Value | int = 0, bits: int = 64) -> Value:
        """The unsigned integer `offset` bytes behind an address."""
        pointer = self._pointer(self.add(address, offset))
        found = self._result(f"load i{bits}, ptr {pointer}, align {bits // 8}")
        return found if bits == 64 else self._result(f"zext i{bits} {found} to i64")

    def store(self, value: Value | int, address: Value, offset: Value | int = 0) -> None:
        """Store a word `offset` bytes behind an address."""
        pointer = self._pointer(self.add(address, offset))
        self._lines.append(f" store i64 {value}, ptr {pointer}, align 8")

    def store_byte(self, value: Value, address: Value, offset: Value) -> None:
        """Store the low byte of a value `offset` bytes behind an address."""
        pointer = self._pointer(self.add(address, offset))
        low = self._result(f"trunc i64 {value} to i8")
        self._lines.append(f" store i8 {low}, ptr {pointer}, align 1")

    def word(self, address: Value, number: Value | int) -> Value:
        """Word `number` of the memory at an address."""
        if isinstance(number, int):
            return self.load(address, 8 * number)
        return self.load(self.at(address, number))

    def at(self, address: Value, number: Value) -> Value:
        """The address of word `number` of the memory at an address."""
        return self.add(address, self.shift_left(number, 3))

    # --- arithmetic ---------------------------------------------------------------------------

    def _binary(self, operation: str, left: Value | int, right: Value | int) -> Value:
        return self._result(f"{operation} i64 {left}, {right}")

    def add(self, left: Value, right: Value | int) -> Value:
        """The sum."""
        return left if right == 0 else self._binary("add", left, right)

    def both(self, left: Value, right: Value | int) -> Value:
        """The bitwise and."""
        return self._binary("and", left, right)

    def shift_left(self, value: Value, bits: Value | int) -> Value:
        """The value times a power of two."""
        return self._binary("shl", value, bits)

    def shift_right(self, value: Value, bits: Value | int) -> Value:
        """The value without its low bits."""
        return self._binary("lshr", value, bits)

    def test(self, relation: str, left: Value, right: Value | int) -> Value:
        """The result of a comparison by LLVM's `icmp`."""
        return self._result(f"icmp {relation} i64 {left}, {right}")

    # --- calls --------------------------------------------------------------------------------

    def call(self, function: Value, *arguments: Value | int) -> Value:
        """The result of a C function at an address, called with integers or pointers."""
        given = ", ".join(f"i64 {a}" for a in arguments)
        return self._result(f"call i64 {self._pointer(function)}({given})")

    def call_short(self, function: Value, *arguments: Value | int) -> Value:
        """As `call`, for a function that returns 32 bits."""
        given = ", ".join(f"i64 {a}" for a in arguments)
        found = self._result(f"call i32 {self._pointer(function)}({given})")
        return self._result(f"zext i32 {found} to i64")

    def call_format(self, function: Value, *arguments: Value | int) -> None:
        """Call a variadic function with two fixed words and further arguments."""
        given = ", ".join(f"i64 {a}" for a in arguments)
        self._result(f"call i64 (i64, i64, ...) {self._pointer(function)}({given})")

    def give(self, value: Value | int) -> None:
        """Return from the function; the code after it is a new block."""
        self._lines.append(f" ret i64 {value}")
        self.begin(self.label())

    # --- control ------------------------------------------------------------------------------

    def label(self) -> str:
        """The name of a later block."""
        return self._name()

    def begin(self, label: str) -> None:
        """Begin a block."""
        self._lines.append(f"{label}:")

    def go(self, label: str) -> None:
        """Branch to a block."""
        self._lines.append(f" br label %{label}")

    def choose(self, condition: Value, yes: str, no: str) -> None:
        """Branch to one of two blocks."""
        self._lines.append(f" br i1 {condition}, label %{yes}, label %{no}")

    def require(self, condition: Value, otherwise: str) -> None:
        """Continue if a condition holds, else branch to a block."""
        following = self.label()
        self.choose(condition, following, otherwise)
        self.begin(following)

    @contextmanager
    def when(self, condition: Value) -> Iterator[None]:
        """Run the body if a condition holds."""
        inside, behind = self.label(), self.label()
        self.choose(condition, inside, behind)
        self.begin(inside)
        yield
        self.go(behind)
        self.begin(behind)

    @contextmanager
    def count(self, end: Value, step: int = 1, first: Value | int = 0) -> Iterator[Value]:
        """Run the body for the numbers from `first` below `end`, by `step`."""
        number = self.variable(first)
        again, inside, behind = self.label(), self.label(), self.label()
        self.go(again)
        self.begin(again)
        current = self.load(number)
        self.choose(self.test("ult", current, end), inside, behind)
        self.begin(inside)
        yield current
        self.store(self.add(current, step), number)
        self.go(again)
        self.begin(behind)

    @contextmanager
    def records(self, address: Value, count: Value) -> Iterator[Value]:
        """Run the body for each record of a table; a record begins with its kind and size."""
        cursor = self.variable(address)
        with self.count(count):
            record = self.load(cursor)
            yield record
            self.store(self.at(record, self.word(record, 1)), cursor)

    def choose_kind(self, record: Value, kinds: Sequence[Callable[[], None]]) -> None:
        """Run the code for the kind of a record."""
        behind, kind = self.label(), self.word(record, 0)
        for number, do in enumerate(kinds):
            with self.when(self.test("eq", kind, number)):
                do()
                self.go(behind)
                self.begin(self.label())
        self.go(behind)
        self.begin(behind)


class Row:
    """The named words of a record in a table; further words are the `tail`."""

    def __init__(self, entry: Builder, address: Value, words: tuple[str, ...]) -> None:
        """Name all words after kind and size, which come first."""
        self._entry, self._address, self._words = entry, address, ("kind", "size", *words)

    def __getitem__(self, name: str) -> Value:
        """The value of a word."""
        return self._entry.word(self._address, self._words.index(name))

    @property
    def tail(self) -> Value:
        """The address behind the named words."""
        return self._entry.add(self._address, 8 * len(self._words))


class EntryBuilder(Builder):
    """Writes the entry; its parameters, its memory and the current table are values."""

    def __init__(self) -> None:
        """Begin the function."""
        super().__init__(NAME, 4)
        self.cell, self.arguments, self.given, self.names = self.parameters
        self.scratch = self.block(8)
        self._stack = self.block(STACK_WORDS)
        self._taken = self.variable(0)
        self.objects = self.values = self.operands = self.argument_block = ""
        self.table: Value = ""
        self.tables: Value = ""

    def head(self, name: str) -> Value:
        """A word of the table's header."""
        return self.word(self.table, HEADER.index(name))

    def runtime(self, name: str) -> Value:
        """A function of CPython or NumPy, an object, or the address of a word."""
        return self.word(self.head("runtime"), [*RUNTIME].index(name))

    def fill_slot(self, slot: Value, thing: Value, word: Value) -> None:
        """Store an object in a slot, with its word for kernels."""
        self.store(thing, self.at(self.objects, slot))
        self.store(word, self.at(self.values, slot))

    def take_memory(self, missed: str) -> None:
        """Provide memory for the slots, operands and argument blocks of the current table."""
        self.store(0, self._taken)
        memory, size = self.variable(self._stack), self.head("memory")
        with self.when(self.test("ne", size, 0)):
            taken = self.call(self.runtime("take_memory"), size)
            self.require(self.test("ne", taken, 0), missed)
            self.store(taken, self._taken)
            self.store(taken, memory)
        self.objects = self.load(memory)
        self.values = self.at(self.objects, self.head("values_from"))
        self.operands = self.at(self.objects, self.head("operands_from"))
        self.argument_block = self.at(self.objects, self.head("block_from"))

    def drop_memory(self) -> None:
        """Release the memory of the current table."""
        taken = self.load(self._taken)
        with self.when(self.test("ne", taken, 0)):
            self.call(self.runtime("drop_memory"), taken)

    def drop_tables(self) -> None:
        """Release the tables, which are freed if this call had the last reference."""
        self.call(self.runtime("drop"), self.tables)
