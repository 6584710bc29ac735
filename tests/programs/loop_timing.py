"""Prints the times of loops that are regions, divided by those of Python or NumPy and of Numba.

`python -m tests.programs.loop_timing [NAME ...]`: milliseconds of a call in Python, compiled, and
by `numba.njit` of the same function, all on one thread and in turns; both ratios, and milliseconds
of the first calls, for which no kernel is read from disk. Geometric means stand last, apart for
loops over numbers and steps over arrays, with the goals that are missed. A time is the least of
the rounds. `--seconds S` is spent on each program.
"""

import math
import tempfile
import time
import warnings
from pathlib import Path
from typing import NamedTuple

import numpy as np

import axiomjit
from axiomjit.base.config import config
from tests.end_to_end import source_loops
from tests.programs.timing import LEAST_MS, LEAST_ROUNDS, chosen, milliseconds

CUBIC = ["cholesky", "lu", "lu_with_pivots", "gram_schmidt", "floyd_warshall"]
SQUARE = ["triangular_solve", "levinson", "gauss_seidel", "common_subsequence"]
LENGTHS = {**dict.fromkeys(CUBIC, 90), **dict.fromkeys(SQUARE, 400)}
"""The length of each program of loops over numbers; of others 10**5."""
NUMBERS, ARRAYS = "numbers", "arrays"
SPEEDUPS = {NUMBERS: 30.0, ARRAYS: 3.0}
"""The goals for Python's or NumPy's time, divided by ours, in the mean."""
OF_NUMBA, WORST_OF_NUMBA, FIRST_MS, FIRST_OF_NUMBA = 1.1, 1.5, 2000.0, 0.5
"""The goals for our time divided by Numba's, in the mean and in any, and for first calls."""


def columns_of_cholesky(a):
    a = a.copy()
    for j in range(a.shape[0]):
        for k in range(j):
            a[j:, j] -= a[j:, k] * a[j, k]
        a[j:, j] /= np.sqrt(a[j, j])
    return a


def outer_products_of_lu(a):
    a = a.copy()
    for k in range(a.shape[0] - 1):
        a[k + 1 :, k] /= a[k, k]
        for i in range(k + 1, a.shape[0]):
            a[i, k + 1 :] -= a[i, k] * a[k, k + 1 :]
    return a


def heat_of_a_plate(u, times):
    u = u.copy()
    for _ in range(times):
        u[1:-1, 1:-1] += 0.2 * (
            u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4.0 * u[1:-1, 1:-1]
        )
    return u


def oscillators(x, v, times):
    x, v = x.copy(), v.copy()
    for _ in range(times):
        v -= 0.01 * np.sin(x)
        x += 0.01 * v
    return x


class Timing(NamedTuple):
    """Milliseconds of a program in Python or NumPy, compiled and by Numba; of first calls too."""

    name: str
    kind: str
    python: float
    ours: float
    numba: float
    first: float
    numba_first: float


def programs():
    """The kind, the function and the arguments of each program, by name."""
    found = {}
    for length in {*LENGTHS.values(), 10**5}:
        names = [name for name, own in LENGTHS.items() if own == length]
        for function, arguments in source_loops.arguments(length).items() if names else ():
            if function.__name__ in names:
                found[function.__name__] = NUMBERS, function, arguments
    draw = np.random.default_rng(0)
    x = draw.random(10**5)
    starts, columns, values, vector = source_loops.sparse(10**5, 0)
    linear = {
        source_loops.thomas: (x, 4.0 + x, x[::-1].copy(), x),
        source_loops.crc: (draw.integers(0, 256, 10**5).astype(np.uint32),),
        source_loops.sparse_product: (starts, columns, values, vector),
        source_loops.newton: (x[: 10**4] + 0.1, 12),
        source_loops.heat: (x, 9),
        source_loops.escape_times: (x[: 10**4] * 4 - 2 + 1j * (x[-(10**4) :] * 4 - 2), 20),
        source_loops.prefix_sums: (x,),
        source_loops.histogram: (draw.integers(0, 1000, 10**5), 1000),
    }
    found |= {one.__name__: (NUMBERS, one, given) for one, given in linear.items()}
    steps = {
        columns_of_cholesky: (source_loops.positive(200, 0),),
        outer_products_of_lu: (source_loops.positive(200, 0),),
        heat_of_a_plate: (draw.random((200, 200)), 300),
        oscillators: (draw.random(1000), draw.random(1000), 2000),
    }
    return found | {one.__name__: (ARRAYS, one, given) for one, given in steps.items()}


def timed(name, program, seconds=1.0):
    """The times of a program, on one thread."""
    import numba  # an import that takes a second

    kind, function, arguments = program
    compiled, jitted = axiomjit.jit(function), numba.njit(function)
    with axiomjit.threads(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        first, numba_first = (milliseconds(one, arguments) for one in (compiled, jitted))
        rounds, end = [], time.perf_counter() + seconds
        milliseconds(compiled, arguments, 3)
        times = [
            max(1, math.ceil(LEAST_MS / milliseconds(one, arguments))) for one in (compiled, jitted)
        ]
        while len(rounds) < LEAST_ROUNDS or time.perf_counter() < end:
            pairs = zip((compiled, jitted), times, strict=True)
            mine = [milliseconds(one, arguments, count) for one, count in pairs]
            rounds.append((milliseconds(function, arguments), *mine))
    best = (min(column) for column in zip(*rounds, strict=True))
    return Timing(name, kind, *best, first, numba_first)


def mean(ratios):
    """The geometric mean."""
    return math.exp(sum(map(math.log, ratios)) / len(ratios))


def table(timings):
    """The lines of the table: the worst ratio to Numba first, then means, then missed goals."""
    head = f"{'program':22}{'python ms':>11}{'ours ms':>10}{'numba ms':>10}{'speedup':>9}"
    lines, missed = [f"{head}{'of numba':>10}{'first ms':>10}{'numba first':>12}"], []
    for t in sorted(timings, key=lambda t: -t.ours / t.numba):
        ratios = f"{t.python / t.ours:9.1f}{t.ours / t.numba:10.2f}"
        times = f"{t.python:11.2f}{t.ours:10.4f}{t.numba:10.4f}"
        lines.append(f"{t.name:22}{times}{ratios}{t.first:10.0f}{t.numba_first:12.0f}")
        if t.ours > WORST_OF_NUMBA * t.numba:
            missed.append(f"{t.name} takes {t.ours / t.numba:.2f} of Numba's time")
        if t.first > FIRST_MS:
            missed.append(f"the first call of {t.name} takes {t.first:.0f} ms")
    for kind, goal in SPEEDUPS.items():
        if speedups := [t.python / t.ours for t in timings if t.kind == kind]:
            own = mean([t.ours / t.numba for t in timings if t.kind == kind])
            lines.append(
                f"{kind}: {mean(speedups):.1f} times as fast in the mean, goal {goal:.0f}; "
                f"{own:.2f} of numba"
            )
            missed += [f"{kind} are too slow"] if mean(speedups) < goal else []
    of_numba = mean([t.ours / t.numba for t in timings])
    first = mean([t.first / t.numba_first for t in timings])
    lines.append(f"of numba: {of_numba:.2f}, goal {OF_NUMBA}; first calls: {first:.2f}")
    missed += ["Numba is faster in the mean"] if of_numba > OF_NUMBA else []
    missed += ["first calls are too slow"] if first > FIRST_OF_NUMBA else []
    return [*lines, *(f"missed: {one}" for one in missed)]


def main():
    """Time the chosen programs and print the table."""
    known = programs()
    names, seconds = chosen(__doc__, known)
    with tempfile.TemporaryDirectory() as folder:
        config.cache_dir = str(Path(folder))
        timings = [timed(name, known[name], seconds) for name in names]
    print("\n".join(table(timings)))


if __name__ == "__main__":
    main()
