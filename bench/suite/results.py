"""Kept results: a dated file for each machine, in the folder bench/results of a clone."""

from __future__ import annotations

from pathlib import Path

import axiomjit
from axiomjit.base.errors import BenchError
from axiomjit.bench.suite.ranking import peer_ratio
from axiomjit.bench.suite.records import (
    NUMPY,
    OURS,
    Case,
    Result,
    Run,
    Timing,
    from_text,
    read_result,
    to_text,
    write_result,
)

PACKAGE = Path(axiomjit.__file__).resolve().parent
DIGITS = 5
"""The number of significant digits of numbers in kept results."""


def checkout(package: Path = PACKAGE) -> Path | None:
    """Return the root of the clone of a package `axiomjit`; None for an installed package.

    Only in a clone is axiomjit/bench a link; in wheels and source distributions it is a folder.
    """
    return package.parent if (package / "bench").is_symlink() else None


def results_folder(asked: str, package: Path = PACKAGE) -> Path:
    """Return the folder of kept results.

    Raises:
        BenchError: the package is not in a clone.
    """
    root = checkout(package)
    if root is None:
        seen = f"axiomjit is installed in {package.parent}; only a clone keeps results"
        remedy = "name a file (`run --json FILE`, `report FILE`), or use a clone"
        raise BenchError(asked, seen, remedy)
    return root / "bench" / "results"


def keep(result: Result, folder: Path) -> Path:
    """Write the shortened result to a file, which later results of the same day replace.

    Raises:
        BenchError: the file cannot be written.
    """
    try:
        folder.mkdir(exist_ok=True)
    except OSError as error:
        remedy = "make the folder writable, or use --json"
        raise BenchError(f"keep results in {folder}", str(error), remedy) from error
    environment = result.environment
    path = folder / f"{environment.date[:10]}-{environment.machine}.json"
    write_result(shortened(result), path)
    return path


def kept(folder: Path) -> tuple[Result, ...]:
    """Return all kept results, with the oldest result first.

    Raises:
        BenchError: the folder has no result, or a file cannot be read.
    """
    found = [read_result(path) for path in sorted(folder.glob("*.json"))]
    if not found:
        remedy = "keep one first: `run --record`"
        raise BenchError("publish results", f"no file in {folder}", remedy)
    return tuple(sorted(found, key=lambda result: result.environment.date))


def shortened(result: Result) -> Result:
    """Return the result with statistics in place of samples, and with rounded numbers."""

    def shorter_timing(case: Case, run: Run, old: Timing) -> Timing:
        own = run.peer in (OURS, NUMPY)  # our timing has the ratio to NumPy
        found = None if own else peer_ratio(case, run.peer, old.threads)
        ours_by_this = (found.ratio, found.low, found.high) if found else ()
        return old.replace(samples_s=(), ours_by_this=ours_by_this)

    def shorter_run(case: Case, old: Run) -> Run:
        return old.replace(timings=tuple(shorter_timing(case, old, t) for t in old.timings))

    cases = (
        case.replace(runs=tuple(shorter_run(case, r) for r in case.runs)) for case in result.cases
    )
    return from_text(to_text(result.replace(cases=tuple(cases))), "a result", DIGITS)
