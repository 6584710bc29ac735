"""Declarations of placeholders and variables, kept outside the graph, and arrays in their layouts.

A node refers to its storage only by a token. The declaration of a storage, with the initial values
of a variable, lives as long as the tensors that are computed from the storage.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable
from typing import Final, NamedTuple, TypeAlias
from weakref import WeakValueDictionary

import numpy as np

from axiomjit.axis.axes import Axes
from axiomjit.base.errors import AxesError, GraphTypeError, GraphValueError
from axiomjit.base.origins import user_location
from axiomjit.graph.nodes import Input, Node, Token
from axiomjit.graph.storages import VersionedStorage
from axiomjit.views.descriptions import (
    BasicTensorDescription,
    Layout,
    LengthLike,
    column_major_strides,
    row_major_strides,
)

LayoutRequest = Layout | str | None
"""A requested layout: a Layout, "C", "F", or None if no layout is requested."""


def known_shape(axes: Axes) -> tuple[int, ...]:
    """The lengths of axes, all of which must be known.

    Raises:
        AxesError: a length is unknown.
    """
    shape = tuple(axis.length for axis in axes if axis.length is not None)
    if len(shape) < len(axes):
        raise AxesError(
            f"memory for axes {axes}",
            "an unknown length",
            "assign axis.length before the call",
            user_location(),
        )
    return shape


def check_layout(request: LayoutRequest, axes: Axes, asked: str) -> None:
    """Refuse a layout that does not fit the known lengths of axes.

    Raises:
        GraphTypeError: the layout is neither a Layout nor "C" or "F".
        GraphValueError: the numbers of dimensions differ, a size is smaller than the axis, two
            elements share a position in memory, or a position is negative.
    """
    if request in (None, "C", "F"):
        return
    if not isinstance(request, Layout):
        remedy = 'give "C", "F" or a Layout from axiomjit.descriptions'
        raise GraphTypeError(asked, f"layout={request!r}", remedy, user_location())
    lengths: list[LengthLike] = [a.dim if a.length is None else a.length for a in axes]
    BasicTensorDescription(lengths, "f8", False, request)
    sizes = request.sizes if request.sizes is not None else lengths
    if all(isinstance(n, int) for n in (*sizes, *request.strides, request.offset)):
        _check_places(request, as_integers(sizes), asked)


def as_integers(lengths: Iterable[LengthLike]) -> list[int]:
    """Lengths that are known, as integers."""
    return [operator.index(length) for length in lengths]


def _check_places(layout: Layout, sizes: list[int], asked: str) -> None:
    """Check that no two elements share a position in memory, and that no position is negative."""
    strides = as_integers(layout.strides)
    reach = 1
    for step, size in sorted(zip(map(abs, strides), sizes, strict=True)):
        if size > 1 and step < reach:
            seen = f"strides {layout.strides} for sizes {tuple(sizes)}, which share places"
            remedy = "give each element a place of its own"
            raise GraphValueError(asked, seen, remedy, user_location())
        reach += step * max(size - 1, 0)
    backwards = [min(s * (n - 1), 0) for s, n in zip(strides, sizes, strict=True)]
    least = operator.index(layout.offset) + sum(backwards)
    if least < 0 and 0 not in sizes:
        seen = f"an element at place {least}"
        raise GraphValueError(asked, seen, "give a larger offset", user_location())


def layout_of(request: LayoutRequest, lengths: tuple[LengthLike, ...]) -> Layout | None:
    """The requested layout as a Layout for an array of these lengths; None if none is requested."""
    if request == "C":
        return Layout(row_major_strides(lengths))  # type: ignore[type-var]
    if request == "F":
        return Layout(column_major_strides(lengths))  # type: ignore[type-var]
    return request if isinstance(request, Layout) else None


def placed(array: np.ndarray, request: LayoutRequest) -> np.ndarray:
    """A copy of an array in the requested layout; by default contiguous in C order.

    Raises:
        GraphValueError: the layout does not fit the shape.
    """
    layout = layout_of("C" if request is None else request, array.shape)
    assert layout is not None
    BasicTensorDescription(array.shape, array.dtype, False, layout)
    sizes = as_integers(array.shape if layout.sizes is None else layout.sizes)
    _check_places(layout, sizes, f"an array of shape {array.shape}")
    strides, offset = as_integers(layout.strides), operator.index(layout.offset)
    reach = sum(max(s * (n - 1), 0) for s, n in zip(strides, sizes, strict=True))
    memory = np.zeros(offset + reach + 1 if array.size else 0, array.dtype)
    size = array.itemsize
    result = np.ndarray(
        array.shape, array.dtype, memory, offset * size, [step * size for step in strides]
    )
    result[...] = array
    return result


def has_layout(array: np.ndarray, request: LayoutRequest) -> bool:
    """True if an array has the strides of the requested layout."""
    layout = layout_of(request, array.shape)
    if layout is None:
        return True
    steps = zip(array.strides, as_integers(layout.strides), array.shape, strict=True)
    return all(n <= 1 or own == step * array.itemsize for own, step, n in steps)


Start = Callable[[tuple[int, ...]], np.ndarray]


class Declaration:
    """The declaration of a placeholder or variable; `start(shape)` makes the initial values."""

    __slots__ = ("__weakref__", "axes", "layout", "start", "token")

    def __init__(
        self,
        axes: Axes,
        layout: LayoutRequest = None,
        start: Start | None = None,
        token: Token | None = None,
    ) -> None:
        """Declare a storage, by default with a new token."""
        self.axes: Final = axes
        self.layout: Final = layout
        self.start: Final = start
        self.token: Final = Token() if token is None else token
        _declared[self.token] = self

    @property
    def uses(self) -> Uses:
        """The axes and declarations on which the values in the storage depend."""
        return Uses(self.axes.roots, self)

    def __reduce__(self) -> tuple[type, tuple[object, ...]]:
        return Declaration, (self.axes, self.layout, self.start, self.token)


_declared: Final[WeakValueDictionary[Token, Declaration]] = WeakValueDictionary()

Declared: TypeAlias = "Declaration | tuple[Declared, ...] | None"
"""A set of declarations as nested tuples, so that the union of two sets takes constant time."""


class Uses(NamedTuple):
    """The axes and declarations on which a value depends and which its node does not know."""

    axes: Axes
    declared: Declared = None

    def extended(self, other: Uses) -> Uses:
        """The union of both dependences; this object if `other` adds nothing."""
        if other is self or (
            _includes(self.declared, other.declared) and self.axes.is_super_set(other.axes)
        ):
            return self
        return joined_uses(Axes(), self, other)


class DeclaredStorage(VersionedStorage):
    """The storage of a placeholder or variable, with the dependences of its values."""

    __slots__ = ("uses",)

    def __init__(self, root: Node, uses: Uses) -> None:
        super().__init__(root)
        self.uses = uses

    def write_from(self, following: Callable[[Node], Node], uses: Uses) -> None:
        """Make the next version, as `write` does, from a value that depends on `uses`."""

        def make(version: Node) -> Node:
            self.uses = self.uses.extended(uses)
            return following(version)

        self.write(make)


def joined_uses(axes: Axes, *uses: Uses) -> Uses:
    """The dependences of a value with these axes, computed from values that depend on `uses`."""
    held = {id(one): one for _, one in uses if one is not None}
    if len(held) > 1:
        inside = {id(part) for one in held.values() if isinstance(one, tuple) for part in one}
        held = {key: one for key, one in held.items() if key not in inside}
    declared = tuple(held.values())
    whole = declared if len(declared) > 1 else declared[0] if declared else None
    return Uses(joined_axes(axes, uses), whole)


def joined_axes(axes: Axes, uses: Iterable[Uses]) -> Axes:
    """The roots of `axes`, followed by the axes in `uses`."""
    axes = axes.roots
    for used, _ in uses:
        axes = axes if used is axes or axes.is_super_set(used) else axes | used
    return axes


def _includes(whole: Declared, part: Declared) -> bool:
    """True if the nested tuples `whole` contain `part` at the first level."""
    if part is None or whole is part:
        return True
    return isinstance(whole, tuple) and any(one is part for one in whole)


def declaration_of(root: Node | None) -> Declaration | None:
    """The declaration of a storage; None for a storage that a computation makes."""
    return _declared[root.storage] if isinstance(root, Input) and root.storage else None


def layout_of_storage(root: Node | None) -> LayoutRequest:
    """The layout requested for a storage, or None."""
    declared = declaration_of(root)
    return None if declared is None else declared.layout


def starting_values(node: Input) -> np.ndarray | None:
    """The initial values of a variable, in its requested layout; None for a placeholder."""
    declared = declaration_of(node)
    if declared is None or declared.start is None:
        return None
    values = declared.start(known_shape(declared.axes))
    return placed(np.asarray(values, node.dtype), declared.layout)


def declared_axes(node: Input) -> Axes:
    """The axes of a placeholder or variable."""
    declared = declaration_of(node)
    assert declared is not None
    return declared.axes
