"""Compare two functions: time, memory, and the difference of their results."""

from __future__ import annotations

import itertools
import math
import os
import statistics
import time
import tracemalloc
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np

from axiomjit.base.records import Record
from axiomjit.base.tree import flatten_tree

Array = np.ndarray
Function = Callable[..., Any]
RUNS: Final = 15
RUN_SECONDS: Final = 2e-4
"""The length of a timing: shorter calls are repeated in it."""
QUIET: Final = 1 / 8
"""The share of the cores that other programs may use before times are called unreliable."""


class OtherPrograms:
    """The share of the machine that other programs use from now on.

    Threaded functions of other libraries may take many times as long beside them, every time: the
    spread of the times does not show it.
    """

    def __init__(self) -> None:
        """Begin to watch."""
        self._started = time.perf_counter()
        self._before = _used_by_others_s()

    def cores(self) -> float:
        """Cores in use by others on average; the load of the last minute where only that is told.

        0 where neither is told.
        """
        now, wall = _used_by_others_s(), time.perf_counter() - self._started
        if now is None or self._before is None:
            return os.getloadavg()[0] if hasattr(os, "getloadavg") else 0.0
        return max(0.0, now - self._before) / max(wall, 1e-9)


def _used_by_others_s(file: Path = Path("/proc/stat")) -> float | None:
    """Processor time of all programs but this one since the system began, None without /proc."""
    try:
        user, nice, system, _, _, *interrupts = file.read_text().splitlines()[0].split()[1:9]
        ticks = sum(map(int, (user, nice, system, *interrupts)))
        return ticks / os.sysconf("SC_CLK_TCK") - sum(os.times()[:4])
    except (OSError, ValueError, IndexError, AttributeError):
        return None


class Times(Record):
    """The quartiles of the times of several runs, in seconds."""

    low: float
    median: float
    high: float


class Comparison(Record):
    """Times of interleaved runs, and peaks of traced memory in bytes."""

    numpy: Times
    ours: Times
    numpy_bytes: int
    ours_bytes: int

    @property
    def ratio(self) -> Times | None:
        """NumPy's time divided by ours, with bounds from the quartiles; None if they overlap."""
        numpy, ours = self.numpy, self.ours
        if numpy.low <= ours.high and ours.low <= numpy.high:
            return None
        return Times(numpy.low / ours.high, numpy.median / ours.median, numpy.high / ours.low)


def compare_functions(plain: Function, jitted: Function, arrays: Sequence[Array]) -> Comparison:
    """Time two functions interleaved, and trace the memory of one call of each."""
    functions = (plain, jitted)
    repeats = [max(1, math.ceil(RUN_SECONDS / _timed(f, arrays, 1))) for f in functions]
    times: tuple[list[float], list[float]] = ([], [])
    for _ in range(RUNS):
        for function, repeat, taken in zip(functions, repeats, times, strict=True):
            taken.append(_timed(function, arrays, repeat))
    numpy, ours = (Times(*statistics.quantiles(t, n=4, method="inclusive")) for t in times)
    return Comparison(numpy, ours, _traced_bytes(plain, arrays), _traced_bytes(jitted, arrays))


def _timed(function: Function, arrays: Sequence[Array], repeat: int) -> float:
    started = time.perf_counter()
    for _ in range(repeat):
        function(*arrays)
    return max((time.perf_counter() - started) / repeat, 1e-9)


def _traced_bytes(function: Function, arrays: Sequence[Array]) -> int:
    """Peak of memory during a call, beyond its arrays and results."""
    tracing = tracemalloc.is_tracing()
    if not tracing:
        tracemalloc.start()
    try:
        function(*arrays)
        tracemalloc.reset_peak()
        before = tracemalloc.get_traced_memory()[0]
        result = function(*arrays)
        peak = tracemalloc.get_traced_memory()[1] - before
    finally:
        if not tracing:
            tracemalloc.stop()
    owned = (leaf for leaf in flatten_tree(result)[0] if isinstance(leaf, Array))
    return max(0, peak - sum(a.nbytes for a in owned if a.base is None))


def exact_l2(x: Array, y: Array) -> float:
    """The squared distance, its terms added without rounding; NaN where it is not finite."""
    blocks = range(0, len(x), 65536)
    terms = (((x[k : k + 65536] - y[k : k + 65536]) ** 2).tolist() for k in blocks)
    try:
        with np.errstate(all="ignore"):
            return math.fsum(itertools.chain.from_iterable(terms))
    except (OverflowError, ValueError):
        return math.nan


def difference(value: object, reference: object) -> float:
    """The largest difference of two results, relative to the largest finite reference.

    Infinite where one of two values is finite and the other is not.
    """
    worst = 0.0
    for left, right in zip(flatten_tree(value)[0], flatten_tree(reference)[0], strict=True):
        if not isinstance(right, Array | np.generic | int | float):  # a static value
            worst = worst if left == right else math.inf
            continue
        a, b = np.asarray(left, np.float64), np.asarray(right, np.float64)
        differ = (a != b) & ~(np.isnan(a) & np.isnan(b))
        if differ.any():
            gap = float(np.abs(a[differ] - b[differ]).max())
            largest = float(np.abs(b[np.isfinite(b)]).max(initial=0.0)) or 1.0
            worst = max(worst, gap / largest if math.isfinite(gap) else math.inf)
    return worst
