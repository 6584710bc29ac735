"""Tables of logarithms: reciprocals of numbers in [1, 2) and the logarithms of those."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from mpmath import mp, mpf

from axiomjit.bench.elementary.minimax import rounded

ENTRIES = 16
"""By the four leading bits of a mantissa."""
INVERSE_BITS = 8
"""After the point, so that inverse * 2**k - 1 is a number for all k that matter."""
BITS_BESIDE = 4
"""Those of the entries next to the first and the last, which have none."""
HIGH_BITS = {"f4": 16, "f8": 42}
"""After the point of a logarithm's first part, which is added to exponents without error."""


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


def _parts(value: Any, code: str) -> tuple[Any, Any]:
    """A number as a sum."""
    scale = mpf(2) ** HIGH_BITS[code]
    high = mp.nint(value * scale) / scale
    return high, mpf(rounded(value - high, code))


def of_two(base: Any, code: str) -> tuple[float, ...]:
    """log(2) in two parts."""
    return tuple(map(float, _parts(mp.log(2, base), code)))


def _of_inverse(entry: int, base: Any, code: str) -> tuple[Any, Any]:
    """-log(inverse) in two parts: of an entry that is halved, those of log(2) and of the rest."""
    high, low = _parts(mp.log(2, base), code) if halved(entry) else (mpf(0), mpf(0))
    first, rest = _parts(-mp.log(inverse(entry) * 2 ** halved(entry), base), code)
    return high + first, low + rest


def of_inverses(part: int, base: Any, code: str) -> tuple[float, ...]:
    """The table of first or second parts."""
    return tuple(rounded(_of_inverse(entry, base, code)[part], code) for entry in range(ENTRIES))


QUOTIENT_BITS = 8
"""After the point of an inverse of quotients."""


def quotient_inverse(entry: int) -> Any:
    """About 1 over the quotients (1 + x) / (1 - x) of an entry; exactly while x is its own arc.

    The entry is from the difference of bits, for x < 1/3 16 * 3 x.
    """
    if entry < ENTRIES // 4:
        return mpf(1)
    x = (entry + mpf("0.5")) / ENTRIES / 3
    scale = 2**QUOTIENT_BITS
    return mp.nint(scale * (1 - x) / (1 + x)) / scale


def quotient_inverses(code: str) -> tuple[float, ...]:
    """The table of those."""
    return tuple(rounded(quotient_inverse(entry), code) for entry in range(ENTRIES))


def halves_of_quotients(part: int, code: str) -> tuple[float, ...]:
    """Half the logarithms of quotients, first or second parts."""
    entries = (_parts(-mp.log(quotient_inverse(k)) / 2, code)[part] for k in range(ENTRIES))
    return tuple(rounded(value, code) for value in entries)


Table = Callable[[str], tuple[float, ...]]
BASES: dict[str, Any] = {"LOG": mp.e, "LOG2": 2, "LOG10": 10}
TABLES: dict[str, Table] = {
    "INVERSE": inverses,
    "QUOTIENT_INVERSE": quotient_inverses,
    "HALF_LOG_OF_QUOTIENT": partial(halves_of_quotients, 0),
    "HALF_LOG_OF_QUOTIENT_LOW": partial(halves_of_quotients, 1),
}
"""By name, the numbers of a precision."""
for _name, _base in BASES.items():
    TABLES[f"{_name}_OF_2"] = partial(of_two, _base)
    TABLES[f"{_name}_OF_INVERSE"] = partial(of_inverses, 0, _base)
    TABLES[f"{_name}_OF_INVERSE_LOW"] = partial(of_inverses, 1, _base)
