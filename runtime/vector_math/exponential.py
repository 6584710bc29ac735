"""exp, exp2, expm1: a power of two times a polynomial of what is left.

W. J. Cody and W. Waite, "Software Manual for the Elementary Functions", 1980, chapter 6.
"""

from axiomjit.runtime.vector_math.arithmetic import Arithmetic, Value
from axiomjit.runtime.vector_math.coefficients import EXP, EXP2, EXPM1
from axiomjit.runtime.vector_math.constants import LN2, LOG2_E

REACH = {"f4": (-104.0, 89.0), "f8": (-746.0, 710.0)}
"""Beyond these exp is 0, or infinite."""
REACH2 = {"f4": (-150.5, 129.0), "f8": (-1076.0, 1025.0)}


def exp(m: Arithmetic, x: Value) -> Value:
    """e**x: x = k log(2) + r, e**r = 1 + r + r**2 q(r) for |r| <= log(2) / 2."""
    high, low = LN2[m.code]
    x = m.bounded(x, *REACH[m.code])
    whole = m.nearest_whole(x, LOG2_E)[0]
    r = m.fma(whole, -low, m.fma(whole, -high, x))
    slope = m.fma(r, m.polynomial(r, EXP[m.code]), 1.0)
    return m.scaled(m.fma(r, slope, 1.0), whole)


def exp2(m: Arithmetic, x: Value) -> Value:
    """2**x: x = k + r, 2**r = 1 + r q(r) for |r| <= 1 / 2."""
    x = m.bounded(x, *REACH2[m.code])
    whole = m.nearest_whole(x, 1.0)[0]
    r = x - whole
    return m.scaled(m.fma(r, m.polynomial(r, EXP2[m.code]), 1.0), whole)


SMALL = {"f4": (-20.0, 89.0), "f8": (-44.0, 710.0)}
"""Below the first exp(x) - 1 is -1."""


def expm1(m: Arithmetic, x: Value) -> Value:
    """e**x - 1 = 2**k (e**r - 1) + (2**k - 1), in sums that lose nothing.

    Half of everything is computed, for 2**k may be beyond the largest number.
    """
    high, low = LN2[m.code]
    reduced = m.bounded(x, *SMALL[m.code])
    whole, exponent = m.nearest_whole(reduced, LOG2_E)
    first = m.fma(whole, -high, reduced)
    r = m.fma(whole, -low, first)
    rest = m.fma(r * r, m.polynomial(r, EXPM1[m.code]), m.fma(whole, -low, first - r))
    scale = m.power_of_two(exponent - 1)
    constant, linear = scale - 0.5, scale * r
    total = constant + linear
    lost = ((constant - total) + linear) + ((scale - constant) - 0.5)
    result = (total + m.fma(scale, rest, lost)) * 2.0
    return m.select(abs(x) < 2.0 ** -(m.mantissa + 2), x, result)
