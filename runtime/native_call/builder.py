"""The builder of the entry's LLVM text: its parameters, its memory, and the records of tables."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Final

from axiomjit.runtime.native_call.structures import RUNTIME
from axiomjit.runtime.object_cache.llvm_text import Builder, Value

NAME: Final = "axiomjit_entry"
HEADER: Final = (
    *("runtime", "settings", "positional", "keywords", "names", "guards", "hits", "runner"),
    *("owned", "slots", "steps", "steps_at", "results", "results_at", "form", "otherwise"),
    *("errors", "memory", "values_from", "operands_from", "vector_from", "block_from"),
    *("outside", "outside_at", "passed", "passed_at"),
    *("patches", "patches_at", "step_words", "steps_from"),
)
"""The words of a guard table; its guards follow, then the instructions of a plan, then the slots of
results, the vector's part before the arguments, numbers of values passed to the runner, and patches
of instructions, pairs of a word's number and the slot of its value.

`runner` is a Python function in place of a plan; a word whose name ends in `_at` has the number of
another word of the table.
`otherwise` is a function that answers if one of `errors` is raised. `memory` is the number of bytes
that the call takes from Python, 0 if `STACK_WORDS` are enough; the words `_from` are numbers of
words in that memory, which begins with the objects of all slots. The vector has `outside` values
and then the arguments; the first argument has number 0, the last value before it -1."""
STACK_WORDS: Final = 256
"""Words of memory that a native call has on the stack: slots, operands, a vector and an argument
block."""


class Row:
    """The named words of a record in a table; further words are the `tail`."""

    def __init__(self, entry: Builder, address: Value, words: tuple[str, ...]) -> None:
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
        super().__init__(NAME, 4)
        self.cell, self.arguments, self.given, self.names = self.parameters
        self.scratch = self.block(8)
        self._stack = self.block(STACK_WORDS)
        self._taken = self.variable(0)
        self.objects = self.values = self.operands = self.argument_block = self.vector = ""
        self.unfit = ""
        """The label of the code that leaves a plan which does not fit the call."""
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

    def copy_words(self, source: Value, target: Value, words: Value) -> None:
        """Copy that many words."""
        with self.count(words) as number:
            self.store(self.word(source, number), self.at(target, number))

    def steps(self) -> Value:
        """The address of the instructions: with patches a copy of them in this call's memory."""
        steps, patches = (
            self.variable(self.at(self.table, self.head("steps_at"))),
            self.head("patches"),
        )
        with self.when(self.test("ne", patches, 0)):
            copied = self.at(self.objects, self.head("steps_from"))
            self.copy_words(self.load(steps), copied, self.head("step_words"))
            cursor = self.variable(self.at(self.table, self.head("patches_at")))
            with self.count(patches):
                pair = self.load(cursor)
                value = self.word(self.values, self.word(pair, 1))
                self.store(value, self.at(copied, self.word(pair, 0)))
                self.store(self.add(pair, 16), cursor)
            self.store(copied, steps)
        return self.load(steps)

    def fill_vector(self) -> None:
        """Emit code that makes the vector: known objects, 0 for values to read, the arguments.

        Guards read the values later. If there are no values beside arguments, the vector is the
        arguments' own memory.
        """
        vector, outside = self.variable(self.arguments), self.head("outside")
        with self.when(self.test("ne", outside, 0)):
            first = self.at(self.objects, self.head("vector_from"))
            self.copy_words(self.at(self.table, self.head("outside_at")), first, outside)
            arguments = self.at(first, outside)
            self.copy_words(self.arguments, arguments, self.argument_count())
            self.store(arguments, vector)
        self.vector = self.load(vector)

    def argument_count(self) -> Value:
        """The number of arguments of a call that fits the table."""
        return self.add(self.head("positional"), self.head("keywords"))

    def drop_memory(self) -> None:
        """Release the memory of the current table, and the values of its vector that were read."""
        outside = self.head("outside")
        known, first = self.at(self.table, self.head("outside_at")), self.head("vector_from")
        with self.count(outside) as number:
            is_read = self.test("eq", self.word(known, number), 0)
            with self.when(is_read):
                value = self.word(self.at(self.objects, first), number)
                self.call(self.runtime("drop"), value)
        taken = self.load(self._taken)
        with self.when(self.test("ne", taken, 0)):
            self.call(self.runtime("drop_memory"), taken)

    def drop_tables(self) -> None:
        """Release the tables, which are freed if this call had the last reference."""
        self.call(self.runtime("drop"), self.tables)
