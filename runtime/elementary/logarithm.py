"""Logarithms: x = 2**k m with 1 <= m < 2, and r = m c - 1, where c is about 1 / m, from a table.

Then log(x) = k log(2) - log(c) + log(1 + r), the last term by a polynomial. Near powers of 2, c is
1 or 1/2, so that r and log(x) become small together. P. T. P. Tang, "Table-driven implementation of
the logarithm function in IEEE floating-point arithmetic", ACM TOMS 16, 1990; the table is short
enough for registers.
"""

from typing import NamedTuple

from axiomjit.runtime.elementary import entries as table
from axiomjit.runtime.elementary.arithmetic import Arithmetic, Numeric
from axiomjit.runtime.elementary.coefficients import LOG2_NEAR_1, LOG10_NEAR_1, LOG_NEAR_1
from axiomjit.runtime.elementary.constants import LOG2_OF_E, LOG10_OF_E, ByPrecision

EXACTLY_1: ByPrecision = {"f4": (1.0, 0.0), "f8": (1.0, 0.0)}


class Base(NamedTuple):
    """The tables of one base: logarithms of e, 2 and 1 / c as sums of two, and a polynomial."""

    name: str
    of_e: ByPrecision
    of_two: ByPrecision
    high: ByPrecision
    low: ByPrecision
    near_1: ByPrecision
    """(log(1 + r) - log(e) r) / r**2."""


E = Base(
    "log",
    EXACTLY_1,
    table.LOG_OF_2,
    table.LOG_OF_INVERSE,
    table.LOG_OF_INVERSE_LOW,
    LOG_NEAR_1,
)
TWO = Base(
    "log2",
    LOG2_OF_E,
    table.LOG2_OF_2,
    table.LOG2_OF_INVERSE,
    table.LOG2_OF_INVERSE_LOW,
    LOG2_NEAR_1,
)
TEN = Base(
    "log10",
    LOG10_OF_E,
    table.LOG10_OF_2,
    table.LOG10_OF_INVERSE,
    table.LOG10_OF_INVERSE_LOW,
    LOG10_NEAR_1,
)


def _inverse(m: Arithmetic, x: Numeric) -> Numeric:
    """c of the module's docstring, by the mantissa of x."""
    return m.looked_up("inverse", table.INVERSE[m.code], x)


def terms(
    m: Arithmetic, base: Base, exponent: Numeric, x: Numeric, r: Numeric
) -> tuple[Numeric, Numeric]:
    """Return exponent * log(2) - log(c) + log(1 + r) - r log(e) as a sum of two; c is that of x.

    The caller adds r log(e), the largest term near 1.
    """
    two, two_low = base.of_two[m.code]
    whole = m.fma(exponent, two, m.looked_up(base.name, base.high[m.code], x))
    low = m.looked_up(f"{base.name}_low", base.low[m.code], x)
    if two_low != 0.0:
        low = m.fma(exponent, two_low, low)
    of_e_low, near_1 = base.of_e[m.code][1], base.near_1[m.code]
    if of_e_low == 0.0:
        return whole, m.fma(r * r, m.paired(r, near_1), low)
    return whole, m.fma(r, m.polynomial(r, (of_e_low, *near_1)), low)


def _of_number(m: Arithmetic, base: Base, x: Numeric) -> Numeric:
    """The logarithm of x to a base."""
    mantissa = m.significand(x)
    r = m.fma(mantissa, _inverse(m, mantissa), -1.0)
    whole, rest = terms(m, base, m.binade(x), mantissa, r)
    return m.log_limits(x, whole + m.fma(r, base.of_e[m.code][0], rest))


def log(m: Arithmetic, x: Numeric) -> Numeric:
    """The natural logarithm."""
    return _of_number(m, E, x)


def log2(m: Arithmetic, x: Numeric) -> Numeric:
    """The logarithm to base 2, exact for powers of 2."""
    return _of_number(m, TWO, x)


def log10(m: Arithmetic, x: Numeric) -> Numeric:
    """The logarithm to base 10, exact for powers of 10."""
    return _of_number(m, TEN, x)


def inverse_of(m: Arithmetic, x: Numeric, exponent: Numeric) -> Numeric:
    """v = 2**-exponent c, so that x v is near 1."""
    return m.scaled(_inverse(m, x), -exponent)


def sum_of_parts(m: Arithmetic, whole: Numeric, high: Numeric, low: Numeric) -> Numeric:
    """whole + high + low, where `whole` is 0 or the largest; float32 keeps a rounding error."""
    if m.code == "f8":
        return whole + (high + low)
    first = whole + high
    return first + (((whole - first) + high) + low)


def of_sum(
    m: Arithmetic, total: Numeric, lost: Numeric, doublings: Numeric, less: Numeric = None
) -> Numeric:
    """log(2**doublings (total + lost + less)) of a positive total; `less` is far below `lost`."""
    exponent = m.binade(total)
    v = inverse_of(m, total, exponent)
    high = m.fma(total, v, -1.0)
    all_lost = lost if less is None else lost + less
    whole, rest = terms(m, E, exponent + doublings, total, m.fma(all_lost, v, high))
    rest = rest if less is None else m.fma(less, v, rest)
    return sum_of_parts(m, whole, high, m.fma(lost, v, rest))


def _of_one_more(m: Arithmetic, base: Base, x: Numeric) -> tuple[Numeric, Numeric, Numeric]:
    """Return two terms and r: log(1 + x) is the terms' sum plus r log(e).

    r is (1 + x) v - 1, computed as x v + (v - 1). v - 1 is exact unless k is so large that its
    error does not matter.
    """
    total = x + 1.0
    exponent = m.binade(total)
    v = inverse_of(m, total, exponent)
    r = m.fma(x, v, v - 1.0)
    return *terms(m, base, exponent, total, r), r


def log1p(m: Arithmetic, x: Numeric) -> Numeric:
    """log(1 + x)."""
    whole, rest, r = _of_one_more(m, E, x)
    return m.copysign(m.log_limits(x + 1.0, sum_of_parts(m, whole, r, rest)), x)


def log2_1p(m: Arithmetic, x: Numeric) -> Numeric:
    """log2(1 + x) of finite numbers x >= 0; accurate enough in float64 only."""
    whole, rest, r = _of_one_more(m, TWO, x)
    return whole + m.fma(r, TWO.of_e[m.code][0], rest)
