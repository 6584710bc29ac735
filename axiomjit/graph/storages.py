"""Storages: memory that is written to, as a chain of versions of its values.

A handle, such as an axis tensor, is a storage and a view of it. The storage points at the node of
its current version; a write makes the next version, a read binds to the version of its moment.
Nodes never point back at storages: they carry at most the token of one.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Final

from axiomjit.algebra.dims import Dim
from axiomjit.algebra.index_maps import Affine, IndexMap, compose, identity
from axiomjit.base.locks import new_lock
from axiomjit.graph.nodes import Node, Op, Update, base_of, views_on
from axiomjit.graph.primitives import UPDATE, VIEW, Primitive

_lock: Final = new_lock()
"""Held while a storage gets its next version: writes of several threads are all kept."""


class VersionedStorage:
    """Memory that can be written to; `root` is the node of its first version."""

    __slots__ = ("_version", "root")

    def __init__(self, root: Node) -> None:
        """Start with nothing written."""
        self.root: Final = root
        self._version = root

    @property
    def version(self) -> Node:
        """The values that it holds now."""
        return self._version

    def write(self, following: Callable[[Node], Node]) -> None:
        """Make `following` of the current version the next one."""
        with _lock:
            self._version = following(self._version)

    def current(self, node: Node) -> Node:
        """The same view of the current version, for a version of this storage or a view of one."""
        version = self._version
        if node is version or base_of(node) is version:
            return node
        _, views = views_on(node)
        now = version
        for view in views:
            now = view.replace(operands=(now,))
        return now


def view_map(node: Node) -> tuple[Node, IndexMap] | None:
    """The node that a view reads, and the map from that node's dimensions to the view's.

    None for a view in which an element occurs more than once.
    """
    index, shape = identity(len(node.shape)), node.shape
    while isinstance(node, Op) and node.primitive is VIEW and node.fold is None:
        walked = {k for function in node.maps[0] for k, _ in function.terms}
        if any(k not in walked and n.constant != 1 for k, n in enumerate(node.extents)):
            return None
        index = compose(node.maps[0], index)
        node = node.operands[0]
    return None if any(_repeats(function, shape) for function in index) else (node, index)


def _repeats(function: Affine, shape: tuple[Dim, ...]) -> bool:
    """Whether points of a shape may share a position: windows that overlap.

    Dimensions that were one have a length as the step of the outer one, which is far enough.
    """
    steps = [(k, step.constant) for k, step in function.terms if shape[k].constant != 1]
    if len(steps) < 2 or any(step is None for _, step in steps):
        return False
    reach = 0
    for k, step in sorted(steps, key=lambda pair: abs(pair[1] or 0)):
        if abs(step or 0) <= reach:
            return True
        length = shape[k].constant
        reach = sys.maxsize if length is None else reach + abs(step or 0) * (length - 1)
    return False


def update(
    old: Node,
    target: IndexMap,
    value: Node,
    source: IndexMap,
    extents: tuple[Dim, ...],
    positions: Sequence[tuple[Node, IndexMap]] = (),
    lengths: Sequence[Dim] = (),
    combine: Primitive | None = None,
) -> Update:
    """The next version of a storage: a value, read through `source`, written at `target`.

    With positions, each within its length, the target names them behind the extents; `combine`
    says what happens to what is there.
    """
    nodes, maps = tuple(n for n, _ in positions), tuple(index for _, index in positions)
    parts = (old, value, *nodes), (target, source, *maps), (*extents, *lengths), len(extents)
    return Update(old.dtype, UPDATE, None, *parts, whole=old.shape, combine=combine)
