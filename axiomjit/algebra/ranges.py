"""The positions of a slice, on symbolic lengths: Python's rules without looking at values."""

from __future__ import annotations

from axiomjit.algebra.chosen import chosen_in
from axiomjit.algebra.dims import Dim, Extreme, Quotient, Symbol, dim, polynomial
from axiomjit.algebra.extremes import larger, smaller

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
    if all(isinstance(atom, Symbol) for monomial, _ in length.terms for atom in monomial):
        return length
    total = dim(0)
    for monomial, factor in length.terms:
        part = dim(factor)
        for atom in monomial:
            match atom:
                case Extreme(left=left, right=right) if chosen_in(left, right):
                    part = part * polynomial({(atom,): 1})
                case Extreme(which=which, left=left, right=right):
                    one, other = settled(left), settled(right)
                    part = part * (one if (one <= other) is (which == "min") else other)
                case Quotient(top=top, bottom=bottom):
                    part = part * (settled(top) // settled(bottom))
                case Symbol():
                    part = part * polynomial({(atom,): 1})
        total = total + part
    return total
