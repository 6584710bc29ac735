"""Tables of functions by pieces: the coefficients of each piece's polynomial.

Coefficients have the least squares of relative errors at Chebyshev's points; each is rounded before
the next ones are found, which make up for it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from mpmath import mp, mpf

from axiomjit.bench.minimax import rounded
from axiomjit.runtime.vector_math.pieces import COUNT, ERF, TANH, Pieces

DENSITY = 4
"""Chebyshev's points per coefficient."""


def _bounds(pieces: Pieces) -> dict[int, tuple[Any, Any, Any]]:
    """By the place in tables, the point of a piece, its first and its last number."""
    factor, step = mpf(rounded(pieces.factor, "f4")), mpf(rounded(1.0 / pieces.factor, "f4"))
    start: Any = np.array(pieces.start, "f4").view("i4")
    sums = [mpf(float((start + k).view("f4"))) - mpf(pieces.start) for k in range(-1, COUNT + 1)]
    result = {}
    for k in range(COUNT):
        below, here, above = sums[k : k + 3]
        low, high = (below + here) / 2 / factor, (here + above) / 2 / factor
        ends = max(low, mpf(0)), min(high, mpf(pieces.last))
        result[int(start + k) % COUNT] = (here * step, *ends)
    return result


def _piece(
    bounds: tuple[Any, Any, Any], function: Callable[[Any], Any], pieces: Pieces
) -> list[float]:
    """The coefficients of a piece."""
    point, low, high = bounds
    powers = range(pieces.degree + 1)
    points = DENSITY * len(powers)
    turns = ((1 - mp.cos(mp.pi * (k + mpf(0.5)) / points)) / 2 for k in range(points))
    xs = [low + (high - low) * turn for turn in turns]
    parts = [min(x, mpf(pieces.bound)) / function(x) for x in xs]
    left = [1 - part for part in parts]
    found: list[float] = []
    for power in powers:
        rows = [
            [part * (x - point) ** k for k in powers[power:]]
            for x, part in zip(xs, parts, strict=True)
        ]
        best = mpf(rounded(mp.lu_solve(mp.matrix(rows), mp.matrix(left))[0], "f4"))
        found.append(float(best))
        left = [rest - best * row[0] for rest, row in zip(left, rows, strict=True)]
    return found


def table(pieces: Pieces, function: Callable[[Any], Any], code: str) -> tuple[float, ...]:
    """COUNT coefficients of each power."""
    bounds = _bounds(pieces)
    columns = [_piece(bounds[k], function, pieces) for k in range(COUNT)]
    return tuple(entry for row in zip(*columns, strict=True) for entry in row)


TABLES: dict[str, Callable[[str], tuple[float, ...]]] = {
    "TANH_PIECES": partial(table, TANH, mp.tanh),
    "ERF_PIECES": partial(table, ERF, mp.erf),
}
"""By name, the numbers of a precision; recipes have float32's."""
