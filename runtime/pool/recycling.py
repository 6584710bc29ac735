"""Memory of large arrays that is recycled: given out again after NumPy has freed it.

Such an array owns its memory as any other does (`base` is None): NumPy asks the handler that is
set while the array is made, and tells the same handler when the memory is free (NEP 49). Fresh
memory costs as much as the work on it: the system clears each page when it is first touched.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, Final

import numpy as np

from axiomjit.base.config import config
from axiomjit.base.counters import add_gauge
from axiomjit.base.keep_alive import keep_alive
from axiomjit.base.locks import FORKS_WAIT, why_not_compile
from axiomjit.runtime.pool.allocator import (
    FRESH,
    KEPT,
    LIMIT,
    RECYCLED,
    load_allocator,
    new_state,
)
from axiomjit.runtime.pool.numpy_functions import SET_HANDLER, numpy_function

Array = np.ndarray[Any, Any]
Maker = Callable[[Sequence[int], np.dtype[Any]], Array]
LARGE: Final = 1 << 17
"""Bytes from which memory is recycled; malloc keeps smaller blocks itself."""
NAME: Final = b"axiomjit"


class _Allocator(ctypes.Structure):
    """NumPy's `PyDataMem_Handler`, version 1."""

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
    """The state of the allocator, and what NumPy is given to use it."""

    def __init__(self) -> None:
        """Load it.

        Raises:
            ImportError: there is no llvmlite, or no such interface in NumPy.
            AttributeError: a function of the C library is nowhere.
            RuntimeError: NumPy does not take the handler.
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
        """Make an array and look whose memory it has."""
        from numpy._core.multiarray import get_handler_name

        before = self.set_handler(self.capsule)
        try:
            array = np.empty(LARGE, np.uint8)
        finally:
            self.set_handler(before)
        if get_handler_name(array) != NAME.decode() or array.ctypes.data % 64:
            raise RuntimeError("NumPy does not use the handler that it was given")

    def trim(self) -> None:
        """Give what is kept back to the system."""
        self._trim(ctypes.addressof(self.state))


def _capsule(address: int) -> Any:
    make = ctypes.pythonapi.PyCapsule_New
    make.restype = ctypes.py_object
    make.argtypes = (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)
    return make(address, b"mem_handler", None)


class _Process:
    """Whether there is a pool in this process."""

    pool: _Pool | None = None


@lru_cache(maxsize=1)
def _start() -> None:
    """Make the pool, where that is possible."""
    if os.name != "posix":
        return
    try:
        with FORKS_WAIT:
            _Process.pool = _Pool()
    except (ImportError, AttributeError, RuntimeError, OSError, ValueError):
        return


def recycled(make: Maker, shape: Sequence[int], dtype: np.dtype[Any]) -> Array:
    """`make(shape, dtype)`, which allocates an array, with memory from the pool.

    Raises:
        MemoryError: there is not so much memory.
    """
    limit = config.pool_bytes
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


def trim() -> int:
    """Give memory that is kept for further results back to the system; how many bytes."""
    pool = _Process.pool
    if pool is None:
        return 0
    kept = pool.state[KEPT]
    pool.trim()
    return int(kept)


def kept_bytes() -> int:
    """Bytes that are kept now."""
    return 0 if _Process.pool is None else int(_Process.pool.state[KEPT])


def counts() -> tuple[int, int]:
    """Blocks that were given out again, and new ones."""
    if _Process.pool is None:
        return 0, 0
    return int(_Process.pool.state[RECYCLED]), int(_Process.pool.state[FRESH])


add_gauge("bytes_pooled", kept_bytes)
