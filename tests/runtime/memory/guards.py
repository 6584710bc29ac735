"""Guard pages (Linux): buffers that begin or end at memory whose touch kills the process.

`guarded(array, side)` places an array, `guard_pages(side)` what the executor allocates meanwhile,
`run_guarded(plan, arguments, side)` both. Run in a process of its own what may fail: see
`tests.runtime.memory.guard_runs`.
"""

import ctypes
import math
import mmap
from contextlib import contextmanager
from unittest.mock import patch

import numpy as np

from axiomjit.runtime.memory import allocation

SIDES = ("before", "after")
PAGE = mmap.PAGESIZE
NONE, READ = 0, 1  # what may be done with a page, as mprotect counts it


def protect(pages, start_bytes, size_bytes, allowed):
    """Let only `allowed` be done with whole pages of a mapping."""
    libc = ctypes.CDLL(None, use_errno=True)
    address = ctypes.addressof(ctypes.c_char.from_buffer(pages)) + start_bytes
    if libc.mprotect(ctypes.c_void_p(address), ctypes.c_size_t(size_bytes), allowed):
        raise OSError(ctypes.get_errno(), "mprotect")


def room(size_bytes, side):
    """Pages with a protected one at both ends, and where in them `size_bytes` begin.

    They begin right behind a protected page ("before") or end at one ("after").
    """
    whole = -(-size_bytes // PAGE) * PAGE
    pages = mmap.mmap(-1, whole + 2 * PAGE)
    protect(pages, 0, PAGE, NONE)
    protect(pages, PAGE + whole, PAGE, NONE)
    return pages, PAGE if side == "before" else PAGE + whole - size_bytes


def guarded(array, side):
    """A copy with the same strides whose lowest or highest element lies at a protected page.

    What the strides leave out is poisoned; the pages of a read-only array cannot be written.
    """
    low, high = allocation.span(array.shape, array.strides, array.itemsize)
    pages, start = room(high - low, side)
    dtype = array.dtype
    around = np.ndarray((high - low) // array.itemsize, dtype, pages, start)
    around.fill(allocation.poison(dtype.newbyteorder("=")))
    placed = np.ndarray(array.shape, dtype, pages, start - low, array.strides)
    placed[...] = array
    if not array.flags.writeable:
        protect(pages, PAGE, len(pages) - 2 * PAGE, READ)
        placed.flags.writeable = False
    return placed


def around(array):
    """All elements between the lowest and the highest one of a guarded array."""
    low, high = allocation.span(array.shape, array.strides, array.itemsize)
    first = array.__array_interface__["data"][0] + low
    begin = first - ctypes.addressof(ctypes.c_char.from_buffer(array.base))
    return np.ndarray((high - low) // array.itemsize, array.dtype, array.base, begin)


@contextmanager
def guard_pages(side):
    """What the executor allocates (results, temporaries, partials, words) is guarded."""

    def empty(shape, dtype):
        pages, start = room(math.prod(shape) * dtype.itemsize, side)
        return np.ndarray(shape, dtype, pages, start)

    def block(kind, words):
        pages, start = room(ctypes.sizeof(kind), side)
        pages[start : start + len(words)] = words
        return kind.from_buffer(pages, start)

    with patch.multiple(allocation, empty=empty, block=block):
        yield


def run_guarded(plan, arguments, side):
    """The results of a bound plan whose arguments and own memory are guarded."""
    placed = [guarded(a, side) if isinstance(a, np.ndarray) else a for a in arguments]
    with guard_pages(side):
        return plan.run(placed)
