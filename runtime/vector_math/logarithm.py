"""Logarithms: x = 2**k m, 3/4 <= m < 3/2, and a polynomial of m - 1 or of a quotient.

The latter is FreeBSD's e_log.c: with s = f / (2 + f), log(1 + f) = f - (f**2/2 - s (f**2/2 + R)).
"""

from axiomjit.runtime.vector_math.arithmetic import Arithmetic, Value
from axiomjit.runtime.vector_math.coefficients import (
    LOG,
    LOG_BY_QUOTIENT,
)
from axiomjit.runtime.vector_math.constants import (
    LN2,
    LOG2_OF_E,
    LOG10_OF_2,
    LOG10_OF_E,
)


def split(m: Arithmetic, x: Value) -> tuple[Value, Value]:
    """k as a float, and m, of a positive number."""
    return m.exponent_part(x), m.mantissa_part(x)


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
    exponent, mantissa = split(m, x)
    return m.log_limits(x, natural(m, exponent, *parts(m, mantissa)))


def of_sum(m: Arithmetic, total: Value, lost: Value, doublings: Value) -> Value:
    """log(2**doublings * (total + lost)) of a positive total that is not below normal numbers."""
    exponent, mantissa = split(m, total)
    f, rest = parts(m, mantissa)
    inverse = m.fma(m.fma(f, 0.8, -1.0), f, 1.0)  # of the mantissa, roughly
    rest = m.fma(m.scaled(lost, -exponent), inverse, rest)
    return natural(m, exponent + doublings, f, rest)


def log1p(m: Arithmetic, x: Value) -> Value:
    """log(1 + x): what 1 + x loses is divided by it and added."""
    total = x + 1.0
    shadow = total - 1.0
    lost = (1.0 - (total - shadow)) + (x - shadow)
    result = m.log_limits(total, of_sum(m, total, lost, 0.0))
    return m.copysign(result, x)


def _in_base(
    m: Arithmetic, x: Value, of_two: tuple[float, float], of_e: tuple[float, float]
) -> Value:
    """The logarithm to a base, of which those of 2 and e are given as sums."""
    exponent, mantissa = split(m, x)
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
    return m.log_limits(x, total + (second + lost))


def log2(m: Arithmetic, x: Value) -> Value:
    """The logarithm to base 2, exact for powers of 2."""
    return _in_base(m, x, (1.0, 0.0), LOG2_OF_E[m.code])


def log10(m: Arithmetic, x: Value) -> Value:
    """The logarithm to base 10, exact for powers of 10."""
    return _in_base(m, x, LOG10_OF_2[m.code], LOG10_OF_E[m.code])
