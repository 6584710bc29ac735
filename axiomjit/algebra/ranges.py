"""The positions of a slice, on symbolic lengths: Python's rules without looking at values."""

from __future__ import annotations

from typing import Final

from axiomjit.algebra.chosen import chosen_in
from axiomjit.algebra.dims import DIMS, Dim, dim, larger, smaller

SliceBound = int | Dim | None


def range_of(start: SliceBound, stop: SliceBound, step: int, length: Dim) -> tuple[Dim, Dim]:
    """First position and number of positions of `[start:stop:step]`.

    The sign of a bound that is no constant is compared; the rest stays symbolic, as smaller and
    larger ones of two lengths.
    """
    low, high = (dim(0), length) if step > 0 else (dim(-1), length - 1)

    def clipped(value: SliceBound, default: Dim) -> Dim:
        if value is None:
            return default
        at = dim(value)
        return larger(at + length, low) if at < 0 else smaller(at, high)

    first, behind = (low, high) if step > 0 else (high, low)
    begin, end = clipped(start, first), clipped(stop, behind)
    if begin is first:
        span = end - begin if step > 0 else begin - end
    elif step > 0:  # a first position beyond the end is no less than it either way
        late = begin if start is None or dim(start) < 0 else dim(start)
        span = larger(end - late, 0)
    else:
        span = larger(begin - end, 0)
    return begin, (span + (abs(step) - 1)) // abs(step)


def settled(length: Dim) -> Dim:
    """The length with every minimum and maximum replaced by the length chosen in this call.

    Each choice records a guard in the ambient scope. Those of lengths that only the running program
    knows stay: it computes them.
    """
    return length.fold(dim, _DECIDING)


def _least(left: Dim, right: Dim) -> Dim:
    if chosen_in(left, right):
        return smaller(left, right)
    return left if left <= right else right


def _largest(left: Dim, right: Dim) -> Dim:
    if chosen_in(left, right):
        return larger(left, right)
    return right if left <= right else left


_DECIDING: Final = {**DIMS, "min": _least, "max": _largest}
