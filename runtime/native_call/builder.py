"""The builder of the LLVM text of the native entry."""

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
"""The words of the header of a guard table.

Behind the header are the guards, the instructions of a plan, the slots of results, the vector's
part before the arguments, the numbers of values passed to the runner, and the patches of
instructions: pairs of the number of a word and the slot of its value.

`runner` is a Python function that is called in place of a plan. A word whose name ends in `_at` is
the number of another word of the table. `otherwise` is a function that answers the call if the plan
or the runner raises one of `errors`. `memory` is the number of bytes that the call allocates by
Python, 0 if `STACK_WORDS` words are enough. A word whose name ends in `_from` is the number of a
word in that memory, which begins with the objects of all slots. The vector has the values of a
call: `outside` values from outside the call, then the arguments. In the vector, the first argument
has number 0, and the last value before it has number -1.
"""
STACK_WORDS: Final = 256
"""The number of words of memory that a native call has on the stack."""


class Row:
    """The named words of a record in a guard table; all further words are the `tail`."""

    def __init__(self, entry: Builder, address: Value, words: tuple[str, ...]) -> None:
        self._entry, self._address, self._words = entry, address, ("kind", "size", *words)

    def __getitem__(self, name: str) -> Value:
        """The value of the word of this name."""
        return self._entry.word(self._address, self._words.index(name))

    @property
    def tail(self) -> Value:
        """The address of the words behind the named words."""
        return self._entry.add(self._address, 8 * len(self._words))


class EntryBuilder(Builder):
    """A builder of the native entry, with values for its parameters, memory and current table."""

    def __init__(self) -> None:
        super().__init__(NAME, 4)
        self.cell, self.arguments, self.given, self.names = self.parameters
        self.scratch = self.block(8)
        self._stack = self.block(STACK_WORDS)
        self._taken = self.variable(0)
        self.objects = self.values = self.operands = self.argument_block = self.vector = ""
        self.unfit = ""
        """The label of the code that runs if the plan does not fit the call."""
        self.table: Value = ""
        self.tables: Value = ""

    def head(self, name: str) -> Value:
        """The word of the table's header with this name."""
        return self.word(self.table, HEADER.index(name))

    def runtime(self, name: str) -> Value:
        """The address of the function, object or word with this name in `structures.RUNTIME`."""
        return self.word(self.head("runtime"), [*RUNTIME].index(name))

    def fill_slot(self, slot: Value, thing: Value, word: Value) -> None:
        """Store an object, and its word for kernels, in a slot."""
        self.store(thing, self.at(self.objects, slot))
        self.store(word, self.at(self.values, slot))

    @contextmanager
    def records(self, address: Value, count: Value) -> Iterator[Value]:
        """Emit a loop over the records of a table; a record begins with its kind and size."""
        cursor = self.variable(address)
        with self.count(count):
            record = self.load(cursor)
            yield record
            self.store(self.at(record, self.word(record, 1)), cursor)

    def choose_kind(self, record: Value, kinds: Sequence[Callable[[], None]]) -> None:
        """Emit code that selects the code for the kind of a record."""
        behind, kind = self.label(), self.word(record, 0)
        for number, do in enumerate(kinds):
            with self.when(self.test("eq", kind, number)):
                do()
                self.go(behind)
                self.begin(self.label())
        self.go(behind)
        self.begin(behind)

    def take_memory(self, missed: str) -> None:
        """Emit code that provides memory for the current table: on the stack or from Python."""
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
        """Copy this number of words from `source` to `target`."""
        with self.count(words) as number:
            self.store(self.word(source, number), self.at(target, number))

    def steps(self) -> Value:
        """The address of the instructions; if they have patches, of a copy in the call's memory."""
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
        """Emit code that makes the vector from values outside the call and the arguments.

        A value from outside is a known object, or 0 until a guard reads it. If the table has no
        values from outside, the vector is the memory of the arguments.
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
        """Emit code that releases the table's memory and the values that its guards have read."""
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
        """Emit code that releases the call's reference to the tables."""
        self.call(self.runtime("drop"), self.tables)
