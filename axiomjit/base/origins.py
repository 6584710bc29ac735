"""Where things are from: the line that is run, the line of a node, the library of code."""

from __future__ import annotations

import os
import sys
import warnings
from typing import TYPE_CHECKING, Any, Final, TypeVar
from weakref import WeakKeyDictionary

import numpy as np

if TYPE_CHECKING:
    from types import CodeType, FrameType


_PACKAGE: Final = os.path.dirname(os.path.dirname(__file__))
_PARTS: Final = tuple(os.path.realpath(f"{_PACKAGE}/{part}") for part in ("passes", "runtime"))
_OURS: Final = tuple(
    f"{folder}{os.sep}" for folder in (_PACKAGE, *_PARTS, os.path.dirname(np.__file__))
)


def user_location() -> str | None:
    """`file:line` of the innermost frame that is neither ours nor NumPy's."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        name = frame.f_code.co_filename
        if not name.startswith(_OURS) and not name.startswith("<frozen"):
            return f"{name}:{frame.f_lineno}"
        frame = frame.f_back
    return None


def catches_errors(within: CodeType | None) -> bool:
    """Whether a frame of the user's that runs within a function of ours may catch errors."""
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


AnyNode = TypeVar("AnyNode")
_origins: Final[WeakKeyDictionary[Any, str]] = WeakKeyDictionary()


def note(node: AnyNode) -> AnyNode:
    """Remember the user's line for a node that has none yet."""
    if node not in _origins:
        where = user_location()
        if where is not None:
            _origins[node] = where
    return node


def inherit(new: AnyNode, old: AnyNode) -> None:
    """Give a node that stands for another one, and has no line, the other's."""
    where = _origins.get(old)
    if new is not old and where is not None:
        _origins.setdefault(new, where)


def origin(node: object) -> str | None:
    """`file:line` where the node was first written."""
    return _origins.get(node)


_FOREIGN: Final = sys.stdlib_module_names | {"numpy", "numba", "axiomjit"}


def is_foreign(part: Any) -> bool:
    """Whether a class, function or module is of Python's library, NumPy, Numba or this one."""
    name = str(getattr(part, "__module__", None) or part.__name__)
    return name != "__main__" and name.partition(".")[0] in _FOREIGN


def is_installed(part: Any, own: str = "") -> bool:
    """Whether a class, function or module is of an installed package other than `own`."""
    name = str(getattr(part, "__module__", None) or getattr(part, "__name__", ""))
    top = name.partition(".")[0]
    if top in ("", own, "__main__"):
        return False
    file = getattr(sys.modules.get(top), "__file__", None) or ""
    return "site-packages" in file or "dist-packages" in file
