"""The writer of native plans, with which the steps of a plan emit instructions."""

from __future__ import annotations

import ctypes
from array import array
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import repeat
from typing import Any, Final

import numpy as np

from axiomjit.base.caching import BoundedTable
from axiomjit.base.records import Record
from axiomjit.base.tree import OfArgument
from axiomjit.passes.ir.plan_ir import Buffer
from axiomjit.runtime.codegen.kernel_cache import KernelHandle, LoadedKernel
from axiomjit.runtime.execution.windows import BoundWindow, PlanMemory, at_positions, lengths_at
from axiomjit.runtime.memory import allocation
from axiomjit.runtime.memory.allocation import MIN_RECYCLED_BYTES
from axiomjit.runtime.native_call.guard_tables import Guards, with_table
from axiomjit.runtime.native_call.instructions import (
    SCALARS,
    TUPLE,
    CallPython,
    Drop,
    Expect,
    Instruction,
    Length,
    NativePlan,
    NewArray,
    NewInteger,
    Run,
    Share,
)
from axiomjit.runtime.native_call.native_entry import new_cell, new_entry
from axiomjit.runtime.native_call.words import Word
from axiomjit.symbolic.dims import Dim, Lengths, Symbol, dim

Runner = Callable[..., Any]
RELEASING_WORK: Final = 300_000
"""The work, in additions, from which a native call releases the GIL; this work takes about 10
us.
"""


class Gives(Record):
    """The results of a call: their number, their form, and the results that are arguments.

    `finish` builds the return value from the arrays; None if `form` describes the return value.
    """

    count: int
    form: int
    of_arguments: Mapping[int, OfArgument]
    finish: Runner | None = None


class NativeWriter:
    """The writer of the instructions of one plan, which assigns slots to its buffers.

    Methods for steps return False if a native call cannot run the step.
    """

    def __init__(
        self,
        plan: PlanMemory,
        lengths: Mapping[Symbol, int],
        gives: Gives,
        live: Sequence[str],
        numbers: Sequence[tuple[int, int, str]],
    ) -> None:
        """Assign the first slots to arguments and constants, and later slots to buffers.

        Args:
            plan: The memory of the plan.
            lengths: The value of each symbol.
            gives: The results of the call.
            live: The buffers whose arrays exist already.
            numbers: The arguments that kernels take as numbers, as in `LaunchForm.given`.
        """
        self._plan, self._lengths, self._gives = plan, lengths, gives
        self.given: dict[int, tuple[int, str | None]] = {}
        self.slots: dict[str, int] = {}
        self._held: list[tuple[np.ndarray, int]] = []
        self._steps: list[Instruction] = []
        self._results: list[int] = []
        self._form = gives.form
        self._loaded: dict[KernelHandle, LoadedKernel | None] = {}
        self._empty: list[int] = []
        self._lent: list[int] = []
        self._count = 0
        self._unreleased: Length = 0
        for buffer in plan.plan.buffers:
            if buffer.position is not None:
                self.given[buffer.position] = self._slot(buffer.name), None
            elif buffer.array is not None:
                self._held.append((buffer.array, self._slot(buffer.name)))
        self._has_numbers = all(self._number(position, dtype) for _, position, dtype in numbers)
        sources = [self._next() for _ in live]
        self.given |= {given_key(k): (source, None) for k, source in enumerate(sources)}
        self._owned = self._count
        for name, source in zip(live, sources, strict=True):
            self._steps.append(Share(self._slot(name), source))

    def _slot(self, name: str) -> int:
        slot = self.slots[name] = self._next()
        return slot

    def _next(self) -> int:
        if self._empty:
            return self._empty.pop()
        self._count += 1
        return self._count - 1

    def _number(self, position: int, dtype: str) -> bool:
        """True if a number argument has a slot for this dtype, or gets one now."""
        if position not in self.given:
            self.given[position] = self._count, dtype
            self._count += -(-np.dtype(dtype).itemsize // 8)
        return self.given[position][1] == dtype

    def load(self, handles: Sequence[KernelHandle]) -> bool:
        """Keep references to the loaded kernels; True if all kernels can be called."""
        self._loaded = {handle: handle.loaded for handle in handles}
        there = None not in self._loaded.values()
        return there and self._has_numbers and not any(one.checked for one in handles)

    def plan(self) -> NativePlan:
        """The native plan with the instructions written so far."""
        return NativePlan(
            given=self.given,
            held=tuple(self._held),
            owned=self._owned,
            slots=self._count,
            steps=tuple(self._steps),
            results=tuple(self._results),
            form=self._form,
            lent=frozenset(self._lent),
            kernels=tuple(self._loaded.items()),
        )

    # --- steps --------------------------------------------------------------------------------

    def make_array(
        self,
        buffer: Buffer,
        shape: tuple[int, ...],
        strides: tuple[int, ...] | None,
        source: str | None,
        make: Callable[[], tuple[Any]],
        make_at: Runner,
    ) -> bool:
        """Write the allocation of a buffer, in new memory or in the memory of `source`.

        For a large array, the call of Python is written: of `make`, or of `make_at` with the
        lengths of the call.
        """
        base = -1 if source is None else self.slots.pop(source)
        new = NewArray(buffer.dtype, shape, strides, self._slot(buffer.name), base, takes=base >= 0)
        large = source is None and new.size_bytes >= MIN_RECYCLED_BYTES
        if large and isinstance(new.size_bytes, Dim):
            return self.call_at_lengths(make_at, (), (buffer.name,))
        self._steps.append(CallPython(make, (), (new.slot,)) if large else new)
        self._empty += [] if source is None else [base]
        return True

    def drop(self, name: str) -> bool:
        """Write an instruction that frees a buffer."""
        return self._drop(self.slots.pop(name))

    def _drop(self, slot: int) -> bool:
        self._steps.append(Drop(slot))
        self._empty.append(slot)
        return True

    def run(
        self,
        handle: KernelHandle,
        work: Length,
        block: tuple[Word, ...],
        fills: Sequence[tuple[int, int]],
        grid: Length,
        combines: bool,
    ) -> bool:
        """Write a run of a kernel; `fills` pairs words of the argument block with slots."""
        kernel: Any = self._loaded[handle]
        # The address of its code: its entry is a ctypes function with two arguments.
        address = ctypes.cast(kernel.entry.func, ctypes.c_void_p).value or 0
        unreleased = self._unreleased + work
        releases = unreleased >= RELEASING_WORK
        self._unreleased = 0 if releases else unreleased
        self._steps.append(Run(address, block, tuple(fills), grid, combines, releases))
        return True

    def call_python(self, function: Runner, slots: Sequence[int]) -> bool:
        """Write a call of a Python function for its effect on the objects at slots."""
        self._steps.append(CallPython(function, tuple(slots), ()))
        return True

    def expect(self, count: BoundWindow, low: Length, high: Length) -> bool:
        """Write a check that an integer is in a range; otherwise the plan does not fit the call."""
        if not self._is_entire(count):
            return False
        ends = [
            n.constant if isinstance(n, Dim) and n.constant is not None else n for n in (low, high)
        ]
        self._steps.append(Expect(self.slots[count.window.buffer], *ends))
        return True

    def call_at_lengths(
        self, function: Runner, slots: Sequence[int], made: Sequence[str] = ()
    ) -> bool:
        """Write a call of a Python function with lengths, as in `StepForm.bind`, and with objects.

        The function returns the arrays of the buffers in `made`.
        """
        there = self.slots
        results = tuple([there[name] if name in there else self._slot(name) for name in made])
        known: Mapping[Symbol, Length] = self._lengths
        symbols = [symbol for symbol, length in known.items() if isinstance(length, Dim)]
        integers = [NewInteger(self._next(), dim(symbol)) for symbol in symbols]
        runner = partial(_run_at_lengths, function, self._plan.lengths, self._lengths, symbols)
        given = (*(one.slot for one in integers), *slots)
        self._steps += [*integers, CallPython(runner, given, results)]
        return all(self._drop(one.slot) for one in integers)

    def call(
        self,
        function: Runner,
        operands: Sequence[BoundWindow],
        targets: Sequence[BoundWindow],
        made: Sequence[str] = (),
    ) -> bool:
        """Write a call of Python with views of windows; the call makes the buffers in `made`."""
        if not self.slots.keys().isdisjoint(made):
            return False
        slots: list[int] = []
        views: list[NewArray] = []
        for number, window in enumerate((*operands, *targets)):
            slot = self.slots[window.window.buffer]
            entire = self._is_entire(window) if window.is_known else window.allocated
            if not entire:
                view = self._view(window, writable=number >= len(operands))
                if view is None:
                    return False
                views.append(view)
                slot = view.slot
            slots.append(slot)
        results = tuple([self._slot(name) for name in made])
        self._steps += [*views, CallPython(function, tuple(slots), results)]
        return all(self._drop(view.slot) for view in views)

    def positions(self, operands: Sequence[BoundWindow]) -> list[int] | None:
        """The positions of operands among the arguments; None if one is not an entire argument."""
        names = [window.window.buffer for window in operands]
        found = [self._plan.buffers[name].position for name in names]
        known = [position for position in found if position is not None]
        return known if len(known) == len(found) and all(map(self._is_entire, operands)) else None

    def call_alone(self, function: Runner, positions: Sequence[int]) -> bool:
        """Write a call of a Python function of arguments that returns all results."""
        return self._call_entire(function, [self.given[position][0] for position in positions])

    def _call_entire(self, function: Runner, slots: Sequence[int]) -> bool:
        self._results, self._form = [self._next()], 0
        self._steps.append(CallPython(function, tuple(slots), tuple(self._results), entire=True))
        return True

    def go_on(self, continuation: Any, count: BoundWindow) -> bool:
        """Write a call that runs the steps after a count, with all existing arrays and numbers."""
        arguments = {position: slot for position, (slot, _) in self.given.items() if position >= 0}
        lent = {name for name, _ in self._plan.arguments} | self._plan.held.keys()
        names = [name for name in self.slots if name not in lent]
        if count.window.buffer not in names or not self._is_entire(count):
            return False
        slots = [*arguments.values(), *(self.slots[name] for name in names)]
        later = NativeContinuation(continuation, self._plan, [*arguments], names, self._gives)
        return self._call_entire(later, slots)

    def give(self, names: Sequence[str], windows: Sequence[BoundWindow] | None) -> bool:
        """Write the results of the plan; False if one is a view of a constant."""
        names = names[: self._gives.count]
        for number, (name, window) in enumerate(zip(names, windows or repeat(None), strict=False)):
            slot, of = self.slots[name], self._gives.of_arguments.get(number)
            step: NewArray | Share | None = None
            if of is not None and of.is_itself:
                slot, dtype = self.given.get(of.position, (0, ""))
                if (
                    dtype is not None or window is None or not window.shape
                ):  # there is no array to share
                    return False
                step = Share(self._next(), slot)
            elif window is not None and (of is not None or not self._is_entire(window)):
                step = self._result_view(window)
                if step is None:
                    return False
            elif slot < self._owned:
                step = Share(self._next(), slot)
            if step is not None:
                self._steps.append(step)
            self._results.append(slot if step is None else step.slot)
        finish, apart = self._gives.finish, len(set(self._results)) == len(self._results)
        return apart and (finish is None or self._call_entire(finish, self._results))

    def _result_view(self, window: BoundWindow) -> NewArray | None:
        """The instruction that makes a view for a result; None for a view of a constant."""
        slot = self.slots[window.window.buffer]
        if slot < self._owned:
            lent = [position for position, given in self.given.items() if given[0] == slot]
            if not lent:
                return None
            self._lent += lent
        pairs = zip(window.strides, window.shape, strict=True)
        repeats = 0 not in window.shape and any(s == 0 and n > 1 for s, n in pairs)
        return self._view(window, window.window.writable and not repeats)

    def _view(self, window: BoundWindow, writable: bool) -> NewArray | None:
        """The instruction that makes the view of a window; None if it reaches outside its buffer.

        For a window outside its buffer, Python raises the error.
        """
        known = window.is_known
        if known and not self._is_within(window):
            return None
        shape, base = window.shape, self.slots[window.window.buffer]
        offset = 0 if known and 0 in shape else window.offset
        view = window.window.dtype, shape, window.strides, self._next(), base, offset
        return NewArray(*view, writable=writable)

    def _is_entire(self, window: BoundWindow) -> bool:
        """True if a window is the entire buffer, with the same dtype, shape and strides."""
        if window.allocated:
            return True
        buffer, layout = self._plan.buffers[window.window.buffer], self._layout(window)
        strides = layout[1] if 0 in window.shape else window.strides
        same = (window.shape, strides) == layout and window.offset == 0
        return same and window.window.dtype == buffer.dtype and window.window.writable

    def _is_within(self, window: BoundWindow) -> bool:
        """True if the elements of a window are inside the memory of its buffer."""
        shape, strides = self._layout(window)
        itemsize = self._plan.buffers[window.window.buffer].dtype.itemsize
        low, high = allocation.span(window.shape, window.strides, window.window.dtype.itemsize)
        first, end = allocation.span(shape, strides, itemsize)
        return low == high or first <= window.offset + low <= window.offset + high <= end

    def _layout(self, window: BoundWindow) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """The shape, and the strides in bytes, of the buffer of a window."""
        buffer = self._plan.buffers[window.window.buffer]
        strides = [n * buffer.dtype.itemsize for n in lengths_at(buffer.strides, self._lengths)]
        return lengths_at(buffer.shape, self._lengths), tuple(strides)


class NativeContinuation:
    """A function that runs the steps after a count on the objects that exist before these steps.

    When a count occurs for the first time, the steps run in Python; when it occurs again, they get
    a native call.
    """

    def __init__(
        self,
        continuation: Any,
        plan: PlanMemory,
        positions: Sequence[int],
        names: Sequence[str],
        gives: Gives,
    ) -> None:
        """Take the parts that do not depend on the count.

        Args:
            continuation: The continuation, which binds the later steps to a count.
            plan: The memory of the plan.
            positions: The positions of the call's arguments that the function gets, before all
                arrays.
            names: The buffers whose arrays the function gets, after the arguments.
            gives: The results of the call.
        """
        self._continuation, self._held, self._gives = continuation, plan.held, gives
        self._positions, self._names = positions, names
        self._count = len(positions) + names.index(continuation.count.window.buffer)
        by_position = {position: name for name, position in plan.arguments}
        self._buffers = [*map(by_position.get, positions), *names]
        self._met = BoundedTable[int, None]()
        self._runners = BoundedTable[int, Runner]()

    def __call__(self, *objects: Any) -> object:
        """Run the steps after the count, and return the results of the call.

        Raises:
            OtherLengthError: a guard of the length does not hold.
        """
        count = objects[self._count].item()
        runner = self._runners.get(count) or self._runner(count, objects)
        return runner(*objects)

    def _runner(self, count: int, objects: Sequence[Any]) -> Runner:
        """The function that runs the steps after a count."""
        bound = self._continuation.bound_to(count)
        runner = partial(self._run, bound)
        if count not in self._met:
            self._met.keep(count, None)
            return runner
        return self._runners.keep(count, self._native(bound, objects, runner) or runner)

    def _native(self, bound: Any, objects: Sequence[Any], slow: Runner) -> Runner | None:
        """The native call for objects like these; None if native code cannot run the steps."""
        gives = self._gives
        plan = bound.native_plan(gives.count, gives.form, self._names, finish=gives.finish)
        if plan is None:
            return None
        guards = Guards(plan)
        keys = [*self._positions, *(given_key(k) for k in range(len(self._names)))]
        for source, (value, key) in enumerate(zip(objects, keys, strict=True)):
            if not guards.add(source, value, key):
                return None
        cell = new_cell(slow)
        cell[0] = with_table((), guards.table(len(objects), (), array("q", [0])))
        return new_entry(cell)

    def _run(self, bound: Any, *objects: Any) -> object:
        """Run the steps in Python, and return the results; `objects` are arrays and numbers."""
        named = zip(self._buffers, objects, strict=True)
        # Kernels read memory, which a NumPy scalar does not have.
        given = {name: np.asarray(one) for name, one in named if name is not None}
        arguments = at_positions(self._positions, objects)
        results = bound.go_on({**self._held, **given}, arguments)[: self._gives.count]
        if self._gives.finish is not None:
            return self._gives.finish(*results)
        if self._gives.form & SCALARS:
            results = [one if one.ndim else one[()] for one in results]
        return tuple(results) if self._gives.form & TUPLE else results[0]


def _run_at_lengths(
    function: Runner,
    named: Lengths,
    known: Mapping[Symbol, int],
    symbols: Sequence[Symbol],
    *given: Any,
) -> Any:
    """Call a function with lengths and objects; `given` are values of symbols, then objects."""
    count = len(symbols)
    lengths = {**known, **dict(zip(symbols, given[:count], strict=True))}
    return function(named.at(lengths), lengths, *given[count:])


def given_key(number: int) -> int:
    """The number that replaces the position of an array which is no argument of the native plan."""
    return -1 - number
