"""Steps of plans that work on memory: prepared once for a plan, and bound to lengths as they come.

What all lengths have in common is kept in a form; a bound step is one small object beside it, so
that a function that is called with many shapes keeps little for each.
"""

from __future__ import annotations

import ctypes
from array import array
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Final, Protocol

import numpy as np

from axiomjit.base.counters import counter
from axiomjit.base.errors import GraphValueError
from axiomjit.passes.ir.kernel_ir import Kernel
from axiomjit.passes.ir.plan_ir import Buffer, Launch
from axiomjit.runtime.compiling.kernel_cache import KERNELS
from axiomjit.runtime.compiling.kernel_handle import KernelHandle
from axiomjit.runtime.launching.schedule import available_threads, chunk_edges, run_chunks
from axiomjit.runtime.launching.windows import Array, Arrays
from axiomjit.runtime.launching.workers import Pace
from axiomjit.runtime.names.report import REPORT, refuse_report
from axiomjit.runtime.pool import memory
from axiomjit.symbolic.dims import Dim, Lengths, Symbol, Values

SERIAL_WORK: Final = 6_000_000
"""Additions below which one thread is faster: about 0.2 ms."""
FIRST_WORK: Final = 40_000_000
"""Additions in the first uninterrupted call: about 1 ms; `Pace` finds how many are 5 to 20 ms."""
LARGEST: Final = 2**63 - 1
Layout = tuple[tuple[int, ...], tuple[int, ...] | None]
_WORD_BYTES: Final = ctypes.sizeof(ctypes.c_int64)
_count_run: Final = counter("kernels_run")


class Action(Protocol):
    """One step of a plan that is bound to lengths."""

    def __call__(self, arrays: Arrays, arguments: Sequence[object]) -> None:
        """Do it, with the memory that there is by name."""


class StepForm(Protocol):
    """One step of a plan for any lengths."""

    def bind(self, values: Values, lengths: Mapping[Symbol, int]) -> Action:
        """The step for these lengths, with the values of those that it has named."""


class AllocateForm:
    """Memory that a plan makes for a buffer, or takes from `source`."""

    __slots__ = ("_shape", "_source", "_strides", "buffer")

    def __init__(self, buffer: Buffer, lengths: Lengths, source: str | None = None) -> None:
        """Name the lengths of the buffer."""
        self.buffer, self._source = buffer, source
        self._shape = tuple(map(lengths.number, buffer.shape))
        self._strides = tuple(map(lengths.number, buffer.strides))

    def bind(self, values: Values, lengths: Mapping[Symbol, int]) -> Action:
        """Allocate or take it at these lengths; raises as `Allocation`."""
        if self._source is not None:
            return Reusing(self._source, self, values)
        return Allocation(self, values)

    def layout(self, values: Values) -> tuple[tuple[int, ...], tuple[int, ...] | None]:
        """Its shape in memory, and the order of its dimensions there where that is another."""
        shape = tuple([values[k] for k in self._shape])
        order = memory_order([values[k] for k in self._strides])
        places = list(range(len(shape)))
        if order == places:
            return shape, None
        return tuple([shape[d] for d in order]), tuple(map(order.index, places))


def memory_order(strides: Sequence[int]) -> list[int]:
    """The dimensions from the outermost in memory to the innermost."""
    return sorted(range(len(strides)), key=lambda d: (-strides[d], d))


class Allocation:
    """Makes a dense array whose dimensions have the order of the buffer's strides."""

    __slots__ = ("_back", "_laid_out", "_size_bytes", "buffer")

    def __init__(self, form: AllocateForm, values: Values) -> None:
        """Find out how the buffer lies in memory at these lengths.

        Raises:
            MemoryError: it would exceed 2**63 - 1 bytes.
        """
        self.buffer = form.buffer
        self._laid_out, self._back = form.layout(values)
        size_bytes = self.buffer.dtype.itemsize
        for length in self._laid_out:
            size_bytes *= length
        if size_bytes > LARGEST:
            of = f"of shape {self._laid_out} and dtype {self.buffer.dtype}"
            raise MemoryError(f"an array {of} has no address")
        self._size_bytes = size_bytes

    def __call__(self, arrays: Arrays, arguments: Sequence[object]) -> None:
        """Allocate the buffer."""
        (arrays[self.buffer.name],) = self.make()

    def make(self) -> tuple[Array]:
        """The array, alone in a tuple."""
        fresh = memory.allocate(self._laid_out, self.buffer.dtype, self._size_bytes)
        return (fresh if self._back is None else fresh.transpose(self._back),)

    def layout(self) -> Layout:
        """Shape and strides (bytes) of the array; no strides where it is in C order."""
        return _layout(self._laid_out, self._back, self.buffer.dtype.itemsize)


class Reusing:
    """Gives the memory of a temporary that is not needed any more to another one."""

    __slots__ = ("_back", "_laid_out", "buffer", "source")

    def __init__(self, source: str, form: AllocateForm, values: Values) -> None:
        """Find out how the buffer lies in the memory at these lengths."""
        self.source, self.buffer = source, form.buffer
        self._laid_out, self._back = form.layout(values)

    def __call__(self, arrays: Arrays, arguments: Sequence[object]) -> None:
        """Take the memory of the other buffer."""
        taken = memory.reused(arrays.pop(self.source), self._laid_out, self.buffer.dtype)
        arrays[self.buffer.name] = taken if self._back is None else taken.transpose(self._back)

    def layout(self) -> Layout:
        """As that of an `Allocation`."""
        return _layout(self._laid_out, self._back, self.buffer.dtype.itemsize)


def _layout(laid_out: tuple[int, ...], back: tuple[int, ...] | None, itemsize: int) -> Layout:
    if back is None:
        return laid_out, None
    steps = [itemsize] * len(laid_out)
    for d in range(len(laid_out) - 1, 0, -1):
        steps[d - 1] = steps[d] * max(1, laid_out[d])
    return tuple([laid_out[d] for d in back]), tuple([steps[d] for d in back])


class Releasing:
    """Gives the memory of a temporary up; the same for all lengths."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        """Keep the name."""
        self.name = name

    def bind(self, values: Values, lengths: Mapping[Symbol, int]) -> Action:
        """The step itself, since no length takes part in it."""
        return self

    def __call__(self, arrays: Arrays, arguments: Sequence[object]) -> None:
        """Forget the array."""
        del arrays[self.name]


class LaunchForm:
    """A run of a kernel, for any lengths: its words, but for what follows from lengths.

    `given` are the words of numbers among the arguments: word, position and dtype.
    """

    __slots__ = ("_computed", "_grid", "_lengths", "_words", "_work", "given", "step")

    def __init__(self, step: Launch, lengths: Lengths) -> None:
        """Name its lengths, and write the words of literals."""
        self.step = step
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

    @property
    def kernels(self) -> list[Kernel]:
        """What it runs."""
        return [self.step.kernel]

    def bind(self, values: Values, lengths: Mapping[Symbol, int]) -> Launching:
        """The kernel, not loaded yet, and its words; raises as `words`."""
        return Launching(self, kernel_handle(self.step.kernel), values)

    def words(self, values: Values) -> tuple[list[int], int, int]:
        """The words, the number of units, and the work in additions.

        Raises:
            GraphValueError: a length or stride is beyond 64 bits.
        """
        numbers = [values[k] for k in self._lengths]
        grid = values[self._grid]
        if max(grid, *numbers, 0) > LARGEST or min(grid, *numbers, 0) < -LARGEST:
            raise self._refusal(values)
        words = self._words + numbers
        for word, number, dtype in self._computed:
            for k, bits in enumerate(_bits(values[number], dtype), word):
                words[k] = bits
        return words, grid, values[self._work]

    def _refusal(self, values: Values) -> GraphValueError:
        named: list[tuple[int, Dim]] = [(self._grid, self.step.grid)]
        named += zip(self._lengths, self.step.lengths, strict=True)
        number, length = next(n for n in named if not -LARGEST <= values[n[0]] <= LARGEST)
        return GraphValueError(
            f"a loop whose lengths and steps in memory are at most {LARGEST}",
            f"{length} = {values[number]}",
            "take the part that is needed before arrays of this size are combined",
        )


def kernel_handle(kernel: Kernel) -> KernelHandle:
    """A kernel for a plan that runs it."""
    return KERNELS.handle(kernel)


class Launching:
    """Runs a kernel: in one call where the work is small, else in chunks on threads.

    `grid` units are `work` additions.
    """

    __slots__ = ("_count", "_kind", "_pace", "_prepared", "form", "grid", "handle", "work")

    def __init__(self, form: LaunchForm, handle: KernelHandle, values: Values) -> None:
        """Bind; raises as `LaunchForm.words`."""
        self.form, self.handle = form, handle
        words, self.grid, self.work = form.words(values)
        self._count = len(words)
        if handle.checked:
            ends = [0] * (2 * len(form.step.buffers))
            words = [0] * REPORT + words + ends
        self._kind = ctypes.c_int64 * len(words)  # ctypes keeps one type for each number
        self._prepared = array("q", words).tobytes()
        self._pace = Pace(self.grid * FIRST_WORK // max(self.work, 1))

    @property
    def handles(self) -> list[KernelHandle]:
        """The kernels that it runs."""
        return [self.handle]

    @property
    def forms(self) -> list[LaunchForm]:
        """The runs that it may consist of."""
        return [self.form]

    def words(self) -> tuple[int, ...]:
        """The words that all calls have in common."""
        return tuple(array("q", self._prepared))

    def __call__(self, arrays: Arrays, arguments: Sequence[object]) -> None:
        """Fill in addresses and numbers, and run; raises as `run`."""
        self.run(arrays, arguments, self.threads())

    def threads(self) -> int:
        """How many threads may work at once."""
        return 1 if self.work < SERIAL_WORK else available_threads()

    def run(
        self, arrays: Arrays, arguments: Sequence[object], threads: int, chain: int = 1
    ) -> None:
        """Run all units on so many threads, every `chain` of them in order in one thread.

        Raises:
            RuntimeError: the kernel has failed.
        """
        step, handle, pace, grid = self.form.step, self.handle, self._pace, self.grid
        front = REPORT if handle.checked else 0
        words = memory.block(self._kind, self._prepared)
        for k, name in enumerate(step.buffers, front):
            words[k] = memory.address(arrays[name])
        for k, position, dtype in self.form.given:
            for word, bits in enumerate(_bits(arguments[position], dtype), front + k):
                words[word] = bits
        if handle.checked:
            behind = len(words) - 2 * len(step.buffers)
            words[behind:] = [
                e for name in step.buffers for e in memory.element_bounds(arrays[name])
            ]
        address, entry = ctypes.addressof(words) + front * _WORD_BYTES, handle.get().entry
        _count_run()
        if threads == 1 and grid <= pace.most and not step.kernel.polls:
            _check(entry(address, 0, grid) if grid else 0)
        else:
            flag = partial(words.__setitem__, front + self._count - 1, 1)
            edges = [chain * edge for edge in chunk_edges(grid // chain, threads)]
            give_up = flag if step.kernel.polls else None
            run_chunks(partial(entry, address), edges, threads, pace, give_up)
        if step.kernel.combines:
            _check(entry(address, 0, 0))
        if handle.checked:
            refuse_report(step.kernel, words)


def _check(status: int) -> None:
    if status:
        raise RuntimeError(f"kernel returned status {status}")


def _bits(value: object, dtype: str) -> list[int]:
    """A scalar as 64-bit words, as many as it needs."""
    size = np.dtype(dtype).itemsize
    raw = np.zeros(-(-size // 8) * 8, np.uint8)
    raw[:size] = np.asarray(value, dtype).reshape(1).view(np.uint8)
    words: list[int] = raw.view(np.int64).tolist()
    return words
