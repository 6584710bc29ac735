"""Chunks of a grid on several threads, and how many threads there may be.

A kernel releases the GIL, so the standard library's threads are enough. The caller always works
itself and waits only for chunks that somebody is running, never for a thread to wake up; so nested
and concurrent calls cannot block each other: they merely find fewer idle workers.
"""

import itertools
import math
import operator
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import lru_cache
from typing import Final

from axiomjit.base.errors import GraphValueError
from axiomjit.base.locks import after_fork
from axiomjit.runtime.launching.workers import Chunk, Job, Pace, pool

AnyPath = str | os.PathLike[str]
WORTH: Final = 1.1
"""How many times shorter work has to be that is divided further."""
SMALLEST: Final = 16
"""The smallest chunk is such a part of what each thread gets."""
VARIABLES: Final = ("AXIOMJIT_NUM_THREADS", "OMP_NUM_THREADS")
EVERYTHING: Final = 2**62
"""The pace of calls that are short anyway, in units."""


@lru_cache(maxsize=256)
def chunk_edges(grid: int, threads: int) -> tuple[int, ...]:
    """Where the chunks of a grid begin, and its end.

    Chunks shrink, so that a thread that wakes up late or is slow ends with the others: each has
    half of what every thread would get of the rest (C. Polychronopoulos and D. Kuck, "Guided
    self-scheduling", 1987), but no less than a part of SMALLEST.
    """
    edges, least = [0], -(-grid // (SMALLEST * threads))
    while edges[-1] < grid:
        rest = grid - edges[-1]
        share = max(-(-rest // (2 * threads)), least) if threads > 1 else rest
        edges.append(edges[-1] + min(share, rest))
    return tuple(edges)


def cuts_chains(chains: int, ahead: int, work: int, threads: int) -> bool:
    """Whether threads are to share the units of chains, after work ahead, and not whole chains."""
    if threads == 1 or not chains:
        return False
    longest = -(-chains // min(threads, chains))  # chains that one thread takes
    return (ahead + work) * WORTH / threads < work * longest / chains


def run_chunks(
    call: Chunk,
    edges: Sequence[int],
    threads: int,
    pace: Pace | None = None,
    give_up: Callable[[], object] | None = None,
) -> None:
    """Run `call(lo, hi)` for each pair of neighbours among the edges, in one or several calls.

    Args:
        call: runs units lo to hi and returns a status, 0 for success; it should release the GIL.
        edges: ascending numbers of units (see `chunk_edges`).
        threads: how many threads may work at once, the caller being one. With 1, or one chunk,
            everything runs in the caller in order. Calls that run at the same time share them.
        pace: how many units one call runs; it learns. Without it, chunks are not divided.
        give_up: lets calls that are running end early. With it one unit may take long: the main
            thread leaves the work to helpers, so that signals reach it meanwhile.

    Raises:
        RuntimeError: a call returned another status; no further chunk was started.
        BaseException: what a call raised, KeyboardInterrupt in the caller included, after the
            chunks that were running have ended.
    """
    chunks = [*itertools.pairwise(edges)]
    chunks.reverse()
    workers = pool()
    watched = give_up is not None and threading.current_thread() is threading.main_thread()
    most = min(threads, len(chunks)) - (not watched) - workers.busy()
    helpers = max(int(watched and bool(chunks)), most)
    job = Job(call, chunks, helpers, pace or Pace(EVERYTHING), give_up if watched else None)
    if helpers:
        workers.run(job)
    else:
        job.work()


_LIMIT: Final[ContextVar[int | None]] = ContextVar("axiomjit_threads", default=None)


@contextmanager
def threads(n: int) -> Iterator[None]:
    """Use at most `n` threads for what is started inside the block, in this thread or task.

    In a block inside another one the smaller number holds. The libraries that compute matrix
    products are limited too where `threadpoolctl` can be imported.

    Raises:
        GraphValueError: n is less than 1.

    Examples:
        >>> @aj.jit
        ... def total(x):
        ...     return (x * 2).sum()
        >>> with aj.threads(1):
        ...     float(total(np.ones(1000)))
        2000.0
    """
    count = operator.index(n)
    if count < 1:
        raise GraphValueError(f"threads({n})", "less than one", "let at least one thread work")
    outer = _LIMIT.get()
    token = _LIMIT.set(count if outer is None else min(count, outer))
    try:
        yield
    finally:
        _LIMIT.reset(token)


def asked_threads() -> int | None:
    """The number of the innermost `threads(n)`; None outside of all."""
    return _LIMIT.get()


def available_threads() -> int:
    """Threads that a call may use now: what the process was granted, and `threads(n)`."""
    most = granted()
    if most == 1:
        return 1
    own = _LIMIT.get()
    return most if own is None else min(own, most)


@lru_cache(maxsize=1)
def granted() -> int:
    """What CPUs, control group and environment let this process have.

    They are looked at once, by the first call that could use threads, and again after a fork. Of
    the variables the first that names a number counts.
    """
    affinity = getattr(os, "sched_getaffinity", None)
    cpus = len(affinity(0)) if affinity else os.cpu_count() or 1
    limits = [cpus, read_quota("/proc/self/cgroup", "/sys/fs/cgroup")]
    limits += [asked for asked in map(_asked, VARIABLES) if asked is not None][:1]
    return min(limit for limit in limits if limit is not None)


def _asked(variable: str) -> int | None:
    """The number of threads that a variable names first, None where it names none."""
    first = os.environ.get(variable, "").split(",")[0].strip()
    return int(first) if first.isdecimal() and int(first) else None


def read_quota(table: AnyPath, mount: AnyPath) -> int | None:
    """The smallest CPU quota of the groups that `table` lists, and of those above them.

    Args:
        table: a file of lines "number:controllers:path", as /proc/self/cgroup.
        mount: where control groups are mounted; version 2 directly, version 1 per controller.
    """
    quotas: list[float] = []
    for line in _read(table).splitlines():
        _, controllers, path = line.split(":", 2)
        names = controllers.split(",")
        if controllers and "cpu" not in names:
            continue
        names = [name for name in path.split("/") if name]
        groups = ["/".join(names[:depth]) for depth in range(len(names), -1, -1)]
        bases = ["cpu", controllers] if controllers else [""]
        groups = [os.path.join(mount, base, group) for base in bases for group in groups]
        quotas.extend(quota for group in groups if (quota := _group_quota(group)) is not None)
    return max(1, math.ceil(min(quotas))) if quotas else None


def _group_quota(group: str) -> float | None:
    """CPUs granted to one control group, in the format of either version."""
    words = _read(f"{group}/cpu.max").split()
    if not words:
        words = [_read(f"{group}/cpu.cfs_{part}_us").strip() for part in ("quota", "period")]
    if len(words) != 2 or not all(word.isdecimal() for word in words):
        return None  # "max", "-1" or no such file
    return int(words[0]) / int(words[1]) if int(words[1]) else None


def _read(path: AnyPath) -> str:
    """Text of a file; empty if it cannot be read."""
    try:
        with open(path) as file:
            return file.read()
    except OSError:
        return ""


after_fork(granted.cache_clear)
