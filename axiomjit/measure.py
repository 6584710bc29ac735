"""Two functions compared: time, memory, and how far their results are apart."""

from __future__ import annotations

import itertools
import math
import statistics
import time
import tracemalloc
from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from axiomjit.records import Record
from axiomjit.tree import flatten

Array = np.ndarray
Function = Callable[..., Any]
RUNS: Final = 15
RUN_SECONDS: Final = 2e-4
"""Shorter calls are timed several at once."""


class Comparison(Record):
    """Medians of interleaved runs in seconds, and peaks of traced memory in bytes."""

    numpy_s: float
    ours_s: float
    numpy_bytes: int
    ours_bytes: int


def compare(plain: Function, jitted: Function, arrays: Sequence[Array]) -> Comparison:
    """Time two functions in turns and trace the memory of one call of each."""
    functions = (plain, jitted)
    repeats = [max(1, math.ceil(RUN_SECONDS / _timed(f, arrays, 1))) for f in functions]
    times: tuple[list[float], list[float]] = ([], [])
    for _ in range(RUNS):
        for function, repeat, taken in zip(functions, repeats, times, strict=True):
            taken.append(_timed(function, arrays, repeat))
    return Comparison(
        statistics.median(times[0]),
        statistics.median(times[1]),
        _traced_bytes(plain, arrays),
        _traced_bytes(jitted, arrays),
    )


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
    owned = (leaf for leaf in flatten(result)[0] if isinstance(leaf, Array))
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
    for left, right in zip(flatten(value)[0], flatten(reference)[0], strict=True):
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
