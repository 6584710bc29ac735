"""exp, exp2, expm1: a power of two times a polynomial of what is left.

W. J. Cody and W. Waite, "Software Manual for the Elementary Functions", 1980, chapter 6.
"""

from axiomjit.runtime.vector_math.arithmetic import Arithmetic, Value
from axiomjit.runtime.vector_math.coefficients import EXP, EXP2, EXPM1
from axiomjit.runtime.vector_math.constants import LN2, LOG2_E

REACH = {"f4": (-104.0, 89.0), "f8": (-746.0, 710.0)}
"""Beyond these exp is 0, or infinite."""
HALF = 0.375
"""A little more than log(2) / 2."""
REACH2 = {"f4": (-150.5, 129.0), "f8": (-1076.0, 1025.0)}


def exp(m: Arithmetic, x: Value) -> Value:
    """e**x: x = k log(2) + r, e**r = 1 + r + r**2 q(r) for |r| <= log(2) / 2."""
    x = m.within(x, *REACH[m.code])
    whole = m.nearest_whole(x, LOG2_E)[0]
    r = m.rest(x, whole, LN2[m.code], HALF)
    slope = m.fma(r, m.polynomial(r, EXP[m.code]), 1.0)
    return m.scaled(m.fma(r, slope, 1.0), whole)


def exp2(m: Arithmetic, x: Value) -> Value:
    """2**x: x = k + r, 2**r = 1 + r q(r) for |r| <= 1 / 2."""
    x = m.within(x, *REACH2[m.code])
    r = m.reduced(x, 0)
    return m.scaled(m.fma(r, m.polynomial(r, EXP2[m.code]), 1.0), x - r)


SMALL = {"f4": (-20.0, 89.0), "f8": (-44.0, 710.0)}
"""Below the first exp(x) - 1 is -1."""
NEAR = 0.45
"""Below this, in size, exp(x) - 1 is the polynomial of x itself."""
ASKEW = 0.085
"""log2(3/2) - 1/2: so much less than x / log(2) is rounded, that e**r is from 3/4 to 3/2.

There both r and e**r - 1 are below 1/2, and above -1/4 where e**r is below 1: small units.
"""


def expm1(m: Arithmetic, x: Value) -> Value:
    """e**x - 1 = 2**k (e**r - 1) + (2**k - 1), where k = 0 for small x; e**r from 3/4 to 3/2.

    So little cancels. Half of it is computed, for 2**k may be beyond the largest number. In float32
    what 2**k - 1 lost by rounding is felt.
    """
    high, low = LN2[m.code]
    far = abs(x) >= NEAR
    reduced = m.bounded(x, *SMALL[m.code])
    whole, half = m.nearest_power(reduced, LOG2_E, -1, ASKEW)
    whole = m.select(far, whole, 0.0)
    r = m.fma(whole, -low, m.fma(whole, -high, reduced))
    near = m.fma(r * r, m.polynomial(r, EXPM1[m.code]), r)
    rest = near
    if m.code == "f4":
        inverse = m.number((2 * m.bias << m.mantissa) - m.bits(half))
        rest = m.select(half >= 2.0 ** (m.mantissa + 1), m.fma(inverse, -0.5, near), near)
    result = m.fma(half, rest, half - 0.5)
    return m.copysign(m.select(far, result * 2.0, near), x)
