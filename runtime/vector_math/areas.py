"""Inverse hyperbolic functions, logarithms of sums that lose nothing, and hypot.

float32 is computed in float64, whose roots and inverses start from those of float32.
"""

from axiomjit.runtime.vector_math.arithmetic import Arithmetic, Value
from axiomjit.runtime.vector_math.coefficients import ARCTANH, LOG1P_SHORT
from axiomjit.runtime.vector_math.constants import INFINITY, LN2, NAN
from axiomjit.runtime.vector_math.logarithm import of_sum, split

FAR = 2.0**40
"""From here on x + sqrt(x**2 + 1) is 2 x."""
STRAIGHT = 2.0**-12
"""Below this float32 has x for arcsinh(x) and arctanh(x)."""
TINY = 1e-30
"""Keeps a quotient of zeros 0."""

Sum = tuple[Value, Value]


def _short_log(m: Arithmetic, x: Value) -> Value:
    """log(x) of a normal number, right for float32."""
    exponent, mantissa = split(m, x)
    f = mantissa - 1.0
    rest = f * m.polynomial(f, LOG1P_SHORT["f8"])
    return m.fma(exponent, sum(LN2["f8"]), rest)


def _short_root(m: Arithmetic, x: Value) -> Value:
    """sqrt(x) in float64 of what is in the range of float32, to 44 bits."""
    start = m.sqrt(m.wide.narrowed(x))
    root, inverse = m.widened(start), m.widened(0.5 / (start + TINY))
    return m.wide.fma(m.wide.fma(-root, root, x), inverse, root)


def _added_root(m: Arithmetic, x: Value, square: Value, square_low: Value) -> Sum:
    """x + sqrt(square), as a sum, of float64 up to FAR."""
    root = m.sqrt(square)
    off = m.fma(-root, root, square) + square_low
    root_low = off * m.widened(0.5 / m.narrowed(root + TINY))
    total = x + root
    shadow = total - x
    return total, ((x - (total - shadow)) + (root - shadow)) + root_low


def _log_of_twice(m: Arithmetic, x: Value, near: Sum) -> Value:
    """log of the sum, or from FAR on of 2 x."""
    far = x > FAR
    total, low = m.select(far, x, near[0]), m.select(far, 0.0, near[1])
    result = of_sum(m, total, low, total, m.select(far, m.constant(1.0), 0.0))
    return m.select(x < INFINITY, result, x)


def arcsinh(m: Arithmetic, x: Value) -> Value:
    """log(|x| + sqrt(x**2 + 1))."""
    size = abs(x)
    if m.code == "f4":
        w, y = m.wide, m.widened(m.select(size > FAR, FAR, size))
        total = y + _short_root(m, w.fma(y, y, 1.0))
        total = w.select(m.widened(size) > FAR, m.widened(size) * 2.0, total)
        result = m.narrowed(_short_log(w, total))
        return m.copysign(m.select((size > STRAIGHT) & (size < INFINITY), result, size), x)
    square = size * size
    total = square + 1.0
    shadow = total - square
    low = ((square - (total - shadow)) + (1.0 - shadow)) + m.fma(size, size, -square)
    return m.copysign(_log_of_twice(m, size, _added_root(m, size, total, low)), x)


def arccosh(m: Arithmetic, x: Value) -> Value:
    """log(x + sqrt(x**2 - 1))."""
    if m.code == "f4":
        w, y = m.wide, m.widened(m.select(x > FAR, FAR, x))
        total = y + _short_root(m, w.fma(y, y, -1.0))
        total = w.select(m.widened(x) > FAR, m.widened(x) * 2.0, total)
        result = m.select(x < INFINITY, m.narrowed(_short_log(w, total)), x)
        return m.select(x >= 1.0, result, NAN)
    square = x * x
    total = square - 1.0
    low = ((square - total) - 1.0) + m.fma(x, x, -square)
    return m.select(x >= 1.0, _log_of_twice(m, x, _added_root(m, x, total, low)), NAN)


def arctanh(m: Arithmetic, x: Value) -> Value:
    """log((1 + |x|) / (1 - |x|)) / 2: k log(2) / 2 and the arc of s = (q - 1) / (q + 1).

    q is the quotient over 2**k, near 1.
    """
    size = abs(x)
    beyond = m.select(size == 1.0, m.constant(INFINITY), NAN)
    if m.code == "f4":
        w, y = m.wide, m.widened(size)
        above, below = y + 1.0, 1.0 - y
        inverse = m.widened(1.0 / w.narrowed(below))
        quotient = above * w.fma(inverse, w.fma(-inverse, below, 1.0), inverse)
        result = m.select(size > STRAIGHT, m.narrowed(_short_log(w, quotient) * 0.5), size)
        return m.copysign(m.select(size < 1.0, result, beyond), x)
    above, below = size + 1.0, size - 1.0
    above_low, below_low = size - (above - 1.0), size - (below + 1.0)
    exponent = (m.bits(above) - m.bits(-below) + (1 << m.mantissa - 1)) >> m.mantissa
    scale = m.power_of_two(exponent)
    top, bottom = m.fma(scale, below, above), m.fma(-scale, below, above)
    inverse = 1.0 / bottom
    s = top * inverse
    low = (m.fma(-s, bottom, top) + m.fma(scale, below_low, above_low)) * inverse
    z = s * s
    halves = m.to_float(exponent) * 0.5
    rest = m.fma(s * z, m.polynomial(z, ARCTANH["f8"]), m.fma(halves, LN2["f8"][1], low))
    result = m.fma(halves, LN2["f8"][0], s + rest)
    return m.copysign(m.select(size < 1.0, result, beyond), x)


LARGE, SMALL, SCALE = 2.0**500, 2.0**-450, 2.0**600
"""Between the bounds squares are in the range of float64."""


def hypot(m: Arithmetic, x: Value, y: Value) -> Value:
    """sqrt(x**2 + y**2)."""
    x, y = abs(x), abs(y)
    infinite = (x == INFINITY) | (y == INFINITY)
    if m.code == "f4":
        w, a, b = m.wide, m.widened(x), m.widened(y)
        return m.select(infinite, INFINITY, m.narrowed(w.sqrt(w.fma(a, a, b * b))))
    larger, smaller = m.select(x > y, x, y), m.select(x > y, y, x)
    large, small = larger > LARGE, larger < SMALL
    scale = m.select(large, m.constant(1.0 / SCALE), m.select(small, m.constant(SCALE), 1.0))
    back = m.select(large, m.constant(SCALE), m.select(small, m.constant(1.0 / SCALE), 1.0))
    a, b = larger * scale, smaller * scale
    return m.select(infinite, INFINITY, m.sqrt(m.fma(a, a, b * b)) * back)
