"""Results of an operation: new arrays, views of operands, or operands themselves."""

from __future__ import annotations

from axiomjit.base.records import Record
from axiomjit.numpy.facts import Facts


class Same(Record):
    """A result that is an operand itself, as that of `x += y`: its value number."""

    number: int


class View(Record):
    """A result that is a view of an operand's memory: its facts, and the operand's number."""

    facts: Facts
    of: int


Result = Facts | Same | View | None
"""A result of an operation: facts of a new array or number, or how it belongs to an operand."""
