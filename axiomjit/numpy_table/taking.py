"""The part of the NumPy table that takes elements at positions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np
from numpy.lib.array_utils import normalize_axis_index

from axiomjit.algebra.dims import dim
from axiomjit.algebra.index_maps import iterator
from axiomjit.base.dtypes import INT
from axiomjit.base.errors import GraphTypeError
from axiomjit.base.origins import user_location
from axiomjit.graph import builder
from axiomjit.graph.gathers import ZERO, gather, placed, take, taken
from axiomjit.graph.nodes import Node, size
from axiomjit.graph.primitives import PRIMITIVES
from axiomjit.graph.promotion import cast
from axiomjit.numpy_table.library import OneAxis, flat_along
from axiomjit.numpy_table.options import Row, only_defaults
from axiomjit.numpy_table.shapes import array_node


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
        raise GraphTypeError(
            str(error),
            "positions that are no integers",
            "convert them with .astype(np.int64)",
            user_location(),
        ) from None
    length = node.shape[along]
    others = (*node.shape[:along], *node.shape[along + 1 :], *positions.shape)
    if any(n == 0 for n in others):  # nothing is read
        return taken(node, cast(positions, INT), along)
    if length == 0:
        raise IndexError("cannot do a non-empty take from an empty axes.")
    if mode == "raise":
        return take(node, positions, along)
    if mode not in ("wrap", "clip"):
        raise ValueError(f"clipmode must be one of 'clip', 'raise', or 'wrap' (got {mode!r})")
    wide, count = cast(positions, INT), size(length)
    if mode == "wrap":
        return taken(node, builder.elementwise(PRIMITIVES["remainder"], wide, count), along)
    last = size(length - 1)
    return taken(node, builder.elementwise(PRIMITIVES["clip"], wide, ZERO, last), along)


def _take_along_axis(arr: object, indices: object, axis: OneAxis = -1) -> Node:
    node, positions = array_node(arr, "take_along_axis"), array_node(indices, "take_along_axis")
    if positions.dtype.kind not in "iu":
        raise IndexError("`indices` must be an integer array")
    if axis is None:
        if len(positions.shape) != 1:
            raise ValueError("when axis=None, `indices` must have a single dimension.")
        node, axis = flat_along(node, None)
    axis = normalize_axis_index(axis, len(node.shape))
    if len(node.shape) != len(positions.shape):
        raise ValueError("`indices` and `arr` must have the same number of dimensions")
    rest = [n if d != axis else dim(1) for d, n in enumerate(node.shape)]
    shape = builder.broadcast_shapes([positions.shape, tuple(rest)], "take_along_axis")
    index = list(builder.stretch_map(tuple(rest), shape))
    index[axis] = iterator(len(shape))
    at = placed(positions, node.shape[axis], axis, shape)
    where = [(at, builder.stretch_map(positions.shape, shape))]
    return gather(node, tuple(index), where, shape, [node.shape[axis]])


FUNCTIONS: Final[dict[Callable[..., object], Row]] = {
    np.take: _take,
    np.take_along_axis: _take_along_axis,
}
METHODS: Final[dict[str, Row]] = {"take": _take}
