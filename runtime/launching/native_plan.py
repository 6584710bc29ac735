"""Which plans one native call can run, and what that call needs."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np

from axiomjit.algebra.dims import Symbol, evaluate
from axiomjit.base.config import config
from axiomjit.passes.ir.plan_ir import Allocate, Launch, Plan, Release, WriteBack
from axiomjit.runtime.compiling.kernel_cache import KERNELS
from axiomjit.runtime.entry.guard_tables import NativeCall, NewArray
from axiomjit.runtime.entry.layout import MOST_ARRAYS, MOST_WORDS
from axiomjit.runtime.launching import execute
from axiomjit.runtime.pool import memory
from axiomjit.runtime.pool.recycling import LARGE

RELEASING_WORK: Final = 300_000
"""Additions from which a native call lets other threads run: about 10 us."""


def native_call(plan: Plan, lengths: Mapping[Symbol, int]) -> NativeCall | None:
    """What a native call needs to run the plan for these lengths; None where it cannot.

    It runs plans of one kernel whose work is for one thread and whose results are arrays of
    their own. Kernels that check each access are run in Python, which reads their report.
    """
    launches = [step for step in plan.steps if isinstance(step, Launch)]
    others = [s for s in plan.steps if not isinstance(s, Launch | Allocate | Release | WriteBack)]
    if len(launches) != 1 or others or config.bounds or memory.empty is not np.empty:
        return None
    (step,) = launches
    if evaluate(step.work, lengths) >= execute.SERIAL_WORK or not execute.is_fresh(plan, lengths):
        return None
    handle = KERNELS.handle(step.kernel)
    kernel = handle.loaded
    if kernel is None:
        return None
    words, numbers = execute.known_words(step, lengths)
    new = _new_arrays(plan, step, lengths)
    if len(words) > MOST_WORDS or len(new) > MOST_ARRAYS:
        return None
    if any(array.size_bytes() >= LARGE for array in new):
        return None
    sources = _sources(plan, step, numbers)
    if sources is None:
        return None
    slots, held = sources
    order = [s.buffer for s in plan.steps if isinstance(s, Allocate)]
    return NativeCall(
        kernel=_address(kernel.entry),
        owner=kernel,
        handle=handle,
        words=tuple(words),
        grid=evaluate(step.grid, lengths),
        combines=step.kernel.combines,
        releases=evaluate(step.work, lengths) >= RELEASING_WORK,
        slots=slots,
        held=held,
        new=new,
        results=tuple(order.index(window.buffer) for window in plan.results),
        written=frozenset(s.position for s in plan.steps if isinstance(s, WriteBack)),
    )


def _address(entry: Any) -> int:
    """Where the code of a kernel begins, whose entry is a ctypes function with two arguments."""
    return ctypes.cast(entry.func, ctypes.c_void_p).value or 0


def _sources(
    plan: Plan, step: Launch, numbers: Sequence[tuple[int, int, str]]
) -> tuple[dict[int, tuple[int, str | None]], tuple[tuple[np.ndarray, int], ...]] | None:
    """The words of arguments by position, and those of arrays that the plan holds.

    None comes back for an argument that a kernel has in two words.
    """
    buffers = {buffer.name: buffer for buffer in plan.buffers}
    given: list[tuple[int, int, str | None]] = []
    held: list[tuple[np.ndarray, int]] = []
    for slot, name in enumerate(step.buffers):
        buffer = buffers[name]
        if buffer.position is not None:
            given.append((buffer.position, slot, None))
        elif buffer.array is not None:
            held.append((buffer.array, slot))
    given += [(position, slot, dtype) for slot, position, dtype in numbers]
    slots = {position: (slot, dtype) for position, slot, dtype in given}
    return (slots, tuple(held)) if len(slots) == len(given) else None


def _new_arrays(plan: Plan, step: Launch, lengths: Mapping[Symbol, int]) -> tuple[NewArray, ...]:
    """What the plan allocates, in this order."""
    buffers = {buffer.name: buffer for buffer in plan.buffers}
    results = {window.buffer for window in plan.results}
    new = []
    for allocate in (s for s in plan.steps if isinstance(s, Allocate)):
        buffer = buffers[allocate.buffer]
        shape = tuple(evaluate(d, lengths) for d in buffer.shape)
        strides = execute.dense_strides(buffer, lengths)
        slot = step.buffers.index(buffer.name) if buffer.name in step.buffers else MOST_WORDS
        new.append(NewArray(buffer.dtype, shape, strides, slot, buffer.name in results))
    return tuple(new)
