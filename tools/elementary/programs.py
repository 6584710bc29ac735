"""Compare programs full of elementary functions with JAX and NumPy.

`python -m tools.elementary.programs` times them, interleaved, on 10**6 numbers. Each
library computes into memory of its own. The command prints medians of the ratios round by round,
below 1 where ours is faster, and the upper end of their 95 % interval. It measures wall-clock time
until the result is there, since JAX computes in threads of its own. Operands are arguments of the
compiled function, in JAX's own arrays, so that nothing is computed beforehand. Every result is
first compared with NumPy's.

One process is pinned to one CPU before JAX counts the CPUs; another uses all threads.
"""

from __future__ import annotations

import argparse
import math
import os
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import Any, Final, NamedTuple

import numpy as np

import axiomjit
from axiomjit.base.errors import BenchError
from tools.elementary.accuracy_tables import PAGE, replace_rows
from tools.elementary.turns import LEAST, interleaved

Array = np.ndarray[Any, Any]
SIZE: Final = 10**6
RADIUS_KM: Final = 6371.0
UNITS: Final = 100
USUAL: Final = 0.999
"""The fraction of results that must be within UNITS last places of the largest one."""
THREADS: Final = ("1 thread", "all threads")


class Functions(NamedTuple):
    """The module from which a program takes its functions."""

    np: Any
    erf: Callable[[Any], Any]


def black_scholes(of: Functions, spot: Any, strike: Any, years: Any) -> Any:
    """Sums of call and put prices, at a rate of 2 % and a volatility of 30 %."""
    width = 0.3 * of.np.sqrt(years)
    near = (of.np.log(spot / strike) + 0.065 * years) / width
    far = near - width
    discounted = strike * of.np.exp(-0.02 * years)
    below_near = 0.5 + 0.5 * of.erf(near * math.sqrt(0.5))
    below_far = 0.5 + 0.5 * of.erf(far * math.sqrt(0.5))
    call = spot * below_near - discounted * below_far
    return call + (discounted - spot + call)


def haversine(of: Functions, lat: Any, lon: Any, to_lat: Any, to_lon: Any) -> Any:
    """Distances in kilometres between places on a sphere, given in radians."""
    rise, run = of.np.sin((to_lat - lat) * 0.5), of.np.sin((to_lon - lon) * 0.5)
    part = rise * rise + of.np.cos(lat) * of.np.cos(to_lat) * run * run
    return 2.0 * RADIUS_KM * of.np.arcsin(of.np.sqrt(part))


def _market(rng: np.random.Generator) -> list[Array]:
    return [rng.uniform(75, 125, SIZE), rng.uniform(75, 125, SIZE), rng.uniform(0.1, 2, SIZE)]


def _places(rng: np.random.Generator) -> list[Array]:
    spans = (math.pi / 2, math.pi, math.pi / 2, math.pi)
    return [rng.uniform(-span, span, SIZE) for span in spans]


PROGRAMS: dict[str, tuple[Callable[..., Any], Callable[[np.random.Generator], list[Array]]]] = {
    "black_scholes": (black_scholes, _market),
    "haversine": (haversine, _places),
}


def jax_or_none() -> Any:
    """Return JAX with 64-bit types, None if it is not installed."""
    try:
        import jax
    except ImportError:
        return None
    jax.config.update("jax_enable_x64", True)
    return jax


def runs(name: str, operands: list[Array]) -> dict[str, Callable[[], object]]:
    """Return the functions to time, by peer."""
    program, _ = PROGRAMS[name]
    of = Functions(np, axiomjit.erf)
    compiled = axiomjit.jit(lambda *operands: program(of, *operands))
    found: dict[str, Callable[[], object]] = {"ours": lambda: compiled(*operands)}
    jax = jax_or_none()
    if jax is not None:
        theirs = Functions(jax.numpy, jax.scipy.special.erf)
        fused = jax.jit(lambda *operands: program(theirs, *operands))
        there = [jax.numpy.asarray(values) for values in operands]
        found["jax"] = lambda: fused(*there).block_until_ready()
    found["numpy"] = lambda: program(of, *operands)
    return found


def compare(name: str, code: str, rounds: int) -> list[str]:
    """Return our milliseconds, then our ratios to JAX's and NumPy's times, each with its bound.

    Raises:
        BenchError: a result is not NumPy's.
    """
    made = PROGRAMS[name][1](np.random.default_rng(6))
    timed = runs(name, [values.astype(code) for values in made])
    want = np.asarray(timed["numpy"]())
    for peer, run in timed.items():
        fault = difference(np.asarray(run()), want)
        if fault:
            raise BenchError(f"the time of {peer} in {name} ({code})", fault, "find out why")
    found, seconds = [], math.inf
    for peer, most in (("jax", rounds), ("numpy", LEAST)):
        if peer not in timed:
            found += ["-", "-"]
            continue
        ratio = interleaved(timed["ours"], timed[peer], most)
        found += ratio.cells()
        seconds = min(seconds, ratio.seconds)
    return [f"{seconds * 1e3:.2f}", *found]


def difference(got: Array, want: Array) -> str | None:
    """Return the difference of a result: kind, shape, or values far off; None if it agrees.

    Near 1, where arcsin is steep, few results may lose half of their digits.
    """
    if got.dtype != want.dtype or got.shape != want.shape:
        return f"{got.dtype} {got.shape} instead of {want.dtype} {want.shape}"
    off, eps = abs(got - want) / np.max(abs(want)), np.finfo(want.dtype).eps
    most, usual = float(np.max(off)), float(np.quantile(off, USUAL))
    if most < math.sqrt(eps) and usual < UNITS * eps:
        return None
    return f"off by {most:.1e} of the largest result, {usual:.1e} at {USUAL:.1%}"


def pin() -> None:
    """Pin this process, and all threads it starts, to one CPU."""
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:1])


def measure_all(pinned: bool, rounds: int) -> list[list[str]]:
    """Return name with dtype, and cells, of each program; to be called in a new process."""
    if pinned:
        pin()
    cases = [(name, code) for name in PROGRAMS for code in ("f8", "f4")]
    return [[f"{name} {code}", *compare(name, code, rounds)] for name, code in cases]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=61)
    parser.add_argument("--write", action="store_true", help="also into docs/accuracy.md")
    given = parser.parse_args()
    figures: dict[str, list[str]] = {}
    for threads in THREADS:
        print(
            f"\n| {threads} | ms | / JAX | at most | / NumPy | at most |\n|---|---|---|---|---|---|"
        )
        with ProcessPoolExecutor(1, get_context("spawn")) as pool:
            for name, *cells in pool.submit(
                measure_all, threads == THREADS[0], given.rounds
            ).result():
                print("| " + " | ".join([name, *cells]) + " |", flush=True)
                figures.setdefault(name, []).extend(cells)
    if given.write:
        replace_rows(PAGE, "programs", figures.items(), list(figures))


if __name__ == "__main__":
    main()
