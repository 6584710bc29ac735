"""Elementwise functions of tensors, one for each ufunc with a NumPy rule, with NumPy's names."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Final, cast

import numpy as np

from axiomjit.axis.axes import Axes, check_names, check_outer, common_order, matched
from axiomjit.axis.tensors import (
    Operand,
    Tensor,
    as_tensor,
    axis_extents,
    axis_map,
    labelled,
    shown,
)
from axiomjit.base import dtypes
from axiomjit.base.errors import GraphTypeError
from axiomjit.base.origins import hides_frames, user_location
from axiomjit.graph import builder
from axiomjit.graph.nodes import Node
from axiomjit.graph.primitives import PRIMITIVES, WHERE, Primitive
from axiomjit.graph.traced_values import ShapedValue
from axiomjit.numpy_rules import elementwise as table

if TYPE_CHECKING:
    from numpy.typing import DTypeLike

TensorFunction = Callable[..., Tensor]
ElementwiseRow = Callable[..., Node | tuple[Node, ...]]
_PRIMITIVE_OF: Final[dict[np.ufunc, Primitive]] = {
    row.ufunc: row
    for row in PRIMITIVES.values()
    if row.ufunc is not None and row.ufunc not in table.SPECIAL
}


def paired(tensors: Sequence[Tensor], asked: str) -> tuple[Axes, list[Axes]]:
    """The result's axes of an elementwise operation, and each operand's axes among these axes.

    Raises:
        AxesError: axes of one class could be paired in several ways, or the operands have no common
            axis and `config.outer` is "error".
    """
    axes = tensors[0].axes
    labels = [axes]
    for tensor in tensors[1:]:
        label = matched(axes, tensor.axes, asked)
        check_outer(axes, tensor.axes, bool(axes & label), asked)
        whole = common_order(axes, label)
        check_names(axes, label, whole, asked)
        axes = whole
        labels.append(label)
    return axes, labels


def map_tensors(primitive: Primitive, asked: str, tensors: Sequence[Tensor]) -> Tensor:
    """Apply a primitive to tensors whose axes are paired."""
    axes, labels = paired(tensors, asked)
    maps = [axis_map(label, axes) for label in labels]
    nodes = [tensor.node for tensor in tensors]
    node = builder.map_op(primitive, nodes, maps, axis_extents(axes))
    return labelled(node, axes, *tensors)


def map_rule(row: ElementwiseRow, asked: str, tensors: Sequence[Tensor]) -> Tensor:
    """Apply a NumPy rule to tensors that are broadcast to the same axes; numbers stay numbers."""
    axes, labels = paired(tensors, asked)
    nodes = [
        builder.view(tensor.node, axis_map(label, axes), axis_extents(axes))
        if label
        else tensor.node
        for tensor, label in zip(tensors, labels, strict=True)
    ]
    node = row(*nodes)
    assert isinstance(node, Node)
    return labelled(node, axes, *tensors)


def apply_ufunc(ufunc: np.ufunc, *operands: object, name: str | None = None) -> Tensor:
    """Apply a ufunc with a NumPy rule, element by element.

    Raises:
        AxesError: axes of one class could be paired in several ways, or the operands have no common
            axis and `config.outer` is "error".
        GraphTypeError: an operand is an array without axes, or neither a tensor nor a number.
    """
    for value in operands:
        if isinstance(value, ShapedValue):
            return cast(Tensor, value.elementwise(ufunc, operands))
    asked = f"{name or ufunc.__name__} of {shown(operands)}"
    tensors = [as_tensor(value, asked) for value in operands]
    if ufunc in _PRIMITIVE_OF:
        return map_tensors(_PRIMITIVE_OF[ufunc], asked, tensors)
    return map_rule(table.UFUNCS[ufunc], asked, tensors)


def _unary(name: str, ufunc: np.ufunc) -> TensorFunction:
    def function(x: Operand) -> Tensor:
        return apply_ufunc(ufunc, x, name=name)

    return function


def _binary(name: str, ufunc: np.ufunc) -> TensorFunction:
    def function(x: Operand, y: Operand, dtype: DTypeLike | None = None) -> Tensor:
        operands = (x, y) if dtype is None else _converted(name, (x, y), dtype)
        result = apply_ufunc(ufunc, *operands, name=name)
        return result if dtype is None else astype(result, dtype)

    return function


def _function(name: str, ufunc: np.ufunc) -> TensorFunction:
    function = _unary(name, ufunc) if ufunc.nin == 1 else _binary(name, ufunc)
    function.__name__ = function.__qualname__ = name
    of = "each element of x" if ufunc.nin == 1 else "x and y, element by element, paired by axes"
    function.__doc__ = f"""NumPy's `{name}` of {of}.

    Returns:
        A tensor with the axes of x. With two operands, the axes of the operand that has all axes
        (of x if both have), else those of x and then the other axes of y
        (ngraph axes, "Element-wise binary ops"). dtypes are promoted as by NumPy, Python numbers
        are weak; a given `dtype` is that of the operands and of the result.

    Raises:
        AxesError: axes of one class could be paired in several ways, or `config.outer` refuses.
        GraphTypeError: an operand is an array without axes, or neither a tensor nor a number.
    """
    return function


def _converted(name: str, operands: Sequence[object], dtype: DTypeLike) -> list[Tensor]:
    """The operands cast to a dtype, if NumPy's "same_kind" allows it."""
    asked = f"{name} of {shown(tuple(operands))} with dtype {dtype}"
    wanted = dtypes.named(dtype, asked, user_location())
    tensors = [as_tensor(value, asked) for value in operands]
    for tensor in tensors:
        if not tensor.node.weak and not np.can_cast(tensor.dtype, wanted, "same_kind"):
            remedy = "convert it before with astype(x, dtype)"
            raise GraphTypeError(asked, f"an operand {tensor!r}", remedy, user_location())
    return [tensor if tensor.node.weak else astype(tensor, wanted) for tensor in tensors]


@hides_frames
def astype(x: Operand, dtype: DTypeLike) -> Tensor:
    """The tensor with elements converted to another dtype, as by NumPy's `astype`.

    Returns:
        A tensor with the axes of x; x itself if x has the dtype.

    Raises:
        GraphTypeError: elements of this dtype cannot be compiled, or x is neither a tensor nor a
            number.
    """
    asked = f"{shown((x,))} as {dtype}"
    tensor = as_tensor(x, asked)
    wanted = dtypes.named(dtype, asked, user_location())
    node = builder.cast(tensor.node, wanted)
    return tensor if node is tensor.node else labelled(node, tensor.axes, tensor)


@hides_frames
def where(condition: Operand, x: Operand, y: Operand) -> Tensor:
    """The elements of x where the condition holds, and those of y elsewhere.

    Returns:
        A tensor with the axes of `condition`, x and y, which are paired in this order, as by `add`.

    Raises:
        AxesError: axes of one class could be paired in several ways, or the operands have no common
            axis and `config.outer` is "error".
        GraphTypeError: an operand is an array without axes, or neither a tensor nor a number.
    """
    for value in (condition, x, y):
        if isinstance(value, ShapedValue):
            return cast(Tensor, value.elementwise(np.where, (condition, x, y)))
    asked = f"where of {shown((condition, x, y))}"
    return map_tensors(WHERE, asked, [as_tensor(value, asked) for value in (condition, x, y)])


@hides_frames
def clip(x: Operand, low: Operand | None, high: Operand | None) -> Tensor:
    """The elements of x limited to the range from `low` to `high`; None sets no limit.

    Returns:
        A tensor with the axes of x and of the limits, which are paired in this order, as by `add`.

    Raises:
        AxesError: axes of one class could be paired in several ways, or the operands have no common
            axis and `config.outer` is "error".
        GraphTypeError: an operand is an array without axes, or neither a tensor nor a number.
    """
    given = [value for value in (x, low, high) if value is not None]
    asked = f"clip of {shown(tuple(given))}"

    def row(*nodes: Node) -> Node:
        rest = iter(nodes[1:])
        limits = [None if limit is None else next(rest) for limit in (low, high)]
        clipped: Node = table.clip(nodes[0], *limits)
        return clipped

    return map_rule(row, asked, [as_tensor(value, asked) for value in given])


def _functions() -> dict[str, TensorFunction]:
    """The tensor function of each ufunc in `UFUNCS`, by each name that the ufunc has in NumPy."""
    # Not dir(np): getattr of all its names imports f2py, testing and other modules (60 ms).
    ufuncs = ((n, value) for n, value in vars(np).items() if isinstance(value, np.ufunc))
    functions = {name: _function(name, ufunc) for name, ufunc in ufuncs if ufunc in UFUNCS}
    # ngraph's name for NumPy's `floor_divide`.
    return functions | {"floordivide": _function("floordivide", np.floor_divide)}


UFUNCS: Final = frozenset(
    ufunc for ufunc in table.UFUNCS if ufunc.nout == 1 and ufunc.signature is None
)
"""The elementwise ufuncs with a NumPy rule and one result."""

FUNCTIONS: Final[Mapping[str, TensorFunction]] = _functions()
"""The elementwise functions of tensors, by name."""


def _mapped(primitive: Primitive, x: Tensor) -> Tensor:
    return map_tensors(primitive, f"{primitive.name} of {shown((x,))}", [x])


OPERATIONS: Final = {"mapped": _mapped, **FUNCTIONS}
