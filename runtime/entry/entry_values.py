"""What all parts of the code of the native entry use."""

from __future__ import annotations

from axiomjit.runtime.entry import layout as at
from axiomjit.runtime.entry.builder import Builder, Value

NAME = "axiomjit_entry"


class Entry:
    """The values of the function: what it is given, its memory, and the table at hand."""

    def __init__(self) -> None:
        """Begin the function."""
        self.code = Builder(NAME, 4)
        self.cell, self.arguments, self.given, self.names = self.code.parameters
        self.scratch = self.code.block(8)
        self._stack = self.code.block(at.STACK_WORDS)
        self._taken = self.code.variable(0)
        self.objects = self.values = self.operands = self.block = ""
        self.table: Value = ""
        self.tables: Value = ""

    def head(self, name: str) -> Value:
        """A word of the table's header."""
        return self.code.word(self.table, at.HEADER.index(name))

    def runtime(self, name: str) -> Value:
        """A function of CPython or NumPy, an object, or the address of a word."""
        return self.code.word(self.head("runtime"), at.RUNTIME.index(name))

    def place(self, base: Value, number: Value) -> Value:
        """The address of a word by its number."""
        return self.code.add(base, self.code.shift_left(number, 3))

    def fill_place(self, place: Value, thing: Value, word: Value) -> None:
        """Let a place hold an object, and the word that kernels get of it."""
        self.code.store(thing, self.place(self.objects, place))
        self.code.store(word, self.place(self.values, place))

    def take_memory(self, missed: str) -> None:
        """Find memory for the places, operands and argument blocks of the table at hand."""
        code = self.code
        code.store(0, self._taken)
        memory, size = code.variable(self._stack), self.head("memory")
        with code.when(code.test("ne", size, 0)):
            taken = code.call(self.runtime("take_memory"), size)
            code.require(code.test("ne", taken, 0), missed)
            code.store(taken, self._taken)
            code.store(taken, memory)
        self.objects = code.load(memory)
        self.values = self.place(self.objects, self.head("values_from"))
        self.operands = self.place(self.objects, self.head("operands_from"))
        self.block = self.place(self.objects, self.head("block_from"))

    def drop_memory(self) -> None:
        """Give up the memory that was taken for the table at hand."""
        code = self.code
        taken = code.load(self._taken)
        with code.when(code.test("ne", taken, 0)):
            code.call(self.runtime("drop_memory"), taken)

    def drop_tables(self) -> None:
        """Give up the reference to the tables, which end with those that keep nothing else."""
        self.code.call(self.runtime("drop"), self.tables)
