"""Dependences between trips of a loop: whether two accesses of one array can meet.

Two accesses meet only if their positions are equal in every dimension. A distance of positions that
is affine in the indices has its least and its largest value at ends of the ranges of the indices.
The accesses never meet if the distance is always positive or always negative, or if the constant
term of the distance is no multiple of the common divisor of its other factors. The sign of a length
may be read from this call, which records a guard. Accesses whose positions are not known may meet.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import gcd
from typing import Final

from axiomjit.base.records import Record
from axiomjit.symbolic.data_dependent import data_dependent_in
from axiomjit.symbolic.dims import (
    INDEX,
    Dim,
    Guard,
    Scope,
    Symbol,
    affine_pieces,
    dim,
    substitute,
    symbols_in,
)
from axiomjit.symbolic.index_ranges import IndexRange, limit_of

MAX_ENDS: Final = 64
"""The most combinations of ends of ranges at which a distance is computed."""
LATER: Final = Symbol("later", INDEX)
"""The number of trips from one access to the other."""


class Access(Record):
    """The elements of an array that a trip reads or writes at one place of its body.

    `place` is the position in each dimension; None if the position is not known. `ranges` are the
    ranges of the indices of loops inside the trip, outermost first.
    """

    place: tuple[Dim, ...] | None
    ranges: tuple[IndexRange, ...] = ()


class Trips(Record):
    """A loop: its index, the number of its trips, the ranges of the indices of loops around it."""

    index: Symbol
    number: Dim
    around: tuple[IndexRange, ...] = ()

    def may_meet(self, first: Access, second: Access, scope: Scope | None) -> bool:
        """True if two accesses may have an element in common, in one trip or in two trips."""
        one, other = _renamed(first, self.index, "one"), _renamed(second, self.index, "other")
        ranges = [(symbol, dim(0), self.number - 1) for symbol in (one[1], other[1])]
        return _may_meet(one[0], other[0], (*self.around, *ranges), scope)

    def may_meet_later(self, first: Access, second: Access, scope: Scope | None) -> bool:
        """True if the second access, in a later trip, may meet the first access."""
        trip, other = dim(self.index), _renamed(second, self.index, "other")
        later = {other[1]: trip + dim(LATER)}
        moved = _substituted(other[0], later)
        pairs = (LATER, dim(1), self.number - 1), (self.index, dim(0), self.number - 1 - dim(LATER))
        return _may_meet(first, moved, (*self.around, *pairs), scope)


def may_meet_in_trip(
    first: Access, second: Access, around: Sequence[IndexRange], scope: Scope | None
) -> bool:
    """True if two accesses may have an element in common in one trip of the loops around them."""
    unused = Symbol("", INDEX)
    one, other = _renamed(first, unused, "one"), _renamed(second, unused, "other")
    return _may_meet(one[0], other[0], around, scope)


def is_at_least(
    length: Dim, least: int, ranges: Sequence[IndexRange], scope: Scope | None = None
) -> bool:
    """True if a length is at least a number for all values of indices in ranges.

    Args:
        length: A length, affine in the indices.
        least: The number.
        ranges: The ranges of the indices, outermost first; the ends of a range may depend on the
            indices of the ranges before it.
        scope: The lengths of this call, in which guards are recorded; without a scope only the
            kinds of symbols decide.
    """
    ends = _least_values(length, ranges)
    return ends is not None and all(_is_at_least(end, least, scope) for end in ends)


def range_of_trips(index: Symbol, trips: Dim) -> IndexRange:
    """The range of the index of a loop with `max(trips, 0)` trips."""
    (monomial, factor), *others = trips.terms or (((), 0),)
    if not others and factor == 1 and len(monomial) == 1 and not isinstance(monomial[0], Symbol):
        atom = monomial[0]
        if atom.sign == "max" and 0 in (atom.left.constant, atom.right.constant):
            trips = atom.right if atom.left.constant == 0 else atom.left
    return index, dim(0), trips - 1


def _may_meet(
    first: Access,
    second: Access,
    ranges: Sequence[IndexRange],
    scope: Scope | None,
) -> bool:
    if first.place is None or second.place is None:
        return True
    every = (*ranges, *first.ranges, *second.ranges)
    apart = [b - a for a, b in zip(first.place, second.place, strict=True)]
    for asked in (None, scope):  # first without guards: one dimension may suffice
        for distance in apart:
            if _has_remainder(distance) or any(
                is_at_least(one, 1, every, asked) for one in (distance, -distance)
            ):
                return False
    return True


def _has_remainder(distance: Dim) -> bool:
    """True if a distance is never 0, by the remainder of its constant term.

    The constant term is no multiple of the common divisor of all other factors.
    """
    steps = gcd(*(factor for monomial, factor in distance.terms if monomial))
    rest = sum(factor for monomial, factor in distance.terms if not monomial)
    return rest % steps != 0 if steps else rest != 0


def _renamed(access: Access, index: Symbol, suffix: str) -> tuple[Access, Symbol]:
    """The access with new names for its indices, and the new name of the loop's index."""
    names = {symbol: Symbol(f"{symbol.name} {suffix}", INDEX) for symbol, _, _ in access.ranges}
    own = Symbol(f"{index.name} {suffix}", INDEX)
    return _substituted(access, {one: dim(new) for one, new in (names | {index: own}).items()}), own


def _substituted(access: Access, names: Mapping[Symbol, Dim]) -> Access:
    """The access with other terms in place of indices."""
    place = access.place
    if place is not None:
        place = tuple(substitute(position, names) for position in place)
    ranges = []
    for symbol, *ends in access.ranges:
        low, high = (substitute(end, names) for end in ends)
        (new,) = symbols_in(names.get(symbol, dim(symbol)))
        ranges.append((new, low, high))
    return Access(place, tuple(ranges))


def _least_values(length: Dim, ranges: Sequence[IndexRange]) -> list[Dim] | None:
    """Lengths without indices, one of which is the least value; None if none are known."""
    found = [length]
    for symbol, low, high in reversed(ranges):
        new: dict[Dim, None] = {}
        for one in found:
            if symbol not in one.symbols:
                new[one] = None
                continue
            cases = affine_pieces(one, symbol)
            if cases is None:
                return None
            for case in cases:
                new |= {substitute(case, {symbol: e}): None for e in _ends(case, symbol, low, high)}
        if len(new) > MAX_ENDS:
            return None
        found = list(new)
    return found


def _ends(length: Dim, symbol: Symbol, low: Dim, high: Dim) -> tuple[Dim, ...]:
    """The ends of a range at which a length, affine in the index, may have its least value."""
    step = substitute(length, {symbol: 1}) - substitute(length, {symbol: 0})
    least, most = limit_of(step, 1), limit_of(step, -1)
    if least is not None and least >= 0:
        return (low,)
    return (high,) if most is not None and most <= 0 else (low, high)


def _is_at_least(length: Dim, least: int, scope: Scope | None) -> bool:
    """True if a length is at least a number, by the kinds of its symbols or by a new guard."""
    known = limit_of(length, 1)
    if known is not None and known >= least:
        return True
    if scope is None or length.constant is not None or data_dependent_in(length):
        return False
    if any(symbol.kind == INDEX for symbol in symbols_in(length)):
        return False
    if scope.value(length) < least:
        return False  # accesses that may meet need no guard
    scope.record(Guard(length, dim(least), ">=", True))
    return True
