"""Inverse hyperbolic functions, as logarithms of sums of several floats, and hypot."""

from axiomjit.runtime.elementary.arithmetic import INFINITY, LN2, Arithmetic, Numeric
from axiomjit.runtime.elementary.logarithm import of_sum, sum_of_parts
from axiomjit.runtime.elementary.tables import (
    ARCTANH,
    HALF_LOG_OF_QUOTIENT,
    HALF_LOG_OF_QUOTIENT_LOW,
    QUOTIENT_INVERSE,
)

FAR = {"f4": 2.0**20, "f8": 2.0**40}
"""The number from which on x + sqrt(x**2 + 1) rounds to 2 x."""
EDGE = {"f4": 2.0**-26, "f8": 2.0**-55}
"""A number below the distance of floats near 1, so that x - 1 + EDGE is positive for x = 1."""

Triple = tuple[Numeric, Numeric, Numeric]


def _added_root(m: Arithmetic, x: Numeric, square: Numeric, square_low: Numeric = None) -> Triple:
    """Return x + sqrt(square + square_low) as three terms; each is small compared with the last.

    The sum is at least 2 x. The last term is the rounding error of the root; it is small, so a
    rough inverse of the root is accurate enough.
    """
    root = m.sqrt(square)
    off = m.fma(-root, root, square)
    off = off if square_low is None else off + square_low
    total = root + x
    return total, x - (total - root), off * m.rough_quotient(0.5, root)


def _far(m: Arithmetic, x: Numeric, total: Numeric, low: Numeric) -> Triple:
    """Return `total`, `low` and the multiple of log(2) to add; for x beyond FAR, x, 0 and 1.

    Beyond FAR, the sum is 2 x.
    """
    far = x > FAR[m.code]
    ones = m.select(far, m.constant(1.0), 0.0)
    return m.select(far, x, total), m.select(far, 0.0, low), ones


def arcsinh(m: Arithmetic, x: Numeric) -> Numeric:
    """The inverse hyperbolic sine: log(|x| + sqrt(x**2 + 1)), with the sign of x."""
    size = abs(x)
    square = m.fma(size, size, 1.0)
    total, low, less = _added_root(m, size, square, m.fma(size, size, 1.0 - square))
    less = m.select(size > FAR[m.code], 0.0, less)
    result = of_sum(m, *_far(m, size, total, low), less)
    return m.copysign(m.log_limits(size + 1.0, result), x)


def arccosh(m: Arithmetic, x: Numeric) -> Numeric:
    """The inverse hyperbolic cosine: log(1 + t + sqrt(t (t + 2))), t = x - 1."""
    t = x - 1.0
    above, low, less = _added_root(m, t, m.fma(t, t, t + t))
    total = above + 1.0
    result = of_sum(m, *_far(m, x, total, (above - (total - 1.0)) + (low + less)))
    return m.log_limits(t + EDGE[m.code], result)


def arctanh(m: Arithmetic, x: Numeric) -> Numeric:
    """The inverse hyperbolic tangent: half the logarithm of (1 + x) / (1 - x).

    With q = (1 + x) v / (1 - x) and s = (q - 1) / (q + 1), the result is k log(2) / 2 - log(c) / 2
    + artanh(s), where v = 2**-k c. The bits of 1 + x and 1 - x give k, and the index of c in a
    table. c has few bits, so v + 1 and v - 1 are exact; if x >= 1/2, v + (1 - x) and v - (1 - x)
    are exact.
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
"""The range of operands whose squares are in the range of float64; others are scaled."""
LEAST_POWER, LARGEST_POWER = 2.0**-126, 2.0**126
"""The range of powers of 2 whose inverses are normal numbers of float32."""
NOTHING = 2.0**-60
"""The number that replaces smaller numbers; its square is normal and negligible."""


def _hypot_of_singles(m: Arithmetic, larger: Numeric, smaller: Numeric) -> Numeric:
    """sqrt(a**2 + b**2) in float32: a rounded root, corrected by the error of its square.

    The method is from Borges, "An improved algorithm for hypot(a, b)", 2019. Operands are scaled by
    a power of 2, so that the larger one is in [1, 2). If the larger one is infinite or NaN, so is
    one of the terms.
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


def _hypot_of_doubles(m: Arithmetic, larger: Numeric, smaller: Numeric) -> Numeric:
    """sqrt(a**2 + b**2) in float64; operands with squares out of range are scaled by 2**600."""
    large, small = larger > LARGE, larger < SMALL
    scale = m.select(large, m.constant(1.0 / SCALE), m.select(small, m.constant(SCALE), 1.0))
    back = m.select(large, m.constant(SCALE), m.select(small, m.constant(1.0 / SCALE), 1.0))
    a, b = larger * scale, smaller * scale
    return m.sqrt(m.fma(a, a, b * b)) * back


def hypot(m: Arithmetic, x: Numeric, y: Numeric) -> Numeric:
    """The length of the vector (x, y): sqrt(x**2 + y**2)."""
    x, y = abs(x), abs(y)
    infinite = (x == INFINITY) | (y == INFINITY)
    of_sizes = _hypot_of_singles if m.code == "f4" else _hypot_of_doubles
    result = of_sizes(m, m.select(x > y, x, y), m.select(x > y, y, x))
    return m.select(infinite, INFINITY, result)
