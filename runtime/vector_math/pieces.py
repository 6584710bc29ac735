"""Functions by polynomials of pieces, whose coefficients are looked up in registers.

For an odd function f that is near x for small x and ends at 1: f(x) = v + v p(t), v being x limited
to a bound where two pieces meet. The product is small beside v, which has no error; so the sum has
but one rounding. The piece of x is what the last bits of u = factor * |x| + start say, rounded to
the spacing of numbers there, and t is |x| less what u stands for.
"""

from collections.abc import Sequence
from typing import NamedTuple

from axiomjit.runtime.vector_math.arithmetic import Arithmetic, Value

COUNT = 32
"""The number of pieces: entries of float32 that one instruction of AVX-512 looks up."""


class Pieces(NamedTuple):
    """How sizes are divided, of float32."""

    name: str
    factor: float
    start: float
    bound: float
    last: float
    """Beyond this f is 1."""
    degree: int
    bits: int | None = None
    """Pieces are 2**-bits wide, where all are alike."""


TANH = Pieces("tanh", 2.56, 2.0**23 - 8, 225 / 256, 9.02, 5)
"""Sixteen pieces of 25/128, the others twice as wide."""
ERF = Pieces("erf", 1.0, 1.5 * 2.0**20, 15 / 16, 3.93, 4, 3)


def piecewise(m: Arithmetic, pieces: Pieces, table: Sequence[float], x: Value) -> Value:
    """f(x); the table has COUNT coefficients of each power."""
    size = m.select(abs(x) > pieces.last, pieces.last, abs(x))
    place = m.fma(size, pieces.factor, pieces.start)
    if pieces.bits is None:
        t = m.fma(place - pieces.start, -1.0 / pieces.factor, size)
    else:
        t = m.reduced(size, pieces.bits)

    def entry(row: int) -> Value:
        part = tuple(table[COUNT * row : COUNT * (row + 1)])
        return m.lookup(f"{pieces.name}_{row}", part, m.bits(place))

    slope = entry(pieces.degree)
    for row in reversed(range(pieces.degree)):
        slope = m.fma(slope, t, entry(row))
    limited = m.limited(x, pieces.bound)
    return m.fma(limited, slope, limited)
