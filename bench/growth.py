"""Measure compile times, and their growth with the size of a function.

`python -m axiomjit.bench.growth` prints milliseconds of processor time, separately for axiomjit
(tracing, passes, source) and for Numba. The program measures a function of ten operators; families
of functions of 200 and 400 operators, with ratios; one `concatenate` of 150, 300 and 600 slices;
and the plans of 1,000 shapes of one function. Numba's time is the time of the first round, since a
kernel is compiled once per process. Axiomjit's ratios are medians over several rounds.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

import axiomjit

Function = Callable[..., Any]
ROUNDS: Final = 3
X: Final = np.linspace(0.5, 2.0, 50 * 60).reshape(50, 60)
Y: Final = np.linspace(1.0, 3.0, 50 * 60).reshape(50, 60)


def ten(x: Any, y: Any) -> Any:
    """A function of ten operators."""
    a = x * y + 1.0
    b = np.sin(a) - x
    c = np.maximum(a, b) / 2.0
    d = np.exp(c) * y
    return d + x - c


def chain(count: int) -> Function:
    """A function in which each value is computed from the previous value."""
    steps: tuple[Function, ...] = (
        lambda v, y: np.sqrt(v),
        lambda v, y: v * y,
        lambda v, y: v - y,
        lambda v, y: np.maximum(v, y),
    )

    def function(x: Any, y: Any) -> Any:
        value = x
        for k in range(count):
            value = steps[k % 4](value, y)
        return value

    return function


def mesh(count: int) -> Function:
    """A function in which each value is computed from the previous value and an early value."""

    def function(x: Any, y: Any) -> Any:
        values = [x, y]
        for k in range(count // 2):
            values.append(values[-1] * 0.5 + values[k * 7 // 11])
        return values[-1]

    return function


def results(count: int) -> Function:
    """A function with many results of one shape."""
    return lambda x, y: tuple(x * (k + 1.5) + y for k in range(count // 2))


def shapes(count: int) -> Function:
    """A function with many results of different shapes."""
    return lambda x, y: tuple(x.reshape(-1)[: k + 5] * (k + 1.5) for k in range(count))


def sums(count: int) -> Function:
    """A function with many sums of rows."""
    return lambda x, y: tuple((x * (k + 1.5)).sum(axis=1) for k in range(count // 2))


def joined(count: int) -> Function:
    """A function that concatenates `count` slices."""
    return lambda x, y: np.concatenate([x[k % 40 : k % 40 + 3] * 2.0 for k in range(count)])


FAMILIES: Final = (chain, mesh, results, shapes, sums, joined)


def compile_ms(function: Function, *arguments: Any) -> tuple[float, float, int]:
    """The milliseconds before Numba, the milliseconds in Numba, and the number of kernels."""
    jitted = axiomjit.jit(function)
    started = time.process_time()
    lowered = jitted.lower(*arguments)
    kernels = len(lowered.kernels)
    before = time.process_time()
    jitted.warm(*arguments)
    return (before - started) * 1e3, (time.process_time() - before) * 1e3, kernels


def _growth(make: Callable[[int], Function]) -> str:
    rounds = [(compile_ms(make(200), X, Y), compile_ms(make(400), X, Y)) for _ in range(ROUNDS)]
    ratio = statistics.median(large[0] / small[0] for small, large in rounds)
    small, large = rounds[0]
    whole = sum(large[:2]) / sum(small[:2])
    return (
        f"{make.__name__:8} {small[0]:7.0f} + {small[1]:6.0f} ms, {small[2]:3} kernels;"
        f" {large[0]:7.0f} + {large[1]:6.0f} ms, {large[2]:3} kernels;"
        f" before Numba {ratio:.2f}x, in all {whole:.2f}x"
    )


def _joins() -> str:
    parts = []
    for count in (150, 300, 600):
        x = np.linspace(0.0, 1.0, count + 3)
        front, numba, kernels = compile_ms(
            lambda x, n=count: np.concatenate([x[k : k + 3] * 2.0 for k in range(n)]), x
        )
        parts.append(f"{count}: {front:.0f} + {numba:.0f} ms, {kernels} kernels")
    return "; ".join(parts)


def _plans(count: int = 1000) -> str:
    extents = np.random.default_rng(0).permutation(np.arange(5, 3001))
    memory = np.random.default_rng(1).random(3000 * 3000)
    jitted = axiomjit.jit(lambda x, y: (x * y + 2).sum(axis=1))
    first, wrong, taken = axiomjit.stats()["compiles"], 0, []
    for k in range(count):
        m, n = map(int, extents[2 * k : 2 * k + 2])
        x, y = memory[: m * n].reshape(m, n), memory[::-1][: m * n].reshape(m, n)
        before = jitted.cache_info().traced
        started = time.process_time()
        jitted.warm(x, y)
        if jitted.cache_info().traced == before:
            taken.append((time.process_time() - started) * 1e3)
        wrong += not np.allclose(jitted(x, y), (x * y + 2).sum(axis=1), rtol=1e-12)
    compiles = axiomjit.stats()["compiles"] - first
    return (
        f"{compiles} compiles, {wrong} wrong; planning {statistics.median(taken):.2f} ms, "
        f"{np.percentile(taken, 99):.2f} at most in 99 of 100, {max(taken):.2f} at most in all"
    )


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure compile times and print them."""
    argparse.ArgumentParser(description=__doc__.splitlines()[0]).parse_args(arguments)
    compile_ms(lambda x: x + 1.0, X)
    rounds = [compile_ms(ten, X, Y) for _ in range(9)]
    print(
        f"ten operators: {statistics.median(r[0] for r in rounds):.1f} ms"
        f" + {rounds[0][1]:.0f} ms of Numba"
    )
    for make in FAMILIES:
        print(_growth(make), flush=True)
    print(f"concatenate of {_joins()}", flush=True)
    print(f"1,000 shapes: {_plans()}")


if __name__ == "__main__":
    main()
