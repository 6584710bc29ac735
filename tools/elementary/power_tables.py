"""Tables of roots and powers: inverses of numbers, and a function's values at them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mpmath import mp, mpf

from tools.elementary.minimax import TableMaker, rounded

ENTRIES = 16
TRIES = 400
"""The number of floats among which an accurate entry is searched."""


def _middle(entry: int) -> Any:
    """Return the middle of the numbers from 1/2 to 4 that use an entry; 1 if there are none.

    The entry's bits are the two lowest bits of the exponent and the two highest of the mantissa.
    """
    power = {2: -1, 3: 0, 0: 1}.get(entry >> 2)
    return mpf(1) if power is None else mpf(2) ** power * (1 + (entry % 4 + mpf("0.5")) / 4)


def _accurate(entry: int, code: str) -> tuple[Any, Any]:
    """Return about 1 over the middle of an entry, and the cube root of the reciprocal of that.

    Of the floats near it, choose the one whose root is nearest to a float (S. Gal, "Computing
    elementary functions: a new approach for achieving high accuracy", 1986).
    """
    start = mpf(rounded(1 / _middle(entry), code))
    unit = mpf(2) ** (mp.floor(mp.log(start, 2)) - {"f4": 23, "f8": 52}[code])

    def off(inverse: Any) -> Any:
        root = mp.cbrt(1 / inverse)
        return abs(rounded(root, code) / root - 1)

    best = min((start + k * unit for k in range(TRIES)), key=off)
    return best, mp.cbrt(1 / best)


def _inverse(entry: int) -> Any:
    """Return about 1 over mantissas with these leading bits; it has few bits.

    So mantissa * inverse - 1 is exact. It is exactly 1 or 1/2 for the first and last entry, next to
    powers of 2; elsewhere it is the best such number.
    """
    if entry in (0, ENTRIES - 1):
        return mpf(1) / (1 + (entry > 0))
    ends = [1 + mpf(entry + k) / ENTRIES for k in (0, 1)]

    def off(inverse: Any) -> Any:
        return max(abs(end * inverse - 1) for end in ends)

    fine = [mpf(k) / 64 for k in range(32, 64)]
    exact = [v for v in fine if off(v) < mpf(1) / (16 if v * 32 == mp.floor(v * 32) else 32)]
    return min(exact, key=off)


HIGH = {"f4": mpf(2) ** 16, "f8": mpf(2) ** 40}
"""First parts of logarithms are multiples of 1 / HIGH, so that adding an exponent is exact."""


def _logarithms(entry: int, code: str) -> tuple[Any, Any]:
    """Return log2 of 1 over an inverse, as a sum of two."""
    whole = -mp.log(_inverse(entry), 2)
    high = mp.nint(whole * HIGH[code]) / HIGH[code]
    return high, whole - high


def _table(entry: Callable[[int, str], Any]) -> TableMaker:
    return lambda code: tuple(rounded(entry(k, code), code) for k in range(ENTRIES))


TABLES: dict[str, TableMaker] = {
    "CBRT_INVERSE": _table(lambda k, code: _accurate(k, code)[0]),
    "CBRT_OF_INVERSE": _table(lambda k, code: _accurate(k, code)[1]),
    "POWER_INVERSE": _table(lambda k, code: _inverse(k)),
    "POWER_LOG2": _table(lambda k, code: _logarithms(k, code)[0]),
    "POWER_LOG2_LOW": _table(lambda k, code: _logarithms(k, code)[1]),
}
"""Functions that compute the numbers of a precision, by name of the table."""
