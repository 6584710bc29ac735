"""Graphs of axis tensors: contract, relabel, broadcast and reorder axes."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Final

from axiomjit.axis.axes import Axes, AxesOf, NewAxes, axes_of, new_axes
from axiomjit.axis.axis import Axis, Derivation, derived_axis, make_axis
from axiomjit.axis.deferred_checks import (
    MessageParts,
    empty_reduction_message,
    known_lengths,
    require,
)
from axiomjit.axis.names import axes_text
from axiomjit.axis.pairing import check_names, check_outer, product_pairs
from axiomjit.axis.tensors import (
    Operand,
    Tensor,
    as_tensor,
    axis_extents,
    axis_map,
    labelled,
    shown,
)
from axiomjit.base.errors import AxesError, amount
from axiomjit.base.origins import hides_frames, user_location
from axiomjit.graph import builder
from axiomjit.graph.nodes import Node
from axiomjit.graph.traced_values import Placing, Source
from axiomjit.symbolic.dims import Dim, dim
from axiomjit.symbolic.index_maps import identity, permutation


@hides_frames
def dot(x: Operand, y: Operand) -> Tensor:
    """The sum of products of x and y over their common axes; also written `x @ y`.

    Axes are paired at any position (ngraph axes, "Dot operation"). First an axis of x is paired
    with the axis of y at the next offset, so that `dot(x.T, x)` is the squared norm (ngraph
    tensors, "Axes"). `dot(x, y)` is `dot(y.T, x.T).T` up to the order of axes.

    Returns:
        A tensor with the remaining axes of x, followed by those of y; the outer product if no axes
        are paired. dtypes are promoted as by `multiply`.

    Raises:
        GraphTypeError: an operand is an array without axes, or neither a tensor nor a number.

    Examples:
        >>> H, W = aj.make_axes({"H": 2, "W": 3})
        >>> x = aj.constant(np.ones((2, 3)), [H, W])
        >>> aj.dot(x, aj.constant([1.0, 2, 3], W)).eval().values
        array([6., 6.])
    """
    asked = f"dot of {shown((x, y))}"
    left, right = as_tensor(x, asked), as_tensor(y, asked)
    pairs = product_pairs(left.axes, right.axes)
    check_outer(left.axes, right.axes, bool(pairs), asked)
    axes = (left.axes - [a for a, _ in pairs]) + (right.axes - [b for _, b in pairs])
    check_names(left.axes, right.axes, axes, asked)
    met = [a.dim for a, _ in pairs]
    result = {axis: k for k, axis in enumerate(axes)}
    met_left = {a: len(axes) + k for k, (a, _) in enumerate(pairs)}
    met_right = {b: len(axes) + k for k, (_, b) in enumerate(pairs)}
    maps = (
        permutation([(result | met_left)[axis] for axis in left.axes]),
        permutation([(result | met_right)[axis] for axis in right.axes]),
    )
    extents = (*axis_extents(axes), *met)
    node = builder.contract(left.node, right.node, maps, extents, len(axes))
    return labelled(node, axes, left, right)


def _placing(operands: Sequence[object], asked: str) -> Placing:
    """Prepare an operation that pairs dimensions by position, and the axes of its results."""
    tensors = [as_tensor(value, asked) for value in operands]
    every = [axis for tensor in tensors for axis in tensor.axes]

    def made(node: Node, sources: Sequence[Sequence[Source]]) -> Tensor:
        axes: list[Axis] = []
        for length, found in zip(node.shape, sources, strict=True):
            same = [tensors[k].axes[d] for k, d in found]
            free = [axis for axis in same if axis not in axes and axis.dim is length]
            axes.append(free[0] if free else _new_axis(same, length, every))
        return labelled(node, Axes(axes), *tensors)

    def need_elements(name: str, node: Node, length: Dim) -> None:
        require(node, length, ">", dim(0), every, partial(empty_reduction_message, asked, name))

    nodes = [builder.strong(tensor.node) for tensor in tensors]
    return Placing(nodes, made, known_lengths(every), need_elements)


def _new_axis(like: Sequence[Axis], length: Dim, every: Sequence[Axis]) -> Axis:
    """A new axis, derived from the first axis of `like` if any; its length depends on `every`."""
    if like:
        return derived_axis(like[0], length, every)
    if length.constant is not None:
        return make_axis(length.constant)
    roots = tuple(dict.fromkeys(root for axis in every for root in axis.roots))
    return Axis(None, None, source=Derivation(length, roots))


@hides_frames
def cast_axes(x: Operand, axes: NewAxes) -> Tensor:
    """The tensor with other axes, by position; no data are moved.

    Args:
        x: The tensor.
        axes: One axis per dimension, with the dimension's length. A name means the axis of x with
            this name.

    Returns:
        A tensor with `axes` (ngraph axes, "Axes casting"); x itself if these are its axes.

    Raises:
        AxesError: the numbers of axes or the lengths of a pair differ. Lengths that are not known
            yet are compared when a computation is called.
        GraphTypeError: x is an array without axes, or neither a tensor nor a number.
    """
    asked = f"cast_axes of {shown((x,))}"
    tensor = as_tensor(x, asked)
    return relabelled(tensor, new_axes(tensor.axes, axes, asked), asked)


def relabelled(tensor: Tensor, labels: Axes, asked: str) -> Tensor:
    """The tensor with other axes, by position; the same object if these are its axes.

    Raises:
        AxesError: the numbers of axes or the lengths of a pair differ; raised at the call if a
            length is unknown.
    """
    before = tensor.axes

    def explain() -> MessageParts:
        remedy = "give one axis of the same length for each axis of the tensor"
        seen = f"{amount(len(labels), 'axis', 'axes')} for axes {before}"
        if len(labels) == len(before):
            pairs = zip(before, labels, strict=True)
            unequal = [f"{new} for {old}" for old, new in pairs if old.length != new.length]
            seen = f"axes {before}: {', '.join(unequal)}"
        return f"{asked} to {labels}", seen, remedy

    if len(labels) != len(before):
        raise AxesError(*explain(), user_location())
    if labels == before:
        return tensor
    node = builder.view(tensor.node, identity(len(labels)), axis_extents(labels))
    for old, new in zip(before, labels, strict=True):
        require(node, old.dim, "==", new.dim, (old, new), explain)
    return labelled(node, labels, tensor)


@hides_frames
def broadcast(x: Operand, axes: NewAxes) -> Tensor:
    """The tensor with more axes, along which its values repeat.

    Args:
        x: The tensor.
        axes: All axes of x, as Axis or by name, and any other axes, in the order of the result.

    Returns:
        A tensor with `axes` (ngraph axes, "Axes broadcasting"); x itself if these are its axes.

    Raises:
        AxesError: an axis of x is missing, or an axis is listed twice.
        GraphTypeError: x is an array without axes, or neither a tensor nor a number.
    """
    asked = f"broadcast of {shown((x,))}"
    tensor = as_tensor(x, asked)
    wanted = new_axes(tensor.axes, axes, asked)
    return _as_view(
        asked, tensor, wanted, wanted.is_super_set(tensor.axes), "list every axis of it"
    )


@hides_frames
def axes_with_order(x: Operand, axes: AxesOf) -> Tensor:
    """A view of the tensor with its axes in another order.

    Args:
        x: The tensor.
        axes: Each axis of x once, as the Axis or by its name.

    Returns:
        A tensor with `axes` (ngraph axes, "Axes reordering"); x itself if that is its order.

    Raises:
        AxesError: the sets of axes differ, or an axis is listed twice.
        GraphTypeError: x is an array without axes, or neither a tensor nor a number.
    """
    asked = f"axes_with_order of {shown((x,))}"
    tensor = as_tensor(x, asked)
    wanted = axes_of(tensor.axes, axes, asked)
    return _as_view(asked, tensor, wanted, len(wanted) == len(tensor.axes), "list each of its axes")


OPERATIONS: Final = {"dot": dot, "placing": _placing, "axes_with_order": axes_with_order}


def _as_view(asked: str, tensor: Tensor, axes: Axes, fits: bool, remedy: str) -> Tensor:
    if not fits:
        seen = f"axes {tensor.axes}, of which {axes_text(tensor.axes - axes)} would be lost"
        raise AxesError(f"{asked} to {axes}", seen, remedy, user_location())
    if axes == tensor.axes:
        return tensor
    node = builder.view(tensor.node, axis_map(tensor.axes, axes), axis_extents(axes))
    return labelled(node, axes, tensor)
