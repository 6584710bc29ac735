"""Tables of rows, some of which stand in modules that few programs need."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TypeVar

from axiomjit.base.locks import import_late

Key = TypeVar("Key")
Row = TypeVar("Row")


class LateRows(Mapping[Key, Row]):
    """Rows at hand, and those of modules that the first look at any other key imports."""

    def __init__(self, near: Mapping[Key, Row], table: str, *modules: str) -> None:
        """Begin with rows at hand.

        Args:
            near: The rows at hand.
            table: The name that a table of further rows has in each module.
            modules: The modules, in full.
        """
        self._near, self._table, self._modules = near, table, modules
        self._whole: Mapping[Key, Row] | None = None

    def _every(self) -> Mapping[Key, Row]:
        if self._whole is None:
            whole = dict(self._near)
            for module in self._modules:
                whole |= getattr(import_late(module), self._table)
            self._whole = whole
        return self._whole

    def __getitem__(self, key: Key) -> Row:
        return self._near[key] if key in self._near else self._every()[key]

    def __contains__(self, key: object) -> bool:
        return key in self._near or key in self._every()

    def __iter__(self) -> Iterator[Key]:
        return iter(self._every())

    def __len__(self) -> int:
        return len(self._every())
