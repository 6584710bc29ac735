"""Inverse circular functions: a polynomial of what is left, below a multiple of pi / 2."""

from axiomjit.runtime.vector_math.arithmetic import Arithmetic, Value
from axiomjit.runtime.vector_math.coefficients import ARCSIN, ARCTAN, ARCTAN_SHORT
from axiomjit.runtime.vector_math.constants import HALF_PI

FAR = {"f4": 2.0**40, "f8": 2.0**80}
"""Beyond this the arc tangent is pi / 2."""


def _below(m: Arithmetic, base: Value, main: Value, rest: Value) -> Value:
    """base + main + rest, where base is 0 or the largest."""
    total = base + main
    return total + (((base - total) + main) + rest)


def arctan(m: Arithmetic, x: Value) -> Value:
    """The arc tangent: q + q**3 p(q**2) of q = |x|, or of 1 / |x|, which goes off pi / 2."""
    high, low = HALF_PI[m.code]
    size = m.select(abs(x) > FAR[m.code], FAR[m.code], abs(x))
    inverse = 1.0 / size
    far = size > 1.0
    q = m.select(far, -inverse, size)
    z = q * q
    # The slope 1 / (1 + z), roughly.
    lost = m.fma(-inverse, size, 1.0) * (inverse * m.fma(z, -0.5, 1.0))
    rest = m.fma(q * z, m.polynomial(z, ARCTAN[m.code]), m.select(far, low - lost, 0.0))
    return m.copysign(_below(m, m.select(far, m.constant(high), 0.0), q, rest), x)


def arctan2(m: Arithmetic, y: Value, x: Value) -> Value:
    """The angle of the point (x, y): the arc tangent of a quotient up to 1, in its quadrant.

    float32 is computed in float64.
    """
    short = m.code == "f4"
    rise, run, m = abs(m.widened(y)), m.widened(x), m.wide
    high, low = HALF_PI[m.code]
    size = abs(run)
    steep, left = rise > size, m.copysign(m.constant(1.0), run) < 0.0
    small, large = m.select(steep, size, rise), m.select(steep, rise, size)
    alike = m.select(large == 0.0, m.constant(0.0), 1.0)
    q = m.select(small == large, alike, small / large)
    z = q * q
    q = m.select(steep ^ left, -q, q)
    turns = m.select(steep, m.constant(1.0), m.select(left, m.constant(2.0), 0.0))
    series = m.polynomial(z, (ARCTAN_SHORT if short else ARCTAN)["f8"])
    result = _below(m, turns * high, q, m.fma(q * z, series, turns * low))
    return m.copysign(m.narrowed(result) if short else result, y)


def _half_side(m: Arithmetic, x: Value) -> tuple[Value, Value, Value, Value]:
    """Whether |x| > 1/2; z; then twice the root of z = (1 - |x|) / 2 and what it lacks."""
    size = abs(x)
    far = size > 0.5
    z = m.select(far, m.fma(size, -0.5, 0.5), size * size)
    root = m.sqrt(z)
    lost = m.fma(-root, root, z) * m.rough_inverse(root)
    return far, z, root + root, lost


def arcsin(m: Arithmetic, x: Value) -> Value:
    """The arc sine: q + q**3 p(q**2) of |x| up to 1/2, else twice that of sqrt((1 - |x|) / 2)."""
    high, low = HALF_PI[m.code]
    far, z, side, lost = _half_side(m, x)
    q = m.select(far, -side, abs(x))
    rest = m.fma(q * z, m.polynomial(z, ARCSIN[m.code]), m.select(far, low - lost, 0.0))
    return m.copysign(_below(m, m.select(far, m.constant(high), 0.0), q, rest), x)


def arccos(m: Arithmetic, x: Value) -> Value:
    """The arc cosine, as the arc sine: pi / 2 - arcsin(x), or 0 + or pi - of the side."""
    high, low = HALF_PI[m.code]
    far, z, side, lost = _half_side(m, x)
    q = m.select(far, m.copysign(side, x), -x)
    turns = m.select(far, m.select(x < 0.0, m.constant(2.0), 0.0), 1.0)
    rest = m.fma(turns, low, m.select(far, m.select(x < 0.0, -lost, lost), 0.0))
    rest = m.fma(q * z, m.polynomial(z, ARCSIN[m.code]), rest)
    return _below(m, turns * high, q, rest)
