"""Logarithms of sums of exponentials."""

from collections.abc import Callable

from axiomjit.runtime.elementary.arithmetic import Arithmetic, Numeric
from axiomjit.runtime.elementary.constants import LN2, LOG2_E
from axiomjit.runtime.elementary.exponential import REACH, REACH2, exp, exp2
from axiomjit.runtime.elementary.logarithm import log1p, log2_1p

UnaryRecipe = Callable[[Arithmetic, Numeric], Numeric]
SMALL = 2.0**-54
"""Below this log(1 + x) is x."""


def _sum(
    m: Arithmetic,
    x: Numeric,
    y: Numeric,
    power: UnaryRecipe,
    reach: float,
    log: UnaryRecipe,
    unit: float,
) -> Numeric:
    """The larger operand plus log(1 + power(-|x - y|)); float32 is computed in float64.

    `log` is a recipe of log(1 + x), which is x * unit near 0; power(reach) is 0. No intermediate
    result is subnormal unless the result is, because subnormals are slow.
    """
    w, wide_x, wide_y = m.wide, m.widened(x), m.widened(y)
    larger = w.select(wide_x > wide_y, wide_x, wide_y)
    distance = abs(wide_x - wide_y)
    gone = distance > -reach
    share = w.select(gone, 0.0, power(w, -w.select(gone, 0.0, distance)))
    small = share < SMALL
    rest = w.select(small, share * unit, log(w, w.select(small, 0.0, share)))
    # equal infinities: their difference is NaN
    result = w.select(wide_x == wide_y, wide_x + sum(LN2["f8"]) * unit, larger + rest)
    return m.narrowed(result) if m.code == "f4" else result


def logaddexp(m: Arithmetic, x: Numeric, y: Numeric) -> Numeric:
    """log(e**x + e**y)."""
    return _sum(m, x, y, exp, REACH[m.code][0], log1p, 1.0)


def logaddexp2(m: Arithmetic, x: Numeric, y: Numeric) -> Numeric:
    """log2(2**x + 2**y)."""
    return _sum(m, x, y, exp2, REACH2[m.code][0], log2_1p, LOG2_E)
