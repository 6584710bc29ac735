"""Axes of plots: the position of a value, and the ticks that get a label."""

from __future__ import annotations

from collections.abc import Iterable
from math import ceil, floor, isfinite, log10, sqrt
from typing import Final

from axiomjit.base.records import Record

NARROWEST: Final = 4.0
"""The smallest factor that a logarithmic axis spans, so that noise does not fill a plot."""

# Ticks within a decade, the finest division first.
MANTISSAS = (
    (1, 1.1, 1.2, 1.3, 1.4, 1.6, 1.8, 2, 2.5, 3, 4, 5, 6, 7, 8, 9),
    (1, 1.2, 1.5, 2, 3, 5, 7),
    (1, 2, 5),
    (1, 3),
    (1,),
)


class LogScale(Record):
    """A logarithmic axis from `low` to `high`, both positive."""

    low: float
    high: float

    def place(self, value: float) -> float:
        """Return the position of a value: 0 at the low end, 1 at the high end; clipped outside."""
        inside = min(max(value, self.low), self.high)
        return (log10(inside) - log10(self.low)) / (log10(self.high) - log10(self.low))

    def ticks(self, most: int) -> list[float]:
        """Return at most `most` round values on the axis."""
        decades = range(floor(log10(self.low)), ceil(log10(self.high)) + 1)
        found: list[float] = []
        for mantissas in MANTISSAS:
            ticks = (mantissa * 10.0**decade for decade in decades for mantissa in mantissas)
            found = [t for t in ticks if self.low / t < 1 + 1e-9 and t / self.high < 1 + 1e-9]
            if len(found) <= most:
                return found
        return found[:: ceil(len(found) / most)]


class LinearScale(Record):
    """A linear axis from `low` to `high`."""

    low: float
    high: float

    def place(self, value: float) -> float:
        """Return the position of a value: 0 at the low end, 1 at the high end; clipped outside."""
        return (min(max(value, self.low), self.high) - self.low) / (self.high - self.low)

    def ticks(self, most: int) -> list[float]:
        """Return at most `most` values at equal distances, both ends among them."""
        return [self.low + (self.high - self.low) * step / (most - 1) for step in range(most)]


def log_scale(values: Iterable[float], margin: float = 1.2) -> LogScale:
    """Return a scale that shows all values, with a margin at both ends.

    Args:
        values: those that are not positive and finite are ignored.
        margin: the factor left free; it is larger where the scale would span less than NARROWEST.
    """
    seen = [value for value in values if isfinite(value) and value > 0] or [1.0]
    margin = max(margin, sqrt(NARROWEST * min(seen) / max(seen)))
    return LogScale(min(seen) / margin, max(seen) * margin)


class Bands(Record):
    """An axis of names, from the top: the value k is the middle of the k-th band."""

    count: int

    def place(self, value: float) -> float:
        """Return the position of a name, from the bottom."""
        return 1 - (value + 0.5) / self.count

    def ticks(self, most: int) -> list[float]:
        """Return all names: one left out would be missed."""
        return [float(k) for k in range(self.count)]


class DateScale(Record):
    """An axis of times in seconds since 1970, with a margin at both ends."""

    first: float
    last: float

    def place(self, value: float) -> float:
        """Return the position of a time; a single time is in the middle."""
        if self.first == self.last:
            return 0.5
        return 0.12 + 0.76 * (value - self.first) / (self.last - self.first)

    def ticks(self, most: int) -> list[float]:
        """Return times at equal distances, from the first to the last."""
        if self.first == self.last:
            return [self.first]
        return LinearScale(self.first, self.last).ticks(most)
