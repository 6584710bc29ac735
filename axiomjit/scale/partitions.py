"""Partitions of dimensions into blocks, and the parts of cut dimensions that values cover."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from axiomjit.base.records import Record
from axiomjit.symbolic.dims import Dim, Symbol, evaluate

FAR: Final = 1 << 60
"""The end of the last block of a dimension; the start of the first block is `-FAR`."""


class Partition(Record):
    """The lengths of the blocks of a dimension, in order; None for a length that is not known."""

    lengths: tuple[int | None, ...]

    def __str__(self) -> str:
        shown = ", ".join("?" if n is None else str(n) for n in self.lengths[:4])
        return f"({shown}{', ...' if len(self.lengths) > 4 else ''})"

    @property
    def count(self) -> int:
        """The number of blocks."""
        return len(self.lengths)

    @property
    def is_known(self) -> bool:
        """True if all lengths are known."""
        return None not in self.lengths

    @property
    def known(self) -> tuple[int, ...]:
        """The lengths of the blocks, all of which must be known."""
        return tuple(n for n in self.lengths if n is not None)

    @property
    def total(self) -> int:
        """The sum of the lengths, all of which must be known."""
        return sum(self.known)

    def ends(self) -> list[tuple[int, int]]:
        """The start and the end of each block; the first start is `-FAR`, the last end is `FAR`.

        Therefore, if a value reaches beyond the dimension, the first and the last block have the
        elements outside.
        """
        starts = [0]
        for n in self.known:
            starts.append(starts[-1] + n)
        starts[0], starts[-1] = -FAR, FAR
        return [(starts[k], starts[k + 1]) for k in range(self.count)]


class Place(Record):
    """The range of a cut dimension that one dimension of a value covers.

    Index 0 of the value is at position `origin` of the cut dimension, and the value has `length`
    elements along it.
    """

    partition: Partition
    origin: int
    length: int

    @property
    def is_whole(self) -> bool:
        """True if the value covers exactly the cut dimension."""
        if not self.partition.is_known:
            return self.origin == 0
        return self.origin == 0 and self.length == self.partition.total

    def lengths(self) -> tuple[int | None, ...]:
        """The number of the value's elements in each block."""
        if not self.partition.is_known:
            return self.partition.lengths
        end = self.origin + self.length
        return tuple(
            max(0, min(high, end) - max(low, self.origin)) for low, high in self.partition.ends()
        )


Places = tuple[Place | None, ...]
"""The place of each dimension; None for a dimension that is not cut."""


def sliced(place: Place, start: int, step: int, count: int) -> Partition:
    """The partition of every `step`-th element of a value, without blocks that have no elements."""
    lengths = []
    low = 0
    for n in place.lengths():
        assert n is not None
        first, last = -(-(low - start) // step), (low + n - 1 - start) // step
        if step < 0:
            first, last = -(-(low + n - 1 - start) // step), (low - start) // step
        lengths.append(max(0, min(last, count - 1) - max(first, 0) + 1) if n else 0)
        low += n
    kept = [n for n in (lengths if step > 0 else lengths[::-1]) if n]
    return Partition(tuple(kept) or (0,))


Values = Mapping[Symbol, int]


def number(length: Dim, values: Values) -> int:
    """The value of a length, given the values of symbols."""
    return evaluate(length, values)
