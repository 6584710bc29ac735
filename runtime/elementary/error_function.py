"""The error function: piecewise polynomials in float32; in float64 a polynomial, or 1 - e**p(x).

The latter is for x that is not small (N. Juffa's method, with own polynomials).
"""

from axiomjit.runtime.elementary import pieces
from axiomjit.runtime.elementary.arithmetic import Arithmetic, Numeric
from axiomjit.runtime.elementary.coefficients import ERF, ERFC_LOG, EXP
from axiomjit.runtime.elementary.constants import LN2, LOG2_E
from axiomjit.runtime.elementary.pieces import piecewise
from axiomjit.runtime.elementary.single_entries import ERF_PIECES

BEND = 0.96
"""Below this erf is computed as a polynomial of x and x**2."""
FLAT = 6.0
"""Beyond this erf is 1."""


def _slope(m: Arithmetic, x: Numeric) -> Numeric:
    """erf(x) / x - 1 for small x."""
    return m.polynomial(x * x, ERF[m.code])


def _erf_of_doubles(m: Arithmetic, x: Numeric) -> Numeric:
    size = m.select(abs(x) > FLAT, FLAT, abs(x))
    slope = m.paired(size, ERFC_LOG["f8"])
    whole, scale = m.nearest_power(m.fma(size, slope, -size), LOG2_E, 0)
    rest = m.fma(size, slope, m.fma(whole, -sum(LN2["f8"]), -size))
    curve = m.paired(rest, EXP["f8"])
    power = m.fma(rest, m.fma(rest, curve, 1.0), 1.0)
    far = m.fma(-scale, power, 1.0)
    return m.copysign(m.select(size < BEND, m.fma(size, _slope(m, size), size), far), x)


def erf(m: Arithmetic, x: Numeric) -> Numeric:
    """2 / sqrt(pi) times the integral of exp(-t**2) from 0 to x."""
    if m.code == "f4":
        return piecewise(m, pieces.ERF, ERF_PIECES[m.code], x)
    return _erf_of_doubles(m, x)
