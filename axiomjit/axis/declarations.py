"""Declarations of placeholders and variables, kept outside the graph.

A node refers to its storage only by a token. The declaration of a storage, with the initial values
of a variable, lives as long as the tensors that are computed from the storage.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final, NamedTuple, TypeAlias
from weakref import WeakValueDictionary

import numpy as np

from axiomjit.axis.axes import Axes
from axiomjit.axis.placed_arrays import LayoutRequest, known_shape, placed
from axiomjit.graph.nodes import Input, Node, Token
from axiomjit.graph.storages import VersionedStorage

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
    """The axes and declarations that a value depends on and its node does not refer to."""

    axes: Axes
    declared: Declared = None

    def extended(self, other: Uses) -> Uses:
        """The union of both dependences; this object itself if `other` adds nothing."""
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
    """The dependences of a value with these axes that is computed from values with these `uses`."""
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
