"""Two functions timed in turn, with the upper end of their ratio's interval."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

import numpy as np

Function = Callable[[], object]
LEAST: Final = 15
"""The least number of rounds in which two functions are timed in turn."""


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
