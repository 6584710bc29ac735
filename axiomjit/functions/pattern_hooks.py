"""Hooks for the patterns of `match` statements; they test the subject in the order of Python."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from typing import Any, Final

_NONE: Final = object()
_WHOLE: Final = (bool, bytearray, bytes, dict, float, frozenset, int, list, set, str, tuple)
"""Classes whose only positional pattern is matched with the whole subject."""


class PatternHooks:
    """Hooks of patterns, which call other hooks of the same function."""

    def __init__(self, hooks: Any) -> None:
        """Take the hooks of the function, for calls, attributes, lengths, iteration and keys."""
        self._hooks = hooks

    def is_sequence(self, value: Any, count: int, starred: bool) -> bool:
        """True for a sequence that fits a pattern of `count` parts, one of which may be starred."""
        match value:
            case [*_]:
                if starred:
                    return count == 1 or bool(self._hooks.length(value) >= count - 1)
                return bool(self._hooks.length(value) == count)
        return False

    def parts(self, value: Any, count: int, star: int | None) -> tuple[Any, ...]:
        """The parts of a sequence; the part of the starred pattern, number `star`, is a list."""
        found = self._hooks.iterate(value)
        parts = [*(islice(found, count + 1) if star is None else found)]
        if star is None and len(parts) > count:
            raise ValueError(f"too many values to unpack (expected {count})")
        if len(parts) < count - (star is not None):
            least = count if star is None else f"at least {count - 1}"
            raise ValueError(f"not enough values to unpack (expected {least}, got {len(parts)})")
        if star is None:
            return tuple(parts)
        end = len(parts) - (count - 1 - star)
        return (*parts[:star], parts[star:end], *parts[end:])

    def is_mapping(self, value: Any, count: int, literal: bool) -> bool:
        """True for a mapping of at least `count` entries.

        If all keys of the pattern are literals, the keys are distinct. A dict with these keys has
        enough entries, so its entries are not counted.
        """
        match value:
            case {}:
                known = not count or (literal and type(value) is dict)
                return known or bool(self._hooks.length(value) >= count)
        return False

    def entries(self, value: Any, keys: Sequence[Any]) -> tuple[Any, ...] | None:
        """The entries of a mapping with these keys; None if the mapping lacks a key."""
        get = self._hooks.attribute(value, "get")
        seen, found = set[Any](), []
        for key in keys:
            if self._hooks.key(key) in seen:
                raise ValueError(f"mapping pattern checks duplicate key ({key!r})")
            seen.add(key)
            entry = self._hooks.call(get, key, _NONE)
            if entry is _NONE:
                return None
            found.append(entry)
        return tuple(found)

    def rest(self, value: Any, keys: Sequence[Any]) -> dict[Any, Any]:
        """A dict of the entries of a mapping whose keys are not in `keys`."""
        found = {**self._hooks.mapping(value)}
        for key in keys:
            del found[key]
        return found

    def attributes(
        self, value: Any, kind: Any, count: int, names: Sequence[str]
    ) -> tuple[Any, ...] | None:
        """The attributes that patterns name, if `value` is an instance of `kind`; else None.

        Args:
            value: The subject.
            kind: The class.
            count: The number of positional patterns.
            names: The names of the keyword patterns.
        """
        if not isinstance(kind, type):
            match value:
                case kind():  # raises
                    pass
        if not self._hooks.call(isinstance, value, kind):
            return None
        wanted, found = [*names], []
        if count:
            given = self._positional(kind)
            if given is None:
                found.append(value)
            allowed = 1 if given is None else len(given)
            if allowed < count:
                shown = f"{allowed} positional sub-pattern{'s' * (allowed != 1)}"
                raise TypeError(f"{kind.__name__}() accepts {shown} ({count} given)")
            wanted[:0] = [] if given is None else given[:count]
        for place, name in enumerate(wanted):
            if type(name) is not str:
                shown = type(name).__name__
                raise TypeError(f"__match_args__ elements must be strings (got {shown})")
            if name in wanted[:place]:
                shown = f"multiple sub-patterns for attribute {name!r}"
                raise TypeError(f"{kind.__name__}() got {shown}")
            attribute = self._hooks.call(getattr, value, name, _NONE)
            if attribute is _NONE:
                return None
            found.append(attribute)
        return tuple(found)

    def _positional(self, kind: type) -> list[Any] | None:
        """The attributes that positional patterns name; None if they match the whole object."""
        given = self._hooks.call(getattr, kind, "__match_args__", _NONE)
        if given is _NONE:
            return None if issubclass(kind, _WHOLE) else []
        if type(given) is not tuple:
            shown = type(given).__name__
            raise TypeError(f"{kind.__name__}.__match_args__ must be a tuple (got {shown})")
        return [*self._hooks.iterate(given)]
