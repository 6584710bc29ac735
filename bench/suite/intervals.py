"""Medians of samples of several processes, with their intervals.

Samples come from several processes, and in each from several rounds. Rounds of one process share
its memory and its place on the machine, so the bootstrap resamples both: first processes, then
rounds in each process drawn. The estimate is the median of the processes' medians.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from axiomjit.base.records import Record

RESAMPLES: Final = 2000
PERCENTILES: Final = (2.5, 97.5)
Processes = Sequence[Sequence[float] | np.ndarray]
"""The samples of each process, one per round."""


class Interval(Record):
    """A median and its 95 % confidence interval."""

    median: float
    low: float
    high: float


def median_interval(processes: Processes, seed: int = 0) -> Interval:
    """Return the median of the processes' medians, and its percentile bootstrap interval."""
    values = [np.asarray(samples, float) for samples in processes]
    rng = np.random.default_rng(seed)
    chosen = rng.integers(0, len(values), (RESAMPLES, len(values)))
    medians = np.empty(chosen.shape)
    for number, own in enumerate(values):
        where = chosen == number
        rounds = rng.integers(0, len(own), (int(where.sum()), len(own)))
        medians[where] = np.median(own[rounds], axis=1)
    middle = float(np.median([np.median(own) for own in values]))
    low, high = map(float, np.percentile(np.median(medians, axis=1), PERCENTILES))
    return Interval(middle, min(low, middle), max(high, middle))  # rounding may exclude it


def ratio_interval(ours: Processes, theirs: Processes) -> Interval:
    """Return the same for ratios of two samples of one round, in which slow phases cancel."""
    return median_interval(
        [np.asarray(a, float) / np.asarray(b, float) for a, b in zip(ours, theirs, strict=True)]
    )
