"""Parts of an array at computed positions: views in NumPy, gathers and scatters in a program."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from axiomjit.graph.nodes import Node
from axiomjit.graph.storages import VersionedStorage
from axiomjit.numpy_rules.indexing import index_node
from axiomjit.symbolic.dims import Dim
from axiomjit.tracing.operators import TracedStorage
from axiomjit.tracing.writes import set_item


class PartStorage(TracedStorage):
    """The memory of a part of another array, such as the row at a computed position.

    A part is gathered again after a write into the array; a write into the part is scattered into
    the array.
    """

    __slots__ = ("_key", "_seen", "_whole")

    def __init__(self, whole: Any, key: object, part: Node) -> None:
        """Store the tracer of the array, the index of the part, and the gathered part."""
        super().__init__(part)
        self._whole, self._key, self._seen = whole, key, whole.node
        self.region = whole.storage.region  # type: ignore[misc]  # the part is no memory of its own

    def current(self, node: Node) -> Node:
        """The node with the current values of the part; raises as `TracedStorage.current`."""
        self._gather_again()
        return super().current(node)

    def write(self, following: Callable[[Node], Node]) -> None:
        """Replace the values of the part, also in the array; raises as `TracedStorage.write`."""
        self._gather_again()
        VersionedStorage.write(self, following)
        set_item(self._whole.storage, self._whole.node, self._key, self.version)
        self._seen = self._whole.node

    def is_at(self, whole: Any, key: object) -> bool:
        """True if the part is surely the part of an array at an index."""
        return self._whole.storage is whole.storage and _is_same(self._key, key)

    def _gather_again(self) -> None:
        whole = self._whole.node
        if whole is not self._seen:
            self._seen = whole
            VersionedStorage.write(self, lambda _: index_node(whole, self._key))


def _is_same(one: object, other: object) -> bool:
    if isinstance(one, tuple) and isinstance(other, tuple):
        return len(one) == len(other) and all(map(_is_same, one, other))
    if isinstance(one, Node | Dim) or isinstance(other, Node | Dim):
        return one is other
    return type(one) is type(other) and one == other
