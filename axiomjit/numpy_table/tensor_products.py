"""The part of the NumPy table that sums products of any dimensions: outer to tensor products."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np
from numpy.lib.array_utils import normalize_axis_index

from axiomjit.base.dtypes import is_complex
from axiomjit.graph import builder
from axiomjit.graph.nodes import Node
from axiomjit.graph.primitives import PRIMITIVES
from axiomjit.graph.shape_ops import insert_dimensions, reshaped
from axiomjit.numpy_table.linalg import FUNCTIONS as LINALG
from axiomjit.numpy_table.options import Row, only_defaults
from axiomjit.numpy_table.shapes import array_node
from axiomjit.symbolic.data_dependent import assumed_equal
from axiomjit.symbolic.dims import product
from axiomjit.symbolic.index_maps import IndexMap, iterator

_MULTIPLY: Final = PRIMITIVES["multiply"]


def _flat(node: Node) -> Node:
    return reshaped(node, (product(node.shape),))


def _outer(a: object, b: object, out: object = None) -> Node:
    only_defaults("outer", out=out)
    left, right = _flat(array_node(a, "outer")), _flat(array_node(b, "outer"))
    return builder.elementwise(_MULTIPLY, insert_dimensions(left, (1,)), right)


def _vectors(x1: object, x2: object, /) -> Node:
    left, right = array_node(x1, "outer"), array_node(x2, "outer")
    if len(left.shape) != 1 or len(right.shape) != 1:
        ranks = f"x1.ndim={len(left.shape)} and x2.ndim={len(right.shape)}"
        raise ValueError(f"Input arrays must be one-dimensional, but they are {ranks}.")
    return _outer(left, right)


def contracted(left: Node, right: Node, first: Sequence[int], second: Sequence[int]) -> Node:
    """The sums of products of two arrays over pairs of dimensions.

    Raises:
        ValueError: two lengths that meet differ.
    """
    pairs = list(zip(first, second, strict=True))
    if not all(assumed_equal(left.shape[d], right.shape[e]) for d, e in pairs):
        raise ValueError("shape-mismatch for sum")
    rows = [d for d in range(len(left.shape)) if d not in first]
    columns = [d for d in range(len(right.shape)) if d not in second]
    rank = len(rows) + len(columns)

    def index(node: Node, kept: list[int], met: Sequence[int], start: int) -> IndexMap:
        places = {d: start + k for k, d in enumerate(kept)}
        places |= {d: rank + k for k, d in enumerate(met)}
        return tuple(iterator(places[d]) for d in range(len(node.shape)))

    maps = index(left, rows, first, 0), index(right, columns, second, len(rows))
    kept = (*(left.shape[d] for d in rows), *(right.shape[d] for d in columns))
    extents = (*kept, *(left.shape[d] for d in first))
    return builder.contract(left, right, maps, extents, rank)


def _tensordot(a: object, b: object, axes: Any = 2) -> Node:
    left, right = array_node(a, "tensordot"), array_node(b, "tensordot")
    ranks = len(left.shape), len(right.shape)
    if isinstance(axes, Sequence):
        sides = [list(one) if isinstance(one, Sequence) else [one] for one in axes]
        if len(sides[0]) != len(sides[1]):
            raise ValueError("shape-mismatch for sum")
    else:
        count = operator.index(axes)
        if count > min(ranks):
            raise ValueError("shape-mismatch for sum")
        sides = [list(range(-count, 0)), list(range(count))]
    first, second = (
        [normalize_axis_index(operator.index(one), rank) for one in side]
        for side, rank in zip(sides, ranks, strict=True)
    )
    return contracted(left, right, first, second)


def _inner(a: object, b: object, /) -> Node:
    left, right = array_node(a, "inner"), array_node(b, "inner")
    if not left.shape or not right.shape:
        return builder.elementwise(_MULTIPLY, left, right)
    return contracted(left, right, [len(left.shape) - 1], [len(right.shape) - 1])


def _conjugate(node: Node) -> Node:
    return builder.elementwise(PRIMITIVES["conjugate"], node) if is_complex(node.dtype) else node


def _vdot(a: object, b: object, /) -> Node:
    left, right = _flat(array_node(a, "vdot")), _flat(array_node(b, "vdot"))
    return contracted(_conjugate(left), right, [0], [0])


def _vecdot(x1: object, x2: object, /, *, axis: int = -1) -> Node:
    last = []
    for one in (x1, x2):
        node = array_node(one, "vecdot")
        along = normalize_axis_index(operator.index(axis), len(node.shape))
        order = [*(d for d in range(len(node.shape)) if d != along), along]
        last.append(builder.transpose(node, order))
    left, right = last
    if not assumed_equal(left.shape[-1], right.shape[-1]):
        raise ValueError("shape-mismatch for sum")
    stack = builder.broadcast_shapes([left.shape[:-1], right.shape[:-1]], "vecdot", left, right)
    rank = len(stack)
    first, second = (
        (*builder.stretch_map(node.shape[:-1], stack), iterator(rank)) for node in (left, right)
    )
    extents = (*stack, left.shape[-1])
    return builder.contract(_conjugate(left), right, (first, second), extents, rank)


def _tensorsolve(a: object, b: object, axes: Any = None) -> Node:
    node, right = array_node(a, "tensorsolve"), array_node(b, "tensorsolve")
    rank = len(node.shape)
    if axes is not None:
        moved = [axis % rank for axis in axes]
        node = builder.transpose(node, [*(d for d in range(rank) if d not in moved), *moved])
    shape = node.shape[len(right.shape) - rank :] if rank > len(right.shape) else ()
    length = product(shape)
    if not assumed_equal(product(node.shape), length * length):
        raise np.linalg.LinAlgError(
            "Input arrays must satisfy the requirement             "
            "prod(a.shape[b.ndim:]) == prod(a.shape[:b.ndim])"
        )
    solved = LINALG[np.linalg.solve](reshaped(node, (length, length)), _flat(right))
    return reshaped(solved, shape)


FUNCTIONS: Final[dict[Callable[..., object], Row]] = {
    np.outer: _outer,
    np.inner: _inner,
    np.vdot: _vdot,
    np.tensordot: _tensordot,
    np.linalg.outer: _vectors,
    np.linalg.tensordot: lambda x1, x2, /, *, axes=2: _tensordot(x1, x2, axes),
    np.linalg.vecdot: _vecdot,
    np.linalg.tensorsolve: _tensorsolve,
}
