"""What demands say of rows and sizes that are still open: the results that they stretch to."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

from axiomjit.notation.demands import Joins, JoinsAxes, Stretches, StretchesAxis
from axiomjit.notation.sums import AffineSize, ConcatSize, Exact, Total
from axiomjit.notation.terms import Cell, Demand, RowVariable, Unknown
from axiomjit.symbolic.dims import Dim

Key = TypeVar("Key", RowVariable, Cell)


class Bounds:
    """The open rows and sizes that demands connect, and what bounds each of them."""

    def __init__(self, unknowns: Sequence[Unknown], demands: Sequence[Demand]) -> None:
        """Sort the demands by what they bound."""
        self.demands = demands
        self.rows = [u for u in unknowns if isinstance(u, RowVariable)]
        self.cells = [u for u in unknowns if isinstance(u, Cell)]
        self._above: dict[RowVariable, list[Stretches]] = {}
        self._beyond: dict[Cell, list[StretchesAxis]] = {}
        self._joins: dict[RowVariable, list[Joins]] = {}
        for demand in demands:
            if isinstance(demand, Stretches):
                variable = demand.operand.flat.variable
                if variable is not None:
                    self._above.setdefault(variable, []).append(demand)
            elif isinstance(demand, StretchesAxis):
                self._beyond.setdefault(demand.operand.root, []).append(demand)
            elif isinstance(demand, Joins):
                result = demand.result.flat.variable
                if result is not None:
                    self._joins.setdefault(result, []).append(demand)
        joined = (d.result.root for d in demands if isinstance(d, JoinsAxes))
        wholes = (d.whole.root for d in demands if isinstance(d, AffineSize | ConcatSize))
        factors = (d.factor.root for d in demands if isinstance(d, Total))
        self.follows: set[Unknown] = {*self._joins, *joined, *wholes, *factors}
        """What is computed of others, so that it is chosen last."""
        self.exact = {v for d in demands if isinstance(d, Exact) for v in d.variables}
        """Rows of which the number of axes is known together with others."""
        self._ranks: dict[RowVariable, tuple[int, bool] | None] = {}
        self._sizes: dict[Cell, list[Dim]] = {}

    def rank(self, variable: RowVariable) -> tuple[int, bool] | None:
        """The fewest axes of the results that a row stretches to, and whether all are closed.

        None where there is no such result, or none of which others say anything.
        """
        for one in _inner_first(variable, self._rows_above, self._ranks):
            self._ranks[one] = self._rank(one)
        return self._ranks[variable]

    def sizes(self, cell: Cell) -> list[Dim]:
        """The known sizes of results that an axis stretches to, each once."""
        for one in _inner_first(cell, self._cells_above, self._sizes):
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
                own = max([own, *(one.beside(variable) for one in joins)])
                alone = any(one.deciding == [variable] and one.beside(None) for one in joins)
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


def _inner_first(
    start: Key, above: Callable[[Key], Sequence[Key]], known: Mapping[Key, object]
) -> list[Key]:
    """What `start` depends on and is not known, each after what it depends on; circles are cut."""
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
