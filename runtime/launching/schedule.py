"""Chunks of a grid on several threads.

A kernel releases the GIL, so the standard library's threads are enough. The caller always works
itself and waits only for chunks that somebody is running, never for a thread to wake up; so nested
and concurrent calls cannot block each other: they merely find fewer idle workers.
"""

import itertools
import math
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import Final

Chunk = Callable[[int, int], int]
SMALLEST: Final = 16
"""The smallest chunk is such a part of what each thread gets."""


class _Job:
    """One parallel call: the chunks not yet taken, and who is at work on it."""

    __slots__ = (
        "active",
        "call",
        "closed",
        "done",
        "edges",
        "failure",
        "numbers",
        "wanted",
    )

    def __init__(self, call: Chunk, edges: Sequence[int], wanted: int) -> None:
        self.call, self.edges = call, edges
        self.numbers = itertools.count()  # `next` on it is atomic
        self.wanted = wanted  # workers that may still join
        self.active = 0  # workers that joined and have not left
        self.closed = False  # no further chunk may start
        self.failure: BaseException | None = None
        self.done = threading.Lock()
        self.done.acquire()  # released by the last worker to leave a closed job

    def work(self) -> None:
        """Run chunks until none is left or the job is closed."""
        while not self.closed:
            number = next(self.numbers)
            if number >= len(self.edges) - 1:
                return
            _run(self.call, self.edges[number], self.edges[number + 1])


class _Worker(threading.Thread):
    """A thread that helps with open jobs; a daemon, so that Python exits while it sleeps."""

    def __init__(self, pool: "_Pool") -> None:
        super().__init__(name="axiomjit", daemon=True)
        self.pool = pool
        self.wake = threading.Lock()
        self.wake.acquire()

    def run(self) -> None:
        """Help with one job after another; sleep while there is none."""
        while True:
            job = self.pool.join_job(self)
            if job is None:
                self.wake.acquire()
                continue
            try:
                job.work()
            except BaseException as error:  # handed to the caller, whatever it is
                job.failure = job.failure or error
                job.closed = True
            self.pool.leave(job)
            del job  # keep no buffers alive while asleep


class _Pool:
    """The workers and open jobs of this process; it grows to the most workers ever wanted.

    A worker looks for a job once it is awake: one still waking up for a call that has ended
    meanwhile serves the next call.
    """

    def __init__(self) -> None:
        self.lock = threading.Lock()  # guards all below, and `wanted` and `active` of the jobs
        self.size = 0
        self.idle: list[_Worker] = []
        self.jobs: list[_Job] = []

    def open(self, job: _Job) -> None:
        """Offer `job` to idle and new workers; busy ones may join when they are done."""
        with self.lock:
            self.jobs.append(job)
            for _ in range(min(job.wanted, len(self.idle))):
                self.idle.pop().wake.release()
            born = max(0, job.wanted - self.size)
            self.size += born
        for number in range(born):
            try:
                _Worker(self).start()
            except RuntimeError:  # no more threads, or the interpreter is ending
                self.size -= born - number
                return

    def join_job(self, worker: _Worker) -> _Job | None:
        """The oldest job that wants a worker, joined; without one the worker becomes idle."""
        with self.lock:
            for job in self.jobs:
                if job.wanted and not job.closed:
                    job.wanted -= 1
                    job.active += 1
                    return job
            self.idle.append(worker)
            return None

    def leave(self, job: _Job) -> None:
        """Tell that a worker has no more to do for `job`."""
        with self.lock:
            job.active -= 1
            if job.closed and not job.active:
                job.done.release()

    def close(self, job: _Job) -> None:
        """Let nobody join `job` and wait for its workers, through interrupts; raise those then."""
        interrupt: KeyboardInterrupt | None = None
        while True:
            try:
                with self.lock:
                    job.closed = True
                    if job in self.jobs:
                        self.jobs.remove(job)
                    busy = job.active > 0
                if not busy:
                    break
                job.done.acquire()
            except KeyboardInterrupt as error:  # buffers are still being written: do not leave
                interrupt = error
        if interrupt is not None:
            raise interrupt


_POOL = _Pool()


def _reset_pool() -> None:
    """Forget the parent's threads, which a forked child does not have, and how many it might."""
    global _POOL
    _POOL = _Pool()
    granted.cache_clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_reset_pool)


def _run(call: Chunk, lo: int, hi: int) -> None:
    """Run one chunk and refuse a status other than 0."""
    status = call(lo, hi)
    if status:
        raise RuntimeError(f"kernel returned status {status} for units {lo} to {hi}")


@lru_cache(maxsize=256)
def chunk_edges(grid: int, most: int, threads: int) -> tuple[int, ...]:
    """Where the chunks of a grid begin, and its end.

    Chunks shrink, so that a thread that wakes up late or is slow ends with the others: each has
    half of what every thread would get of the rest (C. Polychronopoulos and D. Kuck, "Guided
    self-scheduling", 1987), but no more than `most` units and no less than a part of SMALLEST.
    """
    edges, least = [0], -(-grid // (SMALLEST * threads))
    while edges[-1] < grid:
        rest = grid - edges[-1]
        share = max(-(-rest // (2 * threads)), least) if threads > 1 else rest
        edges.append(edges[-1] + min(share, rest, most))
    return tuple(edges)


def run_chunks(call: Chunk, edges: Sequence[int], threads: int) -> None:
    """Run `call(lo, hi)` for each pair of neighbours among the edges.

    Args:
        call: runs units lo to hi and returns a status, 0 for success; it should release the GIL.
        edges: ascending numbers of units (see `chunk_edges`).
        threads: how many threads may work at once, the caller being one. With 1, or one chunk,
            everything runs in the caller in order.

    Raises:
        RuntimeError: a call returned another status; no further chunk was started.
        BaseException: what a call raised, KeyboardInterrupt in the caller included, after the
            chunks that were running have ended.
    """
    chunks = len(edges) - 1
    if threads <= 1 or chunks <= 1:
        for lo, hi in itertools.pairwise(edges):
            _run(call, lo, hi)
        return
    pool = _POOL
    job = _Job(call, edges, min(threads, chunks) - 1)
    try:
        pool.open(job)
        job.work()
    finally:
        pool.close(job)
    if job.failure is not None:
        raise job.failure


# --- how many threads -----------------------------------------------------------------------


class _Limit(threading.local):
    """The calling thread's own limit."""

    count: int | None = None


_LIMIT = _Limit()


@contextmanager
def threads(n: int) -> Iterator[None]:
    """Use at most `n` threads for what the calling thread starts inside the block.

    Raises:
        ValueError: n is less than 1.
    """
    if n < 1:
        raise ValueError(f"threads({n}): at least one thread has to work")
    outer = _LIMIT.count
    _LIMIT.count = n if outer is None else min(n, outer)
    try:
        yield
    finally:
        _LIMIT.count = outer


def available_threads() -> int:
    """Threads that a call may use now: what the process was granted, and `threads(n)`."""
    most = granted()
    if most == 1:
        return 1
    own = _LIMIT.count
    return most if own is None else min(own, most)


@lru_cache(maxsize=1)
def granted() -> int:
    """What CPUs, control group and environment let this process have.

    They are looked at once, by the first call that could use threads, and again after a fork.
    """
    affinity = getattr(os, "sched_getaffinity", None)
    cpus = len(affinity(0)) if affinity else os.cpu_count() or 1
    limits = [cpus, read_quota(Path("/proc/self/cgroup"), Path("/sys/fs/cgroup"))]
    for variable in ("AXIOMJIT_NUM_THREADS", "OMP_NUM_THREADS"):
        first = os.environ.get(variable, "").split(",")[0].strip()
        limits.append(int(first) if first.isdecimal() and int(first) else None)
    return min(limit for limit in limits if limit is not None)


def read_quota(table: Path, mount: Path) -> int | None:
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
        inner = Path(path.lstrip("/"))
        bases = [mount / "cpu", mount / controllers] if controllers else [mount]
        groups = [base / group for base in bases for group in (inner, *inner.parents)]
        quotas.extend(quota for group in groups if (quota := _group_quota(group)) is not None)
    return max(1, math.ceil(min(quotas))) if quotas else None


def _group_quota(group: Path) -> float | None:
    """CPUs granted to one control group, in the format of either version."""
    words = _read(group / "cpu.max").split()
    if not words:
        words = [_read(group / f"cpu.cfs_{part}_us").strip() for part in ("quota", "period")]
    if len(words) != 2 or not all(word.isdecimal() for word in words):
        return None  # "max", "-1" or no such file
    return int(words[0]) / int(words[1]) if int(words[1]) else None


def _read(path: Path) -> str:
    """Text of a file; empty if it cannot be read."""
    try:
        return path.read_text()
    except OSError:
        return ""
