"""sin, cos, tan: x minus a multiple of pi / 2, which is held in three parts, then a polynomial.

Fused multiply-add makes the first subtraction exact (the parts of W. J. Cody and W. Waite must be
shorter). Numbers beyond REACH are reduced by `turns`; those of float32 are computed in float64.
"""

from collections.abc import Callable

from axiomjit.runtime.elementary.arithmetic import Arithmetic, Numeric
from axiomjit.runtime.elementary.coefficients import COS, SIN, TAN
from axiomjit.runtime.elementary.turns import quarter_turns

REACH = {"f4": 2.0**17, "f8": 2.0**45}
"""Up to this size the rounding errors of a reduction by three parts are small enough."""
HALF_PIS = {
    "f4": (1.570796251296997, 7.549789415861596e-08, 5.390302529957765e-15),
    "f8": (1.5707963267948966, 6.123233995736765e-17, 1.082856673921914e-32),
}
"""pi / 2 as a sum of three floats."""
TWO_OVER_PI = 0.6366197723675814
SLOPE = 0.59
"""The derivative of tan(r) / r with respect to r**2 at r = pi / 4."""


def _reduced(m: Arithmetic, x: Numeric) -> tuple[Numeric, Numeric, Numeric]:
    """Return the integer nearest to x / (pi / 2), and the remaining angle as a difference r - off.

    `off` is 0, not -0, where x is a zero: so the sine of -0 is -0.
    """
    large, middle, small = HALF_PIS[m.code]
    whole, quarters = m.nearest_whole(x, TWO_OVER_PI)
    first = m.fma(whole, -large, x)
    r = first - whole * middle
    return quarters, r, m.fma(whole, small, m.fma(whole, middle, r - first))


def _sine(m: Arithmetic, quarters: Numeric, r: Numeric, off: Numeric) -> Numeric:
    """sin(r - off + quarters * pi / 2) for |r| <= pi / 4."""
    z = m.fma(r, r, -((r + r) * off))
    sine = r - m.fma(r * z, m.polynomial(z, SIN[m.code]), off)
    cosine = m.fma(z, m.polynomial(z, (-0.5, *COS[m.code])), 1.0)
    result = m.select((quarters & 1) == 0, sine, cosine)
    return m.number(m.bits(result) ^ ((quarters & 2) << (62 if m.code == "f8" else 30)))


def _tangent(m: Arithmetic, odd: Numeric, r: Numeric, off: Numeric) -> Numeric:
    """tan(r - off) for |r| <= pi / 4, or -1 / tan(r - off) if the integer `odd` is odd.

    In float32 the rounding errors of r**2 and of the tangent are corrected: with them the result
    could exceed its error bound.
    """
    z = r * r
    less = off * m.fma(z, 1.5, 1.0)  # about tan(r) - tan(r - off)
    if m.code == "f4":
        less = m.fma(m.fma(r, r, -z), r * -SLOPE, less)
    rest = m.fma(r * z, m.polynomial(z, TAN[m.code]), -less)
    tangent = r + rest
    inverse = -1.0 / tangent
    if m.code == "f4":
        inverse = m.fma(inverse, m.fma(inverse, rest, m.fma(inverse, r, 1.0)), inverse)
    return m.select((odd & 1) == 0, tangent, inverse)


def _far(m: Arithmetic, x: Numeric) -> tuple[Numeric, Numeric, Numeric]:
    """Reduce a float64 beyond REACH, with the results of `_reduced`."""
    whole, angle, rest = quarter_turns(m, x, m.rint)
    return m.nearest_whole(whole, 1.0)[1], angle, -rest


def _of_angle(m: Arithmetic, x: Numeric, name: str, finish: Callable[..., Numeric]) -> Numeric:
    """Return `finish` of the quarter turns and the remaining angle of x."""

    def far(m: Arithmetic, x: Numeric) -> Numeric:
        if m.code == "f4":
            return m.narrowed(_of_angle(m.wide, m.widened(x), name, finish))
        return finish(m, *_far(m, x))

    return m.beyond(REACH[m.code], x, finish(m, *_reduced(m, x)), f"far_{name}", far)


def sin(m: Arithmetic, x: Numeric) -> Numeric:
    """The sine."""
    return _of_angle(m, x, "sin", _sine)


def cos(m: Arithmetic, x: Numeric) -> Numeric:
    """The cosine."""
    return _of_angle(m, x, "cos", lambda m, quarters, r, off: _sine(m, quarters + 1, r, off))


def tan(m: Arithmetic, x: Numeric) -> Numeric:
    """The tangent."""
    return _of_angle(m, x, "tan", _tangent)
