"""Tables of erfc in float32: powers of two, and exp(x**2) erfc(x) by pieces.

The powers, and the function's values at the points of the pieces, have 12 bits, so that their
products are exact. A point is chosen where the function is nearest to a number of 12 bits (after S.
Gal, as in `points`). Coefficients are fitted by `pieces`.
"""

from __future__ import annotations

from functools import partial
from itertools import pairwise
from typing import Any

from mpmath import mp, mpf

from axiomjit.runtime.elementary.exponential import COUNT, DEGREE, LAST, PARTS
from tools.elementary.minimax import TableMaker, rounded
from tools.elementary.pieces import fit

SHORT = 12
"""Bits of powers and values."""
SPREAD = mpf(1) / 8
"""The largest distance of a point from the middle of its piece, as a fraction of the width."""


def _function(x: Any) -> Any:
    return mp.exp(x * x) * mp.erfc(x)


def _short_unit(y: Any) -> Any:
    """Return the distance between numbers of SHORT bits near y."""
    return mpf(2) ** (int(mp.floor(mp.log(y, 2))) + 1 - SHORT)


def _point(low: Any, high: Any) -> tuple[Any, Any]:
    """Return a point of the piece, and the function's value there."""
    middle, spread = (low + high) / 2, (high - low) * SPREAD
    ends = [_function(middle + spread), _function(middle - spread)]
    unit = _short_unit(ends[0])
    best = None
    for k in range(int(mp.ceil(ends[0] / unit)), int(mp.floor(ends[1] / unit)) + 1):
        value = k * unit
        exact = mp.findroot(lambda x, value=value: _function(x) - value, middle)
        point = mpf(rounded(exact, "f4"))
        distance = abs(_function(point) / value - 1)
        if best is None or distance < best[0]:
            best = distance, point, value
    if best is None:
        raise ArithmeticError(f"no number of {SHORT} bits from {low} to {high}")
    return best[1:]


def _piece(low: Any, high: Any) -> list[float]:
    """Return a piece's point, its value, and the coefficients of the difference from the value."""
    point, value = _point(low, high) if low > 0 else (mpf(0), mpf(1))
    terms = [
        lambda x, power=power: (x - point) ** power / _function(x) for power in range(1, DEGREE + 1)
    ]
    found = fit(low, high, lambda x: 1 - value / _function(x), terms)
    return [float(point), float(value), *found]


def pieces(code: str) -> tuple[float, ...]:
    """Return COUNT points, then COUNT values, then coefficients by power; unused pieces are 0."""
    parts = 8
    starts = [mpf(2) ** (k // parts) * (1 + mpf(k % parts) / parts) - 1 for k in range(COUNT + 1)]
    columns = [
        _piece(low, min(high, mpf(LAST["f4"]))) if low < LAST["f4"] else [0.0] * (DEGREE + 2)
        for low, high in pairwise(starts)
    ]
    first = int(127 * parts) % COUNT
    columns = columns[-first:] + columns[:-first]
    return tuple(entry for row in zip(*columns, strict=True) for entry in row)


def powers(which: int, code: str) -> tuple[float, ...]:
    """Return 2**(k / PARTS) rounded to SHORT bits (0), or the logarithms of the errors (1)."""
    found = []
    for k in range(PARTS):
        exact = mpf(2) ** (mpf(k) / PARTS)
        unit = _short_unit(exact)
        short = mp.nint(exact / unit) * unit
        found.append((float(short), rounded(mp.log(exact / short), "f4")))
    return tuple(pair[which] for pair in found)


TABLES: dict[str, TableMaker] = {
    "ERFC_PIECES": pieces,
    "SHORT_POWERS": partial(powers, 0),
    "SHORT_POWERS_REST": partial(powers, 1),
}
"""Functions that compute the numbers of float32, by name of the table."""
