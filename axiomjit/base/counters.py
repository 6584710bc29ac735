"""Counters of what has been done since the process began, for `axiomjit.stats()`."""

from __future__ import annotations

import itertools
from array import array
from collections.abc import Callable
from typing import Final

from axiomjit.base.immortal import immortal
from axiomjit.base.locks import new_lock

_NAMES: Final = (
    "compiles",
    "cache_hits",
    "disk_hits",
    "disk_misses",
    "kernels_run",
    "library_calls",
    "opaque_calls",
    "fallbacks",
    "rewrites_refused",
)
_gauges: Final[list[tuple[str, Callable[[], int]]]] = []
_counts: Final = {name: itertools.count() for name in _NAMES}
_words: Final = {name: array("q", [0]) for name in _NAMES}
_asked: Final = itertools.count()
_lock: Final = new_lock()


def counter(name: str) -> Callable[[], object]:
    """What adds one to a counter when called; safe from many threads, and short."""
    return _counts[name].__next__


def word_of(name: str) -> int:
    """The address of a word that native code may add to in place of calling the counter."""
    return immortal(_words[name]).buffer_info()[0]


def add_gauge(name: str, read: Callable[[], int]) -> None:
    """Let `stats` tell under `name` what `read()` returns."""
    _gauges.append((name, read))


def stats() -> dict[str, int]:
    """What axiomjit has done in this process.

    Counts of compiled kernels, kernels found compiled in memory, loaded from disk and looked for
    there in vain, kernels run, library calls, steps among them that are NumPy functions without
    a row of their own, calls that NumPy ran instead (`config.disable` apart), rewritten loops that
    LLVM refused, and bytes in the pool of recycled buffers.
    """
    with _lock:  # to ask a counter adds one to it
        asked = next(_asked)
        counts = {n: next(count) - asked + _words[n][0] for n, count in _counts.items()}
    return counts | {name: read() for name, read in _gauges}
