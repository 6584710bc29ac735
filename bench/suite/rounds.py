"""Times two functions alternately, and gives an upper bound of their ratio."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

import numpy as np

Run = Callable[[], object]
LEAST: Final = 15
"""Rounds at least, whatever they take."""


class Ratio(NamedTuple):
    """Medians over rounds."""

    seconds: float
    """Of the first function."""
    ratio: float
    """Of the first to the second, in each round."""
    bound: float
    """The upper end of the median's 95 % interval."""

    def cells(self) -> list[str]:
        """The ratio and its bound as text."""
        return [f"{self.ratio:.2f}", f"{self.bound:.2f}"]


def upper(ratios: Sequence[float]) -> float:
    """The upper end of the 95 % interval of a median, an order statistic."""
    count = len(ratios)
    return sorted(ratios)[min(count - 1, math.ceil(count / 2 + 0.98 * math.sqrt(count)))]


def in_turns(
    first: Run,
    second: Run,
    rounds: int,
    *,
    spend_s: float = math.inf,
    clock: Callable[[], float] = time.perf_counter,
) -> Ratio:
    """Time two functions alternately; which goes first changes from round to round.

    Args:
        first: a function without arguments.
        second: what it is compared with.
        rounds: how many at most.
        spend_s: no further round then, but for LEAST ones.
        clock: `time.thread_time` for functions of one thread, which leaves out what others on the
            machine take; `time.perf_counter` for functions with threads of their own.
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
