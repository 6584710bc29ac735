"""Graphs of axis tensors: reductions, scans and sorting over named axes, and `take`.

NumPy sorts tensors, in plan steps between the loops. The elements that `take` selects are gathered
by the loops that read them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Final

import numpy as np

from axiomjit.axis.axes import (
    Axes,
    AxesOf,
    AxisName,
    MessageParts,
    axes_of,
    axes_text,
    axis_of,
    check_names,
    empty_reduction_message,
    matched,
    require,
)
from axiomjit.axis.axis import Axis, make_axis
from axiomjit.axis.elementwise import apply_ufunc, paired
from axiomjit.axis.functions import axes_with_order
from axiomjit.axis.tensors import (
    Operand,
    Tensor,
    as_tensor,
    axis_extents,
    axis_map,
    labelled,
    shown,
)
from axiomjit.base.dtypes import is_complex
from axiomjit.base.errors import AxesError
from axiomjit.base.origins import hides_frames, user_location
from axiomjit.graph import builder, external_calls
from axiomjit.graph.indexing_ops import checked_positions, gather
from axiomjit.graph.library_operations import ARGSORT, SORT
from axiomjit.graph.nodes import Node
from axiomjit.graph.primitives import MAX, MIN, PROD, SUM, UfuncFold
from axiomjit.graph.reductions import choose_position, log_sum_exp, running_fold
from axiomjit.graph.traced_values import By, Folding, number_of_groups
from axiomjit.numpy_rules import reductions
from axiomjit.symbolic.dims import dim, product
from axiomjit.symbolic.index_maps import iterator

NodeReduction = Callable[[Node, Sequence[int]], Node]


def _numpy_fold(function: Callable[..., Any]) -> NodeReduction:
    """The NumPy rule of a function, called with the reduced dimensions in ascending order.

    The bits of the result therefore do not depend on the order in which axes are listed.
    """

    def fold(node: Node, positions: Sequence[int]) -> Node:
        folded: Node = reductions.FUNCTIONS[function](node, tuple(sorted(positions)))
        return folded

    return fold


def _choosing(extreme: UfuncFold) -> NodeReduction:
    return lambda node, axes: choose_position(extreme, node, axes)


_FOLDS: Final[dict[str, NodeReduction]] = {
    "sum": _numpy_fold(np.sum),
    "prod": _numpy_fold(np.prod),
    "max": _numpy_fold(np.max),
    "min": _numpy_fold(np.min),
    "any": _numpy_fold(np.any),
    "all": _numpy_fold(np.all),
    "mean": _numpy_fold(np.mean),
    "variance": _numpy_fold(np.var),
    "std": _numpy_fold(np.std),
    "argmax": _choosing(MAX),
    "argmin": _choosing(MIN),
    "logsumexp": log_sum_exp,
    "squared_L2": _numpy_fold(np.sum),
    "L1_norm": _numpy_fold(np.sum),
}
_NEED_ELEMENTS: Final = ("max", "min", "argmax", "argmin")


@hides_frames
def sum(x: Operand, reduction_axes: AxesOf = None, out_axes: AxesOf = None) -> Tensor:
    """The sum over axes.

    Args:
        x: The tensor.
        reduction_axes: The axes to reduce, as Axis or by name, in any order; `[]` for no axes. By
            default all axes that are not in `out_axes`.
        out_axes: The axes of the result, in order; by default the remaining axes, in the order of
            x.

    Returns:
        A tensor with the remaining axes (ngraph axes, "Axes reduction"). Integers are summed in 64
        bits, bools are counted.

    Raises:
        AxesError: x lacks a listed axis, an axis is listed twice, or an axis of x is neither
            reduced nor in the result.
        GraphTypeError: x is an array without axes, or neither a tensor nor a number.

    Examples:
        >>> x = aj.constant(np.ones((2, 3)), aj.make_axes({"batch": 2, "channel": 3}))
        >>> aj.sum(x, "batch")
        f8[channel=3]
        >>> aj.sum(x, "batch").eval().values
        array([2., 2., 2.])
    """
    return _reduce("sum", x, reduction_axes, out_axes)


@hides_frames
def prod(x: Operand, reduction_axes: AxesOf = None, out_axes: AxesOf = None) -> Tensor:
    """The product over axes; arguments, dtypes and errors are those of `sum`."""
    return _reduce("prod", x, reduction_axes, out_axes)


@hides_frames
def max(x: Operand, reduction_axes: AxesOf = None, out_axes: AxesOf = None) -> Tensor:
    """The largest element over axes, or NaN if an element is NaN; arguments are those of `sum`.

    Returns:
        A tensor with the remaining axes and the dtype of x.

    Raises:
        AxesError: a reduced axis has length 0, or `sum` would raise this error.
    """
    return _reduce("max", x, reduction_axes, out_axes)


@hides_frames
def min(x: Operand, reduction_axes: AxesOf = None, out_axes: AxesOf = None) -> Tensor:
    """The smallest element over axes, or NaN; arguments, NaN and errors are those of `max`."""
    return _reduce("min", x, reduction_axes, out_axes)


@hides_frames
def any(x: Operand, reduction_axes: AxesOf = None, out_axes: AxesOf = None) -> Tensor:
    """True where an element over axes is not 0; arguments and errors are those of `sum`."""
    return _reduce("any", x, reduction_axes, out_axes)


@hides_frames
def all(x: Operand, reduction_axes: AxesOf = None, out_axes: AxesOf = None) -> Tensor:
    """True where no element over axes is 0; arguments and errors are those of `sum`."""
    return _reduce("all", x, reduction_axes, out_axes)


@hides_frames
def mean(x: Operand, reduction_axes: AxesOf = None, out_axes: AxesOf = None) -> Tensor:
    """The mean over axes; arguments and errors are those of `sum`.

    Returns:
        A tensor with the remaining axes and the dtype of x; for ints and bools, float64.
    """
    return _reduce("mean", x, reduction_axes, out_axes)


@hides_frames
def variance(x: Operand, reduction_axes: AxesOf = None, out_axes: AxesOf = None) -> Tensor:
    """The variance over axes; arguments and errors are those of `sum`.

    Returns:
        A tensor with the remaining axes and the dtype of `mean`, or of its real part if the dtype
        is complex.
    """
    return _reduce("variance", x, reduction_axes, out_axes)


@hides_frames
def var(x: Operand, reduction_axes: AxesOf = None, out_axes: AxesOf = None) -> Tensor:
    """The variance over axes: NumPy's name for `variance`."""
    return variance(x, reduction_axes, out_axes)


@hides_frames
def std(x: Operand, reduction_axes: AxesOf = None, out_axes: AxesOf = None) -> Tensor:
    """The square root of the variance; arguments, dtype and errors are those of `variance`."""
    return _reduce("std", x, reduction_axes, out_axes)


@hides_frames
def logsumexp(x: Operand, reduction_axes: AxesOf = None, out_axes: AxesOf = None) -> Tensor:
    """The logarithm of the sum of exponentials; arguments and errors are those of `sum`.

    Large elements do not overflow: the maximum is subtracted before exponentials are summed.

    Returns:
        A tensor with the remaining axes and the dtype of `mean`; -inf over axes without elements.
    """
    return _reduce("logsumexp", x, reduction_axes, out_axes)


@hides_frames
def argmax(x: Operand, reduction_axes: AxesOf = None, out_axes: AxesOf = None) -> Tensor:
    """The position of the first largest element over axes, or of the first NaN if there is one.

    Args:
        x: The tensor.
        reduction_axes: The axes to search, by default all in the order of x. For several axes the
            position counts elements in the listed order of axes; the last axis varies fastest.
        out_axes: The axes of the result, as for `sum`.

    Returns:
        An int64 tensor with the remaining axes.

    Raises:
        AxesError: a reduced axis has length 0, or `sum` would raise this error.
        GraphTypeError: x is an array without axes, or neither a tensor nor a number.
    """
    return _reduce("argmax", x, reduction_axes, out_axes)


@hides_frames
def argmin(x: Operand, reduction_axes: AxesOf = None, out_axes: AxesOf = None) -> Tensor:
    """The position of the first smallest element over axes; arguments are those of `argmax`."""
    return _reduce("argmin", x, reduction_axes, out_axes)


@hides_frames
def squared_L2(x: Operand, reduction_axes: AxesOf = None, out_axes: AxesOf = None) -> Tensor:
    """The sum of squares over axes; arguments and errors are those of `sum`."""
    tensor = as_tensor(x, f"squared_L2 of {shown((x,))}")
    squares = apply_ufunc(np.square, tensor.real)
    if is_complex(tensor.dtype):
        squares = squares + apply_ufunc(np.square, tensor.imag)
    return _reduce("squared_L2", squares, reduction_axes, out_axes)


@hides_frames
def L2_norm(
    x: Operand, reduction_axes: AxesOf = None, out_axes: AxesOf = None, eps: float = 0.0
) -> Tensor:
    """The square root of `eps` plus the sum of squares; arguments are those of `sum`."""
    squared = squared_L2(x, reduction_axes, out_axes)
    return apply_ufunc(np.sqrt, squared + eps if eps else squared)


@hides_frames
def L1_norm(x: Operand, reduction_axes: AxesOf = None, out_axes: AxesOf = None) -> Tensor:
    """The sum of absolute values over axes; arguments and errors are those of `sum`."""
    return _reduce("L1_norm", apply_ufunc(np.absolute, x), reduction_axes, out_axes)


@hides_frames
def tensor_size(x: Operand, reduction_axes: AxesOf = None, out_axes: AxesOf = None) -> Tensor:
    """The number of elements that a reduction over axes combines; arguments are those of `sum`.

    Returns:
        A tensor without axes, which is promoted like a Python int.
    """
    tensor = as_tensor(x, f"tensor_size of {shown((x,))}")
    reduced, _ = split_axes("tensor_size", tensor, reduction_axes, out_axes)
    count = builder.as_node(product(axis_extents(reduced)), "tensor_size")
    return labelled(count, Axes(), tensor)


def _reduce(name: str, x: Operand, reduction_axes: AxesOf, out_axes: AxesOf) -> Tensor:
    tensor = as_tensor(x, f"{name} of {shown((x,))}")
    whole = tensor.axes
    reduced, out = split_axes(name, tensor, reduction_axes, out_axes)
    node = _FOLDS[name](tensor.node, [whole.index(axis) for axis in reduced])
    if name in _NEED_ELEMENTS:
        _require_elements(name, node, reduced)
    return axes_with_order(labelled(node, whole - reduced, tensor), out)


def _folding(
    operands: Sequence[object], axes: AxesOf, running: bool, by: By | None = None
) -> Folding:
    """Prepare a reduction of tensors, whose axes are paired as in elementwise functions.

    Elements are reduced in the order of `axes`. For a reduction by groups, `axes` are by default
    the axes of the labels.

    Raises:
        AxesError: axes cannot be paired, one of `axes` is not an axis of the operands or is listed
            twice, or the labels have other axes.
    """
    asked = f"fold of {shown(tuple(operands))}"
    tensors = [as_tensor(value, asked) for value in operands]
    whole, labels = paired(tensors, asked)
    extents = axis_extents(whole)
    nodes = [
        builder.view(builder.strong(tensor.node), axis_map(label, whole), extents)
        for tensor, label in zip(tensors, labels, strict=True)
    ]
    if by is not None:
        return _grouped(tensors, nodes, whole, axes, by, asked)
    folded = whole if axes is None else axes_of(whole, axes, asked)
    left = whole if running else whole - folded
    positions = tuple(whole.index(axis) for axis in folded)
    need_elements = partial(_require_elements, reduced=folded)
    return Folding(nodes, positions, lambda node: labelled(node, left, *tensors), need_elements)


def _grouped(
    tensors: Sequence[Tensor], nodes: Sequence[Node], whole: Axes, axes: AxesOf, by: By, asked: str
) -> Folding:
    """Prepare a reduction by groups; the axis of the groups replaces the first reduced axis.

    Raises:
        AxesError: the labels do not have exactly the axes to reduce.
    """
    labels = as_tensor(by.labels, f"the labels of {asked}")
    own = matched(whole, labels.axes, asked)
    folded = axes_of(whole, own if axes is None else axes, asked)
    if own.is_not_equal_set(folded):
        raise AxesError(
            f"{asked} by groups over {folded}",
            f"labels with axes {labels.axes}",
            "give labels that have the axes to reduce, and no others",
            user_location(),
        )
    groups = by.groups
    if not isinstance(groups, Axis):
        groups = make_axis(number_of_groups(groups).constant, "groups")
    positions = tuple(whole.index(axis) for axis in folded)
    at = sorted(positions)[0] if positions else 0
    left = list(whole - folded)
    result = Axes((*left[:at], groups, *left[at:]))
    node = builder.view(labels.node, axis_map(own, folded), axis_extents(folded))
    return Folding(
        *(nodes, positions, lambda made: labelled(made, result, *tensors, labels)),
        labels=node,
        groups=groups.dim,
    )


OPERATIONS: Final = {"folding": _folding}


def _require_elements(name: str, node: Node, reduced: Axes) -> None:
    """Refuse a reduction without elements, at once or, if a length is unknown, at a call."""

    def explain() -> MessageParts:
        return empty_reduction_message(f"{name} over {reduced}", name)

    for axis in reduced:
        require(node, axis.dim, ">", dim(0), [axis], explain)


def split_axes(
    name: str, tensor: Tensor, reduction_axes: AxesOf, out_axes: AxesOf
) -> tuple[Axes, Axes]:
    """The axes to reduce and the axes of the result.

    Raises:
        AxesError: an axis is not one of the tensor's, is listed twice, or is neither reduced nor in
            the result.
    """
    whole, asked = tensor.axes, f"{name} of {tensor!r}"
    reduced = whole if reduction_axes is None else axes_of(whole, reduction_axes, asked)
    out = whole - reduced if out_axes is None else axes_of(whole, out_axes, asked)
    if reduction_axes is None:
        reduced = whole - out
    both, neither = reduced & out, whole - (reduced | out)
    if both or neither:
        listed = axes_text(both or neither)
        raise AxesError(
            f"{asked} over {reduced}, leaving {out}",
            f"{listed} {'both reduced and left' if both else 'neither reduced nor left'}",
            "give only reduction_axes or only out_axes, or each axis in one of them",
            user_location(),
        )
    return reduced, out


@hides_frames
def cumsum(x: Operand, axis: AxisName) -> Tensor:
    """The running sums along an axis.

    Args:
        x: The tensor.
        axis: An axis of x, or its name.

    Returns:
        A tensor with the axes and dtype of x; sums of bools and short integers have dtype int64.

    Raises:
        AxesError: x does not have the axis.
        GraphTypeError: x is an array without axes, or neither a tensor nor a number.
    """
    return _running("cumsum", SUM, x, axis)


@hides_frames
def cumprod(x: Operand, axis: AxisName) -> Tensor:
    """The running products along an axis; arguments and errors are those of `cumsum`."""
    return _running("cumprod", PROD, x, axis)


def _running(name: str, fold: UfuncFold, x: Operand, axis: AxisName) -> Tensor:
    tensor, along = _along(name, x, axis)
    dtype = fold.result_dtype(tensor.dtype)
    return _like(tensor, running_fold(fold, tensor.node, dtype, (along,)))


@hides_frames
def sort(x: Operand, axis: AxisName) -> Tensor:
    """The elements of a tensor in ascending order along an axis, with NaN last.

    Args:
        x: The tensor.
        axis: An axis of x, or its name.

    Returns:
        A tensor with the axes and dtype of x.

    Raises:
        AxesError: x does not have the axis.
        GraphTypeError: x is an array without axes, or neither a tensor nor a number.
    """
    tensor, along = _along("sort", x, axis)
    return _like(tensor, external_calls.sorted_along(SORT, tensor.node, along))


@hides_frames
def argsort(x: Operand, axis: AxisName) -> Tensor:
    """The positions that sort the elements along an axis; arguments and errors are those of `sort`.

    Returns:
        An int64 tensor with the axes of x.
    """
    tensor, along = _along("argsort", x, axis)
    return _like(tensor, external_calls.sorted_along(ARGSORT, tensor.node, along))


def _along(name: str, x: Operand, axis: AxisName) -> tuple[Tensor, int]:
    asked = f"{name} of {shown((x,))}"
    tensor = as_tensor(x, asked)
    return tensor, tensor.axes.index(axis_of(tensor.axes, axis, asked))


def _like(tensor: Tensor, node: Node) -> Tensor:
    return labelled(node, tensor.axes, tensor)


@hides_frames
def take(x: Operand, indices: Operand, axis: AxisName) -> Tensor:
    """The elements at positions along an axis.

    Args:
        x: The tensor.
        indices: Integer positions; negative positions count from the end. Axes that both `indices`
            and x have, except `axis`, are paired.
        axis: The axis of x that is indexed, or its name.

    Returns:
        A tensor with the axes of x, where the axes that only `indices` has replace `axis`.

    Raises:
        AxesError: x does not have the axis.
        GraphTypeError: the positions are not integers.
        PositionError: a position is out of range; raised when the program runs.
    """
    asked = f"take of {shown((x, indices))}"
    tensor, positions = as_tensor(x, asked), as_tensor(indices, asked)
    axis = axis_of(tensor.axes, axis, asked)
    at = tensor.axes.index(axis)
    new = positions.axes - (tensor.axes - axis)
    labels = Axes((*tensor.axes[:at], *new, *tensor.axes[at + 1 :]))
    check_names(tensor.axes, positions.axes, labels, asked)
    values = list(axis_map(tensor.axes - axis, labels))
    values.insert(at, iterator(len(labels)))
    found = checked_positions(positions.node, axis.dim, at, positions.node.shape)
    where = [(found, axis_map(positions.axes, labels))]
    node = gather(tensor.node, tuple(values), where, axis_extents(labels), [axis.dim])
    return labelled(node, labels, tensor, positions)
