"""Objects that are never freed: native code may use them after Python has cleared modules."""

from __future__ import annotations

from typing import Any, TypeVar

from axiomjit.base.locks import lazy_import

T = TypeVar("T")


def keep_alive(made: T) -> T:
    """The same object, which is never freed."""
    ctypes: Any = lazy_import("ctypes")  # here, since most processes make no native code
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(made))
    return made
