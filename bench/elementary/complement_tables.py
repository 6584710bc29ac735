"""Tables of erfc of float32: powers of two, and exp(x**2) erfc(x) by pieces.

Powers, and the values at points that pieces have, are numbers of 12 bits, so that their products
have no error. A point is where the function is nearest to such a number (after S. Gal, as in
`bench.elementary.points`). Coefficients as in `bench.elementary.pieces`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import pairwise
from typing import Any

from mpmath import mp, mpf

from axiomjit.bench.elementary.minimax import rounded
from axiomjit.bench.elementary.pieces import fit
from axiomjit.runtime.vector_math.complement import COUNT, DEGREE, LAST, PARTS

SHORT = 12
"""Bits of powers and values."""
SPREAD = mpf(1) / 8
"""How far points are from the middle of a piece at most, in widths of it."""


def _function(x: Any) -> Any:
    return mp.exp(x * x) * mp.erfc(x)


def _short_unit(y: Any) -> Any:
    """The distance of numbers of few bits."""
    return mpf(2) ** (int(mp.floor(mp.log(y, 2))) + 1 - SHORT)


def _point(low: Any, high: Any) -> tuple[Any, Any]:
    """The point and its value."""
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
    """The point, the value, and the coefficients of what is beside it."""
    point, value = _point(low, high) if low > 0 else (mpf(0), mpf(1))
    terms = [
        lambda x, power=power: (x - point) ** power / _function(x) for power in range(1, DEGREE + 1)
    ]
    found = fit(low, high, lambda x: 1 - value / _function(x), terms)
    return [float(point), float(value), *found]


def pieces(code: str) -> tuple[float, ...]:
    """COUNT points, then values, then coefficients by power; of unused places none."""
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
    """2**(k / PARTS) in few bits, or the logarithm of what they lack."""
    found = []
    for k in range(PARTS):
        exact = mpf(2) ** (mpf(k) / PARTS)
        unit = _short_unit(exact)
        short = mp.nint(exact / unit) * unit
        found.append((float(short), rounded(mp.log(exact / short), "f4")))
    return tuple(pair[which] for pair in found)


TABLES: dict[str, Callable[[str], tuple[float, ...]]] = {
    "ERFC_PIECES": pieces,
    "SHORT_POWERS": partial(powers, 0),
    "SHORT_POWERS_REST": partial(powers, 1),
}
"""By name, the numbers of float32."""
