"""Graphs of axis tensors: pad, stack, concatenate, and one-hot encoding.

The results are complex views (ngraph tensors): operands are read in place, not copied.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import SupportsIndex

from axiomjit.axis.axes import (
    Axes,
    AxisName,
    MessageParts,
    NewAxes,
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
from axiomjit.axis.views import added_axis, checked_integer, normalized_position
from axiomjit.base import dtypes
from axiomjit.base.dtypes import is_integer
from axiomjit.base.errors import AxesError, GraphTypeError, amount
from axiomjit.base.origins import hides_frames, user_location
from axiomjit.graph import builder
from axiomjit.graph.builder import cast, concatenate, promotable
from axiomjit.graph.nodes import Node, Scalar
from axiomjit.graph.primitives import PRIMITIVES
from axiomjit.graph.reductions import positions_along
from axiomjit.graph.shape_ops import insert_dimensions, padded
from axiomjit.symbolic.dims import dim
from axiomjit.symbolic.index_maps import identity, permutation

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
        and reductions read without copying it.

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
        xs: The tensors; the axes of each one are brought to the order of the first tensor's axes.
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
