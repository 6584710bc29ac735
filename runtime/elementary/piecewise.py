"""Functions that are piecewise polynomials, with coefficients looked up in registers.

An odd function f is near x for small x, and 1 for large x: f(x) = v + v p(t), where v is x limited
to a bound between two pieces. v is exact, and the product is small compared with v, so only the
rounding of the sum matters. The last bits of u = factor * |x| + start, rounded to the spacing of
floats, are the index of the piece; t is |x| minus the number that u represents.
"""

from collections.abc import Sequence
from typing import NamedTuple

from axiomjit.runtime.elementary.arithmetic import Arithmetic, Numeric

COUNT = 32
"""The number of pieces, which is the number of float32 that an AVX-512 instruction looks up."""


class Pieces(NamedTuple):
    """The division of the absolute values of float32 numbers into pieces."""

    name: str
    factor: float
    start: float
    bound: float
    last: float
    """The size of x beyond which f is 1."""
    degree: int
    bits: int | None = None
    """If all pieces have the same width, the width is 2**-bits."""


OF_TANH = Pieces("tanh", 2.56, 2.0**23 - 8, 225 / 256, 9.02, 5)
"""Sixteen pieces have the width 25/128; all other pieces are twice as wide."""
OF_ERF = Pieces("erf", 1.0, 1.5 * 2.0**20, 15 / 16, 3.93, 4, 3)


def piecewise(m: Arithmetic, pieces: Pieces, table: Sequence[float], x: Numeric) -> Numeric:
    """Return f(x); the table has COUNT coefficients for each power of t."""
    size = m.select(abs(x) > pieces.last, pieces.last, abs(x))
    place = m.fma(size, pieces.factor, pieces.start)
    if pieces.bits is None:
        t = m.fma(place - pieces.start, -1.0 / pieces.factor, size)
    else:
        t = m.reduced(size, pieces.bits)

    def entry(row: int) -> Numeric:
        part = tuple(table[COUNT * row : COUNT * (row + 1)])
        return m.lookup(f"{pieces.name}_{row}", part, m.bits(place))

    slope = entry(pieces.degree)
    for row in reversed(range(pieces.degree)):
        slope = m.fma(slope, t, entry(row))
    limited = m.bounded(x, -pieces.bound, pieces.bound)
    return m.fma(limited, slope, limited)
