"""Allocate, measure and recycle the memory of arrays.

Memory of large arrays is given out again after NumPy has freed it. A large array that this module
makes owns its memory like any other array (`base` is None): NumPy allocates and frees the memory by
the memory handler that is set while the array is made (NEP 49). New memory can cost as much time as
the work on it, since the system clears each page at the first access to the page.

The handler is machine code, since NumPy also calls it while Python ends. The code calls no function
by name, so that it can be stored on disk. A block is aligned to 64 bytes and has one of eight sizes
for each power of two. Behind the block are the address that malloc returned and the number of the
size. A free block begins with the address of the next free block of its size. The state of the
allocator has a lock, the number of kept bytes and its limit, the numbers of recycled and of new
blocks, the addresses of malloc, free and madvise, and a list of free blocks for each size.

All allocations of the runtime look up `empty` and `block` in this module at each call, so that
tests can replace them by an allocator that ends every buffer at a protected page.
"""

from __future__ import annotations

import ctypes
import math
import os
import sys
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, Final, ParamSpec, TypeVar

import numpy as np

from axiomjit.base.caching import keep_alive
from axiomjit.base.config import config
from axiomjit.base.counters import add_gauge
from axiomjit.base.dtypes import is_inexact, value_range
from axiomjit.base.locks import FORKS_WAIT, lazy_import, why_not_compile
from axiomjit.runtime.object_cache.entries import function_address
from axiomjit.runtime.object_cache.store import cached_code

NEW_FROM_DESCRIPTION, AS_SCALAR, SET_BASE, SET_HANDLER = 94, 76, 282, 304
"""The indices of PyArray_NewFromDescr, PyArray_Return, PyArray_SetBaseObject and
PyDataMem_SetHandler in the table of NumPy's C interface.
"""
_WORD: Final = 8


def numpy_function(place: int) -> int:
    """The address of a NumPy function, given by its index in the table of NumPy's C interface.

    Raises:
        ImportError, AttributeError: NumPy does not provide the table.
    """
    from numpy._core import multiarray

    module: Any = multiarray
    read = ctypes.pythonapi.PyCapsule_GetPointer
    read.restype, read.argtypes = ctypes.c_void_p, (ctypes.py_object, ctypes.c_char_p)
    table: int = read(module._ARRAY_API, None)
    return ctypes.c_size_t.from_address(table + _WORD * place).value


P = ParamSpec("P")
R = TypeVar("R")
LISTS_AT: Final = 8
SIZES: Final = 512
POOLED, LIMIT, RECYCLED, FRESH, MALLOC = 1, 2, 3, 4, 5
State = ctypes.c_uint64 * (LISTS_AT + SIZES)


def new_state() -> ctypes.Array[ctypes.c_uint64]:
    """The initial state of an allocator.

    Raises:
        AttributeError: a function of the C library is not found.
    """
    state = State()
    names = ("malloc", "free", "madvise") if sys.platform == "linux" else ("malloc", "free")
    for place, name in enumerate(names, MALLOC):
        address = function_address(name)
        if address is None:
            raise AttributeError(name)
        state[place] = address
    return state


def load_allocator() -> dict[str, int]:
    """The addresses of the allocator's functions; their code is never unloaded.

    Raises:
        ImportError: llvmlite is not installed.
        RuntimeError, OSError, ValueError: the code can be neither loaded nor compiled.
    """
    late = lazy_import("axiomjit.runtime.memory.allocator_text")  # few processes write the text
    code = cached_code(late.allocator_text(), "axiomjit_allocator")
    table: int = ctypes.CFUNCTYPE(ctypes.c_void_p)(code.address)()
    names = ("malloc", "calloc", "realloc", "free", "trim")
    return dict(zip(names, (ctypes.c_size_t * len(names)).from_address(table), strict=True))


Array = np.ndarray[Any, Any]
Maker = Callable[[Sequence[int], np.dtype[Any]], Array]
MIN_RECYCLED_BYTES: Final = 1 << 17
"""The smallest number of bytes of a recycled block; malloc itself recycles smaller blocks."""
NAME: Final = b"axiomjit"


class _Allocator(ctypes.Structure):
    """The structure `PyDataMem_Handler` of NumPy, version 1."""

    _fields_ = (
        ("name", ctypes.c_char * 127),
        ("version", ctypes.c_uint8),
        ("state", ctypes.c_void_p),
        ("malloc", ctypes.c_void_p),
        ("calloc", ctypes.c_void_p),
        ("realloc", ctypes.c_void_p),
        ("free", ctypes.c_void_p),
    )


class _Pool:
    """The state of the allocator, and the handler for NumPy."""

    def __init__(self) -> None:
        """Load the allocator and make its handler for NumPy.

        Raises:
            ImportError: llvmlite is not installed, or NumPy has no interface for handlers.
            AttributeError: a function of the C library is not found.
            RuntimeError: NumPy does not use the handler.
            RuntimeError, OSError, ValueError: the code can be neither loaded nor compiled.
        """
        addresses = load_allocator()
        self.state = keep_alive(new_state())  # arrays may be freed after modules are
        handler = keep_alive(_Allocator())
        handler.name, handler.version = NAME, 1
        handler.state = ctypes.addressof(self.state)
        for name in ("malloc", "calloc", "realloc", "free"):
            setattr(handler, name, addresses[name])
        self._trim = ctypes.PYFUNCTYPE(None, ctypes.c_void_p)(addresses["trim"])
        self.capsule = _capsule(ctypes.addressof(handler))
        exchange = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.py_object)
        self.set_handler = exchange(numpy_function(SET_HANDLER))
        self.check()

    def check(self) -> None:
        """Make an array and check that the handler allocated it."""
        from numpy._core.multiarray import get_handler_name

        before = self.set_handler(self.capsule)
        try:
            array = np.empty(MIN_RECYCLED_BYTES, np.uint8)
        finally:
            self.set_handler(before)
        if get_handler_name(array) != NAME.decode() or array.ctypes.data % 64:
            raise RuntimeError("NumPy does not use the handler that it was given")

    def trim(self) -> None:
        """Return all kept memory to the system."""
        self._trim(ctypes.addressof(self.state))


def _capsule(address: int) -> Any:
    make = ctypes.pythonapi.PyCapsule_New
    make.restype = ctypes.py_object
    make.argtypes = (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)
    return make(address, b"mem_handler", None)


class _Process:
    """The holder of the pool of this process, and of the number of bytes that it may keep."""

    pool: _Pool | None = None
    most: int = sys.maxsize


@lru_cache(maxsize=1)
def _start() -> None:
    """Make the pool of this process, if possible."""
    if os.name != "posix":
        return
    try:
        with FORKS_WAIT:
            _Process.pool = _Pool()
    except (ImportError, AttributeError, RuntimeError, OSError, ValueError):
        return
    address = function_address("malloc_trim")  # glibc keeps up to 64 MiB for NumPy
    if address is not None:
        ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_size_t)(address)(0)


def keep_at_most(count: int) -> None:
    """Let the pool keep at most `count` bytes from now on, even if `config.pool_bytes` is more."""
    _Process.most = count


def kept_limit() -> int:
    """The number of bytes that the pool may keep."""
    return min(config.pool_bytes, _Process.most)


def recycled(make: Maker, shape: Sequence[int], dtype: np.dtype[Any]) -> Array:
    """The array from `make(shape, dtype)`, with memory from the pool.

    Raises:
        MemoryError: there is not enough memory.
    """
    limit = kept_limit()
    pool = _Process.pool
    if pool is None:
        if limit and why_not_compile() is None:
            _start()
        pool = _Process.pool
    if pool is None or not limit:
        return make(shape, dtype)
    pool.state[LIMIT] = limit
    before = pool.set_handler(pool.capsule)
    try:
        return make(shape, dtype)
    finally:
        pool.set_handler(before)


def with_recycling(function: Callable[P, R], /, *args: P.args, **kwargs: P.kwargs) -> R:
    """The result of a function whose new NumPy arrays get memory from the pool, if there is one.

    NumPy then uses the memory that is kept for results of kernels, in place of new memory from the
    system.
    """
    pool = _Process.pool
    limit = kept_limit()
    if pool is None or not limit:
        return function(*args, **kwargs)
    pool.state[LIMIT] = limit
    before = pool.set_handler(pool.capsule)
    try:
        return function(*args, **kwargs)
    finally:
        pool.set_handler(before)


def trim() -> int:
    """Return the memory kept for later results to the system; return the number of bytes."""
    pool = _Process.pool
    if pool is None:
        return 0
    kept = pool.state[POOLED]
    pool.trim()
    return int(kept)


def kept_bytes() -> int:
    """The number of bytes that are kept for later results."""
    return 0 if _Process.pool is None else int(_Process.pool.state[POOLED])


def counts() -> tuple[int, int]:
    """The numbers of recycled and of new blocks."""
    if _Process.pool is None:
        return 0, 0
    return int(_Process.pool.state[RECYCLED]), int(_Process.pool.state[FRESH])


add_gauge("bytes_pooled", kept_bytes)


ArgumentBlock = ctypes.Array[ctypes.c_int64]
empty = np.empty
_POINTER_AT = ctypes.c_size_t.from_address
_HEAD = object.__basicsize__


def block(kind: type[ArgumentBlock], words: bytes) -> ArgumentBlock:
    """An argument block of type `kind` that holds these bytes."""
    return kind.from_buffer_copy(words)


def address(values: Array) -> int:
    """The address of the array's data.

    The address is read from the object's memory behind its header, a place that NumPy's C interface
    fixes. Reading Python's attributes would take four times as long, too long for small arrays.
    """
    return _POINTER_AT(id(values) + _HEAD).value


def poison(dtype: np.dtype[Any]) -> Any:
    """The value that fills new memory, so that a result shows that unwritten memory was read."""
    if is_inexact(dtype):
        return math.nan
    least, greatest = value_range(dtype)
    return least or greatest


def allocate(shape: Sequence[int], dtype: np.dtype[Any], size_bytes: int = 0) -> Array:
    """A dense array, poisoned under `config.check`; the memory of large arrays is recycled.

    Raises:
        MemoryError: there is not enough memory.
    """
    fresh = (
        empty(shape, dtype) if size_bytes < MIN_RECYCLED_BYTES else recycled(empty, shape, dtype)
    )
    if config.check:
        fresh.fill(poison(dtype))
    return fresh


def reused(array: Array, shape: Sequence[int], dtype: np.dtype[Any]) -> Array:
    """A dense array in the memory of an array that is no longer needed and has as many bytes."""
    taken: Array = np.ndarray(shape, dtype, buffer=array.ravel(order="K"))
    if config.check:
        taken.fill(poison(dtype))
    return taken


def span(shape: Sequence[int], strides: Sequence[int], size: int = 1) -> tuple[int, int]:
    """The lowest offset of an element from the first element, and the highest end of an element.

    The offset and the end are in the unit of the strides; `size` is the size of an element in this
    unit. Both numbers are 0 if there are no elements.
    """
    if 0 in shape:
        return 0, 0
    reach = [step * (n - 1) for step, n in zip(strides, shape, strict=True)]
    return sum(r for r in reach if r < 0), sum(r for r in reach if r > 0) + size


def element_bounds(array: Array) -> tuple[int, int]:
    """The bounds `low` and `high` in elements; a kernel may access offsets in [low, high)."""
    low, high = span(array.shape, array.strides, array.itemsize)
    return low // array.itemsize, high // array.itemsize
