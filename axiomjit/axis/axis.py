"""Axes: labels for dimensions, which operations pair by identity, never by name or length.

In graphs the length of an axis is symbolic. An axis made by `make_axis` owns one symbol, whose
value may become known after the graph is built. Other axes are derived from axes that `make_axis`
made: offset axes (ngraph tensors, "Axes"), parts, padded axes and merged axes. An axis has any
number of roles and one class. Roles and classes are compared by identity, too: each call of a maker
makes a different tag.
"""

from __future__ import annotations

import itertools
import operator
from collections.abc import Iterable
from typing import Final, SupportsIndex, TypeVar
from weakref import WeakValueDictionary

from axiomjit.base.errors import AxesError, GraphTypeError
from axiomjit.base.locks import new_lock
from axiomjit.base.origins import hides_frames, user_location
from axiomjit.base.records import Record
from axiomjit.symbolic.dims import ANY, Dim, Symbol, dim, evaluate, named_length, product, symbol_of


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

    `make_axis_class` makes a class. Elementwise operations pair axes of one class and equal length
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


_numbers: Final = itertools.count()
_lock: Final = new_lock()
"""The lock held while an offset axis or a merged axis is looked up or made."""


class Derivation(Record):
    """The derivation of an axis: its length `dim` is a function of the symbols of the `roots`.

    An offset axis has a `primary` axis and an `offset`, a merged axis has `parts`.
    """

    dim: Dim
    roots: tuple[Axis, ...]
    primary: Axis | None = None
    offset: int = 0
    parts: tuple[Axis, ...] = ()


class Axis:
    """The label of one dimension of tensors and named arrays.

    `make_axis` makes axes (ngraph axes, "Axis and axes"). `x == y` means `x is y`: two axes of the
    same name and length are different.
    """

    __slots__ = (
        *("__weakref__", "_duals", "_length", "_roles", "_source"),
        *("axis_class", "dim", "docstring", "name", "origin"),
    )

    name: Final[str | None]
    docstring: Final[str | None]
    axis_class: Final[AxisClass]
    dim: Final[Dim]
    origin: Final[str | None]
    """The user's "file:line" where the axis was made."""

    def __init__(
        self,
        length: int | None = None,
        name: str | None = None,
        roles: AxisRole | Iterable[AxisRole] | None = None,
        docstring: str | None = None,
        axis_class: AxisClass | None = None,
        source: Derivation | None = None,
    ) -> None:
        """Make an axis (see `make_axis`), or one derived by `source`, which gives the length."""
        self.name = _checked_name(name)
        self.docstring = docstring
        self.axis_class = checked_class(axis_class, name)
        self.dim = named_length(f"x{next(_numbers)}", ANY) if source is None else source.dim
        self._roles = checked_roles(roles)
        self._source: Final = source
        self.origin = user_location()
        self._duals: WeakValueDictionary[int, Axis] | None = None
        self._length: int | None = None
        self.length = length

    @property
    def length(self) -> int | None:
        """The number of positions along the axis; None until it is known.

        A length can be assigned once, before or after the axis is used; assigning the same value
        again is allowed. The length of a derived axis (a part, a padded, merged or offset axis) is
        computed.

        Raises:
            AxesError: the length is negative or computed, or the axis already has another length.
            GraphTypeError: the length is not an integer.
        """
        if self._source is None:
            return self._length
        known = {root.symbol: root.length for root in self._source.roots}
        lengths = {symbol: length for symbol, length in known.items() if length is not None}
        return evaluate(self.dim, lengths) if len(lengths) == len(known) else None

    @length.setter
    def length(self, value: int | None) -> None:
        known = self.length
        if value is None and (known is None or self._source is not None):
            return
        checked = None if value is None else _checked_length(self, value)
        if known is not None and checked != known:
            raise AxesError(
                f"length {checked} for axis {self}",
                f"its length is {known}, and tensors may rely on it",
                "make another axis with make_axis(...)",
                user_location(),
            )
        if self._source is not None and known is None:
            roots = ", ".join(map(str, self._source.roots))
            remedy = "assign the lengths of those axes"
            asked = f"length {checked} for axis {self}"
            raise AxesError(asked, f"its length follows from {roots}", remedy, user_location())
        self._length = checked if self._source is None else None

    @property
    def roles(self) -> tuple[AxisRole, ...]:
        """The roles of the axis, in the order in which they were given."""
        return self._roles

    def has_role(self, role: AxisRole) -> bool:
        """True if the axis has this role object."""
        return role in self._roles

    def add_role(self, role: AxisRole) -> Axis:
        """Add a role to the axis.

        Returns:
            The axis itself.

        Raises:
            GraphTypeError: `role` is not an AxisRole.
        """
        self._roles = checked_roles((*self._roles, *checked_roles(role)))
        return self

    @property
    def symbol(self) -> Symbol:
        """The symbol of the length in graphs; only an axis made by `make_axis` has one."""
        symbol = symbol_of(self.dim)
        assert symbol is not None
        return symbol

    @property
    def roots(self) -> tuple[Axis, ...]:
        """The axes whose lengths determine this length; an axis made by `make_axis` is its root."""
        return (self,) if self._source is None else self._source.roots

    @property
    def parts(self) -> tuple[Axis, ...]:
        """The axes that were merged into this axis, at this axis's offset; empty for other axes."""
        merged = self.primary._source
        whole = () if merged is None else merged.parts
        return tuple(part.get_dual(self.dual_offset) for part in whole)

    @property
    def primary(self) -> Axis:
        """The axis at offset 0 from which this axis is derived; at offset 0, this axis itself."""
        source = self._source
        return self if source is None or source.primary is None else source.primary

    @property
    def dual_offset(self) -> int:
        """The offset from the primary axis (ngraph tensors, "Axes")."""
        return 0 if self._source is None else self._source.offset

    def get_dual(self, offset: int) -> Axis:
        """The axis at an offset from this axis; also written `axis + offset`.

        The result has the length, class and roles of this axis. Only `dot` pairs the two axes with
        each other; every other operation treats them as different axes. The same offset always
        gives the same object: `(W - 1) + 1 is W`.

        Raises:
            GraphTypeError: the offset is not an integer.
        """
        primary, total = self.primary, self.dual_offset + _checked_offset(self, offset)
        if total == 0:
            return primary
        with _lock:
            if primary._duals is None:
                primary._duals = WeakValueDictionary()
            dual = primary._duals.get(total)
            if dual is None:
                source = Derivation(primary.dim, primary.roots, primary, total)
                name = None if primary.name is None else f"{primary.name}{total:+d}"
                kept = primary.docstring, primary.axis_class
                dual = Axis(None, name, primary.roles, *kept, source=source)
                primary._duals[total] = dual
        return dual

    def __add__(self, offset: int) -> Axis:
        return self.get_dual(offset) if _is_single(offset) else NotImplemented

    def __sub__(self, offset: int) -> Axis:
        if not _is_single(offset):
            return NotImplemented
        return self.get_dual(-_checked_offset(self, offset))

    @property
    def T(self) -> Axis:
        """The transposed axis: offset k becomes -1 - k (ngraph tensors, "Axes")."""
        return self.get_dual(-1 - 2 * self.dual_offset)

    def __str__(self) -> str:
        length = "?" if self.length is None else self.length
        if self.name is not None:
            return f"{self.name}={length}"
        return f"length {length}" + (f" ({self.dual_offset:+d})" if self.dual_offset else "")

    def __repr__(self) -> str:
        return f"Axis({self})"


def _is_single(offset: object) -> bool:
    """True if `axis + offset` adds an offset, False if it adds axes."""
    return isinstance(offset, Axis | str | float) or not isinstance(offset, Iterable)


def _checked_name(name: object) -> str | None:
    if name is None or isinstance(name, str):
        return name
    remedy = "write make_axis(length, name), the name as text"
    seen = f"a {type(name).__name__}"
    raise GraphTypeError(f"an axis with the name {name!r}", seen, remedy, user_location())


def _checked_length(axis: Axis, value: object) -> int:
    shown = "an axis" if axis.name is None else f"axis {axis.name}"
    asked = f"length {value!r} for {shown}"
    if isinstance(value, bool) or not isinstance(value, SupportsIndex):
        seen = f"a {type(value).__name__}"
        raise GraphTypeError(asked, seen, "give an integer", user_location())
    length = operator.index(value)
    if length < 0:
        raise AxesError(asked, "a negative number", "give 0 or more", user_location())
    return length


def _checked_offset(axis: Axis, offset: object) -> int:
    if isinstance(offset, SupportsIndex) and not isinstance(offset, bool):
        return operator.index(offset)
    raise GraphTypeError(
        f"an offset of {axis!r}",
        f"{offset!r} of type {type(offset).__name__}",
        "add an integer, as in axis + 1; list axes with make_axes([...])",
        user_location(),
    )


@hides_frames
def make_axis(
    length: int | None = None,
    name: str | None = None,
    roles: AxisRole | Iterable[AxisRole] | None = None,
    docstring: str | None = None,
    axis_class: AxisClass | None = None,
) -> Axis:
    """Make a new axis: a label for a dimension, different from every other axis.

    Args:
        length: The number of positions; may be assigned later as `axis.length`.
        name: The name, by which functions of a tensor find the axis; messages show the name. Axes
            with equal names are different axes: operations do not pair them.
        roles: Tags made by `make_axis_role`; axes with a common role are still different axes.
        docstring: The meaning of the axis.
        axis_class: A class made by `make_axis_class`; by default a new class. Elementwise
            operations pair axes of one class and equal length.

    Returns:
        The axis (ngraph axes, "Axis and axes").

    Raises:
        AxesError: the length is negative.
        GraphTypeError: the length is not an integer, the name is not a string, or a role or class
            is not an object made by `make_axis_role` or `make_axis_class`.

    Examples:
        >>> H = aj.make_axis(2, "height")
        >>> x = aj.constant([1.0, 2.0], [H])
        >>> aj.sum(x, "height").eval().item()
        3.0
    """
    return Axis(length, name, roles, docstring, axis_class)


def derived_axis(
    axis: Axis,
    length: int | Dim,
    roots: Iterable[Axis] = (),
    name: str | None = None,
    roles: Iterable[AxisRole] | None = None,
) -> Axis:
    """A new axis with another length and the class, roles, offset and name of `axis`.

    Args:
        axis: The original axis.
        length: The length of the new axis, in terms of the symbols of all roots.
        roots: Axes besides `axis` whose lengths determine the length.
        name: The name; by default that of `axis`.
        roles: The roles; by default those of `axis`.
    """
    name = axis.primary.name if name is None else name
    length = dim(length)
    below = (axis, *roots) if length.constant is None else ()
    every = tuple(dict.fromkeys(root for one in below for root in one.roots))
    kept = axis.docstring, axis.axis_class
    roles = axis.roles if roles is None else roles
    new = Axis(None, name, roles, *kept, source=Derivation(length, every))
    return new.get_dual(axis.dual_offset)


_merged: Final[WeakValueDictionary[tuple[Axis, ...], Axis]] = WeakValueDictionary()


def merged_axis(axes: Iterable[Axis]) -> Axis:
    """The axis made by flattening several axes in this order.

    The same axes in the same order give the same object; a single axis is returned unchanged. The
    given axes are the `parts` of the merged axis, and its length is the product of their lengths. A
    merged axis has a new class and no roles.
    """
    parts = tuple(axes)
    if len(parts) == 1:
        return parts[0]
    with _lock:
        axis = _merged.get(parts)
        if axis is None:
            roots = tuple(dict.fromkeys(root for part in parts for root in part.roots))
            source = Derivation(product(tuple(part.dim for part in parts)), roots, parts=parts)
            name = "*".join("?" if part.name is None else part.name for part in parts)
            axis = _merged[parts] = Axis(None, name or None, source=source)
    return axis
