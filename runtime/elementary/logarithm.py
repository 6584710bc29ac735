"""Logarithms, powers and cube roots, inverse hyperbolic functions, and hypot.

The tables are short enough for registers. Logarithms: x = 2**k m with 1 <= m < 2, and r = m c - 1,
where c is about 1 / m, from a table. Then log(x) = k log(2) - log(c) + log(1 + r); a polynomial
gives the last term. Near powers of 2, c is 1 or 1/2, so that both r and log(x) become small. The
method is from Tang, "Table-driven implementation of the logarithm function in IEEE floating-point
arithmetic", ACM TOMS 16, 1990.

Powers: x**y = 2**(y log2 |x|), with the logarithm as a sum of two floats, and m c exact (Tang,
"Table-lookup algorithms for elementary functions and their error analysis", 1991). Inverse
hyperbolic functions are logarithms of sums of several floats.
"""

from collections.abc import Callable
from typing import NamedTuple

from axiomjit.runtime.elementary import tables
from axiomjit.runtime.elementary.arithmetic import (
    INFINITY,
    LN2,
    LOG2_E,
    LOG2_OF_E,
    LOG10_OF_E,
    NAN,
    Arithmetic,
    ByPrecision,
    Numeric,
)
from axiomjit.runtime.elementary.exponential import REACH, REACH2, exp, exp2
from axiomjit.runtime.elementary.tables import (
    ARCTANH,
    HALF_LOG_OF_QUOTIENT,
    HALF_LOG_OF_QUOTIENT_LOW,
    QUOTIENT_INVERSE,
)

UnaryRecipe = Callable[[Arithmetic, Numeric], Numeric]
SMALL = 2.0**-54
"""The number below which log(1 + x) is x."""
LARGEST = {"f4": 3.4028234663852886e38, "f8": 1.7976931348623157e308}
"""For each precision, the largest finite number."""
QUARTERS = 2
"""The number of mantissa bits in the index of the tables of cube roots."""
EXACTLY_1: ByPrecision = {"f4": (1.0, 0.0), "f8": (1.0, 0.0)}


class Base(NamedTuple):
    """The tables of one base: a polynomial, and logarithms of e, 2, 1 / c as sums of two floats."""

    name: str
    of_e: ByPrecision
    of_two: ByPrecision
    high: ByPrecision
    low: ByPrecision
    near_1: ByPrecision
    """The coefficients of the polynomial (log(1 + r) - log(e) r) / r**2."""


E = Base(
    "log",
    EXACTLY_1,
    tables.LOG_OF_2,
    tables.LOG_OF_INVERSE,
    tables.LOG_OF_INVERSE_LOW,
    tables.LOG_NEAR_1,
)
TWO = Base(
    "log2",
    LOG2_OF_E,
    tables.LOG2_OF_2,
    tables.LOG2_OF_INVERSE,
    tables.LOG2_OF_INVERSE_LOW,
    tables.LOG2_NEAR_1,
)
TEN = Base(
    "log10",
    LOG10_OF_E,
    tables.LOG10_OF_2,
    tables.LOG10_OF_INVERSE,
    tables.LOG10_OF_INVERSE_LOW,
    tables.LOG10_NEAR_1,
)


def _inverse(m: Arithmetic, x: Numeric) -> Numeric:
    """The factor c for the mantissa of x, as in the module's docstring."""
    return m.looked_up("inverse", tables.INVERSE[m.code], x)


def terms(
    m: Arithmetic, base: Base, exponent: Numeric, x: Numeric, r: Numeric
) -> tuple[Numeric, Numeric]:
    """Return exponent * log(2) - log(c) + log(1 + r) - r log(e) as a sum of two floats.

    In this sum, c is the factor for x. The caller adds r log(e), which is the largest term if x is
    near 1.
    """
    two, two_low = base.of_two[m.code]
    whole = m.fma(exponent, two, m.looked_up(base.name, base.high[m.code], x))
    low = m.looked_up(f"{base.name}_low", base.low[m.code], x)
    if two_low != 0.0:
        low = m.fma(exponent, two_low, low)
    of_e_low, near_1 = base.of_e[m.code][1], base.near_1[m.code]
    if of_e_low == 0.0:
        return whole, m.fma(r * r, m.paired(r, near_1), low)
    return whole, m.fma(r, m.polynomial(r, (of_e_low, *near_1)), low)


def _of_number(m: Arithmetic, base: Base, x: Numeric) -> Numeric:
    mantissa = m.significand(x)
    r = m.fma(mantissa, _inverse(m, mantissa), -1.0)
    whole, rest = terms(m, base, m.binade(x), mantissa, r)
    return m.log_limits(x, whole + m.fma(r, base.of_e[m.code][0], rest))


def log(m: Arithmetic, x: Numeric) -> Numeric:
    """The natural logarithm."""
    return _of_number(m, E, x)


def log2(m: Arithmetic, x: Numeric) -> Numeric:
    """The logarithm to base 2, exact for powers of 2."""
    return _of_number(m, TWO, x)


def log10(m: Arithmetic, x: Numeric) -> Numeric:
    """The logarithm to base 10, exact for powers of 10."""
    return _of_number(m, TEN, x)


def inverse_of(m: Arithmetic, x: Numeric, exponent: Numeric) -> Numeric:
    """The factor v = 2**-exponent c, which makes x v a number near 1."""
    return m.scaled(_inverse(m, x), -exponent)


def sum_of_parts(m: Arithmetic, whole: Numeric, high: Numeric, low: Numeric) -> Numeric:
    """The sum whole + high + low, where `whole` is 0 or the largest term.

    In float32, the rounding error of whole + high is corrected.
    """
    if m.code == "f8":
        return whole + (high + low)
    first = whole + high
    return first + (((whole - first) + high) + low)


def of_sum(
    m: Arithmetic, total: Numeric, lost: Numeric, doublings: Numeric, less: Numeric = None
) -> Numeric:
    """The value log(2**doublings (total + lost + less)) for positive total and tiny `less`."""
    exponent = m.binade(total)
    v = inverse_of(m, total, exponent)
    high = m.fma(total, v, -1.0)
    all_lost = lost if less is None else lost + less
    whole, rest = terms(m, E, exponent + doublings, total, m.fma(all_lost, v, high))
    rest = rest if less is None else m.fma(less, v, rest)
    return sum_of_parts(m, whole, high, m.fma(lost, v, rest))


def _of_one_more(m: Arithmetic, base: Base, x: Numeric) -> tuple[Numeric, Numeric, Numeric]:
    """Return two terms and r, for which log(1 + x) is the sum of the terms plus r log(e).

    r is (1 + x) v - 1, computed as x v + (v - 1). v - 1 is exact, unless k is so large that the
    error does not matter.
    """
    total = x + 1.0
    exponent = m.binade(total)
    v = inverse_of(m, total, exponent)
    r = m.fma(x, v, v - 1.0)
    return *terms(m, base, exponent, total, r), r


def log1p(m: Arithmetic, x: Numeric) -> Numeric:
    """The natural logarithm of 1 + x."""
    whole, rest, r = _of_one_more(m, E, x)
    return m.copysign(m.log_limits(x + 1.0, sum_of_parts(m, whole, r, rest)), x)


def log2_1p(m: Arithmetic, x: Numeric) -> Numeric:
    """The value log2(1 + x) for finite x >= 0; the method is accurate enough only in float64."""
    whole, rest, r = _of_one_more(m, TWO, x)
    return whole + m.fma(r, TWO.of_e[m.code][0], rest)


def _sum(
    m: Arithmetic,
    x: Numeric,
    y: Numeric,
    power: UnaryRecipe,
    reach: float,
    log: UnaryRecipe,
    unit: float,
) -> Numeric:
    """The larger operand plus log(1 + power(-|x - y|)); float32 is computed in float64.

    `log` is a recipe of log(1 + x), which is x * unit near 0; power(reach) is 0. No intermediate
    value is subnormal unless the result is, because subnormal numbers are slow.
    """
    w, wide_x, wide_y = m.wide, m.widened(x), m.widened(y)
    larger = w.select(wide_x > wide_y, wide_x, wide_y)
    distance = abs(wide_x - wide_y)
    gone = distance > -reach
    share = w.select(gone, 0.0, power(w, -w.select(gone, 0.0, distance)))
    small = share < SMALL
    rest = w.select(small, share * unit, log(w, w.select(small, 0.0, share)))
    # equal infinities: their difference is NaN
    result = w.select(wide_x == wide_y, wide_x + sum(LN2["f8"]) * unit, larger + rest)
    return m.narrowed(result) if m.code == "f4" else result


def logaddexp(m: Arithmetic, x: Numeric, y: Numeric) -> Numeric:
    """The function log(e**x + e**y)."""
    return _sum(m, x, y, exp, REACH[m.code][0], log1p, 1.0)


def logaddexp2(m: Arithmetic, x: Numeric, y: Numeric) -> Numeric:
    """The function log2(2**x + 2**y)."""
    return _sum(m, x, y, exp2, REACH2[m.code][0], log2_1p, LOG2_E)


def cbrt(m: Arithmetic, x: Numeric) -> Numeric:
    """The cube root: x = 8**k y, 1/2 <= y < 4, y = c (1 + d); tables give 1 / c and c's root."""
    size = abs(x)
    exponent = m.binade(size)
    third = m.nearest_whole(exponent, 1.0 / 3.0)[0]
    y = m.scaled(size, third * -3.0)
    entry = m.bits(y) >> (m.mantissa - QUARTERS)
    inverse = m.lookup("cbrt_inverse", tables.CBRT_INVERSE[m.code], entry)
    root = m.lookup("cbrt_of_inverse", tables.CBRT_OF_INVERSE[m.code], entry)
    d = m.fma(y, inverse, -1.0)
    root = m.fma(root, d * m.polynomial(d, tables.CBRT[m.code]), root)
    root = m.copysign(m.scaled(root, third), x)
    return m.select(abs(exponent) < INFINITY, root, x)


def _log2(m: Arithmetic, size: Numeric) -> tuple[Numeric, Numeric]:
    """The logarithm of `size` to base 2 as a sum of two floats, with relative error near 2**-64.

    In float32 the error is about 2**-34. Here m = c (1 + d) and log(1 + d) = d - d**2 / 2 + d**3
    q(d). d is exact, and so is the sum of the first two terms, as two floats. For 0 and infinity,
    the first float is infinite.
    """
    mantissa = m.significand(size)
    whole = m.binade(size) + m.looked_up("power_log2", tables.POWER_LOG2[m.code], mantissa)
    whole_low = m.looked_up("power_log2_low", tables.POWER_LOG2_LOW[m.code], mantissa)
    inverse = m.looked_up("power_inverse", tables.POWER_INVERSE[m.code], mantissa)
    d = m.fma(mantissa, inverse, -1.0)
    half = d * -0.5
    first = m.fma(half, d, d)
    rest = m.fma(half, d, d - first)
    rest = m.fma(d * d * d, m.polynomial(d, tables.POWER[m.code]), rest)
    high, low = LOG2_OF_E[m.code]
    near = first * high
    near_low = m.fma(first, low, m.fma(first, high, -near))
    near_low = m.fma(rest, high, near_low) + whole_low
    total = whole + near
    return total, (whole - total) + near + near_low


def _size(m: Arithmetic, size: Numeric, y: Numeric) -> Numeric:
    """The power size**y, for `size` >= 0 and not 1, and y not 0."""
    high, low = _log2(m, size)
    product = y * high
    limited = m.bounded(product, *REACH2[m.code])
    whole = m.nearest_whole(limited, 1.0)[0]
    r = limited - whole
    r = m.select(limited == product, r + m.fma(y, low, m.fma(y, high, -product)), r)
    return m.scaled(m.fma(r, m.polynomial(r, tables.EXP2[m.code]), 1.0), whole)


def power(m: Arithmetic, x: Numeric, y: Numeric) -> Numeric:
    """The power x**y, with the special values of C's `pow`."""
    size = abs(x)
    result = m.select((y != 0.0) & (size != 1.0), _size(m, size, y), 1.0)
    broken, half = m.rint(y) != y, y * 0.5
    signed = m.select(m.rint(half) != half, m.copysign(result, x), result)
    undefined = broken & (x < 0.0) & (size <= LARGEST[m.code])
    return m.select(undefined, NAN, m.select(broken, result, signed))


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

    Beyond FAR, the sum whose logarithm is computed is 2 x.
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


LARGE, TINY, SCALE = 2.0**500, 2.0**-450, 2.0**600
"""The range of operands whose squares are in the range of float64; others are scaled."""
LEAST_POWER, LARGEST_POWER = 2.0**-126, 2.0**126
"""The range of powers of 2 whose inverses are normal numbers of float32."""
NOTHING = 2.0**-60
"""The number that replaces numbers below it; its square is a normal number, and negligible."""


def _hypot_of_singles(m: Arithmetic, larger: Numeric, smaller: Numeric) -> Numeric:
    """sqrt(a**2 + b**2) in float32: a rounded root, corrected by the error of its square.

    The method is from Borges, "An improved algorithm for hypot(a, b)", 2019. Operands are scaled by
    a power of 2, so that the larger one is in [1, 2). If the larger one is infinite or NaN, so is
    one of the terms, and hence the result.
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
    large, small = larger > LARGE, larger < TINY
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
