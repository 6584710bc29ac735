"""Solve a spec for operands of known shape."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from axiomjit.base.errors import ShapeError, amount
from axiomjit.base.origins import user_location
from axiomjit.base.records import Record
from axiomjit.notation.closing import close
from axiomjit.notation.solving import Solver
from axiomjit.notation.specs import KINDS, MEMORY_ORDER, EinsumSpec, SlotSpec
from axiomjit.notation.sums import ExactSizes
from axiomjit.notation.templates import SizeOf, Template
from axiomjit.notation.terms import (
    Cell,
    Demand,
    Row,
    RowVariable,
    Unknown,
    closed_row,
    open_row,
)
from axiomjit.symbolic.dims import Dim, dim


class Rows(Record):
    """A known shape: the sizes of the axes of each kind."""

    batch: tuple[Dim, ...] = ()
    input: tuple[Dim, ...] = ()
    output: tuple[Dim, ...] = ()

    @property
    def dims(self) -> tuple[Dim, ...]:
        """The sizes in memory order: batch, output, input."""
        return self.batch + self.output + self.input


Known = Rows | tuple[Dim, ...]
"""A known shape: rows, or dimensions in memory order that the solver divides into rows."""


class Solution(Record):
    """The shapes of operands and result, the sizes of labels, and the axes of row variables."""

    operands: tuple[Rows, ...]
    result: Rows
    labels: Mapping[str, Dim]
    rows: Mapping[str, tuple[Dim, ...]]


def solve_known(
    spec: EinsumSpec,
    operands: Sequence[Known],
    sizes: Mapping[str, SizeOf] | None = None,
    asked: str = "",
    capture: Sequence[Capture] = (),
    broadcast: bool = False,
) -> Solution:
    """Solve a spec for operands of known shape.

    Args:
        spec: The spec, with one slot per operand.
        operands: The shapes of the operands.
        sizes: The sizes of labels; for a row variable the number of elements or a list of sizes.
        asked: The text of the operation in messages; by default `einsum` with the spec.
        capture: `Size` objects to bind to labels and row variables.
        broadcast: True if the axes of row variables of operands stretch to those of the result.

    Raises:
        ShapeError: the shapes do not fit the spec.
    """
    where = user_location()
    template = Template(spec, asked or f"einsum {spec.text!r}", where, broadcast)
    check_count(template, len(operands))
    shapes = [_unknown_rows() for _ in spec.slots]
    for k, (rows, known) in enumerate(zip(shapes, operands, strict=False), 1):
        what = f"operand {k}"
        if isinstance(known, Rows):
            rows |= {kind: _row(getattr(known, kind)) for kind in KINDS}
        else:
            cells = [Cell(dim(size)) for size in known]
            order = [rows[kind] for kind in MEMORY_ORDER]
            lies = f"dimensions of {what}, in memory order {in_memory_order(spec.operands[k - 1])}"
            template.demands.append(ExactSizes(order, cells, template.origin(lies), False))
        template.match(rows, spec.operands[k - 1], what)
    template.match(shapes[-1], spec.result, "the result")
    template.stretch()
    template.set_sizes(sizes or {})
    for size in capture:
        template.demands += size.captured(template)
    Solver().add(template.demands)
    for size in capture:
        size.bind(template)
    close(_unknowns(shapes, template))
    labels = {name: sizes_of(closed_row((cell,)))[0] for name, cell in template.labels.items()}
    variables = {name: sizes_of(open_row(row)) for name, row in template.rows.items()}
    found = tuple(Rows(*(sizes_of(rows[kind]) for kind in KINDS)) for rows in shapes)
    return Solution(found[:-1], found[-1], labels, variables)


class Capture:
    """The interface of `Size`: an object that can be bound to a label or row variable."""

    __slots__ = ()

    def captured(self, template: Template) -> list[Demand]:
        """The demands that bind this object to its label or row variable."""
        raise NotImplementedError

    def bind(self, template: Template) -> None:
        """Store the size of the label, or the row variable, that has this object's name."""
        raise NotImplementedError


def in_memory_order(slot: SlotSpec) -> str:
    """The text of a slot's axes in memory order, with the kinds of nonempty rows."""
    rows = [(kind, slot.row(kind)) for kind in MEMORY_ORDER if slot.row(kind)]
    return f"[{', '.join(str(row) for _, row in rows)}] ({', '.join(kind for kind, _ in rows)})"


def check_count(template: Template, count: int) -> None:
    """Refuse a number of operands other than the number of slots in the spec."""
    slots = len(template.spec.operands)
    if count != slots:
        raise ShapeError(
            template.operation,
            f"{amount(count, 'operand')} for {amount(slots, 'slot')} before '=>'",
            "write one slot per operand, separated by ';'",
            template.where,
        )


def sizes_of(row: Row) -> tuple[Dim, ...]:
    """The sizes of a closed row."""
    return tuple(cell.size for cell in row.flat.cells if cell.size is not None)


def _row(sizes: Sequence[Dim]) -> Row:
    return closed_row(tuple(Cell(dim(size)) for size in sizes))


def _unknown_rows() -> dict[str, Row]:
    return {kind: open_row(RowVariable(kind)) for kind in KINDS}


def _unknowns(shapes: Sequence[Mapping[str, Row]], template: Template) -> list[Unknown]:
    found = [unknown for rows in shapes for kind in KINDS for unknown in rows[kind].flat.unknowns]
    return [*found, *template.labels.values(), *template.rows.values()]
