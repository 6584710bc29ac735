"""The kinds of results of an operation: new arrays, views of operands, and operands themselves."""

from __future__ import annotations

from axiomjit.base.records import Record
from axiomjit.numpy.facts import Facts


class Same(Record):
    """A result that is an operand itself, as in `x += y`: the value number of the operand."""

    number: int


class View(Record):
    """A result that is a view of an operand: its facts, and the value number of the operand."""

    facts: Facts
    of: int


Result = Facts | Same | View | None
"""A result of an operation: facts of a new array or number, an operand, or an operand's view."""
