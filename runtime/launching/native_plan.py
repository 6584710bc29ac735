"""Which plans one native call can run, and what that call does step by step."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping, Sequence
from functools import partial
from itertools import repeat
from typing import Any, Final

import numpy as np

from axiomjit.base.config import config
from axiomjit.base.tree import OfArgument
from axiomjit.runtime.compiling.kernel_handle import KernelHandle
from axiomjit.runtime.compiling.loaded_kernel import LoadedKernel
from axiomjit.runtime.entry.instructions import (
    CallPython,
    Drop,
    Instruction,
    NativePlan,
    NewArray,
    Run,
    Share,
)
from axiomjit.runtime.launching import bound_steps
from axiomjit.runtime.launching.bound_steps import (
    Action,
    Allocation,
    LaunchForm,
    Launching,
    Releasing,
    Reusing,
)
from axiomjit.runtime.launching.execute import BoundPlan
from axiomjit.runtime.launching.library_calls import Calling, Making
from axiomjit.runtime.launching.native_rests import NativeRest, given_key
from axiomjit.runtime.launching.windows import BoundWindow, lengths_at
from axiomjit.runtime.pool import memory
from axiomjit.runtime.pool.recycling import LARGE

RELEASING_WORK: Final = 300_000
"""Additions after which a native call lets other threads run and hears signals: about 10 us."""


def native_plan(
    bound: BoundPlan,
    count: int,
    form: int,
    live: Sequence[str] = (),
    of_arguments: Mapping[int, OfArgument] | None = None,
) -> NativePlan | None:
    """What a native call does for a plan that is bound to lengths; None where it cannot.

    It runs plans with a kernel that is work for one thread, or with library calls, whose results
    are arrays that it makes, views of these, or arguments. Large arrays are made, and kernels that
    threads share are run, by Python between its other steps. Kernels that check each access are run
    in Python, which reads their report. That arguments which are written may be, and share no
    memory with others, is for guards to see.

    Args:
        bound: the plan.
        count: how many results the call gives; those behind them are lengths.
        form: how results are put together, as in the layout.
        live: buffers whose arrays there are already, where the plan is the rest of another one.
        of_arguments: the results that are arguments or views of them, by their numbers.
    """
    if config.bounds or memory.empty is not np.empty:
        return None
    if (bound.form.written or of_arguments) and (live or bound.rest is not None):
        return None
    launches = bound.launches
    if launches and not any(map(_is_serial, launches)):
        return None
    loaded = {handle: handle.loaded for handle in bound.handles}  # others may drop them meanwhile
    if None in loaded.values() or any(handle.checked for handle in loaded):
        return None
    return _Writer(bound, count, form, of_arguments or {}, live, loaded).plan()


class _Writer:
    """Writes the native steps of a plan, and knows where its buffers are."""

    def __init__(
        self,
        bound: BoundPlan,
        count: int,
        form: int,
        of_arguments: Mapping[int, OfArgument],
        live: Sequence[str],
        loaded: Mapping[KernelHandle, LoadedKernel | None],
    ) -> None:
        """Give what belongs to others its places; all that the plan makes comes behind it."""
        self._bound, self._buffers, self._loaded = bound, bound.form.buffers, loaded
        self._results_count, self._form = count, form
        self._of_arguments = of_arguments
        self._given: dict[int, tuple[int, str | None]] = {}
        self._held: list[tuple[np.ndarray, int]] = []
        self._places: dict[str, int] = {}
        self._steps: list[Instruction] = []
        self._empty: list[int] = []
        self._lent: list[int] = []
        self._count = self._unreleased = 0
        for buffer in bound.plan.buffers:
            if buffer.position is not None:
                self._given[buffer.position] = self._place(buffer.name), None
            elif buffer.array is not None:
                self._held.append((buffer.array, self._place(buffer.name)))
        steps = bound.form.all_steps()
        launches = [step for step in steps if isinstance(step, LaunchForm)]
        self._numbers = all(self._has_numbers(launch) for launch in launches)
        sources = [self._next() for _ in live]
        self._given |= {given_key(k): (source, None) for k, source in enumerate(sources)}
        self._owned = self._count
        for name, source in zip(live, sources, strict=True):
            self._steps.append(Share(self._place(name), source))

    def _place(self, name: str) -> int:
        """A place for a buffer."""
        place = self._places[name] = self._next()
        return place

    def _next(self) -> int:
        """A place that is empty at this step."""
        if self._empty:
            return self._empty.pop()
        self._count += 1
        return self._count - 1

    def _drop(self, place: int) -> None:
        self._steps.append(Drop(place))
        self._empty.append(place)

    def _has_numbers(self, launch: LaunchForm) -> bool:
        """Whether the numbers among the arguments that a kernel takes have places, or get them."""
        for _, position, dtype in launch.given:
            if self._given.get(position, (0, dtype))[1] != dtype:
                return False
            if position not in self._given:
                self._given[position] = self._count, dtype
                self._count += _words_of(dtype)
        return True

    def plan(self) -> NativePlan | None:
        """The plan; None where something in it is not foreseen."""
        good = self._numbers and all(self._write(action) for action in self._bound.actions)
        if not good:
            return None
        if self._bound.rest is not None:
            return self._up_to_a_count()
        results = self._results()
        return None if results is None else self._plan(results, self._form)

    def _results(self) -> list[int] | None:
        """Where the results are; None where one is a view of an array that the program holds."""
        bound, results = self._bound, []
        names = bound.form.names[: self._results_count]
        for number, (name, window) in enumerate(
            zip(names, bound.seen or repeat(None), strict=False)
        ):
            place, of = self._places[name], self._of_arguments.get(number)
            step: NewArray | Share | None = None
            if of is not None and of.is_itself:
                place, dtype = self._given.get(of.position, (0, ""))
                if dtype is not None or window is None or not window.shape:  # no array to share
                    return None
                step = Share(self._next(), place)
            elif window is not None and (of is not None or not self._is_entire(window)):
                step = self._result_view(window)
                if step is None:
                    return None
            elif place < self._owned:
                step = Share(self._next(), place)
            if step is not None:
                self._steps.append(step)
            results.append(place if step is None else step.slot)
        return results if len(set(results)) == len(results) else None

    def _result_view(self, window: BoundWindow) -> NewArray | None:
        """A view that is a result; None where it is one of an array that the program holds."""
        place = self._places[window.window.buffer]
        if place < self._owned:
            lent = [position for position, given in self._given.items() if given[0] == place]
            if not lent:
                return None
            self._lent += lent
        pairs = zip(window.strides, window.shape, strict=True)
        repeats = 0 not in window.shape and any(s == 0 and n > 1 for s, n in pairs)
        return self._view(window, window.window.writable and not repeats)

    def _up_to_a_count(self) -> NativePlan | None:
        """The plan up to where a length is known, and a call of its rest."""
        if not self._is_entire(self._bound.count):
            return None
        places = {position: place for position, (place, _) in self._given.items() if position >= 0}
        lent = {name for name, _ in self._bound.form.places} | self._bound.form.held.keys()
        names = [name for name in self._places if name not in lent]
        if self._bound.count.window.buffer not in names:
            return None
        gives = self._results_count, self._form
        rest = NativeRest(self._bound, list(places), names, gives, native_plan)
        operands = (*places.values(), *(self._places[name] for name in names))
        give = CallPython(rest, operands, (self._next(),), entire=True)
        self._steps.append(give)
        return self._plan(give.results, 0)

    def _plan(self, results: Sequence[int], form: int) -> NativePlan:
        return NativePlan(
            given=self._given,
            held=tuple(self._held),
            owned=self._owned,
            slots=self._count,
            steps=tuple(self._steps),
            results=tuple(results),
            form=form,
            lent=frozenset(self._lent),
            kernels=tuple(self._loaded.items()),
        )

    def _write(self, action: Action) -> bool:
        """Write the steps of an action; whether that can be done."""
        match action:
            case Allocation() | Reusing():
                return self._write_array(action)
            case Releasing():
                self._drop(self._places.pop(action.name))
                return True
            case Launching():
                return self._write_run(action)
            case Calling() if action.is_within:
                return self._write_call(action.compute, action.operands, action.targets, ())
            case Making():
                return self._write_call(action.make, action.operands, (), action.targets)
        return False

    def _write_array(self, action: Allocation | Reusing) -> bool:
        buffer, (shape, strides) = action.buffer, action.layout()
        taken = self._places.pop(action.source) if isinstance(action, Reusing) else None
        place = self._place(buffer.name)
        base = -1 if taken is None else taken
        array = NewArray(buffer.dtype, shape, strides, place, base, takes=base >= 0)
        if isinstance(action, Allocation) and array.size_bytes >= LARGE:
            self._steps.append(CallPython(action.make, (), (place,)))
        else:
            self._steps.append(array)
        self._empty += [] if taken is None else [taken]
        return True

    def _write_run(self, launch: Launching) -> bool:
        if not _is_serial(launch):
            self._steps.append(self._shared_run(launch))
            return True
        step, block, kernel = launch.form.step, launch.words(), self._loaded[launch.handle]
        assert kernel is not None
        fills = [(word, self._places[name]) for word, name in enumerate(step.buffers)]
        for word, position, dtype in launch.form.given:
            place, _ = self._given[position]
            fills += [(word + k, place + k) for k in range(_words_of(dtype))]
        self._unreleased += launch.work
        run = Run(
            kernel=_address(kernel.entry),
            block=block,
            fills=tuple(fills),
            grid=launch.grid,
            combines=step.kernel.combines,
            releases=self._unreleased >= RELEASING_WORK,
        )
        self._unreleased *= not run.releases
        self._steps.append(run)
        return True

    def _shared_run(self, launch: Launching) -> CallPython:
        """A run of a kernel that threads share, which Python starts."""
        forms = launch.forms
        names = list(dict.fromkeys(name for form in forms for name in form.step.buffers))
        positions = sorted({position for form in forms for _, position, _ in form.given})
        places = [self._places[name] for name in names]
        places += [self._given[position][0] for position in positions]
        return CallPython(partial(_run_shared, launch, names, positions), tuple(places), ())

    def _write_call(
        self,
        function: Any,
        operands: Sequence[BoundWindow],
        targets: Sequence[BoundWindow],
        made: Sequence[str],
    ) -> bool:
        """Write views of what is no entire buffer, and the call; it makes no argument anew."""
        if not self._places.keys().isdisjoint(made):
            return False
        places: list[int] = []
        views: list[NewArray] = []
        for number, window in enumerate((*operands, *targets)):
            base = self._places[window.window.buffer]
            if not self._is_entire(window):
                view = self._view(window, writable=number >= len(operands))
                if view is None:
                    return False
                views.append(view)
                base = view.slot
            places.append(base)
        results = tuple([self._place(name) for name in made])
        self._steps += [*views, CallPython(function, tuple(places), results)]
        for view in views:
            self._drop(view.slot)
        return True

    def _view(self, window: BoundWindow, writable: bool) -> NewArray | None:
        """A window at a place of its own; None where it is beyond its buffer, as Python says."""
        if not self._is_within(window):
            return None
        shape, base = window.shape, self._places[window.window.buffer]
        offset = 0 if 0 in shape else window.offset
        view = (window.window.dtype, shape, window.strides, self._next(), base, offset)
        return NewArray(*view, writable=writable)

    def _is_entire(self, window: BoundWindow) -> bool:
        """Whether a window is all of its buffer, seen as it is."""
        if window.allocated:
            return True
        buffer, layout = self._buffers[window.window.buffer], self._layout(window)
        strides = layout[1] if 0 in window.shape else window.strides
        same = (window.shape, strides) == layout and window.offset == 0
        return same and window.window.dtype == buffer.dtype and window.window.writable

    def _is_within(self, window: BoundWindow) -> bool:
        """Whether a window is inside the memory of its buffer; if not, Python says so."""
        shape, strides = self._layout(window)
        low, high = memory.span(window.shape, window.strides, window.window.dtype.itemsize)
        first, end = memory.span(shape, strides, self._buffers[window.window.buffer].dtype.itemsize)
        return low == high or first <= window.offset + low <= window.offset + high <= end

    def _layout(self, window: BoundWindow) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Shape and strides (bytes) of the buffer of a window."""
        buffer, lengths = self._buffers[window.window.buffer], self._bound.lengths
        strides = [n * buffer.dtype.itemsize for n in lengths_at(buffer.strides, lengths)]
        return lengths_at(buffer.shape, lengths), tuple(strides)


def _is_serial(launch: Launching) -> bool:
    """Whether a kernel is run by one thread."""
    return launch.work < bound_steps.SERIAL_WORK


def _run_shared(
    launch: Launching, names: Sequence[str], positions: Sequence[int], *objects: Any
) -> None:
    """Run a kernel, given the arrays of its buffers, and the numbers that it takes."""
    # A NumPy scalar is no array, whose memory kernels read.
    arrays: Any = dict(zip(names, map(np.asarray, objects), strict=False))
    arguments: list[object] = [None] * (max(positions, default=-1) + 1)
    for position, value in zip(positions, objects[len(names) :], strict=True):
        arguments[position] = value
    launch(arrays, arguments)


def _words_of(dtype: str) -> int:
    return -(-np.dtype(dtype).itemsize // 8)


def _address(entry: Any) -> int:
    """Where the code of a kernel begins, whose entry is a ctypes function with two arguments."""
    return ctypes.cast(entry.func, ctypes.c_void_p).value or 0
