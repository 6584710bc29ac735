"""Handles of the drop-in: what an array or number is, whether its value is known or pending."""

from __future__ import annotations

import weakref
from collections.abc import Mapping, Sequence
from sys import getrefcount
from typing import Any, Final

import numpy as np

from axiomjit.numpy.facts import Facts
from axiomjit.numpy.operations import Operation

Made = tuple[Operation, Sequence[Any], Mapping[str, Any]]
"""The call of an operation that gave a view."""


class ViewOf:
    """How a view came about: the array whose memory it shares, and the call that made it.

    Without a call (`made` is None) the view is known by its memory only.
    """

    __slots__ = ("made", "root")

    def __init__(self, root: Handle, made: Made | None) -> None:
        self.root, self.made = root, made


class Shared:
    """Memory that others can write: NumPy arrays given to us, or arrays handed out.

    Attributes:
        given: The NumPy array that somebody else may hold; None for our own memory.
        handed: A weak reference to the array that was handed out; its views keep it alive.
    """

    __slots__ = ("given", "handed")

    def __init__(self, given: Any = None) -> None:
        self.given = given
        self.handed: weakref.ref[Any] | None = None

    def is_held(self) -> bool:
        """True if somebody else can reach the memory now."""
        if self.given is not None:
            base = self.given.base
            if getrefcount(self.given) > _ALONE or not (
                base is None or (type(base) is np.ndarray and getrefcount(base) <= _ALONE)
            ):
                return True
        return self.handed is not None and self.handed() is not None


class Handle:
    """An array or number: its value, or its place among the operations that are still to run.

    Attributes:
        _array: The NumPy array or number; None while operations that write it are pending.
        _facts: Dtype, shape and strides.
        _segment: The segment that has last given it a value number.
        _number: The value number there.
        _link: `ViewOf` for views, `Shared` for memory that others can write, else None.
    """

    __slots__ = ("__weakref__", "_array", "_facts", "_link", "_number", "_segment")
    _array: Any
    _facts: Facts
    _link: ViewOf | Shared | None
    _number: int
    _segment: Any

    def root(self) -> Handle:
        """The handle of the entire memory that this one shares."""
        link = self._link
        return link.root if type(link) is ViewOf else self

    def is_known_by_memory(self) -> bool:
        """True for a view that no recorded call made."""
        return type(self._link) is ViewOf and self._link.made is None

    def is_shared(self) -> bool:
        """True if somebody else can write into the memory now."""
        link = self.root()._link
        return type(link) is Shared and link.is_held()


class _Memory:
    """Owns memory that was handed out, so that NumPy's views of it lead to what was handed out."""

    def __init__(self, array: Any, owner: Any = None) -> None:
        self._array, self._owner = array, owner
        self.__array_interface__ = array.__array_interface__


def hand_out(root: Handle) -> Any:
    """A NumPy array of a root's memory, which counts as shared while the array or a view lives."""
    link = root._link
    if type(link) is not Shared:
        link = root._link = Shared()
    found = None if link.handed is None else link.handed()
    if found is None:
        found = link.given
    if found is None:
        found = np.asarray(_Memory(root._array))
        link.handed = weakref.ref(found)
    return found


def part_of_handed_out(found: Any, view: Any) -> Any:
    """The view of a root's memory as a NumPy array, which keeps alive what was handed out."""
    return np.asarray(_Memory(view, found))


_ALONE: Final = 3
"""References to an array that only a `Shared` and its handle have, and the question itself.

The base of such an array has as many: that array's own, a name and the question.
"""
