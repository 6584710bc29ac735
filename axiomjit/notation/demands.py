"""Demands that rows or axes are equal, or that an operand's axes stretch to a result's."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Final

from axiomjit.base.errors import amount
from axiomjit.notation.solving import Solver
from axiomjit.notation.terms import (
    Cell,
    Demand,
    Origin,
    Row,
    RowVariable,
    Unknown,
    closed_row,
    merged,
)

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
        """The most axes, beside those of this variable, of operands that have it; None: closed."""
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
        """Equate the result with an operand that is not 1, or with the only one of unknown size."""
        cells = [cell.root for cell in self.operands]
        longer = [cell for cell in cells if cell.size is not None and cell.size != 1]
        deciding = self.deciding
        if not longer and len(deciding) > 1:
            return False
        for cell in longer[:1] or deciding or cells[:1]:
            solver.equate(self.result, cell, self.origin)
        return True
