"""What has been done since the process began, for `axiomjit.stats()`."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Final

from axiomjit.base.locks import new_lock

_NAMES: Final = (
    "compiles",
    "cache_hits",
    "kernels_run",
    "library_calls",
    "fallbacks",
    "rewrites_refused",
)
_gauges: Final[list[tuple[str, Callable[[], int]]]] = []
_counts: Final = {name: itertools.count() for name in _NAMES}
_asked: Final = itertools.count()
_lock: Final = new_lock()


def counter(name: str) -> Callable[[], object]:
    """What adds one to a counter when called; safe from many threads, and short."""
    return _counts[name].__next__


def add_gauge(name: str, read: Callable[[], int]) -> None:
    """Let `stats` tell under `name` what `read()` says."""
    _gauges.append((name, read))


def stats() -> dict[str, int]:
    """What axiomjit has done in this process.

    Counts of compiled kernels, kernels found compiled, kernels run, library calls, functions
    that ran in NumPy instead, rewritten loops that LLVM refused, and bytes in the pool of
    recycled buffers.
    """
    with _lock:  # to ask a counter adds one to it
        asked = next(_asked)
        counts = {name: next(numbers) - asked for name, numbers in _counts.items()}
    return counts | {name: read() for name, read in _gauges}
