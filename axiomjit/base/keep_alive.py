"""Objects that are never freed; native code may use them while the interpreter shuts down."""

from __future__ import annotations

from typing import Any, TypeVar

from axiomjit.base.locks import lazy_import

T = TypeVar("T")


def keep_alive(made: T) -> T:
    """Return the object, after taking a reference to it that is never released."""
    ctypes: Any = lazy_import("ctypes")  # most processes make no native code
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(made))
    return made
