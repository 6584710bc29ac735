"""Inputs at which elementary functions are measured: samples, all of float32, boundary cases."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from functools import cache
from typing import Any, Final, NamedTuple

import numpy as np
from mpmath import mp, mpf

from tools.elementary.recipe_edges import edges, neighbours
from tools.elementary.references import Exact

Array = np.ndarray[Any, Any]
CHUNK: Final = 1 << 18
SEED: Final = 20261121
HALF_PI_DIGITS: Final = 800
"""Bits of precision for continued fractions of multiples of 2 / pi, beyond the exponent."""


class Case(NamedTuple):
    """The spans in which a function is sampled, and its exact values."""

    exact: Exact
    """The function in mpmath."""
    spans: tuple[tuple[float, float], ...]
    """Intervals to sample besides all bit patterns; for two operands one interval each."""
    arity: int = 1
    cancels: bool = False
    """If True, operands may cancel, and errors are in ulps of the largest operand or result."""
    parity: int = 0
    """1 if f(-x) is f(x), -1 if it is -f(x)."""


def _logaddexp(x: Any, y: Any) -> Any:
    return max(x, y) + mp.log1p(mp.exp(-abs(x - y)))


def _logaddexp2(x: Any, y: Any) -> Any:
    return max(x, y) + mp.log1p(mpf(2) ** -abs(x - y)) / mp.log(2)


CASES: dict[str, Case] = {
    "exp": Case(mp.exp, ((-1, 1), (-745, 710), (-104, 89))),
    "exp2": Case(lambda x: mpf(2) ** x, ((-1, 1), (-1075, 1024), (-150, 128))),
    "expm1": Case(mp.expm1, ((-1, 1), (-40, 40), (-1, 710))),
    "log": Case(mp.log, ((0.5, 2), (0, 10))),
    "log2": Case(lambda x: mp.log(x, 2), ((0.5, 2), (0, 10))),
    "log10": Case(mp.log10, ((0.5, 2), (0, 10))),
    "log1p": Case(mp.log1p, ((-0.6, 1), (-1, 10))),
    "cbrt": Case(lambda x: mp.sign(x) * mp.cbrt(abs(x)), ((-1, 1), (1, 8)), parity=-1),
    "power": Case(mp.power, ((0.5, 2), (0, 30), (0.999, 1.001)), 2),
    "erf": Case(mp.erf, ((-1, 1), (-6, 6)), parity=-1),
    "erfc": Case(lambda x: mp.erfc(max(-30, min(30, x))), ((-1, 1), (-6, 28), (-4, 11))),
    "logaddexp": Case(_logaddexp, ((0, 1), (0, 50), (-2, 1)), 2, cancels=True),
    "logaddexp2": Case(_logaddexp2, ((0, 1), (0, 50), (-2, 1)), 2, cancels=True),
    "sin": Case(mp.sin, ((-3.2, 3.2), (-1e5, 1e5)), parity=-1),
    "cos": Case(mp.cos, ((-3.2, 3.2), (-1e5, 1e5)), parity=1),
    "tan": Case(mp.tan, ((-3.2, 3.2), (-1e5, 1e5)), parity=-1),
    "arcsin": Case(mp.asin, ((-1, 1), (-0.6, 0.6)), parity=-1),
    "arccos": Case(mp.acos, ((-1, 1), (-0.6, 0.6))),
    "arctan": Case(mp.atan, ((-1, 1), (-4, 4)), parity=-1),
    "arctan2": Case(mp.atan2, ((-1, 1), (-4, 4)), 2),
    "sinh": Case(mp.sinh, ((-1, 1), (-711, 711), (-90, 90)), parity=-1),
    "cosh": Case(mp.cosh, ((-1, 1), (-711, 711), (-90, 90)), parity=1),
    "tanh": Case(mp.tanh, ((-1, 1), (-20, 20)), parity=-1),
    "arcsinh": Case(mp.asinh, ((-1, 1), (-10, 10)), parity=-1),
    "arccosh": Case(mp.acosh, ((1, 1.1), (1, 10))),
    "arctanh": Case(mp.atanh, ((-0.5, 0.5), (-1, 1)), parity=-1),
    "hypot": Case(mp.hypot, ((-1, 1), (1, 2)), 2),
}
CIRCULAR: Final = ("sin", "cos", "tan")


# --- samples --------------------------------------------------------------------------------


def count_chunks(count: int) -> int:
    """Return the number of chunks that hold `count` inputs."""
    return -(-count // CHUNK)


def samples(case: Case, code: str, count: int, first: int = 0, last: int = -1) -> Iterator[Any]:
    """Yield operands in chunks; each samples all bit patterns and each span of the case.

    Args:
        case: the function.
        code: the dtype of the operands.
        count: the number of inputs in all chunks.
        first: the first chunk to yield; chunks do not depend on each other.
        last: the chunk before which to stop; -1: yield all.
    """
    for number in range(first, count_chunks(count) if last < 0 else last):
        rng = np.random.default_rng([SEED, number])
        size = min(CHUNK, count - number * CHUNK) // (len(case.spans) + 1) + 1
        parts = [_drawn(span, code, size, case.arity, rng) for span in (*case.spans, None)]
        yield [np.concatenate(columns) for columns in zip(*parts, strict=True)]


def _drawn(
    span: tuple[float, float] | None, code: str, size: int, arity: int, rng: np.random.Generator
) -> list[Array]:
    if span is not None:
        return [rng.uniform(*span, size).astype(code) for _ in range(arity)]
    bits: Any = np.dtype(f"u{code[1]}")
    drawn = (rng.integers(0, np.iinfo(bits).max, size, bits, endpoint=True) for _ in range(arity))
    return [values.view(code) for values in drawn]


def every_single(first: int = 0, last: int = (1 << 32) // CHUNK) -> Iterator[list[Array]]:
    """Yield all 2**32 float32, or some chunks; a chunk's second half is the negated first."""
    half = CHUNK // 2
    step = np.arange(half, dtype=np.uint32)
    for number in range(first, last):
        bits = step + np.uint32(number * half)
        yield [np.concatenate([bits, bits | np.uint32(1 << 31)]).view(np.float32)]


# --- boundary cases -------------------------------------------------------------------------


def boundaries(name: str, code: str) -> list[Array]:
    """Return operands at which a result changes kind or is exact, one array for each operand.

    Ends of the range, powers of two and ten, small integers and their fractions and cubes, each
    with its neighbours; for trigonometric functions multiples of pi / 2 and the floats nearest to
    one; then all points at which the recipe takes another path, or its result changes kind
    (`recipe_edges`). For two operands all pairs of ends and integers, and edges along each operand.
    """
    with np.errstate(all="ignore"):
        if CASES[name].arity == 2:
            return _pairs(name, code)
        found = [neighbours(_specials(code), 2), _regular(code)]
        if name in CIRCULAR:
            found.append(neighbours(_multiples(code), 1))
        spans = CASES[name].spans
        found.append(neighbours(edges(name, code, spans), 4))
    return [_distinct(np.concatenate(found))]


def _distinct(values: Array) -> Array:
    """Return the distinct numbers with both zeros, and one quiet NaN.

    Signalling NaN are left out: casts change them.
    """
    numbers = values[~np.isnan(values)].view(f"u{values.itemsize}")
    return np.append(np.unique(numbers).view(values.dtype), values.dtype.type(np.nan))


def _specials(code: str) -> Array:
    """Return 0, 1, 1/2, 2, 3/4, 3/2, the ends of the range, infinities and NaN, with both signs."""
    info = np.finfo(code)
    ends = [info.smallest_subnormal, info.tiny, info.eps, info.eps / 2, info.max, np.inf, np.nan]
    return _signed(np.array([0, 1, 0.5, 2, 0.75, 1.5, 3, 10, *ends], code))


def _signed(values: Array) -> Array:
    return np.concatenate([values, -values])


def _regular(code: str) -> Array:
    """Return powers of two and ten with their neighbours, integers, quarters and cubes."""
    info = np.finfo(code)
    lowest = info.minexp - info.nmant
    twos = np.ldexp(np.ones(1, code), np.arange(lowest, info.maxexp))
    tens = np.array([float(f"1e{k}") for k in range(-info.precision * 25, 309)])
    tens = tens[(tens > float(info.tiny)) & (tens < float(info.max))].astype(code)
    whole = np.arange(1, 257, dtype=code)
    return _signed(
        np.concatenate([neighbours(twos, 1), neighbours(tens, 1), whole, whole / 4, whole**3])
    )


@cache
def _multiples(code: str) -> Array:
    """Return multiples of pi / 2, and for each exponent the float nearest to a multiple."""
    info = np.finfo(code)
    found = []
    with mp.workprec(info.maxexp + HALF_PI_DIGITS):
        half_pi = +mp.pi / 2
        turns = [*range(1, 513), *(2**k + 1 for k in range(9, info.maxexp - 2, 5))]
        found += [float(half_pi * k) for k in turns]
        for exponent in range(-info.nmant, info.maxexp - info.nmant - 1):
            mantissa = _nearest(mpf(2) ** exponent / half_pi, 2 << info.nmant)
            found.append(float(mpf(mantissa) * mpf(2) ** exponent))
    return _signed(np.array(found).astype(code))


def _nearest(number: Any, limit: int) -> int:
    """Return the integer q below the limit for which q * number is nearest to an integer."""
    one = 1 << mp.prec
    return Fraction(int(number * one), one).limit_denominator(limit - 1).denominator


FIXED: Final = (1.0, 2.0, -1.5, 0.7)
"""Values of the other operand, while edges along one operand are searched."""


def _pairs(name: str, code: str) -> list[Array]:
    special = _distinct(neighbours(_specials(code), 1))
    whole = np.arange(-16, 17, dtype=code)
    grids = [np.meshgrid(some, some) for some in (special, whole, whole / 4)]
    columns = [[np.ravel(grid[k]) for grid in grids] for k in (0, 1)]
    for fixed in FIXED:
        for k in (0, 1):
            moving = neighbours(edges(name, code, CASES[name].spans, (k, fixed)), 4)
            columns[1 - k].append(np.full_like(moving, fixed))
            columns[k].append(moving)
    return [np.concatenate(column) for column in columns]
