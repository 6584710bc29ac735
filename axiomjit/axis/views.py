"""Graphs of axis tensors: views with parts of axes, merged, split and new axes, and joined tensors.

A part of a tensor, selected by integers, slices, Ellipsis or a dictionary from axis to item, is a
view. A whole slice keeps its Axis; any other slice gets a new Axis with the class, roles and offset
of the old Axis. If a length is unknown, the bounds of a slice are minima or maxima of lengths.

Padded, stacked and concatenated tensors are complex views (ngraph tensors): operands are read in
place, not copied.
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
    axis_of,
    by_axis,
    matched,
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
from axiomjit.base import dtypes
from axiomjit.base.dtypes import is_integer
from axiomjit.base.errors import AxesError, GraphTypeError, amount
from axiomjit.base.origins import hides_frames, user_location
from axiomjit.base.records import Record
from axiomjit.graph import builder
from axiomjit.graph.builder import cast, concatenate, promotable
from axiomjit.graph.nodes import Node, Scalar
from axiomjit.graph.primitives import PRIMITIVES
from axiomjit.graph.reductions import positions_along
from axiomjit.graph.shape_ops import insert_dimensions, merge, padded, split
from axiomjit.symbolic.dims import Dim, dim
from axiomjit.symbolic.index_maps import Affine, affine, identity, iterator, permutation, range_of

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
    """The axis that an operation adds, checked to be an Axis, since a name has no length.

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
    """The tensor with neighbouring axes merged; `groups` has the number of axes of each group."""
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


PadWidth = SupportsIndex | Sequence[SupportsIndex]


@hides_frames
def pad(
    x: Operand, paddings: Sequence[PadWidth] | Mapping[AxisName, PadWidth], axes: NewAxes = None
) -> Tensor:
    """The tensor with zeros before and after its elements along axes.

    Args:
        x: The tensor.
        paddings: For each axis a pair with the numbers of zeros before and after the elements, or
            one number for both sides; or a dictionary from axes or their names to such paddings.
        axes: The axes of the result, whose lengths must fit. By default an unpadded axis is kept,
            and a padded axis is replaced by a new axis of the same class and roles.

    Returns:
        A view of x and zeros (ngraph tensors, "PadTensorDescription"), which elementwise operations
        and reductions read without a copy.

    Raises:
        AxesError: the numbers of paddings and axes differ, a padding is negative, or an axis does
            not fit.
        GraphTypeError: a padding is not an integer.

    Examples:
        >>> x = aj.constant(np.ones((2, 3)), aj.make_axes({"H": 2, "W": 3}))
        >>> aj.pad(x, {"W": (1, 0)}).eval().values
        array([[0., 1., 1., 1.],
               [0., 1., 1., 1.]])
    """
    asked = f"pad of {shown((x,))}"
    tensor = as_tensor(x, asked)
    if isinstance(paddings, Mapping):
        named = by_axis(tensor.axes, paddings, asked)
        paddings = [named.get(axis, 0) for axis in tensor.axes]
    given = paddings if isinstance(paddings, Iterable) else [paddings]
    pairs = [padding_pair(padding, asked) for padding in given]
    if len(pairs) != len(tensor.axes):
        raise AxesError(
            asked,
            f"{amount(len(pairs), 'padding')} for axes {tensor.axes}",
            "give one padding per axis: a number, or (before, after); or {axis: padding}",
            user_location(),
        )
    node, labels = tensor.node, list(tensor.axes)
    zero = Scalar(tensor.dtype, tensor.dtype.type(0), False)
    for d, (axis, (before, after)) in enumerate(zip(tensor.axes, pairs, strict=True)):
        if before or after:
            node = padded(node, d, (dim(before), dim(after)), zero)
            labels[d] = derived_axis(axis, axis.dim + (before + after))
    seen = tensor if node is tensor.node else labelled(node, Axes(labels), tensor)
    return seen if axes is None else relabelled(seen, new_axes(seen.axes, axes, asked), asked)


def padding_pair(padding: object, asked: str) -> tuple[int, int]:
    """The numbers of zeros before and after an axis, from a pair or one number for both sides.

    Raises:
        AxesError: the padding is neither a pair nor a number, or is negative.
        GraphTypeError: the numbers are not integers.
    """
    ends = tuple(padding) if isinstance(padding, Iterable) else (padding, padding)
    numbers = tuple(checked_integer(end, asked, "give integers") for end in ends)
    if len(numbers) != 2 or min(numbers) < 0:
        raise AxesError(
            asked,
            f"the padding {padding!r}",
            "give a number that is not negative, or a pair (before, after) of them",
            user_location(),
        )
    return numbers[0], numbers[1]


@hides_frames
def stack(xs: Iterable[Operand], axis: Axis, pos: SupportsIndex = 0) -> Tensor:
    """Stack tensors with the same axes along a new axis, one tensor at each position.

    Args:
        xs: The tensors; the axes of each tensor are brought to the order of the first tensor's
            axes.
        axis: The new axis; its length is the number of tensors.
        pos: The position of the new axis in the result; negative positions count from the end.

    Returns:
        A tensor of the common dtype; each operand is read in place.

    Raises:
        AxesError: there are no tensors, their axes differ, or `axis` has another length.
        GraphTypeError: an operand is an array without axes, or neither a tensor nor a number.
    """
    tensors, asked = _listed("stack", xs)
    first, new = tensors[0].axes, added_axis(axis, asked)
    at = normalized_position(pos, len(first) + 1, asked)
    nodes = []
    for tensor, node in zip(tensors, _in_common_dtype(tensors), strict=True):
        labels = matched(first, tensor.axes, asked)
        if labels.is_not_equal_set(first) or new in labels:
            seen = f"axes {tensor.axes} beside {first}"
            remedy = f"give tensors of the same axes, and an axis that none of them has, not {new}"
            raise AxesError(asked, seen, remedy, user_location())
        ordered = builder.view(node, axis_map(labels, first), axis_extents(first))
        nodes.append(insert_dimensions(ordered, (at,)))
    result = Axes((*first[:at], new, *first[at:]))
    node = builder.view(concatenate(nodes, at), identity(len(result)), axis_extents(result))

    def explain() -> MessageParts:
        return f"{asked} along {new}", amount(len(nodes), "tensor"), "give an axis of that length"

    require(node, new.dim, "==", dim(len(nodes)), [new], explain)
    return labelled(node, result, *tensors)


@hides_frames
def concat_along_axis(xs: Iterable[Operand], axis: AxisName) -> Tensor:
    """Join tensors one after the other along an axis.

    Args:
        xs: The tensors; the axes of each one are brought to the order of the first tensor's axes.
        axis: An axis of the first tensor, or its name. Each other tensor has the same axis or an
            axis of the same class or with a common role.

    Returns:
        A tensor of the common dtype; each operand is read in place. The concatenated axis is a new
        axis with the class and roles of `axis`. A single tensor is returned unchanged.

    Raises:
        AxesError: there are no tensors, or their axes do not fit.
        GraphTypeError: an operand is an array without axes, or neither a tensor nor a number.
    """
    tensors, asked = _listed("concat_along_axis", xs)
    first = tensors[0].axes
    axis = axis_of(first, axis, asked)
    at, rest = first.index(axis), first - axis
    if len(tensors) == 1:
        return tensors[0]
    nodes: list[Node] = []
    along: list[Axis] = []
    for tensor, node in zip(tensors, _in_common_dtype(tensors), strict=True):
        labels = matched(rest, tensor.axes, asked)
        own = labels - rest
        if len(own) != 1 or rest.is_not_equal_set(labels - own) or not related(axis, own[0]):
            raise AxesError(
                f"{asked} along {axis}",
                f"axes {tensor.axes} beside {first}",
                "give tensors with the same other axes, and this one or one of its class or role; "
                "relabel an axis with cast_axes(x, axes)",
                user_location(),
            )
        order = [at if label is own[0] else first.index(label) for label in labels]
        extents = axis_extents(Axes((*first[:at], own[0], *first[at + 1 :])))
        nodes.append(builder.view(node, permutation(order), extents))
        along.append(own[0])
    whole = dim(0)
    for one in along:
        whole = whole + one.dim
    new = derived_axis(axis, whole, along)
    result = Axes((*first[:at], new, *first[at + 1 :]))
    return labelled(concatenate(nodes, at), result, *tensors)


def related(one: Axis, other: Axis) -> bool:
    """True if two axes are the same axis, have the same class, or share a role."""
    same_class = one.axis_class is other.axis_class
    return one is other or same_class or any(other.has_role(role) for role in one.roles)


def _listed(name: str, xs: Iterable[Operand]) -> tuple[list[Tensor], str]:
    operands = tuple(xs) if isinstance(xs, Iterable) else (xs,)
    asked = f"{name} of {shown(operands)}"
    if not operands:
        remedy = "give at least one tensor"
        raise AxesError(f"{name} of nothing", "no tensors", remedy, user_location())
    return [as_tensor(x, asked) for x in operands], asked


def _in_common_dtype(tensors: Sequence[Tensor]) -> list[Node]:
    common = dtypes.common(tuple(promotable(tensor.node) for tensor in tensors))
    return [cast(tensor.node, common) for tensor in tensors]


@hides_frames
def one_hot(x: Operand, axis: Axis) -> Tensor:
    """The one-hot encoding of integers: True where the position along a new axis equals x.

    Returns:
        A tensor of bools with `axis`, followed by the axes of x. An element of x that is no
        position along `axis`, such as a negative number, gives False everywhere along `axis`.

    Raises:
        AxesError: x has the axis already.
        GraphTypeError: the elements of x are not integers.
    """
    asked = f"one_hot of {shown((x,))}"
    tensor, new = as_tensor(x, asked), added_axis(axis, asked)
    if new in tensor.axes:
        seen = f"axes {tensor.axes}"
        raise AxesError(f"{asked} along {new}", seen, "give another axis", user_location())
    if not is_integer(tensor.dtype):
        seen = f"elements of dtype {tensor.dtype}"
        raise GraphTypeError(asked, seen, "convert with astype(x, np.int64)", user_location())
    labels = Axes((new, *tensor.axes))
    extents = axis_extents(labels)
    nodes = positions_along(extents, [0]), tensor.node
    maps = permutation(range(len(labels))), axis_map(tensor.axes, labels)
    node = builder.map_op(PRIMITIVES["equal"], nodes, maps, extents)
    return labelled(node, labels, tensor)
