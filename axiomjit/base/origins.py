"""Origins: the running line of the user's program, and the library that defines some code."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Callable
from functools import partial
from types import FunctionType
from typing import TYPE_CHECKING, Any, Final

import numpy as np

if TYPE_CHECKING:
    from types import CodeType, FrameType


_PACKAGE: Final = os.path.dirname(os.path.dirname(__file__))
_PARTS: Final = tuple(os.path.realpath(f"{_PACKAGE}/{part}") for part in ("passes", "runtime"))
_OURS: Final = tuple(
    f"{folder}{os.sep}" for folder in (_PACKAGE, *_PARTS, os.path.dirname(np.__file__))
)


def user_location() -> str | None:
    """`file:line` of the innermost frame outside axiomjit and NumPy."""
    frame = _users_frame()
    return None if frame is None else f"{frame.f_code.co_filename}:{frame.f_lineno}"


def _users_frame() -> FrameType | None:
    """The innermost frame outside axiomjit and NumPy."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and not is_users_frame(frame):
        frame = frame.f_back
    return frame


_CALL: Final = (lambda function, *args, **kwargs: function(*args, **kwargs)).__code__


def at_users_line(function: Callable[..., Any]) -> Callable[..., Any]:
    """A form of a function that seems to be called by the user's line that runs now.

    Warnings that the function gives then name this line, whoever calls it.
    """
    frame = _users_frame()
    if frame is None:
        return function
    of = frame.f_code
    code = _CALL.replace(
        co_filename=of.co_filename,
        co_firstlineno=frame.f_lineno,
        co_name=of.co_name,
        co_qualname=of.co_qualname,
    )
    return partial(FunctionType(code, frame.f_globals), function)


def is_users_frame(frame: FrameType) -> bool:
    """True for a frame outside axiomjit and NumPy."""
    name = frame.f_code.co_filename
    return not name.startswith(_OURS) and not name.startswith("<frozen")


def catches_errors(within: CodeType | None) -> bool:
    """True if a user's frame inside the function with this code may catch errors."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_code is not within:
        code: Any = frame.f_code
        if not code.co_filename.startswith(_OURS) and code.co_exceptiontable:
            return True
        frame = frame.f_back
    return False


def warn(text: str, category: type[Warning]) -> None:
    """Warn at the user's line."""
    file, _, line = (user_location() or "unknown:0").rpartition(":")
    warnings.warn_explicit(text, category, file, int(line))


_FOREIGN: Final = sys.stdlib_module_names | {"numpy", "numba", "axiomjit"}


def is_library_code(part: Any) -> bool:
    """True if Python's library, NumPy, Numba or axiomjit defines a class, function or module."""
    name = str(getattr(part, "__module__", None) or part.__name__)
    return name != "__main__" and name.partition(".")[0] in _FOREIGN


def is_installed(part: Any, own: str = "") -> bool:
    """True if an installed package other than `own` defines a class, function or module."""
    name = str(getattr(part, "__module__", None) or getattr(part, "__name__", ""))
    top = name.partition(".")[0]
    if top in ("", own, "__main__"):
        return False
    file = getattr(sys.modules.get(top), "__file__", None) or ""
    return "site-packages" in file or "dist-packages" in file
