"""Indices with arrays of positions, lists and masks, as segments record them.

NumPy raises an error at the user's line if a position is outside the array. So the positions of an
index are computed and checked when the index is recorded, and the segment, which runs later, finds
each element. An index that selects as many elements as a mask has true elements is applied at once.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from axiomjit.base.config import config
from axiomjit.base.dtypes import is_bool, is_complex, is_integer, is_signed
from axiomjit.numpy.facts import is_lazy_type
from axiomjit.numpy.handles import Handle, Shared
from axiomjit.numpy.segments import look

MAX_LISTED: Final = 10_000
"""Segments read lists with at most this number of elements; NumPy applies indices with longer
lists."""
MAX_COPIED: Final = 4096
"""The largest number of positions that are copied if other code can write into their memory."""
LEAST_SAVED: Final = 32
"""The number of elements, in units of `config.lazy_from`, that a segment must save."""
LEAST_ROW: Final = 8
"""From this number of elements at each position on, kernels are as fast as NumPy."""


class _UnsuitedError(Exception):
    """Raised for a part of an index that segments cannot record."""


_UNSIGNED: Final = {size: np.dtype(f"u{size}") for size in (1, 2, 4, 8)}
_NO_POSITIONS: Final = frozenset({int, slice, type(None), type(Ellipsis)})
_PLAIN: Final = (int, type(None), type(Ellipsis))


def recorded_index(array: Any, index: Any, made: Callable[..., Any], value: Any = None) -> Any:
    """The index with handles in place of lists and arrays; None if NumPy must run the operation.

    Args:
        array: The handle of the array.
        index: The index.
        made: The function that makes a handle of a NumPy array.
        value: For a write, the value that is written.
    """
    given = index if type(index) is tuple else (index,)
    if not _pays(array, given):
        return None
    try:
        parts = [_part(one, made) for one in given]
    except _UnsuitedError:
        return None
    arrays = [one for one in parts if isinstance(one, Handle)]
    dtype: Any = getattr(value, "dtype", array.dtype)
    if is_complex(dtype) and not is_complex(array.dtype):
        return None  # NumPy warns each time
    if any(is_bool(one._facts.dtype) for one in arrays):
        if len(arrays) > 1 or value is None or _shape(value):
            return None
    elif not _is_written_in_order(arrays, value) or not _fit(array._facts.shape, parts):
        return None
    return tuple(parts) if type(index) is tuple else parts[0]


def _pays(array: Any, parts: Sequence[Any]) -> bool:
    """True unless NumPy gathers or scatters the elements faster than a segment.

    With elements of stored arrays, NumPy is as fast as kernels. A segment saves time with long
    rows, and if a pending array is read at few positions, as it then computes no other elements.
    """
    least = LEAST_SAVED * config.lazy_from
    if not least:
        return True
    facts, counts = array._facts, []
    for one in parts:
        kind = type(one)
        if kind is list:
            counts.append(len(one))
        elif kind is np.ndarray or (kind is type(array) and not one._facts.is_number):
            if is_bool(one.dtype):
                return True
            counts.append(one.size)
    if not counts or not facts.shape:
        return True
    size = facts.nbytes // facts.dtype.itemsize
    if array.root()._array is None:
        return bool(size - 4 * max(counts) >= least)
    if len(counts) > 1 or size < LEAST_ROW * facts.shape[0] or type(parts[0]) in _NO_POSITIONS:
        return False
    try:
        row = facts.sample[(slice(1), *parts[1:])].size
    except IndexError:
        return False
    return bool(row >= LEAST_ROW and row * counts[0] >= least)


def _part(value: Any, made: Callable[..., Any]) -> Any:
    """A part of an index, with a handle in place of positions or a mask."""
    kind = type(value)
    if kind in _PLAIN:
        return value
    if kind is slice:
        return slice(*map(_bound, (value.start, value.stop, value.step)))
    if kind is list:
        array = array_of(value)
        if array is None:
            raise _UnsuitedError
        return made(array if array.size else array.astype(np.intp), None)
    handle: Any = value if isinstance(value, Handle) else None
    if isinstance(value, np.integer) and (handle is None or handle._facts.is_number):
        return int(operator.index(value))
    if (
        (handle is None and kind is not np.ndarray)
        or not value.shape
        or not (is_integer(value.dtype) or is_bool(value.dtype))
    ):
        raise _UnsuitedError
    if handle is None and not is_lazy_type(value.dtype):
        raise _UnsuitedError
    found = made(value, Shared(value)) if handle is None else handle
    if found.is_apart() and found.size > MAX_COPIED:
        raise _UnsuitedError
    return found


def _bound(value: Any) -> int | None:
    """An end or the step of a slice."""
    if value is None or type(value) is int:
        return value
    if isinstance(value, np.integer):
        return int(operator.index(value))
    raise _UnsuitedError


def array_of(values: Sequence[Any], dtype: Any = None) -> Any:
    """The array that NumPy makes of a list of Python's numbers, or of such lists.

    None if the list has other elements, is long, or has rows of unequal lengths.
    """
    if not _has_numbers(values, (int, bool) if dtype is None else (int, bool, float, complex)):
        return None
    try:
        return np.array(values, dtype)
    except (ValueError, OverflowError, TypeError):  # NumPy raises its error
        return None


def _has_numbers(values: Any, kinds: tuple[type, ...]) -> bool:
    return len(values) <= MAX_LISTED and all(
        type(one) in kinds or (type(one) in (list, tuple) and _has_numbers(one, kinds))
        for one in values
    )


def _is_written_in_order(positions: Sequence[Any], value: Any) -> bool:
    """True if NumPy writes in the order of the index: the last value for a position stays."""
    return not _shape(value) or all(map(_is_contiguous, (*positions, value)))


def _shape(value: Any) -> Any:
    return getattr(value, "shape", ())


def _is_contiguous(array: Any) -> bool:
    expected = array.itemsize
    for length, stride in zip(reversed(array.shape), reversed(array.strides), strict=True):
        if length > 1 and stride != expected:
            return False
        expected *= length
    return True


def _fit(shape: Sequence[int], parts: Sequence[Any]) -> bool:
    """True if all positions are within the dimensions of an array."""
    used = sum(one is not None and one is not Ellipsis for one in parts)
    at = 0
    for one in parts:
        if one is Ellipsis:
            at += len(shape) - used
        elif one is not None:
            if isinstance(one, Handle) and not _are_within(look(one), shape[at]):
                return False
            at += 1
    return True


def _are_within(positions: Any, length: int) -> bool:
    if not positions.size:
        return True
    unsigned = positions.view(_UNSIGNED[positions.itemsize])  # negative positions become very large
    if unsigned.max() < length:
        return True
    return bool(
        is_signed(positions.dtype) and -length <= positions.min() and positions.max() < length
    )
