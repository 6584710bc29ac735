"""What all parts of the code of the native entry use."""

from __future__ import annotations

from axiomjit.runtime.entry import layout as at
from axiomjit.runtime.entry.builder import Builder, Value

NAME = "axiomjit_entry"
_UNUSED = 2
"""Places behind the last one, for what no step uses; a complex number has two."""


class Entry:
    """The values of the function: what it is given, its memory, and the table at hand."""

    def __init__(self) -> None:
        """Begin the function."""
        self.code = Builder(NAME, 4)
        self.cell, self.arguments, self.given, self.names = self.code.parameters
        self.block = self.code.block(at.MOST_WORDS)
        self.objects = self.code.block(at.MOST_PLACES + _UNUSED)
        self.values = self.code.block(at.MOST_PLACES + _UNUSED)
        self.operands = self.code.block(at.MOST_PLACES)
        self.scratch = self.code.block(8)
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

    def drop_tables(self) -> None:
        """Give up the reference to the tables, which end with those that keep nothing else."""
        self.code.call(self.runtime("drop"), self.tables)
