"""Exponential and hyperbolic functions, by powers of two and polynomials of a remainder r.

In these formulas, x = k log(2) + r, after Cody and Waite, "Software Manual for the Elementary
Functions", 1980, chapter 6.

2 sinh(x) = (2**k - 2**-k) cosh(r) + (2**k + 2**-k) sinh(r); for 2 cosh(x), the two factors are
exchanged. The factors are inexact only if 2**-k is below the last bit of 2**k. They multiply terms
that are small compared with 2**k. The last sum adds these terms, 2**k and 2**-k.
"""

from axiomjit.runtime.elementary.arithmetic import (
    LN2,
    LOG2_E,
    OF_TANH,
    Arithmetic,
    Numeric,
    piecewise,
)
from axiomjit.runtime.elementary.tables import (
    COSH,
    EXP,
    EXP2,
    EXPM1,
    EXPM1_TWICE,
    SINH,
    TANH_PIECES,
)

REACH = {"f4": (-104.0, 89.0), "f8": (-746.0, 710.0)}
"""The bounds of x: below the first exp is 0, above the second it is infinite."""
REACH2 = {"f4": (-150.5, 129.0), "f8": (-1076.0, 1025.0)}
"""The bounds of x: below the first exp2 is 0, above the second it is infinite."""
SMALL = {"f4": (-20.0, 89.0), "f8": (-44.0, 710.0)}
"""The bounds of x: below the first exp(x) - 1 rounds to -1, above the second it is infinite."""
NEAR = 0.45
"""The size of x below which exp(x) - 1 in float64 is a polynomial of x, with k = 0."""
ROUNDING_SHIFT = 0.085
"""log2(3/2) - 1/2: subtracted from x / log(2) before rounding, so that e**r is from 3/4 to 3/2.

Then r and e**r - 1 are below 1/2, and e**r - 1 is above -1/4: the units of their last places are
small.
"""
PRECISE_SHIFT = 0.0849625
"""The number `ROUNDING_SHIFT` with more digits, which keep e**r - 1 below 1/2.

From 1/2 on, floats are twice as far apart.
"""
SINH_REACH = {"f4": 89.7, "f8": 710.8}
"""The size of x beyond which sinh and cosh are infinite; half of their value there is finite."""
TANH_FLAT = 22.0
"""The size of x beyond which tanh in float64 is 1."""
SINH_SMALL = 0.5
"""The size of x below which sinh is a polynomial of x, with k = 0."""


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

    This formula has little cancellation. For small x, k is 0.
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
    """The function expm1 in float64, computed as twice its half, since 2**k may be out of range."""
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

    For these r, no terms cancel. The polynomial is evaluated at r / 2. An approximate division
    gives the rounding error of the quotient, which is added.
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
