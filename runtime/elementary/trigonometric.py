"""The functions sin, cos and tan, and their inverses.

A function is a polynomial of the difference of x and a multiple of pi / 2. An inverse function is
the sum of an angle (0, pi / 2, or from a table) and a polynomial.

In the difference, pi / 2 is a sum of three parts. Fused multiply-add makes the subtraction of the
first part exact; Cody and Waite, who have no such operation, use shorter parts. For numbers beyond
REACH, `quarter_turns` computes the difference; for float32, it computes in float64.

The number of quarter turns is x * 2 / pi modulo 4, after Payne and Hanek, "Radian reduction for
trigonometric functions", SIGNUM Newsletter 18, 1983. x is an integer times 2**s; a table has 2**s *
2 / pi modulo 4 for every 16th s, as a sum of four floats.
"""

from collections.abc import Callable
from functools import cache

from axiomjit.runtime.elementary.arithmetic import (
    HALF_PI,
    INFINITY,
    NAN,
    Arithmetic,
    Numeric,
    two_sum,
)
from axiomjit.runtime.elementary.tables import ARC_ANGLES, ARC_POINTS, ARCSIN, ARCTAN, COS, SIN, TAN

REACH = {"f4": 2.0**17, "f8": 2.0**45}
"""The bound of |x| up to which the subtraction of three parts is accurate enough."""
HALF_PIS = {
    "f4": (1.570796251296997, 7.549789415861596e-08, 5.390302529957765e-15),
    "f8": (1.5707963267948966, 6.123233995736765e-17, 1.082856673921914e-32),
}
"""The number pi / 2 as a sum of three floats."""
TWO_OVER_PI = 0.6366197723675814
SLOPE = 0.59
"""The derivative of tan(r) / r with respect to r**2 at r = pi / 4."""
TWO_OVER_PI_BITS = int(
    "a2f9836e4e441529fc2757d1f534ddc0db6295993c439041fe5163abdebbc561b7246e3a424dd2e0"
    "06492eea09d1921cfe1deb1cb129a73ee88235f52ebb4484e99c7026b45f7e413991d639835339f4"
    "9c845f8bbdf9283b1ff897ffde05980fef2f118b5a0a6d1f6d367ecf27cb09b74f463f669e5fea2d"
    "7527bac7ebe5f17b3d0739f78a5292ea6bfb5fb11f8d5d0856033046fc7b6bab",
    16,
)
"""The integer 2 / pi times 2**1216."""
FRACTION_BITS, ROW_STEP, FIRST_EXPONENT = 1216, 16, 44
"""The number of fraction bits of TWO_OVER_PI_BITS, the number of exponents per row of the table,
and the smallest exponent.
"""
ROW_PARTS = 4
LAST_ROW = (1024 - FIRST_EXPONENT) // ROW_STEP


def _row(power: int) -> list[float]:
    """A row of the table: 2**power * 2 / pi modulo 4, plus 4, as a sum of ROW_PARTS floats."""
    one = 1 << FRACTION_BITS + 8
    rest = (TWO_OVER_PI_BITS << power + 8) % (4 * one) + 4 * one
    parts = []
    for _ in range(ROW_PARTS):
        parts.append(rest / one)
        top, bottom = parts[-1].as_integer_ratio()
        rest -= top * one // bottom
    return parts


@cache
def turns_table() -> tuple[float, ...]:
    """All rows of the table, one after the other."""
    return tuple(
        part for row in range(LAST_ROW + 1) for part in _row(row * ROW_STEP + FIRST_EXPONENT - 52)
    )


def quarter_turns(
    m: Arithmetic, x: Numeric, nearest: Callable[[Numeric], Numeric]
) -> tuple[Numeric, Numeric, Numeric]:
    """Return the quarter turns of x modulo 4, and the remaining angle as a sum of two floats.

    x is a float64 of at least 2**FIRST_EXPONENT. `nearest` rounds a number from -6 to 6.
    """
    row = ((m.bits(abs(x)) >> m.mantissa) - (m.bias + FIRST_EXPONENT)) >> 4
    number = x * m.power_of_two(-(row << 4) - (FIRST_EXPONENT - m.mantissa))
    products = []
    for part in range(ROW_PARTS):
        factor = m.entry("turns", turns_table(), (row << 2) + part)
        high = number * factor
        products += [high, m.fma(number, factor, -high)]
    first, second, third = (p - m.rint(p * 0.25) * 4.0 for p in products[:3])
    # `first` and `second` are multiples of 2**-50; the terms after `third` are below 2**-34.
    turns, off = two_sum(first + second, third)
    whole = nearest(turns)
    more, lost = two_sum(products[3], products[4])
    left, lost_more = two_sum(turns - whole, more)
    left, lost_off = two_sum(left, off)
    low = lost_off + lost_more + lost + products[5] + products[6]
    high_half, low_half = HALF_PI[m.code]
    angle = left * high_half
    rest = m.fma(left, high_half, -angle) + m.fma(left, low_half, low * high_half)
    return whole, angle, rest


def _reduced(m: Arithmetic, x: Numeric) -> tuple[Numeric, Numeric, Numeric]:
    """Return the integer nearest to x / (pi / 2), and the remaining angle as r - off.

    If x is a zero, `off` is 0 and not -0, so that the sine of -0 is -0.
    """
    large, middle, small = HALF_PIS[m.code]
    whole, quarters = m.nearest_whole(x, TWO_OVER_PI)
    first = m.fma(whole, -large, x)
    r = first - whole * middle
    return quarters, r, m.fma(whole, small, m.fma(whole, middle, r - first))


def _sine(m: Arithmetic, quarters: Numeric, r: Numeric, off: Numeric) -> Numeric:
    """The value sin(r - off + quarters * pi / 2) for |r| <= pi / 4."""
    z = m.fma(r, r, -((r + r) * off))
    sine = r - m.fma(r * z, m.polynomial(z, SIN[m.code]), off)
    cosine = m.fma(z, m.polynomial(z, (-0.5, *COS[m.code])), 1.0)
    result = m.select((quarters & 1) == 0, sine, cosine)
    return m.number(m.bits(result) ^ ((quarters & 2) << (62 if m.code == "f8" else 30)))


def _tangent(m: Arithmetic, odd: Numeric, r: Numeric, off: Numeric) -> Numeric:
    """The value tan(r - off) for |r| <= pi / 4, or -1 / tan(r - off) if the integer `odd` is odd.

    In float32 the rounding errors of r**2 and of the tangent are corrected, since they could exceed
    the error bound.
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


def _reduced_exactly(m: Arithmetic, x: Numeric) -> tuple[Numeric, Numeric, Numeric]:
    """Return the results of `_reduced` for a float64 beyond REACH."""
    whole, angle, rest = quarter_turns(m, x, m.rint)
    return m.nearest_whole(whole, 1.0)[1], angle, -rest


def _of_angle(m: Arithmetic, x: Numeric, name: str, finish: Callable[..., Numeric]) -> Numeric:
    def far(m: Arithmetic, x: Numeric) -> Numeric:
        if m.code == "f4":
            return m.narrowed(_of_angle(m.wide, m.widened(x), name, finish))
        return finish(m, *_reduced_exactly(m, x))

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
    """The arc tangent of x: that of c, from a table, plus that of (|x| - c) / (1 + |x| c)."""
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

    If one number is infinite, it becomes 4 and the other, if finite, 0. A `run` of 0 becomes a tiny
    number.
    """
    exponents = m.bits(m.constant(INFINITY))
    larger = m.bounded(m.select(run > rise, run, rise), 2.0 ** (1 - m.bias), INFINITY)
    scale = m.number(exponents - (m.bits(larger) & exponents))
    rise, run = (m.select(v * scale < 4.0, v * scale, 4.0) for v in (rise, run))
    return rise, m.bounded(run, FAR[m.code] ** -2, 4.0)


def arctan2(m: Arithmetic, y: Numeric, x: Numeric) -> Numeric:
    """The angle of the point (x, y): a = arctan(|y| / |x|), or pi - a if x is negative.

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
    """The arc cosine: pi / 2 - a(x) for |x| up to 1/2, with the function a of `arcsin`.

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
