"""Functions by polynomials of pieces, whose coefficients are looked up in registers.

For a function f of sizes with f(0) = 0 that ends at 1. Pieces lie evenly in each binade of u =
factor * x + start. That of x has a point c, of which f is nearly a number (`bench.pieces`): f(x) =
f(c) + t p(t) for t = x - c, whose first term has no error and so the sum but one rounding. In the
first piece c = 0 and x itself stands for f(c): it is the larger there, and nowhere else.
"""

from collections.abc import Sequence
from typing import NamedTuple

from axiomjit.runtime.vector_math.arithmetic import Arithmetic, Value

COUNT = 16
"""Of pieces: what AVX-512 looks into by one instruction, of float32."""


class Pieces(NamedTuple):
    """How sizes are divided, of float32."""

    name: str
    factor: float
    start: float
    bits: int
    """Leading ones of a mantissa that tell pieces apart."""
    last: float
    """Beyond this f is 1."""
    degree: int


TANH = Pieces("tanh", 1.625, 1.0, 2, 9.2, 6)
"""About as wide as the distance to the poles asks for, which are at odd multiples of pi / 2 i."""
ERF = Pieces("erf", 0.755, 1.0, 3, 3.96, 5)


def piecewise(m: Arithmetic, pieces: Pieces, table: Sequence[float], x: Value) -> Value:
    """f(|x|) with the sign of x; the table has COUNT points, values, and coefficients by power."""
    size = m.select(abs(x) > pieces.last, pieces.last, abs(x))
    place = m.bits(m.fma(size, pieces.factor, pieces.start)) >> (m.mantissa - pieces.bits)

    def entry(row: int) -> Value:
        part = tuple(table[COUNT * row : COUNT * (row + 1)])
        return m.lookup(f"{pieces.name}_{row}", part, place)

    t = size - entry(0)
    value = entry(1)
    slope = entry(pieces.degree + 1)
    for row in range(pieces.degree, 1, -1):
        slope = m.fma(slope, t, entry(row))
    return m.copysign(m.fma(slope, t, m.select(t > value, t, value)), x)
