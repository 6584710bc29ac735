"""Arguments that a program writes: which calls it may answer, and which arrays are one.

A program writes into the memory of its arguments while it reads others. So arguments that are one
array are one input of it, and any other overlap is left to NumPy.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from axiomjit.base.dtypes import walkable
from axiomjit.base.overlaps import overlaps_itself
from axiomjit.driver.tables import Ready

Same = tuple[int, ...]


def same_arrays(arguments: Sequence[object], are_objects: bool = False) -> Same | None:
    """For each argument the number of the first that is the same array; None if all differ.

    Arrays of one memory and layout are the same; if they `are_objects`, only one object is.
    """
    seen: dict[object, int] = {}
    key: Callable[[np.ndarray], object] = id if are_objects else _memory
    numbers = tuple(
        seen.setdefault(("array", key(value)) if isinstance(value, np.ndarray) else k, k)
        for k, value in enumerate(arguments)
    )
    return None if len(seen) == len(numbers) else numbers


def _memory(array: np.ndarray) -> object:
    address = array.__array_interface__["data"]
    return address, array.shape, array.strides, array.dtype, type(array)


def why_not_written(ready: Ready, arguments: Sequence[object], same: Same | None) -> str | None:
    """Why a program that writes arguments cannot answer a call; None where it can.

    Args:
        ready: The program.
        arguments: Those of the call, as they were given.
        same: Which of them are one input of the program.
    """
    arrays = [(k, value) for k, value in enumerate(arguments) if isinstance(value, np.ndarray)]
    if ready.watch is not None:
        arrays += [(-1, array) for array, _ in ready.watch.known()]
    for position in ready.writes:
        written = arguments[position]
        if not isinstance(written, np.ndarray) or not written.flags.writeable:
            return "a read-only array"
        if not walkable(written):
            return "an array that is byteswapped or misaligned"
        if overlaps_itself(written):
            return "an array whose elements share memory"
        for k, array in arrays:
            one = k == position or (same is not None and k >= 0 and same[k] == same[position])
            if not one and np.may_share_memory(written, array):
                return "an array that overlaps another one in memory"
    return None
