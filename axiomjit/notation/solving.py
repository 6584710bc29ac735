"""Solves demands on shapes as far as they decide them; nothing is guessed here (OCANNL shapes).

A `Demand` takes one step: it binds what it can, asks for smaller demands, and is done or waits
until something that it watches is known. Unknowns know who watches them, so that what belongs
together is found by walking, and there is no table beside the shapes. What a failing demand has
changed is undone.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from typing import Any, Final, NoReturn

from axiomjit.base.errors import ShapeError
from axiomjit.base.locks import new_lock
from axiomjit.graph.describe import describe_length
from axiomjit.notation.terms import Cell, Demand, Origin, Row, RowVariable, Unknown, merged
from axiomjit.symbolic.dims import Dim, dim

_RANK: Final = 64
"""Axes of a row; rows that would grow without end are refused there."""
LOCK: Final = new_lock()
"""One inference at a time: shapes of several threads may meet."""


class Solver:
    """One step of inference that succeeds as a whole, or leaves everything as it was."""

    def __init__(self) -> None:
        self.queue: deque[Demand] = deque()
        self.posted: list[Demand] = []
        self.trail: list[tuple[Any, str, object]] = []

    def add(self, demands: Iterable[Demand]) -> None:
        """Solve these demands and all that they touch.

        Raises:
            ShapeError: they cannot be fulfilled; nothing has changed then.
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
        """Take back all changes."""
        for target, field, value in reversed(self.trail):
            setattr(target, field, value)
        for demand in self.posted:
            demand.active = False
        self.trail.clear()
        self.queue.clear()

    def post(self, demand: Demand) -> None:
        """Take up a demand."""
        self.posted.append(demand)
        self.queue.append(demand)

    def propagate(self) -> None:
        """Step until nothing more is decided."""
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
        """Set a field, so that it can be taken back."""
        self.trail.append((target, field, getattr(target, field)))
        setattr(target, field, value)

    def wake(self, unknown: Unknown) -> None:
        """Look again at what watches an unknown."""
        self.queue.extend(demand for demand in unknown.watchers if demand.active)

    def bind(self, variable: RowVariable, row: Row, origin: Origin) -> None:
        """A row variable stands for these axes."""
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
        """Refuse rows that would grow without end."""
        if count > _RANK:
            self.fail(
                origin,
                f"rows that demand more than {_RANK} axes of each other",
                "give one of the tensors a known number of axes",
                variable.origins,
            )

    def inherit(self, unknown: Unknown, source: Unknown) -> None:
        """Copy the facts about `source` to `unknown`, which takes its place."""
        for field in ("leaf", "param"):
            if getattr(source, field) and not getattr(unknown, field):
                self.change(unknown, field, getattr(source, field))
        self.note(unknown, source.origins)
        if unknown.name is None and source.name is not None and isinstance(source, Cell):
            self.change(unknown, "name", source.name)

    def note(self, unknown: Unknown, origins: Iterable[Origin]) -> None:
        """Remember where what is known of a row or size comes from."""
        self.change(unknown, "origins", merged((*unknown.origins, *origins)))

    def set_size(self, cell: Cell, size: int | Dim, origin: Origin) -> None:
        """A cell has this size."""
        self.equate(cell, Cell(dim(size)), origin)

    def set_label(self, cell: Cell, label: str | None, origin: Origin) -> None:
        """A cell has this label, if it is one."""
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
        """A cell is at least so long, since it is read or written at an index."""
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
        """Two cells are the same size."""
        left, right = one.root, other.root
        if left is right:
            return
        if left.size is not None and right.size is not None and left.size != right.size:
            self.fail(
                origin,
                f"sizes {left} and {right}{_called(left, right)}",
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
        """Refuse a demand."""
        trace = [str(one) for one in merged((origin, *origins))]
        asked = f"{origin.operation}, {origin.demand}"
        raise ShapeError(asked, seen, remedy, origin.where, tuple(trace[1:]))


def _called(*cells: Cell) -> str:
    names = [repr(cell.name) for cell in cells if cell.name is not None]
    return f" of {' and '.join(dict.fromkeys(names))}" if names else ""


def connected(start: Iterable[Unknown]) -> tuple[list[Unknown], list[Demand]]:
    """The unknowns that demands connect with these, and the demands that are not done."""
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
