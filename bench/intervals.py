"""Medians and their bootstrap intervals."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from axiomjit.records import Record

RESAMPLES: Final = 2000
LEVEL: Final = 95.0


class Interval(Record):
    """A median and the interval in which it lies with 95 % confidence."""

    median: float
    low: float
    high: float


def median_interval(samples: Sequence[float], seed: int = 0) -> Interval:
    """The median of samples and its percentile bootstrap interval, samples drawn with return."""
    values = np.asarray(samples, float)
    return _interval(float(np.median(values)), np.median(values[_draws(len(values), seed)], axis=1))


def ratio_interval(ours: Sequence[float], theirs: Sequence[float], seed: int = 0) -> Interval:
    """The ratio of two medians, samples of the same round drawn together.

    Args:
        ours: one sample per round.
        theirs: as many, of the same rounds.
        seed: of the draws.
    """
    left, right = np.asarray(ours, float), np.asarray(theirs, float)
    draws = _draws(len(left), seed)
    ratios = np.median(left[draws], axis=1) / np.median(right[draws], axis=1)
    return _interval(float(np.median(left) / np.median(right)), ratios)


def _draws(count: int, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, count, (RESAMPLES, count))


def _interval(median: float, resampled: np.ndarray) -> Interval:
    """The percentiles, widened where rounding puts the median outside them."""
    tail = (100.0 - LEVEL) / 2
    low, high = np.percentile(resampled, (tail, 100.0 - tail))
    return Interval(median, min(float(low), median), max(float(high), median))
