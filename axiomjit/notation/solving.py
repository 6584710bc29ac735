"""Unknown or known sizes and rows, and the solver of the demands on them (OCANNL shapes).

A step of a `Demand` binds unknowns and posts smaller demands. The demand is then done, or waits
until one of its unknowns becomes known. Unknowns refer to the demands that watch them, so that
connected unknowns are found by a walk, without a table. If a demand fails, all changes are undone.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from typing import Any, Final, NoReturn

from axiomjit.base.errors import ShapeError
from axiomjit.base.locks import new_lock
from axiomjit.base.records import Record
from axiomjit.graph.nodes import describe_length
from axiomjit.symbolic.dims import Dim, dim

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
    a concatenation whose size is 0 unless a demand decides the size.
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


_MOST_AXES: Final = 64
"""The largest number of axes of a row; a row that would grow without end is refused."""
LOCK: Final = new_lock()
"""The lock held during an inference, since threads may share shapes."""


class Solver:
    """One inference, which succeeds as a whole or changes nothing."""

    def __init__(self) -> None:
        self.queue: deque[Demand] = deque()
        self.posted: list[Demand] = []
        self.trail: list[tuple[Any, str, object]] = []

    def add(self, demands: Iterable[Demand]) -> None:
        """Solve these demands and all demands that they affect.

        Raises:
            ShapeError: the demands contradict each other; all shapes are then unchanged.
        """
        with LOCK:
            try:
                for demand in demands:
                    self.post(demand)
                self.propagate()
            except BaseException:
                self.undo()
                raise

    def undo(self) -> None:
        """Undo all changes of this inference."""
        for target, field, value in reversed(self.trail):
            setattr(target, field, value)
        for demand in self.posted:
            demand.active = False
        self.trail.clear()
        self.queue.clear()

    def post(self, demand: Demand) -> None:
        """Add a demand to the queue."""
        self.posted.append(demand)
        self.queue.append(demand)

    def propagate(self) -> None:
        """Step queued demands until the queue is empty."""
        while self.queue:
            demand = self.queue.popleft()
            if not demand.active:
                continue
            if demand.step(self):
                self.change(demand, "active", False)
                continue
            for unknown in demand.unknowns:
                if demand not in unknown.watchers:
                    unknown.watchers.append(demand)

    def change(self, target: object, field: str, value: object) -> None:
        """Set a field, and record the old value for `undo`."""
        self.trail.append((target, field, getattr(target, field)))
        setattr(target, field, value)

    def wake(self, unknown: Unknown) -> None:
        """Add the demands that watch an unknown to the queue."""
        self.queue.extend(demand for demand in unknown.watchers if demand.active)

    def bind(self, variable: RowVariable, row: Row, origin: Origin) -> None:
        """Bind a row variable to these axes."""
        self.check_rank(len(row.cells), variable, origin)
        for cell in row.cells:
            self.inherit(cell.root, variable)
        if row.variable is not None:
            self.inherit(row.variable, variable)
        self.change(variable, "bound", row)
        self.wake(variable)
        if row.variable is not None:
            self.wake(row.variable)

    def check_rank(self, count: int, variable: RowVariable, origin: Origin) -> None:
        """Refuse a row of more than _MOST_AXES axes."""
        if count > _MOST_AXES:
            self.fail(
                origin,
                f"rows that demand more than {_MOST_AXES} axes of each other",
                "give one of the tensors a known number of axes",
                variable.origins,
            )

    def inherit(self, unknown: Unknown, source: Unknown) -> None:
        """Copy the facts about `source` to `unknown`, which replaces `source`."""
        for field in ("leaf", "param"):
            if getattr(source, field) and not getattr(unknown, field):
                self.change(unknown, field, getattr(source, field))
        self.note(unknown, source.origins)
        if unknown.name is None and source.name is not None and isinstance(source, Cell):
            self.change(unknown, "name", source.name)

    def note(self, unknown: Unknown, origins: Iterable[Origin]) -> None:
        """Add origins to a row or size: the user's lines that determine it."""
        self.change(unknown, "origins", merged((*unknown.origins, *origins)))

    def set_size(self, cell: Cell, size: int | Dim, origin: Origin) -> None:
        """Set the size of a cell."""
        self.equate(cell, Cell(dim(size)), origin)

    def set_label(self, cell: Cell, label: str | None, origin: Origin) -> None:
        """Set the label of a cell, unless it is None."""
        root = cell.root
        if label is None or label == root.label:
            return
        if root.label is not None:
            self.fail(
                origin,
                f"an axis labelled {root.label!r} and {label!r}",
                "give axes that meet the same label, or leave one without",
                root.origins,
            )
        self.change(root, "label", label)
        self.wake(root)

    def set_least(self, cell: Cell, least: int, origin: Origin) -> None:
        """Set a lower bound for a cell's size, which a fixed index requires."""
        root = cell.root
        if root.size is None and least > root.at_least:
            self.change(root, "at_least", least)
            self.note(root, [origin])
        if root.size is not None and least and root.size < least:
            self.fail(
                origin,
                f"the index {least - 1} in an axis of length {describe_length(root.size)}",
                "use an index below the length",
                root.origins,
            )

    def equate(self, one: Cell, other: Cell, origin: Origin) -> None:
        """Unite two cells, so that they have one size and one label."""
        left, right = one.root, other.root
        if left is right:
            return
        if left.size is not None and right.size is not None and left.size != right.size:
            self.fail(
                origin,
                f"sizes {left} and {right}{_names_text(left, right)}",
                "give axes that meet the same size",
                merged((*left.origins, *right.origins)),
            )
        keep, gone = (left, right) if left.count >= right.count else (right, left)
        self.note(keep, [origin])
        self.set_label(keep, gone.label, origin)
        self.inherit(keep, gone)
        for field in ("may_vanish", "iterated", "met"):
            if getattr(gone, field):
                self.change(keep, field, True)
        watchers = [*keep.watchers, *gone.watchers]
        self.change(gone, "parent", keep)
        self.change(keep, "count", keep.count + gone.count)
        if keep.size is None and gone.size is not None:
            self.change(keep, "size", gone.size)
        self.change(keep, "watchers", watchers if keep.size is None else [])
        self.queue.extend(demand for demand in watchers if demand.active)
        self.set_least(keep, max(keep.at_least, gone.at_least), origin)

    def fail(
        self, origin: Origin, seen: str, remedy: str, origins: Iterable[Origin] = ()
    ) -> NoReturn:
        """Raise the error for a demand that cannot be fulfilled."""
        trace = [str(one) for one in merged((origin, *origins))]
        asked = f"{origin.operation}, {origin.demand}"
        raise ShapeError(asked, seen, remedy, origin.where, tuple(trace[1:]))


def _names_text(*cells: Cell) -> str:
    names = [repr(cell.name) for cell in cells if cell.name is not None]
    return f" of {' and '.join(dict.fromkeys(names))}" if names else ""


def connected(start: Iterable[Unknown]) -> tuple[list[Unknown], list[Demand]]:
    """All unknowns that unfinished demands connect with `start`, and these demands."""
    waiting = list(start)
    unknowns: dict[Unknown, None] = {}
    demands: dict[Demand, None] = {}
    while waiting:
        unknown = waiting.pop()
        if unknown in unknowns:
            continue
        unknowns[unknown] = None
        for demand in unknown.watchers:
            if demand.active and demand not in demands:
                demands[demand] = None
                waiting += demand.unknowns
    return list(unknowns), list(demands)
