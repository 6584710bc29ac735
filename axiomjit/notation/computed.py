"""How a tensor is computed of others: the record of an operation."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from axiomjit.graph.nodes import Node
from axiomjit.graph.traced_values import ShapedValue
from axiomjit.notation.logic import Logic
from axiomjit.notation.rows import Rows, Solution, sizes_of
from axiomjit.notation.shapes import Shape
from axiomjit.notation.specs import KINDS
from axiomjit.notation.symbols import Symbol
from axiomjit.notation.templates import Template
from axiomjit.notation.terms import closed_row, open_row

Emit = Callable[[Sequence[Node], Solution], Node]
"""Makes the node of an operation of those of its operands, when all shapes are closed."""


class Shaped(ShapedValue):
    """What has a shape, and a node once that is closed."""

    __slots__ = ("known_node", "shape")

    def __init__(self, shape: Shape) -> None:
        """Keep the shape; the node is made when it is asked for."""
        self.shape = shape
        self.known_node: Node | None = None

    @property
    def made_node(self) -> Node:
        """The node, which is made already."""
        assert self.known_node is not None
        return self.known_node


class Operation:
    """How a tensor is computed of others."""

    __slots__ = ("emit", "logic", "operands", "symbol", "template")

    def __init__(
        self,
        logic: Logic,
        operands: Sequence[Shaped],
        emit: Emit,
        template: Template | None,
        symbol: Symbol | None,
    ) -> None:
        """Keep the record."""
        self.logic, self.operands, self.emit = logic, tuple(operands), emit
        self.template, self.symbol = template, symbol

    def node(self, shape: Shape) -> Node:
        """The node, of closed shapes and operands that have nodes."""
        for operand in self.operands:
            operand.shape.close()
        labels, rows = {}, {}
        if self.template is not None:
            cells, variables = self.template.labels, self.template.rows
            labels = {name: sizes_of(closed_row((cell,)))[0] for name, cell in cells.items()}
            rows = {name: sizes_of(open_row(row)) for name, row in variables.items()}
        known = tuple(_known(operand.shape) for operand in self.operands)
        solution = Solution(known, _known(shape), labels, rows)
        return self.emit([operand.made_node for operand in self.operands], solution)


def _known(shape: Shape) -> Rows:
    return Rows(*(sizes_of(shape.rows[kind]) for kind in KINDS))
