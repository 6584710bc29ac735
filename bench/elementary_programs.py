"""Programs full of elementary functions against JAX and NumPy.

`python -m bench.elementary_programs` lets all three compute the same function of 10**6 numbers in
turn, each with the threads it takes by itself and into memory of its own. Printed are medians of
the ratios round by round, below 1 where ours is faster, and the upper end of their 95 % interval.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

import axiomjit
from axiomjit.bench.elementary_speed import SIZE, seconds, upper

Array = np.ndarray[Any, Any]
RADIUS_KM = 6371.0


class Functions(NamedTuple):
    """Where a program takes its functions from."""

    np: Any
    erf: Callable[[Any], Any]


def black_scholes(of: Functions, spot: Any, strike: Any, years: Any) -> Any:
    """Prices of calls and puts, added, at a rate of 2 % and a volatility of 30 %."""
    width = 0.3 * of.np.sqrt(years)
    near = (of.np.log(spot / strike) + 0.065 * years) / width
    far = near - width
    discounted = strike * of.np.exp(-0.02 * years)
    below_near = 0.5 + 0.5 * of.erf(near * math.sqrt(0.5))
    below_far = 0.5 + 0.5 * of.erf(far * math.sqrt(0.5))
    call = spot * below_near - discounted * below_far
    return call + (discounted - spot + call)


def haversine(of: Functions, lat: Any, lon: Any, to_lat: Any, to_lon: Any) -> Any:
    """Distances on a sphere, in kilometres, of places in radians."""
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
    """JAX with 64 bits, where it is installed."""
    try:
        import jax
    except ImportError:
        return None
    jax.config.update("jax_enable_x64", True)
    return jax


def runs(name: str, operands: list[Array]) -> dict[str, Callable[[], object]]:
    """What is timed, by peer."""
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


def cells(times: dict[str, list[float]], peers: Sequence[str]) -> list[str]:
    """Our time, and its ratio to that of each peer."""
    result = [f"{np.median(times['ours']) * 1e3:.2f}"]
    for key in peers:
        pairs = zip(times["ours"], times.get(key, []), strict=False)
        ratios = [mine / theirs for mine, theirs in pairs]
        result.append(f"{np.median(ratios):.2f} (<= {upper(ratios):.2f})" if ratios else "-")
    return result


def compare(name: str, code: str, rounds: int) -> str:
    """The line of one program and dtype."""
    made = PROGRAMS[name][1](np.random.default_rng(6))
    timed = runs(name, [values.astype(code) for values in made])
    times: dict[str, list[float]] = {key: [] for key in timed}
    for _ in range(rounds):
        for key, run in timed.items():
            run()
            times[key].append(seconds(run))
    return "| " + " | ".join([name, code, *cells(times, ("jax", "numpy"))]) + " |"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=21)
    rounds = parser.parse_args().rounds
    print("| program | dtype | ms | / JAX | / NumPy |\n|---|---|---|---|---|")
    for name in PROGRAMS:
        for code in ("f8", "f4"):
            print(compare(name, code, rounds), flush=True)


if __name__ == "__main__":
    main()
