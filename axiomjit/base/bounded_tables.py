"""Tables of limited size, for what can be made again."""

from __future__ import annotations

from collections import OrderedDict
from typing import Final, TypeVar

from axiomjit.base.locks import new_lock

Key = TypeVar("Key")
Value = TypeVar("Value")
LARGEST: Final = 64
"""Entries that a table holds unless it is made for another number."""


class BoundedTable(OrderedDict[Key, Value]):
    """Entries by key, the first ones dropped beyond `limit`; changed under a lock of its own."""

    def __init__(self, limit: int = LARGEST) -> None:
        """Start empty."""
        super().__init__()
        self.limit = limit
        self._lock = new_lock()

    def keep(self, key: Key, value: Value) -> Value:
        """Store a value under a key, in place of what the key has, and return it."""
        with self._lock:
            self[key] = value
            while len(self) > self.limit:
                self.popitem(last=False)
        return value
