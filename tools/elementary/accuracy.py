"""Errors of the elementary functions in ulps: `python -m tools.elementary.accuracy`.

float32: every input of a function of one number (or a sample) is compared with float64; results
near a tie and the worst ones with longdouble. float64: samples are compared with longdouble, the
worst ones with mpmath. All boundary cases (`accuracy_cases.boundaries`) are compared with mpmath.
NumPy's own errors are measured too.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import cache
from itertools import islice
from multiprocessing import get_context
from typing import Any, Final, NamedTuple

import numpy as np

import axiomjit
from axiomjit.bench.suite.measure import Progress
from axiomjit.runtime.execution.workers import threads
from tools.elementary.accuracy_cases import (
    CASES,
    boundaries,
    count_chunks,
    every_single,
    samples,
)
from tools.elementary.accuracy_tables import PAGE, replace_rows
from tools.elementary.references import reference, settled
from tools.elementary.ulps import scan, two_parts, ulps

Array = np.ndarray[Any, Any]
Chunks = Iterable[list[Array]]
WORST: Final = 10_000
ALL: Final = 1 << 32
PAIRS: Final = 10**8
"""Samples of a function of two numbers, if all inputs of float32 are requested."""
NUMPYS_SHARE: Final = 8
"""If all inputs of float32 are measured, NumPy's function computes one chunk in this many."""
PIECE: Final = {"f4": 512, "f8": 32}
"""Chunks in a piece of work for one process."""


@cache
def function_of(name: str) -> Callable[..., Any]:
    """Return the compiled function to be measured."""
    compiled: Callable[..., Any] = axiomjit.jit(getattr(np, name, None) or getattr(axiomjit, name))
    return compiled


class Worst(NamedTuple):
    """The largest error, its operands, NumPy's largest error, the fraction of nearest results."""

    ours: float
    at: tuple[float, ...]
    numpys: float
    nearest: float
    """The fraction of finite nonzero results that are the nearest float."""


class Tally:
    """The worst results of one implementation, over any number of chunks."""

    def __init__(self, name: str, code: str, keep: int) -> None:
        """Start empty; keep at most `keep` results."""
        self.name, self.keep = name, keep
        self.errors, self.got = np.empty(0), np.empty(0, code)
        self.operands = [np.empty(0, code) for _ in range(CASES[name].arity)]
        self.counted = self.off = 0

    def look(self, operands: list[Array], got: Array, exact: tuple[Array, Array | None]) -> None:
        """Scan results and keep the worst.

        Args:
            operands: the operands of the results.
            got: the results.
            exact: the exact results, in the form that `scan` takes.
        """
        threshold = float(self.errors.min()) if len(self.errors) == self.keep else 0.0
        size = None
        if CASES[self.name].cancels:
            size = np.maximum.reduce([abs(exact[0]), *(abs(v).astype("f8") for v in operands)])
        seen = scan(got, exact, size, threshold)
        self.counted, self.off = self.counted + seen.counted, self.off + seen.off
        if len(seen.ties):
            few = [values[seen.ties] for values in operands]
            distances = self.distances(got[seen.ties], few, of_longdouble(self.name, few))
            self.off += int((distances > 0.5).sum())
        if len(seen.places):
            chosen = [values[seen.places] for values in operands]
            self.keep_worst(seen.errors, got[seen.places], chosen)

    def keep_worst(self, errors: Array, got: Array, operands: list[Array]) -> None:
        """Keep the worst of these results and of those already kept."""
        errors, got = np.append(self.errors, errors), np.append(self.got, got)
        both = zip(self.operands, operands, strict=True)
        columns = [np.append(old, new) for old, new in both]
        if len(errors) > self.keep:
            chosen = np.argpartition(errors, -self.keep)[-self.keep :]
            errors, got, columns = errors[chosen], got[chosen], [c[chosen] for c in columns]
        self.errors, self.got, self.operands = errors, got, columns

    def add(self, other: Tally) -> None:
        """Merge the worst results of another tally."""
        self.keep_worst(other.errors, other.got, other.operands)
        self.counted, self.off = self.counted + other.counted, self.off + other.off

    def distances(self, got: Array, operands: list[Array], want: Array) -> Array:
        """Return the distances of results from longdouble results, in ulps."""
        return ulps(got, want, operands if CASES[self.name].cancels else ())

    def settle(self, exactly: bool) -> None:
        """Measure the kept results again, against longdouble, or mpmath if `exactly`."""
        want = of_longdouble(self.name, self.operands)
        if exactly:
            want = settled(CASES[self.name].exact, self.operands, want)
        self.errors = self.distances(self.got, self.operands, want)

    def worst(self) -> tuple[float, tuple[float, ...]]:
        """Return the largest error and its operands."""
        if not len(self.errors):
            return 0.0, ()
        place = int(np.argmax(self.errors))
        return float(self.errors[place]), tuple(float(v[place]) for v in self.operands)


def of_longdouble(name: str, operands: list[Array]) -> Array:
    """Return the function's results in longdouble."""
    with np.errstate(all="ignore"):
        return reference(name, "g")(*(values.astype("g") for values in operands))


Pair = tuple[Tally, Tally]
"""Our tally, and NumPy's."""


def look(name: str, code: str, chunks: Chunks, keep: int = WORST, single: bool = False) -> Pair:
    """Return the worst results over chunks of operands.

    Args:
        name: the name of the function.
        code: the dtype of the operands.
        chunks: the operands.
        keep: the number of worst results to keep.
        single: chunks are those of `every_single`; NumPy's function computes some of them.
    """
    function, numpys = function_of(name), getattr(np, name, None)
    pair = Tally(name, code, keep), Tally(name, code, keep)
    for number, operands in enumerate(chunks):
        with np.errstate(all="ignore"):
            got = np.asarray(function(*operands))
            exact = _exact(name, code, operands, CASES[name].parity if single else 0)
            pair[0].look(operands, got, exact)
            if numpys is not None and not (single and number % NUMPYS_SHARE):
                pair[1].look(operands, numpys(*operands), exact)
    return pair


def _exact(name: str, code: str, operands: list[Array], parity: int) -> tuple[Array, Array | None]:
    """Return the exact results; with a parity the second half of operands is the negated first."""
    if code == "f8":
        return two_parts(of_longdouble(name, operands))
    wide = [values.astype("f8") for values in operands]
    if not parity:
        return reference(name, "f8")(*wide), None
    half = reference(name, "f8")(*(values[: len(values) // 2] for values in wide))
    return np.concatenate([half, half * parity]), None


def at_boundaries(name: str, code: str, step: int = 1) -> Pair:
    """Return the errors at every `step`-th boundary case, measured against mpmath."""
    operands = [values[::step] for values in boundaries(name, code)]
    pair = Tally(name, code, len(operands[0])), Tally(name, code, len(operands[0]))
    want = settled(CASES[name].exact, operands, of_longdouble(name, operands))
    with np.errstate(all="ignore"):
        for tally, function in zip(pair, (function_of(name), getattr(np, name, None)), strict=True):
            if function is not None:
                got = np.asarray(function(*operands))
                tally.keep_worst(tally.distances(got, operands, want), got, operands)
    return pair


def summary(code: str, pair: Pair, edge: Pair | None = None) -> Worst:
    """Settle the worst results and return the figures."""
    for tally in pair:
        tally.settle(exactly=code == "f8")
    (ours, at), (theirs, _) = pair[0].worst(), pair[1].worst()
    if edge is not None:
        ours, at = max((ours, at), edge[0].worst())
        theirs = max(theirs, edge[1].worst()[0])
    return Worst(ours, at, theirs, 1 - pair[0].off / max(pair[0].counted, 1))


def measure(name: str, code: str, chunks: Chunks, keep: int = 500) -> Worst:
    """Return the figures over chunks of operands, without boundary cases."""
    return summary(code, look(name, code, chunks, keep))


# --- runs -----------------------------------------------------------------------------------


class Piece(NamedTuple):
    """A piece of work for one process: some chunks, or with None the boundary cases."""

    name: str
    code: str
    inputs: int
    chunks: tuple[int, int] | None


def pieces(name: str, code: str, count: int) -> list[Piece]:
    """Return the pieces of a measurement of `count` inputs."""
    total, step = count_chunks(count), PIECE[code]
    starts = range(0, total, step)
    own = [Piece(name, code, count, (start, min(start + step, total))) for start in starts]
    return [Piece(name, code, count, None), *own]


def run_piece(piece: Piece) -> Pair:
    """Measure a piece, in one thread."""
    with threads(1):
        if piece.chunks is None:
            return at_boundaries(piece.name, piece.code)
        if piece.inputs == ALL:
            return look(piece.name, piece.code, every_single(*piece.chunks), single=True)
        chunks = samples(CASES[piece.name], piece.code, piece.inputs, *piece.chunks)
        return look(piece.name, piece.code, chunks)


def _results(todo: list[Piece], jobs: int) -> Iterator[Pair]:
    if jobs == 1:
        yield from map(run_piece, todo)
        return
    with ProcessPoolExecutor(jobs, get_context("spawn")) as pool:
        yield from pool.map(run_piece, todo)


def run(
    names: list[str], counts: dict[str, int], jobs: int
) -> Iterator[tuple[str, str, int, Worst]]:
    """Yield name, dtype, number of inputs and figures of each measurement.

    Args:
        names: the names of the functions.
        counts: number of inputs by dtype; `ALL`: every float32, for a function of one number.
        jobs: the number of processes.
    """
    parts: list[list[Piece]] = []
    for name in names:
        for code, count in counts.items():
            if count == ALL and CASES[name].arity == 2:
                count = PAIRS
            parts.append(pieces(name, code, count))
    results = _results([piece for part in parts for piece in part], jobs)
    progress = Progress(sum(map(len, parts)))
    for part in parts:
        seen: list[Pair] = []
        for pair in islice(results, len(part)):
            seen.append(pair)
            progress.step(f"{part[0].name} {part[0].code}")
        edge, first, *others = seen
        for pair in others:
            first[0].add(pair[0])
            first[1].add(pair[1])
        name, code, count, _ = part[0]
        yield name, code, count, summary(code, first, edge)


def _units(error: float) -> str:
    return f"{error:.3f}" if error < 1000 else f"{error:.2g}"


def cells(name: str, code: str, count: int, worst: Worst) -> list[str]:
    """Return the figures as text."""
    inputs = "all" if count == ALL else f"{count:.0e}".replace("e+0", "e").replace("e+", "e")
    theirs = _units(worst.numpys) if hasattr(np, name) else "-"
    at = ", ".join(f"{value:.9g}" if code == "f4" else repr(value) for value in worst.at)
    return [inputs, _units(worst.ours), at, f"{100 * worst.nearest:.2f} %", theirs]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="functions; all by default")
    parser.add_argument("--f4", type=int, default=10**6, help="samples of float32, 0 for all")
    parser.add_argument("--f8", type=int, default=10**6, help="samples of float64")
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument("--write", action="store_true", help="also into docs/accuracy.md")
    given = parser.parse_args()
    names = given.names or list(CASES)
    unknown = set(names) - set(CASES)
    if unknown:
        parser.error(f"{', '.join(sorted(unknown))}: not among {', '.join(CASES)}")
    print("| function | dtype | inputs | ulp | at | nearest | NumPy's ulp |")
    print("|---|---|---|---|---|---|---|")
    rows: dict[str, list[str]] = {name: [] for name in names}
    for name, code, count, worst in run(names, {"f4": given.f4 or ALL, "f8": given.f8}, given.jobs):
        found = cells(name, code, count, worst)
        print("| " + " | ".join([name, code, *found]) + " |", flush=True)
        rows[name] += found
    if given.write:
        replace_rows(PAGE, "accuracy", rows.items(), list(CASES))


if __name__ == "__main__":
    main()
