"""The memory of arrays while a function is followed: a storage for each array that it makes.

The identity of a storage never comes from a node: `x + 1` written twice is one node and two arrays.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from axiomjit.base.errors import NeedsValuesError
from axiomjit.base.origins import user_location
from axiomjit.base.trace_context import refused
from axiomjit.graph import builder
from axiomjit.graph.nodes import Node
from axiomjit.graph.primitives import COPY
from axiomjit.graph.storages import VersionedStorage


class TracedStorage(VersionedStorage):
    """The memory of one array, its views included.

    NumPy's `reshape` gives a view or a copy, as the array lies in memory, which is not known of
    computed arrays. Such a result has a storage of its own that may be the same one: after a write
    into either, the other cannot be used.
    """

    __slots__ = ("_doubt", "_maybe_same")

    def __init__(self, root: Node) -> None:
        """Start with nothing written."""
        super().__init__(root)
        self._maybe_same: Final[list[TracedStorage]] = []
        self._doubt: str | None = None

    @property
    def is_written(self) -> bool:
        """Whether something was written."""
        return self.version is not self.root

    def relate(self, other: TracedStorage) -> None:
        """Note that the other storage may be this one, in NumPy."""
        self._maybe_same.append(other)
        other._maybe_same.append(self)

    def write(self, following: Callable[[Node], Node]) -> None:
        """As `VersionedStorage.write`; storages that may be the same are in doubt from now on."""
        super().write(following)
        found = [self]
        for one in found:
            found += (other for other in one._maybe_same if other not in found)
        for one in found[1:]:
            one._doubt = user_location() or "an earlier line"

    def copy_values(self) -> None:
        """Make a copy of the current version the next one: what it holds stays the same."""
        super().write(lambda version: builder.elementwise(COPY, version))

    def current(self, node: Node) -> Node:
        """As `VersionedStorage.current`.

        Raises:
            NeedsValuesError: a write may have changed this storage, as the array lies in memory.
        """
        if self._doubt is not None:
            raise refused(
                NeedsValuesError(
                    "the values of an array that shares memory with another one, or does not",
                    f"a write at {self._doubt} into the one of which the other is a reshape: a "
                    "view of it or a copy, as the computed array lies in memory",
                    "write before reshape, or reshape a copy: x.copy().reshape(...)",
                    user_location(),
                )
            )
        return super().current(node)
