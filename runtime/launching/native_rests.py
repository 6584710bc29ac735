"""What a native call does after it has counted how many elements a mask chooses."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from axiomjit.base.bounded_tables import BoundedTable
from axiomjit.runtime.entry.guard_tables import Guards, native_table, with_table
from axiomjit.runtime.entry.instructions import SCALARS, TUPLE, NativePlan
from axiomjit.runtime.entry.native_calls import new_cell, new_entry
from axiomjit.runtime.launching.execute import BoundPlan

Runner = Callable[..., Any]


class NativeRest:
    """The rest of a plan as a function of the objects that there are then.

    It is a native call for each count that is met again, and runs in Python for others.
    """

    def __init__(
        self,
        first: BoundPlan,
        positions: Sequence[int],
        names: Sequence[str],
        gives: tuple[int, int],
        plan_of: Callable[[BoundPlan, int, int, Sequence[str]], NativePlan | None],
    ) -> None:
        """Begin.

        Args:
            first: the plan up to the count, with the rest.
            positions: which arguments are given first, by position.
            names: the buffers whose arrays are given behind them.
            gives: how many results the call gives, and how they are put together.
            plan_of: `native_plan`.
        """
        assert first.rest is not None
        self._rest, self._plan_of = first.rest, plan_of
        self._positions, self._names, self._gives = positions, names, gives
        self._count = len(positions) + names.index(first.count.window.buffer)
        by_position = {position: name for name, position in first.form.places}
        buffers = [*map(by_position.get, positions), *names]
        self._run = partial(_run, first.form.held, tuple(buffers), tuple(positions), gives)
        self._met = BoundedTable[int, None]()
        self._runners = BoundedTable[int, Runner]()

    def __call__(self, *objects: Any) -> object:
        """What the call gives.

        Raises:
            OtherLengthError: what was looked at of the length looks otherwise.
        """
        count = objects[self._count].item()
        runner = self._runners.get(count) or self._runner(count, objects)
        return runner(*objects)

    def _runner(self, count: int, objects: Sequence[Any]) -> Runner:
        """What runs the rest for a count."""
        bound = self._rest.bound_to(count)
        runner = partial(self._run, bound)
        if count not in self._met:
            self._met.keep(count, None)
            return runner
        return self._runners.keep(count, self._native(bound, objects, runner) or runner)

    def _native(self, bound: BoundPlan, objects: Sequence[Any], slow: Runner) -> Runner | None:
        """The native call for objects like these; None where there is none."""
        plan = self._plan_of(bound, *self._gives, self._names)
        if plan is None:
            return None
        guards = Guards(plan)
        keys = [*self._positions, *(given_key(k) for k in range(len(self._names)))]
        for source, (value, key) in enumerate(zip(objects, keys, strict=True)):
            if not guards.add(source, value, key):
                return None
        for held, place in plan.held:
            guards.hold(held, place)
        cell = new_cell(slow)
        table = native_table(plan, guards, len(objects), (), array("q", [0]))
        cell[0] = with_table((), table)
        return new_entry(cell)


def _run(
    held: Mapping[str, Any],
    buffers: Sequence[str | None],
    positions: Sequence[int],
    gives: tuple[int, int],
    bound: BoundPlan,
    *objects: Any,
) -> object:
    """What a call gives whose rest runs in Python, on arrays of buffers and numbers."""
    named = zip(buffers, objects, strict=True)
    # A NumPy scalar is no array, whose memory kernels read.
    given = {name: np.asarray(one) for name, one in named if name is not None}
    arrays: Any = {**held, **given}
    arguments: list[object] = [None] * (max(positions, default=-1) + 1)
    for position, value in zip(positions, objects, strict=False):
        arguments[position] = value
    count, form = gives
    results = bound.go_on(arrays, arguments, None)[:count]
    if form & SCALARS:
        results = [one if one.ndim else one[()] for one in results]
    return tuple(results) if form & TUPLE else results[0]


def given_key(number: int) -> int:
    """Where a native plan is given an array that is no argument, in place of a position."""
    return -1 - number
