"""Kept results: one dated file per machine in bench/results."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from axiomjit.base.errors import BenchError
from axiomjit.base.records import Record
from axiomjit.bench.suite.records import (
    NUMPY,
    OURS,
    Case,
    Result,
    Run,
    Timing,
    read_result,
    write_result,
)
from axiomjit.bench.suite.standings import standing


def keep(result: Result, folder: Path) -> Path:
    """Write a result, `shortened`; a second result of the same day and machine replaces it.

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
    """Return all kept results, oldest first.

    Raises:
        BenchError: there is none, or a file cannot be read.
    """
    found = [read_result(path) for path in sorted(folder.glob("*.json"))]
    if not found:
        remedy = "keep one first: `run --record`"
        raise BenchError("report the history of results", f"no file in {folder}", remedy)
    return tuple(sorted(found, key=lambda result: result.environment.date))


def shortened(result: Result) -> Result:
    """Return a smaller result: statistics instead of samples, numbers with five digits."""
    cases = tuple(_settled(case) for case in result.cases)
    short: Result = _short(result.replace(cases=cases))
    return short


def _settled(case: Case) -> Case:
    """Return the case with axiomjit's standing against each peer stored in it."""

    def settled(run: Run, timing: Timing) -> Timing:
        own = run.peer in (OURS, NUMPY)  # our timing has the ratio to NumPy
        found = None if own else standing(case, run.peer, timing.threads)
        ours_by_this = (found.ratio, found.low, found.high) if found else ()
        written: Timing = timing.replace(ours_by_this=ours_by_this)
        return written

    runs = tuple(
        run.replace(timings=tuple(settled(run, timing) for timing in run.timings))
        for run in case.runs
    )
    written: Case = case.replace(runs=runs)
    return written


def _short(value: Any) -> Any:
    if isinstance(value, Record):
        fields = {name: _short(getattr(value, name)) for name in type(value)._fields}
        return type(value)(**fields | ({"samples_s": ()} if "samples_s" in fields else {}))
    if isinstance(value, tuple):
        return tuple(map(_short, value))
    if isinstance(value, dict):
        return {key: _short(v) for key, v in value.items()}
    return float(f"{value:.5g}") if isinstance(value, float) else value
