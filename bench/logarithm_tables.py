"""Tables of logarithms: reciprocals of numbers in [1, 2) and the logarithms of those."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from mpmath import mp, mpf

from axiomjit.bench.minimax import rounded
from axiomjit.runtime.vector_math.constants import LN2, LOG10_OF_2

ENTRIES = 16
"""By the four leading bits of a mantissa."""
INVERSE_BITS = 8
"""After the point, so that inverse * 2**k - 1 is a number for all k that matter."""
BITS_BESIDE = 4
"""Those of the entries next to the first and the last, which have none."""
HIGH_BITS = {"f4": 16, "f8": 42}
"""After the point of a logarithm's first part, which is added to exponents without error."""
LOG2_OF_2 = {"f4": (1.0, 0.0), "f8": (1.0, 0.0)}


def halved(entry: int) -> bool:
    """Whether mantissas of an entry count as those of the next power of 2, from 3/4 on."""
    return 2 * entry >= ENTRIES


def inverse(entry: int) -> Any:
    """About 1 over the mantissas of an entry; of the first and last, beside powers of 2, exactly.

    Where 1 is the inverse, logarithms near 0 are right to their own last place. Entries beside
    those have inverses of few bits, so that inverse * mantissa - 1 is a number: no room is left
    there for its rounding.
    """
    middle = 1 + (entry + mpf("0.5")) / ENTRIES
    beside = min(entry, ENTRIES - 1 - entry)
    bits = min(BITS_BESIDE * beside, INVERSE_BITS) + halved(entry)
    return mp.nint(2**bits / middle) / 2**bits


def inverses(code: str) -> tuple[float, ...]:
    """The table of inverses."""
    return tuple(rounded(inverse(entry), code) for entry in range(ENTRIES))


def _logarithm(entry: int, base: Any, of_two: tuple[float, float], code: str) -> tuple[Any, Any]:
    """-log(inverse) as a sum: of an entry that is halved, log(2) in its two parts is in it."""
    scale = mpf(2) ** HIGH_BITS[code]
    high, low = map(mpf, of_two if halved(entry) else (0, 0))
    rest = -mp.log(inverse(entry) * (2 if halved(entry) else 1)) / mp.log(base)
    first = mp.nint(rest * scale) / scale
    return high + first, low + (rest - first)


def logarithms(part: int, base: Any, of_two: dict[str, tuple[float, float]], code: str) -> Any:
    """The table of first or second parts."""
    entries = (_logarithm(entry, base, of_two[code], code) for entry in range(ENTRIES))
    return tuple(rounded(parts[part], code) for parts in entries)


TABLES: dict[str, Callable[[str], tuple[float, ...]]] = {
    "INVERSE": inverses,
    "LOG_OF_INVERSE": partial(logarithms, 0, mp.e, LN2),
    "LOG_OF_INVERSE_LOW": partial(logarithms, 1, mp.e, LN2),
    "LOG2_OF_INVERSE": partial(logarithms, 0, mpf(2), LOG2_OF_2),
    "LOG2_OF_INVERSE_LOW": partial(logarithms, 1, mpf(2), LOG2_OF_2),
    "LOG10_OF_INVERSE": partial(logarithms, 0, mpf(10), LOG10_OF_2),
    "LOG10_OF_INVERSE_LOW": partial(logarithms, 1, mpf(10), LOG10_OF_2),
}
"""By name, the entries of a precision."""
