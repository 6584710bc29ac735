"""Where in the user's program a node was first written; kept beside the graph, never in it."""

from __future__ import annotations

import os
import sys
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Final
from weakref import WeakKeyDictionary

import numpy as np

if TYPE_CHECKING:
    from types import FrameType

    from axiomjit.graph import Node

_PACKAGE: Final = Path(__file__).parent
_PARTS: Final = tuple((_PACKAGE / part).resolve() for part in ("passes", "runtime"))
_OURS: Final = tuple(
    f"{folder}{os.sep}" for folder in (_PACKAGE, *_PARTS, Path(np.__file__).parent)
)
_origins: Final[WeakKeyDictionary[Node, str]] = WeakKeyDictionary()


def user_location() -> str | None:
    """`file:line` of the innermost frame that is neither ours nor NumPy's."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        name = frame.f_code.co_filename
        if not name.startswith(_OURS) and not name.startswith("<frozen"):
            return f"{name}:{frame.f_lineno}"
        frame = frame.f_back
    return None


def warn(text: str, category: type[Warning]) -> None:
    """Warn at the user's line."""
    file, _, line = (user_location() or "unknown:0").rpartition(":")
    warnings.warn_explicit(text, category, file, int(line))


def note(node: Node) -> Node:
    """Remember the user's line for a node that has none yet."""
    if node not in _origins:
        where = user_location()
        if where is not None:
            _origins[node] = where
    return node


def origin(node: Node) -> str | None:
    """`file:line` where the node was first written."""
    return _origins.get(node)
