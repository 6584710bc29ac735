"""Random arrays by shape and strides: those that NumPy makes, and those with chosen strides.

Lengths and strides come from a small pool, so that strides often equal a length, a product of
lengths, each other, or a small number. An array lies amid a larger buffer of different numbers:
a read outside of it shows.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from axiomjit.dispatch.signature import ArgumentCode, ClassSymbols
from axiomjit.runtime.memory import allocation
from axiomjit.symbolic.dims import LENGTH, STRIDE, evaluate

LONG = (5, 6, 7, 8, 9, 10, 12)
SHORT = (0, 1, 2, 2, 3, 3, 4, 4)
PRIME = 251
"""Elements are below it: sums of them, and of their products, are exact in every dtype."""
LARGEST = 600
"""Elements of an array."""
REACH = 20_000
"""Elements between the first and the last of an array."""
MARGIN = 40
"""Elements around an array."""


class Laid(NamedTuple):
    """An array of a shape that lies with these strides (elements)."""

    shape: tuple
    strides: tuple

    def buffer(self, dtype):
        """The memory around the array, and where in it the first element lies."""
        low, high = allocation.span(self.shape, self.strides)
        size = high - low + 2 * MARGIN
        values = np.arange(1, size + 1) % PRIME
        if np.dtype(dtype).kind == "c":
            values = values - 1j * values[::-1]
        return values.astype(dtype), MARGIN - low

    def within(self, buffer, first):
        """The array in a buffer; one that repeats elements is read-only, as broadcast_to's."""
        steps = tuple(step * buffer.itemsize for step in self.strides)
        array = np.ndarray(self.shape, buffer.dtype, buffer, first * buffer.itemsize, steps)
        pairs = zip(self.shape, self.strides, strict=True)
        array.flags.writeable = not any(n > 1 and step == 0 for n, step in pairs)
        return array


def drawn(draws, rank, before=None):
    """An array of a rank, its lengths and strides mostly those of the one before, if any."""
    while True:
        if before is not None and draws.chance(0.9):
            laid = draws.pick((_alike, _alike, _alike, _changed))(draws, before)
        else:
            laid = draws.pick((_chosen, _made, _slid))(draws, rank)
        low, high = allocation.span(laid.shape, laid.strides)
        if math.prod(laid.shape) <= LARGEST and high - low <= REACH:
            return laid


def _alike(draws, before):
    """What is of the same class in most cases: other numbers for some of its symbols."""
    code, symbols = ArgumentCode(), ClassSymbols()
    shape = symbols.shape(code.shape(before.shape))
    strides = symbols.strides(code.strides(before.within(*before.buffer("u1"))), shape)
    values = dict(zip(symbols.symbols, code.numbers, strict=True))
    for symbol in draws.some(list(values)) if values else ():
        if symbol.kind is LENGTH:
            values[symbol] = draws.pick([n for n in LONG if n not in values.values()] or LONG)
            continue
        lengths, steps = (tuple(evaluate(d, values) for d in dims) for dims in (shape, strides))
        ends = [abs(step * n) for step, n in zip(steps, lengths, strict=True)]
        step = draws.pick(ends) if draws.chance(0.6) else abs(_stride(draws, lengths, steps))
        step = max(step, 2)
        values[symbol] = step if symbol.kind is STRIDE else -step
    return Laid(*(tuple(evaluate(d, values) for d in dims) for dims in (shape, strides)))


def _length(draws):
    return draws.pick(SHORT) if draws.chance(0.2) else draws.pick(LONG)


def _chosen(draws, rank):
    """Any shape with any strides."""
    shape = tuple(_length(draws) for _ in range(rank))
    strides = []
    for _ in shape:
        strides.append(_stride(draws, shape, strides))
    order = draws.order(range(rank))
    return Laid(tuple(shape[d] for d in order), tuple(strides[d] for d in order))


def _stride(draws, shape, others):
    """A stride that may end where another dimension does, or equal a length or small number."""
    ends = [step * n for step, n in zip(others, shape, strict=False)]
    if ends and draws.chance(0.5):
        return draws.pick(ends)
    kinds = [
        lambda: draws.between(0, 4),
        lambda: draws.pick(shape),
        lambda: draws.pick(shape) * draws.pick(shape),
        lambda: draws.pick(others or [1]),
        lambda: draws.pick(LONG),
    ]
    stride = draws.pick(kinds)()
    return -stride if draws.chance(0.15) else stride


def _changed(draws, before):
    """A shape and strides of which most is as before."""
    shape, strides = list(before.shape), list(before.strides)
    d = draws.below(len(shape))
    if draws.chance(0.7):
        strides[d] = _stride(draws, shape, strides)
        return Laid(before.shape, tuple(strides))
    old, new = shape[d], draws.pick([n for n in LONG if n not in shape])
    if old and draws.chance(0.5):  # another length wherever there is this one, also in strides
        strides = [s // old * new if s % old == 0 else s for s in strides]
    return Laid(tuple(new if n == old else n for n in shape), tuple(strides))


def _made(draws, rank):
    """What NumPy makes of a dense array: parts, windows, diagonals, repeats, other orders."""
    start = [_length(draws) for _ in range(draws.between(1, rank))]
    array = np.zeros(start, "u1")  # strides count elements
    while array.ndim < rank:
        array = draws.pick((_windows, _windows, _repeated))(draws, array)
    for _ in range(draws.between(0, 3)):
        array = draws.pick((_part, _part, _turned, _windows, _diagonal, _repeated))(draws, array)
    while array.ndim > rank:
        array = _without_one(draws, array)
    while array.ndim < rank:
        array = _repeated(draws, array)
    return Laid(array.shape, array.strides)


def _slid(draws, rank):
    """Every k-th window of a dense array along one dimension: two strides may be the same."""
    array = np.zeros([draws.pick(LONG) for _ in range(rank - 1)], "u1")
    array = sliding_window_view(array, draws.between(2, 5), draws.below(rank - 1))
    array = array[:: draws.between(1, 3)]
    array = _turned(draws, array) if draws.chance(0.3) else array
    return Laid(array.shape, array.strides)


def _without_one(draws, array):
    """The array at the first place along a dimension that has one."""
    d = draws.pick([d for d, n in enumerate(array.shape) if n] or [0])
    places = array if array.shape[d] else np.zeros((1,) * array.ndim, "u1")
    return places[(*[slice(None)] * d, 0)]


def _part(draws, array):
    """Every k-th along each dimension, perhaps backward, from somewhere on."""
    steps = [draws.pick((1, 1, 2, 3, -1, -2)) for _ in array.shape]
    ends = [draws.below(3) for _ in array.shape]
    pairs = zip(steps, ends, strict=True)
    return array[tuple(slice(k, None, s) if s > 0 else slice(None, k, s) for s, k in pairs)]


def _turned(draws, array):
    return array.transpose(draws.order(range(array.ndim)))


def _windows(draws, array):
    d = draws.below(array.ndim)
    length = min(draws.pick(LONG), array.shape[d])
    return sliding_window_view(array, length, d) if length else array


def _diagonal(draws, array):
    return array.diagonal(draws.between(-1, 1)) if array.ndim > 1 else array


def _repeated(draws, array):
    return np.broadcast_to(array, (draws.pick(LONG), *array.shape))
