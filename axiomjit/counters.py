"""What has been done since the process began, for `axiomjit.stats()`."""

from __future__ import annotations

import threading
from typing import Final

_NAMES: Final = (
    "compiles",
    "cache_hits",
    "kernels_run",
    "library_calls",
    "fallbacks",
    "bytes_pooled",
)
_lock: Final = threading.Lock()
_counts: Final[dict[str, int]] = dict.fromkeys(_NAMES, 0)


def count(name: str, by: int = 1) -> None:
    """Add to a counter; safe from many threads."""
    with _lock:
        _counts[name] += by


def stats() -> dict[str, int]:
    """What axiomjit has done in this process.

    Counts of compiled kernels, kernels found compiled, kernels run, library calls, functions
    that ran in NumPy instead, and bytes in the pool of recycled buffers.
    """
    with _lock:
        return dict(_counts)
