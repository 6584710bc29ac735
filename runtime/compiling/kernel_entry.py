"""A kernel at an address as a Python function."""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Callable
from typing import Final

KernelEntry = Callable[[int, int, int], int]
"""`entry(words_address, lo, hi)` runs a kernel without the GIL; the status, 0 if done."""
_ENTRY: Final = ctypes.CFUNCTYPE(
    ctypes.c_int32,
    ctypes.c_void_p,
    ctypes.c_void_p,
    ctypes.c_void_p,
    ctypes.c_int64,
    ctypes.c_int64,
)
# Stands in for Numba's result and exception slots; a kernel without a result stores one null there,
# so sharing it between threads is harmless.
_SCRATCH: Final = ctypes.create_string_buffer(64)


def make_entry(address: int, owner: object) -> KernelEntry:
    """The function at an address; `owner` keeps its code loaded and lives as long."""
    function = _ENTRY(address)
    function.library = owner  # type: ignore[attr-defined]
    scratch = ctypes.addressof(_SCRATCH)
    return functools.partial(function, scratch, scratch)
