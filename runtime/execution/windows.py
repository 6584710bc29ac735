"""The memory of a plan, and windows, which are views of the arrays of buffers."""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from axiomjit.base.config import config
from axiomjit.base.errors import BoundsError
from axiomjit.passes.ir.plan_ir import Buffer, Plan, Window
from axiomjit.passes.ir.view_ir import ArrayRole
from axiomjit.runtime.memory import allocation
from axiomjit.symbolic.dims import Dim, Lengths, Symbol, evaluate

Array = np.ndarray
Arrays = dict[str, Array]


def lengths_at(dims: tuple[Dim, ...], lengths: Mapping[Symbol, int]) -> tuple[int, ...]:
    """The values of symbolic lengths."""
    return tuple(evaluate(d, lengths) for d in dims)


def at_positions(positions: Sequence[int], values: Sequence[object]) -> list[object]:
    """A list of arguments that has the values at their positions, and None elsewhere."""
    arguments: list[object] = [None] * (max(positions, default=-1) + 1)
    for position, value in zip(positions, values, strict=False):
        arguments[position] = value
    return arguments


def is_whole(window: Window, buffers: Mapping[str, Buffer]) -> bool:
    """True if the window is an entire buffer that the plan allocates."""
    owner = buffers[window.buffer]
    return (
        owner.role in (ArrayRole.RESULT, ArrayRole.TEMPORARY)
        and _are_same((*window.shape, *window.strides), (*owner.shape, *owner.strides))
        and window.offset.constant == 0
        and window.dtype == owner.dtype
        and window.writable
    )


def _are_same(some: tuple[Dim, ...], others: tuple[Dim, ...]) -> bool:
    """True if lengths are equal for all values of symbols, compared without guards."""
    return len(some) == len(others) and all(map(operator.is_, some, others))


class PlanMemory:
    """The buffers of a plan by name, and its lengths by number, which all steps use."""

    def __init__(self, plan: Plan) -> None:
        self.plan, self.lengths = plan, Lengths()
        self.buffers = {buffer.name: buffer for buffer in plan.buffers}
        self.held = {b.name: b.array for b in plan.buffers if b.array is not None}
        self.arguments = [(b.name, b.position) for b in plan.buffers if b.position is not None]
        whole = [is_whole(window, self.buffers) for window in plan.results]
        self.names = [window.buffer for window in plan.results]
        self.windows = None if all(whole) else plan.results
        self.is_fresh = all(whole) and len(set(self.names)) == len(self.names)
        """True if the results are distinct arrays that the plan allocates."""
        self.waiting: Any = None
        """A prepass or parallel variant that waits for the next launch."""


class BoundWindow:
    """A window bound to lengths; strides and offset are in bytes."""

    __slots__ = ("allocated", "offset", "shape", "strides", "window")

    def __init__(
        self, window: Window, buffers: Mapping[str, Buffer], lengths: Mapping[Symbol, int]
    ) -> None:
        itemsize = window.dtype.itemsize
        self.window = window
        self.allocated = is_whole(window, buffers)
        self.offset = evaluate(window.offset, lengths) * itemsize
        self.shape = lengths_at(window.shape, lengths)
        self.strides = tuple(s * itemsize for s in lengths_at(window.strides, lengths))

    @property
    def is_known(self) -> bool:
        """True if the lengths are numbers; in native plans, lengths may be symbolic."""
        return not any(isinstance(n, Dim) for n in (self.offset, *self.shape, *self.strides))

    def of(self, arrays: Arrays, beyond: bool = False) -> Array:
        """The view of the window; for an entire buffer, the array itself.

        With `beyond`, the window may reach beyond the buffer, since the reader skips elements
        beyond the buffer.
        """
        array = arrays[self.window.buffer]
        if self.allocated:
            return array
        whole = self.offset == 0 and array.shape == self.shape and self.window.writable
        whole = whole and array.dtype == self.window.dtype
        if whole and (array.strides == self.strides or array.size == 0):
            return array
        if config.check and not beyond:
            self.verify(array)
        writable = self.window.writable
        kind = self.window.dtype.str
        return np.asarray(_Interface(array, self.offset, self.shape, self.strides, kind, writable))

    def verify(self, array: Array) -> None:
        """Refuse a window that reaches outside the memory of its buffer.

        Raises:
            BoundsError: the window reaches outside the buffer.
        """
        low, high = allocation.span(self.shape, self.strides, self.window.dtype.itemsize)
        first, end = allocation.span(array.shape, array.strides, array.itemsize)
        if low != high and not first <= self.offset + low <= self.offset + high <= end:
            raise BoundsError(
                f"a view of the bytes [{self.offset + low}, {self.offset + high}) "
                f"of buffer {self.window.buffer}",
                f"the bytes [{first}, {end}) in a buffer of shape {array.shape}",
                "a defect of axiomjit, please report it with your function and its arguments",
            )


class _Interface:
    """The array interface of a part of an array, which keeps the array alive."""

    def __init__(
        self,
        base: Array,
        offset: int,
        shape: tuple[int, ...],
        strides: tuple[int, ...],
        kind: str,
        writable: bool,
    ) -> None:
        interface = dict(base.__array_interface__)
        address, read_only = interface["data"]
        empty = 0 in shape
        repeats = any(step == 0 and n > 1 for step, n in zip(strides, shape, strict=True))
        protected = read_only or (repeats and not empty) or not writable
        shifted = (address + (0 if empty else offset), protected)
        interface.update(data=shifted, shape=shape, strides=strides, typestr=kind)
        del interface["descr"]
        self.__array_interface__ = interface
        self.base = base
