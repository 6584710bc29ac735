"""Exponential, hyperbolic and error functions.

Exponential and hyperbolic functions are powers of two and polynomials of a remainder r. In formulas
of exponential and hyperbolic functions, x = k log(2) + r, after Cody and Waite, "Software Manual
for the Elementary Functions", 1980, chapter 6.

2 sinh(x) = (2**k - 2**-k) cosh(r) + (2**k + 2**-k) sinh(r); for 2 cosh(x), the two factors are
exchanged. The factors are inexact only if 2**-k is below the last bit of 2**k. Inexact factors
multiply only terms that are small compared with 2**k. The last sum adds these terms, 2**k and
2**-k.

In float32, erf is a piecewise polynomial. In float64, erf is a polynomial for small x, otherwise 1
- e**p(x), by Juffa's method with our own polynomials.

erfc(x) = exp(-x**2) g(x) for x >= 0, otherwise 2 - erfc(-x).

In float32, exp(-x**2) = T e**r, where T = 2**(k / 32) has 12 bits, and g(x) = V + d. V has 12 bits,
too, and is the value of g at a point in the piece of x. d is a polynomial of the distance to this
point. Hence the product T V is exact, and the terms that are added to it are small, as in Tang's
table-driven methods.

In float64 g(x) = p(t) / (1 + 9/8 x) with t = (x - 3) / (x + 3), where the numerator p varies little
from 0 to infinity (after Shepherd and Laframboise, Mathematics of Computation 36, 1981, with 1 + 2
x as divisor).
"""

from axiomjit.runtime.elementary.arithmetic import (
    LN2,
    LOG2_E,
    OF_ERF,
    OF_TANH,
    Arithmetic,
    Numeric,
    piecewise,
)
from axiomjit.runtime.elementary.tables import (
    COSH,
    ERF,
    ERF_PIECES,
    ERFC,
    ERFC_LOG,
    ERFC_PIECES,
    EXP,
    EXP2,
    EXPM1,
    EXPM1_TWICE,
    SHORT_POWERS,
    SHORT_POWERS_REST,
    SINH,
    TANH_PIECES,
)

REACH = {"f4": (-104.0, 89.0), "f8": (-746.0, 710.0)}
"""Two bounds of x: below the first one, exp(x) is 0; above the second one, it is infinite."""
REACH2 = {"f4": (-150.5, 129.0), "f8": (-1076.0, 1025.0)}
"""Two bounds of x: below the first one, exp2(x) is 0; above the second one, it is infinite."""
SMALL = {"f4": (-20.0, 89.0), "f8": (-44.0, 710.0)}
"""Two bounds of x: below the first one, exp(x) - 1 rounds to -1; above the second one, it is
infinite."""
NEAR = 0.45
"""The bound of |x| below which exp(x) - 1 in float64 is a polynomial of x, with k = 0."""
ROUNDING_SHIFT = 0.085
"""The number log2(3/2) - 1/2, which is subtracted from x / log(2) before rounding, so that e**r is
from 3/4 to 3/2.

Hence r and e**r - 1 are below 1/2, and e**r - 1 is above -1/4, so that their rounding errors are
small.
"""
PRECISE_SHIFT = 0.0849625
"""`ROUNDING_SHIFT` with more digits, so that e**r - 1 is always below 1/2.

Floats from 1/2 on are twice as far apart as floats below 1/2.
"""
SINH_REACH = {"f4": 89.7, "f8": 710.8}
"""The bound of |x| beyond which sinh and cosh are infinite; at the bound, half their value is
finite.
"""
TANH_FLAT = 22.0
"""The bound of |x| beyond which |tanh(x)| in float64 is 1."""
SINH_SMALL = 0.5
"""The bound of |x| below which sinh is a polynomial of x, with k = 0."""


def exp(m: Arithmetic, x: Numeric) -> Numeric:
    """e**x: x = k log(2) + r, e**r = 1 + r + r**2 q(r) for |r| <= log(2) / 2."""
    x = m.bounded(x, *REACH[m.code])
    high, low = LN2[m.code]
    whole = m.nearest_whole(x, LOG2_E)[0]
    r = m.fma(whole, -low, m.fma(whole, -high, x))
    slope = m.fma(r, m.polynomial(r, EXP[m.code]), 1.0)
    return m.scaled(m.fma(r, slope, 1.0), whole)


def exp2(m: Arithmetic, x: Numeric) -> Numeric:
    """2**x: x = k + r, 2**r = 1 + r q(r) for |r| <= 1 / 2."""
    x = m.within(x, *REACH2[m.code])
    r = m.reduced(x, 0)
    return m.scaled(m.fma(r, m.polynomial(r, EXP2[m.code]), 1.0), x - r)


def expm1(m: Arithmetic, x: Numeric) -> Numeric:
    """e**x - 1 = 2**k (e**r - 1) + (2**k - 1), where e**r is from 3/4 to 3/2.

    Little cancels when the two terms are added. For small x, k is 0.
    """
    power = _expm1_of_singles if m.code == "f4" else _expm1_of_doubles
    return m.copysign(power(m, m.bounded(x, *SMALL[m.code])), x)


def _curve(m: Arithmetic, x: Numeric, whole: Numeric) -> Numeric:
    """e**r - 1 for r = x - k log(2)."""
    high, low = LN2[m.code]
    r = m.fma(whole, -low, m.fma(whole, -high, x))
    return m.fma(r * r, m.polynomial(r, EXPM1[m.code]), r)


def _expm1_of_singles(m: Arithmetic, x: Numeric) -> Numeric:
    """The function expm1 in float32: 2**k ((e**r - 1) + (1 - 2**-k)), with rounding corrected."""
    whole = m.nearest_whole(m.fma(x, LOG2_E, -PRECISE_SHIFT), 1.0)[0]
    inverse = m.scaled(m.constant(-1.0), -whole)
    part = inverse + 1.0
    lost = (1.0 - part) + inverse
    return m.scaled((_curve(m, x, whole) + lost) + part, whole)


def _expm1_of_doubles(m: Arithmetic, x: Numeric) -> Numeric:
    """The function expm1 in float64, computed as twice its half, since 2**k may be too large."""
    far = abs(x) >= NEAR
    whole, half = m.nearest_power(x, LOG2_E, -1, ROUNDING_SHIFT)
    near = _curve(m, x, m.select(far, whole, 0.0))
    return m.select(far, m.fma(half, near, half - 0.5) * 2.0, near)


def _parts(m: Arithmetic, x: Numeric, far: Numeric | None = None) -> tuple[Numeric, ...]:
    """Return 2**k / 4, 2**-k / 4, r, r**3, p(r**2), cosh(r) - 1; sinh(r) is r + r**3 p(r**2).

    Here |x| is k log(2) + r; if `far` is given and false, r is |x|.
    """
    high, low = LN2[m.code]
    size = m.select(abs(x) > SINH_REACH[m.code], SINH_REACH[m.code], abs(x))
    shift = ROUNDING_SHIFT if m.code == "f4" else 0.0
    whole, up = m.nearest_power(size, LOG2_E, -2, shift)
    below = (2 * (m.bias - 2) << m.mantissa) - m.bits(up)
    down = m.number(m.select(below < 0, 0, below))
    if far is not None:
        whole = m.select(far, whole, 0.0)
    r = m.fma(whole, -low, m.fma(whole, -high, size))
    z = r * r
    return up, down, r, r * z, m.polynomial(z, SINH[m.code]), z * m.polynomial(z, COSH[m.code])


def sinh(m: Arithmetic, x: Numeric) -> Numeric:
    """The hyperbolic sine."""
    far = abs(x) >= SINH_SMALL
    up, down, r, cube, odd, even = _parts(m, x, far)
    rest = m.fma(up + down, cube * odd, m.fma(up - down, even, -down))
    half = up + m.fma(up, r, m.fma(down, r, rest))
    return m.copysign(m.select(far, half * 2.0, m.fma(cube, odd, r)), x)


def cosh(m: Arithmetic, x: Numeric) -> Numeric:
    """The hyperbolic cosine."""
    up, down, r, cube, odd, even = _parts(m, x)
    less = up - down
    rest = m.fma(up + down, even, m.fma(less, cube * odd, down))
    return (up + m.fma(less, r, rest)) * 2.0


def _tanh_of_doubles(m: Arithmetic, size: Numeric) -> Numeric:
    """d / (d + 2) for d = e**(2 x) - 1 = 2**k (e**r - 1) + (2**k - 1), -0.01 < r < log(2).

    For r in this range, no terms cancel. The polynomial is evaluated at r / 2. An approximate
    division gives the rounding error of the quotient, which is added.
    """
    high, low = LN2[m.code]
    whole, scale = m.nearest_power(size, 2.0 * LOG2_E, 0, 0.49)
    first = m.fma(whole, -0.5 * high, size)
    r = m.fma(whole, -0.5 * low, first)
    square = r * r
    lost = m.fma(whole, -0.5 * low, first - r)
    rest = m.fma(square, m.paired(r, EXPM1_TWICE[m.code]), lost + lost)
    less = m.fma(scale, rest, m.fma(scale, r + r, scale - 1.0))
    divisor = less + 2.0
    quotient = less / divisor
    rest = m.fma(-quotient, less - (divisor - 2.0), m.fma(-quotient, divisor, less))
    return m.fma(rest, m.rough_quotient(1.0, divisor), quotient)


def tanh(m: Arithmetic, x: Numeric) -> Numeric:
    """The hyperbolic tangent."""
    if m.code == "f4":
        return piecewise(m, OF_TANH, TANH_PIECES[m.code], x)
    size = m.select(abs(x) > TANH_FLAT, TANH_FLAT, abs(x))
    return m.copysign(_tanh_of_doubles(m, size), x)


AT_3 = (0.783130036418581, 5.420516985876799e-19)
"""The value of the numerator p at t = 0, exp(9) erfc(3) 35 / 8, as a sum of two floats."""
RISE = 9 / 8
"""The slope of the denominator of g; it is near 2 / sqrt(pi), so that the numerator is flat at x =
0.
"""
COUNT = PARTS = 32
"""The number of pieces, and the number of powers of 2**(1/32) from 1 to 2."""
DEGREE = 5
"""The degree of the polynomials of pieces."""
LAST = {"f4": 10.1, "f8": 28.0}
"""For each precision, the number from which on erfc is 0."""
STEP = (0.02166748046875, -6.631076303165173e-06)
"""The number log(2) / PARTS as a sum of two floats; the first float has 11 bits."""
LOW = -122.0
"""The exponent of a power of 2 below which the result is less than 2**-126, and so subnormal."""
UNITS = 2.0**23
"""The number 2**23, from which on all float32 numbers are integers; adding it rounds to an
integer.
"""
ERF_BEND = 0.96
"""The bound of |x| below which erf is a polynomial of x and x**2."""
ERF_FLAT = 6.0
"""The bound of |x| beyond which |erf(x)| is 1."""


def _pieces(m: Arithmetic, size: Numeric) -> tuple[Numeric, Numeric]:
    """Return V and d, which the docstring of the module defines, for x of a given size."""
    place = m.bits(size + 1.0) >> (m.mantissa - 3)

    def entry(row: int) -> Numeric:
        part = ERFC_PIECES[m.code][COUNT * row : COUNT * (row + 1)]
        return m.lookup(f"erfc_{row}", part, place)

    t = size - entry(0)
    slope = entry(DEGREE + 1)
    for row in range(DEGREE, 1, -1):
        slope = m.fma(slope, t, entry(row))
    return entry(1), slope * t


def _erfc_of_singles(m: Arithmetic, x: Numeric) -> Numeric:
    """The function erfc in float32; subnormal results are computed as integers."""
    size = m.select(abs(x) > LAST["f4"], LAST["f4"], abs(x))
    magic, (high, low) = 1.5 * 2.0**m.mantissa, STEP
    shifted = m.fma(size * size, -PARTS * LOG2_E, magic)
    count, place = shifted - magic, m.bits(shifted)
    r = m.fma(count, -low, m.fma(-size, size, count * -high))
    r = r + m.lookup("short_powers_rest", SHORT_POWERS_REST[m.code], place)
    rest = m.fma(r * r, m.fma(r, 1.0 / 6.0, m.constant(0.5)), r)
    value, beside = _pieces(m, size)
    power = m.lookup("short_powers", SHORT_POWERS[m.code], place)
    beside = beside * power
    main = value * power
    result = main + m.fma(main + beside, rest, beside)
    exponent = count * (1.0 / PARTS)
    few = exponent < LOW
    result = m.scaled(result, m.select(few, exponent + 149.0, exponent))
    integer = m.bits(result + UNITS) - m.bits(m.constant(UNITS))
    far = m.select(few, m.number(integer), result)
    return m.select(x < 0.0, 2.0 - far, far)


def _erfc_of_doubles(m: Arithmetic, x: Numeric) -> Numeric:
    """The function erfc in float64; two quotients share one division, whose error is corrected."""
    size = m.select(abs(x) > LAST["f8"], LAST["f8"], abs(x))
    high, low = LN2["f8"]
    square = size * size
    whole = m.nearest_whole(square, -LOG2_E)[0]
    r = m.fma(whole, -high, -square) - m.fma(whole, low, m.fma(size, size, -square))
    rest = m.fma(r * r, m.paired(r, EXP["f8"]), r)
    divisor, other = m.fma(size, RISE, m.constant(1.0)), size + 3.0
    inverse = 1.0 / (divisor * other)
    t = (size - 3.0) * (divisor * inverse)
    t = m.fma(m.fma(-t, other, size - 3.0), divisor * inverse, t)
    inverse = inverse * other
    first, second = AT_3
    part = m.fma(t, m.paired(t, ERFC["f8"]), second)
    main = (part + first) * inverse
    left = m.fma(-main, divisor, m.constant(first)) + part
    left = m.fma(-main, m.fma(size, RISE, 1.0 - divisor), left) * inverse
    result = main + m.fma(main, rest, m.fma(left, rest, left))
    far = m.scaled(result, whole)
    return m.select(x < 0.0, 2.0 - far, far)


def erfc(m: Arithmetic, x: Numeric) -> Numeric:
    """The complementary error function, 1 - erf(x)."""
    return _erfc_of_singles(m, x) if m.code == "f4" else _erfc_of_doubles(m, x)


def _slope(m: Arithmetic, x: Numeric) -> Numeric:
    """The value erf(x) / x - 1 for small x."""
    return m.polynomial(x * x, ERF[m.code])


def _erf_of_doubles(m: Arithmetic, x: Numeric) -> Numeric:
    size = m.select(abs(x) > ERF_FLAT, ERF_FLAT, abs(x))
    slope = m.paired(size, ERFC_LOG["f8"])
    whole, scale = m.nearest_power(m.fma(size, slope, -size), LOG2_E, 0)
    rest = m.fma(size, slope, m.fma(whole, -sum(LN2["f8"]), -size))
    curve = m.paired(rest, EXP["f8"])
    power = m.fma(rest, m.fma(rest, curve, 1.0), 1.0)
    far = m.fma(-scale, power, 1.0)
    return m.copysign(m.select(size < ERF_BEND, m.fma(size, _slope(m, size), size), far), x)


def erf(m: Arithmetic, x: Numeric) -> Numeric:
    """The error function: 2 / sqrt(pi) times the integral of exp(-t**2) from 0 to x."""
    if m.code == "f4":
        return piecewise(m, OF_ERF, ERF_PIECES[m.code], x)
    return _erf_of_doubles(m, x)
