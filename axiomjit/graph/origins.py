"""Where in the user's program a node was first written; kept beside the graph, never in it."""

from __future__ import annotations

from typing import Final
from weakref import WeakKeyDictionary

from axiomjit.base.origins import user_location
from axiomjit.graph.nodes import Node

_origins: Final[WeakKeyDictionary[Node, str]] = WeakKeyDictionary()


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
