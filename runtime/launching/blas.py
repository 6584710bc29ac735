"""Threads of the libraries that compute matrix products, kept to those that the caller may use.

Such a library has threads of its own, and a plan calls it only between its parallel sections, so
that they do not come on top of ours. `threads(n)` and `AXIOMJIT_NUM_THREADS` hold for it too where
`threadpoolctl` can be imported. The libraries know one number for the process: while several calls
have a limit, the smallest one holds for all.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from functools import lru_cache
from typing import Any, Final

from axiomjit.base.locks import new_lock
from axiomjit.runtime.launching.schedule import (
    VARIABLES,
    asked_threads,
    available_threads,
    chunk_edges,
    run_chunks,
)
from axiomjit.runtime.launching.workers import Chunk, Pace

FIRST_PARTS: Final = 8
"""Parts in the first uninterrupted call; `Pace` finds how many take 5 to 20 ms."""
_lock: Final = new_lock()


class _Limits:
    """The limits of calls under way, and the numbers of threads before."""

    under_way: tuple[int, ...] = ()
    before: tuple[tuple[Any, int], ...] = ()


@lru_cache(maxsize=1)
def _is_asked() -> bool:
    """Whether the environment names a number of threads for axiomjit."""
    return bool(os.environ.get(VARIABLES[0]))


def is_limited() -> bool:
    """Whether this call may use fewer threads than a library takes by itself."""
    return asked_threads() is not None or _is_asked()


@lru_cache(maxsize=1)
def _libraries() -> tuple[Any, ...]:
    """The libraries that are loaded, with `get_num_threads` and `set_num_threads`."""
    try:
        from threadpoolctl import ThreadpoolController
    except ImportError:
        return ()
    found = ThreadpoolController().select(user_api="blas")
    return tuple(found.lib_controllers)


def share_parts(count: int, compute: Chunk) -> None:
    """Compute parts of work that call these libraries, on the threads that the caller may use.

    Where the libraries cannot be kept to one thread they use theirs, in one part after the other.
    """
    threads = available_threads() if count > 1 and _libraries() else 1
    edges = chunk_edges(count, threads)
    with limited(1) if threads > 1 else limited() if is_limited() else nullcontext():
        run_chunks(compute, edges, threads, Pace(FIRST_PARTS))


@contextmanager
def limited(threads: int | None = None) -> Iterator[None]:
    """Let the libraries use no more threads in the block than these, or than the caller may."""
    most = available_threads() if threads is None else threads
    _change(most, None)
    try:
        yield
    finally:
        _change(None, most)


def _change(begun: int | None, ended: int | None) -> None:
    """Let the limits of calls hold; when the last has ended, the numbers of before."""
    with _lock:
        limits = list(_Limits.under_way)
        if begun is not None:
            limits.append(begun)
        if ended is not None:
            limits.remove(ended)
        if limits and not _Limits.under_way:
            _Limits.before = tuple((one, one.get_num_threads()) for one in _libraries())
        _Limits.under_way = tuple(limits)
        for library, before in _Limits.before:
            library.set_num_threads(min((before, *limits)))
