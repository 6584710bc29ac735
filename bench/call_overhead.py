"""Measure the time of a warm call on small operands.

The command is `python -m axiomjit.bench.call_overhead [--entry portable]`. All rows are measured in
one process, in rounds; in each round, every peer measures one sample. The table has the medians of
the times, and the medians of the ratios within a round. The column "empty" is the time of
`np.empty(8)`, a part of every call with a new result. JAX is compared if it is installed.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import axiomjit as aj
from axiomjit.base.config import config

Call = Callable[[], object]
ROUNDS, TAKES_MS = 21, 4.0


def expression(x: Any, y: Any) -> Any:
    """A function of four operators."""
    return (x - y) * (x - y) * 3 + x * y


def cases() -> dict[str, tuple[Call, Call, Call | None]]:
    """The calls by axiomjit, NumPy and JAX for each row; None if JAX is not compared."""
    rng = np.random.default_rng(1)
    x, y, matrix, vector = rng.random(8), rng.random(8), rng.random((3, 3)), rng.random(3)
    ours, product = aj.jit(expression), aj.jit(lambda a, b: a @ b)
    total = aj.jit(lambda x: (x * 2).sum())
    both = aj.jit(lambda x, y: (x * y, x + y))
    by_name, scaled = aj.jit(lambda x, *, by: x * by), aj.jit(lambda x, by: x * by)
    h, w = aj.make_axis(3, name="H"), aj.make_axis(3, name="W")
    a, v = aj.placeholder([h, w], dtype="f8"), aj.placeholder([w], dtype="f8")
    made = aj.transformers.make_transformer()
    graph = made.computation(a * a + a * 2, a)
    dot = made.computation(aj.dot(a, v), a, v)
    jax = _jax(expression, x, y)
    return {
        "four operators on 8 doubles": (lambda: ours(x, y), lambda: expression(x, y), jax),
        "sum of 8 doubles": (lambda: total(x), lambda: (x * 2).sum(), None),
        "two results": (lambda: both(x, y), lambda: (x * y, x + y), None),
        "a float beside the array": (lambda: scaled(x, 2.5), lambda: x * 2.5, None),
        "an argument by name": (lambda: by_name(x, by=2.5), lambda: x * 2.5, None),
        "3x3 @ 3": (lambda: product(matrix, vector), lambda: matrix @ vector, None),
        "axis graph, 3x3": (lambda: graph(matrix), lambda: matrix * matrix + matrix * 2, None),
        "axis graph, dot": (lambda: dot(matrix, vector), lambda: matrix @ vector, None),
        **{name: steps(*program) for name, program in STEPS.items()},
    }


STEPS: dict[str, tuple[Callable[..., Any], tuple[int, ...]]] = {
    "solve of 3x3": (lambda a: np.linalg.solve(a, a), (3, 3)),
    "inv of 3x3": (lambda a: np.linalg.inv(a), (3, 3)),
    "svd of 3x3": (lambda a: np.linalg.svd(a), (3, 3)),
    "sort of 8 doubles": (lambda x: np.sort(x), (8,)),
    "searchsorted of 8 doubles": (lambda x: np.searchsorted(x, x), (8,)),
    "fft of 8 doubles": (lambda x: np.fft.fft(x), (8,)),
    "unique of 8 doubles": (lambda x: np.unique(x), (8,)),
    "unique and counts": (lambda x: np.unique(x, return_counts=True), (8,)),
    "sort between two kernels": (lambda x: np.sort(x * 2) + 1, (8,)),
    "solve between two kernels": (lambda a: np.linalg.solve(a * 2, a[0]) + 1, (3, 3)),
    "two products": (lambda a: a @ a @ a, (3, 3)),
    "a kernel between two products": (lambda a: np.maximum(a @ a, 0) @ a, (3, 3)),
    "two kernels: mean and deviation": (lambda x: (x - x.mean()) / x.std(), (8,)),
    "taken in sorted order": (lambda x: x[np.argsort(x)] * 2, (8,)),
    "chosen by a mask": (lambda x: x[x > 0.5] * 2, (8,)),
    "unique between two kernels": (lambda x: np.unique(x * 2) + 1, (8,)),
}
"""Programs with an external call or with several kernels, and the shapes of their arguments."""


def steps(function: Callable[..., Any], shape: tuple[int, ...]) -> tuple[Call, Call, None]:
    """The calls of a function on a random array by axiomjit and by NumPy."""
    x, ours = np.random.default_rng(2).random(shape), aj.jit(function)
    return lambda: ours(x), lambda: function(x), None


def _jax(function: Callable[..., Any], *arrays: np.ndarray) -> Call | None:
    """The call of a function that JAX compiles, on arrays of JAX; None without JAX."""
    try:
        import jax
    except ImportError:
        return None
    jax.config.update("jax_enable_x64", True)
    compiled, given = jax.jit(function), [jax.numpy.asarray(array) for array in arrays]
    return lambda: compiled(*given)


def sample_ns(call: Call, times: int) -> float:
    """The mean time of a number of calls, in nanoseconds."""
    started = time.perf_counter_ns()
    for _ in range(times):
        call()
    return (time.perf_counter_ns() - started) / times


def medians(*calls: Call) -> tuple[list[float], list[float]]:
    """The median time of each call in ns, and the median of its ratio to the first call."""
    counts = []
    for call in calls:
        sample_ns(call, 200)
        counts.append(max(10, int(TAKES_MS * 1e6 / sample_ns(call, 50))))
    rounds = [
        [sample_ns(call, n) for call, n in zip(calls, counts, strict=True)] for _ in range(ROUNDS)
    ]
    times = [statistics.median(column) for column in zip(*rounds, strict=True)]
    ratios = [[found[k] / found[0] for found in rounds] for k in range(len(calls))]
    return times, [statistics.median(column) for column in ratios]


def main() -> None:
    """Measure all rows and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--entry", choices=("auto", "portable"), default="auto")
    config.entry = parser.parse_args().entry
    print(f"{'ns a call':32}{'ours':>9}{'empty':>9}{'NumPy':>9}{'JAX':>9}  NumPy/ours  JAX/ours")
    for name, (ours, numpy, jax) in cases().items():
        peers = [numpy, lambda: np.empty(8), *([] if jax is None else [jax])]
        times, ratios = medians(ours, *peers)
        shown = [times[0], times[2], times[1], *times[3:]]
        columns = "".join(f"{t:9.0f}" for t in shown).ljust(36)
        more = f"{ratios[3]:10.1f}" if jax is not None else ""
        print(f"{name:32}{columns}{ratios[1]:12.2f}{more}")


if __name__ == "__main__":
    main()
