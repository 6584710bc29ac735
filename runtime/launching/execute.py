"""Runs plans; no other module turns elements into bytes and arrays into addresses."""

from __future__ import annotations

import ctypes
from array import array
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from functools import partial
from typing import Any, Final

import numpy as np

from axiomjit.algebra.boxes import at_lengths
from axiomjit.algebra.dims import Dim, Symbol, evaluate
from axiomjit.base.counters import counter
from axiomjit.base.errors import AxiomError, GraphValueError
from axiomjit.base.locks import NotNowError
from axiomjit.passes.ir.plan_ir import (
    Allocate,
    Buffer,
    Call,
    Choose,
    Launch,
    NumberSource,
    Plan,
    Release,
    Reuse,
    WriteBack,
)
from axiomjit.runtime.compiling.kernel_cache import KERNELS
from axiomjit.runtime.compiling.kernel_handle import KernelHandle, load_all
from axiomjit.runtime.compiling.loaded_kernel import LoadedKernel
from axiomjit.runtime.launching.blas import is_limited, limited, share_parts
from axiomjit.runtime.launching.rests import Rest
from axiomjit.runtime.launching.schedule import available_threads, chunk_edges, run_chunks
from axiomjit.runtime.launching.windows import Array, Arrays, BoundWindow, lengths_at
from axiomjit.runtime.launching.workers import Pace
from axiomjit.runtime.names.report import REPORT, refuse_report
from axiomjit.runtime.pool import memory

Action = Callable[[Arrays, Sequence[object]], None]
Otherwise = Callable[[Sequence[object], Sequence[object] | None], Sequence[Array]]

SERIAL_WORK: Final = 6_000_000
"""Additions below which one thread is faster: about 0.2 ms."""
FIRST_WORK: Final = 40_000_000
"""Additions in the first uninterrupted call: about 1 ms; `Pace` finds how many are 5 to 20 ms."""
LARGEST: Final = 2**63 - 1
_UNLIMITED: Final = nullcontext()
_count_run: Final = counter("kernels_run")
count_call: Final = counter("library_calls")


class BoundPlan:
    """A plan for certain lengths: a run only fills in addresses and calls the kernels."""

    def __init__(
        self, plan: Plan, lengths: Mapping[Symbol, int], otherwise: Otherwise | None = None
    ) -> None:
        """Evaluate every length once; nothing is compiled yet.

        Args:
            plan: what runs.
            lengths: the value of each symbol.
            otherwise: runs in place of the plan where its kernels cannot be had now.

        Raises:
            MemoryError: a buffer would exceed 2**63 - 1 bytes.
            GraphValueError: a length or stride is beyond 64 bits.
        """
        self.plan, self.lengths, self._otherwise = plan, lengths, otherwise
        self.handles: list[KernelHandle] = []
        self._held = {b.name: b.array for b in plan.buffers if b.array is not None}
        self._places = [(b.name, b.position) for b in plan.buffers if b.position is not None]
        buffers = {buffer.name: buffer for buffer in plan.buffers}
        self._actions: list[Action] = []
        self._written: list[WriteBack] = []
        self._results: list[tuple[str, BoundWindow | None]] = []
        self._rest: Rest[BoundPlan] | None = None
        for k, step in enumerate(plan.steps):
            match step:
                case Allocate():
                    self._actions.append(_allocation(buffers[step.buffer], lengths))
                case Launch():
                    handle = KERNELS.handle(step.kernel)
                    self.handles.append(handle)
                    self._actions.append(_launch(step, handle, lengths))
                case Call():
                    self._actions.append(_call(step, buffers, lengths))
                case Release():
                    self._actions.append(_release(step.buffer))
                case Reuse():
                    self._actions.append(_reuse(step.source, buffers[step.buffer], lengths))
                case WriteBack():
                    self._written.append(step)
                case Choose():
                    later = plan.steps[k + 1 :]
                    launches = (s for s in later if isinstance(s, Launch))
                    self.handles += [KERNELS.handle(s.kernel) for s in launches]
                    rest = partial(BoundPlan, plan.replace(steps=later))
                    self._count = BoundWindow(step.count, buffers, lengths)
                    self._rest = Rest(step.choice, lengths, rest)
                    return
        seen = [BoundWindow(window, buffers, lengths) for window in plan.results]
        self._results = [(s.window.buffer, None if s.allocated else s) for s in seen]

    def load(self) -> list[LoadedKernel]:
        """The kernels, compiled or loaded where they are not; they stay while they are held.

        Raises:
            As `KernelCache.get`.
        """
        return load_all(self.handles)

    def run(
        self, arguments: Sequence[object], given: Sequence[object] | None = None
    ) -> Sequence[Array]:
        """The results for these arguments (arrays of the bound lengths, or numbers).

        `given` are the arguments before they were converted: what the plan writes is copied back.

        Raises:
            OtherLengthError: what was looked at of a chosen length looks otherwise.
        """
        try:
            kernels = self.load()
        except (NotNowError, ImportError):
            if self._otherwise is None:
                raise
            return self._otherwise(arguments, given)
        arrays: Any = self._held.copy()
        for name, position in self._places:
            arrays[name] = arguments[position]
        results = self.go_on(arrays, arguments, given)
        del kernels
        return results

    def go_on(
        self, arrays: Arrays, arguments: Sequence[object], given: Sequence[object] | None
    ) -> list[Array]:
        """As `run`, with the memory that there is already; all kernels are loaded."""
        for action in self._actions:
            action(arrays, arguments)
        if self._rest is not None:
            count = int(self._count.of(arrays)[()])
            return self._rest.bound_to(count).go_on(arrays, arguments, given)
        for step in self._written:
            owner = (given or arguments)[step.position]
            if isinstance(owner, Array) and owner is not arrays[step.buffer]:
                owner[...] = arrays[step.buffer]
        return [arrays[name] if seen is None else seen.of(arrays) for name, seen in self._results]


def _allocation(buffer: Buffer, lengths: Mapping[Symbol, int]) -> Action:
    """Allocate a dense array whose dimensions have the order of the buffer's strides."""
    shape, strides = lengths_at(buffer.shape, lengths), lengths_at(buffer.strides, lengths)
    size_bytes = buffer.dtype.itemsize
    for length in shape:
        size_bytes *= length
    if size_bytes > LARGEST:
        raise MemoryError(f"an array of shape {shape} and dtype {buffer.dtype} has no address")
    laid_out, back = _layout(shape, strides)
    name, dtype = buffer.name, buffer.dtype

    def allocate(arrays: Arrays, arguments: Sequence[object]) -> None:
        fresh = memory.allocate(laid_out, dtype, size_bytes)
        arrays[name] = fresh if back is None else fresh.transpose(back)

    return allocate


def _memory_order(strides: Sequence[int]) -> list[int]:
    """The dimensions from the outermost in memory to the innermost."""
    return sorted(range(len(strides)), key=lambda d: (-strides[d], d))


def dense_strides(buffer: Buffer, lengths: Mapping[Symbol, int]) -> tuple[int, ...] | None:
    """The strides (bytes) of what `Allocate` makes; None where they are those of NumPy."""
    shape, strides = lengths_at(buffer.shape, lengths), lengths_at(buffer.strides, lengths)
    order = _memory_order(strides)
    if order == list(range(len(shape))):
        return None
    found, step = [0] * len(shape), buffer.dtype.itemsize
    for d in reversed(order):
        found[d] = step
        step *= max(1, shape[d])
    return tuple(found)


def is_fresh(plan: Plan, lengths: Mapping[Symbol, int]) -> bool:
    """Whether each result is an array that the plan allocates, and no two are the same."""
    buffers = {buffer.name: buffer for buffer in plan.buffers}
    names = {window.buffer for window in plan.results}
    seen = (BoundWindow(window, buffers, lengths) for window in plan.results)
    return len(names) == len(plan.results) and all(window.allocated for window in seen)


def _layout(
    shape: tuple[int, ...], strides: tuple[int, ...]
) -> tuple[tuple[int, ...], list[int] | None]:
    """The shape of a dense array in C order, and the order of dimensions that `strides` ask for."""
    order = _memory_order(strides)
    places = list(range(len(shape)))
    back = None if order == places else list(map(order.index, places))
    return tuple(shape[d] for d in order), back


def _reuse(source: str, buffer: Buffer, lengths: Mapping[Symbol, int]) -> Action:
    """Give the memory of a temporary that is not needed any more to another one."""
    laid_out, back = _layout(lengths_at(buffer.shape, lengths), lengths_at(buffer.strides, lengths))
    name, dtype = buffer.name, buffer.dtype

    def reuse(arrays: Arrays, arguments: Sequence[object]) -> None:
        taken = memory.reused(arrays.pop(source), laid_out, dtype)
        arrays[name] = taken if back is None else taken.transpose(back)

    return reuse


def _release(name: str) -> Action:
    def release(arrays: Arrays, arguments: Sequence[object]) -> None:
        del arrays[name]

    return release


def _bits(value: object, dtype: str) -> list[int]:
    """A scalar as 64-bit words, as many as it needs."""
    size = np.dtype(dtype).itemsize
    raw = np.zeros(-(-size // 8) * 8, np.uint8)
    raw[:size] = np.asarray(value, dtype).reshape(1).view(np.uint8)
    words: list[int] = raw.view(np.int64).tolist()
    return words


def known_words(
    step: Launch, lengths: Mapping[Symbol, int], front: int = 0
) -> tuple[list[int], list[tuple[int, int, str]]]:
    """The words of a kernel that all calls have in common, `front` words before the buffers.

    With them come the words of numbers among the arguments: word, position and dtype.
    """
    template = [0] * (front + len(step.buffers))
    given: list[tuple[int, int, str]] = []
    for source in step.numbers:
        if source.position is not None:
            given.append((len(template), source.position, source.dtype))
        template += _bits_known(source, lengths)
    template += [_length_word(length, lengths) for length in step.lengths]
    return template, given


def _bits_known(source: NumberSource, lengths: Mapping[Symbol, int]) -> list[int]:
    """The bits of a scalar that does not depend on arguments; of 0 for one that does."""
    if source.literal is not None:
        return _bits(source.literal, source.dtype)
    if source.length is not None:
        return _bits(evaluate(source.length, lengths), source.dtype)
    return _bits(0, source.dtype)


def _length_word(length: Dim, lengths: Mapping[Symbol, int]) -> int:
    """A length, stride or offset as a word."""
    value = evaluate(length, lengths)
    if not -LARGEST <= value <= LARGEST:
        raise GraphValueError(
            f"a loop whose lengths and steps in memory are at most {LARGEST}",
            f"{length} = {value}",
            "take the part that is needed before arrays of this size are combined",
        )
    return value


def _launch(step: Launch, kernel: KernelHandle, lengths: Mapping[Symbol, int]) -> Action:
    """Run a kernel: in one call where the work is small, else in chunks on threads."""
    front = REPORT if kernel.checked else 0
    before = front * ctypes.sizeof(ctypes.c_int64)
    grid = _length_word(step.grid, lengths)
    work = evaluate(step.work, lengths)
    names = step.buffers
    template, given = known_words(step, lengths, front)
    behind = len(template)
    template += [0] * (2 * len(names) if kernel.checked else 0)
    words_type, prepared = ctypes.c_int64 * len(template), array("q", template).tobytes()
    combines = step.kernel.combines
    pace = Pace(grid * FIRST_WORK // max(work, 1))

    def launch(arrays: Arrays, arguments: Sequence[object]) -> None:
        words = memory.block(words_type, prepared)
        for k, name in enumerate(names, front):
            words[k] = memory.address(arrays[name])
        for k, position, dtype in given:
            for word, bits in enumerate(_bits(arguments[position], dtype), k):
                words[word] = bits
        if kernel.checked:
            words[behind:] = [end for name in names for end in memory.element_bounds(arrays[name])]
        address, entry = ctypes.addressof(words) + before, kernel.get().entry
        _count_run()
        threads = 1 if work < SERIAL_WORK else available_threads()
        if threads == 1 and grid <= pace.most:
            _check(entry(address, 0, grid) if grid else 0)
        else:
            run_chunks(partial(entry, address), chunk_edges(grid, threads), threads, pace)
        if combines:
            _check(entry(address, 0, 0))
        if kernel.checked:
            refuse_report(step.kernel, words)

    return launch


def _check(status: int) -> None:
    if status:
        raise RuntimeError(f"kernel returned status {status}")


def _call(step: Call, buffers: Mapping[str, Buffer], lengths: Mapping[Symbol, int]) -> Action:
    operands = [BoundWindow(window, buffers, lengths) for window in step.operands]
    target = BoundWindow(step.target, buffers, lengths)
    labels, bounds = step.labels, at_lengths(step.conditions, lengths)
    evaluate, parts, where = step.operation.evaluate, step.operation.parts, step.where

    def call(arrays: Arrays, arguments: Sequence[object]) -> None:
        count_call()
        seen = [operand.of(arrays, beyond=bool(bounds)) for operand in operands]
        if parts is not None:
            share_parts(*parts(seen, labels, target.of(arrays), bounds))
            return
        with limited() if is_limited() else _UNLIMITED:
            try:
                evaluate(seen, labels, target.of(arrays))
            except AxiomError as error:
                raise error.at(where) from None

    return call
