"""Where in the user's program a node was first written; kept beside the graph, never in it."""

from __future__ import annotations

from typing import Any, Final, TypeVar
from weakref import WeakKeyDictionary

from axiomjit.base.origins import user_location

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
