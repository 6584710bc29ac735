"""Logarithms of sums of exponentials."""

from collections.abc import Callable

from axiomjit.runtime.vector_math.arithmetic import Arithmetic, Value
from axiomjit.runtime.vector_math.constants import LN2, LOG2_E
from axiomjit.runtime.vector_math.exponential import exp, exp2
from axiomjit.runtime.vector_math.logarithm import log1p

Recipe = Callable[[Arithmetic, Value], Value]


def _sum(m: Arithmetic, x: Value, y: Value, power: Recipe, unit: float) -> Value:
    """The larger one, and unit * log(1 + power(-|x - y|)); float32 through float64."""
    w, wide_x, wide_y = m.wide, m.widened(x), m.widened(y)
    larger = w.select(wide_x > wide_y, wide_x, wide_y)
    rest = log1p(w, power(w, -abs(wide_x - wide_y))) * unit
    # infinities that are equal have no difference
    result = w.select(wide_x == wide_y, wide_x + sum(LN2["f8"]) * unit, larger + rest)
    return m.narrowed(result) if m.code == "f4" else result


def logaddexp(m: Arithmetic, x: Value, y: Value) -> Value:
    """log(e**x + e**y)."""
    return _sum(m, x, y, exp, 1.0)


def logaddexp2(m: Arithmetic, x: Value, y: Value) -> Value:
    """log2(2**x + 2**y)."""
    return _sum(m, x, y, exp2, LOG2_E)
