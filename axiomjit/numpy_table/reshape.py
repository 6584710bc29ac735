"""The part of the NumPy table that merges and splits dimensions: reshape, ravel and flatten."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np

from axiomjit.base.errors import GraphValueError, amount
from axiomjit.base.origins import user_location
from axiomjit.graph import builder
from axiomjit.graph.describe import describe_shape, describe_type
from axiomjit.graph.known_strides import strides_of
from axiomjit.graph.nodes import Node
from axiomjit.graph.primitives import COPY
from axiomjit.graph.shape_ops import is_copied, reshaped
from axiomjit.numpy_table.options import Row, refuse
from axiomjit.numpy_table.shapes import array_node, lengths_of
from axiomjit.symbolic.data_dependent import assumed_equal, assumed_multiple
from axiomjit.symbolic.dims import Dim, dim, exact_quotient, product


def _reshape(a: object, shape: Any, order: object = "C", copy: bool | None = None) -> Node:
    node = array_node(a, "reshape")
    if order == "F":
        wanted = _complete(node, lengths_of(shape))
        turned: Node = _reshape(_transposed(node), wanted[::-1], "C", copy)
        return _transposed(turned)
    if order != "C":
        raise refuse("reshape", "order", order)
    wanted = _complete(node, lengths_of(shape))
    seen = reshaped(node, wanted)
    if copy and not is_copied(node, wanted):
        return builder.elementwise(COPY, seen)
    if copy is False and is_copied(node, wanted):
        raise ValueError("Unable to avoid creating a copy while reshaping.")
    return seen


def _reshape_method(a: object, *shape: Any, order: object = "C", copy: bool | None = None) -> Node:
    if not shape:
        raise TypeError("reshape() takes exactly 1 argument (0 given)")
    return _reshape(a, shape[0] if len(shape) == 1 else shape, order, copy)


def _ravel(a: object, order: object = "C") -> Node:
    """np.ravel: the result is contiguous; it is a view only of an array contiguous in C order."""
    node = _read_in_order(array_node(a, "ravel"), order, "ravel")
    flat = (product(node.shape),)
    strides = strides_of(node)
    long = [d for d, n in enumerate(node.shape) if n != 1]
    apart = strides is not None and bool(long) and strides[long[-1]] != 1
    seen = reshaped(node, flat)
    if apart and flat[0] != 0 and not is_copied(node, flat):
        return builder.elementwise(COPY, seen)
    return seen


def _flatten(a: object, order: object = "C") -> Node:
    node = _read_in_order(array_node(a, "flatten"), order, "flatten")
    flat = (product(node.shape),)
    return builder.elementwise(COPY, reshaped(node, flat))


def _transposed(node: Node) -> Node:
    return builder.transpose(node, tuple(reversed(range(len(node.shape)))))


def _read_in_order(node: Node, order: object, function: str) -> Node:
    """An array whose elements in C order are those of the node in C or Fortran order."""
    if order not in ("C", "F"):
        raise refuse(function, "order", order)
    return node if order == "C" else _transposed(node)


def _complete(node: Node, lengths: tuple[Dim, ...]) -> tuple[Dim, ...]:
    """The new shape, with one negative length replaced.

    Raises:
        ValueError: two negative lengths.
        GraphValueError: another number of elements.
    """
    unknown = [d for d, n in enumerate(lengths) if n < 0]
    if len(unknown) > 1:
        raise ValueError("can only specify one unknown dimension")
    size = product(node.shape)
    known = product(tuple(n for d, n in enumerate(lengths) if d not in unknown))
    missing = dim(1)
    if unknown and known != 0:
        assumed_multiple(size, known)
        exact = exact_quotient(size, known)
        missing = size // known if exact is None else exact
    if not assumed_equal(missing * known, size) or (unknown and known == 0):
        raise GraphValueError(
            f"reshape({describe_type(node)}, {describe_shape(lengths)})",
            f"{amount(size, 'element')} where the new shape has a multiple of {known}"
            if unknown
            else f"{amount(size, 'element')} where the new shape has {known}",
            "give lengths whose product is the number of elements, or -1 for one of them",
            user_location(),
        )
    return tuple(missing if d in unknown else n for d, n in enumerate(lengths))


FUNCTIONS: Final[dict[Callable[..., object], Row]] = {
    np.reshape: _reshape,
    np.ravel: _ravel,
}
METHODS: Final[dict[str, Row]] = {
    "reshape": _reshape_method,
    "ravel": _ravel,
    "flatten": _flatten,
}
