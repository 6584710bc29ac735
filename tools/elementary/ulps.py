"""Distances from exact results in units of the last place, by a compiled scan and exactly.

An exact result is given as a sum of two float64. The scan never underestimates: next to a power of
two, where the unit halves, it uses the smaller unit.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import numba
import numpy as np

Array = np.ndarray[Any, Any]
BLOCK: Final = 1024
SMALL: Final = 2.0**-900
LIFT: Final = 2.0**60
"""The second part of an exact result below SMALL is scaled by this, or it would underflow."""
TIE: Final = 2.0**-20
"""Distances this near to half a unit are measured again."""
SLACK: Final = {"f4": 16, "f8": 1}
"""A reference up to this many units of float64 above a power of 2 counts as below it."""


def ulps(got: Array, want: Array, operands: Sequence[Array] = ()) -> Array:
    """Return distances from wider results in ulps of these, or of larger operands.

    Infinity and all numbers out of range count as the power of two after the largest number. A NaN,
    a number instead of a NaN, and without operands a zero of the wrong sign are infinitely far
    away.
    """
    info, wider = np.finfo(got.dtype), want.dtype.type
    with np.errstate(all="ignore"):
        end = np.ldexp(wider(1), info.maxexp)
        exact, seen = np.clip(want, -end, end), np.clip(got.astype(want.dtype), -end, end)
        below = np.nextafter(abs(exact), wider(0)) if wider is np.longdouble else abs(exact)
        exponent = np.frexp(np.maximum.reduce([below, *map(abs, operands)]))[1]
        unit = np.ldexp(wider(1), np.maximum(exponent - 1, info.minexp) - info.nmant)
        distance = abs(seen - exact) / unit
    wrong = np.isnan(got) != np.isnan(want)
    if not operands:
        wrong |= (got == 0) & (np.signbit(got) != np.signbit(want)) & ~np.isnan(want)
    return np.where(wrong, np.inf, np.where(np.isnan(want), 0, distance)).astype(np.float64)


def two_parts(want: Array) -> tuple[Array, Array]:
    """Return longdouble numbers as sums of two float64, the form that `scan` takes."""
    high = want.astype(np.float64)
    rest = np.subtract(want, high, out=np.zeros_like(want), where=np.isfinite(high))
    small = abs(high) < SMALL
    if small.any():
        rest[small] *= LIFT
    return high, rest.astype(np.float64)


def _scan(
    got: Array,
    high: Array,
    low: Array | None,
    size: Array,
    details: Any,
    errors: Array,
    places: Array,
    ties: Array,
) -> tuple[int, int, int, int]:
    slack, least, most, scale, end, signed, threshold = details
    bits, powers = size.view(np.int64), np.empty(BLOCK, np.int64)
    inverse, block = powers.view(np.float64), np.empty(BLOCK)
    found = tied = counted = off = 0
    for start in range(0, len(got), BLOCK):
        stop = min(start + BLOCK, len(got))
        for i in range(start, stop):
            exponent = ((bits[i] & np.int64(0x7FFFFFFFFFFFFFFF)) - slack) >> 52
            powers[i - start] = (2047 - min(max(exponent, least), most)) << 52
        large = near = 0
        for i in range(start, stop):
            seen, want = np.float64(got[i]), high[i]
            seen = end if seen > end else seen
            seen = -end if seen < -end else seen
            want = end if want > end else want
            want = -end if want < -end else want
            distance = 0.0 if seen == want else seen - want
            factor = scale
            if low is not None:
                small = abs(want) < SMALL
                distance = distance * (LIFT if small else 1.0) - low[i]
                factor = scale / LIFT if small else scale
            error = abs(distance) * inverse[i - start] * factor
            error = error if error < np.inf else np.inf
            error = 0.0 if seen != seen and want != want else error
            if signed & (seen == 0.0) & (np.copysign(1.0, seen) != np.copysign(1.0, want)):
                error = np.inf
            block[i - start] = error
            ordinary = (want != 0.0) & (abs(want) < end)
            counted += ordinary
            off += ordinary & (error >= 0.5 + TIE)
            large += error > threshold
            near += abs(error - 0.5) < TIE
        if large or near:
            for i in range(start, stop):
                error = block[i - start]
                if error > threshold:
                    errors[found], places[found] = error, i
                    found += 1
                if abs(error - 0.5) < TIE:
                    ties[tied] = i
                    tied += 1
    return found, tied, counted, off


_compiled: Any = numba.njit(_scan, error_model="numpy")


class Scan(NamedTuple):
    """The findings of a scan of results."""

    errors: Array
    """The errors above the threshold."""
    places: Array
    """The indices of these errors."""
    ties: Array
    """The indices of results that are about half a unit away."""
    counted: int
    """The number of results whose exact value is finite and not 0."""
    off: int
    """The number of those results that are more than half a unit away, ties not counted."""


def scan(
    got: Array, exact: tuple[Array, Array | None], size: Array | None, threshold: float
) -> Scan:
    """Scan results once, at about a nanosecond each.

    Args:
        got: results, float32 or float64.
        exact: the exact results, as sums of two float64 (`two_parts`), or as one.
        size: numbers in whose units errors count, by default the exact results.
        threshold: results with larger distances are returned one by one.
    """
    info, code = np.finfo(got.dtype), got.dtype.str[1:]
    high, low = exact
    details = (
        *(SLACK[code], info.minexp + 1023, info.maxexp + 1022, 2.0 ** (info.nmant - 1)),
        *(float(np.ldexp(1.0, info.maxexp)) if code == "f4" else np.inf, size is None, threshold),
    )
    errors, places, ties = np.empty(len(got)), np.empty(len(got), "i8"), np.empty(len(got), "i8")
    sizes = high if size is None else size
    found, tied, counted, off = _compiled(got, high, low, sizes, details, errors, places, ties)
    return Scan(errors[:found], places[:found], ties[:tied], counted, off)
