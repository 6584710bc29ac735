"""The arithmetic in which recipes of elementary functions are written.

A recipe is a function of an `Arithmetic` and of values. Values of every arithmetic have Python's
operators: floats `+ - * /`, unary `-`, `abs` and comparisons (with NaN only `!=` is true); booleans
`& | ^ ~`; integers, which wrap around, `+ - & | ^ ~`, unary `-`, `<<`, `>>` (which keeps the sign)
and comparisons. A Python float beside a float, or a Python int beside an integer, is converted to
its type.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

ByPrecision = dict[str, tuple[float, ...]]
"""Numbers by precision: "f4" and "f8"."""
INFINITY, NAN = float("inf"), float("nan")
LOG2_E = 1.4426950408889634
LN2 = {
    "f4": (0.693145751953125, 1.428606765330187e-06),
    "f8": (0.6931471805598903, 5.497923018708371e-14),
}
"""log(2) as a sum of two floats; the first has 16 or 42 bits, so its product with k is exact."""
LOG2_OF_E: ByPrecision = {
    "f4": (1.4426950216293335, 1.925963033500011e-08),
    "f8": (1.4426950408889634, 2.0355273740931033e-17),
}
"""log2(e) as a sum of two floats."""
LOG10_OF_E: ByPrecision = {
    "f4": (0.4342944920063019, -1.0103049952192578e-08),
    "f8": (0.4342944819032518, 1.098319650216765e-17),
}
"""log10(e) as a sum of two floats."""
HALF_PI = {
    "f4": (1.5707963705062866, -4.371138828673793e-08),
    "f8": (1.5707963267948966, 6.123233995736766e-17),
}
"""pi / 2 as a sum of two floats."""
Numeric = Any
"""A value of an arithmetic: a float, an integer of the same width, or a boolean."""


def two_sum(a: Numeric, b: Numeric) -> tuple[Numeric, Numeric]:
    """Return the rounded sum and its rounding error (Knuth)."""
    total = a + b
    shadow = total - a
    return total, (a - (total - shadow)) + (b - shadow)


class Arithmetic(ABC):
    """Operations of one precision, each rounded once as IEEE 754 says; no operation branches."""

    code: str
    """The dtype: "f4" or "f8"."""
    MANTISSA: ClassVar[dict[str, int]] = {"f4": 23, "f8": 52}
    BIAS: ClassVar[dict[str, int]] = {"f4": 127, "f8": 1023}

    @property
    def mantissa(self) -> int:
        """The number of bits that the mantissa stores."""
        return self.MANTISSA[self.code]

    @property
    def bias(self) -> int:
        """The bias of the exponent: the exponent field of 1."""
        return self.BIAS[self.code]

    @abstractmethod
    def constant(self, value: float) -> Numeric:
        """Return a constant of this precision."""

    @abstractmethod
    def fma(self, a: Numeric, b: Numeric, c: Numeric) -> Numeric:
        """a * b + c, rounded once; one operand may be a Python float."""

    @abstractmethod
    def select(self, condition: Numeric, yes: Numeric, no: Numeric) -> Numeric:
        """`yes` if the condition holds, else `no`; one of them may be a Python number."""

    @abstractmethod
    def sqrt(self, x: Numeric) -> Numeric:
        """The square root."""

    @abstractmethod
    def rint(self, x: Numeric) -> Numeric:
        """The nearest integer as a float, ties to even."""

    @abstractmethod
    def copysign(self, x: Numeric, sign: Numeric) -> Numeric:
        """x with the sign bit of `sign`."""

    @abstractmethod
    def bits(self, x: Numeric) -> Numeric:
        """The bits of a float as a signed integer."""

    @abstractmethod
    def number(self, bits: Numeric) -> Numeric:
        """The float with these bits."""

    @abstractmethod
    def to_float(self, whole: Numeric) -> Numeric:
        """An integer as a float."""

    @abstractmethod
    def narrowed(self, x: Numeric) -> Numeric:
        """A value of `wide` rounded to float32."""

    @property
    @abstractmethod
    def wide(self) -> "Arithmetic":
        """The arithmetic of float64."""

    @abstractmethod
    def widened(self, x: Numeric) -> Numeric:
        """A float of this precision, or of float32, converted to float64: a value of `wide`."""

    @abstractmethod
    def beyond(
        self,
        bound: float,
        x: Numeric,
        usual: Numeric,
        name: str,
        recipe: "Callable[[Arithmetic, Numeric], Numeric]",
    ) -> Numeric:
        """Return recipe(x) where |x| > bound, else `usual`; for NaN either of the two.

        Such x are rare, so the recipe may be slow. Compiled code calls it by its `name`.
        """

    @abstractmethod
    def entry(self, name: str, table: tuple[float, ...], index: Numeric) -> Numeric:
        """Return table[index]; compiled code has the table in memory, under this name."""

    def polynomial(self, x: Numeric, coefficients: Sequence[float]) -> Numeric:
        """The sum of coefficients[k] * x**k, by Horner's rule."""
        *rest, total = coefficients
        result: Numeric = self.constant(total)
        for coefficient in reversed(rest):
            result = self.fma(result, x, coefficient)
        return result

    def paired(self, x: Numeric, coefficients: Sequence[float]) -> Numeric:
        """The polynomial, as one in x**2 with coefficients a + b x: half the latency of Horner's.

        Loops of long recipes are limited by latency, not by throughput.
        """
        pairs = [coefficients[k : k + 2] for k in range(0, len(coefficients), 2)]
        *rest, total = [self.polynomial(x, pair) for pair in pairs]
        square = x * x
        for pair in reversed(rest):
            total = self.fma(total, square, pair)
        return total

    def power_of_two(self, whole: Numeric) -> Numeric:
        """2**whole as a float, for exponents of normal numbers."""
        return self.number((whole + self.bias) << self.mantissa)

    def nearest_whole(self, x: Numeric, factor: float) -> tuple[Numeric, Numeric]:
        """Round x * factor to the nearest integer; return this integer as a float and an integer.

        Both results are correct if the integer is below 2**21 (float32) or 2**50 (float64), and
        meaningless otherwise. Adding 1.5 * 2**mantissa leaves the integer in the last bits.
        """
        magic = 1.5 * 2.0**self.mantissa
        shifted = self.fma(x, factor, magic)
        return shifted - magic, self.bits(shifted) - self.bits(self.constant(magic))

    def nearest_power(
        self, x: Numeric, factor: float, lift: int, shift: float = 0.0
    ) -> tuple[Numeric, Numeric]:
        """Round x * factor - shift to the nearest integer k; return k as a float and 2**(k + lift).

        The power must be a normal number. Its exponent field is in the last bits of a sum, as in
        `nearest_whole`.
        """
        magic = 1.5 * 2.0**self.mantissa + (self.bias + lift)
        shifted = self.fma(x, factor, -shift) + magic if shift else self.fma(x, factor, magic)
        return shifted - magic, self.number(self.bits(shifted) << self.mantissa)

    def rough_quotient(self, power: float, x: Numeric) -> Numeric:
        """power / x with a relative error up to 1/8, less near powers of 2, for positive normal x.

        `power` is a power of 2. A float's bits are roughly its logarithm. 1 / 0 is a large number.
        """
        one = self.bits(self.constant(1.0))
        return self.number(self.bits(self.constant(power)) + one - self.bits(x))

    def bounded(self, x: Numeric, low: float, high: float) -> Numeric:
        """Return x clipped to the bounds; NaN stays NaN."""
        x = self.select(x > high, high, x)
        return self.select(x < low, low, x)

    def within(self, x: Numeric, low: float, high: float) -> Numeric:
        """x clipped to bounds beyond which the power of x is 0 or infinite; NaN stays NaN.

        If vector instructions compute the steps, x is not clipped: then `reduced` and `scaled`
        accept any number.
        """
        return self.bounded(x, low, high)

    def reduced(self, x: Numeric, bits: int) -> Numeric:
        """x minus the nearest multiple of 2**-bits; a zero may have any sign; NaN stays NaN.

        Correct for |x| below 2**20 (float32) or 2**50 such multiples.
        """
        magic = 1.5 * 2.0 ** (self.mantissa - bits)
        return x - ((x + magic) - magic)

    def scaled(self, x: Numeric, exponent: Numeric) -> Numeric:
        """x * 2**floor(exponent) for x near 1; a subnormal result is rounded once.

        The exponent is a multiple of 1/32. It may be up to twice the largest and smallest exponents
        of floats. Where it is NaN, x is NaN too.
        """
        exponent = self.nearest_whole(exponent - 31 / 64, 1.0)[1]
        half = exponent >> 1
        return x * self.power_of_two(half) * self.power_of_two(exponent - half)

    def _normal_bits(self, x: Numeric) -> tuple[Numeric, Numeric]:
        """Return a mask of subnormal x; and bits: there of x * 2**(mantissa + 2), else of x."""
        low = x < 2.0 ** (1 - self.bias)
        return low, self.bits(self.select(low, x * 2.0 ** (self.mantissa + 2), x))

    def lookup(self, name: str, table: tuple[float, ...], index: Numeric) -> Numeric:
        """Return the table's entry at `index` modulo its length, which is 16 or 32."""
        return self.entry(name, table, index & len(table) - 1)

    def significand(self, x: Numeric) -> Numeric:
        """The mantissa of a positive number, from 1 to 2; meaningless for other numbers."""
        bits = self._normal_bits(x)[1]
        fraction = bits & ((1 << self.mantissa) - 1)
        return self.number(fraction | self.bits(self.constant(1.0)))

    def binade(self, x: Numeric) -> Numeric:
        """The exponent of x as a float; for 0 -infinity; infinity and NaN stay."""
        low, bits = self._normal_bits(x)
        exponent = (bits >> self.mantissa) - self.bias
        result = self.to_float(self.select(low, exponent - (self.mantissa + 2), exponent))
        return self.select(x == 0.0, -INFINITY, self.select(x < INFINITY, result, x))

    def looked_up(self, name: str, table: tuple[float, ...], x: Numeric) -> Numeric:
        """Return the entry of a table of 16 by the leading four bits of x's mantissa."""
        return self.lookup(name, table, self.bits(x) >> (self.mantissa - 4))

    def log_limits(self, x: Numeric, result: Numeric) -> Numeric:
        """Return `result` for positive finite x, else the limit of a logarithm."""
        limit = self.select(x == 0.0, -INFINITY, self.select(x < 0.0, NAN, x))
        return self.select((x > 0.0) & (x < INFINITY), result, limit)
