"""The demands that each operation makes on the shapes of its operands and result (OCANNL shapes).

In pointwise operations the rows of operands are aligned at the right; missing axes and axes of
length 1 stretch. In label notation no axis stretches.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from axiomjit.base.records import Record
from axiomjit.notation.demands import EqualRows, ExactSizes, LongestRow, Stretches, Total
from axiomjit.notation.solving import Cell, Demand, Origin, Row, Solver
from axiomjit.notation.specs import KINDS, MEMORY_ORDER, EinsumSpec
from axiomjit.notation.templates import RowsByKind, Size, SizeOf, Template, check_count
from axiomjit.symbolic.dims import dim


class CallSite(Record):
    """The name of an operation in messages, and the user's line."""

    operation: str
    where: str | None

    def origin(self, demand: str) -> Origin:
        """The origin of a demand of this operation."""
        return Origin(self.operation, demand, self.where)


class Logic(Record):
    """Base class of the rules by which operations relate the shapes of result and operands."""

    @property
    def spec(self) -> str:
        """A short text for the rule; for label notation, the spec."""
        raise NotImplementedError

    def demands(
        self, result: RowsByKind, operands: Sequence[RowsByKind], place: CallSite
    ) -> list[Demand]:
        """The demands of the operation on the rows of its result and operands.

        Raises:
            ShapeError: the number of operands does not fit, or a name is unknown.
        """
        raise NotImplementedError


class Pointwise(Logic):
    """The rule of elementwise functions: each kind of axes is broadcast like NumPy's dimensions."""

    @property
    def spec(self) -> str:
        """The text `.`, which stands for pointwise operations."""
        return "."

    def demands(
        self, result: RowsByKind, operands: Sequence[RowsByKind], place: CallSite
    ) -> list[Demand]:
        """Demand that each operand stretches to the result."""
        return [
            demand
            for kind in KINDS
            for demand in _joined(kind, result[kind], [rows[kind] for rows in operands], place)
        ]


class Compose(Logic):
    """The rule of `x @ y`: the input axes of x are matched with the output axes of y."""

    @property
    def spec(self) -> str:
        """The text `@`, which stands for composition."""
        return "@"

    def demands(
        self, result: RowsByKind, operands: Sequence[RowsByKind], place: CallSite
    ) -> list[Demand]:
        """Demand that the result has operand 1's output axes and operand 2's input axes."""
        left, right = operands[:2]
        batches = [left["batch"], right["batch"]]
        meet = place.origin("output axes of operand 2 meet the input axes of operand 1")
        return [
            Stretches(left["input"], right["output"], meet),
            *_joined("batch", result["batch"], batches, place),
            _same(result["input"], right["input"], "input axes of operand 2", place),
            _same(result["output"], left["output"], "output axes of operand 1", place),
        ]


class Transpose(Logic):
    """The rule of `x.T`, which swaps input and output axes."""

    @property
    def spec(self) -> str:
        """The text `T`, which stands for the transpose."""
        return "T"

    def demands(
        self, result: RowsByKind, operands: Sequence[RowsByKind], place: CallSite
    ) -> list[Demand]:
        """Demand that the result's input axes are the operand's output axes, and the reverse."""
        (rows,) = operands
        return [
            _same(result["batch"], rows["batch"], "batch axes", place),
            _same(result["input"], rows["output"], "output axes", place),
            _same(result["output"], rows["input"], "input axes", place),
        ]


class BatchSlice(Logic):
    """The rule of `x[i]`, which removes the first batch axis.

    The removed axis has the length `range`, if that is known, and at least the length `least`.
    """

    range: int | None = None
    least: int = 0

    @property
    def spec(self) -> str:
        """The text that stands for this rule."""
        return "@|"

    def demands(
        self, result: RowsByKind, operands: Sequence[RowsByKind], place: CallSite
    ) -> list[Demand]:
        """Demand that the result has all axes but the first batch axis."""
        (rows,) = operands
        cell = Cell(None if self.range is None else dim(self.range))
        cell.at_least = self.least
        batch = result["batch"]
        whole = Row((cell, *batch.leading), batch.variable, batch.trailing)
        origin = place.origin("the leading batch axis, which the index removes")
        return [
            EqualRows(rows["batch"], whole, origin, "give the tensor a batch axis: batch=n"),
            _same(result["input"], rows["input"], "input axes", place),
            _same(result["output"], rows["output"], "output axes", place),
        ]


class Bitcast(Logic):
    """The rule of `bitcast`: each row of four uint32 words becomes `count` elements."""

    count: int

    @property
    def spec(self) -> str:
        """The text that stands for this rule."""
        return "U4x32"

    def demands(
        self, result: RowsByKind, operands: Sequence[RowsByKind], place: CallSite
    ) -> list[Demand]:
        """Demand that the result has `count` elements per row of words."""
        (rows,) = operands
        words = Cell(name="words")
        exact = [words, Cell(dim(4))]
        return [
            ExactSizes(
                [rows[kind] for kind in MEMORY_ORDER], exact, place.origin("words of 4 uint32")
            ),
            elements(result, words, place.origin("elements of the words"), self.count),
        ]


class Einsum(Logic):
    """The rule of a spec in label notation, with given sizes and `Size` objects to bind."""

    parsed: EinsumSpec
    sizes: tuple[tuple[str, SizeOf], ...] = ()
    capture: tuple[Size, ...] = ()
    broadcast: bool = False

    @property
    def spec(self) -> str:
        """The spec as the user wrote it."""
        return self.parsed.text

    def demands(
        self, result: RowsByKind, operands: Sequence[RowsByKind], place: CallSite
    ) -> list[Demand]:
        """Demand that each tensor has the axes of its slot in the spec."""
        return self.template(result, operands, place).demands

    def template(
        self, result: RowsByKind, operands: Sequence[RowsByKind], place: CallSite
    ) -> Template:
        """The template with the demands and with the unknowns of labels and row variables."""
        made = Template(self.parsed, place.operation, place.where, self.broadcast)
        check_count(made, len(operands))
        for k, (rows, slot) in enumerate(zip(operands, self.parsed.operands, strict=True), 1):
            made.match(rows, slot, f"operand {k}")
        made.match(result, self.parsed.result, "the result")
        made.stretch()
        made.set_sizes(dict(self.sizes))
        for size in self.capture:
            made.demands += size.captured(made)
        return made


def demand_shapes(
    logic: Logic, result: RowsByKind, operands: Sequence[RowsByKind], place: CallSite
) -> Template | None:
    """Solve the demands of an operation.

    Returns:
        The template if the operation is a spec, else None.

    Raises:
        ShapeError: the shapes do not fit; all shapes are then unchanged.
    """
    if not isinstance(logic, Einsum):
        Solver().add(logic.demands(result, operands, place))
        return None
    template = logic.template(result, operands, place)
    Solver().add(template.demands)
    for size in logic.capture:
        size.bind(template)
    return template


def elements(rows: Mapping[str, Row], number: Cell, origin: Origin, factor: int = 1) -> Total:
    """The demand that rows have `number * factor` elements in total."""
    return Total([rows[kind] for kind in MEMORY_ORDER], number, origin, factor)


def _joined(kind: str, result: Row, operands: Sequence[Row], place: CallSite) -> list[Demand]:
    if len(operands) == 1:
        return [_same(result, operands[0], f"{kind} axes", place)]
    origins = [place.origin(f"{kind} axes of operand {k}") for k in range(1, len(operands) + 1)]
    stretched: list[Demand] = [
        Stretches(result, row, origin) for row, origin in zip(operands, origins, strict=True)
    ]
    return [*stretched, LongestRow(result, operands, place.origin(f"{kind} axes of the result"))]


def _same(result: Row, operand: Row, what: str, place: CallSite) -> EqualRows:
    return EqualRows(result, operand, place.origin(what))
