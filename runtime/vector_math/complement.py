"""The complement of the error function.

erfc(x) = exp(-x**2) g(x) for x >= 0, and 2 - erfc(-x) below.

In float32 exp(-x**2) = 2**(k / 32) e**r, whose power T is a number of 12 bits, and g(x) = V + d, V a
number of 12 bits at a point of the piece of x, d a polynomial of the distance to it. So T V has no
error, and what is added to it is small (a table-driven method, as P. T. P. Tang's).

In float64 g(x) = p(t) / (1 + 2 x) with t = (x - 4) / (x + 4), whose numerator p varies little from 0
to infinity (M. M. Shepherd and J. G. Laframboise, Mathematics of Computation 36, 1981); its factors
are sums of two numbers.
"""

from axiomjit.runtime.vector_math import entries
from axiomjit.runtime.vector_math.arithmetic import Arithmetic, Value
from axiomjit.runtime.vector_math.coefficients import ERF, ERFC, EXP
from axiomjit.runtime.vector_math.constants import LN2, LOG2_E

AT_4 = (1.2329951186255526, -4.625318921008717e-17)
"""exp(16) erfc(4) 9."""
COUNT = PARTS = 32
"""Of pieces, and of the powers from 1 to 2."""
DEGREE = 5
"""Of the polynomials of pieces."""
LAST = {"f4": 10.1, "f8": 28.0}
"""Here and beyond erfc is 0."""
STEP = (0.02166748046875, -6.631076303165173e-06)
"""log(2) / PARTS as a sum whose first part has 11 bits."""
LOW = -121.0
"""Below 2 to this exponent results may be below normal numbers."""


def _pieces(m: Arithmetic, size: Value) -> tuple[Value, Value]:
    """V and d."""
    place = m.bits(size + 1.0) >> (m.mantissa - 3)

    def entry(row: int) -> Value:
        part = entries.ERFC_PIECES[m.code][COUNT * row : COUNT * (row + 1)]
        return m.lookup(f"erfc_{row}", part, place)

    t = size - entry(0)
    slope = entry(DEGREE + 1)
    for row in range(DEGREE, 1, -1):
        slope = m.fma(slope, t, entry(row))
    return entry(1), slope * t


def _erfc_of_singles(m: Arithmetic, x: Value) -> Value:
    """As above; numbers below the normal ones are made as integers, which takes no longer."""
    size = m.select(abs(x) > LAST["f4"], LAST["f4"], abs(x))
    magic, (high, low) = 1.5 * 2.0**m.mantissa, STEP
    shifted = m.fma(size * size, -PARTS * LOG2_E, magic)
    count, place = shifted - magic, m.bits(shifted)
    r = m.fma(count, -low, m.fma(-size, size, count * -high))
    r = r + m.lookup("short_powers_rest", entries.SHORT_POWERS_REST[m.code], place)
    rest = m.fma(r * r, m.fma(r, 1.0 / 6.0, m.constant(0.5)), r)
    value, beside = _pieces(m, size)
    power = m.lookup("short_powers", entries.SHORT_POWERS[m.code], place)
    beside = beside * power
    main = value * power
    result = main + m.fma(main + beside, rest, beside)
    exponent = count * (1.0 / PARTS)
    low = exponent < LOW
    result = m.scaled(result, m.select(low, exponent + 149.0, exponent), PARTS)
    far = m.select(low, m.number(m.integer(result)), result)
    return m.select(x < 0.0, 2.0 - far, far)


def _slope(m: Arithmetic, x: Value) -> Value:
    """erf(x) / x - 1 for small x."""
    return m.polynomial(x * x, ERF[m.code])


def _far(m: Arithmetic, x: Value) -> Value:
    """erfc(x) for x > 1 / 2."""
    x = m.bounded(x, 0.25, LAST["f8"])
    square = x * x
    high, low = LN2["f8"]
    whole, exponent = m.nearest_whole(square, -LOG2_E)
    reduced = m.fma(whole, -low, m.fma(whole, -high, -square)) - m.fma(x, x, -square)
    part = reduced * m.fma(reduced, m.parallel(reduced, reduced * reduced, EXP["f8"]), 1.0)
    power = part + 1.0
    power_low = (1.0 - power) + part
    t = (x - 4.0) / (x + 4.0)
    first, second = AT_4
    part = m.fma(t, m.parallel(t, t * t, ERFC["f8"]), second)
    scaled = part + first
    scaled_low = (first - scaled) + part
    product = power * scaled
    product_low = m.fma(power, scaled, -product) + (power * scaled_low + power_low * scaled)
    divisor = m.fma(x, 2.0, 1.0)
    divisor_low = m.fma(x, 2.0, 1.0 - divisor)
    inverse = 1.0 / divisor
    result = product * inverse
    rest = m.fma(-result, divisor, product) + m.fma(-result, divisor_low, product_low)
    return m.scaled(m.fma(rest, inverse, result), whole)


def _erfc_of_doubles(m: Arithmetic, x: Value) -> Value:
    size = abs(x)
    near = 0.5 - m.fma(x, _slope(m, x), x - 0.5)
    far = _far(m, size)
    return m.select(size < 0.5, near, m.select(x < 0.0, 2.0 - far, far))




def erfc(m: Arithmetic, x: Value) -> Value:
    """1 - erf(x)."""
    return _erfc_of_singles(m, x) if m.code == "f4" else _erfc_of_doubles(m, x)
