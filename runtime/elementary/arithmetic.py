"""The arithmetic in which recipes of elementary functions are written, and its form in NumPy.

A recipe is a function of an `Arithmetic` and of values, which have Python's operators. Floats have
`+ - * /`, unary `-`, `abs` and comparisons; with NaN, only `!=` is true. Booleans have `& | ^ ~`.
Integers wrap around, and have `+ - & | ^ ~`, unary `-`, `<<`, `>>` (which keeps the sign) and
comparisons. A Python number is converted to the type of the other operand.

Some functions are piecewise polynomials, with coefficients looked up in registers. An odd function
f that is near x for small x and near 1 for large x is computed as f(x) = v + v p(t), where v is x
limited to a bound between two pieces. v is exact, and the product is small compared with v, so only
the rounding of the sum matters. The last bits of u = factor * |x| + start, rounded to the spacing
of floats, are the index of the piece; t is |x| minus the number that u represents.

The form in NumPy has the same bits as compiled recipes. Values are NumPy scalars or arrays. NumPy
has every operation except fused multiply-add, which is built from exact operations.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, NamedTuple

import numpy as np

ByPrecision = dict[str, tuple[float, ...]]
"""Numbers for each precision, "f4" and "f8"."""
INFINITY, NAN = float("inf"), float("nan")
LOG2_E = 1.4426950408889634
LN2 = {
    "f4": (0.693145751953125, 1.428606765330187e-06),
    "f8": (0.6931471805598903, 5.497923018708371e-14),
}
"""The number log(2) as a sum of two floats; the first one has 16 or 42 bits, so that its product
with an exponent of 2 is exact.
"""
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
"""The number pi / 2 as a sum of two floats."""
Numeric = Any
"""A value of an arithmetic: a float, an integer of the same width, or a boolean."""


def two_sum(a: Numeric, b: Numeric) -> tuple[Numeric, Numeric]:
    """Return the rounded sum and its rounding error (Knuth)."""
    total = a + b
    shadow = total - a
    return total, (a - (total - shadow)) + (b - shadow)


class Arithmetic(ABC):
    """The operations of one precision, without branches; each rounds once, as IEEE 754 says."""

    code: str
    """The code of the dtype: "f4" or "f8"."""
    MANTISSA: ClassVar[dict[str, int]] = {"f4": 23, "f8": 52}
    BIAS: ClassVar[dict[str, int]] = {"f4": 127, "f8": 1023}

    @property
    def mantissa(self) -> int:
        """The number of stored bits of the mantissa."""
        return self.MANTISSA[self.code]

    @property
    def bias(self) -> int:
        """The bias of the exponent, which is the exponent field of 1."""
        return self.BIAS[self.code]

    @abstractmethod
    def constant(self, value: float) -> Numeric:
        """Return a constant of this precision."""

    @abstractmethod
    def fma(self, a: Numeric, b: Numeric, c: Numeric) -> Numeric:
        """Return a * b + c, rounded once; one operand may be a Python float."""

    @abstractmethod
    def select(self, condition: Numeric, yes: Numeric, no: Numeric) -> Numeric:
        """Return `yes` if the condition holds, else `no`; either may be a Python number."""

    @abstractmethod
    def sqrt(self, x: Numeric) -> Numeric:
        """Return the square root."""

    @abstractmethod
    def rint(self, x: Numeric) -> Numeric:
        """Return the nearest integer as a float; ties go to even."""

    @abstractmethod
    def copysign(self, x: Numeric, sign: Numeric) -> Numeric:
        """Return x with the sign bit of `sign`."""

    @abstractmethod
    def bits(self, x: Numeric) -> Numeric:
        """Return the bits of a float as a signed integer."""

    @abstractmethod
    def number(self, bits: Numeric) -> Numeric:
        """Return the float with these bits."""

    @abstractmethod
    def to_float(self, whole: Numeric) -> Numeric:
        """Return an integer as a float."""

    @abstractmethod
    def narrowed(self, x: Numeric) -> Numeric:
        """Return a value of `wide`, rounded to float32."""

    @property
    @abstractmethod
    def wide(self) -> "Arithmetic":
        """The arithmetic of float64."""

    @abstractmethod
    def widened(self, x: Numeric) -> Numeric:
        """Return a float, converted to float64, as a value of `wide`."""

    @abstractmethod
    def beyond(
        self,
        bound: float,
        x: Numeric,
        usual: Numeric,
        name: str,
        recipe: "Callable[[Arithmetic, Numeric], Numeric]",
    ) -> Numeric:
        """Return recipe(x) if |x| > bound, otherwise `usual`; if x is NaN, either of the two.

        Numbers beyond the bound are rare, so the recipe may be slow. Compiled code calls the recipe
        by its `name`.
        """

    @abstractmethod
    def entry(self, name: str, table: tuple[float, ...], index: Numeric) -> Numeric:
        """Return table[index]; compiled code has the table in memory, with this name."""

    def polynomial(self, x: Numeric, coefficients: Sequence[float]) -> Numeric:
        """The sum of coefficients[k] * x**k, by Horner's rule."""
        *rest, total = coefficients
        result: Numeric = self.constant(total)
        for coefficient in reversed(rest):
            result = self.fma(result, x, coefficient)
        return result

    def paired(self, x: Numeric, coefficients: Sequence[float]) -> Numeric:
        """The polynomial, evaluated in x**2 with coefficients a + b x, to halve the latency.

        Loops of long recipes are limited by latency, not by throughput.
        """
        pairs = [coefficients[k : k + 2] for k in range(0, len(coefficients), 2)]
        *rest, total = [self.polynomial(x, pair) for pair in pairs]
        square = x * x
        for pair in reversed(rest):
            total = self.fma(total, square, pair)
        return total

    def power_of_two(self, whole: Numeric) -> Numeric:
        """The float 2**whole, which must be a normal number."""
        return self.number((whole + self.bias) << self.mantissa)

    def nearest_whole(self, x: Numeric, factor: float) -> tuple[Numeric, Numeric]:
        """Round x * factor to the nearest integer, and return it as a float and as an integer.

        The float and the integer are correct if the integer is below 2**21 (float32) or 2**50
        (float64), and undefined otherwise. The method adds 1.5 * 2**mantissa, so that the last bits
        of the sum are the integer.
        """
        magic = 1.5 * 2.0**self.mantissa
        shifted = self.fma(x, factor, magic)
        return shifted - magic, self.bits(shifted) - self.bits(self.constant(magic))

    def nearest_power(
        self, x: Numeric, factor: float, lift: int, shift: float = 0.0
    ) -> tuple[Numeric, Numeric]:
        """Return k as a float, and 2**(k + lift), for the integer k nearest to x * factor - shift.

        The power must be a normal number. The last bits of a sum, as in `nearest_whole`, become the
        exponent field of the power.
        """
        magic = 1.5 * 2.0**self.mantissa + (self.bias + lift)
        shifted = self.fma(x, factor, -shift) + magic if shift else self.fma(x, factor, magic)
        return shifted - magic, self.number(self.bits(shifted) << self.mantissa)

    def rough_quotient(self, power: float, x: Numeric) -> Numeric:
        """An approximation of power / x for positive normal x, with a relative error up to 1/8.

        `power` is a power of 2. Near powers of 2 the error is smaller. The method subtracts bits:
        the bits of a float, as an integer, are roughly its logarithm. For x = 0 the result is a
        large number.
        """
        one = self.bits(self.constant(1.0))
        return self.number(self.bits(self.constant(power)) + one - self.bits(x))

    def bounded(self, x: Numeric, low: float, high: float) -> Numeric:
        """Return x, limited to the bounds; NaN remains NaN."""
        x = self.select(x > high, high, x)
        return self.select(x < low, low, x)

    def within(self, x: Numeric, low: float, high: float) -> Numeric:
        """Return x, limited to bounds beyond which base**x is 0 or infinite; NaN remains NaN.

        As basic operations, `reduced` and `scaled` accept only numbers of limited size. The vector
        instructions for `reduced` and `scaled` accept any number, so an arithmetic with these
        instructions does not limit x.
        """
        return self.bounded(x, low, high)

    def reduced(self, x: Numeric, bits: int) -> Numeric:
        """Return x minus the nearest multiple of 2**-bits; NaN remains NaN.

        A result of zero may have either sign. The result is correct if |x| is below 2**20 (float32)
        or 2**50 (float64) times 2**-bits.
        """
        magic = 1.5 * 2.0 ** (self.mantissa - bits)
        return x - ((x + magic) - magic)

    def scaled(self, x: Numeric, exponent: Numeric) -> Numeric:
        """Return x * 2**floor(exponent) for x near 1; a subnormal result is rounded once.

        The exponent is a multiple of 1/32, and may reach twice the largest or smallest exponent of
        floats. If the exponent is NaN, x is NaN, too.
        """
        exponent = self.nearest_whole(exponent - 31 / 64, 1.0)[1]
        half = exponent >> 1
        return x * self.power_of_two(half) * self.power_of_two(exponent - half)

    def _normal_bits(self, x: Numeric) -> tuple[Numeric, Numeric]:
        """Return a mask of subnormal x, and the bits of x; subnormal x are made normal first."""
        low = x < 2.0 ** (1 - self.bias)
        return low, self.bits(self.select(low, x * 2.0 ** (self.mantissa + 2), x))

    def lookup(self, name: str, table: tuple[float, ...], index: Numeric) -> Numeric:
        """Return the entry of a table at `index` modulo the length of the table, 16 or 32."""
        return self.entry(name, table, index & len(table) - 1)

    def significand(self, x: Numeric) -> Numeric:
        """The mantissa of a positive number, from 1 to 2; undefined for other numbers."""
        bits = self._normal_bits(x)[1]
        fraction = bits & ((1 << self.mantissa) - 1)
        return self.number(fraction | self.bits(self.constant(1.0)))

    def binade(self, x: Numeric) -> Numeric:
        """The exponent of x as a float; -infinity for 0, and x for infinity and NaN."""
        low, bits = self._normal_bits(x)
        exponent = (bits >> self.mantissa) - self.bias
        result = self.to_float(self.select(low, exponent - (self.mantissa + 2), exponent))
        return self.select(x == 0.0, -INFINITY, self.select(x < INFINITY, result, x))

    def looked_up(self, name: str, table: tuple[float, ...], x: Numeric) -> Numeric:
        """Return the entry of a table with 16 numbers for the leading four bits of x's mantissa."""
        return self.lookup(name, table, self.bits(x) >> (self.mantissa - 4))

    def log_limits(self, x: Numeric, result: Numeric) -> Numeric:
        """Return `result` for positive finite x, otherwise the limit of a logarithm."""
        limit = self.select(x == 0.0, -INFINITY, self.select(x < 0.0, NAN, x))
        return self.select((x > 0.0) & (x < INFINITY), result, limit)


COUNT = 32
"""The number of pieces: as many float32 numbers as an AVX-512 instruction can look up."""


class Pieces(NamedTuple):
    """The division of the absolute values of float32 numbers into pieces."""

    name: str
    factor: float
    start: float
    bound: float
    last: float
    """The value of |x| beyond which f is 1."""
    degree: int
    bits: int | None = None
    """If all pieces have the same width, it is 2**-bits; None for other divisions."""


OF_TANH = Pieces("tanh", 2.56, 2.0**23 - 8, 225 / 256, 9.02, 5)
"""The pieces of tanh: sixteen have the width 25/128, and all other pieces are twice as wide."""
OF_ERF = Pieces("erf", 1.0, 1.5 * 2.0**20, 15 / 16, 3.93, 4, 3)


def piecewise(m: Arithmetic, pieces: Pieces, table: Sequence[float], x: Numeric) -> Numeric:
    """Return f(x); the table has COUNT coefficients for each power of t."""
    size = m.select(abs(x) > pieces.last, pieces.last, abs(x))
    place = m.fma(size, pieces.factor, pieces.start)
    if pieces.bits is None:
        t = m.fma(place - pieces.start, -1.0 / pieces.factor, size)
    else:
        t = m.reduced(size, pieces.bits)

    def entry(row: int) -> Numeric:
        part = tuple(table[COUNT * row : COUNT * (row + 1)])
        return m.lookup(f"{pieces.name}_{row}", part, m.bits(place))

    slope = entry(pieces.degree)
    for row in reversed(range(pieces.degree)):
        slope = m.fma(slope, t, entry(row))
    limited = m.bounded(x, -pieces.bound, pieces.bound)
    return m.fma(limited, slope, limited)


_SAFE = 2.0**400
"""`_fma_of_doubles` cannot overflow if operands are between the reciprocal of this number and this
number.
"""


def _to_odd(total: Any, rest: Any) -> Any:
    """The sum total + rest, rounded to odd: if inexact, the neighbouring float ending in 1."""
    bits = np.asarray(total).view(np.int64)
    off = np.isfinite(total) & (rest != 0.0) & (bits & 1 == 0)
    return np.where(off, np.nextafter(total, np.where(rest > 0.0, np.inf, -np.inf)), total)


def _fma_of_singles(a: Any, b: Any, c: Any) -> Any:
    """The value a * b + c of float32, rounded once.

    The product is exact in float64, and the sum is rounded to odd in float64, so that the
    conversion to float32 is the only rounding.
    """
    product = np.asarray(a, np.float64) * np.asarray(b, np.float64)
    return _to_odd(*two_sum(product, np.asarray(c, np.float64))).astype(np.float32)[()]


def _halves(a: Any) -> tuple[Any, Any]:
    """Split a float64 into two parts of 26 bits (Veltkamp)."""
    scaled = a * 134217729.0
    high = scaled - (scaled - a)
    return high, a - high


def _two_product(a: Any, b: Any) -> tuple[Any, Any]:
    """Return the rounded product and its rounding error (Dekker)."""
    product = a * b
    (a1, a2), (b1, b2) = _halves(a), _halves(b)
    return product, a2 * b2 - (((product - a1 * b1) - a2 * b1) - a1 * b2)


def fma_of_integers(a: float, b: float, c: float) -> float:
    """The value a * b + c of Python floats, rounded once, by a division of Python integers."""
    if not (np.isfinite(a) and np.isfinite(b)):
        return a * b + c
    if not np.isfinite(c):
        return c
    if a == 0.0 or b == 0.0:
        return a * b + c
    (an, ad), (bn, bd), (cn, cd) = (float(v).as_integer_ratio() for v in (a, b, c))
    total, divisor = an * bn * cd + cn * ad * bd, ad * bd * cd
    try:
        return total / divisor
    except OverflowError:
        return float("inf") if total > 0 else float("-inf")


_BY_INTEGERS = np.frompyfunc(fma_of_integers, 3, 1)


def _fma_of_doubles(a: Any, b: Any, c: Any) -> Any:
    """The value a * b + c of float64, rounded once.

    The method is from Boldo and Melquiond, "Emulation of a FMA and correctly rounded sums", 2008,
    figure 4.
    """
    shape = np.broadcast_shapes(*map(np.shape, (a, b, c)))
    a, b, c = (np.broadcast_to(v, shape).astype(np.float64) for v in (a, b, c))
    high, low = _two_product(a, b)
    inner, inner_rest = two_sum(c, low)
    outer, outer_rest = two_sum(high, inner)
    result = outer + _to_odd(*two_sum(inner_rest, outer_rest))
    sizes = [abs(v) for v in (a, b, c)]
    safe = np.all([(s > 1 / _SAFE) & (s < _SAFE) for s in sizes[:2]], axis=0)
    safe &= (sizes[2] > 1 / _SAFE) & (sizes[2] < _SAFE)
    if not safe.all():
        rest = ~safe
        slow: Any = _BY_INTEGERS(a[rest], b[rest], c[rest])
        result[rest] = slow.astype(np.float64)
    return result


class NumpyArithmetic(Arithmetic):
    """The arithmetic of NumPy scalars and arrays."""

    def __init__(self, code: str) -> None:
        """Compute in a dtype: "f4" or "f8"."""
        self.code = code
        self.float_type: Any = np.dtype(code).type
        self.int_type: Any = np.dtype(f"i{code[1]}").type

    def constant(self, value: float) -> Numeric:
        """Return a constant of this precision."""
        return self.float_type(value)

    def fma(self, a: Numeric, b: Numeric, c: Numeric) -> Numeric:
        """Return a * b + c, rounded once; one operand may be a Python float."""
        operands = [self.float_type(v) if isinstance(v, float) else v for v in (a, b, c)]
        if self.code == "f4":
            return _fma_of_singles(*operands)
        if all(np.ndim(v) == 0 for v in operands):
            return np.float64(fma_of_integers(*map(float, operands)))
        return _fma_of_doubles(*operands)

    def select(self, condition: Numeric, yes: Numeric, no: Numeric) -> Numeric:
        """Return `yes` if the condition holds, else `no`; either may be a Python number."""
        like = no if isinstance(yes, float | int) and not isinstance(yes, np.generic) else yes
        chosen: Any = np.where(condition, yes, no)
        return chosen.astype(like.dtype)[()]

    def sqrt(self, x: Numeric) -> Numeric:
        """Return the square root."""
        return np.sqrt(x)

    def rint(self, x: Numeric) -> Numeric:
        """Return the nearest integer as a float; ties go to even."""
        return np.rint(x)

    def copysign(self, x: Numeric, sign: Numeric) -> Numeric:
        """Return x with the sign bit of `sign`."""
        return np.copysign(x, sign)

    def bits(self, x: Numeric) -> Numeric:
        """Return the bits of a float as a signed integer."""
        return x.view(self.int_type)

    def number(self, bits: Numeric) -> Numeric:
        """Return the float with these bits."""
        return bits.view(self.float_type)

    def to_float(self, whole: Numeric) -> Numeric:
        """Return an integer as a float."""
        return whole.astype(self.float_type)

    def narrowed(self, x: Numeric) -> Numeric:
        """Return a value of `wide`, rounded to float32."""
        return x.astype(np.float32)

    def beyond(
        self,
        bound: float,
        x: Numeric,
        usual: Numeric,
        name: str,
        recipe: Callable[[Arithmetic, Numeric], Numeric],
    ) -> Numeric:
        """Return recipe(x) for elements with |x| > bound, and `usual` for other elements."""
        needed = abs(x) > bound
        return self.select(needed, recipe(self, x), usual) if np.any(needed) else usual

    def entry(self, name: str, table: tuple[float, ...], index: Numeric) -> Numeric:
        """Return table[index]; an index out of range is limited, since its result is not used."""
        return np.asarray(table, self.float_type)[np.clip(index, 0, len(table) - 1)]

    @property
    def wide(self) -> "NumpyArithmetic":
        """The arithmetic of float64."""
        return NumpyArithmetic("f8")

    def widened(self, x: Numeric) -> Numeric:
        """Return a float, converted to float64, as a value of `wide`."""
        return x.astype(np.float64)
