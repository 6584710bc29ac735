"""The kinds of plan steps, which run in Python or are written as native instructions.

A form has everything that does not depend on lengths. A bound step is a small object that refers to
the form, so that a function that is called with many shapes stores little for each shape. Calling a
bound step runs it in Python; `emit` writes the instructions of a native call. `execute.STEP_KINDS`
maps kinds of steps to forms; library calls are in `library_calls`.
"""

from __future__ import annotations

import ctypes
from array import array
from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from axiomjit.base.counters import counter
from axiomjit.base.errors import GraphValueError
from axiomjit.base.locks import lazy_import
from axiomjit.passes.ir.plan_ir import (
    REPORT_WORDS,
    Allocate,
    Check,
    Kernel,
    Launch,
    Plan,
    Release,
    Reuse,
    WriteBack,
)
from axiomjit.runtime.codegen.kernel_cache import KERNELS, KernelHandle, refuse_report
from axiomjit.runtime.execution.windows import Array, Arrays, BoundWindow, PlanMemory, at_positions
from axiomjit.runtime.execution.workers import (
    MIN_SPEEDUP,
    ChunkSize,
    available_threads,
    chunk_edges,
    cuts_chains,
    run_chunks,
)
from axiomjit.runtime.memory import allocation
from axiomjit.symbolic.dims import Dim, Lengths, Symbol, Values

if TYPE_CHECKING:  # native calls are written only when calls repeat
    from axiomjit.runtime.execution.native_plan import NativeWriter
    from axiomjit.runtime.native_call.words import Word

SERIAL_WORK: Final = 6_000_000
"""The work, in additions, below which one thread is faster; this work takes about 0.2 ms."""
WATCHED_WORK: Final = 2**27
"""The work, in additions, from which a helper thread runs a kernel that polls; this work takes 3 to
50 ms.
"""
FIRST_WORK: Final = 40_000_000
"""The work, in additions, of the first uninterrupted call (about 1 ms); `ChunkSize` adjusts it."""
MAX_WORD: Final = 2**63 - 1
_WORD_BYTES: Final = ctypes.sizeof(ctypes.c_int64)
_count_run: Final = counter("kernels_run")


class NativeStep:
    """A step of a plan that can be written natively."""

    __slots__ = ()

    def emit(self, native: NativeWriter) -> bool:
        """Write the native instructions of the step; False if it cannot run natively."""
        raise NotImplementedError

    def emit_alone(
        self, plan: Plan, native: NativeWriter, examples: Sequence[Any], kind: type | None
    ) -> bool:
        """Write a call of one function for all results of the plan; False if it is impossible."""
        return False


class BoundStep(NativeStep):
    """A step of a plan, bound to lengths."""

    __slots__ = ()

    @property
    def handles(self) -> Sequence[KernelHandle]:
        """The kernels that the step may run."""
        return ()

    def __call__(self, arrays: Arrays, arguments: Sequence[object], given: Any = None) -> Any:
        """Run the step in Python; the last step of a plan returns the results.

        `arrays` has the arrays of buffers by name. `given` are the arguments before conversion,
        None if they were not converted.
        """
        raise NotImplementedError


class StepForm:
    """The form of a plan step, which does not depend on lengths."""

    __slots__ = ()

    @property
    def launches(self) -> list[LaunchForm]:
        """The launches of kernels in the step."""
        return []

    def bind(self, values: Values, lengths: Mapping[Symbol, int]) -> BoundStep:
        """The step, bound to lengths; `values` has the values of all named lengths."""
        raise NotImplementedError

    def of_words(self, values: Values, lengths: Mapping[Symbol, int]) -> NativeStep | None:
        """The step, bound to lengths that may be symbols; None if it cannot be written natively."""
        return self.bind(values, lengths)


class AllocateForm(StepForm):
    """The form of the allocation of a buffer, or of the reuse of another buffer's memory."""

    __slots__ = ("_shape", "_strides", "buffer", "source")

    def __init__(self, step: Allocate | Reuse, plan: PlanMemory) -> None:
        self.buffer = plan.buffers[step.buffer]
        self.source = step.source if isinstance(step, Reuse) else None
        self._shape = tuple(map(plan.lengths.number, self.buffer.shape))
        self._strides = tuple(map(plan.lengths.number, self.buffer.strides))

    def bind(self, values: Values, lengths: Mapping[Symbol, int]) -> Allocation:
        """The bound step, with the shape and the memory order of the buffer."""
        shape, strides = [values[k] for k in self._shape], [values[k] for k in self._strides]
        dimensions = range(len(shape))
        order = sorted(dimensions, key=lambda d: (-strides[d], d))
        back = None if order == [*dimensions] else tuple(map(order.index, dimensions))
        return Allocation(self, tuple([shape[d] for d in order]), back)

    def made_at(self, values: Values, lengths: Mapping[Symbol, int]) -> tuple[Array]:
        """A new array for these lengths, in a tuple."""
        return self.bind(values, lengths).made()


class Allocation(BoundStep):
    """A bound step that makes a dense array, in the memory order of the buffer's strides."""

    __slots__ = ("_back", "_form", "_laid_out", "_size_bytes")

    def __init__(
        self, form: AllocateForm, laid_out: tuple[int, ...], back: tuple[int, ...] | None
    ) -> None:
        """Take the shape in memory order, and the transpose that restores the order of dimensions.

        Raises:
            MemoryError: the buffer would exceed 2**63 - 1 bytes.
        """
        self._form, self._laid_out, self._back = form, laid_out, back
        size_bytes = form.buffer.dtype.itemsize
        for length in laid_out:
            size_bytes *= length
        if size_bytes > MAX_WORD:
            of = f"of shape {laid_out} and dtype {form.buffer.dtype}"
            raise MemoryError(f"an array {of} has no address")
        self._size_bytes = size_bytes

    def __call__(self, arrays: Arrays, arguments: Sequence[object], given: Any = None) -> None:
        """Allocate the buffer, or reuse the memory of its source."""
        form = self._form
        if form.source is None:
            (arrays[form.buffer.name],) = self.made()
            return
        taken = allocation.reused(arrays.pop(form.source), self._laid_out, form.buffer.dtype)
        arrays[form.buffer.name] = taken if self._back is None else taken.transpose(self._back)

    def made(self) -> tuple[Array]:
        """A new array, in a tuple."""
        fresh = allocation.allocate(self._laid_out, self._form.buffer.dtype, self._size_bytes)
        return (fresh if self._back is None else fresh.transpose(self._back),)

    def emit(self, native: NativeWriter) -> bool:
        """Write the allocation of the buffer; strides are given unless the buffer is in C order."""
        form, laid_out, back = self._form, self._laid_out, self._back
        shape, strides = laid_out, None
        if back is not None:
            steps = [form.buffer.dtype.itemsize] * len(laid_out)
            for d in range(len(laid_out) - 1, 0, -1):
                steps[d - 1] = steps[d] * max(1, laid_out[d])
            shape, strides = tuple([laid_out[d] for d in back]), tuple([steps[d] for d in back])
        make = self.made, form.made_at
        return native.make_array(form.buffer, shape, strides, form.source, *make)


class Releasing(StepForm, BoundStep):
    """The step that releases the memory of a temporary; it is the same for all lengths."""

    __slots__ = ("_name",)

    def __init__(self, step: Release, plan: PlanMemory) -> None:
        self._name = step.buffer

    def bind(self, values: Values, lengths: Mapping[Symbol, int]) -> BoundStep:
        """The step itself, which does not depend on lengths."""
        return self

    def __call__(self, arrays: Arrays, arguments: Sequence[object], given: Any = None) -> None:
        """Drop the array of the buffer."""
        del arrays[self._name]

    def emit(self, native: NativeWriter) -> bool:
        """Write an instruction that drops the array."""
        return native.drop(self._name)


class CheckForm(StepForm):
    """The form of a check of a truth value."""

    __slots__ = ("buffers", "step")

    def __init__(self, step: Check, plan: PlanMemory) -> None:
        self.step, self.buffers = step, plan.buffers

    def bind(self, values: Values, lengths: Mapping[Symbol, int]) -> Checking:
        """The bound check, which needs lengths only for its error."""
        return Checking(self, lengths)


class Checking(BoundStep):
    """A bound step that checks that a truth value is the one that the program assumes."""

    __slots__ = ("_count", "_form", "_lengths")

    def __init__(self, form: CheckForm, lengths: Mapping[Symbol, int]) -> None:
        self._form, self._lengths = form, lengths
        self._count = BoundWindow(form.step.count, form.buffers, lengths)

    def __call__(self, arrays: Arrays, arguments: Sequence[object], given: Any = None) -> None:
        """Check the guards of the number in the window.

        Raises:
            OtherLengthError: a guard of the truth value does not hold.
        """
        choice = self._form.step.choice
        choice.check({**self._lengths, choice.symbol: int(self._count.of(arrays)[()])})

    def emit(self, native: NativeWriter) -> bool:
        """Write checks of the number's range, if its guards are comparisons with other lengths."""
        choice = self._form.step.choice
        ranges = [choice.range_by(guard, self._lengths) for guard in choice.guards]
        return all(pair is not None and native.expect(self._count, *pair) for pair in ranges)


class WritingBack(StepForm, BoundStep):
    """The step that copies a new value back into an argument, if the argument was converted."""

    __slots__ = ("_step",)

    def __init__(self, step: WriteBack, plan: PlanMemory) -> None:
        self._step = step

    def bind(self, values: Values, lengths: Mapping[Symbol, int]) -> BoundStep:
        """The step itself, which does not depend on lengths."""
        return self

    def __call__(self, arrays: Arrays, arguments: Sequence[object], given: Any = None) -> None:
        """Copy the new value into the original argument, if it was converted."""
        owner, array = (given or arguments)[self._step.position], arrays[self._step.buffer]
        if isinstance(owner, Array) and owner is not array:
            owner[...] = array

    def emit(self, native: NativeWriter) -> bool:
        """Write nothing, since a native call gets no converted arguments."""
        return True


class GivingResults(BoundStep):
    """The last step: it returns the results, as allocated arrays or as views of windows."""

    __slots__ = ("_names", "_windows")

    def __init__(self, plan: PlanMemory, lengths: Mapping[Symbol, int]) -> None:
        self._names, self._windows = plan.names, None
        if plan.windows is not None:
            self._windows = [BoundWindow(one, plan.buffers, lengths) for one in plan.windows]

    def __call__(self, arrays: Arrays, arguments: Sequence[object], given: Any = None) -> Any:
        """The results of the plan."""
        if self._windows is None:
            return [arrays[name] for name in self._names]
        return [window.of(arrays) for window in self._windows]

    def emit(self, native: NativeWriter) -> bool:
        """Write the slots of the results, after instructions that make the views among them."""
        return native.give(self._names, self._windows)


class LaunchForm(StepForm):
    """The form of a launch of a kernel, with the words that do not depend on lengths.

    `given` lists the words for numbers among the arguments, as word, position and dtype. `before`
    is the launch of a prepass or of a parallel variant. A prepass runs before the kernel if threads
    share chains.
    """

    __slots__ = (
        *("_computed", "_grid", "_lengths", "_room", "_words", "_work"),
        *("before", "given", "step"),
    )

    def __init__(self, step: Launch, lengths: Lengths, before: LaunchForm | None = None) -> None:
        self.step, self.before = step, before
        words = [0] * len(step.buffers)
        given: list[tuple[int, int, str]] = []
        computed: list[tuple[int, int, str]] = []
        for source in step.numbers:
            if source.position is not None:
                given.append((len(words), source.position, source.dtype))
            elif source.length is not None:
                computed.append((len(words), lengths.number(source.length), source.dtype))
            words += _bits(0 if source.literal is None else source.literal, source.dtype)
        self.given, self._computed, self._words = tuple(given), tuple(computed), words
        self._lengths = tuple(map(lengths.number, step.lengths))
        self._grid, self._work = lengths.number(step.grid), lengths.number(step.work)
        room = (
            step.chunk_chain
            if before is None or before.step.prepass
            else before.step.parallel_variant
        )
        self._room = None if room is None else lengths.number(room)

    @staticmethod
    def prepare(step: Launch, plan: PlanMemory) -> LaunchForm | None:
        """The form of a launch; None for a prepass or parallel variant of the next launch."""
        form = LaunchForm(step, plan.lengths, plan.waiting)
        waits = step.prepass or step.parallel_variant is not None
        plan.waiting = form if waits else None
        return None if waits else form

    @property
    def launches(self) -> list[LaunchForm]:
        """The launches of kernels in the step."""
        return [*([] if self.before is None else self.before.launches), self]

    def bind(self, values: Values, lengths: Mapping[Symbol, int]) -> Launching:
        """The bound step; its kernels are not loaded yet."""
        room, before = 1 if self._room is None else values[self._room], None
        if self.before is not None and (self.before.step.prepass or room >= 0):
            before = self.before.bind(values, lengths)
        return Launching(self, kernel_handle(self.step.kernel), values, before, max(room, 1))

    def of_words(self, values: Values, lengths: Mapping[Symbol, int]) -> NativeStep | None:
        """The launch for symbolic lengths, which only native calls run."""
        return LaunchOfWords(self, values)

    def words(self, values: Values) -> tuple[list[int], int, int]:
        """The words of the argument block, the number of units, and the work in additions.

        Raises:
            GraphValueError: a length or stride is beyond 64 bits.
        """
        numbers = [values[k] for k in self._lengths]
        grid = values[self._grid]
        if max(grid, *numbers, 0) > MAX_WORD or min(grid, *numbers, 0) < -MAX_WORD:
            raise self._refusal(values)
        words = self._words + numbers
        for word, number, dtype in self._computed:
            for k, bits in enumerate(_bits(values[number], dtype), word):
                words[k] = bits
        return words, grid, values[self._work]

    def words_to_compute(self, values: Values) -> list[Word] | None:
        """The words, some of them symbolic; None if a native call cannot convert a word."""
        words: list[Word] = [*self._words, *(values[k] for k in self._lengths)]
        for word, number, dtype in self._computed:
            length: Any = values[number]
            if not isinstance(length, Dim):
                words[word : word + len(_bits(0, dtype))] = _bits(length, dtype)
            elif np.dtype(dtype) == np.int64:
                words[word] = length
            elif np.dtype(dtype) == np.float64:
                words[word] = lazy_import("axiomjit.runtime.native_call.words").FloatWord(length)
            else:
                return None
        return words

    def emit_serial(
        self,
        native: NativeWriter,
        handle: KernelHandle,
        words: Sequence[Word],
        grid: Any,
        work: Any,
    ) -> bool:
        """Write a run of the kernel by a single thread."""
        step = self.step
        fills = [(word, native.slots[name]) for word, name in enumerate(step.buffers)]
        for word, position, dtype in self.given:
            slot, size = native.given[position][0], len(_bits(0, dtype))
            fills += [(word + k, slot + k) for k in range(size)]
        return native.run(handle, work, tuple(words), fills, grid, step.kernel.combines)

    def objects(self, native: NativeWriter) -> tuple[list[str], list[int], list[int]]:
        """The buffers and the positions of numbers that kernels take, and the slots of both."""
        names = list(dict.fromkeys(name for one in self.launches for name in one.step.buffers))
        numbers = (position for one in self.launches for _, position, _ in one.given)
        positions = sorted(set(numbers))
        slots = [native.slots[name] for name in names]
        return names, positions, [*slots, *(native.given[one][0] for one in positions)]

    def run_at(
        self,
        names: Sequence[str],
        positions: Sequence[int],
        values: Values,
        lengths: Mapping[Symbol, int],
        *objects: Any,
    ) -> None:
        """Bind the launch to lengths, and run it on objects, as `Launching.run_on` does."""
        self.bind(values, lengths).run_on(names, positions, *objects)

    def grid_and_work(self, values: Values) -> tuple[int, int]:
        """The number of units, and the work in additions."""
        return values[self._grid], values[self._work]

    def _refusal(self, values: Values) -> GraphValueError:
        named: list[tuple[int, Dim]] = [(self._grid, self.step.grid)]
        named += zip(self._lengths, self.step.lengths, strict=True)
        number, length = next(n for n in named if not -MAX_WORD <= values[n[0]] <= MAX_WORD)
        return GraphValueError(
            f"a loop whose lengths and steps in memory are at most {MAX_WORD}",
            f"{length} = {values[number]}",
            "take the part that is needed before arrays of this size are combined",
        )


def kernel_handle(kernel: Kernel) -> KernelHandle:
    """The handle of a kernel for a plan."""
    return KERNELS.handle(kernel)


class Launching(BoundStep):
    """The bound step that runs a kernel, in one call for small work, otherwise on threads.

    All `grid` units together cost `work` additions. One thread runs a chain of `chain` units in
    order, unless threads share all units after the prepass `before`.
    """

    __slots__ = (
        *("_chunk_size", "_count", "_kind", "_prepared"),
        *("before", "chain", "form", "grid", "handle", "work"),
    )

    def __init__(
        self,
        form: LaunchForm,
        handle: KernelHandle,
        values: Values,
        before: Launching | None = None,
        chain: int = 1,
    ) -> None:
        """Bind the form to lengths, with the errors of `LaunchForm.words`."""
        self.form, self.handle, self.before, self.chain = form, handle, before, chain
        words, self.grid, self.work = form.words(values)
        self._count = len(words)
        if handle.checked:
            ends = [0] * (2 * len(form.step.buffers))
            words = [0] * REPORT_WORDS + words + ends
        self._kind = ctypes.c_int64 * len(words)  # ctypes caches one type per length
        self._prepared = array("q", words).tobytes()
        self._chunk_size = ChunkSize(self.grid * FIRST_WORK // max(self.work, 1))

    @property
    def handles(self) -> Sequence[KernelHandle]:
        """The kernels that the step may run."""
        return [*(() if self.before is None else self.before.handles), self.handle]

    @property
    def is_serial(self) -> bool:
        """True if one thread runs the kernel."""
        return self.work < SERIAL_WORK

    def words(self) -> tuple[int, ...]:
        """The words of the argument block that do not depend on the call."""
        return tuple(array("q", self._prepared))

    def __call__(self, arrays: Arrays, arguments: Sequence[object], given: Any = None) -> None:
        """Fill in addresses and numbers, and run the kernel, with the errors of `run`."""
        threads, before = 1 if self.is_serial else available_threads(), self.before
        if before is None:
            self.run(arrays, arguments, threads)
        elif not before.form.step.prepass:
            pays = threads > 1 and before.work * MIN_SPEEDUP < self.work * threads
            (before if pays else self).run(arrays, arguments, threads)
        elif cuts_chains(self.grid // self.chain, before.work, self.work, threads):
            before.run(arrays, arguments, threads)
            self.run(arrays, arguments, threads)
        else:
            self.run(arrays, arguments, threads, self.chain)

    def run(
        self, arrays: Arrays, arguments: Sequence[object], threads: int, chain: int = 1
    ) -> None:
        """Run all units on `threads` threads; each thread runs chains of `chain` units in order.

        Raises:
            RuntimeError: the kernel returned an error status.
        """
        step, handle, chunk_size, grid = self.form.step, self.handle, self._chunk_size, self.grid
        front = REPORT_WORDS if handle.checked else 0
        words = allocation.block(self._kind, self._prepared)
        for k, name in enumerate(step.buffers, front):
            words[k] = allocation.address(arrays[name])
        for k, position, dtype in self.form.given:
            for word, bits in enumerate(_bits(arguments[position], dtype), front + k):
                words[word] = bits
        if handle.checked:
            behind = len(words) - 2 * len(step.buffers)
            words[behind:] = [
                e for name in step.buffers for e in allocation.element_bounds(arrays[name])
            ]
        address, entry = ctypes.addressof(words) + front * _WORD_BYTES, handle.get().entry
        _count_run()
        watched = step.kernel.polls and self.work >= WATCHED_WORK
        if (grid <= 1 or (threads == 1 and grid <= chunk_size.most)) and not watched:
            _check(entry(address, 0, grid) if grid else 0)
        else:
            flag = partial(words.__setitem__, front + self._count - 1, 1)
            edges = [chain * edge for edge in chunk_edges(grid // chain, threads)]
            give_up = flag if watched else None
            run_chunks(partial(entry, address), edges, threads, chunk_size, give_up)
        if step.kernel.combines:
            _check(entry(address, 0, 0))
        if handle.checked:
            refuse_report(step.kernel, words)

    def emit(self, native: NativeWriter) -> bool:
        """Write a run of the kernel, or a call of Python if threads share the kernel."""
        form = self.form
        if self.is_serial:
            return form.emit_serial(native, self.handle, self.words(), self.grid, self.work)
        names, positions, slots = form.objects(native)
        return native.call_python(partial(self.run_on, names, positions), slots)

    def run_on(self, names: Sequence[str], positions: Sequence[int], *objects: Any) -> None:
        """Run the kernel; the objects are the arrays of `names`, and numbers at `positions`."""
        # Kernels read memory, which a NumPy scalar does not have.
        arrays: Any = dict(zip(names, map(np.asarray, objects), strict=False))
        self(arrays, at_positions(positions, objects[len(names) :]))


class LaunchOfWords(NativeStep):
    """A launch whose lengths follow from integer arguments, to be written natively."""

    __slots__ = ("_form", "_grid", "_words", "_work")

    def __init__(self, form: LaunchForm, values: Values) -> None:
        self._form, self._words = form, form.words_to_compute(values)
        self._grid, self._work = form.grid_and_work(values)

    def emit(self, native: NativeWriter) -> bool:
        """Write a run of the kernel if the work is always small, else a call of Python."""
        form = self._form
        if self._words is None:
            return False
        if self._work < SERIAL_WORK:
            handle = kernel_handle(form.step.kernel)
            return form.emit_serial(native, handle, self._words, self._grid, self._work)
        names, positions, slots = form.objects(native)
        return native.call_at_lengths(partial(form.run_at, names, positions), slots)


def _check(status: int) -> None:
    if status:
        raise RuntimeError(f"kernel returned status {status}")


def _bits(value: object, dtype: str) -> list[int]:
    """The 64-bit words of a scalar."""
    size = np.dtype(dtype).itemsize
    raw = np.zeros(-(-size // 8) * 8, np.uint8)
    raw[:size] = np.asarray(value, dtype).reshape(1).view(np.uint8)
    words: list[int] = raw.view(np.int64).tolist()
    return words
