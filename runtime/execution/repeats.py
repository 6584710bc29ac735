"""Loops and branches as steps of plans, which run the plans of their bodies.

A body runs in Python at first, and as a native call when it repeats; the arguments of the native
call are the arrays of its windows and the index. Python runs between trips, so that Ctrl-C is
noticed.
"""

from __future__ import annotations

import itertools
from array import array
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from axiomjit.base.caching import BoundedTable
from axiomjit.base.config import config
from axiomjit.base.locks import lazy_import
from axiomjit.passes.ir.plan_ir import Branch, Plan, Repeat, WriteBack
from axiomjit.runtime.codegen.kernel_cache import KernelHandle
from axiomjit.runtime.execution.execute import BoundPlan, PlanForm
from axiomjit.runtime.execution.plan_steps import (
    BoundStep,
    LaunchForm,
    NativeStep,
    StepForm,
    kernel_handle,
)
from axiomjit.runtime.execution.windows import Array, Arrays, BoundWindow, PlanMemory
from axiomjit.symbolic.dims import Dim, Scope, Symbol, Values, bound, evaluate

if TYPE_CHECKING:
    from axiomjit.runtime.execution.native_plan import NativeWriter

Runner = Callable[..., Any]
IN_PYTHON: Final = 2
"""The number of calls of a body in Python before its native plan is written."""
MAX_TABLES: Final = 4
"""The largest number of native plans of one body, which has several if comparisons of lengths
differ between trips.
"""


class RegionForm(StepForm):
    """The form of a loop or branch, with the forms of the plans of its bodies."""

    __slots__ = ("_kept", "_known", "bodies", "buffers", "named", "step")

    def __init__(self, step: Repeat | Branch, plan: PlanMemory, bodies: Sequence[PlanForm]) -> None:
        self.step, self.buffers, self.bodies = step, plan.buffers, bodies
        index = step.index if isinstance(step, Repeat) else None
        every = [_symbols_of(form.plan) for form in bodies]
        self.named = [index in symbols for symbols in every]
        """For each body, True if its lengths depend on the index."""
        self._known = sorted(frozenset().union(*every) - {index}, key=lambda one: one.name)
        self._kept = BoundedTable[tuple[int, ...], list[Body]]()

    @property
    def launches(self) -> list[LaunchForm]:
        """The launches of kernels in all bodies."""
        return [launch for form in self.bodies for launch in form.launches]

    def bind(self, values: Values, lengths: Mapping[Symbol, int]) -> RegionStep:
        """The bound step; all calls with equal lengths share the bound bodies."""
        kind: type[RegionStep] = Repeating if isinstance(self.step, Repeat) else Branching
        return kind(self, lengths, self.bound_bodies(lengths))

    def bound_bodies(self, lengths: Mapping[Symbol, int]) -> list[Body]:
        """The bodies, bound to these lengths."""
        key = tuple([lengths[symbol] for symbol in self._known])
        found = self._kept.get(key)
        if found is None:
            index = self.step.index if isinstance(self.step, Repeat) else None
            gives = isinstance(self.step, Repeat) and bool(self.step.renewed)
            pairs = enumerate(zip(self.bodies, self.named, strict=True))
            bodies = [
                Body(form, lengths, index if named else None, gives and k == 0)
                for k, (form, named) in pairs
            ]
            found = self._kept.keep(key, bodies)
        return found

    def of_words(self, values: Values, lengths: Mapping[Symbol, int]) -> NativeStep:
        """The step; each call binds it if its lengths differ between calls."""
        step = self.step
        dims = [n for one in step.operands for n in (one.offset, *one.shape, *one.strides)]
        dims += [step.trips] if isinstance(step, Repeat) and step.trips is not None else []
        used = frozenset(self._known).union(*(one.symbols for one in dims))
        known = all(isinstance(lengths[symbol], int) for symbol in used)
        return self.bind(values, lengths) if known else RegionOfWords(self)

    def run_at(
        self, names: Sequence[str], values: Values, lengths: Mapping[Symbol, int], *objects: Any
    ) -> None:
        """Run the step for these lengths on the arrays of buffers."""
        arrays: Any = dict(zip(names, map(np.asarray, objects), strict=True))
        self.bind(values, lengths)(arrays, ())


class RegionOfWords(NativeStep):
    """A loop or branch whose lengths follow from integer arguments, bound in each call."""

    __slots__ = ("_form",)

    def __init__(self, form: RegionForm) -> None:
        self._form = form

    def emit(self, native: NativeWriter) -> bool:
        """Write a native call of the Python function that binds and runs the step."""
        step = self._form.step
        names = list(dict.fromkeys(one.buffer for one in (*step.operands, step.target)))
        slots = [native.slots[name] for name in names]
        return native.call_at_lengths(partial(self._form.run_at, names), slots)


class RegionStep(BoundStep):
    """A loop or branch, bound to lengths."""

    __slots__ = ("_bodies", "_form", "_operands", "_target", "_written")

    def __init__(
        self, form: RegionForm, lengths: Mapping[Symbol, int], bodies: Sequence[Body]
    ) -> None:
        step, buffers = form.step, form.buffers
        self._form, self._bodies, self._written = form, bodies, step.written
        self._operands = [BoundWindow(one, buffers, lengths) for one in step.operands]
        self._target = BoundWindow(step.target, buffers, lengths)

    @property
    def handles(self) -> Sequence[KernelHandle]:
        """The kernels of the bodies."""
        return [kernel_handle(launch.step.kernel) for launch in self._form.launches]

    def __call__(self, arrays: Arrays, arguments: Sequence[object], given: Any = None) -> None:
        """Run the region on the arrays of the plan."""
        seen = [operand.of(arrays) for operand in self._operands]
        self._target.of(arrays)[...] = self.run(*seen)

    def run(self, *seen: Array) -> int:
        """Run the region on the arrays of its windows; return the number of trips."""
        raise NotImplementedError

    def emit(self, native: NativeWriter) -> bool:
        """Write a call of Python with the captured windows, then the written windows."""
        written, captured = self._operands[: self._written], self._operands[self._written :]
        return native.call(self._run_reordered, captured, [*written, self._target])

    def _run_reordered(self, *objects: Any) -> None:
        # A NumPy scalar among the arguments has no memory.
        *seen, target = map(np.asarray, objects)
        first = len(seen) - self._written
        target[...] = self.run(*seen[first:], *seen[:first])


class Repeating(RegionStep):
    """A loop, bound to lengths."""

    __slots__ = ("_renewed", "_trips")

    def __init__(
        self, form: RegionForm, lengths: Mapping[Symbol, int], bodies: Sequence[Body]
    ) -> None:
        super().__init__(form, lengths, bodies)
        trips = form.step.trips if isinstance(form.step, Repeat) else None
        self._trips = None if trips is None else evaluate(trips, lengths)
        self._renewed = form.step.renewed if isinstance(form.step, Repeat) else ()

    def run(self, *seen: Array) -> int:
        """Run all trips of the loop, and return their number."""
        trips: Iterable[int] = itertools.count() if self._trips is None else range(self._trips)
        if self._renewed:
            return self._run_renewing(trips, list(seen))
        body, *conditions = [one.called(seen) for one in self._bodies]
        if not conditions:
            for trip in trips:
                body(trip)
            return max(self._trips or 0, 0)
        (asked,) = conditions
        for trip in trips:
            if not asked(trip):
                return trip
            body(trip)
        return max(self._trips or 0, 0)

    def _run_renewing(self, trips: Iterable[int], seen: list[Array]) -> int:
        """Run all trips; the results of each trip replace the renewed windows."""
        places, count = self._renewed, max(self._trips or 0, 0)
        windows = [seen[place] for place in places]
        body, *conditions = self._bodies
        for trip in trips:
            if not all(one.called(seen)(trip) for one in conditions):
                count = trip
                break
            for place, new in zip(places, body.called(seen)(trip), strict=True):
                seen[place] = new
        for window, place in zip(windows, places, strict=True):
            if window is not seen[place]:
                window[...] = seen[place]
        return count


class Branching(RegionStep):
    """A branch, bound to lengths."""

    __slots__ = ()

    def run(self, *seen: Array) -> int:
        """Run the body that the truth value selects."""
        self._bodies[0 if seen[self._written] else 1].called(seen)(0)
        return 1


class Body:
    """The plan of a body, bound to lengths, and its native calls."""

    __slots__ = (
        *("_bound", "_cell", "_entry", "_form", "_gives", "_index", "_left", "_lengths"),
        *("_runs",),
    )

    def __init__(
        self, form: PlanForm, lengths: Mapping[Symbol, int], index: Symbol | None, gives: bool
    ) -> None:
        """Store the form, which is bound later; without `gives`, a run returns one result."""
        self._form, self._lengths, self._index = form, dict(lengths), index
        self._gives = gives
        self._bound: BoundPlan | None = None
        self._runs, self._left = 0, MAX_TABLES
        self._entry: Runner | None = None
        self._cell: list[Any] = []

    def called(self, seen: Sequence[Array]) -> Runner:
        """The function that runs the body on these arrays for a trip."""
        return partial(self._run if self._index is None else self._run_at, *seen)

    def _run(self, *given: Any) -> Any:
        """Run the body on all values but the trip's number, the last; no length depends on it."""
        if self._entry is None:
            return self._slow(*given[:-1])
        return self._entry(*given[:-1])

    def _run_at(self, *given: Any) -> Any:
        """Run the body for one trip; the last value is the number of the trip."""
        return self._slow(*given) if self._entry is None else self._entry(*given)

    def _slow(self, *given: Any) -> Any:
        """Run the body in Python; after some runs, write a native plan for later runs."""
        self._runs += 1
        bound = self._bound_at(given)
        if self._runs > IN_PYTHON and self._left > 0:
            self._left -= 1
            self._write(bound, given)
        form = self._form
        arrays: Any = form.held.copy()
        for name, position in form.arguments:
            arrays[name] = given[position]
        found = bound.go_on(arrays, given)
        return found if self._gives else found[0] if found else None

    def _bound_at(self, given: Sequence[Any]) -> BoundPlan:
        """The plan bound to the lengths of a trip."""
        if self._index is not None:
            return BoundPlan(self._form, {**self._lengths, self._index: given[-1]})
        if self._bound is None:
            self._bound = BoundPlan(self._form, self._lengths)
        return self._bound

    def _write(self, bound_plan: BoundPlan, given: Sequence[Any]) -> None:
        """Write a native plan for trips like this one, if native code can run the body."""
        entries = lazy_import("axiomjit.runtime.native_call.native_entry")
        if config.portable or entries.refusal():
            self._left = 0
            return
        tables = lazy_import("axiomjit.runtime.native_call.guard_tables")
        instructions = lazy_import("axiomjit.runtime.native_call.instructions")
        index, known = self._index, bound_plan.lengths
        symbols = {} if index is None else {index: known[index]}
        scope, results = Scope(symbols), len(self._form.plan.results)
        with bound(scope):
            plan: Any = bound_plan if index is None else bound_plan.of_words(symbols)
            form = instructions.NOTHING if not results else instructions.SCALARS
            form = instructions.TUPLE if self._gives else form
            native = None if plan is None else plan.native_plan(results, form)
        if native is None:
            return
        steps = self._form.plan.steps
        writes = [one.position for one in steps if isinstance(one, WriteBack)]
        guards = tables.Guards(native, writes)
        arrays = given if index is None else given[:-1]
        good = all(guards.add(k, value, k) for k, value in enumerate(arrays))
        if good and index is not None:
            good = guards.word(len(arrays), given[-1], index)
        if not good:
            return
        guards.limit(scope.guards)
        table = guards.table(len(given), (), array("q", [0]))
        if self._entry is None:
            self._cell = entries.new_cell(self._slow)
            self._entry = entries.new_entry(self._cell)
        self._cell[0] = tables.with_table(self._cell[0], table)


def _symbols_of(plan: Plan) -> frozenset[Symbol]:
    """The symbols in the lengths of a plan."""
    found: set[Symbol] = set()

    def note(length: Dim) -> Dim:
        found.update(length.symbols)
        return length

    plan.map(Dim, note)
    inner = {step.index for step in plan.every_step if isinstance(step, Repeat)}
    return frozenset(found - inner)
