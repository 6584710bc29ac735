"""Tables of logarithms: inverses of numbers in [1, 2), and the logarithms of the inverses."""

from __future__ import annotations

from functools import partial
from typing import Any

from mpmath import mp, mpf

from tools.elementary.minimax import TableMaker, rounded

ENTRIES = 16
"""Entries per table; the index is the four leading bits of a mantissa."""
INVERSE_BITS = 8
"""Fraction bits of an inverse, so that inverse * 2**k - 1 is exact for all k that matter."""
BITS_BESIDE = 4
"""Fraction bits of the entries next to the first and the last, which have none."""
HIGH_BITS = {"f4": 16, "f8": 42}
"""Fraction bits of a logarithm's first part; adding it to k log(2) is exact."""


def halved(entry: int) -> bool:
    """Return True if an entry's mantissas are halved, so that they are near 1: from 3/2 on."""
    return 2 * entry >= ENTRIES


def inverse(entry: int) -> Any:
    """Return about 1 over the mantissas of an entry; exactly 1 or 1/2 in the first and last entry.

    So logarithms near 0 are accurate to their own last place. The neighbours of these entries have
    inverses of few bits, so that inverse * mantissa - 1 is exact: there is no room for its
    rounding.
    """
    middle = 1 + (entry + mpf("0.5")) / ENTRIES
    beside = min(entry, ENTRIES - 1 - entry)
    bits = min(BITS_BESIDE * beside, INVERSE_BITS) + halved(entry)
    return mp.nint(2**bits / middle) / 2**bits


def inverses(code: str) -> tuple[float, ...]:
    """Return the table of inverses."""
    return tuple(rounded(inverse(entry), code) for entry in range(ENTRIES))


def _parts(value: Any, code: str) -> tuple[Any, Any]:
    """Return a number as a sum of two."""
    scale = mpf(2) ** HIGH_BITS[code]
    high = mp.nint(value * scale) / scale
    return high, mpf(rounded(value - high, code))


def of_two(base: Any, code: str) -> tuple[float, ...]:
    """Return log(2) as a sum of two."""
    return tuple(map(float, _parts(mp.log(2, base), code)))


def _of_inverse(entry: int, base: Any, code: str) -> tuple[Any, Any]:
    """Return -log(inverse) as a sum of two; for a halved entry log(2) is split by itself."""
    high, low = _parts(mp.log(2, base), code) if halved(entry) else (mpf(0), mpf(0))
    first, rest = _parts(-mp.log(inverse(entry) * 2 ** halved(entry), base), code)
    return high + first, low + rest


def of_inverses(part: int, base: Any, code: str) -> tuple[float, ...]:
    """Return the table of the first (0) or second (1) parts of -log(inverse)."""
    return tuple(rounded(_of_inverse(entry, base, code)[part], code) for entry in range(ENTRIES))


QUOTIENT_BITS = 8
"""Fraction bits of an inverse of quotients."""


def quotient_inverse(entry: int) -> Any:
    """Return about 1 over the quotients (1 + x) / (1 - x) of an entry; 1 for small x.

    The index of an entry is found by the difference of bits, which is 16 * 3 x for x < 1/3.
    """
    if entry < ENTRIES // 4:
        return mpf(1)
    x = (entry + mpf("0.5")) / ENTRIES / 3
    scale = 2**QUOTIENT_BITS
    return mp.nint(scale * (1 - x) / (1 + x)) / scale


def quotient_inverses(code: str) -> tuple[float, ...]:
    """Return the table of inverses of quotients."""
    return tuple(rounded(quotient_inverse(entry), code) for entry in range(ENTRIES))


def halves_of_quotients(part: int, code: str) -> tuple[float, ...]:
    """Return half the logarithms of the quotients: their first (0) or second (1) parts."""
    entries = (_parts(-mp.log(quotient_inverse(k)) / 2, code)[part] for k in range(ENTRIES))
    return tuple(rounded(value, code) for value in entries)


BASES: dict[str, Any] = {"LOG": mp.e, "LOG2": 2, "LOG10": 10}
TABLES: dict[str, TableMaker] = {
    "INVERSE": inverses,
    "QUOTIENT_INVERSE": quotient_inverses,
    "HALF_LOG_OF_QUOTIENT": partial(halves_of_quotients, 0),
    "HALF_LOG_OF_QUOTIENT_LOW": partial(halves_of_quotients, 1),
}
"""Functions that compute the numbers of a precision, by name of the table."""
for _name, _base in BASES.items():
    TABLES[f"{_name}_OF_2"] = partial(of_two, _base)
    TABLES[f"{_name}_OF_INVERSE"] = partial(of_inverses, 0, _base)
    TABLES[f"{_name}_OF_INVERSE_LOW"] = partial(of_inverses, 1, _base)
