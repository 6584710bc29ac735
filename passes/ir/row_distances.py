"""How many steps of a loop lie between writing an element and reading it at a shifted place."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from axiomjit.base.records import Record
from axiomjit.passes.ir.loop_ir import For, Index
from axiomjit.symbolic.dims import Dim, current_scope, dim, exact_quotient


class Distances(Record):
    """What step j reads, only steps from j + low to j + high write: none where low > high."""

    low: Dim
    high: Dim

    @property
    def is_apart(self) -> bool:
        """Whether nothing that is read is written."""
        return self.low > self.high


APART: Final = Distances(dim(1), dim(0))
ZERO: Final = Distances(dim(0), dim(0))


def distances_of(
    read: Index, written: Index, loops: Sequence[For], level: int = 0
) -> Distances | None:
    """The distances in steps of one of the loops; None where no bounds are known.

    Lengths and strides at hand decide, which leaves guards in the ambient scope.

    Args:
        read: what a step reads.
        written: what a step writes, in the same buffer.
        loops: the loops around both, outermost first.
        level: which loop; the distances in steps of those around it are 0.
    """
    if read.gathered or written.gathered:
        return None
    low, high = _apart_at_most(read, written, loops[level + 1 :])
    name = loops[level].iterator
    pace, other = dict(written.terms).get(name, dim(0)), dict(read.terms).get(name, dim(0))
    if pace is not other:
        first, last = _spans(loops[level : level + 1], read, written)
        return APART if low + first > 0 or high + last < 0 else None
    if pace == 0:
        return None
    if pace < 0:
        low, high, pace = -high, -low, -pace
    if low is high:
        exact = exact_quotient(low, pace)
        if exact is not None:
            extent = loops[level].extent
            return APART if exact >= extent or exact <= -extent else Distances(exact, exact)
    value = current_scope().value
    least, most = -(-value(low) // value(pace)), value(high) // value(pace)
    if not (pace * (least - 1) < low and high < pace * (most + 1)):
        return None  # never: the guards that hold in other calls
    return Distances(dim(least), dim(most))


def _apart_at_most(read: Index, written: Index, inner: Sequence[For]) -> tuple[Dim, Dim]:
    """The least and the largest place read minus a place written, in one step of the outer loop."""
    apart = read.offset - written.offset
    low, high = _spans(inner, read, written)
    return apart + low, apart + high


def _spans(loops: Sequence[For], read: Index, written: Index) -> tuple[Dim, Dim]:
    """How far apart steps of some loops may bring both, below and above."""
    low, high = dim(0), dim(0)
    for index, sign in ((read, 1), (written, -1)):
        strides = dict(index.terms)
        for loop in loops:
            span = strides.get(loop.iterator, dim(0)) * (loop.extent - 1) * sign
            if span < 0:
                low += span
            else:
                high += span
    return low, high
