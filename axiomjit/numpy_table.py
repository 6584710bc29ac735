"""The one table from NumPy functions to the builder; every NumPy door goes through it.

A row takes what the NumPy function takes, with arrays as nodes, and gives a node or a tuple of
nodes. An option that is not compiled is refused by name. The folds, the
views and `reshape` have files of their own.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np

from axiomjit import builder, numpy_reductions, numpy_reshape, numpy_shapes
from axiomjit.dtypes import supported
from axiomjit.errors import UnsupportedError
from axiomjit.graph import Node
from axiomjit.numpy_options import Row, only_defaults, refuse
from axiomjit.origins import user_location
from axiomjit.primitives import PRIMITIVES, WHERE
from axiomjit.print_graph import type_text


def _ufunc_row(name: str) -> Row:
    primitive = PRIMITIVES[name]

    def row(*operands: object) -> Node:
        nodes = [builder.as_node(operand, name) for operand in operands]
        return builder.elementwise(primitive, *nodes)

    return row


def _power(base: object, exponent: object) -> Node:
    return builder.power(builder.as_node(base, "power"), builder.as_node(exponent, "power"))


def _square(x: object) -> Node:
    node = builder.as_node(x, "square")
    return builder.elementwise(PRIMITIVES["multiply"], node, node)


def _reciprocal(x: object) -> Node:
    node = builder.as_node(x, "reciprocal")
    return builder.elementwise(PRIMITIVES["divide"], builder.as_node(1, "reciprocal"), node)


def _dot(a: object, b: object, out: object = None) -> Node:
    only_defaults("dot", out=out)
    return builder.dot(builder.as_node(a, "dot"), builder.as_node(b, "dot"))


def _matmul(a: object, b: object) -> Node:
    left, right = builder.as_node(a, "matmul"), builder.as_node(b, "matmul")
    if not 1 <= len(left.shape) <= 2 or not 1 <= len(right.shape) <= 2:
        raise UnsupportedError(
            f"matmul({type_text(left)}, {type_text(right)})",
            "operands of other than one or two dimensions",
            "use matrices or vectors; for numbers use *",
            user_location(),
        )
    return builder.dot(left, right)


def _where(condition: object, x: object = None, y: object = None) -> Node:
    if x is None or y is None:
        raise UnsupportedError(
            "where(condition)",
            "a result whose length depends on the values",
            "give all three arguments: where(condition, x, y)",
            user_location(),
        )
    nodes = [builder.as_node(value, "where") for value in (condition, x, y)]
    if nodes[0].dtype.kind != "b":
        zero = builder.as_node(0, "where")
        nodes[0] = builder.elementwise(PRIMITIVES["not_equal"], nodes[0], zero)
    return builder.elementwise(WHERE, *nodes)


def cast_to(node: Node, dtype: Any, copy: bool = True) -> Node:
    """`node.astype(dtype)`: a fresh array; with `copy=False` the node where it has the dtype."""
    wanted = supported(np.dtype(dtype), f"astype({dtype})", user_location())
    if node.dtype == wanted:
        return _copy(node) if copy else node
    return builder.cast(node, wanted)


def _copy(a: object, order: str = "K") -> Node:
    if order != "K":
        raise refuse("copy", "order", order)
    node = builder.as_node(a, "copy")
    return builder.elementwise(PRIMITIVES["copy"], node)


SPECIAL: Final[dict[np.ufunc, Row]] = {
    np.power: _power,
    np.square: _square,
    np.positive: _copy,
    np.reciprocal: _reciprocal,
    np.matmul: _matmul,
}
UFUNCS: Final[dict[np.ufunc, Row]] = {
    **{row.ufunc: _ufunc_row(name) for name, row in PRIMITIVES.items() if row.ufunc is not None},
    **SPECIAL,
}
FUNCTIONS: Final[dict[Callable[..., object], Row]] = {
    np.dot: _dot,
    np.where: _where,
    np.copy: _copy,
    **numpy_reductions.FUNCTIONS,
    **numpy_shapes.FUNCTIONS,
    **numpy_reshape.FUNCTIONS,
}
METHODS: Final[dict[str, Row]] = {
    **numpy_reductions.METHODS,
    "dot": _dot,
    "copy": lambda a, order="C": _copy(a, "K" if order == "C" else order),
    **numpy_shapes.METHODS,
    **numpy_reshape.METHODS,
}
