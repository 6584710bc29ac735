"""The part of the NumPy table that measures matrices and vectors, and products of `linalg`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np
from numpy.lib.array_utils import normalize_axis_index

from axiomjit.base.dtypes import FLOAT, is_complex, is_inexact
from axiomjit.graph import builder
from axiomjit.graph.builder import cast
from axiomjit.graph.nodes import Node, Scalar
from axiomjit.graph.primitives import MAX, MIN, PRIMITIVES, SUM, UfuncFold
from axiomjit.graph.shape_ops import insert_dimensions, reshaped
from axiomjit.numpy_table.linalg import singular_values
from axiomjit.numpy_table.neighbours import FUNCTIONS as NEIGHBOURS
from axiomjit.numpy_table.options import Row, refuse
from axiomjit.numpy_table.products import matmul_node
from axiomjit.numpy_table.reductions import FUNCTIONS as REDUCTIONS
from axiomjit.numpy_table.shapes import FUNCTIONS as SHAPES
from axiomjit.numpy_table.shapes import array_node
from axiomjit.symbolic.dims import product

_SQRT, _MULTIPLY, _ABSOLUTE = (PRIMITIVES[name] for name in ("sqrt", "multiply", "absolute"))


def _square_of(node: Node) -> Node:
    """The squares of absolute values."""
    if not is_complex(node.dtype):
        return builder.elementwise(_MULTIPLY, node, node)
    parts = builder.part(node, "real"), builder.part(node, "imag")
    squares = (builder.elementwise(_MULTIPLY, part, part) for part in parts)
    return builder.elementwise(PRIMITIVES["add"], *squares)


def _length_of(node: Node, axes: Sequence[int]) -> Node:
    return builder.elementwise(_SQRT, builder.fold(SUM, _square_of(node), tuple(axes)))


def _number(value: object) -> Node:
    return builder.as_node(value, "norm")


def _folded(fold: UfuncFold, sizes: Node, axis: int) -> Node:
    """Numbers from 0 on folded along a dimension; the largest of none is 0."""
    zero = Scalar(sizes.dtype, sizes.dtype.type(0), False)
    return builder.fold(fold, sizes, (axis,), zero if fold is MAX else None)


def _vector_norm(node: Node, order: Any, axis: int) -> Node:
    """The norm of vectors along a dimension."""
    if order is None or order == 2:
        return _length_of(node, (axis,))
    if order == 0:
        nonzero = builder.elementwise(PRIMITIVES["not_equal"], node, _number(0))
        real = np.zeros(0, node.dtype).real.dtype
        return builder.fold(SUM, cast(nonzero, real), (axis,))
    sizes = builder.elementwise(_ABSOLUTE, node)
    if order in (np.inf, -np.inf):
        return _folded(MAX if order > 0 else MIN, sizes, axis)
    if order == 1:
        return builder.fold(SUM, sizes, (axis,))
    if isinstance(order, str):
        raise ValueError(f"Invalid norm order '{order}' for vectors")
    if isinstance(order, Node):
        raise refuse("norm", "ord", order)
    raised = builder.elementwise(PRIMITIVES["power"], sizes, _number(order))
    total = builder.fold(SUM, raised, (axis,))
    return builder.elementwise(PRIMITIVES["power"], total, _number(1.0 / order))


_FOLDED: Final[dict[Any, tuple[UfuncFold, int]]] = {
    1: (MAX, 0),
    -1: (MIN, 0),
    np.inf: (MAX, 1),
    -np.inf: (MIN, 1),
}
"""By order of a norm of matrices, how sums of absolute values are folded, and which is summed."""


def _matrix_norm(node: Node, order: Any, axes: tuple[int, int]) -> Node:
    """The norm of matrices in two dimensions."""
    if order in (None, "fro", "f"):
        return _length_of(node, sorted(axes))
    if order in _FOLDED:
        fold, summed = _FOLDED[order]
        sizes = builder.elementwise(_ABSOLUTE, node)
        along, other = axes[summed], axes[1 - summed]
        sums = builder.fold(SUM, sizes, (along,))
        return _folded(fold, sums, other - (other > along))
    if order not in (2, -2, "nuc"):
        raise ValueError("Invalid norm order for matrices.")
    rest = [d for d in range(len(node.shape)) if d not in axes]
    values = singular_values(builder.transpose(node, [*rest, *axes]))
    accumulator = SUM if order == "nuc" else MAX if order == 2 else MIN
    return _folded(accumulator, values, len(rest))


def _norm(x: object, ord: Any = None, axis: Any = None, keepdims: Any = False) -> Node:
    node = array_node(x, "norm")
    if not is_inexact(node.dtype):
        node = cast(node, FLOAT)
    rank = len(node.shape)
    if axis is None:
        plain = ord is None or (ord in ("f", "fro") and rank == 2) or (ord == 2 and rank == 1)
        if plain:
            flat = _length_of(reshaped(node, (product(node.shape),)), (0,))
            return insert_dimensions(flat, tuple(range(rank))) if keepdims else flat
        axes = tuple(range(rank))
    else:
        given = axis if isinstance(axis, tuple) else (axis,)
        axes = tuple(normalize_axis_index(one, rank) for one in given)
    if len(axes) == 1:
        found = _vector_norm(node, ord, axes[0])
    elif len(axes) == 2:
        if axes[0] == axes[1]:
            raise ValueError("Duplicate axes given.")
        found = _matrix_norm(node, ord, (axes[0], axes[1]))
    else:
        raise ValueError("Improper number of dimensions to norm.")
    return insert_dimensions(found, tuple(sorted(axes))) if keepdims else found


def _of_vectors(x: object, /, *, axis: Any = None, keepdims: Any = False, ord: Any = 2) -> Node:
    if axis is not None:
        if isinstance(axis, tuple):
            raise refuse("vector_norm", "axis", axis)
        return _norm(x, ord, axis, keepdims)
    node = array_node(x, "vector_norm")
    found = _norm(reshaped(node, (product(node.shape),)), ord, 0)
    return insert_dimensions(found, tuple(range(len(node.shape)))) if keepdims else found


def _of_matrices(x: object, /, *, keepdims: Any = False, ord: Any = "fro") -> Node:
    return _norm(x, ord, (-2, -1), keepdims)


def _diagonal(x: object, /, *, offset: int = 0) -> Node:
    found: Node = SHAPES[np.diagonal](x, offset, -2, -1)
    return found


def _trace(x: object, /, *, offset: int = 0, dtype: Any = None) -> Node:
    found: Node = REDUCTIONS[np.trace](x, offset, -2, -1, dtype)
    return found


def _cross(x1: object, x2: object, /, *, axis: int = -1) -> Node:
    left, right = array_node(x1, "cross"), array_node(x2, "cross")
    if left.shape[axis] != 3 or right.shape[axis] != 3:
        raise ValueError(
            "Both input arrays must be (arrays of) 3-dimensional vectors, but they are "
            f"{int(left.shape[axis])} and {int(right.shape[axis])} dimensional instead."
        )
    found: Node = NEIGHBOURS[np.cross](left, right, axis=axis)
    return found


FUNCTIONS: Final[dict[Callable[..., object], Row]] = {
    np.linalg.norm: _norm,
    np.linalg.matrix_norm: _of_matrices,
    np.linalg.vector_norm: _of_vectors,
    np.linalg.matmul: lambda x1, x2, /: matmul_node(x1, x2),
    np.linalg.matrix_transpose: SHAPES[np.matrix_transpose],
    np.linalg.diagonal: _diagonal,
    np.linalg.trace: _trace,
    np.linalg.cross: _cross,
}
