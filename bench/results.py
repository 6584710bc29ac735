"""Results that are kept: one dated file per machine in bench/results."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from axiomjit.bench.records import Result, read_result, write_result
from axiomjit.errors import BenchError

FOLDER: Final = Path(__file__).resolve().parent / "results"


def keep(result: Result, folder: Path = FOLDER) -> Path:
    """Write a result without its samples; a second one of the same day and machine replaces it.

    Raises:
        BenchError: the file cannot be written.
    """
    try:
        folder.mkdir(exist_ok=True)
    except OSError as error:
        remedy = "run from a clone, or use --json"
        raise BenchError(f"keep results in {folder}", str(error), remedy) from error
    environment = result.environment
    path = folder / f"{environment.date[:10]}-{environment.machine}.json"
    write_result(without_samples(result), path)
    return path


def kept(folder: Path = FOLDER) -> tuple[Result, ...]:
    """All results that are kept, oldest first.

    Raises:
        BenchError: there is none, or a file cannot be read.
    """
    found = [read_result(path) for path in sorted(folder.glob("*.json"))]
    if not found:
        remedy = "keep one first: `run --record`"
        raise BenchError("report the history of results", f"no file in {folder}", remedy)
    return tuple(sorted(found, key=lambda result: result.environment.date))


def without_samples(result: Result) -> Result:
    """The same result, smaller: medians and intervals without what they were made of."""
    cases = tuple(
        case.replace(
            runs=tuple(
                run.replace(timings=tuple(t.replace(samples_s=()) for t in run.timings))
                for run in case.runs
            )
        )
        for case in result.cases
    )
    shortened: Result = result.replace(cases=cases)
    return shortened
