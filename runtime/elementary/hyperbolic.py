"""Hyperbolic functions: x = k log(2) + r, and polynomials of sinh(r) and cosh(r).

2 sinh(x) = (2**k - 2**-k) cosh(r) + (2**k + 2**-k) sinh(r); for 2 cosh(x) the two factors change
places. The factors are inexact only where 2**-k is below the last bit of 2**k; they multiply terms
that are small beside 2**k. The last sum adds these terms, 2**k and 2**-k.
"""

from axiomjit.runtime.elementary import pieces
from axiomjit.runtime.elementary.arithmetic import Arithmetic, Numeric
from axiomjit.runtime.elementary.coefficients import COSH, EXPM1_TWICE, SINH
from axiomjit.runtime.elementary.constants import LN2, LOG2_E
from axiomjit.runtime.elementary.exponential import ASKEW
from axiomjit.runtime.elementary.pieces import piecewise
from axiomjit.runtime.elementary.single_entries import TANH_PIECES

REACH = {"f4": 89.7, "f8": 710.8}
"""Beyond this sinh and cosh are infinite; half of their value here is finite."""
FLAT = 22.0
"""Beyond this tanh in float64 is 1."""
SMALL = 0.5
"""Below this sinh is the polynomial of x itself, with k = 0."""


def _parts(m: Arithmetic, x: Numeric, far: Numeric | None = None) -> tuple[Numeric, ...]:
    """Return 2**k / 4, 2**-k / 4, r, r**3, p(r**2), cosh(r) - 1; sinh(r) is r + r**3 p(r**2).

    |x| is k log(2) + r. Where `far` is given and false, r is |x|.
    """
    high, low = LN2[m.code]
    size = m.select(abs(x) > REACH[m.code], REACH[m.code], abs(x))
    askew = ASKEW if m.code == "f4" else 0.0
    whole, up = m.nearest_power(size, LOG2_E, -2, askew)
    below = (2 * (m.bias - 2) << m.mantissa) - m.bits(up)
    down = m.number(m.select(below < 0, 0, below))
    if far is not None:
        whole = m.select(far, whole, 0.0)
    r = m.fma(whole, -low, m.fma(whole, -high, size))
    z = r * r
    return up, down, r, r * z, m.polynomial(z, SINH[m.code]), z * m.polynomial(z, COSH[m.code])


def sinh(m: Arithmetic, x: Numeric) -> Numeric:
    """The hyperbolic sine."""
    far = abs(x) >= SMALL
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

    With these r nothing cancels. The polynomial is of r / 2. A rough division computes the rounding
    error of the quotient, which is added.
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
        return piecewise(m, pieces.TANH, TANH_PIECES[m.code], x)
    size = m.select(abs(x) > FLAT, FLAT, abs(x))
    return m.copysign(_tanh_of_doubles(m, size), x)
