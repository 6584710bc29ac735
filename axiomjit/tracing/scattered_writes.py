"""Writes at positions by functions: `ufunc.at`, `np.put` and `np.put_along_axis`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np

from axiomjit.base.dtypes import INT, code
from axiomjit.graph import builder
from axiomjit.graph.builder import cast, loop_of
from axiomjit.graph.external_calls import stored_number
from axiomjit.graph.indexing_ops import taken
from axiomjit.graph.nodes import Node, Scalar, size
from axiomjit.graph.primitives import PRIMITIVES, Primitive
from axiomjit.graph.reductions import positions_along
from axiomjit.graph.shape_ops import flat
from axiomjit.numpy_table.elementwise import UFUNCS
from axiomjit.numpy_table.indexing import along_axis, at_flat, gathered_by, index_view
from axiomjit.numpy_table.library import OneAxis
from axiomjit.tracing.lengths import unwrap
from axiomjit.tracing.operands import node_of
from axiomjit.tracing.operators import TracedOperators
from axiomjit.tracing.refusals import refuse_outside, unsupported
from axiomjit.tracing.traced_storages import TracedStorage
from axiomjit.tracing.writes import (
    check_stretches,
    node_to_write,
    scatter_item,
    write_nothing,
    write_part,
)


def ufunc_at(ufunc: np.ufunc, a: Any, indices: Any, *operands: Any) -> None:
    """Do `ufunc.at`: at positions that repeat, each value is combined with the result before.

    Raises:
        UnsupportedError: a loop of ours does not compute the ufunc element by element.
        NeedsValuesError: the array is from outside the function.
        As `set_item`.
    """
    asked = f"numpy.{ufunc.__name__}.at"
    storage, seen = _memory(a, asked)
    values = [_strong(builder.as_node(node_of(value), asked)) for value in operands]
    combine = _combine_of(ufunc, seen, values)
    if combine is None:
        raise unsupported(asked, [seen, *values])
    key = unwrap(node_of(indices))
    gathered = gathered_by(seen, key)
    if gathered is None:
        part = index_view(seen, key)
        check_stretches(values[0], part.shape, asked)
        made = UFUNCS[ufunc](part, values[0])
        assert isinstance(made, Node)
        write_part(storage, part, made, asked)
        return
    *inputs, _ = loop_of(ufunc, (seen.dtype, values[0].dtype))
    scatter_item(storage, seen, gathered, cast(values[0], inputs[0]), combine)


def _strong(node: Node) -> Node:
    """The node with its dtype, which in `at` also that of a Python number counts as."""
    return node.replace(is_weak=False) if isinstance(node, Scalar) else builder.strong(node)


def _combine_of(ufunc: np.ufunc, seen: Node, values: list[Node]) -> Primitive | None:
    """The operation of two numbers that a ufunc is, in one dtype; None if there is none."""
    combine = PRIMITIVES.get(ufunc.__name__)
    if combine is None or combine.ufunc is not ufunc or combine.elementary or len(values) != 1:
        return None
    left, right, _ = loop_of(ufunc, (seen.dtype, values[0].dtype))
    return combine if left == right and code(left) in combine.loops else None


def put(a: Any, ind: Any, v: Any, mode: str = "raise") -> None:
    """Do `np.put`: values at positions of the flat array, repeated if they are too few.

    Raises:
        NeedsValuesError: the array is from outside the function.
        PositionError: at the call, a position is out of range.
    """
    storage, seen = _memory(a, "put")
    positions = flat(cast(builder.as_node(node_of(ind), "put"), INT))
    given = node_to_write(v, seen.dtype)
    if given.weak:
        given = stored_number(given, seen.dtype)
    values = flat(given)
    (count,), (length,) = positions.shape, values.shape
    if any(n == 0 for n in seen.shape) and count != 0:
        raise IndexError("cannot replace elements of an empty array")
    if length == 0 or count == 0:
        write_nothing(storage, seen, "put")
        return
    if length > count:
        values = index_view(values, slice(0, count))
    elif not (length == 1 or length == count):
        repeated = PRIMITIVES["remainder"], positions_along((count,), (0,)), size(length)
        values = taken(values, builder.elementwise(*repeated), 0)
    scatter_item(storage, seen, at_flat(seen, positions, mode), values)


def put_along_axis(arr: Any, indices: Any, values: Any, axis: OneAxis = None) -> None:
    """Do `np.put_along_axis`.

    Raises:
        As `put`, and what NumPy raises for shapes that do not fit.
    """
    positions = builder.as_node(node_of(indices), "put_along_axis")
    if axis is None:
        along_axis(positions, positions, None)  # for its errors
        put(arr, positions, values)
        return
    storage, seen = _memory(arr, "put_along_axis")
    value = node_to_write(values, seen.dtype)
    scatter_item(storage, seen, along_axis(seen, positions, axis), value)


def _memory(array: Any, asked: str) -> tuple[TracedStorage, Node]:
    """The memory of an array that is followed, and the view of it.

    Raises:
        TypeError: it is no array.
        NeedsValuesError: it is from outside the function.
    """
    if not isinstance(array, np.ndarray):
        raise TypeError(f"{asked}: the first operand must be an array")
    if not isinstance(array, TracedOperators) or array.storage is None:
        refuse_outside(asked, array)
    return array.storage, array.node


WRITERS: Final[dict[Callable[..., object], Callable[..., None]]] = {
    np.put: put,
    np.put_along_axis: put_along_axis,
}
"""NumPy's functions that write into their first argument and return nothing."""
