"""The values that a call returns in addition to computed arrays, such as containers.

Tracing runs the user's function once for many calls. All callers would share an object that the
function makes and returns; so the program holds a recipe, and each call makes a new object.
"""

from __future__ import annotations

import sys
import weakref
from types import FunctionType, ModuleType
from typing import Any, Final

import numpy as np

from axiomjit.base.errors import UnsupportedError
from axiomjit.base.locks import lazy_import
from axiomjit.base.origins import user_location
from axiomjit.base.records import Record
from axiomjit.functions.effects import FromSource
from axiomjit.graph.captured import Array, Captured, Place, Reference, owner_of, place_in_owner
from axiomjit.symbolic.dims import Dim

Memo = dict[int, Any]


class Copied(Record):
    """The recipe of an object that the function made: each call returns a copy of `master`."""

    master: Any

    def now(self, made: Memo) -> object:
        """The copy for this call."""
        copied: object = lazy_import("copy").deepcopy(self.master, made)
        return copied


class CopiedArray(Record):
    """The recipe of a copy of `master`, or of the view of this copy at `place`."""

    master: Array
    place: Place | None

    def now(self, made: Memo) -> object:
        """The array for this call; views of the same array share the memory of one copy."""
        owner = made.get(id(self.master))
        if owner is None:
            owner = made[id(self.master)] = self.master.copy(order="K")
            owner.flags.writeable = self.master.flags.writeable
        return owner if self.place is None else self.place.of(owner)


class ViewOf(Record):
    """The recipe of a view of `owner`, an array that exists outside the function."""

    owner: Array
    place: Place

    def now(self, made: Memo) -> object:
        """A new view of the outside array."""
        return self.place.of(self.owner)


Recipe = Copied | CopiedArray | ViewOf
_SIMPLE: Final = (
    *(int, float, complex, bool, str, bytes, type(None), type(Ellipsis), slice, range),
    *(type, ModuleType, FunctionType, np.generic, np.dtype, np.ufunc, Dim, FromSource),
)


class _Box(list[object]):
    """A box around one object, to count references; containers of the user have another class."""


def _references(box: list[object]) -> int:
    return sys.getrefcount(box[0])


_SOLE_REFERENCE: Final = _references([object()])
"""The reference count of an object to which only one list refers."""


class _WeakArray(Record):
    """Weak references to a returned array and to the array that owns its memory, with a copy."""

    array: Reference
    owner: Reference
    place: Place | None
    copy: Array


class Returned:
    """The static leaves of a return value; after tracing, each becomes a value or a recipe."""

    def __init__(self, captured: Captured) -> None:
        """Start without copies of arrays."""
        self._captured = captured
        self._copies: dict[int, Array] = {}

    def release(self, value: object) -> object:
        """The leaf in a form that does not keep an object of the function alive."""
        if isinstance(value, _SIMPLE):
            return value
        if type(value) is np.ndarray:
            return self._release_array(value)
        return _Box([value])

    def _release_array(self, array: Array) -> object:
        owner = owner_of(array)
        if id(array) in self._captured.outside:
            self._captured.used.append(array)
            return array
        place = None if array is owner else place_in_owner(array, owner)
        if id(owner) in self._captured.outside:
            self._captured.used.append(owner)
            return _view(owner, place)
        master = self._copies.setdefault(id(owner), owner)
        if master is owner:
            master = self._copies[id(owner)] = owner.copy(order="K")
            master.flags.writeable = owner.flags.writeable
        return _WeakArray(weakref.ref(array), weakref.ref(owner), place, master)

    def resolve(self, loose: object) -> object:
        """The leaf, or its recipe; called when the traced function has released its objects.

        Raises:
            UnsupportedError: the function made the object, and it cannot be copied.
        """
        if isinstance(loose, _WeakArray):
            array, owner = loose.array(), loose.owner()
            if owner is None:
                return CopiedArray(loose.copy, loose.place)
            self._captured.used += [owner] if array is None else [array]
            return _view(owner, loose.place) if array is None else array
        if isinstance(loose, _Box):
            return self._object(loose)
        return loose

    def _object(self, box: _Box) -> object:
        if _references(box) > _SOLE_REFERENCE:
            return box[0]
        recipe = Copied(box[0])
        try:
            recipe.now({})
        except Exception as error:  # an object that cannot be copied may raise any error
            kind = type(box[0]).__name__
            raise UnsupportedError(
                f"return a {kind} that the function made",
                f"that it cannot be copied for each call: {type(error).__name__}: {error}",
                "make it outside the compiled function",
                user_location(),
            ) from None
        return recipe


def _view(owner: Array, place: Place | None) -> object:
    return owner if place is None else ViewOf(owner, place)
