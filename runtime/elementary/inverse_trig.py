"""Inverse trigonometric functions, as an angle (0, pi / 2, or from a table) plus a polynomial."""

from axiomjit.runtime.elementary.arithmetic import HALF_PI, INFINITY, NAN, Arithmetic, Numeric
from axiomjit.runtime.elementary.tables import ARC_ANGLES, ARC_POINTS, ARCSIN, ARCTAN

FAR = {"f4": 2.0**30, "f8": 2.0**60}
"""The number from which on the arc tangent rounds to pi / 2."""
COUNT = 16
"""The number of points in the table: 0, and two per power of 2 from FIRST to LAST."""
FIRST, LAST = 1 / 16, 12.0
LEAD_OF_FIRST = 6
"""The index of FIRST in an unrotated table: `bits(FIRST) >> mantissa - 1`, modulo COUNT."""


def _rotated(table: tuple[float, ...], place: int) -> tuple[float, ...]:
    """The table with each group of COUNT numbers rotated by `place`."""
    parts = (table[k : k + COUNT] for k in range(0, len(table), COUNT))
    return tuple(part[(k - place) % COUNT] for part in parts for k in range(COUNT))


def _arc(m: Arithmetic, q: Numeric, lost: Numeric | None = None) -> Numeric:
    """The arc tangent of q, or of q + lost, by a polynomial; |q| is at most 0.15."""
    z = q * q
    series = m.polynomial(z, ARCTAN[m.code])
    return m.fma(q * z, series, q) if lost is None else q + m.fma(q * z, series, lost)


def arctan(m: Arithmetic, x: Numeric) -> Numeric:
    """The arc tangent: that of c, from a table, plus that of (|x| - c) / (1 + |x| c)."""
    points, angles = (
        _rotated(table[m.code][:COUNT], LEAD_OF_FIRST) for table in (ARC_POINTS, ARC_ANGLES)
    )
    size = abs(x)
    size = m.select(size > FAR[m.code], FAR[m.code], size)
    lead = m.bits(m.bounded(size, FIRST, LAST)) >> m.mantissa - 1
    c, angle = m.lookup("arctan_points", points, lead), m.lookup("arctan_angles", angles, lead)
    return m.copysign(angle + _arc(m, (size - c) / m.fma(size, c, 1.0)), x)


def _scaled(m: Arithmetic, rise: Numeric, run: Numeric) -> tuple[Numeric, Numeric]:
    """Multiply two positive numbers by a power of 2 so that the larger one is in [2, 4).

    An infinite number becomes 4, and a finite number with it 0. A `run` of 0 becomes a tiny number.
    """
    exponents = m.bits(m.constant(INFINITY))
    larger = m.bounded(m.select(run > rise, run, rise), 2.0 ** (1 - m.bias), INFINITY)
    scale = m.number(exponents - (m.bits(larger) & exponents))
    rise, run = (m.select(v * scale < 4.0, v * scale, 4.0) for v in (rise, run))
    return rise, m.bounded(run, FAR[m.code] ** -2, 4.0)


def arctan2(m: Arithmetic, y: Numeric, x: Numeric) -> Numeric:
    """The angle of the point (x, y): arctan(|y| / |x|), or pi minus it if x is negative.

    The result has the sign of y. The difference of the bits of rise and run, which is roughly the
    logarithm of their quotient, gives the index of c in a table.
    """
    points, angles = (_rotated(table[m.code], -COUNT // 2) for table in (ARC_POINTS, ARC_ANGLES))
    rise, run = _scaled(m, abs(y), abs(x))
    lead = m.bounded((m.bits(rise) - m.bits(run)) >> m.mantissa - 1, -COUNT // 2, COUNT // 2 - 1)
    left = m.bits(x) >> 8 * int(m.code[1]) - 1
    place = (lead & COUNT - 1) | (left & COUNT)
    c, angle = m.lookup("arctan2_points", points, place), m.lookup("arctan2_angles", angles, place)
    above, below = m.fma(-c, run, rise), m.fma(rise, c, run)
    q = above / below
    lost = None
    if m.code == "f4":  # the error bound needs the rounding errors of the quotient and of `below`
        lost = m.fma(-(q * rise), c, m.fma(-q, run, above)) * m.rough_quotient(1.0, below)
    arc = _arc(m, q, lost)
    arc = m.number(m.bits(arc) ^ (m.bits(x) & m.bits(m.constant(-0.0))))
    return m.select((x != x) | (y != y), NAN, m.copysign(angle + arc, y))


def _half_angle(m: Arithmetic, x: Numeric) -> tuple[Numeric, Numeric, Numeric, Numeric]:
    """Return a mask of |x| > 1/2, z, 2 sqrt(z), and the rounding error of 2 sqrt(z).

    z is (1 - |x|) / 2 if |x| > 1/2, otherwise x**2. In float64 the error is returned as 0, since it
    does not matter for the error bound.
    """
    size = abs(x)
    far = size > 0.5
    z = m.select(far, m.fma(size, -0.5, 0.5), size * size)
    root = m.sqrt(z)
    short = m.code == "f4"
    lost = m.fma(-root, root, z) * m.rough_quotient(1.0, root) if short else m.constant(0.0)
    return far, z, root + root, lost


def _compensated_sum(m: Arithmetic, base: Numeric, main: Numeric, rest: Numeric) -> Numeric:
    """The sum base + main + rest, with the rounding error of base + main corrected.

    `base` is 0 or the largest of the terms.
    """
    total = base + main
    return total + (((base - total) + main) + rest)


def arcsin(m: Arithmetic, x: Numeric) -> Numeric:
    """The arc sine: a(|x|) for |x| <= 1/2, else pi / 2 - 2 a(sqrt((1 - |x|) / 2)), with x's sign.

    Here a(q) = q + q**3 p(q**2) is the arc sine of q for q up to 1/2.
    """
    high, low = HALF_PI[m.code]
    far, z, side, lost = _half_angle(m, x)
    q = m.select(far, -side, abs(x))
    rest = m.fma(q * z, m.polynomial(z, ARCSIN[m.code]), m.select(far, low - lost, 0.0))
    return m.copysign(_compensated_sum(m, m.select(far, m.constant(high), 0.0), q, rest), x)


def arccos(m: Arithmetic, x: Numeric) -> Numeric:
    """The arc cosine, by a(q) of `arcsin`: pi / 2 - a(x) for |x| up to 1/2.

    For larger |x|, the result is s = 2 a(sqrt((1 - |x|) / 2)), or pi - s for negative x.
    """
    high, low = HALF_PI[m.code]
    far, z, side, lost = _half_angle(m, x)
    left = x < 0.0
    q = m.select(far, m.copysign(side, x), -x)
    turns = m.select(far, m.select(left, m.constant(2.0), 0.0), 1.0)
    rest = m.fma(turns, low, m.select(far, m.select(left, -lost, lost), 0.0))
    rest = m.fma(q * z, m.polynomial(z, ARCSIN[m.code]), rest)
    if m.code == "f4":
        return _compensated_sum(m, turns * high, q, rest)
    return m.fma(turns, high, q) + rest
