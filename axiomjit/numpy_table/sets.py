"""The part of the NumPy table whose results have as many elements as are distinct.

Their length is known when NumPy has found them; what follows is compiled for any.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any, Final

import numpy as np
from numpy.lib._arraysetops_impl import (
    UniqueAllResult,
    UniqueCountsResult,
    UniqueInverseResult,
)
from numpy.lib.array_utils import normalize_axis_index

from axiomjit.graph.external_calls import ArrayCall, in_tuple
from axiomjit.graph.library_operations import Labels, Shapes
from axiomjit.graph.nodes import Node
from axiomjit.numpy_table.options import Row
from axiomjit.numpy_table.shapes import array_node
from axiomjit.symbolic.dims import Dim, product


def _sorting(shapes: Shapes, labels: Labels) -> Dim:
    """The cost of sorting all operands."""
    sizes = [product(shape) for shape in shapes]
    return sum(sizes[1:], sizes[0]) * 30


def _call(function: Callable[..., Any], *operands: Node, **options: Any) -> ArrayCall:
    given = tuple(options.items())
    return ArrayCall(function.__name__, function, operands, given, additions=_sorting)


def _unique(
    ar: object,
    return_index: bool = False,
    return_inverse: bool = False,
    return_counts: bool = False,
    axis: int | None = None,
    *,
    equal_nan: bool = True,
    sorted: bool = True,
) -> Node | tuple[Node, ...]:
    node = array_node(ar, "unique")
    asked = {
        "return_index": bool(return_index),
        "return_inverse": bool(return_inverse),
        "return_counts": bool(return_counts),
    }
    options: dict[str, Any] = {name: True for name, value in asked.items() if value}
    options |= {} if equal_nan else {"equal_nan": False}
    options |= {} if sorted else {"sorted": False}
    if axis is not None:
        axis = options["axis"] = normalize_axis_index(operator.index(axis), len(node.shape))
    call = _call(np.unique, node, **options)
    several = any(asked.values())
    length = call.length(0 if several else None, axis or 0)
    shape = (length,) if axis is None else _with(node.shape, axis, length)
    if not several:
        return call.result(shape, call.dtypes()[0])
    flat = axis is None or len(node.shape) == 1
    inverse = node.shape if flat else (node.shape[axis or 0],)
    kept = zip(asked.values(), ((length,), inverse, (length,)), strict=True)
    found: tuple[Node, ...] = call.results(shape, *(one for wanted, one in kept if wanted))
    return found


def _with(shape: tuple[Dim, ...], axis: int, length: Dim) -> tuple[Dim, ...]:
    return (*shape[:axis], length, *shape[axis + 1 :])


def _unique_all(x: object) -> tuple[Node, ...]:
    node = array_node(x, "unique_all")
    call = _call(np.unique_all, node)
    length = (call.length(0),)
    return in_tuple(UniqueAllResult, *call.results(length, length, node.shape, length))


def _unique_counts(x: object) -> tuple[Node, ...]:
    call = _call(np.unique_counts, array_node(x, "unique_counts"))
    length = (call.length(0),)
    return in_tuple(UniqueCountsResult, *call.results(length, length))


def _unique_inverse(x: object) -> tuple[Node, ...]:
    node = array_node(x, "unique_inverse")
    call = _call(np.unique_inverse, node)
    return in_tuple(UniqueInverseResult, *call.results((call.length(0),), node.shape))


def _alone(call: ArrayCall) -> Node:
    """The only result of a call, with one dimension whose length is not known before."""
    return call.result((call.length(),), call.dtypes()[0])


def _unique_values(x: object) -> Node:
    return _alone(_call(np.unique_values, array_node(x, "unique_values")))


def _union1d(ar1: object, ar2: object) -> Node:
    return _alone(_call(np.union1d, array_node(ar1, "union1d"), array_node(ar2, "union1d")))


def _two_row(function: Callable[..., Any]) -> Row:
    name = function.__name__

    def row(ar1: object, ar2: object, assume_unique: bool = False) -> Node:
        operands = array_node(ar1, name), array_node(ar2, name)
        return _alone(_call(function, *operands, assume_unique=bool(assume_unique)))

    return row


def _intersect1d(
    ar1: object, ar2: object, assume_unique: bool = False, return_indices: bool = False
) -> Node | tuple[Node, ...]:
    operands = array_node(ar1, "intersect1d"), array_node(ar2, "intersect1d")
    if not return_indices:
        return _alone(_call(np.intersect1d, *operands, assume_unique=bool(assume_unique)))
    options = {"assume_unique": bool(assume_unique), "return_indices": True}
    call = _call(np.intersect1d, *operands, **options)
    length = (call.length(0),)
    return call.results(length, length, length)


def _isin(
    element: object,
    test_elements: object,
    assume_unique: bool = False,
    invert: bool = False,
    *,
    kind: str | None = None,
) -> Node:
    operands = array_node(element, "isin"), array_node(test_elements, "isin")
    options = {"assume_unique": bool(assume_unique), "invert": bool(invert), "kind": kind}
    call = _call(np.isin, *operands, **options)
    return call.result(operands[0].shape, call.dtypes()[0])


FUNCTIONS: Final[dict[Callable[..., object], Row]] = {
    np.unique: _unique,
    np.unique_all: _unique_all,
    np.unique_counts: _unique_counts,
    np.unique_inverse: _unique_inverse,
    np.unique_values: _unique_values,
    np.union1d: _union1d,
    np.intersect1d: _intersect1d,
    np.setdiff1d: _two_row(np.setdiff1d),
    np.setxor1d: _two_row(np.setxor1d),
    np.isin: _isin,
}
