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
from axiomjit.runtime.object_cache.loader import function_address

NEW_FROM_DESCRIPTION, AS_SCALAR, SET_BASE, SET_HANDLER = 94, 76, 282, 304
"""Places of PyArray_NewFromDescr, PyArray_Return, PyArray_SetBaseObject, PyDataMem_SetHandler."""
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

_HUGE: Final = """
  %large = icmp uge i64 %bytes, 4194304
  br i1 %large, label %advise, label %ready
advise:
  %page = add i64 %rawint, 4095
  %pages = and i64 %page, -4096
  %begin = inttoptr i64 %pages to ptr
  %length = and i64 %bytes, -4096
  %madvise = call ptr @outside(ptr %state, i64 7)
  %ignored = call i32 %madvise(ptr %begin, i64 %length, i32 14)
  br label %ready
"""
TEXT: Final = """
@functions = internal constant [5 x ptr] [
  ptr @axiomjit_malloc, ptr @axiomjit_calloc, ptr @axiomjit_realloc, ptr @axiomjit_free,
  ptr @axiomjit_trim
]
declare i64 @llvm.ctlz.i64(i64, i1)
declare i64 @llvm.umax.i64(i64, i64)
declare {i64, i1} @llvm.umul.with.overflow.i64(i64, i64)
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)

define internal void @lock(ptr %state) {
entry:
  br label %again
again:
  %pair = cmpxchg ptr %state, i64 0, i64 1 acquire monotonic
  %taken = extractvalue {i64, i1} %pair, 1
  br i1 %taken, label %done, label %again
done:
  ret void
}

define internal void @unlock(ptr %state) {
  store atomic i64 0, ptr %state release, align 8
  ret void
}

define ptr @axiomjit_allocator() {
  ret ptr @functions
}

define internal ptr @outside(ptr %state, i64 %word) {
  %place = getelementptr i64, ptr %state, i64 %word
  %function = load ptr, ptr %place
  ret ptr %function
}

define internal void @add(ptr %state, i64 %word, i64 %amount) {
  %place = getelementptr i64, ptr %state, i64 %word
  %old = load i64, ptr %place
  %new = add i64 %old, %amount
  store i64 %new, ptr %place
  ret void
}

define internal i64 @number(i64 %wanted) {
  %below = sub i64 %wanted, 1
  %zeros = call i64 @llvm.ctlz.i64(i64 %below, i1 false)
  %power = sub i64 63, %zeros
  %shift = sub i64 %power, 3
  %part = lshr i64 %below, %shift
  %eights = shl i64 %power, 3
  %sum = add i64 %eights, %part
  %number = sub i64 %sum, 8
  ret i64 %number
}

define internal i64 @bytes(i64 %number) {
  %power = lshr i64 %number, 3
  %shift = sub i64 %power, 3
  %low = and i64 %number, 7
  %part = add i64 %low, 9
  %bytes = shl i64 %part, %shift
  ret i64 %bytes
}

define internal ptr @list(ptr %state, i64 %number) {
  %word = add i64 %number, 8
  %place = getelementptr i64, ptr %state, i64 %word
  ret ptr %place
}

define internal i64 @number_of(ptr %block) {
  %place = getelementptr i64, ptr %block, i64 -1
  %number = load i64, ptr %place
  ret i64 %number
}

define internal void @give_back(ptr %state, ptr %block) {
  %place = getelementptr i64, ptr %block, i64 -2
  %raw = load ptr, ptr %place
  %release = call ptr @outside(ptr %state, i64 6)
  call void %release(ptr %raw)
  ret void
}

define internal void @drop_all(ptr %state) {
entry:
  br label %next
next:
  %number = phi i64 [0, %entry], [%number, %drop], [%following, %empty]
  %place = call ptr @list(ptr %state, i64 %number)
  %block = load ptr, ptr %place
  %none = icmp eq ptr %block, null
  br i1 %none, label %empty, label %drop
drop:
  %after = load ptr, ptr %block
  store ptr %after, ptr %place
  call void @give_back(ptr %state, ptr %block)
  br label %next
empty:
  %following = add i64 %number, 1
  %more = icmp ult i64 %following, 512
  br i1 %more, label %next, label %end
end:
  %kept = getelementptr i64, ptr %state, i64 1
  store i64 0, ptr %kept
  ret void
}

define internal void @axiomjit_trim(ptr %state) {
  call void @lock(ptr %state)
  call void @drop_all(ptr %state)
  call void @unlock(ptr %state)
  ret void
}

define internal ptr @axiomjit_malloc(ptr %state, i64 %size) {
entry:
  %huge = icmp ugt i64 %size, 140737488355328
  br i1 %huge, label %refused, label %possible
possible:
  %padded = add i64 %size, 64
  %wanted = call i64 @llvm.umax.i64(i64 %padded, i64 4096)
  %number = call i64 @number(i64 %wanted)
  %bytes = call i64 @bytes(i64 %number)
  call void @lock(ptr %state)
  %place = call ptr @list(ptr %state, i64 %number)
  %block = load ptr, ptr %place
  %none = icmp eq ptr %block, null
  br i1 %none, label %fresh, label %again
again:
  %after = load ptr, ptr %block
  store ptr %after, ptr %place
  %less = sub i64 0, %bytes
  call void @add(ptr %state, i64 1, i64 %less)
  call void @add(ptr %state, i64 3, i64 1)
  call void @unlock(ptr %state)
  ret ptr %block
fresh:
  call void @add(ptr %state, i64 4, i64 1)
  call void @unlock(ptr %state)
  %room = add i64 %bytes, 64
  %take = call ptr @outside(ptr %state, i64 5)
  %first = call ptr %take(i64 %room)
  %failed = icmp eq ptr %first, null
  br i1 %failed, label %trim, label %given
trim:
  call void @axiomjit_trim(ptr %state)
  %second = call ptr %take(i64 %room)
  %lost = icmp eq ptr %second, null
  br i1 %lost, label %refused, label %given
given:
  %raw = phi ptr [%first, %fresh], [%second, %trim]
  %rawint = ptrtoint ptr %raw to i64
ADVISE
ready:
  %beyond = add i64 %rawint, 127
  %aligned = and i64 %beyond, -64
  %data = inttoptr i64 %aligned to ptr
  %rawplace = getelementptr i64, ptr %data, i64 -2
  store ptr %raw, ptr %rawplace
  %numberplace = getelementptr i64, ptr %data, i64 -1
  store i64 %number, ptr %numberplace
  ret ptr %data
refused:
  ret ptr null
}

define internal void @axiomjit_free(ptr %state, ptr %block, i64 %size) {
entry:
  %none = icmp eq ptr %block, null
  br i1 %none, label %end, label %some
some:
  %number = call i64 @number_of(ptr %block)
  %bytes = call i64 @bytes(i64 %number)
  call void @lock(ptr %state)
  %limitplace = getelementptr i64, ptr %state, i64 2
  %limit = load i64, ptr %limitplace
  %large = icmp ugt i64 %bytes, %limit
  br i1 %large, label %give, label %keep
give:
  call void @unlock(ptr %state)
  call void @give_back(ptr %state, ptr %block)
  br label %end
keep:
  %keptplace = getelementptr i64, ptr %state, i64 1
  %kept = load i64, ptr %keptplace
  %sum = add i64 %kept, %bytes
  %over = icmp ugt i64 %sum, %limit
  br i1 %over, label %drop, label %push
drop:
  call void @drop_all(ptr %state)
  br label %push
push:
  %place = call ptr @list(ptr %state, i64 %number)
  %head = load ptr, ptr %place
  store ptr %head, ptr %block
  store ptr %block, ptr %place
  call void @add(ptr %state, i64 1, i64 %bytes)
  call void @unlock(ptr %state)
  br label %end
end:
  ret void
}

define internal ptr @axiomjit_calloc(ptr %state, i64 %count, i64 %each) {
entry:
  %pair = call {i64, i1} @llvm.umul.with.overflow.i64(i64 %count, i64 %each)
  %over = extractvalue {i64, i1} %pair, 1
  br i1 %over, label %refused, label %possible
possible:
  %size = extractvalue {i64, i1} %pair, 0
  %block = call ptr @axiomjit_malloc(ptr %state, i64 %size)
  %none = icmp eq ptr %block, null
  br i1 %none, label %refused, label %clear
clear:
  call void @llvm.memset.p0.i64(ptr %block, i8 0, i64 %size, i1 false)
  ret ptr %block
refused:
  ret ptr null
}

define internal ptr @axiomjit_realloc(ptr %state, ptr %block, i64 %size) {
entry:
  %none = icmp eq ptr %block, null
  br i1 %none, label %new, label %some
new:
  %made = call ptr @axiomjit_malloc(ptr %state, i64 %size)
  ret ptr %made
some:
  %number = call i64 @number_of(ptr %block)
  %bytes = call i64 @bytes(i64 %number)
  %room = sub i64 %bytes, 64
  %fits = icmp ule i64 %size, %room
  br i1 %fits, label %same, label %move
same:
  ret ptr %block
move:
  %moved = call ptr @axiomjit_malloc(ptr %state, i64 %size)
  %lost = icmp eq ptr %moved, null
  br i1 %lost, label %refused, label %copy
copy:
  call void @llvm.memcpy.p0.p0.i64(ptr %moved, ptr %block, i64 %room, i1 false)
  call void @axiomjit_free(ptr %state, ptr %block, i64 %room)
  ret ptr %moved
refused:
  ret ptr null
}
"""


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
    advise = _HUGE if sys.platform == "linux" else "  br label %ready\n"
    code = cached_code(TEXT.replace("ADVISE\n", advise.lstrip("\n")), "axiomjit_allocator")
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
