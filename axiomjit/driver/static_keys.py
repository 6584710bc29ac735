"""Keys of static arguments: equal keys mean the same types and the same state at every level.

`==` does not say that: 1 == 1.0 == True, 0.0 == -0.0, Decimal("1.0") == Decimal("1.00").
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable, Sequence
from enum import Enum
from types import FunctionType, ModuleType
from typing import Any, Final

import numpy as np

from axiomjit.base.reachable import Path, reachable
from axiomjit.base.tree import Structure, attributes, class_attributes

Forget = Callable[[Any], None]
_BY_VALUE: Final = frozenset({int, bool, str, bytes, type(None), type(Ellipsis)})
_BY_ORDER: Final = frozenset({tuple, list, set, frozenset})
_IDENTITIES: Final = (type, FunctionType, ModuleType, Enum, np.ufunc, np.ndarray)
DEEPEST: Final = 12
"""Levels of nested objects whose state is part of a key; deeper objects count by identity."""
LONGEST: Final = 1000
"""The most entries of a list, set or dict that are part of a key; longer ones count by identity."""


class Same(weakref.ref[Any]):
    """A reference to one object; equal to another reference to the same object while that lives."""

    __slots__ = ("number",)
    number: int

    def __new__(cls, value: object, forget: Forget | None = None) -> Same:
        """Refer to the object; `forget` is called with this reference when it has died."""
        made = super().__new__(cls, value, forget)
        made.number = id(value)
        return made

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        known = self()
        return isinstance(other, Same) and known is not None and known is other()

    def __hash__(self) -> int:
        return self.number


class Kept:
    """A reference to one object of a type without weak references; the key keeps it alive."""

    __slots__ = ("value",)

    def __init__(self, value: object) -> None:
        """Keep the object."""
        self.value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Kept) and self.value is other.value

    def __hash__(self) -> int:
        return id(self.value)


def static_key(value: Any, forget: Forget | None = None) -> tuple[object, ...]:
    """A hashable key by which static values are compared: an entry for each object in it, in order.

    Values with an `==` of their own that can be hashed and hold no arrays are equal by type and
    state; other objects are equal only to themselves, while their attributes are the same.
    `forget` is called with the reference to such an object when it has died.
    """
    key: list[object] = []
    by_state: dict[Path, tuple[int, object]] = {}

    def enter(path: Path, one: Any) -> Iterable[tuple[object, object]]:
        entry, parts = _entry(one, forget, len(path) - 1)
        if isinstance(one, np.ndarray):
            # A program holds the arrays of its statics; only an object of its own can end that.
            for above in (path[:k] for k in range(1, len(path))):
                if above in by_state:
                    place, owner = by_state[above]
                    key[place] = _same(owner, forget), type(owner)
        elif isinstance(parts, _State):
            by_state[path] = len(key), one
        key.append(entry)
        return enumerate(parts)

    for _ in reachable((value,), enter, again=True):
        pass
    return tuple(key)


class _State(list[object]):
    """The state of an object that is compared by it."""


def _entry(value: Any, forget: Forget | None, depth: int) -> tuple[object, Sequence[object]]:
    """What a key says of a value, and the parts of it that have entries of their own."""
    kind = type(value)
    if kind in _BY_VALUE:
        return (kind, value), ()
    if kind is float:
        return (kind, repr(value)), ()
    if kind is complex:
        return (kind, repr(value.real), repr(value.imag)), ()
    if isinstance(value, np.generic):
        return (kind, value.dtype, value.tobytes()), ()
    if isinstance(value, np.dtype):
        return (kind, value, repr(value.metadata)), ()
    if isinstance(value, _IDENTITIES):
        return _same(value, forget), ()
    if kind in _BY_ORDER or kind is dict:
        changes = kind not in (tuple, frozenset)
        if depth > DEEPEST or (depth and changes and len(value) > LONGEST):
            return (_same(value, forget), len(value)), ()
        return (kind, len(value)), list(value.items() if kind is dict else value)
    if kind is slice or kind is range:
        return kind, (value.start, value.stop, value.step)
    return _object_entry(value, forget, depth)


def _object_entry(value: Any, forget: Forget | None, depth: int) -> tuple[object, Sequence[object]]:
    kind: Any = type(value)
    if depth <= DEEPEST and kind.__eq__ is not object.__eq__ and kind.__hash__ is not None:
        try:
            state = value.__reduce_ex__(4)
        except Exception:  # a type that cannot be pickled may raise anything
            state = None
        if isinstance(state, tuple):
            parts = _State(tuple(p) if hasattr(p, "__next__") else p for p in state)
            return (kind, len(parts)), parts
    own = attributes(value)
    if own is None or depth > DEEPEST:
        return _same(value, forget), ()
    shared = class_attributes(kind)
    return (_same(value, forget), bool(shared)), (own, shared) if shared else (own,)


def _same(value: object, forget: Forget | None) -> object:
    try:
        return Same(value, forget)
    except TypeError:
        return Kept(value)


def structure_key(structure: Structure) -> object:
    """A key that compares structures: types of containers, and dict keys with their types."""
    kind = getattr(structure, "kind", None)
    if kind is None:
        return None
    keys = tuple(map(static_key, structure.keys))  # type: ignore[union-attr]
    return kind, keys, tuple(map(structure_key, structure.parts))  # type: ignore[union-attr]


def mentions_dead(key: object) -> bool:
    """Whether a key, or a tuple within it, refers to an object that has died."""
    if isinstance(key, Same):
        return key() is None
    return isinstance(key, tuple) and any(map(mentions_dead, key))
