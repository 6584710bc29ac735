"""Caches of limited size, for values that can be computed again."""

from __future__ import annotations

from collections import OrderedDict
from typing import Final, TypeVar

from axiomjit.base.locks import new_lock

Key = TypeVar("Key")
Value = TypeVar("Value")
DEFAULT_LIMIT: Final = 64
"""The default limit of the number of entries."""


class BoundedTable(OrderedDict[Key, Value]):
    """A cache that drops its oldest entries beyond `limit`; changes are made under a lock."""

    def __init__(self, limit: int = DEFAULT_LIMIT) -> None:
        super().__init__()
        self.limit = limit
        self._lock = new_lock()

    def keep(self, key: Key, value: Value) -> Value:
        """Store a value under a key, in place of the key's old value, and return it."""
        with self._lock:
            self[key] = value
            while len(self) > self.limit:
                self.popitem(last=False)
        return value
