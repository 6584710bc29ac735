"""Demands on sizes: of windows, concatenations, numbers of elements, and given dimensions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NoReturn

from axiomjit.base.errors import ShapeError, amount
from axiomjit.graph.nodes import describe_length
from axiomjit.notation.solving import Solver
from axiomjit.notation.specs import MEMORY_ORDER
from axiomjit.notation.terms import Cell, Demand, Origin, Row, RowVariable, Unknown
from axiomjit.symbolic.dims import Dim, dim, exact_quotient, product


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
        """The product of the unknown sizes, or None if the total is unknown; refuses bad totals."""
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
    determine it.
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
