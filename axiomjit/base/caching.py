"""Parts of caches: tables of limited size, digests of keys, and objects that are never freed."""

from __future__ import annotations

import sys
from collections import OrderedDict
from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final, TypeVar

from axiomjit.base.locks import lazy_import, new_lock

if TYPE_CHECKING:
    import hashlib

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


try:
    _module: Any = import_module("_sha2" if sys.version_info >= (3, 12) else "_sha256")
except ImportError:
    _module = import_module("hashlib")
sha256: Final[Callable[..., hashlib._Hash]] = _module.sha256


T = TypeVar("T")


def keep_alive(made: T) -> T:
    """Return the object, after taking a reference to it that is never released."""
    ctypes: Any = lazy_import("ctypes")  # most processes make no native code
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(made))
    return made
