"""The error function and its complement, which of float32 is computed in float64.

erf of float32 is polynomials of pieces; of float64 it is a polynomial, and 1 - e**p(x) where x is
not small (as N. Juffa's, with polynomials anew).

erfc below 1/2 is 1 - erf. Above, erfc(x) = exp(-x**2) p(t) / (1 + 2 x) with t = (x - 4) / (x +
4), whose numerator p varies little from 0 to infinity (M. M. Shepherd and J. G. Laframboise,
Mathematics of Computation 36, 1981); its factors are sums of two numbers.
"""

from axiomjit.runtime.vector_math import pieces
from axiomjit.runtime.vector_math.arithmetic import Arithmetic, Value
from axiomjit.runtime.vector_math.coefficients import ERF, ERFC, ERFC_LOG, EXP
from axiomjit.runtime.vector_math.constants import LN2, LOG2_E
from axiomjit.runtime.vector_math.entries import ERF_PIECES
from axiomjit.runtime.vector_math.pieces import piecewise

AT_4 = (1.2329951186255526, -4.625318921008717e-17)
"""exp(16) erfc(4) 9."""
BEND = 0.96
"""Below this erf is a polynomial of x and x**2."""
FLAT = 6.0
"""Beyond this erf is 1."""
LAST = 28.0
"""Here and beyond erfc is 0."""


def _slope(m: Arithmetic, x: Value) -> Value:
    """erf(x) / x - 1 for small x."""
    return m.polynomial(x * x, ERF[m.code])


def _far(m: Arithmetic, x: Value) -> Value:
    """erfc(x) for x > 1 / 2."""
    x = m.bounded(x, 0.25, LAST)
    square = x * x
    high, low = LN2["f8"]
    whole, exponent = m.nearest_whole(square, -LOG2_E)
    reduced = m.fma(whole, -low, m.fma(whole, -high, -square)) - m.fma(x, x, -square)
    part = reduced * m.fma(reduced, m.parallel(reduced, reduced * reduced, EXP["f8"]), 1.0)
    power = part + 1.0
    power_low = (1.0 - power) + part
    t = (x - 4.0) / (x + 4.0)
    first, second = AT_4
    part = m.fma(t, m.parallel(t, t * t, ERFC["f8"]), second)
    scaled = part + first
    scaled_low = (first - scaled) + part
    product = power * scaled
    product_low = m.fma(power, scaled, -product) + (power * scaled_low + power_low * scaled)
    divisor = m.fma(x, 2.0, 1.0)
    divisor_low = m.fma(x, 2.0, 1.0 - divisor)
    inverse = 1.0 / divisor
    result = product * inverse
    rest = m.fma(-result, divisor, product) + m.fma(-result, divisor_low, product_low)
    return m.scaled(m.fma(rest, inverse, result), whole)


def _erfc_of_doubles(m: Arithmetic, x: Value) -> Value:
    size = abs(x)
    near = 0.5 - m.fma(x, _slope(m, x), x - 0.5)
    far = _far(m, size)
    return m.select(size < 0.5, near, m.select(x < 0.0, 2.0 - far, far))


def _erf_of_doubles(m: Arithmetic, x: Value) -> Value:
    size = m.select(abs(x) > FLAT, FLAT, abs(x))
    slope = m.parallel(size, size * size, ERFC_LOG["f8"])
    whole, scale = m.nearest_power(m.fma(size, slope, -size), LOG2_E, 0)
    rest = m.fma(size, slope, m.fma(whole, -sum(LN2["f8"]), -size))
    curve = m.parallel(rest, rest * rest, EXP["f8"])
    power = m.fma(rest, m.fma(rest, curve, 1.0), 1.0)
    far = m.fma(-scale, power, 1.0)
    return m.copysign(m.select(size < BEND, m.fma(size, _slope(m, size), size), far), x)


def erf(m: Arithmetic, x: Value) -> Value:
    """2 / sqrt(pi) times the integral of exp(-t**2) from 0 to x."""
    if m.code == "f4":
        return piecewise(m, pieces.ERF, ERF_PIECES[m.code], x)
    return _erf_of_doubles(m, x)


def erfc(m: Arithmetic, x: Value) -> Value:
    """1 - erf(x)."""
    result = _erfc_of_doubles(m.wide, m.widened(x))
    return m.narrowed(result) if m.code == "f4" else result
