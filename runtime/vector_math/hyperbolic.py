"""Hyperbolic functions: x = k log(2) + r, and polynomials of sinh(r) and cosh(r), or of e**r.

2 sinh(x) = (2**k - 2**-k) cosh(r) + (2**k + 2**-k) sinh(r), and the other way round for cosh.
There is no quotient, and nothing is lost where k is 0.
"""

from axiomjit.runtime.vector_math.arithmetic import Arithmetic, Value
from axiomjit.runtime.vector_math.coefficients import COSH, EXP, SINH, TANH, TANH_NEAR
from axiomjit.runtime.vector_math.constants import LN2, LOG2_E

REACH = {"f4": 89.7, "f8": 710.8}
"""Beyond this sinh and cosh are infinite; half of them at this is a number."""
BEND = {"f4": 1.0, "f8": 0.55}
"""Below this tanh is a polynomial."""
NEAR = TANH | TANH_NEAR
FLAT = {"f4": 10.0, "f8": 22.0}
"""Beyond this tanh is 1."""
ONE_SIDED = 64
"""From this exponent on 2**-k does not matter beside 2**k."""
STRAIGHT = {"f4": 2.0**-13, "f8": 2.0**-27}
"""Below this sinh(x) is x."""


def _parts(m: Arithmetic, x: Value) -> tuple[Value, Value, Value, Value]:
    """k and r of |x|, and what lacks in r; then sinh(r) - r and cosh(r) - 1."""
    high, low = LN2[m.code]
    size = m.select(abs(x) > REACH[m.code], REACH[m.code], abs(x))
    whole, exponent = m.nearest_whole(size, LOG2_E)
    first = m.fma(whole, -high, size)
    r = m.fma(whole, -low, first)
    z = r * r
    odd = m.fma(r * z, m.polynomial(z, SINH[m.code]), m.fma(whole, -low, first - r))
    return exponent, r, odd, z * m.polynomial(z, COSH[m.code])


def _powers(m: Arithmetic, exponent: Value) -> tuple[Value, Value]:
    """A quarter of 2**k and of 2**-k."""
    limited = m.select(exponent > ONE_SIDED, exponent * 0 + ONE_SIDED, exponent)
    return m.power_of_two(exponent - 2), m.power_of_two(-limited - 2)


def sinh(m: Arithmetic, x: Value) -> Value:
    """The hyperbolic sine."""
    exponent, r, odd, even = _parts(m, x)
    up, down = _powers(m, exponent)
    more, less = up + down, up - down
    rest = m.fma(more, odd, m.fma(less, even, (up - less) - down))
    half = less + m.fma(more, r, m.fma((up - more) + down, r, rest))
    return m.select(abs(x) < STRAIGHT[m.code], x, m.copysign(half * 2.0, x))


def cosh(m: Arithmetic, x: Value) -> Value:
    """The hyperbolic cosine; in float64, with bits to spare, 2**k e**r and 2**-k e**-r."""
    exponent, r, odd, even = _parts(m, x)
    up, down = _powers(m, exponent)
    if m.code == "f4":
        more, less = up + down, up - down
        rest = m.fma(more, even, m.fma(less, odd, (up - more) + down))
        return (more + m.fma(less, r, rest)) * 2.0
    slope = r + odd
    return (up + m.fma(up, even + slope, down * ((even - slope) + 1.0))) * 2.0


def tanh(m: Arithmetic, x: Value) -> Value:
    """The hyperbolic tangent: x + x**3 p(x**2), and 1 - 2 / (1 + e**2x) from a bound on."""
    high, low = LN2[m.code]
    size = m.select(abs(x) > FLAT[m.code], FLAT[m.code], abs(x))
    twice = size + size
    whole, exponent = m.nearest_whole(twice, LOG2_E)
    r = m.fma(whole, -low, m.fma(whole, -high, twice))
    scale = m.power_of_two(exponent)
    rest = r * m.fma(r, m.polynomial(r, EXP[m.code]), 1.0)
    far = 1.0 - 2.0 / m.fma(scale, rest, scale + 1.0)
    z = size * size
    near = m.fma(size * z, m.polynomial(z, NEAR[m.code]), size)
    return m.copysign(m.select(size < BEND[m.code], near, far), x)
