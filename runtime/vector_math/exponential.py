"""exp and exp2: a power of two times a polynomial of what is left, as W. J. Cody and W. Waite do.

"Software Manual for the Elementary Functions", 1980, chapter 6.
"""

from axiomjit.runtime.vector_math.arithmetic import Arithmetic, Value
from axiomjit.runtime.vector_math.coefficients import EXP, EXP2
from axiomjit.runtime.vector_math.constants import LN2, LOG2_E

REACH = {"f4": (-104.0, 89.0), "f8": (-746.0, 710.0)}
"""Beyond these exp is 0, or infinite."""
REACH2 = {"f4": (-150.5, 129.0), "f8": (-1076.0, 1025.0)}


def exp(m: Arithmetic, x: Value) -> Value:
    """e**x: x = k log(2) + r, e**r = 1 + r + r**2 q(r) for |r| <= log(2) / 2."""
    high, low = LN2[m.code]
    x = m.bounded(x, *REACH[m.code])
    whole, exponent = m.nearest_whole(x, LOG2_E)
    r = m.fma(whole, -low, m.fma(whole, -high, x))
    slope = m.fma(r, m.polynomial(r, EXP[m.code]), 1.0)
    return m.scaled(m.fma(r, slope, 1.0), exponent)


def exp2(m: Arithmetic, x: Value) -> Value:
    """2**x: x = k + r, 2**r = 1 + r q(r) for |r| <= 1 / 2."""
    x = m.bounded(x, *REACH2[m.code])
    whole, exponent = m.nearest_whole(x, 1.0)
    r = x - whole
    return m.scaled(m.fma(r, m.polynomial(r, EXP2[m.code]), 1.0), exponent)
