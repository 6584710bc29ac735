"""Roots and powers: x**y = 2**(y log2 |x|), with the logarithm as a sum of two floats.

A factor from a table brings the mantissa near 1; for powers this product is exact (P. T. P. Tang,
"Table-lookup algorithms for elementary functions and their error analysis", 1991).
"""

from axiomjit.runtime.elementary import entries
from axiomjit.runtime.elementary.arithmetic import Arithmetic, Numeric
from axiomjit.runtime.elementary.coefficients import CBRT, EXP2, POWER
from axiomjit.runtime.elementary.constants import INFINITY, LOG2_OF_E, NAN
from axiomjit.runtime.elementary.exponential import REACH2

LARGEST = {"f4": 3.4028234663852886e38, "f8": 1.7976931348623157e308}
"""The largest finite number."""
QUARTERS = 2
"""The number of mantissa bits in the index of a cube root's table."""


def cbrt(m: Arithmetic, x: Numeric) -> Numeric:
    """The cube root: x = 8**k y, 1/2 <= y < 4, y = c (1 + d); tables give 1 / c and c's root."""
    size = abs(x)
    exponent = m.binade(size)
    third = m.nearest_whole(exponent, 1.0 / 3.0)[0]
    y = m.scaled(size, third * -3.0)
    entry = m.bits(y) >> (m.mantissa - QUARTERS)
    inverse = m.lookup("cbrt_inverse", entries.CBRT_INVERSE[m.code], entry)
    root = m.lookup("cbrt_of_inverse", entries.CBRT_OF_INVERSE[m.code], entry)
    d = m.fma(y, inverse, -1.0)
    root = m.fma(root, d * m.polynomial(d, CBRT[m.code]), root)
    root = m.copysign(m.scaled(root, third), x)
    return m.select(abs(exponent) < INFINITY, root, x)


def _log2(m: Arithmetic, size: Numeric) -> tuple[Numeric, Numeric]:
    """log2 as a sum of two floats, with a relative error of about 2**-64 (float32: 2**-34).

    m = c (1 + d), log(1 + d) = d - d**2 / 2 + d**3 q(d); d is exact, and so are the first two
    terms, as a sum of two floats. For 0 and infinity the first float is infinite.
    """
    mantissa = m.significand(size)
    whole = m.binade(size) + m.looked_up("power_log2", entries.POWER_LOG2[m.code], mantissa)
    whole_low = m.looked_up("power_log2_low", entries.POWER_LOG2_LOW[m.code], mantissa)
    inverse = m.looked_up("power_inverse", entries.POWER_INVERSE[m.code], mantissa)
    d = m.fma(mantissa, inverse, -1.0)
    half = d * -0.5
    first = m.fma(half, d, d)
    rest = m.fma(half, d, d - first)
    rest = m.fma(d * d * d, m.polynomial(d, POWER[m.code]), rest)
    high, low = LOG2_OF_E[m.code]
    near = first * high
    near_low = m.fma(first, low, m.fma(first, high, -near))
    near_low = m.fma(rest, high, near_low) + whole_low
    total = whole + near
    return total, (whole - total) + near + near_low


def _size(m: Arithmetic, size: Numeric, y: Numeric) -> Numeric:
    """size**y for size >= 0 other than 1, and y other than 0."""
    high, low = _log2(m, size)
    product = y * high
    limited = m.bounded(product, *REACH2[m.code])
    whole = m.nearest_whole(limited, 1.0)[0]
    r = limited - whole
    r = m.select(limited == product, r + m.fma(y, low, m.fma(y, high, -product)), r)
    return m.scaled(m.fma(r, m.polynomial(r, EXP2[m.code]), 1.0), whole)


def power(m: Arithmetic, x: Numeric, y: Numeric) -> Numeric:
    """x**y with the limits of C's pow."""
    size = abs(x)
    result = m.select((y != 0.0) & (size != 1.0), _size(m, size, y), 1.0)
    broken, half = m.rint(y) != y, y * 0.5
    signed = m.select(m.rint(half) != half, m.copysign(result, x), result)
    undefined = broken & (x < 0.0) & (size <= LARGEST[m.code])
    return m.select(undefined, NAN, m.select(broken, result, signed))
