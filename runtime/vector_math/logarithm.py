"""Logarithms: x = 2**k m with sqrt(1/2) <= m < sqrt(2), and a polynomial of m - 1 or of a quotient.

The latter is FreeBSD's e_log.c: with s = f / (2 + f), log(1 + f) = f - (f**2/2 - s (f**2/2 + R)).
"""

from axiomjit.runtime.vector_math.arithmetic import Arithmetic, Value
from axiomjit.runtime.vector_math.coefficients import LOG, LOG_BY_QUOTIENT
from axiomjit.runtime.vector_math.constants import INFINITY, LN2, NAN


def split_binary(m: Arithmetic, x: Value) -> tuple[Value, Value]:
    """k as a float, and m, of a positive number."""
    lift = m.mantissa + 2
    low = x < 2.0 ** (1 - m.bias)
    bits = m.bits(m.select(low, x * 2.0**lift, x))
    exponent = (bits - m.bits(m.constant(0.5**0.5))) >> m.mantissa
    mantissa = m.number(bits - (exponent << m.mantissa))
    return m.to_float(exponent - m.select(low, exponent * 0 + lift, exponent * 0)), mantissa


def at_the_ends(m: Arithmetic, x: Value, result: Value) -> Value:
    """The result for positive numbers; the logarithm's limits elsewhere."""
    limit = m.select(x == 0.0, -INFINITY, m.select(x < 0.0, NAN, x))
    return m.select((x > 0.0) & (x < INFINITY), result, limit)


def log(m: Arithmetic, x: Value) -> Value:
    """The natural logarithm."""
    exponent, mantissa = split_binary(m, x)
    f = mantissa - 1.0
    square = f * f * 0.5
    high, low = LN2[m.code]
    if m.code == "f8":
        s = f / (f + 2.0)
        z = s * s
        rest = z * m.polynomial(z, LOG_BY_QUOTIENT[m.code])
        less = square - m.fma(s, square + rest, exponent * low)
        result = m.fma(exponent, high, f - less)
    else:
        cubic = f * f * f * m.polynomial(f, LOG[m.code])
        whole = exponent * high
        total = whole + f
        lost = (whole - total) + f
        result = total + (m.fma(exponent, low, cubic - square) + lost)
    return at_the_ends(m, x, result)
