"""Tags of axes: an axis has any number of roles and one class.

Tags are compared by identity, never by name: each call of a maker makes a different tag.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, TypeVar

from axiomjit.base.errors import GraphTypeError
from axiomjit.base.origins import hides_frames, user_location


class _Tag:
    """A tag of axes, with a name for messages."""

    __slots__ = ("__weakref__", "name")

    def __init__(self, name: str | None = None) -> None:
        self.name: Final = name

    def __repr__(self) -> str:
        return type(self).__name__ + (f"({self.name})" if self.name else "()")


class AxisRole(_Tag):
    """A tag for the meaning of an axis, e.g. height; `make_axis_role` makes it.

    Functions find axes by role: an axis of a filter slides along the axis that has the same role.
    """

    __slots__ = ()


class AxisClass(_Tag):
    """A tag for axes of one kind but any length, e.g. the channels of all layers.

    `make_axis_class` makes it. Elementwise operations pair axes of one class and equal length
    (ngraph tensors, "Axes").
    """

    __slots__ = ()


AnyTag = TypeVar("AnyTag", bound=_Tag)


@hides_frames
def make_axis_role(name: str | None = None) -> AxisRole:
    """Make a role; axes with the same role are still different axes (ngraph axes, "Properties")."""
    return AxisRole(name)


@hides_frames
def make_axis_class(name: str | None = None) -> AxisClass:
    """Make a class, an argument of `make_axis(..., axis_class=...)` (ngraph tensors, "Axes")."""
    return AxisClass(name)


def checked_class(value: AxisClass | None, name: str | None) -> AxisClass:
    """The given class; None gives a new class for an axis with this name.

    Raises:
        GraphTypeError: `value` is not a class of axes.
    """
    return AxisClass(name) if value is None else _checked(value, AxisClass, "make_axis_class")


def checked_roles(roles: AxisRole | Iterable[AxisRole] | None) -> tuple[AxisRole, ...]:
    """The given roles in order, without duplicates.

    Raises:
        GraphTypeError: an item is not a role.
    """
    if roles is None or isinstance(roles, AxisRole):
        return () if roles is None else (roles,)
    listed = roles if isinstance(roles, Iterable) and not isinstance(roles, str) else [roles]
    return tuple(dict.fromkeys(_checked(role, AxisRole, "make_axis_role") for role in listed))


def _checked(value: object, kind: type[AnyTag], maker: str) -> AnyTag:
    if isinstance(value, kind):
        return value
    raise GraphTypeError(
        f"an axis with the {kind.__name__} {value!r}",
        f"a {type(value).__name__}",
        f"make one with {maker}(name)",
        user_location(),
    )
