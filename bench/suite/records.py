"""The fields of the result file of a run; read, check and write the file.

A file is one JSON object with `"format": "axiomjit-bench"`, `"version": 1` and the fields of
`Result`. A record is written as an object of its fields, a tuple as a list, None as null. The end
of a name has the unit: seconds, bytes, or a rate per second. A new field has a default, so that
older files stay readable; any other change increases `VERSION`.
"""

from __future__ import annotations

import json
import math
import types
import typing
from functools import cache
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any, Final

from axiomjit.base.errors import BenchError
from axiomjit.base.records import Record

FORMAT: Final = "axiomjit-bench"
VERSION: Final = 1
REMEDY: Final = "name a file written by `run --json` of this version, and not edited"

OK: Final = "ok"
MISSING: Final = "not importable"
UNSUPPORTED: Final = "not supported"
WRONG: Final = "wrong result"
TIMEOUT: Final = "compile timeout"
"""The status of a peer in a run or in a case; each status except `ok` has a reason."""

NUMPY: Final = "numpy"
OURS: Final = "axiomjit"


class Environment(Record):
    """The machine, the system and the versions of packages in a run.

    `date` is in ISO 8601 and UTC. `machine` is a short hash of CPU, cores and memory, which
    identifies the machine. `governor` is the frequency governor of the first CPU, None if it cannot
    be read. `load_start` and `load_end` are load averages over one minute. `thread_limits` has the
    caller's environment variables that limit threads. `commit` is the commit of the measured clone,
    None outside a clone; `modified` is True if files differed from the commit.
    """

    date: str
    machine: str
    cpu: str
    cores: int
    features: str
    governor: str | None
    memory_bytes: int
    load_start: float
    load_end: float
    os: str
    python: str
    blas: str
    versions: dict[str, str]
    thread_limits: dict[str, str]
    commit: str | None
    modified: bool


class Triad(Record):
    """The bandwidth of `a = b + s * c` in a kernel of axiomjit; the arrays have `bytes` in all.

    `bytes_per_s` counts the bytes that the program reads and writes, and no bytes that only caches
    move.
    """

    bytes: int
    bytes_per_s: float


class Limits(Record):
    """The limits of the machine at a number of threads, measured in the same run.

    `triads` are in order of size, from arrays in caches to arrays in memory. `flops_per_s` has the
    peak of each dtype ("f4", "f8"), in which a fused multiply-add counts as two operations. A peak
    is None if the loop is perhaps not vector code.
    """

    threads: int
    triads: tuple[Triad, ...]
    flops_per_s: dict[str, float | None]


class Peer(Record):
    """A compared library; `import_s` is its import time in a fresh process that has NumPy."""

    name: str
    status: str
    reason: str
    version: str | None
    import_s: float | None


class Cost(Record):
    """The bytes and operations of axiomjit's plan of a case, from `f.lower(...).cost`."""

    bytes_read: int
    bytes_written: int
    flops: int
    temporary_bytes: int
    kernels: int
    library_calls: int


class Timing(Record):
    """The times of a peer's warm calls in a case; one thread is pinned to one core.

    A sample is the mean time of a call over about a millisecond of calls. Peers are timed in turns:
    each of `rounds` rounds has one sample of every peer. NumPy and axiomjit are also timed in
    further processes; `process_rounds` has the number of rounds in each process, and is empty for a
    single process. `median_s` is the median of the processes' medians. `low_s` and `high_s` are the
    ends of the 95 % bootstrap interval of `median_s`; the bootstrap resamples processes and the
    rounds in each process. `ratio` is the median of the ratios to NumPy's time in each round, with
    its interval; NumPy's own ratio is 1. In files without `process_rounds`, `ratio` is the ratio of
    two medians. `of_bound` is the shortest time that the case's `cost` allows on this machine,
    divided by `median_s`. `of_bound` is above 1 if caches are faster than the triad, and None if
    axiomjit has no plan. Kept files have no `samples_s`. Peers other than NumPy then have
    `ours_by_this`: axiomjit's time divided by the peer's time, and its 95 % interval.
    """

    threads: int
    rounds: int
    median_s: float
    low_s: float
    high_s: float
    ratio: float
    ratio_low: float
    ratio_high: float
    of_bound: float | None
    samples_s: tuple[float, ...] = ()
    process_rounds: tuple[int, ...] = ()
    ours_by_this: tuple[float, ...] = ()

    @property
    def processes(self) -> tuple[tuple[float, ...], ...]:
        """Return the samples of each process; empty if the file has no samples."""
        ends = list(accumulate(self.process_rounds or (self.rounds,), initial=0))
        cut = (self.samples_s[a:b] for a, b in pairwise(ends))
        return tuple(cut) if self.samples_s else ()


class Run(Record):
    """A peer in a case; it has times only if `status` is `ok`.

    `first_call_s` is the time to the first result in a fresh process that has imported NumPy, with
    empty caches: the import of the library, the compilation, and a call. `cold_compile_s` is the
    time of the first call without the import and minus the time of a warm call. `warm_load_s` is
    the same time in a second process with the disk caches of the first process; None if no second
    process ran. A library without a disk cache compiles again. `memory_peak_bytes` is the growth of
    resident memory during a warm call, with results; None if the system does not report it.
    """

    peer: str
    status: str
    reason: str = ""
    cold_compile_s: float | None = None
    warm_load_s: float | None = None
    first_call_s: float | None = None
    memory_peak_bytes: int | None = None
    timings: tuple[Timing, ...] = ()

    def at(self, threads: int) -> Timing | None:
        """Return the timing at a number of threads; None if the run has no such timing."""
        return next((t for t in self.timings if t.threads == threads), None)


class Case(Record):
    """A function with its arguments.

    `text` is the function's expression or a short description. `size` is the number of elements of
    the largest argument. `dtype` is the dtype of the arguments, such as "f8". Cases of one `series`
    are the same function for different sizes; empty without a series. `cost` is None if axiomjit
    does not run the case; axiomjit's run then has the reason.
    """

    name: str
    group: str
    text: str
    series: str
    size: int
    dtype: str
    cost: Cost | None
    runs: tuple[Run, ...]

    def run(self, peer: str) -> Run | None:
        """Return the run of a peer; None if the peer was not measured."""
        return next((r for r in self.runs if r.peer == peer), None)


class Result(Record):
    """The result of a run; `quick` runs have fewer rounds and no second process.

    `threads` are the measured numbers of threads in ascending order; the last number uses all
    cores.
    """

    environment: Environment
    quick: bool
    seed: int
    wall_s: float
    cpu_s: float
    threads: tuple[int, ...]
    limits: tuple[Limits, ...]
    peers: tuple[Peer, ...]
    cases: tuple[Case, ...]

    def case(self, name: str) -> Case | None:
        """Return the case of this name; None if the run does not have it."""
        return next((c for c in self.cases if c.name == name), None)


def write_result(result: Result, path: Path) -> None:
    """Write a result as JSON.

    Raises:
        BenchError: the file cannot be written.
    """
    write_text(to_text(result), path)


def write_text(text: str, path: Path) -> None:
    """Write a text to a file.

    Raises:
        BenchError: the file cannot be written.
    """
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise BenchError(f"write {path}", str(error), "name a file that can be written") from error


def read_result(path: Path) -> Result:
    """Read and check a result file.

    Raises:
        BenchError: the file is missing, is not JSON, has another version or a field of a wrong
            type.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise BenchError(f"read the results in {path}", str(error), REMEDY) from error
    return from_text(text, str(path))


def to_text(result: Result) -> str:
    """Return the JSON text of a result, with a line for each case."""
    body = {"format": FORMAT, "version": VERSION, **_plain(result)}
    lines = (f" {json.dumps(name)}: {_lines(value)}" for name, value in body.items())
    return "{\n" + ",\n".join(lines) + "\n}\n"


def _lines(value: object) -> str:
    """Return the JSON text of a value, with a line for each element or field."""
    if isinstance(value, list) and value and isinstance(value[0], dict):
        return "[\n  " + ",\n  ".join(map(json.dumps, value)) + "\n ]"
    if isinstance(value, dict):
        fields = (f"{json.dumps(name)}: {json.dumps(v)}" for name, v in value.items())
        return "{\n  " + ",\n  ".join(fields) + "\n }"
    return json.dumps(value)


def _plain(value: Any) -> Any:
    """Return a value with records as dicts and tuples as lists."""
    if isinstance(value, Record):
        return {name: _plain(getattr(value, name)) for name in type(value)._fields}
    return list(map(_plain, value)) if isinstance(value, tuple) else value


def from_text(text: str, name: str, digits: int | None = None) -> Result:
    """Return the result in a JSON text.

    Args:
        text: the content of a result file.
        name: the name of the file, for messages.
        digits: the number of significant digits to which numbers are rounded; None for no rounding.

    Raises:
        BenchError: the text is not JSON, has another version or a field of a wrong type.
    """

    def number(text: str) -> float:
        return float(text) if digits is None else float(f"{float(text):.{digits}g}")

    try:
        body = json.loads(text, parse_float=number)
    except ValueError as error:
        raise BenchError(f"read the results in {name}", f"no JSON: {error}", REMEDY) from error
    try:
        return _decode(body)
    except _Fault as fault:
        raise BenchError(f"read the results in {name}", str(fault), REMEDY) from None


class _Fault(Exception):
    """An error in a result file, with the position of the field."""


def _decode(body: object) -> Result:
    if not isinstance(body, dict) or body.pop("format", None) != FORMAT:
        raise _Fault(f"no {FORMAT!r} object")
    version = body.pop("version", None)
    if version != VERSION:
        raise _Fault(f"version {version!r} of the format, this reads {VERSION}")
    result: Result = _value(body, Result, "")
    return result


def _value(value: Any, kind: Any, place: str) -> Any:
    """Return the value, checked and converted to its annotated type."""
    if isinstance(kind, types.UnionType):  # with None
        return None if value is None else _value(value, kind.__args__[0], place)
    origin = typing.get_origin(kind)
    plain = (
        list if origin is tuple else dict if origin is dict or issubclass(kind, Record) else kind
    )
    seen = float if kind is float and type(value) is int else type(value)
    if seen is not plain:
        name = {list: "not a list", dict: "not an object"}.get(plain, f"no {plain.__name__}")
        raise _Fault(f"{place or 'the file'} is {value!r:.60}, {name}")
    if origin is tuple:
        return tuple(_value(v, kind.__args__[0], f"{place}[{k}]") for k, v in enumerate(value))
    if origin is dict:
        return {k: _value(v, kind.__args__[1], f"{place}.{k}") for k, v in value.items()}
    if plain is dict:
        return _record(value, kind, place)
    if plain in (int, float) and not 0 <= value < math.inf:
        raise _Fault(f"{place} is {value!r}, below 0 or not finite")
    return plain(value)


_hints = cache(typing.get_type_hints)


def _record(entries: dict[str, Any], kind: type[Record], place: str) -> Record:
    unknown = [f"has no field {name}" for name in entries if name not in kind._fields]
    needed = [name for name in kind._fields if name not in kind._defaults]
    for fault in (*unknown, *(f"lacks {name}" for name in needed if name not in entries)):
        raise _Fault(f"{place or 'the file'} {fault}")
    hints, dot = _hints(kind), f"{place}." if place else ""
    return kind(**{name: _value(v, hints[name], dot + name) for name, v in entries.items()})
