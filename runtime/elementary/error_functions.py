"""The error functions erf and erfc.

In float32, erf is a piecewise polynomial. In float64, erf is a polynomial for small x, otherwise 1
- e**p(x), by Juffa's method with our own polynomials.

erfc(x) = exp(-x**2) g(x) for x >= 0, otherwise 2 - erfc(-x).

In float32, exp(-x**2) = 2**(k / 32) e**r, where the power T has 12 bits, and g(x) = V + d. V has 12
bits, too, and is the value of g at a point in the piece of x. d is a polynomial of the distance to
this point. Hence the product T V is exact, and the terms that are added to it are small, as in
Tang's table-driven methods.

In float64 g(x) = p(t) / (1 + 9/8 x) with t = (x - 3) / (x + 3), where the numerator p varies little
from 0 to infinity (after Shepherd and Laframboise, Mathematics of Computation 36, 1981, with 1 + 2
x as divisor).
"""

from axiomjit.runtime.elementary.arithmetic import (
    LN2,
    LOG2_E,
    OF_ERF,
    Arithmetic,
    Numeric,
    piecewise,
)
from axiomjit.runtime.elementary.tables import (
    ERF,
    ERF_PIECES,
    ERFC,
    ERFC_LOG,
    ERFC_PIECES,
    EXP,
    SHORT_POWERS,
    SHORT_POWERS_REST,
)

AT_3 = (0.783130036418581, 5.420516985876799e-19)
"""p at t = 0, exp(9) erfc(3) 35 / 8, as a sum of two floats."""
RISE = 9 / 8
"""The slope of the denominator, near 2 / sqrt(pi), so that p is flat at x = 0."""
COUNT = PARTS = 32
"""The number of pieces, and the number of powers of 2**(1/32) from 1 to 2."""
DEGREE = 5
"""The degree of the polynomials of pieces."""
LAST = {"f4": 10.1, "f8": 28.0}
"""For each precision, the number from which on erfc is 0."""
STEP = (0.02166748046875, -6.631076303165173e-06)
"""log(2) / PARTS as a sum of two floats; the first float has 11 bits."""
LOW = -122.0
"""The exponent of the power below which the result is less than 2**-126 and subnormal."""
UNITS = 2.0**23
"""2**23, from which on float32 numbers are integers; adding it rounds to an integer."""
ERF_BEND = 0.96
"""The bound of x below which erf is a polynomial of x and x**2."""
ERF_FLAT = 6.0
"""The bound of x beyond which erf is 1."""


def _pieces(m: Arithmetic, size: Numeric) -> tuple[Numeric, Numeric]:
    """Return V and d, which the docstring of the module explains."""
    place = m.bits(size + 1.0) >> (m.mantissa - 3)

    def entry(row: int) -> Numeric:
        part = ERFC_PIECES[m.code][COUNT * row : COUNT * (row + 1)]
        return m.lookup(f"erfc_{row}", part, place)

    t = size - entry(0)
    slope = entry(DEGREE + 1)
    for row in range(DEGREE, 1, -1):
        slope = m.fma(slope, t, entry(row))
    return entry(1), slope * t


def _erfc_of_singles(m: Arithmetic, x: Numeric) -> Numeric:
    """The function erfc in float32; subnormal results are computed as integers."""
    size = m.select(abs(x) > LAST["f4"], LAST["f4"], abs(x))
    magic, (high, low) = 1.5 * 2.0**m.mantissa, STEP
    shifted = m.fma(size * size, -PARTS * LOG2_E, magic)
    count, place = shifted - magic, m.bits(shifted)
    r = m.fma(count, -low, m.fma(-size, size, count * -high))
    r = r + m.lookup("short_powers_rest", SHORT_POWERS_REST[m.code], place)
    rest = m.fma(r * r, m.fma(r, 1.0 / 6.0, m.constant(0.5)), r)
    value, beside = _pieces(m, size)
    power = m.lookup("short_powers", SHORT_POWERS[m.code], place)
    beside = beside * power
    main = value * power
    result = main + m.fma(main + beside, rest, beside)
    exponent = count * (1.0 / PARTS)
    few = exponent < LOW
    result = m.scaled(result, m.select(few, exponent + 149.0, exponent))
    integer = m.bits(result + UNITS) - m.bits(m.constant(UNITS))
    far = m.select(few, m.number(integer), result)
    return m.select(x < 0.0, 2.0 - far, far)


def _erfc_of_doubles(m: Arithmetic, x: Numeric) -> Numeric:
    """The function erfc in float64; two quotients share one division, whose error is corrected."""
    size = m.select(abs(x) > LAST["f8"], LAST["f8"], abs(x))
    high, low = LN2["f8"]
    square = size * size
    whole = m.nearest_whole(square, -LOG2_E)[0]
    r = m.fma(whole, -high, -square) - m.fma(whole, low, m.fma(size, size, -square))
    rest = m.fma(r * r, m.paired(r, EXP["f8"]), r)
    divisor, other = m.fma(size, RISE, m.constant(1.0)), size + 3.0
    inverse = 1.0 / (divisor * other)
    t = (size - 3.0) * (divisor * inverse)
    t = m.fma(m.fma(-t, other, size - 3.0), divisor * inverse, t)
    inverse = inverse * other
    first, second = AT_3
    part = m.fma(t, m.paired(t, ERFC["f8"]), second)
    main = (part + first) * inverse
    left = m.fma(-main, divisor, m.constant(first)) + part
    left = m.fma(-main, m.fma(size, RISE, 1.0 - divisor), left) * inverse
    result = main + m.fma(main, rest, m.fma(left, rest, left))
    far = m.scaled(result, whole)
    return m.select(x < 0.0, 2.0 - far, far)


def erfc(m: Arithmetic, x: Numeric) -> Numeric:
    """The complementary error function, 1 - erf(x)."""
    return _erfc_of_singles(m, x) if m.code == "f4" else _erfc_of_doubles(m, x)


def _slope(m: Arithmetic, x: Numeric) -> Numeric:
    """The value erf(x) / x - 1 for small x."""
    return m.polynomial(x * x, ERF[m.code])


def _erf_of_doubles(m: Arithmetic, x: Numeric) -> Numeric:
    size = m.select(abs(x) > ERF_FLAT, ERF_FLAT, abs(x))
    slope = m.paired(size, ERFC_LOG["f8"])
    whole, scale = m.nearest_power(m.fma(size, slope, -size), LOG2_E, 0)
    rest = m.fma(size, slope, m.fma(whole, -sum(LN2["f8"]), -size))
    curve = m.paired(rest, EXP["f8"])
    power = m.fma(rest, m.fma(rest, curve, 1.0), 1.0)
    far = m.fma(-scale, power, 1.0)
    return m.copysign(m.select(size < ERF_BEND, m.fma(size, _slope(m, size), size), far), x)


def erf(m: Arithmetic, x: Numeric) -> Numeric:
    """The error function: 2 / sqrt(pi) times the integral of exp(-t**2) from 0 to x."""
    if m.code == "f4":
        return piecewise(m, OF_ERF, ERF_PIECES[m.code], x)
    return _erf_of_doubles(m, x)
