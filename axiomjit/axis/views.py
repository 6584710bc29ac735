"""Graphs of axis tensors: views with parts of axes, merged and split axes, and new axes."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Sequence
from typing import Final, SupportsIndex

from axiomjit.axis.axes import Axes, AxesOf, NewAxes, axes_of, new_axes
from axiomjit.axis.axis import Axis
from axiomjit.axis.functions import relabelled
from axiomjit.axis.names import AxisName
from axiomjit.axis.slices import Item, Key, items_of, tensor_part
from axiomjit.axis.tensors import (
    Operand,
    Tensor,
    as_tensor,
    axis_extents,
    axis_map,
    labelled,
    shown,
)
from axiomjit.base.errors import AxesError, GraphTypeError, amount
from axiomjit.base.origins import hides_frames, user_location
from axiomjit.graph import builder
from axiomjit.graph.nodes import Node
from axiomjit.graph.shape_ops import merge, split


@hides_frames
def tensor_slice(x: Operand, slices: Sequence[Item], axes: NewAxes = None) -> Tensor:
    """A view of a part of a tensor; `x[...]` also accepts fewer items, and axes by name.

    Args:
        x: The tensor.
        slices: Exactly one item per axis: an integer, which drops the axis, or a slice.
        axes: The axes of the result, whose lengths must fit. By default a whole slice keeps its
            axis, and any other slice makes a new axis of the same class and roles.

    Returns:
        The part (ngraph tensors, "SliceTensorDescription"); x itself if all slices are whole.

    Raises:
        AxesError: the numbers of items and axes differ, an integer is out of range, or `axes` do
            not fit. Unknown lengths are checked when a computation is called.
        GraphTypeError: an item is neither an integer nor a slice.
    """
    asked = f"tensor_slice of {shown((x,))}"
    tensor = as_tensor(x, asked)
    items = list(slices) if isinstance(slices, Iterable) else [slices]
    if len(items) != len(tensor.axes):
        raise AxesError(
            asked,
            f"{amount(len(items), 'item')} for axes {tensor.axes}",
            "give exactly one item per axis; x[...] leaves axes out",
            user_location(),
        )
    node, labels = tensor_part(tensor.node, tensor.axes, items, asked)
    seen = tensor if node is tensor.node else labelled(node, labels, tensor)
    return seen if axes is None else relabelled(seen, new_axes(seen.axes, axes, asked), asked)


def _part(x: Operand, key: Key) -> Tensor:
    """The result of `x[key]`."""
    asked = f"a part of {shown((x,))}"
    tensor = as_tensor(x, asked)
    node, axes = tensor_part(tensor.node, tensor.axes, items_of(key, tensor.axes, asked), asked)
    return tensor if node is tensor.node else labelled(node, axes, tensor)


OPERATIONS: Final = {"part": _part}


@hides_frames
def slice_along_axis(x: Operand, axis: AxisName, item: Item) -> Tensor:
    """A view of x at an integer or slice along one axis, like `x[{axis: item}]`.

    Returns:
        The view; an integer drops the axis.

    Raises:
        AxesError: x lacks the axis, or the integer is out of range.
        GraphTypeError: the item is neither an integer nor a slice.
    """
    return _part(x, {axis: item})


@hides_frames
def expand_dims(x: Operand, axis: AxisName, pos: SupportsIndex = 0) -> Tensor:
    """The tensor with an additional axis at a position; the values repeat along the axis.

    Args:
        x: The tensor.
        axis: The new axis, of any length. If x already has the axis, the result is x.
        pos: The position of the axis in the result; negative positions count from the end.

    Returns:
        A view of x.

    Raises:
        AxesError: the position is out of range.
        GraphTypeError: `axis` is not an Axis.
    """
    asked = f"expand_dims of {shown((x,))}"
    tensor = as_tensor(x, asked)
    if axis in tensor.axes:
        return tensor
    new = added_axis(axis, asked)
    at = normalized_position(pos, len(tensor.axes) + 1, asked)
    labels = Axes((*tensor.axes[:at], new, *tensor.axes[at:]))
    node = builder.view(tensor.node, axis_map(tensor.axes, labels), axis_extents(labels))
    return labelled(node, labels, tensor)


def added_axis(axis: object, asked: str) -> Axis:
    """The axis that an operation adds, after a check that it is an Axis: a name has no length.

    Raises:
        GraphTypeError: `axis` is not an Axis.
    """
    if isinstance(axis, Axis):
        return axis
    name = f", {axis!r}" if isinstance(axis, str) else ", name"
    raise GraphTypeError(
        asked,
        f"{axis!r} of type {type(axis).__name__} as the axis that is added",
        f"make the new axis first: make_axis(length{name})",
        user_location(),
    )


def normalized_position(pos: SupportsIndex, count: int, asked: str) -> int:
    """The position as a number from 0 to `count - 1`; a negative position counts from the end.

    Raises:
        AxesError: the position is out of range.
        GraphTypeError: the position is not an integer.
    """
    if isinstance(pos, bool) or not isinstance(pos, SupportsIndex):
        seen = f"a position of type {type(pos).__name__}"
        raise GraphTypeError(asked, seen, "give an integer", user_location())
    at = operator.index(pos)
    if -count <= at < count:
        return at % count
    raise AxesError(
        asked,
        f"position {at} among {count}",
        f"give a position from {-count} to {count - 1}",
        user_location(),
    )


@hides_frames
def flatten(x: Operand, axes: AxesOf = None) -> Tensor:
    """The tensor with axes merged into one axis, whose elements are in C order.

    Args:
        x: The tensor.
        axes: Axes that follow each other in x in this order; by default all axes.

    Returns:
        A tensor with a new axis in place of the merged axes (ngraph tensors,
        "FlattenTensorDescription"). The same axes in the same order give the same new axis; a
        single axis is kept.

    Raises:
        AxesError: x lacks an axis, an axis is listed twice, or the axes are not next to each other.
        GraphTypeError: x is an array without axes, or neither a tensor nor a number.
    """
    asked = f"flatten of {shown((x,))}"
    tensor = as_tensor(x, asked)
    merged = tensor.axes if axes is None else axes_of(tensor.axes, axes, asked)
    first = tensor.axes.index(merged[0]) if merged else 0
    if tensor.axes[first : first + len(merged)] != merged:
        raise AxesError(
            f"{asked} over {merged}",
            f"axes {tensor.axes}",
            "name axes that follow each other in it, or bring them together with axes_with_order",
            user_location(),
        )
    groups = [len(merged)] if axes is None else _run_lengths(first, len(merged), len(tensor.axes))
    return _merged(tensor, groups)


def _run_lengths(first: int, count: int, rank: int) -> list[int]:
    return [*[1] * first, count, *[1] * (rank - first - count)]


@hides_frames
def flatten_at(x: Operand, i: SupportsIndex) -> Tensor:
    """The tensor with its first i axes merged into one axis, and the other axes into another.

    Returns:
        A tensor with two axes, or with one axis if i is 0 or the number of axes.

    Raises:
        AxesError: i is out of range.
        GraphTypeError: x is an array without axes, or neither a tensor nor a number.
    """
    asked = f"flatten_at of {shown((x,))}"
    tensor = as_tensor(x, asked)
    rank = len(tensor.axes)
    at = normalized_position(i, rank + 1, asked)
    return _merged(tensor, [at, rank - at] if 0 < at < rank else [rank])


def _merged(tensor: Tensor, groups: Sequence[int]) -> Tensor:
    """The tensor with runs of axes merged; `groups` are the numbers of axes of the runs."""
    rest = list(tensor.axes)
    runs = [Axes(rest.pop(0) for _ in range(count)) for count in groups]
    labels = Axes(run.flatten() for run in runs)
    if labels == tensor.axes:
        return tensor
    return labelled(merge(tensor.node, groups), labels, tensor)


@hides_frames
def unflatten(x: Operand) -> Tensor:
    """The tensor with merged axes split into their parts: the inverse of `flatten`.

    Returns:
        A view of x; x itself if no axis is a merged axis.

    Raises:
        GraphTypeError: x is an array without axes, or neither a tensor nor a number.
    """
    tensor = as_tensor(x, f"unflatten of {shown((x,))}")
    node: Node = tensor.node
    labels: list[Axis] = []
    for axis in tensor.axes:
        parts = axis.parts or (axis,)
        if axis.parts:
            node = split(node, len(labels), tuple(part.dim for part in parts))
        labels += parts
    return tensor if node is tensor.node else unflatten(labelled(node, Axes(labels), tensor))
