"""Shapes that are known: rows of sizes, sizes with names, and the meaning of a spec for them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from axiomjit.base.errors import ShapeError, amount
from axiomjit.base.origins import user_location
from axiomjit.base.records import Record
from axiomjit.notation.closing import close
from axiomjit.notation.demands import EqualRows
from axiomjit.notation.shapes import Entry, entry_cell, number
from axiomjit.notation.solving import Solver
from axiomjit.notation.specs import KINDS, MEMORY_ORDER, EinsumSpec, SlotSpec
from axiomjit.notation.sums import Exact, Total
from axiomjit.notation.templates import SizeOf, Template
from axiomjit.notation.terms import (
    Cell,
    Demand,
    Origin,
    Row,
    RowVariable,
    Unknown,
    closed_row,
    open_row,
)
from axiomjit.symbolic.dims import Dim, dim


class Rows(Record):
    """The sizes of the axes of each kind."""

    batch: tuple[Dim, ...] = ()
    input: tuple[Dim, ...] = ()
    output: tuple[Dim, ...] = ()

    @property
    def dims(self) -> tuple[Dim, ...]:
        """The sizes in memory order: batch, output, input."""
        return self.batch + self.output + self.input


Known = Rows | tuple[Dim, ...]
"""A shape: rows, or dimensions in memory order of which the rows are to be found."""


class Solution(Record):
    """The shapes of operands and result, and what labels and row variables stand for."""

    operands: tuple[Rows, ...]
    result: Rows
    labels: Mapping[str, Dim]
    rows: Mapping[str, tuple[Dim, ...]]


def solve_known(
    spec: EinsumSpec,
    operands: Sequence[Known],
    sizes: Mapping[str, SizeOf] | None = None,
    asked: str = "",
    capture: Sequence[Size] = (),
    broadcast: bool = False,
) -> Solution:
    """What a spec means for operands of known shape.

    Args:
        spec: The spec, with one slot per operand.
        operands: Their shapes.
        sizes: Sizes of labels; of row variables the number of elements, or the sizes.
        asked: What to call the operation in messages; the spec when empty.
        capture: Sizes to bind to labels and row variables.
        broadcast: Whether row variables of the operands stretch to those of the result.

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
            template.demands.append(Exact(order, cells, template.origin(lies), False))
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


def in_memory_order(slot: SlotSpec) -> str:
    """The axes of a slot in memory order, and the kinds that are not empty."""
    rows = [(kind, slot.row(kind)) for kind in MEMORY_ORDER if slot.row(kind)]
    return f"[{', '.join(str(row) for _, row in rows)}] ({', '.join(kind for kind, _ in rows)})"


def check_count(template: Template, count: int) -> None:
    """Refuse another number of operands than the spec has."""
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


class Size(Entry):
    """The size of the label, or the number of elements of the row variable, of its name.

    `capture=[size]` binds it to a spec. Of a row variable it is the product of the sizes, which
    is 1 for no axes.
    """

    __slots__ = ("_cell", "_row", "name")

    def __init__(self, name: str) -> None:
        """Make a size that nothing is known of.

        Raises:
            ShapeError: the name is no text.
        """
        if not isinstance(name, str) or not name:
            seen, remedy = f"the name {name!r}", "give a label or the name of a row variable"
            raise ShapeError("a Size", seen, remedy, user_location())
        self.name = name
        self._cell = Cell(name=name)
        self._row: Row | None = None

    @property
    def cell(self) -> Cell:
        """The cell that stands for it."""
        return self._cell

    @property
    def value(self) -> int | None:
        """The size, None until it is known; a symbolic length where a function is followed."""
        return number(self._cell.root.size)

    def set(self, size: int) -> None:
        """Demand this size.

        Raises:
            ShapeError: another size is demanded already, or does not fit.
        """
        given = entry_cell(size, "", f"{self!r}.set")
        origin = self._origin(repr(self), f"set to {given}")
        Solver().add([EqualRows(closed_row((self._cell,)), closed_row((given,)), origin)])

    def equate(self, other: Size) -> None:
        """Demand that two sizes are equal; of two row variables, that all axes are.

        Raises:
            ShapeError: they differ, or neither is known and one has no spec yet.
        """
        if not isinstance(other, Size):
            seen, remedy = f"a {type(other).__name__}", "give another Size, or use set(number)"
            raise ShapeError(f"{self!r}.equate", seen, remedy, user_location())
        origin = self._origin(f"{self!r}.equate", f"equal to {other!r}")
        known = self.value is not None or other.value is not None
        if not known and (self._row is None or other._row is None):
            unbound = self if self._row is None else other
            raise ShapeError(
                origin.operation,
                f"{unbound!r}, which no spec has captured, and no value",
                "capture it first, as in einsum(spec, x, capture=[size]), or set a value",
                origin.where,
            )
        rows = [one._row for one in (self, other) if one._row is not None]
        pairs = [(closed_row((self._cell,)), closed_row((other._cell,)))]
        if len(rows) == 2 and all(_is_variable(row) for row in rows):
            pairs.append((rows[0], rows[1]))
        Solver().add(EqualRows(left, right, origin) for left, right in pairs)

    def captured(self, template: Template) -> list[Demand]:
        """What binding it to the label or row variable of its name demands; see `bind`.

        Raises:
            ShapeError: the spec does not have the name.
        """
        origin = template.origin(f"the captured {self.name!r}")
        if self.name in template.labels:
            row = closed_row((template.labels[self.name],))
            return [EqualRows(closed_row((self._cell,)), row, origin)]
        if self.name not in template.rows:
            template.refuse_name(self.name, "capture=")
        return [Total([open_row(template.rows[self.name])], self._cell, origin)]

    def bind(self, template: Template) -> None:
        """Remember what it stands for, once the demands of the operation are accepted."""
        variable = template.rows.get(self.name)
        self._row = closed_row((self._cell,)) if variable is None else open_row(variable)

    def _origin(self, operation: str, demand: str) -> Origin:
        return Origin(operation, demand, user_location())

    def __repr__(self) -> str:
        return f"Size({self.name!r})"


def _is_variable(row: Row) -> bool:
    return row.variable is not None
