"""Axes of plots: where a value lies, and which ticks are worth a label."""

from __future__ import annotations

from collections.abc import Iterable
from math import ceil, floor, isfinite, log10, sqrt
from typing import Final

from axiomjit.base.records import Record

NARROWEST: Final = 4.0
"""A logarithmic axis spans at least this factor: noise should not fill a plot."""

# The ticks within a decade, finest first.
MANTISSAS = (
    (1, 1.1, 1.2, 1.3, 1.4, 1.6, 1.8, 2, 2.5, 3, 4, 5, 6, 7, 8, 9),
    (1, 1.2, 1.5, 2, 3, 5, 7),
    (1, 2, 5),
    (1, 3),
    (1,),
)


class LogScale(Record):
    """An axis from `low` to `high`, both positive, with equal room for equal ratios."""

    low: float
    high: float

    def place(self, value: float) -> float:
        """Where a value lies: 0 at the low end, 1 at the high end; outside counts as the rim."""
        inside = min(max(value, self.low), self.high)
        return (log10(inside) - log10(self.low)) / (log10(self.high) - log10(self.low))

    def ticks(self, most: int) -> list[float]:
        """Round values on the axis, at most so many."""
        decades = range(floor(log10(self.low)), ceil(log10(self.high)) + 1)
        found: list[float] = []
        for mantissas in MANTISSAS:
            ticks = (mantissa * 10.0**decade for decade in decades for mantissa in mantissas)
            found = [t for t in ticks if self.low / t < 1 + 1e-9 and t / self.high < 1 + 1e-9]
            if len(found) <= most:
                return found
        return found[:: ceil(len(found) / most)]


class LinearScale(Record):
    """An axis from `low` to `high` with equal room for equal differences."""

    low: float
    high: float

    def place(self, value: float) -> float:
        """Where a value lies: 0 at the low end, 1 at the high end; outside counts as the rim."""
        return (min(max(value, self.low), self.high) - self.low) / (self.high - self.low)

    def ticks(self, most: int) -> list[float]:
        """Equal steps from end to end, at most so many ticks."""
        return [self.low + (self.high - self.low) * step / (most - 1) for step in range(most)]


def log_scale(values: Iterable[float], margin: float = 1.2) -> LogScale:
    """A scale that shows all values and leaves a factor free at both ends.

    Args:
        values: those that are not positive and finite are skipped.
        margin: the factor; more where the scale would span less than NARROWEST.
    """
    seen = [value for value in values if isfinite(value) and value > 0] or [1.0]
    margin = max(margin, sqrt(NARROWEST * min(seen) / max(seen)))
    return LogScale(min(seen) / margin, max(seen) * margin)


class Bands(Record):
    """An axis of names, from the top: the value k is the middle of the k-th band."""

    count: int

    def place(self, value: float) -> float:
        """Where a name lies, from the bottom."""
        return 1 - (value + 0.5) / self.count

    def ticks(self, most: int) -> list[float]:
        """All of them: a name left out would be missed."""
        return [float(k) for k in range(self.count)]


class DateScale(Record):
    """An axis of moments, in seconds since 1970, with room beyond the first and the last."""

    first: float
    last: float

    def place(self, value: float) -> float:
        """Where a moment lies; a single one lies in the middle."""
        if self.first == self.last:
            return 0.5
        return 0.12 + 0.76 * (value - self.first) / (self.last - self.first)

    def ticks(self, most: int) -> list[float]:
        """Equal steps from the first to the last moment."""
        if self.first == self.last:
            return [self.first]
        return LinearScale(self.first, self.last).ticks(most)
