"""Elementary functions of complex numbers by textbook formulas of real functions.

Where the formulas give no answer, at infinities, NaN and zeros, results are those of C's Annex G
as glibc has them. A recipe takes an arithmetic, the real functions by name, and both parts.
"""

import math
from collections.abc import Callable

from axiomjit.runtime.vector_math.arithmetic import Arithmetic, Value
from axiomjit.runtime.vector_math.constants import INFINITY
from axiomjit.runtime.vector_math.logarithm import of_sum
from axiomjit.runtime.vector_math.turns import two_sum

RealParts = tuple[Value, Value]
RealFunction = Callable[..., Value]
"""A real function of the name and operands."""
ComplexRecipe = Callable[[Arithmetic, RealFunction, Value, Value], RealParts]

REACH = {"f4": 88.0, "f8": 709.0}
"""Up to this exp, sinh and cosh are finite."""
SHIFT = {"f4": 40.0, "f8": 350.0}
"""Beyond, e**SHIFT is a factor of its own; twice the rest leaves one of e**x and e**-x."""


def _shifted(m: Arithmetic, far: Value, x: Value) -> RealParts:
    """x, moved by SHIFT towards 0 where it is far, and e**SHIFT there, else 1."""
    shift = SHIFT[m.code]
    factor = m.select(far, m.constant(math.exp(shift)), 1.0)
    return m.select(far, x - m.copysign(m.constant(shift), x), x), factor


def exp(m: Arithmetic, of: RealFunction, x: Value, y: Value) -> RealParts:
    """e**x (cos(y) + i sin(y))."""
    less, factor = _shifted(m, x > REACH[m.code], x)
    power = of("exp", less)
    re, im = power * (of("cos", y) * factor), power * (of("sin", y) * factor)
    lost = ~(abs(y) < INFINITY) & (abs(x) == INFINITY)  # no angle, but a size
    im = m.select(lost & (x < 0.0), m.copysign(m.constant(0.0), y), im)
    return m.select(lost, power, re), m.select(y == 0.0, y, im)


def _hyperbolic(m: Arithmetic, of: RealFunction, x: Value, y: Value) -> tuple[RealParts, RealParts]:
    """sinh(x) and cosh(x), both without a factor; the cosine and sine of y times it."""
    less, factor = _shifted(m, abs(x) > REACH[m.code], x)
    cosine, sine = of("cos", y) * factor, of("sin", y) * factor
    return (of("sinh", less), of("cosh", less)), (cosine, sine)


def sinh(m: Arithmetic, of: RealFunction, x: Value, y: Value) -> RealParts:
    """Its parts: the odd function times the cosine of y, and the even one times the sine."""
    (odd, even), (cosine, sine) = _hyperbolic(m, of, x, y)
    lost = ~(abs(y) < INFINITY)
    re = m.select(lost & (x == 0.0), x, odd * cosine)
    re = m.select(lost & (abs(x) == INFINITY), INFINITY, re)
    return re, m.select(y == 0.0, y, even * sine)


def cosh(m: Arithmetic, of: RealFunction, x: Value, y: Value) -> RealParts:
    """Its parts: the even function times the cosine of y, and the odd one times the sine."""
    (odd, even), (cosine, sine) = _hyperbolic(m, of, x, y)
    lost = ~(abs(y) < INFINITY)
    re = m.select(lost & (abs(x) == INFINITY), INFINITY, even * cosine)
    im = m.select(lost & (x == 0.0), 0.0, odd * sine)
    return re, m.select(y == 0.0, y * m.copysign(m.constant(1.0), x), im)


def sin(m: Arithmetic, of: RealFunction, x: Value, y: Value) -> RealParts:
    """-i sinh(i z)."""
    im, re = sinh(m, of, y, x)
    return re, im


def cos(m: Arithmetic, of: RealFunction, x: Value, y: Value) -> RealParts:
    """cosh(i z)."""
    return cosh(m, of, -y, x)


def _near_1(m: Arithmetic, x: Value, y: Value) -> tuple[Value, Value, Value]:
    """The larger and the smaller of |x| and |y| over a power of 2, and its exponent."""
    x, y = abs(x), abs(y)
    larger, smaller = m.select(x > y, x, y), m.select(x > y, y, x)
    exponent = m.bounded(m.binade(larger), -2.0 * m.bias, m.bias)
    return m.scaled(larger, -exponent), m.scaled(smaller, -exponent), exponent


def log(m: Arithmetic, of: RealFunction, x: Value, y: Value) -> RealParts:
    """Half of the logarithm of x**2 + y**2, whose terms are sums of two, and the angle."""
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


def expm1(m: Arithmetic, of: RealFunction, x: Value, y: Value) -> RealParts:
    """As NumPy has it: e**z - 1 without the difference of numbers near 1."""
    half = of("sin", y * 0.5)
    re = of("expm1", x) * of("cos", y) - half * 2.0 * half
    return re, of("exp", x) * of("sin", y)


def _times(factor: float, recipe: ComplexRecipe) -> ComplexRecipe:
    def times(m: Arithmetic, of: RealFunction, x: Value, y: Value) -> RealParts:
        re, im = recipe(m, of, x, y)
        return re * factor, im * factor

    return times


def exp2(m: Arithmetic, of: RealFunction, x: Value, y: Value) -> RealParts:
    """e**(z log(2))."""
    return exp(m, of, x * math.log(2), y * math.log(2))


COMPLEX_RECIPES: dict[str, ComplexRecipe] = {
    "exp": exp,
    "exp2": exp2,
    "expm1": expm1,
    "log": log,
    "log2": _times(1 / math.log(2), log),
    "log10": _times(1 / math.log(10), log),
    "sin": sin,
    "cos": cos,
    "sinh": sinh,
    "cosh": cosh,
}
