"""Errors of the elementary functions in units of the last place: `python -m bench.accuracy`.

float32: every input of a function of one number (or a sample) against NumPy's float64 function,
results near a tie against its longdouble one. float64: samples against longdouble, the worst ones
and the numbers at which something changes against mpmath. NumPy's own errors stand beside them.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from mpmath import mp, mpf

import axiomjit

Array = np.ndarray[Any, Any]
CHUNK = 1 << 20
WORST = 10_000
DIGITS = 40


class Case(NamedTuple):
    """Where a function is sampled, and its exact values."""

    exact: Callable[..., Any]
    """In mpmath."""
    spans: tuple[tuple[float, float], ...]
    """Intervals that are drawn from besides all bit patterns; of two operands one each."""
    arity: int = 1
    cancels: bool = False
    """Whether the result may be small against the operands, in whose units errors then count."""


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
    "cbrt": Case(lambda x: mp.sign(x) * mp.cbrt(abs(x)), ((-1, 1), (1, 8))),
    "power": Case(mp.power, ((0.5, 2), (0, 30), (0.999, 1.001)), 2),
    "erf": Case(mp.erf, ((-1, 1), (-6, 6))),
    "erfc": Case(lambda x: mp.erfc(max(-30, min(30, x))), ((-1, 1), (-6, 28), (-4, 11))),
    "logaddexp": Case(_logaddexp, ((0, 1), (0, 50), (-2, 1)), 2, cancels=True),
    "logaddexp2": Case(_logaddexp2, ((0, 1), (0, 50), (-2, 1)), 2, cancels=True),
    "sin": Case(mp.sin, ((-3.2, 3.2), (-1e5, 1e5))),
    "cos": Case(mp.cos, ((-3.2, 3.2), (-1e5, 1e5))),
    "tan": Case(mp.tan, ((-3.2, 3.2), (-1e5, 1e5))),
    "arcsin": Case(mp.asin, ((-1, 1), (-0.6, 0.6))),
    "arccos": Case(mp.acos, ((-1, 1), (-0.6, 0.6))),
    "arctan": Case(mp.atan, ((-1, 1), (-4, 4))),
    "arctan2": Case(mp.atan2, ((-1, 1), (-4, 4)), 2),
    "sinh": Case(mp.sinh, ((-1, 1), (-711, 711), (-90, 90))),
    "cosh": Case(mp.cosh, ((-1, 1), (-711, 711), (-90, 90))),
    "tanh": Case(mp.tanh, ((-1, 1), (-20, 20))),
    "arcsinh": Case(mp.asinh, ((-1, 1), (-10, 10))),
    "arccosh": Case(mp.acosh, ((1, 1.1), (1, 10))),
    "arctanh": Case(mp.atanh, ((-0.5, 0.5), (-1, 1))),
    "hypot": Case(mp.hypot, ((-1, 1), (1, 2)), 2),
}


def function_of(name: str) -> Callable[..., Any]:
    """The function that is measured, compiled."""
    compiled: Callable[..., Any] = axiomjit.jit(getattr(np, name, None) or getattr(axiomjit, name))
    return compiled


def ulps(got: Array, want: Array, operands: Sequence[Array] = ()) -> Array:
    """Distance from wider results in units of their last place, or that of larger operands.

    It is 0 beside infinity and NaN: a number beyond the largest one may be rounded to it.
    """
    info = np.finfo(got.dtype)
    with np.errstate(all="ignore"):
        exponent = np.frexp(np.maximum.reduce([abs(want), *map(abs, operands)]))[1]
        unit = np.ldexp(want.dtype.type(1), np.maximum(exponent - 1, info.minexp) - info.nmant)
        distance = abs(got.astype(want.dtype) - want) / unit
    return np.where(np.isfinite(got) & np.isfinite(want), distance, 0)


def samples(case: Case, code: str, count: int, rng: np.random.Generator) -> Iterator[list[Array]]:
    """Operands in chunks: all bit patterns, and the spans of the case in turn."""
    bits = np.dtype(f"u{code[1]}")
    for start in range(0, count, CHUNK):
        size, turn = min(CHUNK, count - start), start // CHUNK
        spans = [*case.spans, None][turn % (len(case.spans) + 1) :][:1] if count > CHUNK else None
        if spans is None:  # one chunk: a part of everything
            parts = [_drawn(span, bits, size // 4 + 1, case.arity, rng) for span in case.spans]
            parts.append(_drawn(None, bits, size // 4 + 1, case.arity, rng))
            yield [np.concatenate(columns)[:] for columns in zip(*parts, strict=True)]
        else:
            yield _drawn(spans[0], bits, size, case.arity, rng)


def _drawn(
    span: tuple[float, float] | None, bits: Any, size: int, arity: int, rng: np.random.Generator
) -> list[Array]:
    floats = np.dtype(f"f{bits.itemsize}")
    if span is None:
        top = np.iinfo(bits).max
        drawn = [rng.integers(0, top, size, bits, endpoint=True) for _ in range(arity)]
        return [values.view(floats) for values in drawn]
    return [rng.uniform(*span, size).astype(floats) for _ in range(arity)]


def every_single() -> Iterator[list[Array]]:
    """All 2**32 numbers of float32."""
    for start in range(0, 1 << 32, CHUNK):
        yield [np.arange(start, start + CHUNK, dtype=np.uint64).astype(np.uint32).view(np.float32)]


class Worst(NamedTuple):
    """The largest error seen, and its operands."""

    ours: float
    at: tuple[float, ...]
    numpys: float


def measure(name: str, code: str, chunks: Iterator[list[Array]]) -> Worst:
    """The largest errors over chunks of operands, those of float64 settled in mpmath."""
    function, numpys_own = function_of(name), getattr(np, name, None)
    reference = numpys_own
    if reference is None and code == "f4":  # C's function of float64
        reference = _vectorised(getattr(math, name))
    wider = np.float64 if code == "f4" else np.longdouble
    case, worst = CASES[name], Worst(0.0, (), 0.0)
    for given in chunks:
        operands = given if reference else [values[::16] for values in given]
        got = np.asarray(function(*operands))
        with np.errstate(all="ignore"):
            wide = [values.astype(wider) for values in operands]
            want = reference(*wide) if reference else _by_mpmath(case, operands, wider)
            numpys = numpys_own(*operands) if numpys_own else got
        beside = operands if case.cancels else ()
        errors = ulps(got, want, beside)
        if code == "f8" and reference:
            errors = _settled(case, operands, got, errors)
        place = int(np.argmax(errors))
        theirs = max(worst.numpys, float(ulps(numpys, want, beside).max()))
        if errors[place] > worst.ours:
            at = tuple(float(values[place]) for values in operands)
            worst = Worst(float(errors[place]), at, theirs)
        worst = worst._replace(numpys=theirs)
    return worst


def _vectorised(function: Callable[[float], float]) -> Callable[[Array], Array]:
    """A function of arrays of float64 from one of numbers."""
    each = np.frompyfunc(function, 1, 1)
    return lambda x: np.asarray(each(x)).astype(np.float64)


def _by_mpmath(case: Case, operands: list[Array], wider: Any) -> Array:
    """Exact values, rounded to a wider type by way of a sum of two float64."""
    result = np.empty(len(operands[0]), wider)
    with mp.workdps(DIGITS):
        for k, values in enumerate(zip(*operands, strict=True)):
            if not np.all(np.isfinite(values)):
                result[k] = np.nan
                continue
            exact = case.exact(*(mpf(float(v)) for v in values))
            high = float(exact)
            low = float(exact - mpf(high)) if np.isfinite(high) else 0.0
            result[k] = wider(high) + wider(low)
    return result


def _settled(case: Case, operands: list[Array], got: Array, errors: Array) -> Array:
    """The errors, the few largest of a chunk measured in mpmath."""
    few = np.argsort(errors)[-(WORST // 100) :]
    exact = _by_mpmath(case, [values[few] for values in operands], np.longdouble)
    beside = [values[few] for values in operands] if case.cancels else []
    errors[few] = ulps(got[few], exact, beside)
    return errors


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="functions; all by default")
    parser.add_argument("--f4", type=int, default=10**6, help="samples of float32, 0 for all")
    parser.add_argument("--f8", type=int, default=10**6, help="samples of float64")
    given = parser.parse_args()
    print("| function | dtype | inputs | ulp | at | NumPy's ulp |\n|---|---|---|---|---|---|")
    for name in given.names or CASES:
        for code, count in (("f4", given.f4), ("f8", given.f8)):
            rng = np.random.default_rng(20261121)
            whole = code == "f4" and count == 0 and CASES[name].arity == 1
            chunks = every_single() if whole else samples(CASES[name], code, count, rng)
            worst = measure(name, code, chunks)
            inputs = "all" if whole else f"{count:.0e}"
            at = ", ".join(map(repr, worst.at))
            theirs = f"{worst.numpys:.3f}" if hasattr(np, name) else "-"
            cells = (name, code, inputs, f"{worst.ours:.3f}", at, theirs)
            print("| " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
