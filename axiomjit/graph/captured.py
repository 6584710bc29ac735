"""Captured arrays, which a traced function uses without getting them as arguments.

If an array outlives the trace, other code uses it as well, so programs read its memory in each
call. An array that does not outlive the trace was made by the function, so programs keep a copy of
its elements at the time of its use.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import numpy as np

from axiomjit.base.errors import GraphTypeError, NeedsValuesError
from axiomjit.base.origins import user_location
from axiomjit.base.records import Record
from axiomjit.graph.nodes import Constant, Graph, Node, rewrite

Array = np.ndarray
Reference = Callable[[], Any]


def owner_of(array: Array) -> Array:
    """The array that owns the memory of an array; the array itself if it is not a view."""
    while isinstance(array.base, np.ndarray):
        array = array.base
    return array


class Place(Record):
    """The position of a view in its owner: the offset in bytes, shape, strides and dtype."""

    offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    dtype: np.dtype[Any]
    writable: bool

    def of(self, owner: Array) -> Array:
        """The view at this position in another owner with the same layout."""
        interface = dict(owner.__array_interface__)
        address, read_only = interface["data"]
        data = address + self.offset, read_only or not self.writable
        interface.update(data=data, shape=self.shape, strides=self.strides, typestr=self.dtype.str)
        interface.pop("descr", None)
        return np.asarray(_Interface(interface, owner))


class _Interface:
    def __init__(self, interface: dict[str, Any], owner: Array) -> None:
        self.__array_interface__, self.owner = interface, owner


def place_in_owner(array: Array, owner: Array) -> Place:
    """The position of a view in its owner."""
    offset = address_of(array) - address_of(owner)
    return Place(offset, array.shape, array.strides, array.dtype, array.flags.writeable)


def address_of(array: Array) -> int:
    """The memory address of the first element of an array."""
    return int(array.__array_interface__["data"][0])


def read_only_copy(array: Array) -> Array:
    """A read-only copy of an array with the same strides."""
    copy = np.array(array, order="K", copy=True, subok=False)
    if copy.strides != array.strides:
        steps = [(n - 1) * step for n, step in zip(array.shape, array.strides, strict=True)]
        low, high = sum(min(0, s) for s in steps), sum(max(0, s) for s in steps)
        memory = np.zeros(high - low + array.itemsize if array.size else 0, np.uint8)
        place = Place(-low if array.size else 0, array.shape, array.strides, array.dtype, True)
        laid_out = place.of(memory)
        laid_out[...] = array  # elements that share memory are equal
        copy = laid_out
    copy.flags.writeable = False
    return copy


class _CapturedArray(Record):
    """Weak references to a captured array and its owner, and the copy that the program uses."""

    array: Reference
    owner: Reference
    place: Place
    copy: Array


class Captured:
    """The captured arrays of a trace; the arrays in `outside` existed before the trace."""

    def __init__(self, outside: Iterable[Array] = ()) -> None:
        self.outside = {id(array): array for array in outside}
        self.used: list[Array] = []
        self.shown: list[Array] = []
        self._seen: dict[int, _CapturedArray] = {}
        self._earlier: list[_CapturedArray] = []

    def hold(self, array: Array) -> Array:
        """The array that the program holds for a captured array: the array itself or a copy."""
        owner = owner_of(array)
        if id(owner) in self.outside:
            self.used.append(array)
            return array
        seen = self._seen.get(id(array))
        if seen is not None and seen.array() is array:
            same = (seen.copy.shape, seen.copy.dtype) == (array.shape, array.dtype)
            if same and seen.copy.tobytes() == array.tobytes():
                return seen.copy
            self._earlier.append(seen)
        place = place_in_owner(array, owner)
        made = _CapturedArray(weakref.ref(array), weakref.ref(owner), place, read_only_copy(array))
        self._seen[id(array)] = made
        return made.copy

    def finalize(self, graph: Graph) -> Graph:
        """The graph, with copies replaced by the original arrays that still exist.

        Raises:
            NeedsValuesError: the function has written into a captured array after it was used.
        """
        real: dict[int, Array] = {}
        for seen in (*self._earlier, *self._seen.values()):
            owner: Array | None = seen.owner()
            if owner is None:
                continue
            array: Array | None = seen.array()
            if array is None:
                array = seen.place.of(owner)
                self.shown.append(owner)
            now = array.shape == seen.copy.shape and array.tobytes() == seen.copy.tobytes()
            if not now:
                raise written_outside(f"an array of shape {array.shape}")
            real[id(seen.copy)] = array
            self.used.append(array)

        def rule(node: Node) -> Node:
            if isinstance(node, Constant) and id(node.array) in real:
                return Constant(node.dtype, real[id(node.array)], node.extents)
            return node

        return rewrite(graph, rule) if real else graph


def written_outside(what: str) -> NeedsValuesError:
    """The error for a function that changes an array outside itself."""
    return NeedsValuesError(
        "follow a function once for all calls",
        f"that it changes {what}, which lives on outside it: each call would have to change it",
        "return the new value, or do this outside the compiled function",
        user_location(),
    )


_captured: ContextVar[Captured | None] = ContextVar("axiomjit_captured", default=None)


@contextmanager
def capturing(captured: Captured) -> Iterator[Captured]:
    """A context in which `captured` decides which arrays programs hold."""
    token = _captured.set(captured)
    try:
        yield captured
    finally:
        _captured.reset(token)


def constant_array(array: Array) -> Array:
    """The array that a program holds for an array operand.

    Raises:
        GraphTypeError: the class of the array is a subclass, which may have its own rules.
    """
    captured = _captured.get()
    if captured is None:
        return array
    if type(array) is not np.ndarray and type(array) is not np.memmap:
        raise GraphTypeError(
            "an operand from outside the function",
            f"a {type(array).__name__}, which NumPy functions treat in ways of their own",
            "make it a numpy.ndarray outside the function, for example numpy.asarray(x)",
            user_location(),
        )
    return captured.hold(array)


class Watch:
    """The layouts of captured arrays whose memory a program reads."""

    __slots__ = ("_known",)

    def __init__(self, arrays: Iterable[Array], owners_shown: Iterable[Array] = ()) -> None:
        owners = {id(a): owner_of(a) for a in arrays}
        every = {id(a): a for a in (*arrays, *owners.values(), *owners_shown)}
        shown = {id(owner) for number, owner in owners.items() if number != id(owner)}
        shown |= set(map(id, owners_shown))
        self._known = tuple(
            (a, a.shape, a.strides, a.dtype, address_of(a) if number in shown else None)
            for number, a in every.items()
        )

    def __bool__(self) -> bool:
        return bool(self._known)

    def known(self) -> Iterator[tuple[Array, bool]]:
        """Pairs of a captured array and a bool: True if the address of the array is compared."""
        return ((array, address is not None) for array, *_, address in self._known)

    def holds(self) -> bool:
        """True if all layouts are unchanged; an address is compared only if a view is used."""
        for array, shape, strides, dtype, address in self._known:
            if array.shape != shape or array.strides != strides or array.dtype is not dtype:
                return False
            if address is not None and address_of(array) != address:
                return False
        return True
