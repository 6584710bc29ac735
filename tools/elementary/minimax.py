"""Minimax polynomials: the largest weighted error is as small as possible.

Method: Remez' exchange (E. Remez, 1934; as in J.-M. Muller, "Elementary Functions", 3rd edition,
section 3.6) in mpmath with 50 digits, on a dense grid of Chebyshev points; the coefficients are
rounded at the end. Where rounding a low coefficient would matter, the target leaves out a known
term (0.5 r**2 of exp), or the recipe holds that coefficient in two parts.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from mpmath import mp, mpf

DIGITS = 50
TableMaker = Callable[[str], tuple[float, ...]]
"""Computes the numbers of a table, given a precision: "f4" or "f8"."""
DENSITY = 24
"""Points of the grid per coefficient."""


class Target(NamedTuple):
    """The function to fit on an interval by a polynomial.

    The error is multiplied by `weight`; `counts` has the number of coefficients per precision.
    """

    function: Callable[[Any], Any]
    interval: tuple[Any, Any]
    weight: Callable[[Any], Any]
    counts: dict[str, int]


def rounded(value: Any, code: str) -> float:
    """Return the nearest float of a precision; float32 is rounded from float64."""
    return float(np.float32(float(value))) if code == "f4" else float(value)


def grid(interval: tuple[Any, Any], points: int) -> list[Any]:
    """Return the extrema of a Chebyshev polynomial on the interval."""
    low, high = map(mpf, interval)
    middle, half = (low + high) / 2, (high - low) / 2
    return [middle - half * mp.cos(mp.pi * k / (points - 1)) for k in range(points)]


def alternation(errors: Sequence[Any], count: int) -> list[int]:
    """Return the indices of the `count` largest extrema that alternate in sign."""
    places: list[int] = []
    for k, error in enumerate(errors):
        if places and (errors[places[-1]] > 0) == (error > 0):
            if abs(error) > abs(errors[places[-1]]):
                places[-1] = k
        else:
            places.append(k)
    while len(places) > count:
        smaller = 0 if abs(errors[places[0]]) < abs(errors[places[-1]]) else -1
        places.pop(smaller)
    return places


def remez(
    values: Sequence[Any], columns: Sequence[Sequence[Any]], rounds: int = 30
) -> tuple[list[Any], Any]:
    """Return the coefficients of the columns that fit the values best, and the largest error.

    Raises:
        ArithmeticError: the exchange found no alternating extrema.
    """
    size, points = len(columns), len(values)
    places = [round(k * (points - 1) / size) for k in range(size + 1)]
    for _ in range(rounds):
        rows = [[*(c[p] for c in columns), (-1) ** k] for k, p in enumerate(places)]
        solution = mp.lu_solve(mp.matrix(rows), mp.matrix([values[p] for p in places]))
        found = [solution[k] for k in range(size)]
        errors = [
            v - mp.fsum(f * c[p] for f, c in zip(found, columns, strict=True))
            for p, v in enumerate(values)
        ]
        largest = max(map(abs, errors))
        if largest <= abs(solution[size]) * mpf("1.001"):
            break
        places = alternation(errors, size + 1)
        if len(places) <= size:
            raise ArithmeticError(f"{len(places)} extrema for {size} coefficients")
    return found, largest


def fit(target: Target, code: str) -> tuple[tuple[float, ...], float]:
    """Return the rounded coefficients of a target, lowest power first, and the largest error."""
    count = target.counts[code]
    xs = grid(target.interval, DENSITY * (count + 2) + 1)
    weights = [target.weight(x) for x in xs]
    kept = [(x, w) for x, w in zip(xs, weights, strict=True) if abs(w) > mpf(10) ** -20]
    left = [w * target.function(x) for x, w in kept]
    columns = [[w * x**k for x, w in kept] for k in range(count)]
    found, _ = remez(left, columns)
    result = tuple(rounded(value, code) for value in found)
    errors = [
        v - mp.fsum(f * c[p] for f, c in zip(result, columns, strict=True))
        for p, v in enumerate(left)
    ]
    return result, float(max(map(abs, errors)))
