"""sin, cos, tan: x less a multiple of pi / 2 in three parts, and a polynomial of that.

Fused multiply-add makes the first step exact (W. J. Cody and W. Waite's needs shorter parts).
Numbers beyond REACH go through `turns`, those of float32 before by way of float64.
"""

from axiomjit.runtime.vector_math.arithmetic import Arithmetic, Value
from axiomjit.runtime.vector_math.coefficients import COS, COS_REST, SIN, TAN, TAN_SHORT
from axiomjit.runtime.vector_math.turns import quarter_turns

REACH = {"f4": 2.0**17, "f8": 2.0**45}
"""Up to this the products of the parts and of whole numbers lose nothing that matters."""
HALF_PIS = {
    "f4": (1.570796251296997, 7.549789415861596e-08, 5.390302529957765e-15),
    "f8": (1.5707963267948966, 6.123233995736765e-17, 1.082856673921914e-32),
}
"""pi / 2 as a sum."""
TWO_OVER_PI = 0.6366197723675814


def _reduced(m: Arithmetic, x: Value) -> tuple[Value, Value, Value]:
    """The nearest number of quarter turns, and the angle that is left, as a sum."""
    large, middle, small = HALF_PIS[m.code]
    whole, quarters = m.nearest_whole(x, TWO_OVER_PI)
    first, second = m.fma(whole, -large, x), whole * middle
    r = first - second
    lost = ((first - r) - second) - m.fma(whole, middle, -second)
    return quarters, r, m.fma(whole, -small, lost)


def _sine(m: Arithmetic, r: Value, lost: Value, quarters: Value) -> Value:
    """sin(r + lost + quarters * pi / 2) for |r| <= pi / 4."""
    z = r * r
    sine = r + m.fma(r * z, m.polynomial(z, SIN[m.code]), lost)
    if m.code == "f4":
        half = r * -0.5
        cosine = m.fma(half, r, 1.0)
        rest = m.fma(half, r, 1.0 - cosine)
        cosine = cosine + m.fma(-r, lost, m.fma(z * z, m.polynomial(z, COS_REST["f4"]), rest))
    else:
        cosine = m.fma(z, m.polynomial(z, COS["f8"]), -(r * lost)) + 1.0
    result = m.select((quarters & 1) == 0, sine, cosine)
    return m.number(m.bits(result) ^ ((quarters & 2) << (62 if m.code == "f8" else 30)))


def _tangent(m: Arithmetic, r: Value, lost: Value, odd: Value) -> Value:
    """tan(r + lost) for |r| <= pi / 4, or where `odd` is odd -1 / tan(r + lost); float64."""
    z = r * r
    tangent = r + m.fma(r * z, m.polynomial(z, TAN["f8"]), lost)
    return m.select((odd & 1) == 0, tangent, -1.0 / tangent)


def _short_tangent(m: Arithmetic, x: Value) -> Value:
    """The tangent of a float32, in float64; the inverse starts from that of float32."""
    w, y = m.wide, m.widened(x)
    whole, odd = w.nearest_whole(y, TWO_OVER_PI)
    r = w.fma(whole, -HALF_PIS["f8"][1], w.fma(whole, -HALF_PIS["f8"][0], y))
    z = r * r
    tangent = r * w.fma(z, w.polynomial(z, TAN_SHORT["f8"]), 1.0)
    inverse = m.widened(-1.0 / m.narrowed(tangent))
    inverse = w.fma(inverse, w.fma(inverse, tangent, 1.0), inverse)
    return m.narrowed(w.select((odd & 1) == 0, tangent, inverse))


def _far(m: Arithmetic, x: Value) -> tuple[Value, Value, Value]:
    """`_reduced` for numbers beyond the reach of float64."""
    whole, angle, rest = quarter_turns(m, x, m.rint)
    return m.nearest_whole(whole, 1.0)[1], angle, rest


def _far_sin(m: Arithmetic, x: Value) -> Value:
    if m.code == "f4":
        return m.narrowed(sin(m.wide, m.widened(x)))
    quarters, r, lost = _far(m, x)
    return _sine(m, r, lost, quarters)


def _far_cos(m: Arithmetic, x: Value) -> Value:
    if m.code == "f4":
        return m.narrowed(cos(m.wide, m.widened(x)))
    quarters, r, lost = _far(m, x)
    return _sine(m, r, lost, quarters + 1)


def _far_tan(m: Arithmetic, x: Value) -> Value:
    if m.code == "f4":
        return m.narrowed(tan(m.wide, m.widened(x)))
    quarters, r, lost = _far(m, x)
    return _tangent(m, r, lost, quarters)


def sin(m: Arithmetic, x: Value) -> Value:
    """The sine."""
    quarters, r, lost = _reduced(m, x)
    usual = m.select(x == 0.0, x, _sine(m, r, lost, quarters))  # -0 stays
    return m.beyond(REACH[m.code], x, usual, _far_sin)


def cos(m: Arithmetic, x: Value) -> Value:
    """The cosine."""
    quarters, r, lost = _reduced(m, x)
    return m.beyond(REACH[m.code], x, _sine(m, r, lost, quarters + 1), _far_cos)


def tan(m: Arithmetic, x: Value) -> Value:
    """The tangent."""
    if m.code == "f4":
        return m.beyond(REACH["f8"], x, _short_tangent(m, x), _far_tan)
    quarters, r, lost = _reduced(m, x)
    usual = m.select(x == 0.0, x, _tangent(m, r, lost, quarters))
    return m.beyond(REACH["f8"], x, usual, _far_tan)
