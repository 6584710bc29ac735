"""Graphs of axis tensors: rename axes, replace them, and change their roles."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from axiomjit.axis.axes import Axes, NewAxes, by_axis, new_axes
from axiomjit.axis.axis import Axis, derived_axis, make_axis
from axiomjit.axis.functions import axes_with_order, broadcast, cast_axes, relabelled
from axiomjit.axis.names import AxisName
from axiomjit.axis.tags import AxisRole
from axiomjit.axis.tensors import Operand, Tensor, as_tensor, shown
from axiomjit.base.errors import AxesError, GraphTypeError
from axiomjit.base.origins import hides_frames, user_location


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
