"""Ranges of loop indices, by which one comparison of lengths is decided for all trips of a loop.

A length that is affine in the indices has its extremes at the ends of their ranges, so a sign
common to all ends is its sign in every trip. Guards compare the lengths at these ends, never the
value of an index.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from axiomjit.base.records import Record
from axiomjit.symbolic.dims import (
    INDEX,
    SIGNS,
    Dim,
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
        """The value of a length that is the same in all trips; a guard records it.

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
    """A block that compares lengths as a loop's body does: for all trips of the given index."""
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
    """The smaller length; a symbolic minimum if no single order is known for all trips."""
    return smaller(left, right) if is_open(left, right) else left if left <= right else right


def largest(left: Dim, right: Dim) -> Dim:
    """The larger length; a symbolic maximum if no single order is known for all trips."""
    return larger(left, right) if is_open(left, right) else right if left <= right else left


def is_open(left: Dim, right: Dim) -> bool:
    """True if no single order of two lengths is known for all trips, or no index is in them."""
    if not any(symbol.kind == INDEX for symbol in symbols_in(left, right)):
        return True
    try:
        return not isinstance(left <= right, bool)
    except UndecidedError:
        return True


def wrapped(position: Dim, length: Dim) -> Dim:
    """A position with the length added if it is negative; minima and maxima where trips differ."""
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
