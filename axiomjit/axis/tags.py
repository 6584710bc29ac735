"""Tags of axes: roles, of which an axis may have several, and classes, of which it has one.

Both are compared by identity, never by name: two tags made by two calls are different.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, TypeVar

from axiomjit.base.errors import GraphTypeError
from axiomjit.base.origins import user_location


class _Tag:
    """A name for people, and an identity."""

    __slots__ = ("__weakref__", "name")

    def __init__(self, name: str | None = None) -> None:
        self.name: Final = name

    def __repr__(self) -> str:
        return type(self).__name__ + (f"({self.name})" if self.name else "()")


class AxisRole(_Tag):
    """A tag with the meaning of an axis, e.g. height. Made by `make_axis_role`.

    Functions look axes up by it: a filter slides along the axis that shares a role with its window.
    """

    __slots__ = ()


class AxisClass(_Tag):
    """A class of axes of any length, e.g. the channels of all layers.

    Elementwise operations pair axes of one class and equal length (ngraph tensors, "Axes"). Made by
    `make_axis_class`.
    """

    __slots__ = ()


AnyTag = TypeVar("AnyTag", bound=_Tag)


def make_axis_role(name: str | None = None) -> AxisRole:
    """A new role; axes that share one are still different axes (ngraph axes, "Properties")."""
    return AxisRole(name)


def make_axis_class(name: str | None = None) -> AxisClass:
    """A new class, given to axes as `make_axis(..., axis_class=...)` (ngraph tensors, "Axes")."""
    return AxisClass(name)


def checked_class(value: AxisClass | None, name: str | None) -> AxisClass:
    """The class given, or one of its own for an axis of this name.

    Raises:
        GraphTypeError: it is no class.
    """
    return AxisClass(name) if value is None else _checked(value, AxisClass, "make_axis_class")


def checked_roles(roles: AxisRole | Iterable[AxisRole] | None) -> tuple[AxisRole, ...]:
    """The roles given, each once, in their order.

    Raises:
        GraphTypeError: something listed is no role.
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
