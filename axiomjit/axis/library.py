"""Graphs of axis tensors: scans and sorting along an axis, and elements at given positions.

NumPy sorts tensors, in plan steps between the loops. Elements at positions are gathered by the
loops that read them.
"""

from __future__ import annotations

from axiomjit.axis.axes import Axes
from axiomjit.axis.names import AxisName, axis_of
from axiomjit.axis.pairing import check_names
from axiomjit.axis.tensors import (
    Operand,
    Tensor,
    as_tensor,
    axis_extents,
    axis_map,
    labelled,
    shown,
)
from axiomjit.base.origins import hides_frames
from axiomjit.graph import external_calls
from axiomjit.graph.indexing_ops import checked_positions, gather
from axiomjit.graph.library_operations import ARGSORT, SORT
from axiomjit.graph.nodes import Node
from axiomjit.graph.primitives import PROD, SUM, UfuncFold
from axiomjit.graph.reductions import running_fold
from axiomjit.symbolic.index_maps import iterator


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
