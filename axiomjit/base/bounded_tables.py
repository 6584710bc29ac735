"""Tables of limited size, for what can be made again."""

from __future__ import annotations

from typing import Final, TypeVar

Key = TypeVar("Key")
Value = TypeVar("Value")
LARGEST: Final = 64
"""Entries that one table holds."""


class BoundedTable(dict[Key, Value]):
    """A dictionary that is emptied when it is full, so that it holds at most `LARGEST` entries."""

    __slots__ = ()

    def keep(self, key: Key, value: Value) -> Value:
        """Store a value under a key, and return it."""
        if len(self) >= LARGEST:
            self.clear()
        self[key] = value
        return value
