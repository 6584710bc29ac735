"""Elementary functions of complex numbers, by formulas of real functions.

At infinities, NaN and zeros, where the formulas fail, results follow Annex G of C, as in glibc. A
recipe takes an arithmetic, a function that computes real functions by name, and the real and
imaginary parts.
"""

import math
from collections.abc import Callable

from axiomjit.runtime.elementary.arithmetic import INFINITY, Arithmetic, Numeric, two_sum
from axiomjit.runtime.elementary.logarithm import of_sum

RealParts = tuple[Numeric, Numeric]
RealFunction = Callable[..., Numeric]
"""A function of a name and operands that computes the real function with this name."""
ComplexRecipe = Callable[[Arithmetic, RealFunction, Numeric, Numeric], RealParts]

REACH = {"f4": 88.0, "f8": 709.0}
"""For each precision, a bound of |x| up to which exp(x), sinh(x) and cosh(x) are finite."""
SHIFT = {"f4": 40.0, "f8": 350.0}
"""The number by which x beyond REACH is moved towards 0; the factor e**SHIFT is multiplied
separately.

The remaining part of x is so large that sinh and cosh are e**|x| / 2.
"""


def _shifted_argument(m: Arithmetic, far: Numeric, x: Numeric) -> RealParts:
    """Return x moved by SHIFT towards 0, and e**SHIFT, if `far` is true; otherwise x and 1."""
    shift = SHIFT[m.code]
    factor = m.select(far, m.constant(math.exp(shift)), 1.0)
    return m.select(far, x - m.copysign(m.constant(shift), x), x), factor


def exp(m: Arithmetic, of: RealFunction, x: Numeric, y: Numeric) -> RealParts:
    """The exponential function: e**x (cos(y) + i sin(y))."""
    less, factor = _shifted_argument(m, x > REACH[m.code], x)
    power = of("exp", less)
    re, im = power * (of("cos", y) * factor), power * (of("sin", y) * factor)
    lost = ~(abs(y) < INFINITY) & (abs(x) == INFINITY)  # the size is known, the angle is not
    im = m.select(lost & (x < 0.0), m.copysign(m.constant(0.0), y), im)
    return m.select(lost, power, re), m.select(y == 0.0, y, im)


def _hyperbolic(
    m: Arithmetic, of: RealFunction, x: Numeric, y: Numeric
) -> tuple[RealParts, RealParts]:
    """Return sinh(x) and cosh(x), then cos(y) and sin(y).

    If |x| is large, sinh and cosh are those of the shifted x, and cos(y) and sin(y) are multiplied
    by e**SHIFT.
    """
    less, factor = _shifted_argument(m, abs(x) > REACH[m.code], x)
    cosine, sine = of("cos", y) * factor, of("sin", y) * factor
    return (of("sinh", less), of("cosh", less)), (cosine, sine)


def sinh(m: Arithmetic, of: RealFunction, x: Numeric, y: Numeric) -> RealParts:
    """The hyperbolic sine, from the real hyperbolic functions of x, and cos(y) and sin(y)."""
    (odd, even), (cosine, sine) = _hyperbolic(m, of, x, y)
    lost = ~(abs(y) < INFINITY)
    re = m.select(lost & (x == 0.0), x, odd * cosine)
    re = m.select(lost & (abs(x) == INFINITY), INFINITY, re)
    return re, m.select(y == 0.0, y, even * sine)


def cosh(m: Arithmetic, of: RealFunction, x: Numeric, y: Numeric) -> RealParts:
    """The hyperbolic cosine, from the real hyperbolic functions of x, and cos(y) and sin(y)."""
    (odd, even), (cosine, sine) = _hyperbolic(m, of, x, y)
    lost = ~(abs(y) < INFINITY)
    re = m.select(lost & (abs(x) == INFINITY), INFINITY, even * cosine)
    im = m.select(lost & (x == 0.0), 0.0, odd * sine)
    return re, m.select(y == 0.0, y * m.copysign(m.constant(1.0), x), im)


def sin(m: Arithmetic, of: RealFunction, x: Numeric, y: Numeric) -> RealParts:
    """The sine, as -i sinh(i z)."""
    im, re = sinh(m, of, y, x)
    return re, im


def cos(m: Arithmetic, of: RealFunction, x: Numeric, y: Numeric) -> RealParts:
    """The cosine, as cosh(i z)."""
    return cosh(m, of, -y, x)


def _near_1(m: Arithmetic, x: Numeric, y: Numeric) -> tuple[Numeric, Numeric, Numeric]:
    """Return max(|x|, |y|) and min(|x|, |y|) divided by a power of 2, and its exponent k."""
    x, y = abs(x), abs(y)
    larger, smaller = m.select(x > y, x, y), m.select(x > y, y, x)
    exponent = m.bounded(m.binade(larger), -2.0 * m.bias, m.bias)
    return m.scaled(larger, -exponent), m.scaled(smaller, -exponent), exponent


def log(m: Arithmetic, of: RealFunction, x: Numeric, y: Numeric) -> RealParts:
    """Half the logarithm of x**2 + y**2, with corrected rounding errors, and the angle of z."""
    a, b, exponent = _near_1(m, x, y)
    square, other = a * a, b * b
    total = square + other
    lost, first = two_sum((square - total) + other, m.fma(a, a, -square))
    lost, second = two_sum(lost, m.fma(b, b, -other))
    result = of_sum(m, total, lost, exponent + exponent, first + second) * 0.5
    result = m.select((x == 0.0) & (y == 0.0), -INFINITY, result)
    return m.select((abs(x) == INFINITY) | (abs(y) == INFINITY), INFINITY, result), of(
        "arctan2", y, x
    )


def expm1(m: Arithmetic, of: RealFunction, x: Numeric, y: Numeric) -> RealParts:
    """The function e**z - 1, by NumPy's formula, which subtracts no numbers near 1."""
    half = of("sin", y * 0.5)
    re = of("expm1", x) * of("cos", y) - half * 2.0 * half
    return re, of("exp", x) * of("sin", y)


def _scaled(factor: float, recipe: ComplexRecipe) -> ComplexRecipe:
    def times(m: Arithmetic, of: RealFunction, x: Numeric, y: Numeric) -> RealParts:
        re, im = recipe(m, of, x, y)
        return re * factor, im * factor

    return times


def exp2(m: Arithmetic, of: RealFunction, x: Numeric, y: Numeric) -> RealParts:
    """The power 2**z, as e**(z log(2))."""
    return exp(m, of, x * math.log(2), y * math.log(2))


COMPLEX_RECIPES: dict[str, ComplexRecipe] = {
    "exp": exp,
    "exp2": exp2,
    "expm1": expm1,
    "log": log,
    "log2": _scaled(1 / math.log(2), log),
    "log10": _scaled(1 / math.log(10), log),
    "sin": sin,
    "cos": cos,
    "sinh": sinh,
    "cosh": cosh,
}
