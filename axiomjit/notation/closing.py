"""Close shapes: choose sizes and rows that demands leave open, by fixed rules (OCANNL shapes).

A leaf becomes as large as its uses, because nothing else would determine its shape. A row that no
use determines has no axes, and an axis that no use determines has length 1. Each stage makes all
its choices from the state before the stage, so the choices do not depend on the order of the
program.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from typing import Final, TypeVar

from axiomjit.base.errors import ShapeError
from axiomjit.notation.demands import (
    AffineSize,
    ConcatSize,
    EqualRows,
    ExactSizes,
    LongestAxis,
    LongestRow,
    Stretches,
    StretchesAxis,
    Total,
    quotient_of,
)
from axiomjit.notation.solving import (
    LOCK,
    Cell,
    Demand,
    Origin,
    RowVariable,
    Solver,
    Unknown,
    closed_row,
    connected,
    open_row,
)
from axiomjit.symbolic.dims import Dim, dim, product

Key = TypeVar("Key", RowVariable, Cell)


class Bounds:
    """Connected unknown rows and sizes, with the demands that bound each of them."""

    def __init__(self, unknowns: Sequence[Unknown], demands: Sequence[Demand]) -> None:
        """Group the demands by the unknown row or size that each demand bounds."""
        self.demands = demands
        self.rows = [u for u in unknowns if isinstance(u, RowVariable)]
        self.cells = [u for u in unknowns if isinstance(u, Cell)]
        self._above: dict[RowVariable, list[Stretches]] = {}
        self._beyond: dict[Cell, list[StretchesAxis]] = {}
        self._joins: dict[RowVariable, list[LongestRow]] = {}
        for demand in demands:
            if isinstance(demand, Stretches):
                variable = demand.operand.flat.variable
                if variable is not None:
                    self._above.setdefault(variable, []).append(demand)
            elif isinstance(demand, StretchesAxis):
                self._beyond.setdefault(demand.operand.root, []).append(demand)
            elif isinstance(demand, LongestRow):
                result = demand.result.flat.variable
                if result is not None:
                    self._joins.setdefault(result, []).append(demand)
        joined = (d.result.root for d in demands if isinstance(d, LongestAxis))
        wholes = (d.whole.root for d in demands if isinstance(d, AffineSize | ConcatSize))
        factors = (d.factor.root for d in demands if isinstance(d, Total))
        self.follows: set[Unknown] = {*self._joins, *joined, *wholes, *factors}
        """The unknowns that demands compute from other unknowns; they are chosen last."""
        self.exact = {v for d in demands if isinstance(d, ExactSizes) for v in d.variables}
        """The row variables in an `ExactSizes` demand, which fixes the total number of axes."""
        self._ranks: dict[RowVariable, tuple[int, bool] | None] = {}
        self._sizes: dict[Cell, list[Dim]] = {}

    def rank(self, variable: RowVariable) -> tuple[int, bool] | None:
        """The least number of axes to which a row stretches, and True if all results are closed.

        Returns None if the row stretches to no result whose number of axes is bounded.
        """
        for one in _dependences_first(variable, self._rows_above, self._ranks):
            self._ranks[one] = self._rank(one)
        return self._ranks[variable]

    def sizes(self, cell: Cell) -> list[Dim]:
        """The distinct known sizes of the results to which an axis stretches."""
        for one in _dependences_first(cell, self._cells_above, self._sizes):
            self._sizes[one] = self._known_sizes(one)
        return self._sizes[cell]

    def _rows_above(self, variable: RowVariable) -> list[RowVariable]:
        results = (demand.result.flat.variable for demand in self._above.get(variable, ()))
        return [result for result in results if result is not None]

    def _cells_above(self, cell: Cell) -> list[Cell]:
        return [demand.result.root for demand in self._beyond.get(cell, ())]

    def _rank(self, variable: RowVariable) -> tuple[int, bool] | None:
        found: list[tuple[int, bool]] = []
        for demand in self._above.get(variable, ()):
            result, own = demand.result.flat, len(demand.operand.flat.cells)
            above = (0, True)
            if result.variable is not None:
                beyond = self._ranks.get(result.variable)
                joins = self._joins.get(result.variable, [])
                own = max([own, *(one.most_axes(variable) for one in joins)])
                alone = any(one.deciding == [variable] and one.most_axes(None) for one in joins)
                if beyond is None and not alone and len(result.cells) <= own:
                    continue
                above = (0, alone) if beyond is None else (beyond[0], alone and beyond[1])
            found.append((max(len(result.cells) + above[0] - own, 0), above[1]))
        if not found:
            return None
        return min(count for count, _ in found), all(closed for _, closed in found)

    def _known_sizes(self, cell: Cell) -> list[Dim]:
        found: list[Dim] = []
        for demand in self._beyond.get(cell, ()):
            result = demand.result.root
            above = self._sizes.get(result, []) if result.size is None else [result.size]
            found += [size for size in above if all(size != other for other in found)]
        return found


def _dependences_first(
    start: Key, above: Callable[[Key], Sequence[Key]], known: Mapping[Key, object]
) -> list[Key]:
    """The keys missing in `known` on which `start` depends, dependences first; cycles are cut."""
    order: list[Key] = []
    seen: set[Key] = set()
    waiting = [(start, False)]
    while waiting:
        one, ready = waiting.pop()
        if ready:
            order.append(one)
        elif one not in seen and one not in known:
            seen.add(one)
            waiting.append((one, True))
            waiting += [(other, False) for other in above(one)]
    return order


_CLOSING: Final = Origin("closing", "the shapes that are asked for", None)
_RowChoices = list[tuple[RowVariable, int]]
_CellChoices = list[tuple[Cell, int | Dim]]
"""Cells of unknown size, each with the size that was chosen for it."""


def close(start: Iterable[Unknown]) -> None:
    """Choose values for these unknowns and for all unknowns that demands connect with them.

    Raises:
        ShapeError: the choices contradict a demand, or no use determines the shape of a parameter.
    """
    with LOCK:
        solver = Solver()
        try:
            _close(solver, connected(_open_unknowns(start))[0])
        except BaseException:
            solver.undo()
            raise


def _close(solver: Solver, start: list[Unknown]) -> None:
    while True:
        unknowns, demands = connected(_open_unknowns(start))
        if not unknowns:
            return
        bounds = Bounds(unknowns, demands)
        for unknown, value in _choices(bounds):
            _apply(solver, unknown, value)
        solver.propagate()


def _open_unknowns(start: Iterable[Unknown]) -> list[Unknown]:
    """The representatives of the unknowns that have no value yet."""
    found: list[Unknown] = []
    for unknown in start:
        if isinstance(unknown, RowVariable):
            found += open_row(unknown).flat.unknowns
        elif isinstance(unknown, Cell) and unknown.root.size is None:
            found.append(unknown.root)
    return found


def _apply(solver: Solver, unknown: Unknown, value: int | Dim) -> None:
    origin = unknown.origins[-1] if unknown.origins else _CLOSING
    if isinstance(unknown, RowVariable):
        if unknown.bound is None:
            cells = tuple(Cell() for _ in range(int(value)))
            solver.bind(unknown, closed_row(cells), origin)
    elif isinstance(unknown, Cell) and unknown.root.size is None:
        solver.set_size(unknown, value, origin)


def _bounded_rows(bounds: Bounds, leaf: bool) -> _RowChoices:
    """Choose for each row the axes of its shortest result; rows with closed results come first."""
    rows = [row for row in bounds.rows if row.leaf is leaf and row not in bounds.exact]
    ranks = [(row, bounds.rank(row)) for row in rows]
    known = [(row, rank) for row, rank in ranks if rank is not None]
    closed = [(row, rank[0]) for row, rank in known if rank[1]]
    return closed or [(row, rank[0]) for row, rank in known]


def _exact_rows(bounds: Bounds, leaf: bool) -> _RowChoices:
    """Divide a known number of axes among rows: first to output, then to batch, then to input."""
    choices: _RowChoices = []
    for demand in bounds.demands:
        if not isinstance(demand, ExactSizes):
            continue
        if not demand.split:
            demand.refuse_split()
        batch, output, inner = (row.flat for row in demand.rows)
        left = len(demand.cells) - sum(len(row.cells) for row in (batch, output, inner))
        decided: dict[RowVariable, int] = {}
        for row in (output, batch, inner):
            if row.variable is None or row.variable in decided:
                continue
            rank = bounds.rank(row.variable)
            most = rank[0] if rank is not None else (left if row is output else 0)
            decided[row.variable] = max(min(most, left), 0)
            left -= decided[row.variable]
        if output.variable is not None:
            decided[output.variable] += max(left, 0)
        choices += [(row, count) for row, count in decided.items() if row.leaf is leaf]
    return choices


def _counted_rows(bounds: Bounds, leaf: bool) -> _RowChoices:
    """Choose an axis for rows with a known number of elements, in the output row if possible."""
    choices: _RowChoices = []
    for demand in bounds.demands:
        if not isinstance(demand, Total):
            continue
        preferred = demand.rows[len(demand.rows) // 2].flat.variable
        others = [v for v in demand.variables if v is not preferred]
        if len(demand.variables) > 1:
            # The last row follows from the others.
            rest = others if preferred is not None else others[:-1]
            choices += [(v, 0) for v in rest if v.leaf is leaf]
        elif demand.variables:
            enough = _suffices(demand, bounds)
            choices += [(v, 0 if enough else 1) for v in demand.variables if v.leaf is leaf]
    return choices


def _suffices(demand: Total, bounds: Bounds) -> bool:
    """True if the existing axes can have the demanded number of elements."""
    cells = [cell for row in demand.rows for cell in row.flat.cells]
    if all(cell.size is not None for cell in cells):
        return bool(cells) and demand.is_met
    wanted = {cell: bounds.sizes(cell) for cell in cells if cell.size is None}
    if demand.rows[len(demand.rows) // 2].flat.variable is None or not all(wanted.values()):
        return True
    return _fitting_sizes(demand, {cell: sizes[0] for cell, sizes in wanted.items()}) is not None


def _fitting_sizes(demand: Total, wanted: Mapping[Cell, int | Dim]) -> dict[Cell, Dim] | None:
    """Choose for each axis its wanted size or 1, so that all have the demanded number of elements.

    Axes of the output are tried first, then batch, then input axes, each row from the right. Axes
    without a wanted size may have any size. Returns None if no choice fits.
    """
    batch, output, inner = ([*reversed(row.flat.cells)] for row in demand.rows)
    times = Counter(cell for cell in (*output, *batch, *inner) if cell.size is None)
    cells = [cell for cell in times if cell in wanted]

    @cache
    def fitting_sizes(place: int, whole: Dim) -> dict[Cell, Dim] | None:
        if place == len(cells):
            return {} if whole == 1 or len(cells) < len(times) else None
        for size in (dim(wanted[cells[place]]), dim(1)):
            rest = quotient_of(whole, product((size,) * times[cells[place]]))
            found = None if rest is None else fitting_sizes(place + 1, rest)
            if found is not None:
                return {cells[place]: size, **found}
        return None

    return None if demand.remaining is None else fitting_sizes(0, demand.remaining)


def _least_rows(bounds: Bounds, leaf: bool) -> _RowChoices:
    """Choose the least number of axes for undecided rows, 0 unless an equal row has more axes."""
    least = {row: 0 for row in bounds.rows if row.leaf is leaf}
    for demand in bounds.demands:
        if isinstance(demand, EqualRows):
            left, right = demand.left.flat, demand.right.flat
            for one, other in ((left, right), (right, left)):
                if one.variable in least:
                    lacking = len(other.cells) - len(one.cells)
                    least[one.variable] = max(least[one.variable], lacking)
    used = {
        demand.result.flat.variable
        for demand in bounds.demands
        if isinstance(demand, Stretches) and demand.operand.flat.variable is None
    }
    for row in least:
        if row not in used:
            _refuse_undecided(row, "how many axes there are")
    return [*least.items()]


def _refuse_undecided(unknown: Unknown, what: str) -> None:
    """Raise an error if the unknown belongs to a parameter, since no use determines its shape."""
    param = unknown.param
    if param is not None:
        raise ShapeError(
            f"{param.operation}, {param.demand}",
            f"no use of the parameter that says {what}",
            "give batch=, input= or output=, or use it with tensors of known shape",
            param.where,
            tuple(str(origin) for origin in unknown.origins if origin != param),
        )


def _bounded_cells(bounds: Bounds, leaf: bool) -> _CellChoices:
    """Choose the results' lengths, or 1 if results differ or a given number of elements needs 1."""
    choices: dict[Cell, int | Dim] = {}
    for cell in bounds.cells:
        found = bounds.sizes(cell) if cell.leaf is leaf else []
        only_first = not leaf and cell.at_least == 1 and not cell.iterated
        if found:
            choices[cell] = 1 if only_first or len(found) > 1 else found[0]
    for demand in bounds.demands:
        if isinstance(demand, Total) and choices:
            choices |= _fitting_sizes(demand, choices) or {}
    return [*choices.items()]


def _vanishing(bounds: Bounds, leaf: bool) -> _CellChoices:
    """Choose 0 for the lengths of parts of concatenations that may vanish."""
    return [(cell, 0) for cell in bounds.cells if cell.may_vanish and cell.leaf is leaf]


def _factors(bounds: Bounds, leaf: bool) -> _CellChoices:
    """Choose 1 for window lengths, and for all but the last axis of a known number of elements."""
    choices: _CellChoices = []
    for demand in bounds.demands:
        if isinstance(demand, AffineSize) and demand.kernel is not None:
            kernel, over = demand.kernel.root, demand.over.root
            if kernel.size is None and kernel.leaf is leaf and over is not kernel:
                choices.append((kernel, max(kernel.at_least, 1)))
        elif isinstance(demand, Total):
            cells = [cell for row in demand.rows for cell in row.flat.cells]
            for cell in [*dict.fromkeys(cell for cell in cells if cell.size is None)][:-1]:
                if cell.leaf is leaf:
                    choices.append((cell, 1))
    for cell, _ in choices:
        _refuse_undecided(cell, "how long an axis is")
    return choices


def _least_cells(bounds: Bounds, leaf: bool) -> _CellChoices:
    """Choose for undecided axes the least length that fixed indices allow, at least 1."""
    free = [cell for cell in bounds.cells if cell not in bounds.follows]
    cells = [cell for cell in free if cell.leaf is leaf]
    if not cells and not leaf:
        cells = bounds.cells
    for cell in cells:
        if not cell.at_least and not cell.met:
            _refuse_undecided(cell, "how long an axis is")
    return [(cell, max(cell.at_least, 1)) for cell in cells]


_Stage = Callable[[Bounds, bool], Sequence[tuple[Unknown, int | Dim]]]
_ROWS: Final[tuple[_Stage, ...]] = (_bounded_rows, _exact_rows, _counted_rows, _least_rows)
_CELLS: Final[tuple[_Stage, ...]] = (_bounded_cells, _vanishing, _factors, _least_cells)


def _choices(bounds: Bounds) -> Sequence[tuple[Unknown, int | Dim]]:
    """The choices of the first stage that makes choices."""
    for stages in (_ROWS, _CELLS):  # the axes that meet are known only when all rows are closed
        for leaf in (True, False):
            for stage in stages:
                choices = stage(bounds, leaf)
                if choices:
                    return choices
    raise AssertionError("the last stage decides every size")
