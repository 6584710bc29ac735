"""Tables of functions by pieces: points, values, and the coefficients of each piece's polynomial.

Points are S. Gal's, as in `bench.points`. Coefficients have the least squares of relative errors at
Chebyshev's points; each is rounded before the next ones are found, which make up for it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from mpmath import mp, mpf

from axiomjit.bench.minimax import rounded
from axiomjit.runtime.vector_math.pieces import COUNT, ERF, TANH, Pieces

TRIES = 100
"""Points about the middle of a piece that the best is chosen from."""
SPREAD = mpf(1) / 8
"""How far they are from it, in widths of the piece."""
DENSITY = 4
"""Chebyshev's points per coefficient."""


def _bounds(pieces: Pieces, code: str) -> dict[int, tuple[Any, Any]]:
    """By the place in tables, the first and last number of a piece; of unused places none."""
    factor, start = (mpf(rounded(v, code)) for v in (pieces.factor, pieces.start))
    parts, last = 1 << pieces.bits, mpf(pieces.last)
    result = {}
    for k in range(COUNT):
        exponent, part = divmod(k, parts)
        low = (1 + mpf(part) / parts) * 2**exponent
        high = (1 + mpf(part + 1) / parts) * 2**exponent
        ends = max((low - start) / factor, mpf(0)), min((high - start) / factor, last)
        if ends[0] < ends[1]:
            place = (exponent + 127 << pieces.bits) + part
            result[place % COUNT] = ends
    return result


def _point(low: Any, high: Any, function: Callable[[Any], Any], code: str) -> tuple[Any, Any]:
    """The number whose function's value is nearest to a number, and that."""
    width, middle = high - low, (low + high) / 2
    steps = (SPREAD * (2 * mpf(k) / (TRIES - 1) - 1) for k in range(TRIES))
    points = [mpf(rounded(middle + step * width, code)) for step in steps]
    pairs = [(point, function(point)) for point in points]
    point, exact = min(pairs, key=lambda pair: abs(mpf(rounded(pair[1], code)) - pair[1]))
    return point, mpf(rounded(exact, code))


def _piece(
    low: Any, high: Any, function: Callable[[Any], Any], degree: int, code: str
) -> tuple[float, ...]:
    """The point, the value and the coefficients of a piece."""
    point, value = (mpf(0), mpf(0)) if low == 0 else _point(low, high, function, code)
    points = DENSITY * degree
    turns = ((1 - mp.cos(mp.pi * (k + mpf(0.5)) / points)) / 2 for k in range(points))
    xs = [low + (high - low) * turn for turn in turns]
    exact = [function(x) for x in xs]
    left = [(y - (value or x)) / y for x, y in zip(xs, exact, strict=True)]
    found: list[float] = []
    for power in range(1, degree + 1):
        rows = [
            [(x - point) ** k / y for k in range(power, degree + 1)]
            for x, y in zip(xs, exact, strict=True)
        ]
        best = mpf(rounded(mp.lu_solve(mp.matrix(rows), mp.matrix(left))[0], code))
        found.append(float(best))
        left = [rest - best * row[0] for rest, row in zip(left, rows, strict=True)]
    return float(point), float(value), *found


def table(pieces: Pieces, function: Callable[[Any], Any], code: str) -> tuple[float, ...]:
    """COUNT points, then values, then coefficients by power."""
    bounds = _bounds(pieces, code)
    unused = (0.0,) * (pieces.degree + 2)
    columns = [
        _piece(*bounds[k], function, pieces.degree, code) if k in bounds else unused
        for k in range(COUNT)
    ]
    return tuple(entry for row in zip(*columns, strict=True) for entry in row)


TABLES: dict[str, Callable[[str], tuple[float, ...]]] = {
    "TANH_PIECES": partial(table, TANH, mp.tanh),
    "ERF_PIECES": partial(table, ERF, mp.erf),
}
"""By name, the numbers of a precision; recipes have float32's."""
