"""The result file of a benchmark run: its fields, and how it is read, checked and written.

A file is one JSON object: `"format": "axiomjit-bench"`, `"version": 1`, and the fields of `Result`.
Each class below is an object whose keys are its fields, a tuple is a list, None is null. Times are
seconds, memory is bytes, rates are per second; a name says so. A field added later has a default,
so older files stay readable; any other change raises `VERSION`.
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
"""The status of a peer, in a case or as a whole; all but `ok` come with a reason."""

NUMPY: Final = "numpy"
OURS: Final = "axiomjit"


class Environment(Record):
    """The machine, system and versions of a run.

    `date` is ISO 8601 in UTC; `machine` a short hash of CPU, cores and memory that tells results of
    different machines apart. `governor` is the frequency governor of the first CPU, None where it
    cannot be read. `load_start` and `load_end` are load averages over one minute. `thread_limits`
    holds the environment variables that bound threads, as the caller had set them. `commit` is that
    of the tree under test, None outside a clone; `modified` says that files differed from it.
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
    """Bandwidth of `a = b + s * c` by our own kernel over `bytes` of memory, three arrays in all.

    `bytes_per_s` counts the bytes that the program reads and writes, not those that caches add.
    """

    bytes: int
    bytes_per_s: float


class Limits(Record):
    """The limits of the machine with a number of threads, measured in the same run.

    `triads` go from small working sets (caches) to large ones (memory). `flops_per_s` is the peak
    of fused multiply-adds by dtype ("f4", "f8"), each counted as two; None where the loop could not
    be verified to be vector code.
    """

    threads: int
    triads: tuple[Triad, ...]
    flops_per_s: dict[str, float | None]


class Peer(Record):
    """A library that was compared: `import_s` is its import in a fresh process that has NumPy."""

    name: str
    status: str
    reason: str
    version: str | None
    import_s: float | None


class Cost(Record):
    """The bytes and operations of axiomjit's plan of a case (`f.lower(...).cost`)."""

    bytes_read: int
    bytes_written: int
    flops: int
    temporary_bytes: int
    kernels: int
    library_calls: int


class Timing(Record):
    """The steady state of one peer in one case, at a number of threads (1: pinned to one core).

    A sample is the mean time of a call over about a millisecond of calls. Peers are timed
    interleaved: each of `rounds` rounds takes one sample of every peer. NumPy and axiomjit are
    also timed in further processes: `process_rounds` has the rounds of each process, and is empty
    if there is only one. `median_s` is the median of the processes' medians, `low_s` to `high_s`
    its 95 % bootstrap interval, which resamples processes and the rounds in each. `ratio` is the
    same for the ratios, round by round, to NumPy's time (in files without `process_rounds`, the
    ratio of the two medians), with its interval; NumPy's own is 1. `of_bound` is the least time
    that the case's `cost` allows on this machine divided by `median_s` (1: as fast as memory or
    arithmetic allow; above 1 where caches beat the triad), None where axiomjit has no plan. Kept
    files leave `samples_s` out; except for NumPy they have `ours_by_this` instead: axiomjit's time
    divided by this peer's, and its 95 % interval.
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
        """Return the samples of each process; empty where they are left out."""
        ends = list(accumulate(self.process_rounds or (self.rounds,), initial=0))
        cut = (self.samples_s[a:b] for a, b in pairwise(ends))
        return tuple(cut) if self.samples_s else ()


class Run(Record):
    """One peer in one case; it has times only if `status` is `ok`.

    `first_call_s` is the time to the first result in a fresh process that has imported NumPy, with
    empty caches: importing the library, compiling, and one call. `cold_compile_s` is the first call
    without the import and without the time of a steady call; `warm_load_s` the same in a second
    process that finds the disk caches of the first (for a library without a disk cache that is
    another cold compile), None where no second process ran. `memory_peak_bytes` is the growth of
    resident memory during a warm call, results included; None where the system does not report it.
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
        """Return the timing at a number of threads, None if there is none."""
        return next((t for t in self.timings if t.threads == threads), None)


class Case(Record):
    """One function on one set of arguments.

    `text` is the function in a few words or its expression; `size` the number of elements of its
    largest argument; `dtype` that of its arguments, such as "f8". Cases of one `series` are the
    same function on arrays of different sizes, empty for none. `cost` is None where axiomjit does
    not run the case; its run then says why.
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
        """Return the run of a peer, None if it was not measured."""
        return next((r for r in self.runs if r.peer == peer), None)


class Result(Record):
    """A whole run: `quick` runs have fewer rounds, one thread count and no second process.

    `threads` are the thread counts that were measured, ascending; the last one uses all cores.
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
        """Return the case of that name, None if it was not run."""
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
        BenchError: the file is missing, is no JSON, has another version or a field of a wrong type.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise BenchError(f"read the results in {path}", str(error), REMEDY) from error
    return from_text(text, str(path))


def to_text(result: Result) -> str:
    """Return the JSON text of a result, one case a line."""
    body = {"format": FORMAT, "version": VERSION, **_plain(result)}
    lines = (f" {json.dumps(name)}: {_lines(value)}" for name, value in body.items())
    return "{\n" + ",\n".join(lines) + "\n}\n"


def _lines(value: object) -> str:
    """Return JSON with each element of a list, or each field of an object, on a line."""
    if isinstance(value, list) and value and isinstance(value[0], dict):
        return "[\n  " + ",\n  ".join(map(json.dumps, value)) + "\n ]"
    if isinstance(value, dict):
        fields = (f"{json.dumps(name)}: {json.dumps(v)}" for name, v in value.items())
        return "{\n  " + ",\n  ".join(fields) + "\n }"
    return json.dumps(value)


def _plain(value: Any) -> Any:
    """Return records as dicts and tuples as lists."""
    if isinstance(value, Record):
        return {name: _plain(getattr(value, name)) for name in type(value)._fields}
    return list(map(_plain, value)) if isinstance(value, tuple) else value


def from_text(text: str, name: str, digits: int | None = None) -> Result:
    """Return the result in a JSON text.

    Args:
        text: of a result file.
        name: of the file, for messages.
        digits: round numbers to this many significant digits; None: keep all.

    Raises:
        BenchError: the text is no JSON, has another version or a field of a wrong type.
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
    """An error in a document, with its position."""


def _decode(body: object) -> Result:
    if not isinstance(body, dict) or body.pop("format", None) != FORMAT:
        raise _Fault(f"no {FORMAT!r} object")
    version = body.pop("version", None)
    if version != VERSION:
        raise _Fault(f"version {version!r} of the format, this reads {VERSION}")
    result: Result = _value(body, Result, "")
    return result


def _value(value: Any, kind: Any, place: str) -> Any:
    """Return the value converted to its annotated type."""
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
