"""The arithmetic that recipes of elementary functions are written in.

A recipe is a function of an `Arithmetic` and of values. Values of every arithmetic have Python's
operators: floats `+ - * /`, unary `-`, `abs` and comparisons, where only `!=` holds for NaN;
truths `& | ^ ~`; integers, which wrap, `+ - & | ^ ~`, unary `-`, `<<`, `>>` (which keeps the sign)
and comparisons. Beside a float a Python float stands for a constant of the same precision, beside
an integer a Python int.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

from axiomjit.runtime.vector_math.constants import INFINITY, NAN

Value = Any
"""A float, an integer of the same width, or a truth, of one arithmetic."""

ROUGH_INVERSE = {"f4": 0x7EF311C7, "f8": 0x7FDE623822FC16E6}
"""The bits of 1, twice, less about 1/23 of an exponent's step: the logarithm read off the bits."""


class Arithmetic(ABC):
    """Operations of one precision, each rounded once as IEEE 754 says; no operation branches."""

    code: str
    """The dtype: "f4" or "f8"."""
    MANTISSA: ClassVar[dict[str, int]] = {"f4": 23, "f8": 52}
    BIAS: ClassVar[dict[str, int]] = {"f4": 127, "f8": 1023}

    @property
    def mantissa(self) -> int:
        """Bits of the mantissa, its leading one left out."""
        return self.MANTISSA[self.code]

    @property
    def bias(self) -> int:
        """The exponent field of 1."""
        return self.BIAS[self.code]

    @abstractmethod
    def constant(self, value: float) -> Value:
        """A float."""

    @abstractmethod
    def fma(self, a: Value, b: Value, c: Value) -> Value:
        """a * b + c, rounded once; one operand may be a Python float."""

    @abstractmethod
    def select(self, condition: Value, yes: Value, no: Value) -> Value:
        """`yes` where the condition holds, else `no`; one of them may be a Python number."""

    @abstractmethod
    def sqrt(self, x: Value) -> Value:
        """The square root."""

    @abstractmethod
    def rint(self, x: Value) -> Value:
        """The nearest whole number, of two the even one."""

    @abstractmethod
    def copysign(self, x: Value, sign: Value) -> Value:
        """x with the sign bit of `sign`."""

    @abstractmethod
    def bits(self, x: Value) -> Value:
        """The bits of a float as a signed integer."""

    @abstractmethod
    def number(self, bits: Value) -> Value:
        """The float with these bits."""

    @abstractmethod
    def integer(self, x: Value) -> Value:
        """The nearest integer, of two the even one; of numbers beyond integers and NaN any."""

    @abstractmethod
    def to_float(self, whole: Value) -> Value:
        """An integer as a float."""

    @abstractmethod
    def narrowed(self, x: Value) -> Value:
        """A float64 of this arithmetic, which is that of "f8", rounded to float32."""

    @property
    @abstractmethod
    def wide(self) -> "Arithmetic":
        """The arithmetic of float64."""

    @abstractmethod
    def widened(self, x: Value) -> Value:
        """A float of this arithmetic or of float32 as a value of `wide`."""

    @abstractmethod
    def beyond(
        self, bound: float, x: Value, usual: Value, recipe: "Callable[[Arithmetic, Value], Value]"
    ) -> Value:
        """The recipe of x where |x| > bound, which is rare, else `usual`; both for NaN will do.

        The recipe is a function of a module; time does not matter there.
        """

    @abstractmethod
    def entry(self, name: str, table: tuple[float, ...], index: Value) -> Value:
        """An entry of the table with this name."""

    def polynomial(self, x: Value, coefficients: Sequence[float]) -> Value:
        """The sum of coefficients[k] * x**k, by Horner's rule."""
        *rest, total = coefficients
        result: Value = self.constant(total)
        for coefficient in reversed(rest):
            result = self.fma(result, x, coefficient)
        return result

    def parallel(self, x: Value, square: Value, coefficients: Sequence[float]) -> Value:
        """The polynomial as a sum of its even and odd part: twice as fast to its end as Horner's.

        Loops of long recipes wait for results, not for the processor's units.
        """
        odd = self.polynomial(square, coefficients[1::2])
        return self.fma(odd, x, self.polynomial(square, coefficients[::2]))

    def paired(self, x: Value, coefficients: Sequence[float]) -> Value:
        """The polynomial as one of x**2 whose coefficients are pairs: half as many steps."""
        pairs = [coefficients[k : k + 2] for k in range(0, len(coefficients), 2)]
        *rest, total = [self.polynomial(x, pair) for pair in pairs]
        square = x * x
        for pair in reversed(rest):
            total = self.fma(total, square, pair)
        return total

    def power_of_two(self, whole: Value) -> Value:
        """2**whole, for exponents of normal numbers."""
        return self.number((whole + self.bias) << self.mantissa)

    def nearest_whole(self, x: Value, factor: float) -> tuple[Value, Value]:
        """The whole number nearest to x * factor, as a float and as an integer.

        Right where it is below 2**21 (float32) or 2**50; elsewhere neither may be looked at.
        Adding 1.5 * 2**mantissa leaves it in the last bits.
        """
        magic = 1.5 * 2.0**self.mantissa
        shifted = self.fma(x, factor, magic)
        return shifted - magic, self.bits(shifted) - self.bits(self.constant(magic))

    def nearest_power(
        self, x: Value, factor: float, lift: int, askew: float = 0.0
    ) -> tuple[Value, Value]:
        """The whole number k nearest to x * factor - askew, as a float, and 2**(k + lift).

        That is to be a normal number; its exponent field is in the last bits of a sum, as in
        `nearest_whole`.
        """
        magic = 1.5 * 2.0**self.mantissa + (self.bias + lift)
        shifted = self.fma(x, factor, -askew) + magic if askew else self.fma(x, factor, magic)
        return shifted - magic, self.number(self.bits(shifted) << self.mantissa)

    def rough_inverse(self, x: Value) -> Value:
        """1 / x within an eighth, of a positive normal number; of 0 a large number."""
        return self.number(ROUGH_INVERSE[self.code] - self.bits(x))

    def rough_quotient(self, power: float, x: Value) -> Value:
        """power / x of a power of 2 within an eighth, near powers of 2 better; x as above."""
        one = self.bits(self.constant(1.0))
        return self.number(self.bits(self.constant(power)) + one - self.bits(x))

    def bounded(self, x: Value, low: float, high: float) -> Value:
        """x, or the bound that it is beyond; NaN stays."""
        x = self.select(x > high, high, x)
        return self.select(x < low, low, x)

    def within(self, x: Value, low: float, high: float) -> Value:
        """x, or the bound that it is beyond, where powers of x are 0 or infinite; NaN stays.

        Instructions leave x as it is: `reduced`, `rest` and `scaled` are for all numbers then.
        """
        return self.bounded(x, low, high)

    def rest(self, x: Value, whole: Value, period: tuple[float, float], bound: float) -> Value:
        """x less `whole` times a sum of two, for x `within` bounds; below this bound.

        Where instructions left an x that is beyond, the result is not NaN and not above the bound.
        """
        high, low = period
        return self.fma(whole, -low, self.fma(whole, -high, x))

    def limited(self, x: Value, bound: float) -> Value:
        """x, or the bound with x's sign where x is beyond it or a quiet NaN."""
        size = abs(x)
        return self.copysign(self.select(size < bound, size, bound), x)

    def reduced(self, x: Value, bits: int) -> Value:
        """x less the nearest multiple of 2**-bits, or 0 with any sign; NaN stays.

        For x below 2**20 of these (float32) or 2**50.
        """
        magic = 1.5 * 2.0 ** (self.mantissa - bits)
        return x - ((x + magic) - magic)

    def scaled(self, x: Value, exponent: Value, parts: int = 1) -> Value:
        """x * 2**floor(exponent) for x near 1, rounded once where that is below the normal numbers.

        The exponent is a multiple of 1 / parts, a power of 2. It may be twice beyond that of normal
        numbers; where it is NaN so is x.
        """
        if parts > 1:
            exponent = exponent - (0.5 - 0.5 / parts)
        exponent = self.nearest_whole(exponent, 1.0)[1]
        half = exponent >> 1
        return x * self.power_of_two(half) * self.power_of_two(exponent - half)

    def _normal_bits(self, x: Value) -> tuple[Value, Value]:
        """Whether x is below normal numbers, and its bits, then as 2**(mantissa + 2) times it."""
        low = x < 2.0 ** (1 - self.bias)
        return low, self.bits(self.select(low, x * 2.0 ** (self.mantissa + 2), x))

    def lookup(self, name: str, table: tuple[float, ...], index: Value) -> Value:
        """The entry at an integer modulo the length of a table of 16 or 32 numbers."""
        return self.entry(name, table, index & len(table) - 1)

    def significand(self, x: Value) -> Value:
        """A positive number over a power of 2, from 1 to 2; of others it has no meaning."""
        bits = self._normal_bits(x)[1]
        fraction = bits & ((1 << self.mantissa) - 1)
        return self.number(fraction | self.bits(self.constant(1.0)))

    def binade(self, x: Value) -> Value:
        """The exponent of that power, as a float; of 0 -infinity, of infinity and NaN they."""
        low, bits = self._normal_bits(x)
        exponent = (bits >> self.mantissa) - self.bias
        result = self.to_float(self.select(low, exponent - (self.mantissa + 2), exponent))
        return self.select(x == 0.0, -INFINITY, self.select(x < INFINITY, result, x))

    def looked_up(self, name: str, table: tuple[float, ...], x: Value) -> Value:
        """The entry of a table of 16, with this name, by the leading bits of x's mantissa."""
        return self.lookup(name, table, self.bits(x) >> (self.mantissa - 4))

    def log_limits(self, x: Value, result: Value) -> Value:
        """The limits of a logarithm where x is not a positive finite number, else the result."""
        limit = self.select(x == 0.0, -INFINITY, self.select(x < 0.0, NAN, x))
        return self.select((x > 0.0) & (x < INFINITY), result, limit)

    def ends_kept(self, x: Value, result: Value) -> Value:
        """x where it is 0, infinite or NaN, else the result."""
        size = abs(x)
        return self.select((size > 0.0) & (size < INFINITY), result, x)

    def odd_sign(self, x: Value) -> Value:
        """-0 where the nearest whole number is odd, else 0."""
        half = self.rint(x) * 0.5
        return self.select(abs(self.rint(half) - half) == 0.5, self.constant(-0.0), 0.0)
