"""The demands of a spec: each slot is a template that a tensor's rows must equal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from axiomjit.base.errors import ShapeError
from axiomjit.notation.demands import EqualRows, LongestRow, Stretches
from axiomjit.notation.shapes import Entry, entry_cell
from axiomjit.notation.specs import (
    KINDS,
    Affine,
    AxisSpec,
    Concat,
    EinsumSpec,
    Fixed,
    Label,
    RowSpec,
    SlotSpec,
)
from axiomjit.notation.sums import AffineSize, ConcatSize, Total
from axiomjit.notation.terms import Cell, Demand, Origin, Row, RowVariable, closed_row, open_row
from axiomjit.symbolic.dims import Dim

Rows = Mapping[str, Row]
SizeOf = int | Dim | Entry | Sequence[int | Dim | Entry]
"""A value in `sizes`: the size of a label, or the number of elements or all sizes of a row
variable."""


class Template:
    """The unknowns and the demands of one spec."""

    def __init__(
        self, spec: EinsumSpec, operation: str, where: str | None, broadcast: bool = False
    ) -> None:
        """Make an unknown for each label and each row variable.

        With `broadcast`, the axes of a row variable in operands stretch to its axes in the result.
        """
        self.spec = spec
        self.broadcast = broadcast
        self.stretched: dict[str, list[Row]] = {}
        self.operation, self.where = operation, where
        self.labels = {name: Cell(name=name) for name in spec.labels}
        self.rows = {name: RowVariable(name) for name in spec.row_variables}
        self.demands: list[Demand] = []
        for cell in self.labels.values():
            cell.iterated = True
        self._let_vanish()

    def origin(self, demand: str) -> Origin:
        """The origin of a demand of this spec."""
        return Origin(self.operation, demand, self.where)

    def match(self, rows: Rows, slot: SlotSpec, what: str) -> None:
        """Demand that a tensor's rows have the axes of `slot`, the tensor's part of the spec."""
        for kind in KINDS:
            row = slot.row(kind)
            origin = self.origin(f"{kind} axes [{row}] of {what}")
            whole = self.row(row, origin, self.broadcast and slot is not self.spec.result)
            self.demands.append(EqualRows(rows[kind], whole, origin))

    def stretch(self) -> None:
        """Demand that the axes of row variables of operands stretch to those of the result."""
        for name, operands in self.stretched.items():
            result = open_row(self.rows[name])
            for row in operands:
                self.demands.append(Stretches(result, row, self.origin(f"the axes of {name!r}")))
            joined = self.origin(f"the axes of {name!r} of all operands")
            self.demands.append(LongestRow(result, operands, joined))

    def row(self, row: RowSpec, origin: Origin, stretched: bool = False) -> Row:
        """The row of unknowns for a row of the spec."""
        if row.variable is None:
            return closed_row(tuple(self.cell(axis, origin) for axis in row.axes))
        leading = tuple(self.cell(axis, origin) for axis in row.leading)
        trailing = tuple(self.cell(axis, origin) for axis in row.trailing)
        variable = self.rows[row.variable]
        if stretched:
            variable = RowVariable(row.variable)
            self.stretched.setdefault(row.variable, []).append(open_row(variable))
        return Row(leading, variable, trailing)

    def cell(self, axis: AxisSpec, origin: Origin) -> Cell:
        """The unknown size for an axis of the spec."""
        match axis:
            case Label(name=name):
                return self.labels[name]
            case Fixed(index=index):
                cell = Cell()
                cell.at_least = index + 1
                return cell
            case Affine(over=over, kernel=kernel):
                cell = Cell(name=str(axis))
                inner = None if kernel is None or axis.padded else self.labels[kernel]
                self.demands.append(
                    AffineSize(cell, self.labels[over], axis.stride, inner, axis.dilation, origin)
                )
                return cell
            case Concat(parts=parts):
                cell = Cell(name=str(axis))
                self.demands.append(ConcatSize(cell, [self.labels[p] for p in parts], origin))
                return cell
        return Cell(name="_")

    def set_sizes(self, sizes: Mapping[str, SizeOf]) -> None:
        """Demand that labels and row variables have these sizes."""
        for name, size in sizes.items():
            origin = self.origin(f"the size of {name!r}")
            several = isinstance(size, Sequence)
            given = size if isinstance(size, Sequence) else (size,)
            cells = tuple(entry_cell(one, f"sizes[{name!r}]", self.operation) for one in given)
            if name in self.labels and not several:
                label = closed_row((self.labels[name],))
                self.demands.append(EqualRows(label, closed_row(cells), origin))
            elif name in self.rows and several:
                self.demands.append(EqualRows(open_row(self.rows[name]), closed_row(cells), origin))
            elif name in self.rows:
                self.demands.append(Total([open_row(self.rows[name])], cells[0], origin))
            else:
                self.refuse_name(name, "sizes=")

    def refuse_name(self, name: str, what: str) -> None:
        """Refuse a name that the spec lacks."""
        known = ", ".join(map(repr, (*self.labels, *self.rows)))
        raise ShapeError(
            f"{self.operation}, {what}",
            f"{name!r}, which is no label or row variable of the spec, or several sizes for one",
            f"name one of {known}" if known else "leave it out",
            self.where,
        )

    def _let_vanish(self) -> None:
        """Let parts of concatenations vanish if they occur only on one side of the spec."""
        for slot in self.spec.slots:
            result = slot is self.spec.result
            others = self.spec.operands if result else (self.spec.result,)
            for axis in slot:
                for name in axis.parts if isinstance(axis, Concat) else ():
                    rest = set(axis.labels) - {name}
                    if all(any(_within(a, rest) for a in other) for other in others):
                        self.labels[name].may_vanish = True


def _within(axis: AxisSpec, labels: set[str]) -> bool:
    return isinstance(axis, Label | Concat) and set(axis.labels) <= labels
