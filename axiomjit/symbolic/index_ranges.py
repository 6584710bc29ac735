"""Ranges of loop indices, by which lengths and accesses are compared for all trips of a loop.

A length that is affine in the indices has its extremes at the ends of their ranges, so a sign
common to all ends is its sign in every trip. Guards compare the lengths at the ends of the ranges,
never the value of an index.

Two accesses of one array meet only if their positions are equal in every dimension. A distance of
positions that is affine in the indices has its least and its largest value at ends of the ranges of
the indices. The accesses never meet if the distance is always positive or always negative, or if
the constant term of the distance is not a multiple of the common divisor of its other factors. The
sign of a length may be read from this call, which records a guard. Accesses whose positions are not
known may meet.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from math import gcd
from typing import Final

from axiomjit.base.records import Record
from axiomjit.symbolic.data_dependent import data_dependent_in
from axiomjit.symbolic.dims import (
    INDEX,
    SIGNS,
    Dim,
    Guard,
    Scope,
    Symbol,
    affine_pieces,
    compare,
    current_scope,
    dim,
    larger,
    smaller,
    substitute,
    symbols_in,
)

IndexRange = tuple[Symbol, Dim, Dim]
"""An index with its first and its last value."""


class UndecidedError(Exception):
    """A comparison that differs between the trips of a loop, or is not known to be the same."""


class IndexRanges(Record):
    """The ranges of loop indices, outermost first; their ends are affine in outer indices."""

    ranges: tuple[IndexRange, ...] = ()

    def occur_in(self, *lengths: Dim) -> bool:
        """True if one of the lengths depends on a loop index."""
        return any(one in length.symbols for one, _, _ in self.ranges for length in lengths)

    def value(self, length: Dim) -> int:
        """The value of a length that is the same in all trips; a guard records the value.

        Raises:
            UndecidedError: the length differs between trips.
        """
        first, *others = self.ends(length)
        if others:
            raise UndecidedError(f"{length} differs between trips")
        return int(first)

    def outcome(self, apart: Dim, sign: str) -> bool:
        """The outcome of the comparison of `apart` with 0 by `sign`, in all trips.

        Raises:
            UndecidedError: the outcome differs between trips, or the ends of the ranges do not
                decide it.
        """
        corners = self.ends(apart)
        if sign != "==":
            outcomes = {_compare(corner, sign) for corner in corners}
        elif all(corner.constant == 0 for corner in corners):
            return True
        else:
            sides = {(_compare(corner, "<"), _compare(corner, ">")) for corner in corners}
            outcomes = {False} if sides in ({(True, False)}, {(False, True)}) else set()
        if len(outcomes) != 1:
            raise UndecidedError(f"{apart} {sign} 0 differs between trips")
        return outcomes.pop()

    def ends(self, length: Dim) -> list[Dim]:
        """The length at each combination of range ends; its extremes are among these values.

        Raises:
            UndecidedError: the length is not affine in an index.
        """
        found = [length]
        for symbol, first, last in reversed(self.ranges):
            found = [part for one in found for part in _affine_pieces(one, symbol)]
            found = [
                substitute(one, {symbol: end}) if symbol in one.symbols else one
                for one in found
                for end in ((first, last) if symbol in one.symbols else (first,))
            ]
        return list(dict.fromkeys(found))

    def limited(self, trips: Dim) -> IndexRanges:
        """The ranges limited to trips in which an inner loop of max(trips, 0) trips is not empty.

        Raises:
            UndecidedError: `trips` is not a sum of lengths and plus or minus one index, or is never
                positive.
        """
        named = [one for one in self.ranges if one[0] in trips.symbols]
        if len(named) != 1:
            raise UndecidedError(f"{trips} depends on several indices")
        ((symbol, low, high),) = named
        rest = substitute(trips, {symbol: 0})
        if (trips - rest - dim(symbol)).constant == 0:
            low = 1 - rest
        elif (trips - rest + dim(symbol)).constant == 0:
            high = rest - 1
        else:
            raise UndecidedError(f"{trips} as a number of trips")
        new = tuple((symbol, low, high) if one[0] is symbol else one for one in self.ranges)
        try:
            if not low <= high:
                raise UndecidedError(f"{trips} is never positive")
        except UndecidedError:  # perhaps positive in some trips of outer loops
            return IndexRanges(new).limited(high - low + 1)
        return IndexRanges(new)

    def within(self, symbol: Symbol, trips: Dim) -> IndexRanges:
        """The ranges with one more innermost index, from 0 to `trips - 1`."""
        return IndexRanges((*self.ranges, (symbol, dim(0), trips - 1)))


@contextmanager
def within_body(scope: Scope, index: Symbol | None, trips: Dim | None) -> Iterator[None]:
    """A context in which lengths are compared as in a loop's body: for all trips of the index."""
    before = scope.indices
    ranges = before if isinstance(before, IndexRanges) else IndexRanges()
    if index is not None and trips is not None:
        scope.values[index] = 0
        ranges = ranges.within(index, trips)
    scope.indices = ranges
    try:
        yield
    finally:
        scope.indices = before


class AnyTrip(Record):
    """Comparisons of loop indices while passes lower a body that serves all trips.

    An equality counts as false, since it does not hold in all trips. An order is decided by the
    trip in `scope`, so only decisions about speed may use it.
    """

    scope: Scope

    def occur_in(self, *lengths: Dim) -> bool:
        """True if one of the lengths depends on a loop index."""
        return any(symbol.kind == INDEX for symbol in symbols_in(*lengths))

    def value(self, length: Dim) -> int:
        """The value of a length in the trip of the scope, for decisions about speed only."""
        return self.scope.value(length)

    def outcome(self, apart: Dim, sign: str) -> bool:
        """The outcome of the comparison of `apart` with 0 by `sign`; false for an equality."""
        return sign != "==" and SIGNS[sign](self.scope.value(apart), 0)


def equals_in_all_trips(length: Dim, value: int) -> bool:
    """True if a length equals a value in all trips of the loops that are being traced."""
    try:
        return length == value
    except UndecidedError:
        return False


def is_number_of_trip(length: Dim) -> bool:
    """True if a length depends on the index of a loop and is not affine in it."""
    ranges = current_scope().indices
    if not isinstance(ranges, IndexRanges) or not ranges.occur_in(length):
        return False
    try:
        ranges.ends(length)
    except UndecidedError:
        return True
    return False


def least(left: Dim, right: Dim) -> Dim:
    """The smaller length; a symbolic minimum if the trip may decide which length is smaller."""
    return smaller(left, right) if is_open(left, right) else left if left <= right else right


def largest(left: Dim, right: Dim) -> Dim:
    """The larger length; a symbolic maximum if the trip may decide which length is larger."""
    return larger(left, right) if is_open(left, right) else right if left <= right else left


def is_open(left: Dim, right: Dim) -> bool:
    """True if no single order of two lengths is known for all trips, or if both have no index."""
    if not any(symbol.kind == INDEX for symbol in symbols_in(left, right)):
        return True
    try:
        return not isinstance(left <= right, bool)
    except UndecidedError:
        return True


def wrapped(position: Dim, length: Dim) -> Dim:
    """The position, plus the length if the position is negative.

    If the sign may differ between trips, the result contains a minimum and a maximum.
    """
    try:
        return position + length if position < 0 else position
    except UndecidedError:
        return position - larger(smaller(position, 0), -1) * length


def _compare(corner: Dim, sign: str) -> bool:
    """The outcome of `corner` compared with 0; without a guard if kinds of symbols decide it."""
    low = limit_of(corner, 1)
    high = limit_of(corner, -1)
    known = {">": (low, 1, high, 0), ">=": (low, 0, high, -1)}
    known |= {"<": (None, 0, None, 0), "<=": (None, 0, None, 0)}
    if sign in ("<", "<="):
        return not _compare(corner, ">=" if sign == "<" else ">")
    least, enough, most, little = known[sign]
    if least is not None and least >= enough:
        return True
    if most is not None and most <= little:
        return False
    return compare(corner, 0, sign)


def limit_of(length: Dim, side: int) -> int | None:
    """The least value of a length (the largest for side -1) that the kinds of its symbols allow.

    Returns None if the kinds set no such limit.
    """
    total = 0
    for monomial, factor in length.terms:
        part = factor
        for atom in monomial:
            kind = atom.kind if isinstance(atom, Symbol) else None
            if kind is None or kind.low is None or kind.low < 0:
                return None
            if factor * side < 0 and kind.high is None:
                return None
            part *= kind.low if factor * side > 0 else kind.high or 0
        total += part
    return total


def _affine_pieces(length: Dim, symbol: Symbol) -> list[Dim]:
    """The affine pieces of a length: minima and maxima of an index replaced by their operands.

    Raises:
        UndecidedError: the length is not affine in the index.
    """
    found = affine_pieces(length, symbol)
    if found is None:
        raise UndecidedError(f"{length} is not affine in {symbol.name}")
    return found


MAX_ENDS: Final = 64
"""The largest number of combinations of ends of ranges at which a distance is computed."""
LATER: Final = Symbol("later", INDEX)
"""The symbol for the number of trips from one access to the other."""


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

    The constant term is not a multiple of the common divisor of all other factors.
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
    """The access in which the terms in `names` replace indices."""
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
    """Lengths without indices, one of which is the least value; None if it is not known."""
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
