"""Plans as native calls run them: steps in order on places, each of which holds one object.

A place holds an argument, an array that the plan has, or one that a step makes; and the word that
kernels get of it: where its data begins, or the bits of a number.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from axiomjit.base.config import config
from axiomjit.base.records import Record
from axiomjit.runtime.entry import layout as at
from axiomjit.runtime.entry.structures import WRITEABLE
from axiomjit.runtime.pool.memory import poison

Array = np.ndarray[Any, Any]


class NewArray(Record):
    """An array in memory of its own, or in that of the array at `taken`, which is given up."""

    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    strides: tuple[int, ...] | None
    place: int
    taken: int | None = None

    def words(self) -> list[int]:
        """Its record."""
        shown = (self.dtype, self.shape, self.strides, self.place)
        if self.taken is None:
            return _array_words(at.MAKE, *shown, 0, 0, WRITEABLE, config.check)
        return _array_words(at.TAKE, *shown, self.taken, 0, WRITEABLE, config.check)

    def size_bytes(self) -> int:
        """The bytes of its elements."""
        return _size_bytes(self.dtype, self.shape)


class View(Record):
    """A view of the array at `base`, at an offset in bytes; without strides in C order."""

    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    strides: tuple[int, ...] | None
    place: int
    base: int
    offset: int
    writable: bool

    def words(self) -> list[int]:
        """Its record."""
        shown = (self.dtype, self.shape, self.strides, self.place)
        flags = WRITEABLE if self.writable else 0
        return _array_words(at.VIEW, *shown, self.base, self.offset, flags, False)


class Run(Record):
    """A run of a kernel over all its units.

    `fills` are pairs of a word of its argument block and the place that it comes from.
    """

    kernel: int
    block: tuple[int, ...]
    fills: tuple[tuple[int, int], ...]
    grid: int
    combines: bool
    releases: bool

    def words(self) -> list[int]:
        """Its record."""
        facts = [self.kernel, self.grid, int(self.combines), int(self.releases)]
        fills = [word for pair in self.fills for word in pair]
        counts = [len(self.block), len(self.fills)]
        return _sized(at.RUN, *facts, *counts, *self.block, *fills)


class CallPython(Record):
    """A call of a Python function with the objects at places.

    It gives a tuple of the results, arrays of their own as the plan foresees them; where there
    are none, what it gives is not looked at.
    """

    function: Callable[..., Any]
    operands: tuple[int, ...]
    results: tuple[int, ...]

    def words(self) -> list[int]:
        """Its record."""
        counts = [len(self.operands), len(self.results)]
        return _sized(at.CALL, id(self.function), *counts, *self.operands, *self.results)


class GivePython(Record):
    """A call of a Python function with the objects at places: what it gives is the result."""

    function: Callable[..., Any]
    operands: tuple[int, ...]
    place: int

    def words(self) -> list[int]:
        """Its record."""
        return _sized(at.GIVE, id(self.function), len(self.operands), 1, *self.operands, self.place)


class Drop(Record):
    """The array at a place is not needed any more."""

    place: int

    def words(self) -> list[int]:
        """Its record."""
        return _sized(at.DROP, self.place)


class Share(Record):
    """The object at a place of somebody else's is held at a place of the plan's own, too."""

    place: int
    source: int

    def words(self) -> list[int]:
        """Its record."""
        return _sized(at.SHARE, self.place, self.source)


NativeStep = NewArray | View | Run | CallPython | GivePython | Share | Drop


class NativePlan(Record):
    """A plan bound to lengths: where its objects come from, what it does, and what it gives.

    `given` has the place of each argument by position, with the dtype of a number; `held` are the
    arrays of the plan with their places. Places below `owned` belong to others; results are among
    the others, and `form` is as in the layout. Of arguments at positions that are `lent`, results
    are views that can be written. `kernels` are the handle of each kernel and what keeps its code
    in memory.
    """

    given: dict[int, tuple[int, str | None]]
    held: tuple[tuple[Array, int], ...]
    owned: int
    places: int
    steps: tuple[NativeStep, ...]
    results: tuple[int, ...]
    form: int
    lent: frozenset[int]
    kernels: tuple[tuple[Any, object], ...]

    @property
    def operands(self) -> int:
        """The largest number of objects that a Python function is called with."""
        calls = [step for step in self.steps if isinstance(step, CallPython | GivePython)]
        return max([len(call.operands) for call in calls], default=0)

    @property
    def block_words(self) -> int:
        """The words of the largest argument block."""
        return max([len(s.block) for s in self.steps if isinstance(s, Run)], default=0)

    def kept(self) -> tuple[object, ...]:
        """What its records refer to; a table of a kernel is known by what keeps that."""
        dtypes = [step.dtype for step in self.steps if isinstance(step, NewArray | View)]
        return (*(owner for _, owner in self.kernels), self, *dtypes)


def _size_bytes(dtype: np.dtype[Any], shape: Sequence[int]) -> int:
    size: int = dtype.itemsize
    for length in shape:
        size *= length
    return size


def _sized(kind: int, *words: int) -> list[int]:
    return [kind, at.STEP_FIRST + len(words), *words]


def _array_words(
    kind: int,
    dtype: np.dtype[Any],
    shape: tuple[int, ...],
    strides: tuple[int, ...] | None,
    place: int,
    base: int,
    offset: int,
    flags: int,
    filled: bool,
) -> list[int]:
    """The record of an array; under `config.check` with what fresh memory is filled with."""
    fill = np.full(8, poison(dtype), dtype).tobytes()[:8] if filled else b""
    facts = [place, id(dtype), len(shape), int(strides is not None), base, offset, flags]
    facts += [int(filled), int.from_bytes(fill, "little", signed=True), _size_bytes(dtype, shape)]
    return _sized(kind, *facts, *shape, *(strides or ()))
