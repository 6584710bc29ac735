"""Inverse circular functions: a multiple of pi / 2 plus or minus a polynomial."""

from axiomjit.runtime.vector_math.arithmetic import Arithmetic, Value
from axiomjit.runtime.vector_math.coefficients import ARCSIN, ARCTAN
from axiomjit.runtime.vector_math.constants import HALF_PI, INFINITY, NAN
from axiomjit.runtime.vector_math.entries import ARC_ANGLES, ARC_POINTS

FAR = {"f4": 2.0**30, "f8": 2.0**60}
"""From here on the arc tangent is pi / 2."""
COUNT = 16
"""The table has a point that is 0, and from FIRST to LAST two per power of 2."""
FIRST, LAST = 1 / 16, 12.0
LEAD_OF_FIRST = 6
"""The lowest four bits of the exponent of FIRST and the bit that follows."""


def _placed(table: tuple[float, ...], place: int) -> tuple[float, ...]:
    """The table with each run of COUNT numbers rotated by `place`."""
    parts = (table[k : k + COUNT] for k in range(0, len(table), COUNT))
    return tuple(part[(k - place) % COUNT] for part in parts for k in range(COUNT))


def _arc(m: Arithmetic, q: Value, lost: Value | None = None) -> Value:
    """The arc tangent of a number up to 0.15, or of a sum."""
    z = q * q
    series = m.polynomial(z, ARCTAN[m.code])
    return m.fma(q * z, series, q) if lost is None else q + m.fma(q * z, series, lost)


def arctan(m: Arithmetic, x: Value) -> Value:
    """The arc tangent of a point c beside |x|, and that of (|x| - c) / (1 + |x| c)."""
    points, angles = (
        _placed(table[m.code][:COUNT], LEAD_OF_FIRST) for table in (ARC_POINTS, ARC_ANGLES)
    )
    size = abs(x)
    size = m.select(size > FAR[m.code], FAR[m.code], size)
    lead = m.bits(m.bounded(size, FIRST, LAST)) >> m.mantissa - 1
    c, angle = m.lookup("arctan_points", points, lead), m.lookup("arctan_angles", angles, lead)
    return m.copysign(angle + _arc(m, (size - c) / m.fma(size, c, 1.0)), x)


def _scaled(m: Arithmetic, rise: Value, run: Value) -> tuple[Value, Value]:
    """Two positive numbers times a power of 2: the larger one is from 2 to 4 then.

    Beside infinity, which becomes 4, other numbers are 0; a run of 0 is a little more.
    """
    exponents = m.bits(m.constant(INFINITY))
    larger = m.bounded(m.select(run > rise, run, rise), 2.0 ** (1 - m.bias), INFINITY)
    scale = m.number(exponents - (m.bits(larger) & exponents))
    rise, run = (m.select(v * scale < 4.0, v * scale, 4.0) for v in (rise, run))
    return rise, m.bounded(run, FAR[m.code] ** -2, 4.0)


def arctan2(m: Arithmetic, y: Value, x: Value) -> Value:
    """The angle of the point (x, y), as `arctan` of |y| / |x|, or what that is below pi.

    The point c is chosen by the difference of the bits, which is roughly the quotient's logarithm.
    """
    points, angles = (_placed(table[m.code], -COUNT // 2) for table in (ARC_POINTS, ARC_ANGLES))
    rise, run = _scaled(m, abs(y), abs(x))
    lead = m.bounded((m.bits(rise) - m.bits(run)) >> m.mantissa - 1, -COUNT // 2, COUNT // 2 - 1)
    left = m.bits(x) >> 8 * int(m.code[1]) - 1
    place = (lead & COUNT - 1) | (left & COUNT)
    c, angle = m.lookup("arctan2_points", points, place), m.lookup("arctan2_angles", angles, place)
    above, below = m.fma(-c, run, rise), m.fma(rise, c, run)
    q = above / below
    lost = None
    if m.code == "f4":  # no bit to spare for the roundings of the quotient and of what is below
        lost = m.fma(-(q * rise), c, m.fma(-q, run, above)) * m.rough_inverse(below)
    arc = _arc(m, q, lost)
    arc = m.number(m.bits(arc) ^ (m.bits(x) & m.bits(m.constant(-0.0))))
    return m.select((x != x) | (y != y), NAN, m.copysign(angle + arc, y))


def _half_side(m: Arithmetic, x: Value) -> tuple[Value, Value, Value, Value]:
    """Whether |x| > 1/2; z; then twice the root of z = (1 - |x|) / 2 and what it lacks.

    The latter is left out in float64, which has bits to spare.
    """
    size = abs(x)
    far = size > 0.5
    z = m.select(far, m.fma(size, -0.5, 0.5), size * size)
    root = m.sqrt(z)
    short = m.code == "f4"
    lost = m.fma(-root, root, z) * m.rough_inverse(root) if short else m.constant(0.0)
    return far, z, root + root, lost


def _below(m: Arithmetic, base: Value, main: Value, rest: Value) -> Value:
    """base + main + rest, where base is 0 or the largest."""
    total = base + main
    return total + (((base - total) + main) + rest)


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
    left = x < 0.0
    q = m.select(far, m.copysign(side, x), -x)
    turns = m.select(far, m.select(left, m.constant(2.0), 0.0), 1.0)
    rest = m.fma(turns, low, m.select(far, m.select(left, -lost, lost), 0.0))
    rest = m.fma(q * z, m.polynomial(z, ARCSIN[m.code]), rest)
    if m.code == "f4":
        return _below(m, turns * high, q, rest)
    return m.fma(turns, high, q) + rest
