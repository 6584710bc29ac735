"""Ranges of the indices of loops: comparisons of lengths that are decided for all trips at once.

A length that is affine in the indices has its extremes at the ends of their ranges, so its sign
there is its sign in every trip. Guards name these ends, never the value of an index.
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
    choices,
    compare,
    dim,
    larger,
    smaller,
    substitute,
    symbols_in,
)

IndexRange = tuple[Symbol, Dim, Dim]
"""An index, its first and its last value."""


class UndecidedError(Exception):
    """A comparison has not the same outcome in all trips of a loop."""


class IndexRanges(Record):
    """The ranges of indices, outermost first; ends are affine in the indices before."""

    ranges: tuple[IndexRange, ...] = ()

    def name_any(self, *lengths: Dim) -> bool:
        """True if an index is in one of the lengths."""
        return any(one in length.symbols for one, _, _ in self.ranges for length in lengths)

    def value(self, length: Dim) -> int:
        """The value of a length in all trips; a guard says so if it depends on other lengths.

        Raises:
            UndecidedError: trips differ.
        """
        first, *others = self.ends(length)
        if others:
            raise UndecidedError(f"{length} differs between trips")
        return int(first)

    def outcome(self, apart: Dim, sign: str) -> bool:
        """The outcome of `apart sign 0` in all trips.

        Raises:
            UndecidedError: trips differ, or the ends of the ranges do not decide the comparison.
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
        """The length at all ends of the ranges; its extremes are among these values.

        Raises:
            UndecidedError: the length is not affine in an index.
        """
        found = [length]
        for symbol, first, last in reversed(self.ranges):
            found = [part for one in found for part in _cases(one, symbol)]
            found = [
                substitute(one, {symbol: end}) if symbol in one.symbols else one
                for one in found
                for end in ((first, last) if symbol in one.symbols else (first,))
            ]
        return list(dict.fromkeys(found))

    def limited(self, trips: Dim) -> IndexRanges:
        """The ranges limited to the trips in which an inner loop of max(trips, 0) trips runs.

        Raises:
            UndecidedError: the number is not an index plus or minus lengths, or never positive.
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
        except UndecidedError:  # perhaps in some trips of the loops around
            return IndexRanges(new).limited(high - low + 1)
        return IndexRanges(new)

    def within(self, symbol: Symbol, trips: Dim) -> IndexRanges:
        """The ranges with one more index, from 0 to the number of trips."""
        return IndexRanges((*self.ranges, (symbol, dim(0), trips - 1)))


@contextmanager
def within_body(scope: Scope, index: Symbol | None, trips: Dim | None) -> Iterator[None]:
    """Compare lengths as the body of a loop or branch does: for all trips, if it has an index."""
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
    """Comparisons of indices while passes lower a body for all trips at once.

    An equality is false, as it does not hold in all trips. An order is that of the trip in `scope`:
    it may decide about speed alone.
    """

    scope: Scope

    def name_any(self, *lengths: Dim) -> bool:
        """True if an index is in one of the lengths."""
        return any(symbol.kind == INDEX for symbol in symbols_in(*lengths))

    def value(self, length: Dim) -> int:
        """The value of a length in the trip of the scope, which may decide about speed alone."""
        return self.scope.value(length)

    def outcome(self, apart: Dim, sign: str) -> bool:
        """The outcome of `apart sign 0`."""
        return sign != "==" and SIGNS[sign](self.scope.value(apart), 0)


def is_surely(length: Dim, value: int) -> bool:
    """True if a length has a value, in all trips of the loops that are followed."""
    try:
        return length == value
    except UndecidedError:
        return False


def least(left: Dim, right: Dim) -> Dim:
    """The smaller length; a minimum where trips of a loop differ, and without indices."""
    return smaller(left, right) if is_open(left, right) else left if left <= right else right


def largest(left: Dim, right: Dim) -> Dim:
    """The larger length; a maximum where trips of a loop differ, and without indices."""
    return larger(left, right) if is_open(left, right) else right if left <= right else left


def is_open(left: Dim, right: Dim) -> bool:
    """True if the order of two lengths is not that of all trips, or needs no index to be known."""
    if not any(symbol.kind == INDEX for symbol in symbols_in(left, right)):
        return True
    try:
        return not isinstance(left <= right, bool)
    except UndecidedError:
        return True


def wrapped(position: Dim, length: Dim) -> Dim:
    """The position, with the length added if it is negative; no guard where trips differ."""
    try:
        return position + length if position < 0 else position
    except UndecidedError:
        return position - larger(smaller(position, 0), -1) * length


def _compare(corner: Dim, sign: str) -> bool:
    """The sign of a length; no guard where the kinds of its symbols decide it."""
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
    """The least value of a length by the kinds of its symbols, for side -1 the largest one.

    None if the kinds do not limit it.
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


def _cases(length: Dim, symbol: Symbol) -> list[Dim]:
    """The length with minima and maxima of an index replaced by each of their operands.

    Raises:
        UndecidedError: the length is not affine in the index.
    """
    found = choices(length, symbol)
    if found is None:
        raise UndecidedError(f"{length} is not affine in {symbol.name}")
    return found
