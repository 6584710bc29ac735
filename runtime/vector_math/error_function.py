"""The error function and its complement; float32 is computed in float64.

Below 1/2 a polynomial of x**2. Above, erfc(x) = exp(-x**2) p(t) / (1 + 2 x) with t = (x - 4) / (x +
4), whose numerator p varies little from 0 to infinity (M. M. Shepherd and J. G. Laframboise,
Mathematics of Computation 36, 1981); its factors are sums of two numbers.
"""

from axiomjit.runtime.vector_math.arithmetic import Arithmetic, Value
from axiomjit.runtime.vector_math.coefficients import ERF, ERFC, EXP
from axiomjit.runtime.vector_math.constants import LN2, LOG2_E

AT_4 = (1.2329951186255526, -4.625318921008717e-17)
"""exp(16) erfc(4) 9."""
LAST = 28.0
"""Here and beyond erfc is 0."""


def _near(m: Arithmetic, x: Value) -> Value:
    """erf(x) - x for |x| < 1 / 2."""
    return x * m.polynomial(x * x, ERF["f8"])


def _far(m: Arithmetic, x: Value) -> Value:
    """erfc(x) for x > 1 / 2."""
    x = m.bounded(x, 0.25, LAST)
    square = x * x
    high, low = LN2["f8"]
    whole, exponent = m.nearest_whole(square, -LOG2_E)
    reduced = m.fma(whole, -low, m.fma(whole, -high, -square)) - m.fma(x, x, -square)
    part = reduced * m.fma(reduced, m.polynomial(reduced, EXP["f8"]), 1.0)
    power = part + 1.0
    power_low = (1.0 - power) + part
    t = (x - 4.0) / (x + 4.0)
    first, second = AT_4
    part = m.fma(t, m.polynomial(t, ERFC["f8"]), second)
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


def _erf_of_doubles(m: Arithmetic, x: Value) -> Value:
    size = abs(x)
    near = x + _near(m, x)
    return m.select(size < 0.5, near, m.copysign(1.0 - _far(m, size), x))


def _erfc_of_doubles(m: Arithmetic, x: Value) -> Value:
    size = abs(x)
    near = 0.5 - ((x - 0.5) + _near(m, x))
    far = _far(m, size)
    return m.select(size < 0.5, near, m.select(x < 0.0, 2.0 - far, far))


def erf(m: Arithmetic, x: Value) -> Value:
    """2 / sqrt(pi) times the integral of exp(-t**2) from 0 to x."""
    result = _erf_of_doubles(m.wide, m.widened(x))
    return m.narrowed(result) if m.code == "f4" else result


def erfc(m: Arithmetic, x: Value) -> Value:
    """1 - erf(x)."""
    result = _erfc_of_doubles(m.wide, m.widened(x))
    return m.narrowed(result) if m.code == "f4" else result
