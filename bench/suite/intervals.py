"""Medians with intervals: of samples of several processes, and of two functions in turn.

Samples come from several processes, and in each from several rounds. Rounds of one process share
its memory and its place on the machine, so the bootstrap resamples both: first processes, then
rounds in each process drawn. The estimate is the median of the processes' medians.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

import numpy as np

from axiomjit.base.records import Record

RESAMPLES: Final = 2000
PERCENTILES: Final = (2.5, 97.5)
Processes = Sequence[Sequence[float] | np.ndarray]
"""The samples of each process, one per round."""
Function = Callable[[], object]
LEAST: Final = 15
"""The least number of rounds in which two functions are timed in turn."""


class Interval(Record):
    """A median and its 95 % confidence interval."""

    median: float
    low: float
    high: float


def median_interval(processes: Processes, seed: int = 0) -> Interval:
    """Return the median of the processes' medians, and its percentile bootstrap interval.

    Args:
        processes: the samples of each process, one per round.
        seed: of the resampling.
    """
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
    """Return the median and interval of ratios within rounds, in which slow phases cancel."""
    return median_interval(
        [np.asarray(a, float) / np.asarray(b, float) for a, b in zip(ours, theirs, strict=True)]
    )


class Ratio(NamedTuple):
    """The result of timing two functions in turn: medians over rounds."""

    seconds: float
    """The time of the first function."""
    ratio: float
    """The median of the first time over the second, round by round."""
    bound: float
    """The upper end of the median's 95 % interval."""

    def cells(self) -> list[str]:
        """Return the ratio and its bound as text."""
        return [f"{self.ratio:.2f}", f"{self.bound:.2f}"]


def upper(ratios: Sequence[float]) -> float:
    """Return the upper end of the 95 % interval of a median (an order statistic)."""
    count = len(ratios)
    return sorted(ratios)[min(count - 1, math.ceil(count / 2 + 0.98 * math.sqrt(count)))]


def interleaved(
    first: Function,
    second: Function,
    rounds: int,
    *,
    spend_s: float = math.inf,
    clock: Callable[[], float] = time.perf_counter,
) -> Ratio:
    """Time two functions interleaved; which one goes first alternates from round to round.

    Args:
        first: a function without arguments.
        second: the function to compare with.
        rounds: the largest number of rounds.
        spend_s: seconds after which no round begins, except for the first LEAST.
        clock: `time.thread_time` for functions of one thread, which excludes the time of other
            processes; `time.perf_counter` for functions with threads of their own.
    """
    times: tuple[list[float], list[float]] = ([], [])
    first(), second()
    end = time.perf_counter() + spend_s
    for number in range(rounds):
        if number >= LEAST and time.perf_counter() > end:
            break
        for place in (0, 1) if number % 2 else (1, 0):
            run = (first, second)[place]
            start = clock()
            run()
            times[place].append(clock() - start)
    ratios = [ours / theirs for ours, theirs in zip(*times, strict=True)]
    return Ratio(float(np.median(times[0])), float(np.median(ratios)), upper(ratios))
