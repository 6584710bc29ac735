"""Reduction of large numbers to quarter turns: x * 2 / pi modulo 4, after M. Payne and R. Hanek.

"Radian reduction for trigonometric functions", SIGNUM Newsletter 18, 1983. x is an integer times
2**s; a table has 2**s * 2 / pi modulo 4 for every 16th s, as a sum of four floats.
"""

from collections.abc import Callable
from functools import cache

from axiomjit.runtime.elementary.arithmetic import Arithmetic, Numeric, two_sum
from axiomjit.runtime.elementary.constants import HALF_PI

TWO_OVER_PI = int(
    "a2f9836e4e441529fc2757d1f534ddc0db6295993c439041fe5163abdebbc561b7246e3a424dd2e0"
    "06492eea09d1921cfe1deb1cb129a73ee88235f52ebb4484e99c7026b45f7e413991d639835339f4"
    "9c845f8bbdf9283b1ff897ffde05980fef2f118b5a0a6d1f6d367ecf27cb09b74f463f669e5fea2d"
    "7527bac7ebe5f17b3d0739f78a5292ea6bfb5fb11f8d5d0856033046fc7b6bab",
    16,
)
"""2 / pi times 2**1216."""
SCALE, STEP, FIRST = 1216, 16, 44
"""Fraction bits of TWO_OVER_PI; exponents per row of the table; the smallest exponent."""
PARTS = 4
LAST = (1024 - FIRST) // STEP


def _row(power: int) -> list[float]:
    """2**power * 2 / pi modulo 4, plus 4, as a sum of PARTS floats."""
    one = 1 << SCALE + 8
    rest = (TWO_OVER_PI << power + 8) % (4 * one) + 4 * one
    parts = []
    for _ in range(PARTS):
        parts.append(rest / one)
        top, bottom = parts[-1].as_integer_ratio()
        rest -= top * one // bottom
    return parts


@cache
def table() -> tuple[float, ...]:
    """All rows, concatenated."""
    return tuple(part for row in range(LAST + 1) for part in _row(row * STEP + FIRST - 52))


def quarter_turns(
    m: Arithmetic, x: Numeric, nearest: Callable[[Numeric], Numeric]
) -> tuple[Numeric, Numeric, Numeric]:
    """Return the number of quarter turns modulo 4, and the remaining angle as a sum of two floats.

    x is a float64 of at least 2**FIRST. `nearest` rounds a number from -6 to 6 to an integer.
    """
    row = ((m.bits(abs(x)) >> m.mantissa) - (m.bias + FIRST)) >> 4
    number = x * m.power_of_two(-(row << 4) - (FIRST - m.mantissa))
    products = []
    for part in range(PARTS):
        factor = m.entry("turns", table(), (row << 2) + part)
        high = number * factor
        products += [high, m.fma(number, factor, -high)]
    first, second, third = (p - m.rint(p * 0.25) * 4.0 for p in products[:3])
    # The first two are multiples of 2**-50; the terms after the third are below 2**-34.
    turns, off = two_sum(first + second, third)
    whole = nearest(turns)
    more, lost = two_sum(products[3], products[4])
    left, lost_more = two_sum(turns - whole, more)
    left, lost_off = two_sum(left, off)
    low = lost_off + lost_more + lost + products[5] + products[6]
    high_half, low_half = HALF_PI[m.code]
    angle = left * high_half
    rest = m.fma(left, high_half, -angle) + m.fma(left, low_half, low * high_half)
    return whole, angle, rest
