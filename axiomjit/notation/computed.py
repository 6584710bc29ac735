"""How a tensor is computed of others: the record of an operation."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from axiomjit.base.errors import GraphValueError, PositionError
from axiomjit.base.origins import user_location
from axiomjit.graph.contractions import Projections
from axiomjit.graph.nodes import Node
from axiomjit.graph.traced_values import ShapedValue
from axiomjit.notation.joins import Joining
from axiomjit.notation.leaves import Source
from axiomjit.notation.logic import Logic
from axiomjit.notation.rows import Rows, Solution, sizes_of
from axiomjit.notation.shapes import Shape
from axiomjit.notation.specs import KINDS
from axiomjit.notation.symbols import Symbol
from axiomjit.notation.templates import Template
from axiomjit.notation.terms import closed_row, open_row
from axiomjit.symbolic.dims import Symbol as LengthSymbol
from axiomjit.symbolic.dims import symbol_of

Where = Projections | Joining
"""Where an operation touches its operands and its result."""
Project = Callable[[Solution], Where]
"""Finds that out, when all shapes are closed."""
Emit = Callable[[Any, Sequence[Node]], Node]
"""Makes the node of an operation of where it touches what, and of the nodes of its operands."""


class Shaped(ShapedValue):
    """What has a shape, and a node once that is closed; `made` says of what it is computed."""

    __slots__ = ("known_node", "made", "name", "shape")

    def __init__(self, shape: Shape, made: Source | Operation, name: str | None) -> None:
        """Keep how it is made; the node is made when it is asked for."""
        self.shape = shape
        self.made = made
        self.name = name
        self.known_node: Node | None = None

    @property
    def called(self) -> str:
        """What to call it in messages."""
        return "a tensor" if self.name is None else self.name

    @property
    def made_node(self) -> Node:
        """The node, which is made already."""
        assert self.known_node is not None
        return self.known_node

    @property
    def node(self) -> Node:
        """What is computed, with dimensions in memory order; closes the shape.

        Raises:
            ShapeError: the shapes do not fit.
            GraphValueError: a leaf has no values.
        """
        for tensor in self.operands_first():
            if tensor.known_node is None:
                tensor.shape.close()
                made = tensor.made
                shape = tensor.shape
                tensor.known_node = (
                    made.node(shape.lengths) if isinstance(made, Source) else made.node(shape)
                )
        return self.made_node

    def operands_first(self) -> Iterator[Shaped]:
        """Every tensor that this one is computed of, operands before their users."""
        waiting: list[tuple[Shaped, bool]] = [(self, False)]
        seen: set[Shaped] = set()
        while waiting:
            tensor, ready = waiting.pop()
            if ready:
                yield tensor
            elif tensor not in seen:
                seen.add(tensor)
                waiting.append((tensor, True))
                if isinstance(tensor.made, Operation):
                    waiting += [(operand, False) for operand in tensor.made.operands]

    def lengths(self) -> dict[LengthSymbol, int]:
        """The values of the indices that it depends on.

        Raises:
            GraphValueError: one has no value.
            PositionError: one is outside its axis.
        """
        found: dict[LengthSymbol, int] = {}
        for tensor in self.operands_first():
            made = tensor.made
            if not isinstance(made, Operation) or made.symbol is None:
                continue
            index, length = made.symbol, made.operands[0].shape.lengths[0]
            if index.value is None:
                asked, seen = f"the values of {self.called}", f"{index!r}, which has no value"
                remedy = "give it one: index.bind(value)"
                raise GraphValueError(asked, seen, remedy, user_location())
            if length <= index.value:
                asked = f"the values of {self.called}"
                seen = f"{index!r} of value {index.value} for an axis of length {length}"
                remedy = "bind it to an index below the length"
                raise PositionError(asked, seen, remedy, user_location())
            symbol = symbol_of(index.dim)
            assert symbol is not None
            found[symbol] = index.value
        return found


class Operation:
    """How a tensor is computed of others."""

    __slots__ = ("emit", "logic", "operands", "project", "symbol", "template")

    def __init__(
        self,
        logic: Logic,
        operands: Sequence[Shaped],
        project: Project,
        emit: Emit,
        template: Template | None,
        symbol: Symbol | None,
    ) -> None:
        """Keep the record."""
        self.logic, self.operands = logic, tuple(operands)
        self.project, self.emit = project, emit
        self.template, self.symbol = template, symbol

    def node(self, shape: Shape) -> Node:
        """The node, of closed shapes and operands that have nodes."""
        return self.emit(self.where(shape), [operand.made_node for operand in self.operands])

    def where(self, shape: Shape) -> Where:
        """Where it touches operands and result; closes their shapes."""
        shape.close()
        for operand in self.operands:
            operand.shape.close()
        labels, rows = {}, {}
        if self.template is not None:
            cells, variables = self.template.labels, self.template.rows
            labels = {name: sizes_of(closed_row((cell,)))[0] for name, cell in cells.items()}
            rows = {name: sizes_of(open_row(row)) for name, row in variables.items()}
        known = tuple(_known(operand.shape) for operand in self.operands)
        solution = Solution(known, _known(shape), labels, rows)
        return self.project(solution)


def _known(shape: Shape) -> Rows:
    return Rows(*(sizes_of(shape.rows[kind]) for kind in KINDS))
