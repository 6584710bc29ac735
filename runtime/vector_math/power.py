"""Roots and powers: x**y = 2**(y log2 |x|), the logarithm being a sum of two numbers."""

from axiomjit.runtime.vector_math.arithmetic import Arithmetic, Value
from axiomjit.runtime.vector_math.coefficients import CBRT, EXP2, EXP2_SHORT, LOG2, LOG2_SHORT
from axiomjit.runtime.vector_math.constants import INFINITY, NAN
from axiomjit.runtime.vector_math.logarithm import split

TWO_OVER_LN2 = (2.8853900817779268, 4.0710547481862066e-17)
TWO_THIRDS_OVER_LN2 = (0.9617966939259756, 5.0577616648125907e-17)
ROOTS_OF_2 = (0.7937005259840998, 1.2599210498948732)
"""Cube roots of 1/2 and of 2."""


def cbrt(m: Arithmetic, x: Value) -> Value:
    """The cube root: an inverse root by polynomial, better by a step, and the root by another."""
    size = abs(x)
    exponent, mantissa = split(m, size)
    third, whole = m.nearest_whole(exponent, 1.0 / 3.0)
    left = exponent - third * 3.0
    below, above = left < 0.0, left > 0.0
    one = m.constant(1.0)
    inverse = m.polynomial(mantissa, CBRT[m.code])
    inverse = inverse * m.select(above, ROOTS_OF_2[0], m.select(below, ROOTS_OF_2[1], one))
    y = mantissa * m.select(above, 2.0, m.select(below, 0.5, one))
    off = m.fma(-(inverse * inverse * inverse), y, 1.0)
    inverse = m.fma(inverse * off, m.fma(off, 2.0 / 9.0, 1.0 / 3.0), inverse)
    slope = inverse * inverse
    root = y * slope
    square = root * root
    off = m.fma(-square, root, y) - m.fma(root, root, -square) * root
    root = m.fma(off, slope * (1.0 / 3.0), root) * m.power_of_two(whole)
    return m.select((size > 0.0) & (size < INFINITY), m.copysign(root, x), x)


def _log2_pair(m: Arithmetic, x: Value) -> tuple[Value, Value]:
    """log2 of a positive number as a sum of two, right to about 2**-68 of it.

    m = (1 + s) / (1 - s), log2(m) = 2/log(2) (s + s**3 / 3) + s**5 q(s**2).
    """
    exponent, mantissa = split(m, x)
    f, d = mantissa - 1.0, mantissa + 1.0
    d_low = mantissa - (d - 1.0)
    inverse = 1.0 / d
    s = f * inverse
    s_low = m.fma(-s, d_low, m.fma(-s, d, f)) * inverse
    z = s * s
    z_low = m.fma(s, s, -z) + s * s_low * 2.0
    # s**2 (2 / (3 log(2)) + s**2 q), then + 2 / log(2), then times s
    high, low = TWO_THIRDS_OVER_LN2
    rest = z * m.polynomial(z, LOG2[m.code])
    slope = rest + high
    slope_low = (high - slope) + rest + low
    product = z * slope
    product_low = m.fma(z, slope, -product) + m.fma(z, slope_low, z_low * slope)
    high, low = TWO_OVER_LN2
    factor = product + high
    factor_low = (high - factor) + product + (product_low + low)
    result = s * factor
    result_low = m.fma(s, factor, -result) + m.fma(s, factor_low, s_low * factor)
    total = exponent + result
    return total, (exponent - total) + result + result_low


def _of_doubles(m: Arithmetic, size: Value, y: Value) -> Value:
    """size**y for numbers that are not negative; 1 is left to the caller."""
    high, low = _log2_pair(m, size)
    high = m.select(size == 0.0, -INFINITY, m.select(size < INFINITY, high, size))
    product = y * high
    limited = m.bounded(product, -1100.0, 1100.0)
    whole, exponent = m.nearest_whole(limited, 1.0)
    lost = m.fma(y, high, -product) + y * low
    r = (limited - whole) + m.select(abs(product) < 1100.0, lost, 0.0)
    return m.scaled(m.fma(r, m.polynomial(r, EXP2["f8"]), 1.0), whole)


def _of_singles(m: Arithmetic, size: Value, y: Value) -> Value:
    """`_of_doubles` of float32; the logarithm and the power are float64."""
    exponent, mantissa = split(m, size)
    w = m.wide
    f = m.widened(mantissa) - 1.0
    logarithm = w.fma(f, w.polynomial(f, LOG2_SHORT["f8"]), m.widened(exponent))
    product = w.bounded(m.widened(y) * logarithm, -200.0, 200.0)
    whole, exponent = w.nearest_whole(product, 1.0)
    r = product - whole
    series = w.fma(r, w.polynomial(r, EXP2_SHORT["f8"]), 1.0)
    result = m.narrowed(series * w.power_of_two(exponent))
    infinite = size == INFINITY
    limit = m.select((y < 0.0) ^ infinite, m.constant(INFINITY), 0.0)
    return m.select(infinite | (size == 0.0), limit, m.select(size < INFINITY, result, NAN))


def power(m: Arithmetic, x: Value, y: Value) -> Value:
    """x**y with the limits of C's pow."""
    result = (_of_singles if m.code == "f4" else _of_doubles)(m, abs(x), y)
    whole = m.rint(y) == y
    half = y * 0.5
    odd = whole & (m.rint(half) != half)
    negative = m.copysign(m.constant(1.0), x) < 0.0
    result = m.select(negative & odd, -result, result)
    result = m.select((x < 0.0) & ~whole & (x > -INFINITY), NAN, result)
    size_is_1 = abs(x) == 1.0
    one = (y == 0.0) | (x == 1.0) | (size_is_1 & (abs(y) == INFINITY))
    return m.select(one, 1.0, m.select(y != y, NAN, result))
