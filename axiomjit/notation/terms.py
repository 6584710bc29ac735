"""Terms of shape inference: unknown or known sizes, rows of axes, and demands on these."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from axiomjit.base.records import Record
from axiomjit.graph.nodes import describe_length
from axiomjit.symbolic.dims import Dim

_MOST_ORIGINS: Final = 20
"""The largest number of origins stored for a size or a row."""


class Origin(Record):
    """The origin of a demand on shapes: the operation, the text of the demand, the user's line."""

    operation: str
    demand: str
    where: str | None

    def __str__(self) -> str:
        place = f" ({self.where})" if self.where else ""
        return f"{self.operation}: {self.demand}{place}"


class Unknown:
    """Base class of unknown sizes and row variables.

    `watchers` are the demands to step again when the unknown becomes known. `leaf` is True if the
    unknown belongs to a tensor that no operation computes. `param` is the origin of a parameter,
    whose shape must follow from its uses.
    """

    __slots__ = ("leaf", "name", "origins", "param", "watchers")

    def __init__(
        self, name: str | None = None, leaf: bool = False, param: Origin | None = None
    ) -> None:
        """Make an unknown; `name` is for messages."""
        self.name = name
        self.leaf = leaf
        self.param = param
        self.origins: tuple[Origin, ...] = ()
        self.watchers: list[Demand] = []


class Cell(Unknown):
    """The size of an axis; cells with equal sizes share one representative, their `root`.

    `at_least` is the least size that fixed indices need; `iterated` is True for a label of a spec.
    `met` is True if an axis of length 1 stretches to this axis. `may_vanish` is True for a part of
    a concatenation whose size is 0 unless a demand decides it.
    """

    __slots__ = ("at_least", "count", "iterated", "label", "may_vanish", "met", "parent", "size")

    def __init__(
        self,
        size: Dim | None = None,
        label: str | None = None,
        name: str | None = None,
        leaf: bool = False,
        param: Origin | None = None,
    ) -> None:
        super().__init__(name, leaf, param)
        self.parent: Cell | None = None
        self.count = 1
        self.size = size
        self.label = label
        self.at_least = 0
        self.iterated = False
        self.met = False
        self.may_vanish = False

    @property
    def root(self) -> Cell:
        """The representative of all cells that equal this cell."""
        cell = self
        while cell.parent is not None:
            cell = cell.parent
        return cell

    def __str__(self) -> str:
        root = self.root
        size = f"${root.name or ''}" if root.size is None else describe_length(root.size)
        return size if root.label is None else f"{root.label}={size}"


class RowVariable(Unknown):
    """Axes of unknown number and sizes; `bound` is the row of these axes once it is known."""

    __slots__ = ("bound",)

    def __init__(
        self, name: str | None = None, leaf: bool = False, param: Origin | None = None
    ) -> None:
        super().__init__(name, leaf, param)
        self.bound: Row | None = None


class Row:
    """Axes of one kind: leading axes, the axes of a row variable, and trailing axes."""

    __slots__ = ("leading", "trailing", "variable")

    def __init__(
        self,
        leading: tuple[Cell, ...],
        variable: RowVariable | None,
        trailing: tuple[Cell, ...],
    ) -> None:
        self.leading = leading
        self.variable = variable
        self.trailing = trailing

    @property
    def flat(self) -> Row:
        """The row with representatives of cells, and with axes in place of bound row variables."""
        leading, trailing = self.leading, self.trailing
        variable = self.variable
        while variable is not None and variable.bound is not None:
            bound = variable.bound
            leading, trailing = leading + bound.leading, bound.trailing + trailing
            variable = bound.variable
        if variable is self.variable and all(c.parent is None for c in leading + trailing):
            return self
        return Row(tuple([c.root for c in leading]), variable, tuple([c.root for c in trailing]))

    @property
    def cells(self) -> tuple[Cell, ...]:
        """The leading and trailing axes, without the axes of the row variable."""
        return self.leading + self.trailing

    @property
    def unknowns(self) -> list[Unknown]:
        """The unknown cells and the row variable of a flat row."""
        open_cells: list[Unknown] = [cell for cell in self.cells if cell.size is None]
        return open_cells if self.variable is None else [*open_cells, self.variable]

    def __str__(self) -> str:
        row = self.flat
        middle = [] if row.variable is None else ["..."]
        return ",".join([*map(str, row.leading), *middle, *map(str, row.trailing)])


def closed_row(cells: tuple[Cell, ...]) -> Row:
    """A row of these axes, without a row variable."""
    return Row((), None, cells)


def open_row(variable: RowVariable) -> Row:
    """A row that consists of a row variable."""
    return Row((), variable, ())


class Demand:
    """Base class of the demands of operations on shapes."""

    __slots__ = ("active", "origin")

    def __init__(self, origin: Origin) -> None:
        self.origin = origin
        self.active = True

    def step(self, solver: Any) -> bool:
        """Bind the unknowns that this demand determines now; True if the demand is fulfilled."""
        raise NotImplementedError

    @property
    def unknowns(self) -> list[Unknown]:
        """The unknown sizes and rows for which this demand waits."""
        raise NotImplementedError

    @property
    def origins(self) -> tuple[Origin, ...]:
        """The origins of the demand and of its unknowns."""
        found = [self.origin]
        for unknown in self.unknowns:
            found += unknown.origins
        return merged(found)


def merged(origins: Iterable[Origin]) -> tuple[Origin, ...]:
    """The distinct origins in order, at most _MOST_ORIGINS of them."""
    return tuple(dict.fromkeys(origins))[:_MOST_ORIGINS]
