"""Static arguments in the keys of programs, which keep alive only what is told apart by value."""

from __future__ import annotations

from collections.abc import Callable, Iterator, MutableMapping
from functools import partial
from types import MethodType
from typing import Any, Final
from weakref import WeakMethod, ref


class Statics(tuple[tuple[int, type, Any], ...]):
    """Place, type and `static_key` of each static argument: a part of a key."""

    __slots__ = ()

    @property
    def references(self) -> Iterator[ref[Any]]:
        """What refers to an argument weakly."""
        return (value for _, _, value in self if isinstance(value, ref))


def static_key(value: Any) -> object:
    """What a static value is told apart by: text for floats, so that -0.0 is not 0.0, nan is nan.

    What equals only itself, an instance of which a method is called or a function, is referred to
    weakly: once it is gone no call can ask for it again.
    """
    if isinstance(value, float | complex):
        return repr(value)
    if isinstance(value, MethodType):
        return WeakMethod(value) if _is_told_by_identity(value.__self__) else value
    return ref(value) if _is_told_by_identity(value) else value


def _is_told_by_identity(value: object) -> bool:
    kind: Any = type(value)
    return kind.__eq__ is object.__eq__ and kind.__weakrefoffset__ > 0


def drop_dead(table: MutableMapping[Any, Any]) -> None:
    """Drop the entries whose keys have a static argument that is gone.

    It takes no lock: arguments go at any moment, also while this thread holds a lock.
    """
    for key in tuple(table):
        found = (part for part in key if isinstance(part, Statics))
        if any(value() is None for statics in found for value in statics.references):
            table.pop(key, None)


class StaticWatch:
    """Calls `drop`, a method, when a static argument is gone; keeps neither of both alive."""

    __slots__ = ("__weakref__", "_drop", "_watched")

    def __init__(self, drop: Callable[[], None]) -> None:
        """Watch nothing yet."""
        self._drop: Final = WeakMethod(drop)
        self._watched: Final[set[ref[object]]] = set()

    def add(self, statics: Statics) -> None:
        """Watch the static arguments of a key."""
        for value in statics.references:
            target = value()
            if target is not None:
                target = target.__self__ if isinstance(value, WeakMethod) else target
                self._watched.add(ref(target, partial(_gone, ref(self))))

    def forget(self, gone: ref[object]) -> None:
        """Drop what was made for a static argument that is gone."""
        self._watched.discard(gone)
        drop = self._drop()
        if drop is not None:
            drop()


def _gone(watch: ref[StaticWatch], gone: ref[object]) -> None:
    alive = watch()
    if alive is not None:
        alive.forget(gone)
