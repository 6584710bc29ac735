"""Graphs of axis tensors: views with parts of axes, merged and split axes, and new axes.

A part of a tensor, selected by integers, slices, Ellipsis or a dictionary from axis to item, is a
view. A whole slice keeps its Axis; any other slice gets a new Axis with the class, roles and offset
of the old one. If a length is unknown, the bounds of a slice are minima or maxima of lengths.
"""

from __future__ import annotations

import operator
from collections.abc import Iterable, Mapping, Sequence
from types import EllipsisType
from typing import Final, SupportsIndex

import numpy as np

from axiomjit.axis.axes import (
    Axes,
    AxesOf,
    AxisName,
    MessageParts,
    NewAxes,
    axes_of,
    by_axis,
    new_axes,
    require,
)
from axiomjit.axis.axis import Axis, derived_axis
from axiomjit.axis.functions import relabelled
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
from axiomjit.base.records import Record
from axiomjit.graph import builder
from axiomjit.graph.nodes import Node
from axiomjit.graph.shape_ops import merge, split
from axiomjit.symbolic.dims import Dim, dim
from axiomjit.symbolic.index_maps import Affine, affine, iterator, range_of

REMEDY: Final = (
    "use integers, slices of integers, ... or a dictionary from axes to these, as x[{'H': 0}]; "
    "choose by values with where(condition, x, y) or take(x, indices, axis)"
)
Item = SupportsIndex | slice
Key = Item | EllipsisType | Sequence[object] | Mapping[AxisName, Item]


class Range(Record):
    """The positions along an axis from `start` to `stop` in steps of `step`."""

    start: int | None
    stop: int | None
    step: int

    @property
    def is_whole(self) -> bool:
        """True if the range contains every position, in order."""
        return self.start in (None, 0) and self.stop is None and self.step == 1


def items_of(key: object, axes: Axes, asked: str) -> list[object]:
    """One item per axis for the key of `x[key]`; an axis without an item gets a whole slice.

    Raises:
        AxesError: there are more items than axes, or an item is for an axis that the tensor lacks.
    """
    if isinstance(key, Mapping):
        named = by_axis(axes, key, asked)
        return [named.get(axis, slice(None)) for axis in axes]
    items = list(key) if isinstance(key, tuple) else [key]
    dots = [k for k, item in enumerate(items) if item is Ellipsis]
    count = len(items) - len(dots)
    if len(dots) > 1 or count > len(axes):
        seen = f"{amount(count, 'item')} for axes {axes}"
        seen += ", two of them ..." if len(dots) > 1 else ""
        remedy = "give at most one item per axis, and ... at most once"
        raise AxesError(asked, seen, remedy, user_location())
    at = dots[0] if dots else len(items)
    rest: list[object] = [slice(None)] * (len(axes) - count)
    return [*items[:at], *rest, *items[at + 1 :]]


def tensor_part(node: Node, axes: Axes, items: Sequence[object], asked: str) -> tuple[Node, Axes]:
    """Select a part of a node with these axes by one item per axis.

    Raises:
        AxesError: an integer is out of range; raised at the call if the length is unknown.
        GraphTypeError: an item is neither an integer nor a slice of integers.
    """
    chosen = [_checked_item(item, asked) for item in items]
    functions: list[Affine] = []
    labels: list[Axis] = []
    outside: list[tuple[int, Axis]] = []
    for item, axis in zip(chosen, axes, strict=True):
        if isinstance(item, int):
            functions.append(affine({}, item if item >= 0 else axis.dim + item))
            outside.append((item, axis))
        elif item.is_whole:
            functions.append(iterator(len(labels)))
            labels.append(axis)
        else:
            start, count = range_of(item.start, item.stop, item.step, axis.dim)
            functions.append(affine({len(labels): dim(item.step)}, start))
            labels.append(derived_axis(axis, count))
    extents: tuple[Dim, ...] = tuple(label.dim for label in labels)
    seen = builder.view(node, tuple(functions), extents)
    for position, axis in outside:
        _require_inside(seen, position, axis, asked)
    return seen, Axes(labels)


def _require_inside(node: Node, position: int, axis: Axis, asked: str) -> None:
    def explain() -> MessageParts:
        length = axis.length or 0
        remedy = f"give a position from {-length} to {length - 1}" if length else "leave it whole"
        return asked, f"position {position} along {axis}", remedy

    least = position + 1 if position >= 0 else -position
    require(node, axis.dim, ">=", dim(least), [axis], explain)


def _checked_item(item: object, asked: str) -> int | Range:
    if isinstance(item, slice):
        start, stop = (_checked_bound(bound, asked) for bound in (item.start, item.stop))
        step = _checked_bound(item.step, asked)
        if step == 0:
            remedy = "give a step that is not zero"
            raise AxesError(asked, f"{item}", remedy, user_location())
        return Range(start, stop, 1 if step is None else step)
    return checked_integer(item, asked, REMEDY)


def _checked_bound(bound: object, asked: str) -> int | None:
    return None if bound is None else checked_integer(bound, asked, REMEDY)


def checked_integer(item: object, asked: str, remedy: str) -> int:
    """The item as an integer; NumPy's integers are allowed, bools are not.

    Raises:
        GraphTypeError: the item is not an integer.
    """
    if isinstance(item, SupportsIndex) and not isinstance(item, bool | np.ndarray):
        return operator.index(item)
    raise GraphTypeError(
        asked,
        f"{item!r} of type str" if isinstance(item, str) else f"a {type(item).__name__}",
        remedy,
        user_location(),
    )


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
