"""The part of the NumPy table that finds the true elements of masks, and takes what they choose."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np

from axiomjit.base.dtypes import INT
from axiomjit.graph.external_calls import ArrayCall
from axiomjit.graph.indexing_ops import as_mask, take, taken, true_positions
from axiomjit.graph.library_operations import nonzero_positions
from axiomjit.graph.nodes import Constant, Input, Node, base_of
from axiomjit.graph.shape_ops import flat
from axiomjit.numpy_table.joins import FUNCTIONS as JOINS
from axiomjit.numpy_table.library import OneAxis, flat_along
from axiomjit.numpy_table.options import Row, only_defaults
from axiomjit.numpy_table.shapes import array_node


def nonzero(a: object) -> tuple[Node, ...]:
    """np.nonzero: for each dimension the positions of elements that are not zero.

    Raises:
        ValueError: the array has no dimensions.
    """
    node = array_node(a, "nonzero")
    if not node.shape:
        raise ValueError(
            "Calling nonzero on 0d arrays is not allowed. Use np.atleast_1d(scalar).nonzero() "
            "instead. If the context of this error is of the form `arr[nonzero(cond)]`, just use "
            "`arr[cond]`."
        )
    if isinstance(base_of(node), Input | Constant):  # NumPy finds how many, and where, in one pass
        call = ArrayCall("nonzero", nonzero_positions, (node,))
        length = (call.length(0),)
        return tuple(call.result(length, INT, k) for k in range(len(node.shape)))
    return true_positions(as_mask(node))


def _flatnonzero(a: object) -> Node:
    (found,) = nonzero(flat(array_node(a, "flatnonzero")))
    return found


def _argwhere(a: object) -> Node:
    node = array_node(a, "argwhere")
    stacked: Node = JOINS[np.stack](nonzero(node), axis=1)
    return stacked


def _compress(condition: object, a: object, axis: OneAxis = None, out: object = None) -> Node:
    only_defaults("compress", out=out)
    mask = as_mask(array_node(condition, "compress"))
    if len(mask.shape) != 1:
        raise ValueError("condition must be a 1-d array")
    node, along = flat_along(array_node(a, "compress"), axis)
    (positions,) = true_positions(mask)
    if mask.shape[0] <= node.shape[along]:
        return taken(node, positions, along)
    return take(node, positions, along)


def _extract(condition: object, arr: object) -> Node:
    mask = as_mask(flat(array_node(condition, "extract")))
    node = flat(array_node(arr, "extract"))
    return _compress(mask, node)


FUNCTIONS: Final[dict[Callable[..., object], Row]] = {
    np.nonzero: nonzero,
    np.flatnonzero: _flatnonzero,
    np.argwhere: _argwhere,
    np.compress: _compress,
    np.extract: _extract,
}
METHODS: Final[dict[str, Row]] = {
    "nonzero": nonzero,
    "compress": lambda a, condition, axis=None, out=None: _compress(condition, a, axis, out),
}
