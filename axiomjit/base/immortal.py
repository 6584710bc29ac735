"""Objects that are never freed: native code may use them after Python has cleared modules."""

from __future__ import annotations

from typing import TypeVar

T = TypeVar("T")


def immortal(made: T) -> T:
    """The same object, which is never freed."""
    import ctypes  # here, since most processes that import us make no native code

    ctypes.pythonapi.Py_IncRef(ctypes.py_object(made))
    return made
