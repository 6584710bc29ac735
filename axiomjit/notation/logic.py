"""The demands of each operation on the shapes of its operands and its result (OCANNL shapes).

In pointwise operations the rows of operands are aligned at the right, and missing axes and axes of
length 1 stretch. In label notation no axis stretches.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from axiomjit.base.records import Record
from axiomjit.notation.demands import EqualRows, Joins, Stretches
from axiomjit.notation.rows import check_count
from axiomjit.notation.sizes import Size
from axiomjit.notation.solving import Solver
from axiomjit.notation.specs import KINDS, MEMORY_ORDER, EinsumSpec
from axiomjit.notation.sums import Exact, Total
from axiomjit.notation.templates import Rows, SizeOf, Template
from axiomjit.notation.terms import Cell, Demand, Origin, Row
from axiomjit.symbolic.dims import dim


class Place(Record):
    """The name of an operation in messages, and the user's line."""

    operation: str
    where: str | None

    def origin(self, demand: str) -> Origin:
        """The origin of one demand."""
        return Origin(self.operation, demand, self.where)


class Logic(Record):
    """The rule by which the shape of a result follows from those of the operands."""

    @property
    def spec(self) -> str:
        """A short text for the rule: the spec, if it is in label notation."""
        raise NotImplementedError

    def demands(self, result: Rows, operands: Sequence[Rows], place: Place) -> list[Demand]:
        """The demands of the operation.

        Raises:
            ShapeError: the number of operands does not fit, or a name is unknown.
        """
        raise NotImplementedError


class Pointwise(Logic):
    """Rows of each kind broadcast as NumPy's dimensions do."""

    @property
    def spec(self) -> str:
        """The sign that stands for this logic where others have a spec."""
        return "."

    def demands(self, result: Rows, operands: Sequence[Rows], place: Place) -> list[Demand]:
        """Each operand stretches to the result."""
        return [
            demand
            for kind in KINDS
            for demand in _joined(kind, result[kind], [rows[kind] for rows in operands], place)
        ]


class Compose(Logic):
    """Composition: the input of the first operand is the output of the second."""

    @property
    def spec(self) -> str:
        """The text `@`."""
        return "@"

    def demands(self, result: Rows, operands: Sequence[Rows], place: Place) -> list[Demand]:
        """The result has the first operand's output and the second's input; batch rows stretch."""
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
    """The transpose, with input and output swapped."""

    @property
    def spec(self) -> str:
        """The text `.T`."""
        return "T"

    def demands(self, result: Rows, operands: Sequence[Rows], place: Place) -> list[Demand]:
        """Input and output rows are swapped."""
        (rows,) = operands
        return [
            _same(result["batch"], rows["batch"], "batch axes", place),
            _same(result["input"], rows["output"], "output axes", place),
            _same(result["output"], rows["input"], "input axes", place),
        ]


class BatchSlice(Logic):
    """The leading batch axis at an index; `range` is its size, `least` the least possible one."""

    range: int | None = None
    least: int = 0

    @property
    def spec(self) -> str:
        """A short form."""
        return "@|"

    def demands(self, result: Rows, operands: Sequence[Rows], place: Place) -> list[Demand]:
        """The result has all axes but that one."""
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
    """Each row of four uint32 becomes `count` elements."""

    count: int

    @property
    def spec(self) -> str:
        """A short form."""
        return "U4x32"

    def demands(self, result: Rows, operands: Sequence[Rows], place: Place) -> list[Demand]:
        """The result has the number of elements that the bits make up."""
        (rows,) = operands
        words = Cell(name="words")
        exact = [words, Cell(dim(4))]
        return [
            Exact([rows[kind] for kind in MEMORY_ORDER], exact, place.origin("words of 4 uint32")),
            elements(result, words, place.origin("elements of the words"), self.count),
        ]


class Einsum(Logic):
    """A spec in label notation, with given sizes and captured ones."""

    parsed: EinsumSpec
    sizes: tuple[tuple[str, SizeOf], ...] = ()
    capture: tuple[Size, ...] = ()
    broadcast: bool = False

    @property
    def spec(self) -> str:
        """The spec as the user wrote it."""
        return self.parsed.text

    def demands(self, result: Rows, operands: Sequence[Rows], place: Place) -> list[Demand]:
        """Demand that each tensor has the axes that the spec writes for it."""
        return self.template(result, operands, place).demands

    def template(self, result: Rows, operands: Sequence[Rows], place: Place) -> Template:
        """The template that holds the demands, and the unknowns of labels and row variables."""
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
    logic: Logic, result: Rows, operands: Sequence[Rows], place: Place
) -> Template | None:
    """Solve the demands of an operation.

    Returns:
        The template of a spec; None for other operations.

    Raises:
        ShapeError: the shapes do not fit; they are unchanged then.
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
    """The demand that rows have a number of elements."""
    return Total([rows[kind] for kind in MEMORY_ORDER], number, origin, factor)


def _joined(kind: str, result: Row, operands: Sequence[Row], place: Place) -> list[Demand]:
    if len(operands) == 1:
        return [_same(result, operands[0], f"{kind} axes", place)]
    origins = [place.origin(f"{kind} axes of operand {k}") for k in range(1, len(operands) + 1)]
    stretched: list[Demand] = [
        Stretches(result, row, origin) for row, origin in zip(operands, origins, strict=True)
    ]
    return [*stretched, Joins(result, operands, place.origin(f"{kind} axes of the result"))]


def _same(result: Row, operand: Row, what: str, place: Place) -> EqualRows:
    return EqualRows(result, operand, place.origin(what))
