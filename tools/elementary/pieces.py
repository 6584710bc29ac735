"""Tables of piecewise polynomials: the coefficients of each piece.

They are least-squares fits of the relative error at Chebyshev points. Each coefficient is rounded
before the next ones are fitted, which compensate its rounding error.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
from mpmath import mp, mpf

from axiomjit.runtime.elementary.arithmetic import COUNT, OF_ERF, OF_TANH, Pieces
from tools.elementary.minimax import TableMaker, rounded

DENSITY = 4
"""Chebyshev points per coefficient."""


def _bounds(pieces: Pieces) -> dict[int, tuple[Any, Any, Any]]:
    """Return a piece's point, first and last number, by the piece's index in tables."""
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


def fit(
    low: Any, high: Any, left: Callable[[Any], Any], terms: Sequence[Callable[[Any], Any]]
) -> list[float]:
    """Return the float32 coefficients of terms whose sum is nearest to `left`, from low to high.

    `left` and the terms are relative to the result, so errors are relative errors.
    """
    points = DENSITY * len(terms)
    turns = ((1 - mp.cos(mp.pi * (k + mpf(0.5)) / points)) / 2 for k in range(points))
    xs = [low + (high - low) * turn for turn in turns]
    rest = [left(x) for x in xs]
    rows = [[term(x) for term in terms] for x in xs]
    found: list[float] = []
    for k in range(len(terms)):
        matrix = mp.matrix([row[k:] for row in rows])
        best = mpf(rounded(mp.lu_solve(matrix, mp.matrix(rest))[0], "f4"))
        found.append(float(best))
        rest = [value - best * row[k] for value, row in zip(rest, rows, strict=True)]
    return found


def _piece(
    bounds: tuple[Any, Any, Any], function: Callable[[Any], Any], pieces: Pieces
) -> list[float]:
    point, low, high = bounds

    def part(x: Any) -> Any:
        return min(x, mpf(pieces.bound)) / function(x)

    terms = [lambda x, k=k: part(x) * (x - point) ** k for k in range(pieces.degree + 1)]
    return fit(low, high, lambda x: 1 - part(x), terms)


def table(pieces: Pieces, function: Callable[[Any], Any], code: str) -> tuple[float, ...]:
    """Return COUNT coefficients for each power."""
    bounds = _bounds(pieces)
    columns = [_piece(bounds[k], function, pieces) for k in range(COUNT)]
    return tuple(entry for row in zip(*columns, strict=True) for entry in row)


TABLES: dict[str, TableMaker] = {
    "TANH_PIECES": partial(table, OF_TANH, mp.tanh),
    "ERF_PIECES": partial(table, OF_ERF, mp.erf),
}
"""Functions that compute the numbers of a precision, by name; recipes use float32."""
