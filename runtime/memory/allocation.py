"""Memory of arrays: allocation, poison, and the extent of an array in memory.

All allocations of the runtime use `empty` and `block` of this module, looked up at each call. Tests
replace them by an allocator that ends every buffer at a protected page.
"""

from __future__ import annotations

import ctypes
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from axiomjit.base.config import config
from axiomjit.base.dtypes import is_inexact, value_range
from axiomjit.runtime.memory.recycling import LARGE, recycled

Array = np.ndarray[Any, Any]
ArgumentBlock = ctypes.Array[ctypes.c_int64]
empty = np.empty
_POINTER_AT = ctypes.c_size_t.from_address
_HEAD = object.__basicsize__


def block(kind: type[ArgumentBlock], words: bytes) -> ArgumentBlock:
    """An argument block of type `kind` that holds these bytes."""
    return kind.from_buffer_copy(words)


def address(values: Array) -> int:
    """The address of the array's data.

    The pointer is read behind the object's header, a fixed place in NumPy's C interface, since
    Python's attributes take four times as long, too long for small arrays.
    """
    return _POINTER_AT(id(values) + _HEAD).value


def poison(dtype: np.dtype[Any]) -> Any:
    """The value with which new memory is filled, so that reading it is noticed."""
    if is_inexact(dtype):
        return math.nan
    least, greatest = value_range(dtype)
    return least or greatest


def allocate(shape: Sequence[int], dtype: np.dtype[Any], size_bytes: int = 0) -> Array:
    """A dense array, poisoned under `config.check`; memory of large arrays is recycled.

    Raises:
        MemoryError: there is not enough memory.
    """
    fresh = empty(shape, dtype) if size_bytes < LARGE else recycled(empty, shape, dtype)
    if config.check:
        fresh.fill(poison(dtype))
    return fresh


def reused(array: Array, shape: Sequence[int], dtype: np.dtype[Any]) -> Array:
    """The memory of an unneeded array, as a dense array of the same number of bytes."""
    taken: Array = np.ndarray(shape, dtype, buffer=array.ravel(order="K"))
    if config.check:
        taken.fill(poison(dtype))
    return taken


def span(shape: Sequence[int], strides: Sequence[int], size: int = 1) -> tuple[int, int]:
    """The lowest offset of an element from the first one, and the end of the highest.

    Both are in the unit of the strides, in which an element has `size`. Without elements both are
    0.
    """
    if 0 in shape:
        return 0, 0
    reach = [step * (n - 1) for step, n in zip(strides, shape, strict=True)]
    return sum(r for r in reach if r < 0), sum(r for r in reach if r > 0) + size


def element_bounds(array: Array) -> tuple[int, int]:
    """`span` of an array in elements; a kernel may access [low, high)."""
    low, high = span(array.shape, array.strides, array.itemsize)
    return low // array.itemsize, high // array.itemsize
