"""Handles: the data of lazy arrays and numbers, whose values are known or pending."""

from __future__ import annotations

import weakref
from collections.abc import Mapping, Sequence
from sys import getrefcount
from typing import Any, Final

import numpy as np

from axiomjit.numpy.facts import Facts
from axiomjit.numpy.operations import Operation

ViewCall = tuple[Operation, Sequence[Any], Mapping[str, Any]]
"""The call of an operation that made a view."""


_MIN_DROPPED: Final = 64
"""From this number of links of views on, the links of freed views are dropped."""


class ViewOf:
    """The link of a view: the array whose memory the view shares, and the call that made it.

    If `made` is None, the call that made the view is not known.
    """

    __slots__ = ("__weakref__", "made", "root")

    def __init__(self, root: Handle, made: ViewCall | None) -> None:
        self.root, self.made = root, made
        views = getattr(root, "_views", None)
        if views is None:
            views = root._views = []
        count = len(views)
        if count >= _MIN_DROPPED and not count & (count - 1):  # at powers of 2, drop dead links
            views[:count] = [one for one in views[:count] if one() is not None]
        views.append(weakref.ref(self))

    def value(self) -> Any:
        """The NumPy array of the view, computed by the call that made it."""
        assert self.made is not None
        operation, args, kwargs = self.made
        return operation.apply(*map(concrete, args), **kwargs)

    def depth(self) -> int:
        """The number of calls from the entire memory to the view."""
        made, found = self.made, 1
        while made is not None:
            link = made[1][0]._link
            made = link.made if type(link) is ViewOf else None
            found += made is not None
        return found


class Shared:
    """The link of memory that other code can write: a given NumPy array, or handed-out memory.

    Attributes:
        given: The NumPy array that other code may hold; None for our own memory.
        handed: A weak reference to the handed-out array, which its views keep alive.
        is_read_only: True if the program made the array read-only; writes then run at once, and
            NumPy refuses them.
        escaped: The handed-out array, if code that keeps no reference knows its address.
        is_lent: True during a call for which other code has lent the given array, and does not use
            it.
    """

    __slots__ = ("escaped", "given", "handed", "is_lent", "is_read_only")

    def __init__(self, given: Any = None, is_lent: bool = False) -> None:
        self.given, self.is_lent = given, is_lent
        self.handed: weakref.ref[Any] | None = None
        self.escaped: Any = None
        self.is_read_only = False

    def references(self) -> int:
        """The number of references to the given array."""
        return getrefcount(self.given)

    def is_held(self) -> bool:
        """True if other code can reach the memory now, or the memory is read-only."""
        if self.is_lent:
            return False
        given = self.given
        if given is not None and not (given.flags.owndata and given.flags.writeable):
            return True
        del given
        if self.is_read_only or (self.given is not None and self.references() > _SOLE_REFERENCES):
            return True
        return self.handed is not None and self.handed() is not None


class Handle:
    """An array or number: its value, or its value number in a segment that has not run.

    Attributes:
        _array: The NumPy array or number; None while operations that write it are pending.
        _facts: The dtype, shape and strides of the array or number.
        _segment: The segment that gave the handle its last value number.
        _number: The value number in this segment.
        _views: Weak references to the links of views, if the handle was the root of a view.
        _link: `ViewOf` for views, `Shared` for memory that other code can write, None for other
            arrays.
        _place: The user's instruction that made the array, if the value was computed at once.
    """

    __slots__ = (
        *("__weakref__", "_array", "_facts", "_link", "_number", "_place", "_segment", "_views"),
    )
    _array: Any
    _facts: Facts
    _views: list[weakref.ref[ViewOf]]
    _link: ViewOf | Shared | None
    _number: int
    _place: tuple[Any, ...]
    _segment: Any

    def root(self) -> Handle:
        """The handle of the array whose entire memory this handle shares."""
        link = self._link
        return link.root if type(link) is ViewOf else self

    def is_apart(self) -> bool:
        """True if segments read a copy of the memory, and operations on the memory run at once.

        The reason is that other code can write into the memory now, or that the call that made the
        view is not known.
        """
        link = self._link
        if type(link) is ViewOf:
            if link.made is None:
                return True
            link = link.root._link
        return type(link) is Shared and link.is_held()


def value_of(handle: Handle) -> Any:
    """The NumPy array or number of a handle; pending operations run first."""
    root = handle.root()
    if root._array is None:
        root._segment.finish()
    if handle._array is None:
        link = handle._link
        if type(link) is not ViewOf:
            raise RuntimeError("the run that was to compute this array has been broken off")
        handle._array = link.value()
    return handle._array


def concrete(value: Any) -> Any:
    """An argument with NumPy arrays and numbers in place of handles."""
    if isinstance(value, Handle):
        return value_of(value)
    if type(value) is tuple or type(value) is list:
        return type(value)(map(concrete, value))
    return value


class _Memory:
    """An owner of handed-out memory; it makes the handed-out array the `base` of its views."""

    def __init__(self, array: Any, owner: Any = None) -> None:
        self._array, self._owner = array, owner
        self.__array_interface__ = array.__array_interface__


def hand_out(root: Handle) -> Any:
    """A NumPy array of a root's memory; the memory is shared while the array or a view exists."""
    link = root._link
    if type(link) is not Shared:
        link = root._link = Shared()
    link.is_lent = False
    found = None if link.handed is None else link.handed()
    if found is None:
        found = link.given
    if found is None:
        found = np.asarray(_Memory(root._array))
        link.handed = weakref.ref(found)
    return found if _is_alike(found, root._array) else view_of(found, root._array)


def view_of(found: Any, array: Any) -> Any:
    """An array like `array` that keeps the handed-out array `found` alive."""
    return np.asarray(_Memory(array, found))


def _is_alike(found: Any, array: Any) -> bool:
    """True if two arrays of the same memory have the same layout and dtype."""
    if found is array:
        return True
    alike = found.shape == array.shape and found.strides == array.strides
    return bool(alike and found.dtype == array.dtype)


def let_escape(root: Handle) -> None:
    """Count the memory of a root as shared from now on, even if no known object refers to it."""
    found = hand_out(root)
    shared: Any = root._link
    shared.escaped, shared.handed = found, weakref.ref(found)


def is_private(array: Any) -> bool:
    """True if only the caller can reach the memory of an array that NumPy has just made."""
    base = array.base
    if base is None or type(base) is not np.ndarray:
        return base is None and bool(array.flags.owndata)
    del base
    return bool(array.base.flags.owndata) and _references_of_base(array) <= _ONE_VIEW


def _references_of_base(array: Any) -> int:
    return getrefcount(array.base)


def _references_if_alone() -> int:
    """The number of references to a given array that only a `Shared` and a handle refer to."""
    shared = Shared(np.empty(1))
    handle = [shared.given]
    return shared.references() * len(handle)


_SOLE_REFERENCES: Final = _references_if_alone()
_ONE_VIEW: Final = _references_of_base(np.empty(2)[:1])
