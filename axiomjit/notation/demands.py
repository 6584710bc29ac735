"""Demands on rows, axes and sizes.

Demands on rows or axes say that two of them are equal, or that the axes of an operand stretch to
the axes of a result. Demands on sizes are about windows, concatenations, numbers of elements, and
given dimensions.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Sequence
from typing import Final, NoReturn

from axiomjit.base.errors import ShapeError, amount
from axiomjit.graph.nodes import describe_length
from axiomjit.notation.solving import (
    Cell,
    Demand,
    Origin,
    Row,
    RowVariable,
    Solver,
    Unknown,
    closed_row,
    merged,
)
from axiomjit.notation.specs import MEMORY_ORDER
from axiomjit.symbolic.dims import Dim, dim, exact_quotient, product

Pairs = list[tuple[Cell, Cell]]
_EQUAL: Final = "use as many axes as meet there; in a spec one label per axis, or '...'"


def _pairs(one: Row, other: Row) -> tuple[Pairs, Pairs]:
    """Pair leading axes of two rows by position from the left, trailing axes from the right."""
    front = zip(one.leading, other.leading, strict=False)
    back = zip(reversed(one.trailing), reversed(other.trailing), strict=False)
    return [*front], [*back]


def _axes(count: int) -> str:
    return amount(count, "axis", "axes")


class EqualRows(Demand):
    """The demand that two rows have the same axes."""

    __slots__ = ("left", "remedy", "right")

    def __init__(self, left: Row, right: Row, origin: Origin, remedy: str = _EQUAL) -> None:
        super().__init__(origin)
        self.left, self.right, self.remedy = left, right, remedy

    @property
    def unknowns(self) -> list[Unknown]:
        """The unknown rows and sizes of both rows."""
        return [*self.left.flat.unknowns, *self.right.flat.unknowns]

    def step(self, solver: Solver) -> bool:
        """Equate axes at equal positions, and bind a row variable to the remaining axes."""
        left, right = self.left.flat, self.right.flat
        if left.variable is None and right.variable is None:
            return self._closed(left, right, solver)
        if left.variable is None:
            left, right = right, left
        assert left.variable is not None
        if right.variable is None:
            return self._half_open(left, left.variable, right, solver)
        return self._open(left, left.variable, right, right.variable, solver)

    def _closed(self, left: Row, right: Row, solver: Solver) -> bool:
        if len(left.cells) != len(right.cells):
            self._counts(left, right, solver)
        for one, other in zip(left.cells, right.cells, strict=True):
            solver.equate(one, other, self.origin)
        return True

    def _counts(self, left: Row, right: Row, solver: Solver) -> None:
        counts = sorted((len(left.cells), len(right.cells)))
        fit = "fits" if counts[0] == 1 else "fit"
        solver.fail(
            self.origin,
            f"{_axes(counts[1])} where {_axes(counts[0])} {fit}: [{left}] and [{right}]",
            self.remedy,
            self.origins,
        )

    def _half_open(self, left: Row, variable: RowVariable, right: Row, solver: Solver) -> bool:
        front, back = len(left.leading), len(left.trailing)
        cells = right.cells
        if front + back > len(cells):
            self._counts(left, right, solver)
        stop = len(cells) - back
        whole = Row(cells[:front], None, cells[stop:])
        for one, other in itertools.chain(*_pairs(left, whole)):
            solver.equate(one, other, self.origin)
        solver.bind(variable, closed_row(cells[front:stop]), self.origin)
        return True

    def _open(
        self, left: Row, one: RowVariable, right: Row, other: RowVariable, solver: Solver
    ) -> bool:
        for a, b in itertools.chain(*_pairs(left, right)):
            solver.equate(a, b, self.origin)
        front = len(left.leading) - len(right.leading)
        back = len(left.trailing) - len(right.trailing)
        if one is other:
            if front + back:
                solver.fail(
                    self.origin,
                    f"a row that contains itself and {_axes(abs(front + back))} more",
                    "use another name for one of the row variables",
                    self.origins,
                )
            return front == 0
        if front < 0 or back < 0:
            left, right, one, other, front, back = right, left, other, one, -front, -back
        if front < 0 or back < 0:
            return False  # one has more leading axes, the other more trailing ones
        leading = left.leading[len(right.leading) :]
        trailing = left.trailing[: len(left.trailing) - len(right.trailing)]
        solver.bind(other, Row(leading, one, trailing), self.origin)
        return True


class Stretches(Demand):
    """The demand that an operand's row stretches to the result's row, which may have more axes."""

    __slots__ = ("matched", "operand", "result")

    def __init__(self, result: Row, operand: Row, origin: Origin) -> None:
        super().__init__(origin)
        self.result, self.operand = result, operand
        self.matched = (0, 0)

    @property
    def unknowns(self) -> list[Unknown]:
        """The unknown rows and sizes of both rows."""
        return [*self.result.flat.unknowns, *self.operand.flat.unknowns]

    def step(self, solver: Solver) -> bool:
        """Match leading and trailing axes; a result with a row variable gets axes that it lacks."""
        result, operand = self.result.flat, self.operand.flat
        lacking = len(operand.cells) - len(result.cells)
        if lacking > 0:
            self._grow(result, operand, lacking, solver)
            result = self.result.flat
        if result.variable is None:
            split = len(result.cells) - len(operand.trailing)
            result = Row(result.cells[:split], None, result.cells[split:])
        front, back = _pairs(result, operand)
        for above, below in (*front[self.matched[0] :], *back[self.matched[1] :]):
            solver.post(StretchesAxis(above, below, self.origin))
        solver.change(self, "matched", (len(front), len(back)))
        if result.variable is None or result.variable is not operand.variable:
            return result.variable is operand.variable
        return (len(result.leading), len(result.trailing)) == (
            len(operand.leading),
            len(operand.trailing),
        )

    def _grow(self, result: Row, operand: Row, lacking: int, solver: Solver) -> None:
        variable = result.variable
        if variable is None or variable is operand.variable:
            solver.fail(
                self.origin,
                f"too many axes in an operand: [{operand}] for [{result}]",
                "leave out axes of the operand, or contract them with @ or einsum",
                self.origins,
            )
        solver.check_rank(len(operand.cells), variable, self.origin)
        front = min(max(len(operand.leading) - len(result.leading), 0), lacking)
        cells = tuple(Cell() for _ in range(lacking))
        rest = RowVariable(variable.name)
        solver.bind(variable, Row(cells[:front], rest, cells[front:]), self.origin)

    def candidate(self, result: Row) -> tuple[Cell | None, ...]:
        """The axes of the result to which the operand's row variable would be bound."""
        operand = self.operand.flat
        cells = result.flat.cells
        front, back = len(operand.leading), len(operand.trailing)
        return cells[front : len(cells) - back] if len(cells) > front + back else ()


class StretchesAxis(Demand):
    """The demand that an operand's axis has the length of the result's axis, or 1."""

    __slots__ = ("operand", "result")

    def __init__(self, result: Cell, operand: Cell, origin: Origin) -> None:
        super().__init__(origin)
        self.result, self.operand = result, operand

    @property
    def unknowns(self) -> list[Unknown]:
        """The axes of unknown size among the operand's and the result's."""
        return [cell for cell in (self.result.root, self.operand.root) if cell.size is None]

    def step(self, solver: Solver) -> bool:
        """Equate both axes, unless the operand's length is 1 or may become 1."""
        result, operand = self.result.root, self.operand.root
        if result is operand:
            return True
        if operand.size is not None:
            if operand.size == 1:
                solver.set_label(result, operand.label, self.origin)
                solver.change(result, "met", True)
            else:
                solver.equate(result, operand, self.origin)
            return True
        if result.size is None:
            return False
        if result.size == 1:
            solver.equate(operand, result, self.origin)
            return True
        self._meet(result, operand, solver)
        return operand.root.size is not None

    def _meet(self, result: Cell, operand: Cell, solver: Solver) -> None:
        """Set the operand's length to 1 if it stretches to results of different sizes."""
        for demand in operand.watchers:
            if isinstance(demand, StretchesAxis) and demand.active and demand is not self:
                other = demand.result.root
                if demand.operand.root is operand and other.size is not None:
                    labels = {result.label, other.label} - {None}
                    if other.size != result.size or len(labels) > 1:
                        solver.set_size(operand, 1, self.origin)
                        return


class LongestRow(Demand):
    """The demand that a result's row has at most the axes of the longest operand's row."""

    __slots__ = ("operands", "result")

    def __init__(self, result: Row, operands: Sequence[Row], origin: Origin) -> None:
        """Store the rows; other demands (`Stretches`) make the operands stretch to the result."""
        super().__init__(origin)
        self.result, self.operands = result, tuple(operands)

    @property
    def deciding(self) -> list[Unknown]:
        """The distinct unbound row variables of the operands."""
        rows = (row.flat for row in self.operands)
        return [*dict.fromkeys(row.variable for row in rows if row.variable is not None)]

    def most_axes(self, variable: RowVariable | None) -> int:
        """The largest number of known axes among the operands whose row variable is `variable`."""
        rows = [row.flat for row in self.operands]
        return max((len(row.cells) for row in rows if row.variable is variable), default=0)

    @property
    def unknowns(self) -> list[Unknown]:
        """The unknown rows and sizes of operands and result."""
        rows = (self.result, *self.operands)
        return [unknown for row in rows for unknown in row.flat.unknowns]

    def step(self, solver: Solver) -> bool:
        """Close the result if all operands are closed, or equate it with the only nonempty row."""
        operands = [row.flat for row in self.operands]
        if any(row.variable is not None for row in operands):
            return self._follow_one(operands, solver)
        result = self.result.flat
        longest = max((len(row.cells) for row in operands), default=0)
        if len(result.cells) > longest:
            seen = f"a result with axes [{result}] of operands that have at most {_axes(longest)}"
            remedy = "give an operand the axes that the result is to have"
            solver.fail(self.origin, seen, remedy, merged((self.origin,)))
        if result.variable is not None:
            fresh = tuple(Cell() for _ in range(longest - len(result.cells)))
            solver.bind(result.variable, closed_row(fresh), self.origin)
            result = self.result.flat
        if len(result.cells) < longest:
            return False  # an operand with too many axes, refused by `Stretches`
        parts: list[list[Cell]] = [[] for _ in result.cells]
        for row in operands:
            split = len(result.cells) - len(row.trailing)
            for k, cell in enumerate(row.leading):
                parts[k].append(cell)
            for k, cell in enumerate(row.trailing):
                parts[split + k].append(cell)
        for cell, below in zip(result.cells, parts, strict=True):
            solver.post(LongestAxis(cell, below, self.origin))
        return True

    def _follow_one(self, operands: Sequence[Row], solver: Solver) -> bool:
        """Equate the result with the operands' row if all nonempty operands have the same form."""
        rows = [row for row in operands if row.cells or row.variable is not None]
        first = rows[0]
        variable, front, back = first.variable, len(first.leading), len(first.trailing)
        for row in rows:
            if (row.variable, len(row.leading), len(row.trailing)) != (variable, front, back):
                return False
        leading, trailing = (tuple(Cell() for _ in range(count)) for count in (front, back))
        solver.post(EqualRows(self.result, Row(leading, variable, trailing), self.origin))
        for k, cell in enumerate((*leading, *trailing)):
            solver.post(LongestAxis(cell, [row.cells[k] for row in rows], self.origin))
        return True


class LongestAxis(Demand):
    """The demand that a result's axis is as long as the longest of the operands' axes."""

    __slots__ = ("operands", "result")

    def __init__(self, result: Cell, operands: Sequence[Cell], origin: Origin) -> None:
        super().__init__(origin)
        self.result, self.operands = result, tuple(operands)

    @property
    def deciding(self) -> list[Cell]:
        """The distinct operands of unknown size."""
        return [*dict.fromkeys(c.root for c in self.operands if c.root.size is None)]

    @property
    def unknowns(self) -> list[Unknown]:
        """The operands of unknown size, and the result if its size is unknown."""
        result = self.result.root
        return [*self.deciding] if result.size is not None else [*self.deciding, result]

    def step(self, solver: Solver) -> bool:
        """Equate the result with an operand whose length is not 1, or with the only unknown."""
        cells = [cell.root for cell in self.operands]
        longer = [cell for cell in cells if cell.size is not None and cell.size != 1]
        deciding = self.deciding
        if not longer and len(deciding) > 1:
            return False
        for cell in longer[:1] or deciding or cells[:1]:
            solver.equate(self.result, cell, self.origin)
        return True


def quotient_of(top: Dim, bottom: Dim) -> Dim | None:
    """The quotient top / bottom, or None if there is a remainder; the test may record a guard."""
    whole = exact_quotient(top, bottom) if bottom.terms else None
    if whole is not None:
        return whole
    if bottom == 0:
        return None
    return top // bottom if top % bottom == 0 else None


class AffineSize(Demand):
    """The demand on the length of an axis indexed by `stride * over + offset + dilation * kernel`.

    The length is `stride * over` without a kernel or with padding, else `stride * (over - 1) + 1 +
    dilation * (kernel - 1)`.
    """

    __slots__ = ("dilation", "kernel", "over", "stride", "whole")

    def __init__(
        self,
        whole: Cell,
        over: Cell,
        stride: int,
        kernel: Cell | None,
        dilation: int,
        origin: Origin,
    ) -> None:
        """Store the cells; `kernel` is None if the axis's length does not depend on a kernel."""
        super().__init__(origin)
        self.whole, self.over, self.kernel = whole, over, kernel
        self.stride, self.dilation = stride, dilation

    @property
    def cells(self) -> list[Cell]:
        """The cells of all sizes in the equation."""
        cells = [self.whole.root, self.over.root]
        return cells if self.kernel is None else [*cells, self.kernel.root]

    @property
    def unknowns(self) -> list[Unknown]:
        """The cells whose sizes are unknown."""
        return [cell for cell in self.cells if cell.size is None]

    def step(self, solver: Solver) -> bool:
        """Compute the only size that is still unknown."""
        whole, over = self.whole.root.size, self.over.root.size
        kernel = dim(1) if self.kernel is None else self.kernel.root.size
        if kernel is not None and over is not None:
            span = (kernel - 1) * self.dilation + 1
            size = (
                span + (over - 1) * self.stride if self.kernel is not None else over * self.stride
            )
            solver.set_size(self.whole, size, self.origin)
            return True
        if whole is None or (kernel is None and over is None):
            return False
        if self.kernel is None:
            solver.set_size(self.over, self._divided(whole, self.stride, solver), self.origin)
        elif kernel is not None:
            rest = whole - ((kernel - 1) * self.dilation + 1)
            steps = self._divided(rest, self.stride, solver)
            solver.set_size(self.over, steps + 1, self.origin)
        elif over is not None:
            rest = whole - ((over - 1) * self.stride + 1)
            steps = self._divided(rest, self.dilation, solver)
            solver.set_size(self.kernel, steps + 1, self.origin)
        return True

    def _divided(self, rest: Dim, factor: int, solver: Solver) -> Dim:
        if rest < 0:
            cells = ", ".join(map(str, self.cells))
            solver.fail(
                self.origin,
                f"a window that is longer than the axis (axis, places, window: {cells})",
                "pad with '=' before the kernel, or use a shorter window",
                self.origins,
            )
        steps = quotient_of(rest, dim(factor))
        if steps is None:
            solver.fail(
                self.origin,
                f"steps of {factor} that do not tile an axis of {self.whole.root}",
                "use an axis, window or stride so that the steps end with the axis",
                self.origins,
            )
        return steps


class ConcatSize(Demand):
    """The demand that the length of an axis is the sum of the lengths of its parts."""

    __slots__ = ("parts", "whole")

    def __init__(self, whole: Cell, parts: Sequence[Cell], origin: Origin) -> None:
        super().__init__(origin)
        self.whole, self.parts = whole, tuple(parts)

    @property
    def unknowns(self) -> list[Unknown]:
        """The cells whose sizes are unknown."""
        cells = dict.fromkeys(cell.root for cell in (self.whole, *self.parts))
        return [cell for cell in cells if cell.size is None]

    def step(self, solver: Solver) -> bool:
        """Compute the only size that is still unknown."""
        parts = [cell.root for cell in self.parts]
        total = sum((c.size for c in parts if c.size is not None), dim(0))
        unknown = Counter(cell for cell in parts if cell.size is None)
        if not unknown:
            solver.set_size(self.whole, total, self.origin)
            return True
        whole = self.whole.root.size
        if whole is None:
            self._cancel(solver)
        if whole is None or len(unknown) > 1:
            return False
        ((cell, count),) = unknown.items()
        rest = quotient_of(whole - total, dim(count))
        if rest is None or rest < 0:
            solver.fail(
                self.origin,
                f"parts of {describe_length(total)} in a concatenated axis of "
                f"{describe_length(whole)}",
                "give parts that make up the axis",
                self.origins,
            )
        solver.set_size(cell, rest, self.origin)
        return True

    def _cancel(self, solver: Solver) -> None:
        """Equate the parts by which this and another concatenation of the same axis differ."""
        mine = Counter(cell.root for cell in self.parts)
        for other in self.whole.root.watchers:
            if isinstance(other, ConcatSize) and other is not self and other.active:
                theirs = Counter(cell.root for cell in other.parts)
                left, right = [*(mine - theirs).elements()], [*(theirs - mine).elements()]
                if other.whole.root is self.whole.root and len(left) == len(right) == 1:
                    solver.equate(left[0], right[0], self.origin)
                    return


class _RowsDemand(Demand):
    """A demand on the sizes of several rows."""

    __slots__ = ("rows",)

    def __init__(self, rows: Sequence[Row], origin: Origin) -> None:
        super().__init__(origin)
        self.rows = tuple(rows)

    @property
    def variables(self) -> list[RowVariable]:
        """The distinct unbound row variables."""
        found = (row.flat.variable for row in self.rows)
        return list(dict.fromkeys(v for v in found if v is not None))


class Total(_RowsDemand):
    """The demand that rows have `coefficient * factor / divisor` elements in total."""

    __slots__ = (
        "coefficient",
        "divisor",
        "factor",
    )

    def __init__(
        self,
        rows: Sequence[Row],
        factor: Cell,
        origin: Origin,
        coefficient: int = 1,
        divisor: int = 1,
    ) -> None:
        super().__init__(rows, origin)
        self.factor = factor
        self.coefficient, self.divisor = coefficient, divisor

    @property
    def unknowns(self) -> list[Unknown]:
        """The unknown rows and sizes, the factor included."""
        found = [unknown for row in self.rows for unknown in row.flat.unknowns]
        factor = self.factor.root
        return found if factor.size is not None else [*found, factor]

    @property
    def known(self) -> Dim:
        """The product of the known sizes."""
        cells = (cell for row in self.rows for cell in row.flat.cells)
        return product(tuple(cell.size for cell in cells if cell.size is not None))

    @property
    def is_met(self) -> bool:
        """True if the product of the known sizes is the total."""
        size = self.factor.root.size
        return size is not None and size * self.coefficient == self.known * self.divisor

    @property
    def remaining(self) -> Dim | None:
        """The product of the unknown sizes; None if the total is unknown or cannot be divided."""
        size = self.factor.root.size
        if size is None:
            return None
        number, known = size * self.coefficient, self.known * self.divisor
        rest = quotient_of(number, known)
        return dim(0) if rest is None and number == 0 and known == 0 else rest

    def remaining_or_fail(self, solver: Solver) -> Dim | None:
        """The product of the unknown sizes, None if the total is unknown; refuse a bad total."""
        size = self.factor.root.size
        rest = self.remaining
        if size is not None and rest is None:
            number = size * self.coefficient
            shown = " ".join(f"[{row}]" for row in self.rows)
            count = number if self.divisor == 1 else f"{number}/{self.divisor}"
            solver.fail(
                self.origin,
                f"{amount(count, 'element')} for a shape {shown}",
                "give as many elements as the shape has",
                self.origins,
            )
        return rest

    def step(self, solver: Solver) -> bool:
        """Compute the only size that is still unknown."""
        cells = Counter(c for row in self.rows for c in row.flat.cells if c.size is None)
        rest = self.remaining_or_fail(solver)
        if self.variables:
            return False
        if rest is None:
            if cells:
                return False
            number = quotient_of(self.known * self.divisor, dim(self.coefficient))
            if number is None:
                had = amount(describe_length(self.known), "element")
                seen = f"{had} where a multiple of {self.coefficient} fits"
                solver.fail(self.origin, seen, "give a shape of such a number", self.origins)
            solver.set_size(self.factor, number, self.origin)
            return True
        if not cells:
            if rest != 1 and self.known != 0:
                had = amount(describe_length(rest * self.known), "element")
                seen = f"{had} for a shape of {describe_length(self.known)}"
                remedy = "give as many elements as the shape has"
                solver.fail(self.origin, seen, remedy, self.origins)
            return True
        return self._solved(cells, rest, solver)

    def _solved(self, cells: Counter[Cell], rest: Dim, solver: Solver) -> bool:
        if rest == 1:
            for cell in cells:
                solver.set_size(cell, 1, self.origin)
            return True
        if len(cells) > 1:
            return False
        ((cell, power),) = cells.items()
        side = rest if power == 1 else _root(rest, power)
        if side is None:
            seen = f"{amount(describe_length(rest), 'element')} for {power} equal axes"
            solver.fail(self.origin, seen, f"give a {power}th power of a size", self.origins)
        solver.set_size(cell, side, self.origin)
        return True


def _root(size: Dim, power: int) -> Dim | None:
    number = int(size) if size.constant is None else size.constant
    side = round(number ** (1 / power))
    return dim(side) if side**power == number else None


class ExactSizes(_RowsDemand):
    """The demand that the axes of several rows, in sequence, have exactly these sizes.

    If `split` is True, closing may choose where each row ends; otherwise other demands must
    determine the ends.
    """

    __slots__ = ("cells", "split")

    def __init__(
        self, rows: Sequence[Row], cells: Sequence[Cell], origin: Origin, split: bool = True
    ) -> None:
        super().__init__(rows, origin)
        self.cells, self.split = tuple(cells), split

    @property
    def unknowns(self) -> list[Unknown]:
        """The unknowns among the rows and the sizes."""
        found = [unknown for row in self.rows for unknown in row.flat.unknowns]
        return [*found, *(cell.root for cell in self.cells if cell.root.size is None)]

    def step(self, solver: Solver) -> bool:
        """Bind the only unbound row variable to the remaining sizes, and equate all sizes."""
        rows = [row.flat for row in self.rows]
        free = len(self.cells) - sum(len(row.cells) for row in rows)
        uses = Counter(row.variable for row in rows if row.variable is not None)
        if free < 0 or (free and not uses):
            self._refuse(solver)
        if len(uses) > 1 and free:
            return False
        for variable, times in uses.items():
            if free % times:
                self._refuse(solver)
            fresh = tuple(Cell() for _ in range(free // times))
            solver.bind(variable, Row((), None, fresh), self.origin)
        cells = [cell for row in self.rows for cell in row.flat.cells]
        for one, other in zip(cells, self.cells, strict=True):
            solver.equate(one, other, self.origin)
        return True

    def refuse_split(self) -> NoReturn:
        """Refuse rows if the number of axes of each row remains unknown."""
        kinds = zip(MEMORY_ORDER, self.rows, strict=True)
        left_open = [kind for kind, row in kinds if row.flat.variable is not None]
        count = amount(len(self.cells), "dimension")
        raise ShapeError(
            f"{self.origin.operation}, {self.origin.demand}",
            f"{count} for {' and '.join(left_open)} axes of unknown number",
            "say which dimensions are of which kind: tensor(values, batch=, input=, output=), "
            "or give the sizes of a row variable, sizes=",
            self.origin.where,
        )

    def _refuse(self, solver: Solver) -> None:
        shown = " ".join(f"[{row}]" for row in self.rows)
        sizes = ", ".join(map(str, self.cells))
        solver.fail(
            self.origin,
            f"{amount(len(self.cells), 'dimension')} ({sizes}) for {shown}",
            "give one dimension per axis",
            self.origins,
        )
