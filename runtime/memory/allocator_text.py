"""Write the LLVM text of the allocator that recycles memory (`allocation`)."""

from __future__ import annotations

import sys
from typing import Final

from axiomjit.runtime.memory.allocation import (
    FRESH,
    LIMIT,
    LISTS_AT,
    MALLOC,
    POOLED,
    RECYCLED,
    SIZES,
)
from axiomjit.runtime.object_cache.llvm_text import Builder, Value

MIN_LARGE_PAGE_BYTES: Final = 1 << 22
"""The smallest number of bytes of a block that gets large pages."""
LARGE_PAGE_ADVICE: Final = 14
"""The value of MADV_HUGEPAGE, by which madvise requests large pages."""
MAX_BYTES: Final = 1 << 47
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
    """A builder of a function of the allocator; its first parameter is the allocator's state."""

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
        """Add a number to a word of the state."""
        self.store(self.add(self.word(self.state, word), amount), self.state, 8 * word)

    def list(self, number: Value) -> Value:
        """The address of the word of the state that points to the first free block of a size."""
        return self.add(self.at(self.state, number), 8 * LISTS_AT)

    def number(self, wanted: Value) -> Value:
        """The number of the smallest size with at least this number of bytes."""
        below = self.add(wanted, -1)
        zeros = self._result(f"call i64 @llvm.ctlz.i64(i64 {below}, i1 false)")
        power = self.subtract(63, zeros)
        part = self.shift_right(below, self.add(power, -3))
        return self.add(self.add(self.shift_left(power, 3), part), -8)

    def bytes(self, number: Value) -> Value:
        """The number of bytes of the size with this number."""
        shift = self.add(self.shift_right(number, 3), -3)
        return self.shift_left(self.add(self.both(number, 7), 9), shift)

    def give_back(self, block: Value) -> None:
        """Return a block to the C library."""
        self.call(self.word(self.state, MALLOC + 1), self.load(block, -16))

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
    f.require(f.test("ule", size, MAX_BYTES), refused)
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
    room, take = f.add(bytes, 64), f.word(state, MALLOC)
    raw = f.variable(f.call(take, room))
    with f.when(f.test("eq", f.load(raw), 0)):
        f.call_named("axiomjit_trim", state)
        f.store(f.call(take, room), raw)
    first = f.load(raw)
    f.require(f.test("ne", first, 0), refused)
    if sys.platform == "linux":
        with f.when(f.test("uge", bytes, MIN_LARGE_PAGE_BYTES)):
            page = f.both(f.add(first, 4095), -4096)
            f.call_short(f.word(state, MALLOC + 2), page, f.both(bytes, -4096), LARGE_PAGE_ADVICE)
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
    size, fits = f.checked("umul", count, each)
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
    """The LLVM text of the allocator, with a function that returns the allocator's addresses."""
    return "".join((HEAD, _trim(), _malloc(), _free(), _calloc(), _realloc()))
