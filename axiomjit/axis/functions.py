"""Graphs of axis tensors: contract, broadcast, relabel and reorder axes, and change their roles."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Final

from axiomjit.axis.axes import (
    Axes,
    AxesOf,
    AxisName,
    MessageParts,
    NewAxes,
    axes_of,
    axes_text,
    by_axis,
    check_names,
    check_outer,
    empty_reduction_message,
    known_lengths,
    new_axes,
    product_pairs,
    require,
)
from axiomjit.axis.axis import Axis, AxisRole, Derivation, derived_axis, make_axis
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
    """Prepare an operation that pairs dimensions by position and makes the results' axes."""
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
    """The new axis of a result, derived from the first axis of `like` if there is one.

    The length depends on the lengths of the axes in `every`.
    """
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


@hides_frames
def rename(x: Operand, names: Mapping[AxisName, AxisName]) -> Tensor:
    """The tensor with some of its axes renamed, or replaced by other axes.

    Args:
        x: The tensor.
        names: A dictionary whose keys are axes of x or their names. A value is the Axis that
            replaces the key, or the name of a new axis with the same length, class and roles.

    Returns:
        A tensor with the new axes in place of the old axes; no data are moved.

    Raises:
        AxesError: x lacks an axis, several axes have a given name, two axes become one, or lengths
            differ.
        GraphTypeError: a key or value is neither an axis nor a name.

    Examples:
        >>> x = aj.constant([1.0, 2.0], aj.make_axes({"H": 2}))
        >>> aj.rename(x, {"H": "rows"})
        f8[rows=2]
    """
    asked = f"rename of {shown((x,))}"
    tensor = as_tensor(x, asked)
    new: dict[Axis, Axis] = {}
    for axis, label in by_axis(tensor.axes, names, asked).items():
        if not isinstance(label, Axis | str):
            seen = f"{label!r} of type {type(label).__name__} for {axis}"
            remedy = "map axes, or their names, to axes or names"
            raise GraphTypeError(asked, seen, remedy, user_location())
        new[axis] = derived_axis(axis, axis.dim, name=label) if isinstance(label, str) else label
    labels = _distinct(asked, [new.get(axis, axis) for axis in tensor.axes])
    return relabelled(tensor, labels, asked)


def _distinct(asked: str, labels: list[Axis]) -> Axes:
    twice = [axis for k, axis in enumerate(labels) if axis in labels[:k]]
    if not twice:
        return Axes(labels)
    seen = f"{Axes(dict.fromkeys(twice))} for two axes"
    raise AxesError(asked, seen, "give each axis a label of its own", user_location())


@hides_frames
def cast_role(x: Operand, axes: NewAxes) -> Tensor:
    """The tensor with axes that have the roles of `axes`, by position.

    Returns:
        A tensor with the same lengths. An axis that already has the roles is kept; any other axis
        is replaced by a new axis with the roles and the name of its partner in `axes`.

    Raises:
        AxesError: the numbers of axes differ.
        GraphTypeError: x is an array without axes, or neither a tensor nor a number.
    """
    asked = f"cast_role of {shown((x,))}"
    tensor = as_tensor(x, asked)
    partners = new_axes(tensor.axes, axes, asked)
    if len(partners) != len(tensor.axes):
        raise AxesError(
            f"{asked} to {partners}",
            f"axes {tensor.axes}",
            "give one axis for each axis of the tensor",
            user_location(),
        )
    pairs = zip(tensor.axes, partners, strict=True)
    return cast_axes(tensor, [_with_roles(old, new.roles, new.name) for old, new in pairs])


@hides_frames
def map_roles(x: Operand, roles: Mapping[AxisRole, AxisRole]) -> Tensor:
    """The tensor with roles of its axes replaced by other roles.

    Returns:
        A tensor with the same lengths, names and classes; an axis without a replaced role is kept.

    Raises:
        AxesError: two axes would share a role that they did not share before.
        GraphTypeError: a key or value is not a role.
    """
    asked = f"map_roles of {shown((x,))}"
    tensor = as_tensor(x, asked)
    for role in (*roles, *roles.values()):
        if not isinstance(role, AxisRole):
            remedy = "map roles that make_axis_role(...) made"
            raise GraphTypeError(asked, f"a {type(role).__name__}", remedy, user_location())
    mapped = [[roles.get(role, role) for role in axis.roles] for axis in tensor.axes]
    for target in roles.values():
        having = [axis for axis, now in zip(tensor.axes, mapped, strict=True) if target in now]
        if len(having) > 1 and len({axis.roles for axis in having}) > 1:
            seen = f"{Axes(having)} would all have {target!r}"
            remedy = "map each role to one of its own"
            raise AxesError(asked, seen, remedy, user_location())
    pairs = zip(tensor.axes, mapped, strict=True)
    return cast_axes(tensor, [_with_roles(axis, now, axis.name) for axis, now in pairs])


def _with_roles(axis: Axis, roles: Iterable[AxisRole], name: str | None) -> Axis:
    """The axis if it has exactly these roles, else a new axis of its length and class."""
    wanted = tuple(roles)
    if set(wanted) == set(axis.roles):
        return axis
    return derived_axis(axis, axis.dim, name=name, roles=wanted)


@hides_frames
def axes_with_role_order(x: Operand, roles: Iterable[AxisRole]) -> Tensor:
    """The tensor with one axis per role, in the order of the roles.

    Returns:
        A tensor with a new axis of length 1 for each role that no axis of x has.

    Raises:
        AxesError: two axes share a role, or an axis has none of the roles.
        GraphTypeError: an item is not a role.
    """
    asked = f"axes_with_role_order of {shown((x,))}"
    tensor = as_tensor(x, asked)
    order: list[Axis] = []
    for role in roles:
        if not isinstance(role, AxisRole):
            remedy = "list roles that make_axis_role(...) made"
            raise GraphTypeError(asked, f"a {type(role).__name__}", remedy, user_location())
        found = tensor.axes.role_axes(role)
        if len(found) > 1:
            seen, remedy = f"{found} have one role", "merge or relabel one of them"
            raise AxesError(asked, seen, remedy, user_location())
        order.append(found[0] if found else make_axis(1, role.name, [role]))
    listed = _distinct(asked, order)
    missing = tensor.axes - listed
    if missing:
        seen, remedy = f"{missing} without a listed role", "list a role for each axis"
        raise AxesError(asked, seen, remedy, user_location())
    return axes_with_order(broadcast(tensor, tensor.axes | listed), listed)
