"""Convert arguments of computations to arrays of the placeholders' dtypes, and check overlaps."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Sequence
from typing import Any

import numpy as np

from axiomjit.axis.declarations import layout_of_storage
from axiomjit.axis.named_arrays import NamedArray
from axiomjit.axis.placed_arrays import has_layout, placed
from axiomjit.axis.tensors import Tensor
from axiomjit.base.array_values import refuse_chunked
from axiomjit.base.errors import AxesError, AxiomError, GraphTypeError, GraphValueError
from axiomjit.base.origins import user_location
from axiomjit.base.overlaps import overlaps_itself
from axiomjit.base.tree import is_labelled
from axiomjit.graph.execution import by_names
from axiomjit.graph.storages import storage_root


def _ordered(asked: str, tensor: Tensor, value: object) -> object:
    """The array of an argument with axes, transposed to the order of the placeholder's axes."""
    if isinstance(value, Tensor):
        value = value.eval()
    if is_labelled(value):
        return by_names("ordered", value, tensor.axes, asked)
    if not isinstance(value, NamedArray):
        return value
    if value.axes.is_not_equal_set(tensor.axes):
        remedy = "pass an array with the axes of the placeholder, or np.asarray(x)"
        raise AxesError(asked, f"the named array {value!r}", remedy, user_location())
    return value.values.transpose([value.axes.index(axis) for axis in tensor.axes])


def checked_argument(position: int, tensor: Tensor, value: object) -> np.ndarray:
    """The argument as an aligned array of the placeholder's dtype."""
    asked = f"argument {position} for the placeholder {tensor!r}"
    refuse_chunked(value, asked)
    try:
        array = np.asarray(_ordered(asked, tensor, value))
    except ValueError as error:
        if isinstance(error, AxiomError):
            raise
        raise GraphTypeError(asked, str(error), "pass an array", user_location()) from None
    if not np.can_cast(array.dtype, tensor.dtype, "same_kind"):
        raise GraphTypeError(
            asked,
            f"elements of dtype {array.dtype}",
            f"convert with .astype(np.{tensor.dtype}), or give the placeholder another dtype",
            user_location(),
        )
    shape = tuple(axis.length for axis in tensor.axes)
    if array.shape != shape:
        raise GraphValueError(
            asked,
            f"an array of shape {array.shape}",
            f"pass an array of shape {shape}, one dimension per axis in this order",
            user_location(),
        )
    layout = layout_of_storage(storage_root(tensor.node))
    # With an equal dtype that is another object, NumPy would return another array.
    aligned = np.require(array, None if array.dtype == tensor.dtype else tensor.dtype, "A")
    return aligned if has_layout(aligned, layout) else placed(aligned, layout)


def check_writable(position: int, tensor: Tensor, value: object) -> None:
    """Refuse an argument that is written if the caller's array would not get the new values.

    Raises:
        GraphTypeError: the argument is not an array of the placeholder's dtype, is read-only, or
            has elements that share memory, so that a write into one would change others.
    """
    if not isinstance(value, np.ndarray):
        seen = f"a {type(value).__name__}"
    elif value.dtype != tensor.dtype:
        seen = f"an array of dtype {value.dtype}"
    elif not value.flags.writeable:
        seen = "a read-only array"
    elif overlaps_itself(value):
        seen = "an array whose elements share memory"
    else:
        return
    raise GraphTypeError(
        f"argument {position} for the placeholder {tensor!r}, which the computation assigns to",
        seen,
        f"pass a writable NumPy array of dtype {tensor.dtype}, or assign to a variable",
        user_location(),
    )


def copy_overlapping(arrays: Sequence[np.ndarray], written: Collection[int]) -> list[np.ndarray]:
    """The arrays, with a copy in place of each array that shares memory with a written array.

    Raises:
        GraphValueError: two arrays that are both written share memory.
    """
    result = list(arrays)
    for position in written:
        for other, array in enumerate(arrays):
            if other == position or not np.may_share_memory(array, arrays[position]):
                continue
            if other in written:
                raise GraphValueError(
                    f"arguments {position} and {other}, which the computation assigns to",
                    "arrays that share memory",
                    "pass arrays that do not overlap",
                    user_location(),
                )
            result[other] = array.copy()
    return result


def leaf_key(leaf: Any, name: str) -> Hashable:
    """A cache key of an operand; operands with equal keys can use the same computation.

    The keys of two numbers are equal only if their bits are equal.

    Raises:
        GraphTypeError: the operand is an array without axes, or not a number.
    """
    if isinstance(leaf, NamedArray):
        return leaf.axes, leaf.dtype
    if isinstance(leaf, np.ndarray | np.generic) and not leaf.ndim:
        return type(leaf), leaf.dtype, leaf.tobytes()
    if isinstance(leaf, int | float | complex):
        return type(leaf), repr(leaf)
    is_array = isinstance(leaf, np.ndarray)
    raise GraphTypeError(
        f"argument {name} beside named arrays",
        f"an array of shape {leaf.shape}, whose dimensions have no axes"
        if is_array
        else f"a {type(leaf).__module__}.{type(leaf).__name__}",
        "say which axes they are with NamedArray(value, axes)",
        user_location(),
    )
