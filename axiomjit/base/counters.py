"""Counters of this process for `axiomjit.stats()`, and timers of compilations."""

from __future__ import annotations

import itertools
from array import array
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from time import perf_counter
from typing import Final

from axiomjit.base.caching import keep_alive
from axiomjit.base.locks import new_lock
from axiomjit.base.records import Record

_NAMES: Final = (
    "compiles",
    "cache_hits",
    "disk_hits",
    "disk_misses",
    "kernels_run",
    "library_calls",
    "opaque_calls",
    "fallbacks",
    "segments",
    "at_once",
    "shared_copies",
)
_gauges: Final[list[tuple[str, Callable[[], int]]]] = []
_counts: Final = {name: itertools.count() for name in _NAMES}
_words: Final = {name: array("q", [0]) for name in _NAMES}
_stats_calls: Final = itertools.count()
_lock: Final = new_lock()


def counter(name: str) -> Callable[[], object]:
    """Return a cheap, atomic function that adds one to a counter."""
    return _counts[name].__next__


def native_word(name: str) -> int:
    """The address of the word that native code increments in place of calling the counter."""
    return keep_alive(_words[name]).buffer_info()[0]


def add_gauge(name: str, read: Callable[[], int]) -> None:
    """Let `stats` report `read()` under `name`."""
    _gauges.append((name, read))


def stats() -> dict[str, int]:
    """The counters of this process.

    The counters give the numbers of compiled kernels, kernels found in memory, loaded from disk and
    not found on disk, kernel runs, library calls, external calls, and calls that NumPy ran instead
    (except under `config.disable`). For `axiomjit.numpy`, the counters give the numbers of segments
    that were run, of operations that NumPy ran at once, and of copies of memory that other code can
    write. Gauges give the rewritten loops that LLVM refused and the bytes in the pool of recycled
    buffers.
    """
    with _lock:  # reading the counter itself adds one
        asked = next(_stats_calls)
        counts = {n: next(count) - asked + _words[n][0] for n, count in _counts.items()}
    return counts | {name: read() for name, read in _gauges}


class StageTimes(Record):
    """Milliseconds spent to compile all programs of a function, by stage.

    `following` traces the function, `lowering` runs the passes and writes kernels, `compiling`
    makes machine code with Numba and LLVM, the import of Numba included, and `loading` reads
    machine code from disk.
    """

    following: float = 0.0
    lowering: float = 0.0
    compiling: float = 0.0
    loading: float = 0.0

    @property
    def total(self) -> float:
        """The sum of all stages."""
        return self.following + self.lowering + self.compiling + self.loading


class Clock:
    """Adds up the compile times of the blocks inside `running()`."""

    __slots__ = ("spent",)

    def __init__(self) -> None:
        self.spent: dict[str, float] = {}

    def times(self) -> StageTimes:
        """The times of all stages so far."""
        return StageTimes(**self.spent)

    def running(self) -> _Running:
        """A `with` block whose stages are timed by this clock."""
        return _Running(self)


class _Running:
    """A `with` block whose stages are timed by one clock."""

    __slots__ = ("_clock", "_token")

    def __init__(self, clock: Clock) -> None:
        self._clock = clock

    def __enter__(self) -> None:
        self._token = _clock.set(self._clock)

    def __exit__(self, *error: object) -> None:
        _clock.reset(self._token)


@contextmanager
def stage(name: str) -> Iterator[None]:
    """Add the time of a `with` block to a stage, which is a field of `StageTimes`."""
    clock, started = _clock.get(), perf_counter()
    try:
        yield
    finally:
        if clock is not None:
            took = (perf_counter() - started) * 1e3
            clock.spent[name] = clock.spent.get(name, 0.0) + took


_clock: Final[ContextVar[Clock | None]] = ContextVar("clock", default=None)
