"""Points at which a function's value is nearly a float, for tables in recipes.

The method is S. Gal's ("Computing elementary functions: a new approach for achieving high accuracy
and good performance", 1986): near the middle of each interval, take the first float at which the
function's value is within CLOSENESS units in the last place of a float. The table has that float.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from mpmath import mp, mpf

from tools.elementary.minimax import TableMaker, rounded

CLOSENESS = mpf(1) / 32
ARC_BOUNDS = tuple(mpf(2 + k % 2) * mpf(2) ** (k // 2 - 5) for k in range(17))
"""1/16, 3/32, 1/8, and so on up to 16; the first interval begins at 0, the last has no end."""
FIRST_ARC = mpf(3) / 64
"""The point of the first interval in a table where 0 cannot be used."""


def close_to(middle: Any, function: Callable[[Any], Any], code: str) -> tuple[float, float]:
    """Return the point and the function's rounded value there."""
    kind: Any = np.float32 if code == "f4" else np.float64
    below = above = kind(float(middle))
    while True:
        for point in (below, above):
            exact = function(mpf(float(point)))
            value = rounded(exact, code)
            if abs(exact - mpf(value)) <= CLOSENESS * mpf(float(np.spacing(kind(value)))):
                return float(point), value
        below, above = np.nextafter(below, kind(0)), np.nextafter(above, kind(np.inf))


def _middles() -> list[Any]:
    """Return the points that halve the angle between bounds."""
    angles = [mp.atan(bound) for bound in ARC_BOUNDS[:-1]] + [mp.pi / 2]
    pairs = zip(angles[1:-1], angles[2:], strict=True)
    return [mp.tan((low + high) / 2) for low, high in pairs]


def _arcs(code: str) -> list[tuple[float, float]]:
    """Return points with their arc tangents, then points with pi minus their arc tangents."""
    middles = _middles()
    left = [close_to(c, lambda c: mp.pi - mp.atan(c), code) for c in [FIRST_ARC, *middles]]
    return [(0.0, 0.0), *(close_to(c, mp.atan, code) for c in middles), *left]


def _column(which: int, code: str) -> tuple[float, ...]:
    return tuple(row[which] for row in _arcs(code))


TABLES: dict[str, TableMaker] = {
    "ARC_POINTS": partial(_column, 0),
    "ARC_ANGLES": partial(_column, 1),
}
"""Functions that compute the numbers of a precision, by name of the table."""
