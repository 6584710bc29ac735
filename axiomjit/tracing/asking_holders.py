"""Stand-ins for what holds arrays of known values: lists, dicts and instances of the user's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from axiomjit.base.origins import is_library_code

MOST: Final = 1000
"""The most entries that are looked at to find arrays in a holder."""


class Holders:
    """Copies of holders, in which others stand for the arrays, as far as one can look inside."""

    def __init__(self, is_array: Callable[[object], bool], shown: Callable[[Any], Any]) -> None:
        """Take what says which arrays have stand-ins, and makes them."""
        self._is_array, self._shown = is_array, shown
        self._made: dict[int, tuple[Any, Any, dict[Any, Any]]] = {}

    def holds(self, value: object) -> bool:
        """Whether a value is a holder with arrays in it, or in holders in it."""
        waiting, seen = [value], {id(value)}
        while waiting:
            inside = _entries(waiting.pop()) or {}
            if any(map(self._is_array, inside.values())):
                return True
            found = {id(one): one for one in inside.values() if id(one) not in seen}
            if len(seen) + len(found) > MOST:
                return False
            seen |= found.keys()
            waiting += found.values()
        return False

    def stand_in(self, value: Any) -> Any:
        """The copy of a holder."""
        if id(value) in self._made:
            return self._made[id(value)][1]
        kind, inside = type(value), _entries(value)
        assert inside is not None
        copy = kind() if kind in (list, dict) else object.__new__(kind)
        self._made[id(value)] = value, copy, inside  # before its entries: it may hold itself
        now = {name: self._within(one) for name, one in inside.items()}
        _write(copy, now)
        self._made[id(value)] = value, copy, now
        return copy

    def _within(self, value: Any) -> Any:
        if self._is_array(value):
            return self._shown(value)
        return self.stand_in(value) if self.holds(value) else value

    def original(self, value: object) -> object:
        """The holder of which a value is the copy; others themselves."""
        return next((old for old, new, _ in self._made.values() if new is value), value)


def _entries(value: object) -> dict[Any, Any] | None:
    """What a list, a dict or an instance of a plain class holds, by name; None of anything else."""
    kind = type(value)
    found: dict[Any, Any] | None = None
    if kind is list:
        found = dict(enumerate(value))  # type: ignore[arg-type]
    elif kind is dict:
        found = dict(value)  # type: ignore[call-overload]
    elif _is_plain(kind):
        found = dict(vars(value))
    return found if found is not None and len(found) <= MOST else None


def _is_plain(kind: type) -> bool:
    """Whether instances of a class are what their attributes are."""
    own = kind.__mro__[:-1]
    return (
        kind.__dictoffset__ != 0
        and not issubclass(kind, type)
        and kind.__basicsize__ == _Plain.__basicsize__
        and kind.__getattribute__ is object.__getattribute__
        and not any(is_library_code(base) or "__slots__" in vars(base) for base in own)
    )


class _Plain:
    """A class without anything of its own."""


def _write(holder: Any, entries: dict[Any, Any]) -> None:
    if type(holder) is list:
        holder[:] = entries.values()
        return
    names = holder if type(holder) is dict else vars(holder)
    names.clear()
    names.update(entries)
