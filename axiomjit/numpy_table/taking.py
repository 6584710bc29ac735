"""The part of the NumPy table that takes elements at positions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np
from numpy.lib.array_utils import normalize_axis_index

from axiomjit.base.dtypes import INT, is_integer
from axiomjit.graph import builder
from axiomjit.graph.builder import cast
from axiomjit.graph.indexing_ops import ZERO, Position, gather, no_integers, placed, taken
from axiomjit.graph.nodes import Node, size
from axiomjit.graph.primitives import PRIMITIVES
from axiomjit.numpy_table.indexing import Gathered
from axiomjit.numpy_table.library import OneAxis, flat_along
from axiomjit.numpy_table.options import Row, only_defaults
from axiomjit.numpy_table.shapes import array_node
from axiomjit.symbolic.dims import Dim, dim, product
from axiomjit.symbolic.index_maps import iterator


def _take(
    a: object, indices: object, axis: OneAxis = None, out: object = None, mode: str = "raise"
) -> Node:
    only_defaults("take", out=out)
    node, along = flat_along(array_node(a, "take"), axis)
    positions = array_node(indices, "take")
    if isinstance(indices, list | tuple) and not indices:
        positions = cast(positions, INT)
    try:
        np.take(np.zeros(1), np.zeros(1, positions.dtype))
    except TypeError as error:
        raise no_integers(str(error), "positions") from None
    length = node.shape[along]
    others = (*node.shape[:along], *node.shape[along + 1 :], *positions.shape)
    if any(n == 0 for n in others):  # nothing is read
        return taken(node, cast(positions, INT), along)
    if length == 0:
        raise IndexError("cannot do a non-empty take from an empty axes.")
    return taken(node, _in_mode(positions, length, along, mode), along)


def _take_along_axis(arr: object, indices: object, axis: OneAxis = -1) -> Node:
    node, positions = array_node(arr, "take_along_axis"), array_node(indices, "take_along_axis")
    if axis is None:
        node, _ = flat_along(node, None)
    return gather(node, *along_axis(node, positions, axis))


def along_axis(node: Node, positions: Node, axis: OneAxis) -> Gathered:
    """The elements that `take_along_axis` reads; without an axis those of a flat array.

    Raises:
        IndexError: the positions are no integers.
        ValueError: the dimensions do not fit.
        PositionError: at the call, a position is out of range.
    """
    if not is_integer(positions.dtype):
        raise IndexError("`indices` must be an integer array")
    if axis is None:
        if len(positions.shape) != 1:
            raise ValueError("when axis=None, `indices` must have a single dimension.")
        axis = 0
    axis = normalize_axis_index(axis, len(node.shape))
    if len(node.shape) != len(positions.shape):
        raise ValueError("`indices` and `arr` must have the same number of dimensions")
    rest = [n if d != axis else dim(1) for d, n in enumerate(node.shape)]
    shape = builder.broadcast_shapes([positions.shape, tuple(rest)], "take_along_axis")
    index = list(builder.stretch_map(tuple(rest), shape))
    index[axis] = iterator(len(shape))
    at = placed(positions, node.shape[axis], axis, shape)
    where = [(at, builder.stretch_map(positions.shape, shape))]
    return Gathered(tuple(index), where, shape, [node.shape[axis]])


def at_flat(node: Node, positions: Node, mode: str) -> Gathered:
    """The elements at positions in the flat array, counted in C order.

    Raises:
        ValueError: no such mode.
        PositionError: at the call, a position is out of range.
    """
    shape, rank = positions.shape, len(positions.shape)
    length = product(node.shape)
    at = _in_mode(positions, length, 0, mode)
    found: list[Position] = []
    step = dim(1)
    for k, n in reversed(list(enumerate(node.shape))):
        own = at if step is dim(1) else _divided("floor_divide", at, step)
        step = step * n
        own = own if k == 0 else _divided("remainder", own, n)
        found.append((own, builder.stretch_map(shape, shape)))
    index = tuple(iterator(rank + k) for k in range(len(node.shape)))
    return Gathered(index, found[::-1], shape, node.shape)


def _divided(name: str, node: Node, by: Dim) -> Node:
    return builder.elementwise(PRIMITIVES[name], node, size(by))


def _in_mode(positions: Node, length: Dim, axis: int, mode: str) -> Node:
    """Positions from 0 on and within a length, as a mode says."""
    if mode == "raise":
        return placed(positions, length, axis, positions.shape)
    if mode not in ("wrap", "clip"):
        raise ValueError(f"clipmode must be one of 'clip', 'raise', or 'wrap' (got {mode!r})")
    wide = cast(positions, INT)
    if mode == "wrap":
        return _divided("remainder", wide, length)
    return builder.elementwise(PRIMITIVES["clip"], wide, ZERO, size(length - 1))


FUNCTIONS: Final[dict[Callable[..., object], Row]] = {
    np.take: _take,
    np.take_along_axis: _take_along_axis,
}
METHODS: Final[dict[str, Row]] = {"take": _take}
