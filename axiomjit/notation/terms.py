"""Terms of shape inference: sizes and rows of axes that may be unknown."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from axiomjit.base.records import Record
from axiomjit.graph.describe import describe_length
from axiomjit.symbolic.dims import Dim

_KEPT: Final = 20
"""The largest number of origins stored for a size or a row."""


class Origin(Record):
    """The origin of a demand on shapes: the operation, the demand as text, the user's line."""

    operation: str
    demand: str
    where: str | None

    def __str__(self) -> str:
        place = f" ({self.where})" if self.where else ""
        return f"{self.operation}: {self.demand}{place}"


class Unknown:
    """Base class of sizes and rows: the demands that watch them, and facts for closing.

    `leaf` is True for a tensor that is not computed. `param` is the origin of a parameter, whose
    shape must follow from its uses.
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
    """The size of an axis; equal cells share one representative.

    `at_least` comes from fixed indices, `iterated` from labels. `met` is True if an axis of length
    1 stretches to it. `may_vanish` is true for a part of a concatenation whose size is 0 if no
    demand decides it.
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
        """The representative of the cells equal to this one."""
        cell = self
        while cell.parent is not None:
            cell = cell.parent
        return cell

    def __str__(self) -> str:
        root = self.root
        size = f"${root.name or ''}" if root.size is None else describe_length(root.size)
        return size if root.label is None else f"{root.label}={size}"


class RowVariable(Unknown):
    """Axes of one kind with unknown number and sizes; `bound` to a row once known."""

    __slots__ = ("bound",)

    def __init__(
        self, name: str | None = None, leaf: bool = False, param: Origin | None = None
    ) -> None:
        super().__init__(name, leaf, param)
        self.bound: Row | None = None


class Row:
    """Axes of one kind: leading ones, those of a row variable, trailing ones."""

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
        """The row with bound variables replaced and cells by their representatives."""
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
        """The leading and trailing axes, without those of the variable."""
        return self.leading + self.trailing

    @property
    def unknowns(self) -> list[Unknown]:
        """The unknown variable and cells of a flat row."""
        open_cells: list[Unknown] = [cell for cell in self.cells if cell.size is None]
        return open_cells if self.variable is None else [*open_cells, self.variable]

    def __str__(self) -> str:
        row = self.flat
        middle = [] if row.variable is None else ["..."]
        return ",".join([*map(str, row.leading), *middle, *map(str, row.trailing)])


def closed_row(cells: tuple[Cell, ...]) -> Row:
    """A row of exactly these axes."""
    return Row((), None, cells)


def open_row(variable: RowVariable) -> Row:
    """A row of just a row variable."""
    return Row((), variable, ())


class Demand:
    """Base class of the demands of operations on shapes."""

    __slots__ = ("active", "origin")

    def __init__(self, origin: Origin) -> None:
        self.origin = origin
        self.active = True

    def step(self, solver: Any) -> bool:
        """Decide what can be decided now; True if the demand is fulfilled."""
        raise NotImplementedError

    @property
    def unknowns(self) -> list[Unknown]:
        """The sizes and rows that this demand waits for, since they are unknown."""
        raise NotImplementedError

    @property
    def origins(self) -> tuple[Origin, ...]:
        """The origins of the demand and of the unknowns that it has."""
        found = [self.origin]
        for unknown in self.unknowns:
            found += unknown.origins
        return merged(found)


def merged(origins: Iterable[Origin]) -> tuple[Origin, ...]:
    """The first distinct origins, at most _KEPT."""
    return tuple(dict.fromkeys(origins))[:_KEPT]
