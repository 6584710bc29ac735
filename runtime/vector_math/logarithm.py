"""Logarithms: x = 2**k m, sqrt(1/2) <= m < sqrt(2), and a polynomial of m - 1 or of a quotient.

The latter is FreeBSD's e_log.c: with s = f / (2 + f), log(1 + f) = f - (f**2/2 - s (f**2/2 + R)).
"""

from axiomjit.runtime.vector_math.arithmetic import Arithmetic, Value
from axiomjit.runtime.vector_math.coefficients import (
    LOG,
    LOG2_CURVE,
    LOG10_CURVE,
    LOG_BY_QUOTIENT,
    Table,
)
from axiomjit.runtime.vector_math.constants import (
    INFINITY,
    LN2,
    LOG2_OF_E,
    LOG10_OF_2,
    LOG10_OF_E,
    NAN,
)


def split_binary(m: Arithmetic, x: Value) -> tuple[Value, Value]:
    """k as a float, and m, of a positive number."""
    lift = m.mantissa + 2
    low = x < 2.0 ** (1 - m.bias)
    bits = m.bits(m.select(low, x * 2.0**lift, x))
    exponent = (bits - m.bits(m.constant(0.5**0.5))) >> m.mantissa
    mantissa = m.number(bits - (exponent << m.mantissa))
    return m.to_float(m.select(low, exponent - lift, exponent)), mantissa


def at_the_ends(m: Arithmetic, x: Value, result: Value) -> Value:
    """The result for positive numbers; the logarithm's limits elsewhere."""
    limit = m.select(x == 0.0, -INFINITY, m.select(x < 0.0, NAN, x))
    return m.select((x > 0.0) & (x < INFINITY), result, limit)


def parts(m: Arithmetic, mantissa: Value) -> tuple[Value, Value]:
    """log(mantissa) as a sum: mantissa - 1, and what is left, below a quarter of it."""
    f = mantissa - 1.0
    square = f * f * 0.5
    if m.code == "f4":
        return f, m.fma(f * f * f, m.polynomial(f, LOG[m.code]), -square)
    s = f / (f + 2.0)
    z = s * s
    rest = z * m.polynomial(z, LOG_BY_QUOTIENT[m.code])
    return f, m.fma(s, square + rest, -square)


def natural(m: Arithmetic, exponent: Value, f: Value, rest: Value) -> Value:
    """exponent * log(2) + f + rest; the exponent is 0 or the largest of these."""
    high, low = LN2[m.code]
    whole = exponent * high
    total = whole + f
    lost = (whole - total) + f
    return total + (m.fma(exponent, low, rest) + lost)


def log(m: Arithmetic, x: Value) -> Value:
    """The natural logarithm."""
    exponent, mantissa = split_binary(m, x)
    return at_the_ends(m, x, natural(m, exponent, *parts(m, mantissa)))


def split_normal(m: Arithmetic, x: Value) -> tuple[Value, Value]:
    """k as an integer, and m, of a positive number that is not below the normal ones."""
    bits = m.bits(x)
    exponent = (bits - m.bits(m.constant(0.5**0.5))) >> m.mantissa
    return exponent, m.number(bits - (exponent << m.mantissa))


def of_sum(m: Arithmetic, total: Value, lost: Value, doublings: Value) -> Value:
    """log(2**doublings * (total + lost)) of a positive total that is not below normal numbers."""
    exponent, mantissa = split_normal(m, total)
    f, rest = parts(m, mantissa)
    # Half the inverse of the mantissa, roughly: half of its power of 2 is a normal number.
    inverse = m.fma(m.fma(f, 0.4, -0.5), f, 0.5)
    rest = m.fma(lost * m.power_of_two(1 - exponent), inverse, rest)
    return natural(m, m.to_float(exponent) + doublings, f, rest)


def log1p(m: Arithmetic, x: Value) -> Value:
    """log(1 + x): what 1 + x loses is divided by it and added."""
    total = x + 1.0
    shadow = total - 1.0
    lost = (1.0 - (total - shadow)) + (x - shadow)
    result = at_the_ends(m, total, of_sum(m, total, lost, 0.0))
    return m.copysign(result, x)


def _in_base(
    m: Arithmetic, x: Value, of_two: tuple[float, float], of_e: tuple[float, float], curve: Table
) -> Value:
    """The logarithm to a base, of which those of 2 and e are given as sums.

    float32: log(1 + f) = c f + f**2 q(f), `curve` having q and c being that of e.
    """
    exponent, mantissa = split_binary(m, x)
    if m.code == "f4":
        f = mantissa - 1.0
        first = f * of_e[0]
        slope = m.fma(f, m.polynomial(f, curve[m.code]), of_e[1])
        second = m.fma(f, slope, m.fma(f, of_e[0], -first))
    else:
        f, rest = parts(m, mantissa)
        high = f + rest
        low = (f - high) + rest
        first = high * of_e[0]
        second = m.fma(low, of_e[0], m.fma(high, of_e[1], m.fma(high, of_e[0], -first)))
    whole = exponent if of_two[0] == 1.0 else exponent * of_two[0]
    total = whole + first
    lost = (whole - total) + first
    if of_two[1] != 0.0:
        second = m.fma(exponent, of_two[1], second)
    return at_the_ends(m, x, total + (second + lost))


def log2(m: Arithmetic, x: Value) -> Value:
    """The logarithm to base 2, exact for powers of 2."""
    return _in_base(m, x, (1.0, 0.0), LOG2_OF_E[m.code], LOG2_CURVE)


def log10(m: Arithmetic, x: Value) -> Value:
    """The logarithm to base 10, exact for powers of 10."""
    return _in_base(m, x, LOG10_OF_2[m.code], LOG10_OF_E[m.code], LOG10_CURVE)
