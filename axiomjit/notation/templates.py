"""The demands of a spec, its named sizes, and their solution for operands of known shape.

Each slot of a spec is a template that a tensor's rows must equal. The value of a named size becomes
known before or after the operations that use it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from axiomjit.base.errors import ShapeError, amount
from axiomjit.base.origins import user_location
from axiomjit.base.records import Record
from axiomjit.notation.closing import close
from axiomjit.notation.demands import (
    AffineSize,
    ConcatSize,
    EqualRows,
    ExactSizes,
    LongestRow,
    Stretches,
    Total,
)
from axiomjit.notation.shapes import Entry, entry_cell, number
from axiomjit.notation.solving import (
    Cell,
    Demand,
    Origin,
    Row,
    RowVariable,
    Solver,
    Unknown,
    closed_row,
    open_row,
)
from axiomjit.notation.specs import (
    KINDS,
    MEMORY_ORDER,
    Affine,
    AxisSpec,
    Concat,
    EinsumSpec,
    Fixed,
    Label,
    RowSpec,
    SlotSpec,
)
from axiomjit.symbolic.dims import Dim, dim

RowsByKind = Mapping[str, Row]
SizeOf = int | Dim | Entry | Sequence[int | Dim | Entry]
"""A value in `sizes`: the size of a label, or the number of elements or all sizes of a row
variable."""


class Template:
    """The unknowns and the demands of one spec."""

    def __init__(
        self, spec: EinsumSpec, operation: str, where: str | None, broadcast: bool = False
    ) -> None:
        """Make an unknown for each label and each row variable.

        With `broadcast`, the axes of a row variable in operands stretch to the variable's axes in
        the result.
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

    def match(self, rows: RowsByKind, slot: SlotSpec, what: str) -> None:
        """Demand that a tensor's rows have the axes of `slot`, the tensor's part of the spec."""
        for kind in KINDS:
            row = slot.row(kind)
            origin = self.origin(f"{kind} axes [{row}] of {what}")
            whole = self.row(row, origin, self.broadcast and slot is not self.spec.result)
            self.demands.append(EqualRows(rows[kind], whole, origin))

    def stretch(self) -> None:
        """Demand that the row variables' axes in operands stretch to their axes in the result."""
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
        broadcast: True if the row variables' axes in operands stretch to their axes in the result.

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


class Size(Entry, Capture):
    """The size of the label with a given name, or the number of elements of a row variable.

    `capture=[size]` binds the object to a label or row variable of a spec. The number of elements
    of a row variable is the product of the sizes of its axes, 1 without axes.
    """

    __slots__ = ("_cell", "_row", "name")

    def __init__(self, name: str) -> None:
        """Make an unknown size.

        Raises:
            ShapeError: the name is not a string, or is empty.
        """
        if not isinstance(name, str) or not name:
            seen, remedy = f"the name {name!r}", "give a label or the name of a row variable"
            raise ShapeError("a Size", seen, remedy, user_location())
        self.name = name
        self._cell = Cell(name=name)
        self._row: Row | None = None

    @property
    def cell(self) -> Cell:
        """The cell of the size."""
        return self._cell

    @property
    def value(self) -> int | None:
        """The size, or None while it is unknown; in a traced function a symbolic length."""
        return number(self._cell.root.size)

    def set(self, size: int) -> None:
        """Demand that the size equals a number.

        Raises:
            ShapeError: the size is already known to be another number, or the number does not fit
                other demands.
        """
        given = entry_cell(size, "", f"{self!r}.set")
        origin = self._origin(repr(self), f"set to {given}")
        Solver().add([EqualRows(closed_row((self._cell,)), closed_row((given,)), origin)])

    def equate(self, other: Size) -> None:
        """Demand that two sizes are equal, or that two row variables have the same axes.

        Raises:
            ShapeError: the sizes differ, or both are unknown and no spec has captured one of them.
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
        """The demands that bind this size to the label or row variable with its name; see `bind`.

        Raises:
            ShapeError: the spec lacks the name.
        """
        origin = template.origin(f"the captured {self.name!r}")
        if self.name in template.labels:
            row = closed_row((template.labels[self.name],))
            return [EqualRows(closed_row((self._cell,)), row, origin)]
        if self.name not in template.rows:
            template.refuse_name(self.name, "capture=")
        return [Total([open_row(template.rows[self.name])], self._cell, origin)]

    def bind(self, template: Template) -> None:
        """Store the label's cell or the row variable, after the solver has accepted the demands."""
        variable = template.rows.get(self.name)
        self._row = closed_row((self._cell,)) if variable is None else open_row(variable)

    def _origin(self, operation: str, demand: str) -> Origin:
        return Origin(operation, demand, user_location())

    def __repr__(self) -> str:
        return f"Size({self.name!r})"


def _is_variable(row: Row) -> bool:
    return row.variable is not None
