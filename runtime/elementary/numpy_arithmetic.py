"""The arithmetic that runs recipes in NumPy, with the same bits as compiled recipes.

Values are NumPy scalars or arrays. NumPy has every operation except fused multiply-add, which this
module builds from exact operations.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from axiomjit.runtime.elementary.arithmetic import Arithmetic, Numeric, two_sum

_SAFE = 2.0**400
"""The bound of operands, with its reciprocal, for which `_fma_of_doubles` cannot overflow."""


def _to_odd(total: Any, rest: Any) -> Any:
    """The sum total + rest, rounded to odd: if it is inexact, the neighbour ending in 1."""
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
