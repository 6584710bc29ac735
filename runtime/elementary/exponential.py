"""exp, exp2, expm1: a power of two times a polynomial of the remainder.

W. J. Cody and W. Waite, "Software Manual for the Elementary Functions", 1980, chapter 6.
"""

from axiomjit.runtime.elementary.arithmetic import Arithmetic, Numeric
from axiomjit.runtime.elementary.coefficients import EXP, EXP2, EXPM1
from axiomjit.runtime.elementary.constants import LN2, LOG2_E

REACH = {"f4": (-104.0, 89.0), "f8": (-746.0, 710.0)}
"""Below the first exp is 0, above the second infinite."""
REACH2 = {"f4": (-150.5, 129.0), "f8": (-1076.0, 1025.0)}
"""Below the first exp2 is 0, above the second infinite."""


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


SMALL = {"f4": (-20.0, 89.0), "f8": (-44.0, 710.0)}
"""Below the first exp(x) - 1 rounds to -1, above the second it is infinite."""
NEAR = 0.45
"""Below this size, exp(x) - 1 in float64 is the polynomial of x itself, with k = 0."""
ASKEW = 0.085
"""log2(3/2) - 1/2: subtracted from x / log(2) before rounding, so that e**r is from 3/4 to 3/2.

Then r and e**r - 1 are below 1/2, and e**r - 1 is above -1/4: the units of their last places are
small.
"""
STRICTLY_ASKEW = 0.0849625
"""ASKEW with more digits: e**r - 1 stays below 1/2, where the unit of the last place doubles."""


def expm1(m: Arithmetic, x: Numeric) -> Numeric:
    """e**x - 1 = 2**k (e**r - 1) + (2**k - 1), where e**r is from 3/4 to 3/2.

    So there is little cancellation. For small x, k is 0.
    """
    power = _expm1_of_singles if m.code == "f4" else _expm1_of_doubles
    return m.copysign(power(m, m.bounded(x, *SMALL[m.code])), x)


def _curve(m: Arithmetic, x: Numeric, whole: Numeric) -> Numeric:
    """e**r - 1 for r = x - k log(2)."""
    high, low = LN2[m.code]
    r = m.fma(whole, -low, m.fma(whole, -high, x))
    return m.fma(r * r, m.polynomial(r, EXPM1[m.code]), r)


def _expm1_of_singles(m: Arithmetic, x: Numeric) -> Numeric:
    """expm1 in float32: 2**k times e**r - 1 plus 1 - 2**-k, with the latter's rounding error."""
    whole = m.nearest_whole(m.fma(x, LOG2_E, -STRICTLY_ASKEW), 1.0)[0]
    inverse = m.scaled(m.constant(-1.0), -whole)
    part = inverse + 1.0
    lost = (1.0 - part) + inverse
    return m.scaled((_curve(m, x, whole) + lost) + part, whole)


def _expm1_of_doubles(m: Arithmetic, x: Numeric) -> Numeric:
    """expm1 in float64: twice the half of it, since 2**k may be out of range."""
    far = abs(x) >= NEAR
    whole, half = m.nearest_power(x, LOG2_E, -1, ASKEW)
    near = _curve(m, x, m.select(far, whole, 0.0))
    return m.select(far, m.fma(half, near, half - 0.5) * 2.0, near)
