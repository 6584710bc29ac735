"""sin, cos, tan: x less a multiple of pi or pi / 2 in three parts, and a polynomial of that.

Fused multiply-add makes the first step exact (W. J. Cody and W. Waite's needs shorter parts).
Numbers beyond REACH go through `turns`.
"""

from axiomjit.runtime.vector_math.arithmetic import Arithmetic, Value
from axiomjit.runtime.vector_math.coefficients import COS, SIN, SIN_SHORT, TAN, TAN_SHORT
from axiomjit.runtime.vector_math.turns import quarter_turns

REACH = 2.0**45
"""Up to this the products of the parts and of whole numbers lose nothing that matters."""
HALF_PIS = (1.5707963267948966, 6.123233995736765e-17, 1.082856673921914e-32)
"""pi / 2 as a sum of positive numbers, so that 0 times these leaves -0 as it is."""
PIS = (2.0 * HALF_PIS[0], 2.0 * HALF_PIS[1])
TWO_OVER_PI, ONE_OVER_PI = 0.6366197723675814, 0.3183098861837907


def _less(m: Arithmetic, x: Value, whole: Value, parts: tuple[float, ...]) -> Value:
    """x - whole * (the sum of the parts)."""
    for part in parts:
        x = m.fma(whole, -part, x)
    return x


def _rounded(m: Arithmetic, x: Value) -> Value:
    """A float64 in the precision of m."""
    return m.narrowed(x) if m.code == "f4" else x


def _sine(m: Arithmetic, r: Value, quarters: Value) -> Value:
    """sin(r + quarters * pi / 2) for |r| <= pi / 4."""
    z = r * r
    sine = m.copysign(m.fma(r * z, m.polynomial(z, SIN["f8"]), r), r)  # -0 stays
    cosine = m.fma(z, m.polynomial(z, COS["f8"]), 1.0)
    result = m.select((quarters & 1) == 0, sine, cosine)
    return m.number(m.bits(result) ^ ((quarters & 2) << 62))


def _short_sine(m: Arithmetic, r: Value, halves: Value) -> Value:
    """sin(r + halves * pi) for |r| <= pi / 2, right for float32."""
    z = r * r
    result = r * m.fma(z, m.polynomial(z, SIN_SHORT["f8"]), 1.0)
    return m.number(m.bits(result) ^ (halves << 63))


def _far_sin(m: Arithmetic, x: Value) -> Value:
    w = m.wide
    whole, angle, rest = quarter_turns(w, m.widened(x), w.rint)
    return _rounded(m, _sine(w, angle + rest, w.nearest_whole(whole, 1.0)[1]))


def _far_cos(m: Arithmetic, x: Value) -> Value:
    w = m.wide
    whole, angle, rest = quarter_turns(w, m.widened(x), w.rint)
    return _rounded(m, _sine(w, angle + rest, w.nearest_whole(whole, 1.0)[1] + 1))


def sin(m: Arithmetic, x: Value) -> Value:
    """The sine; float32 is computed in float64."""
    w, y = m.wide, m.widened(x)
    if m.code == "f4":
        whole, halves = w.nearest_whole(y, ONE_OVER_PI)
        usual = m.narrowed(_short_sine(w, _less(w, y, whole, PIS), halves))
    else:
        whole, quarters = m.nearest_whole(x, TWO_OVER_PI)
        usual = _sine(m, _less(m, x, whole, HALF_PIS), quarters)
    return m.beyond(REACH, x, usual, _far_sin)


def cos(m: Arithmetic, x: Value) -> Value:
    """The cosine; float32 is computed in float64, as a sine of odd multiples of pi / 2."""
    w, y = m.wide, m.widened(x)
    if m.code == "f4":
        whole, halves = w.nearest_whole(w.fma(y, ONE_OVER_PI, -0.5), 1.0)
        r = _less(w, y, w.fma(whole, 2.0, 1.0), HALF_PIS[:2])
        usual = m.narrowed(_short_sine(w, r, halves + 1))
    else:
        whole, quarters = m.nearest_whole(x, TWO_OVER_PI)
        usual = _sine(m, _less(m, x, whole, HALF_PIS), quarters + 1)
    return m.beyond(REACH, x, usual, _far_cos)


def _tangent(m: Arithmetic, r: Value, lost: Value, odd: Value) -> Value:
    """tan(r + lost) for |r| <= pi / 4, or where `odd` is odd -1 / tan(r + lost)."""
    z = r * r
    tangent = m.copysign(r + m.fma(r * z, m.polynomial(z, TAN["f8"]), lost), r)
    return m.select((odd & 1) == 0, tangent, -1.0 / tangent)


def _far_tan(m: Arithmetic, x: Value) -> Value:
    w = m.wide
    whole, angle, rest = quarter_turns(w, m.widened(x), w.rint)
    return _rounded(m, _tangent(w, angle, rest, w.nearest_whole(whole, 1.0)[1]))


def tan(m: Arithmetic, x: Value) -> Value:
    """The tangent; float32 is computed in float64, its quotient in both."""
    w, y = m.wide, m.widened(x)
    whole, odd = w.nearest_whole(y, TWO_OVER_PI)
    if m.code == "f8":
        first, second = m.fma(whole, -HALF_PIS[0], x), whole * HALF_PIS[1]
        r = first - second
        lost = ((first - r) - second) - m.fma(whole, HALF_PIS[1], -second)
        lost = m.fma(whole, -HALF_PIS[2], lost)
        return m.beyond(REACH, x, _tangent(m, r, lost, odd), _far_tan)
    r = _less(w, y, whole, HALF_PIS[:2])
    z = r * r
    tangent = r * w.fma(z, w.polynomial(z, TAN_SHORT["f8"]), 1.0)
    inverse = m.widened(-1.0 / m.narrowed(tangent))
    inverse = w.fma(inverse, w.fma(inverse, tangent, 1.0), inverse)
    usual = w.select((odd & 1) == 0, tangent, inverse)
    return m.beyond(REACH, x, m.narrowed(usual), _far_tan)
