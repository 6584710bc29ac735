"""Inverse hyperbolic functions, logarithms of sums that lose nothing, and hypot."""

from axiomjit.runtime.vector_math.arithmetic import Arithmetic, Value
from axiomjit.runtime.vector_math.coefficients import ARCTANH
from axiomjit.runtime.vector_math.constants import INFINITY, LN2
from axiomjit.runtime.vector_math.entries import (
    HALF_LOG_OF_QUOTIENT,
    HALF_LOG_OF_QUOTIENT_LOW,
    QUOTIENT_INVERSE,
)
from axiomjit.runtime.vector_math.logarithm import of_sum, sum_of_parts

FAR = {"f4": 2.0**20, "f8": 2.0**40}
"""From here on x + sqrt(x**2 + 1) is 2 x."""
EDGE = {"f4": 2.0**-26, "f8": 2.0**-55}
"""Less than the distance from 1 to the number below it."""

Triple = tuple[Value, Value, Value]


def _added_root(m: Arithmetic, x: Value, square: Value, square_low: Value = None) -> Triple:
    """x + sqrt(square + square_low), which is not below 2 x, as a sum; each is little by the last.

    What the root lacks is small, so that few bits of its inverse do.
    """
    root = m.sqrt(square)
    off = m.fma(-root, root, square)
    off = off if square_low is None else off + square_low
    total = root + x
    return total, x - (total - root), off * m.rough_quotient(0.5, root)


def _far(m: Arithmetic, x: Value, total: Value, low: Value) -> Triple:
    """The sum up to FAR, x beyond; and how many log(2) to add: 1 beyond, where the sum is 2 x."""
    far = x > FAR[m.code]
    ones = m.select(far, m.constant(1.0), 0.0)
    return m.select(far, x, total), m.select(far, 0.0, low), ones


def arcsinh(m: Arithmetic, x: Value) -> Value:
    """log(|x| + sqrt(x**2 + 1))."""
    size = abs(x)
    square = m.fma(size, size, 1.0)
    total, low, less = _added_root(m, size, square, m.fma(size, size, 1.0 - square))
    less = m.select(size > FAR[m.code], 0.0, less)
    result = of_sum(m, *_far(m, size, total, low), less)
    return m.copysign(m.log_limits(size + 1.0, result), x)


def arccosh(m: Arithmetic, x: Value) -> Value:
    """log(1 + t + sqrt(t (t + 2))), t = x - 1."""
    t = x - 1.0
    above, low, less = _added_root(m, t, m.fma(t, t, t + t))
    total = above + 1.0
    result = of_sum(m, *_far(m, x, total, (above - (total - 1.0)) + (low + less)))
    return m.log_limits(t + EDGE[m.code], result)


def arctanh(m: Arithmetic, x: Value) -> Value:
    """k log(2) / 2 - log(c) / 2 and the arc of s = (q - 1) / (q + 1), q = (1 + x) v / (1 - x).

    k and a few bits more of the quotient's logarithm are read off the bits of 1 + x and 1 - x; c,
    about 1 / the rest, has few bits, so that v = 2**-k c loses nothing beside 1, or if x >= 1/2
    beside 1 - x.
    """
    size = abs(x)
    below = 1.0 - size
    distance = m.bits(size + 1.0) - m.bits(below)
    whole = distance >> m.mantissa
    exponent, index = m.to_float(whole), m.number(distance)
    inverse = m.looked_up("quotient_inverse", QUOTIENT_INVERSE[m.code], index)
    v = m.number(m.bits(inverse) - (whole << m.mantissa))
    small = size < 0.5
    share, unit = m.select(small, m.constant(1.0), 0.0), m.select(small, 1.0, below)
    s = m.fma(size, v + share, v - unit) / m.fma(size, v - share, v + unit)
    z = s * s
    two, two_low = LN2[m.code]
    high = m.looked_up("half_log", HALF_LOG_OF_QUOTIENT[m.code], index)
    low = m.looked_up("half_log_low", HALF_LOG_OF_QUOTIENT_LOW[m.code], index)
    rest = m.fma(s * z, m.polynomial(z, ARCTANH[m.code]), m.fma(exponent, two_low / 2, low))
    result = sum_of_parts(m, m.fma(exponent, two / 2, high), s, rest)
    return m.copysign(m.log_limits(below, result), x)


LARGE, SMALL, SCALE = 2.0**500, 2.0**-450, 2.0**600
"""Between the bounds squares are in the range of float64."""
LEAST_POWER, LARGEST_POWER = 2.0**-126, 2.0**126
"""The bounds of powers of 2 whose inverse is a normal number of float32."""
NOTHING = 2.0**-60
"""Beside numbers from 2**-23 its square is not felt; its own is a normal number."""


def _hypot_of_singles(m: Arithmetic, larger: Value, smaller: Value) -> Value:
    """The root of a fused sum, and what its square lacks over twice the root, divided roughly.

    C. F. Borges, "An improved algorithm for hypot(a, b)", 2019. Operands are scaled by a power of 2
    that brings the larger one to 1 to 2; if that is infinite or NaN so is one of the terms.
    """
    exponent = m.number(m.bits(larger) & m.bits(m.constant(INFINITY)))
    power = m.bounded(exponent, LEAST_POWER, LARGEST_POWER)
    inverse = m.number((2 * m.bias << m.mantissa) - m.bits(power))
    a, b = larger * inverse, smaller * inverse
    b = m.select(b < NOTHING, NOTHING, b)
    root = m.sqrt(m.fma(a, a, b * b))
    square, of_root = a * a, root * root
    rest = m.fma(root, root, -of_root) - m.fma(a, a, -square)
    excess = m.fma(-b, b, of_root - square) + rest
    return m.fma(excess, -m.rough_quotient(0.5, root), root) * power


def _hypot_of_doubles(m: Arithmetic, larger: Value, smaller: Value) -> Value:
    """The root of a fused sum, 2**600 times as large or small where squares are out of range."""
    large, small = larger > LARGE, larger < SMALL
    scale = m.select(large, m.constant(1.0 / SCALE), m.select(small, m.constant(SCALE), 1.0))
    back = m.select(large, m.constant(SCALE), m.select(small, m.constant(1.0 / SCALE), 1.0))
    a, b = larger * scale, smaller * scale
    return m.sqrt(m.fma(a, a, b * b)) * back


def hypot(m: Arithmetic, x: Value, y: Value) -> Value:
    """sqrt(x**2 + y**2)."""
    x, y = abs(x), abs(y)
    infinite = (x == INFINITY) | (y == INFINITY)
    of_sizes = _hypot_of_singles if m.code == "f4" else _hypot_of_doubles
    result = of_sizes(m, m.select(x > y, x, y), m.select(x > y, y, x))
    return m.select(infinite, INFINITY, result)
