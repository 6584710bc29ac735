"""Recycles the memory of large arrays: blocks that NumPy has freed are allocated again.

Such an array owns its memory like any other (`base` is None): NumPy allocates and frees it by the
memory handler that is set while the array is made (NEP 49). Fresh memory costs as much as the work
on it: the system clears each page when it is first touched.

The handler is machine code, since NumPy also calls it while Python ends. It calls nothing by name,
so that it can be stored on disk. A block has one of eight sizes for each power of two and is
aligned to 64 bytes; behind it are the address from malloc and the number of its size. A free block
begins with the address of the next free block of its size. The state has a lock, the bytes kept and
their limit, counts of recycled and of new blocks, the addresses of malloc, free and madvise, and a
list per size.
"""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, Final

import numpy as np

from axiomjit.base.config import config
from axiomjit.base.counters import add_gauge
from axiomjit.base.keep_alive import keep_alive
from axiomjit.base.locks import FORKS_WAIT, why_not_compile
from axiomjit.runtime.object_cache.cached_code import cached_code
from axiomjit.runtime.object_cache.llvm_text import Builder, Value
from axiomjit.runtime.object_cache.loader import function_address

NEW_FROM_DESCRIPTION, AS_SCALAR, SET_BASE, SET_HANDLER = 94, 76, 282, 304
"""Indices of PyArray_NewFromDescr, PyArray_Return, PyArray_SetBaseObject, PyDataMem_SetHandler."""
_WORD: Final = 8


def numpy_function(place: int) -> int:
    """The address of a NumPy function by its index in the table of NumPy's C interface.

    Raises:
        ImportError, AttributeError: NumPy shows no table.
    """
    from numpy._core import multiarray

    module: Any = multiarray
    read = ctypes.pythonapi.PyCapsule_GetPointer
    read.restype, read.argtypes = ctypes.c_void_p, (ctypes.py_object, ctypes.c_char_p)
    table: int = read(module._ARRAY_API, None)
    return ctypes.c_size_t.from_address(table + _WORD * place).value


LISTS_AT: Final = 8
SIZES: Final = 512
POOLED, LIMIT, RECYCLED, FRESH, OUTSIDE = 1, 2, 3, 4, 5
State = ctypes.c_uint64 * (LISTS_AT + SIZES)

HUGE: Final = 1 << 22
"""Fewest bytes of a block with large pages."""
ADVICE: Final = 14
"""MADV_HUGEPAGE."""
MOST: Final = 1 << 47
HEAD: Final = """
declare i64 @llvm.ctlz.i64(i64, i1)
declare i64 @llvm.umax.i64(i64, i64)
declare {i64, i1} @llvm.umul.with.overflow.i64(i64, i64)
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
@functions = internal constant [5 x ptr] [
  ptr @axiomjit_malloc, ptr @axiomjit_calloc, ptr @axiomjit_realloc, ptr @axiomjit_free,
  ptr @axiomjit_trim
]
define ptr @axiomjit_allocator() {
  ret ptr @functions
}
"""


class _Function(Builder):
    """Writes a function of the allocator, whose first parameter is the state."""

    def __init__(self, name: str, parameters: int) -> None:
        super().__init__(f"axiomjit_{name}", parameters)
        self.state = self.parameters[0]

    def lock(self) -> None:
        """Wait for the lock, and acquire it."""
        again, taken = self.label(), self.label()
        self.go(again)
        self.begin(again)
        self.choose(self.exchange(self.state, 0, 1), taken, again)
        self.begin(taken)

    def unlock(self) -> None:
        """Release the lock."""
        self.store_released(0, self.state)

    def add_to(self, word: int, amount: Value | int) -> None:
        """Add to a word of the state."""
        self.store(self.add(self.word(self.state, word), amount), self.state, 8 * word)

    def list(self, number: Value) -> Value:
        """The address of the word that points to the first free block of a size."""
        return self.add(self.at(self.state, number), 8 * LISTS_AT)

    def number(self, wanted: Value) -> Value:
        """The number of the smallest size with this number of bytes."""
        below = self.add(wanted, -1)
        zeros = self._result(f"call i64 @llvm.ctlz.i64(i64 {below}, i1 false)")
        power = self.subtract(63, zeros)
        part = self.shift_right(below, self.add(power, -3))
        return self.add(self.add(self.shift_left(power, 3), part), -8)

    def bytes(self, number: Value) -> Value:
        """The number of bytes of a size."""
        shift = self.add(self.shift_right(number, 3), -3)
        return self.shift_left(self.add(self.both(number, 7), 9), shift)

    def give_back(self, block: Value) -> None:
        """Return a block to the C library."""
        self.call(self.word(self.state, OUTSIDE + 1), self.load(block, -16))

    def drop_all(self) -> None:
        """Return all free blocks to the C library."""
        with self.count(SIZES) as number:
            place, again, some, none = self.list(number), self.label(), self.label(), self.label()
            self.go(again)
            self.begin(again)
            block = self.load(place)
            self.choose(self.test("ne", block, 0), some, none)
            self.begin(some)
            self.store(self.load(block), place)
            self.give_back(block)
            self.go(again)
            self.begin(none)
        self.store(0, self.state, 8 * POOLED)


def _trim() -> str:
    f = _Function("trim", 1)
    f.lock()
    f.drop_all()
    f.unlock()
    f.give(0)
    return f.text()


def _malloc() -> str:
    f = _Function("malloc", 2)
    state, size = f.parameters
    refused = f.label()
    f.require(f.test("ule", size, MOST), refused)
    number = f.number(f.call_named("llvm.umax.i64", f.add(size, 64), 4096))
    bytes, place = f.bytes(number), f.list(number)
    f.lock()
    block = f.load(place)
    with f.when(f.test("ne", block, 0)):
        f.store(f.load(block), place)
        f.add_to(POOLED, f.subtract(0, bytes))
        f.add_to(RECYCLED, 1)
        f.unlock()
        f.give(block)
    f.add_to(FRESH, 1)
    f.unlock()
    room, take = f.add(bytes, 64), f.word(state, OUTSIDE)
    raw = f.variable(f.call(take, room))
    with f.when(f.test("eq", f.load(raw), 0)):
        f.call_named("axiomjit_trim", state)
        f.store(f.call(take, room), raw)
    first = f.load(raw)
    f.require(f.test("ne", first, 0), refused)
    if sys.platform == "linux":
        with f.when(f.test("uge", bytes, HUGE)):
            page = f.both(f.add(first, 4095), -4096)
            f.call_short(f.word(state, OUTSIDE + 2), page, f.both(bytes, -4096), ADVICE)
    data = f.both(f.add(first, 127), -64)
    f.store(first, data, -16)
    f.store(number, data, -8)
    f.give(data)
    f.go(refused)
    f.begin(refused)
    f.give(0)
    return f.text()


def _free() -> str:
    f = _Function("free", 3)
    state, block, _ = f.parameters
    with f.when(f.test("ne", block, 0)):
        number = f.load(block, -8)
        bytes, place = f.bytes(number), f.list(number)
        f.lock()
        limit = f.word(state, LIMIT)
        with f.when(f.test("ugt", bytes, limit)):
            f.unlock()
            f.give_back(block)
            f.give(0)
        with f.when(f.test("ugt", f.add(f.word(state, POOLED), bytes), limit)):
            f.drop_all()
        f.store(f.load(place), block)
        f.store(block, place)
        f.add_to(POOLED, bytes)
        f.unlock()
    f.give(0)
    return f.text()


def _calloc() -> str:
    f = _Function("calloc", 3)
    state, count, each = f.parameters
    size, fits = f.multiply(count, each)
    with f.when(fits):
        block = f.call_named("axiomjit_malloc", state, size)
        with f.when(f.test("ne", block, 0)):
            f.clear(block, size)
        f.give(block)
    f.give(0)
    return f.text()


def _realloc() -> str:
    f = _Function("realloc", 3)
    state, block, size = f.parameters
    with f.when(f.test("eq", block, 0)):
        f.give(f.call_named("axiomjit_malloc", state, size))
    room = f.add(f.bytes(f.load(block, -8)), -64)
    with f.when(f.test("ule", size, room)):
        f.give(block)
    moved = f.call_named("axiomjit_malloc", state, size)
    with f.when(f.test("ne", moved, 0)):
        f.copy(moved, block, room)
        f.call_named("axiomjit_free", state, block, room)
    f.give(moved)
    return f.text()


def allocator_text() -> str:
    """The LLVM text of the allocator, and of a function that returns its functions' addresses."""
    return "".join((HEAD, _trim(), _malloc(), _free(), _calloc(), _realloc()))


def new_state() -> ctypes.Array[ctypes.c_uint64]:
    """The initial state of an allocator.

    Raises:
        AttributeError: a function of the C library does not exist.
    """
    state = State()
    names = ("malloc", "free", "madvise") if sys.platform == "linux" else ("malloc", "free")
    for place, name in enumerate(names, OUTSIDE):
        address = function_address(name)
        if address is None:
            raise AttributeError(name)
        state[place] = address
    return state


def load_allocator() -> dict[str, int]:
    """The addresses of malloc, calloc, realloc, free and trim, which are never unloaded.

    Raises:
        ImportError: there is no llvmlite.
        RuntimeError, OSError, ValueError: the code can be neither loaded nor compiled.
    """
    code = cached_code(allocator_text(), "axiomjit_allocator")
    table: int = ctypes.CFUNCTYPE(ctypes.c_void_p)(code.address)()
    names = ("malloc", "calloc", "realloc", "free", "trim")
    return dict(zip(names, (ctypes.c_size_t * len(names)).from_address(table), strict=True))


Array = np.ndarray[Any, Any]
Maker = Callable[[Sequence[int], np.dtype[Any]], Array]
LARGE: Final = 1 << 17
"""Fewest bytes of a recycled block; malloc itself recycles smaller ones."""
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
    """The state of the allocator, and the handler for NumPy."""

    def __init__(self) -> None:
        """Load it.

        Raises:
            ImportError: there is no llvmlite, or no such interface in NumPy.
            AttributeError: a function of the C library does not exist.
            RuntimeError: NumPy does not take the handler.
            RuntimeError, OSError, ValueError: the code can be neither loaded nor compiled.
        """
        addresses = load_allocator()
        self.state = keep_alive(new_state())  # arrays may be freed after modules
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
            array = np.empty(LARGE, np.uint8)
        finally:
            self.set_handler(before)
        if get_handler_name(array) != NAME.decode() or array.ctypes.data % 64:
            raise RuntimeError("NumPy does not use the handler that it was given")

    def trim(self) -> None:
        """Return kept memory to the system."""
        self._trim(ctypes.addressof(self.state))


def _capsule(address: int) -> Any:
    make = ctypes.pythonapi.PyCapsule_New
    make.restype = ctypes.py_object
    make.argtypes = (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)
    return make(address, b"mem_handler", None)


class _Process:
    """The pool of this process, if any."""

    pool: _Pool | None = None


@lru_cache(maxsize=1)
def _start() -> None:
    """Make the pool, if possible."""
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
        MemoryError: there is not enough memory.
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
    """Return memory kept for later results to the system; the number of bytes."""
    pool = _Process.pool
    if pool is None:
        return 0
    kept = pool.state[POOLED]
    pool.trim()
    return int(kept)


def kept_bytes() -> int:
    """The bytes kept now."""
    return 0 if _Process.pool is None else int(_Process.pool.state[POOLED])


def counts() -> tuple[int, int]:
    """The numbers of recycled and of new blocks."""
    if _Process.pool is None:
        return 0, 0
    return int(_Process.pool.state[RECYCLED]), int(_Process.pool.state[FRESH])


add_gauge("bytes_pooled", kept_bytes)
