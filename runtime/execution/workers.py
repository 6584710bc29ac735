"""Worker threads, the number of threads, and the jobs whose chunks workers help to run.

A kernel releases the GIL, so the threads of the standard library are sufficient. The caller itself
always works, too, and waits only for running chunks, never for a thread to wake up. So nested and
concurrent calls cannot block each other; they only find fewer idle workers.

A signal handler may interrupt the calling thread at any instruction, call this module again, and
raise an error. So the caller changes shared state only by single atomic operations of lists, dicts,
queues and locks, and the state is valid after each operation. Only workers, which signal handlers
do not interrupt, change state in several steps.
"""

from __future__ import annotations

import itertools
import math
import operator
import os
import threading
from _queue import SimpleQueue  # `queue` has the same class, but imports more
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import lru_cache
from time import perf_counter, sleep
from typing import Final

from axiomjit.base.errors import GraphValueError
from axiomjit.base.locks import after_fork, new_gate, new_lock

Chunk = Callable[[int, int], int]
AnyPath = str | os.PathLike[str]
MIN_SPEEDUP: Final = 1.1
"""The factor by which sharing the units of chains must be faster than running entire chains on
threads.
"""
SHARE_DIVISOR: Final = 16
"""The smallest chunk is a thread's share of all units, divided by this number."""
VARIABLES: Final = ("AXIOMJIT_NUM_THREADS", "OMP_NUM_THREADS")
ALL_UNITS: Final = 2**62
"""The chunk size, in units, of calls that need not be divided."""
LONG_CHUNK_S: Final = 0.02
"""The duration of a call, in seconds, above which later calls become shorter, so that Ctrl-C is
noticed soon.
"""
PATIENCE_S: Final = 1.0
"""The time in seconds that a watching caller waits for a helper before it works itself."""
SHORT_CHUNK_S: Final = 0.005
"""The duration of a call, in seconds, below which later calls become longer."""


class ChunkSize:
    """The number of units of a kernel per uninterrupted call, adjusted after each call."""

    __slots__ = ("most",)

    def __init__(self, most: int) -> None:
        """Start with the guess `most`; a guess that is too low costs little."""
        self.most = max(1, most)

    def learn(self, units: int, seconds: float) -> None:
        """Adjust the size by the units and the duration of a call."""
        if seconds > LONG_CHUNK_S:
            self.most = max(1, int(units * (LONG_CHUNK_S / 2 / seconds)))
        elif seconds < SHORT_CHUNK_S and units >= self.most:
            self.most *= 2


class Job:
    """A parallel call, with its waiting chunks and a seat for each possible helper."""

    __slots__ = ("call", "chunks", "failures", "give_up", "is_open", "chunk_size", "seats")

    def __init__(
        self,
        call: Chunk,
        chunks: Iterable[tuple[int, int]],
        seats: int,
        chunk_size: ChunkSize,
        give_up: Callable[[], object] | None = None,
    ) -> None:
        """Take the chunks, of which the last runs first; `give_up` ends running calls early."""
        self.call, self.chunk_size, self.give_up = call, chunk_size, give_up
        self.chunks = list(chunks)
        self.seats = tuple(new_gate() for _ in range(seats))
        self.failures: list[BaseException] = []
        self.is_open = True

    def work(self) -> None:
        """Run chunks until none is left.

        Raises:
            RuntimeError: the call returned another status than 0.
        """
        while True:
            try:
                low, high = self.chunks.pop()
            except IndexError:
                return
            while low < high and self.is_open:
                end = min(high, low + self.chunk_size.most)
                began = perf_counter()
                status = self.call(low, end)
                if status:
                    raise RuntimeError(f"kernel returned status {status} for units {low} to {end}")
                self.chunk_size.learn(end - low, perf_counter() - began)
                low = end

    def help(self) -> bool:
        """Run chunks as a helper in a free seat; False if there is no seat or no chunk.

        A helper takes chunks only while it has a seat. So if the caller sees that all seats are
        free and no chunks are left, no helper is working.
        """
        for seat in self.seats if self.chunks else ():
            if seat.acquire(blocking=False):
                try:
                    self.work()
                except BaseException as error:  # any exception is passed to the caller
                    self.failures.append(error)
                    self.stop()
                finally:
                    seat.release()
                return True
        return False

    def watch(self) -> None:
        """Leave the work to helpers, so that this thread can handle signals during a unit.

        If no helper takes a seat for PATIENCE_S seconds, this thread works.
        """
        ends = perf_counter() + PATIENCE_S
        while self.chunks and True not in [seat.locked() for seat in self.seats]:
            if perf_counter() > ends:
                break
            sleep(PATIENCE_S / 5000)
        else:
            self.wait()
        self.work()

    def wait(self) -> None:
        """Wait until no helper is working in a seat."""
        for seat in self.seats:
            with seat:
                pass

    def stop(self) -> None:
        """Prevent further calls of kernels, also calls for later units of a running chunk."""
        self.chunks.clear()
        self.is_open = False
        if self.give_up is not None:
            self.give_up()

    def close(self) -> None:
        """Stop the job, and wait for working helpers, which write into the caller's arrays.

        An exception that interrupts the wait is raised afterwards.
        """
        interrupt: BaseException | None = None
        self.stop()
        for seat in self.seats:
            while True:
                try:
                    with seat:
                        break
                except BaseException as error:
                    interrupt = error
        if interrupt is not None:
            raise interrupt

    def abandon(self) -> None:
        """Give up the chunks of helpers; this process, a forked child, has no helper threads."""
        self.failures.append(RuntimeError("the process was forked while it ran chunks"))
        self.stop()
        self.seats = ()


class _Worker(threading.Thread):
    """A daemon thread that helps with open jobs; Python can exit while it sleeps."""

    def __init__(self, pool: Pool) -> None:
        super().__init__(name="axiomjit", daemon=True)
        self.pool = pool
        self.is_entered = new_gate()
        self.is_entered.acquire()

    def run(self) -> None:
        """Join the pool, and help with jobs whenever the pool wakes the thread."""
        pool = self.pool
        pool.workers.append(self)
        needed = len(pool.workers) <= pool.most
        if not needed:  # the caller may have been interrupted before it saw this worker
            pool.workers.remove(self)
        self.is_entered.release()
        while needed:
            pool.calls.get()
            while pool.help():
                pass


class Pool:
    """The workers and the open jobs of this process; the number of workers never shrinks."""

    def __init__(self) -> None:
        self.jobs: dict[Job, None] = {}
        self.workers: list[_Worker] = []
        self.most = 0
        self.calls: SimpleQueue[None] = SimpleQueue()  # an entry wakes a worker
        self._hiring = new_lock()

    def run(self, job: Job) -> None:
        """Run a job to its end, with the help of workers.

        Raises:
            BaseException: the error of a chunk or of a signal handler; no helper is working then.
        """
        try:
            try:
                self.jobs[job] = None
                if job.give_up is None:
                    self._call_workers(len(job.seats))
                else:  # a helper is needed even if all workers are busy
                    self._call_workers(sum([len(other.seats) for other in list(self.jobs)]))
                if job.give_up is None or not self.workers:
                    job.work()
                else:
                    job.watch()
                job.wait()
            finally:
                job.close()
        finally:  # repeated, since a signal may interrupt the first `close`
            self.jobs.pop(job, None)
            job.close()
        if job.failures:
            raise job.failures[0]

    def help(self) -> bool:
        """Help with a job; False if no job has a free seat and a chunk."""
        for job in list(self.jobs):
            if job.help():
                return True
            if not job.is_open:  # a signal interrupted the caller before it dropped the job
                self.jobs.pop(job, None)
        return False

    def busy(self) -> int:
        """The number of calls that are running jobs."""
        return sum(job.is_open for job in list(self.jobs))

    def _call_workers(self, count: int) -> None:
        if len(self.workers) < count:
            self._hire(count)
        for _ in range(count):
            if self.calls.qsize() >= len(self.workers):  # all workers have an entry already
                return
            self.calls.put(None)

    def _hire(self, count: int) -> None:
        """Start workers; each worker adds itself to the pool when its thread runs."""
        with self._hiring:
            self.most = max(self.most, count)
            for _ in range(count - len(self.workers)):
                worker = _Worker(self)
                try:
                    worker.start()
                except (RuntimeError, MemoryError):  # no more threads, or Python is ending
                    return
                worker.is_entered.acquire()


class _Process:
    """The holder of the pool of this process."""

    pool = Pool()


def pool() -> Pool:
    """The pool of this process; a forked child has its own."""
    return _Process.pool


def _forget_workers() -> None:
    """Make a new pool in a forked child, which does not have the threads of its parent."""
    old, _Process.pool = _Process.pool, Pool()
    for job in list(old.jobs):
        job.abandon()


after_fork(_forget_workers)


@lru_cache(maxsize=256)
def chunk_edges(grid: int, threads: int) -> tuple[int, ...]:
    """The units at which the chunks of all units start, and the number of units.

    Chunks become smaller, so that all threads end at about the same time, even if one is late or
    slow. Each chunk is half of a thread's share of the remaining units, but at least a thread's
    share of all units divided by SHARE_DIVISOR. The method is guided self-scheduling, by
    Polychronopoulos and Kuck, 1987.
    """
    edges, least = [0], -(-grid // (SHARE_DIVISOR * threads))
    while edges[-1] < grid:
        rest = grid - edges[-1]
        share = max(-(-rest // (2 * threads)), least) if threads > 1 else rest
        edges.append(edges[-1] + min(share, rest))
    return tuple(edges)


def cuts_chains(chains: int, ahead: int, work: int, threads: int) -> bool:
    """True if a prepass and shared units of chains are faster than entire chains per thread."""
    if threads == 1 or not chains:
        return False
    longest = -(-chains // min(threads, chains))  # the chains of one thread
    return (ahead + work) * MIN_SPEEDUP / threads < work * longest / chains


def run_chunks(
    call: Chunk,
    edges: Sequence[int],
    threads: int,
    chunk_size: ChunkSize | None = None,
    give_up: Callable[[], object] | None = None,
) -> None:
    """Run all chunks, which are between neighbouring `edges`, by calls of `call(lo, hi)`.

    Args:
        call: A function that runs units lo to hi without the GIL and returns a status, 0 for
            success.
        edges: The ascending edges of chunks (see `chunk_edges`).
        threads: The largest number of threads that work at the same time, including the caller.
            With one thread or one chunk, the caller runs everything in order. Simultaneous calls
            share the threads.
        chunk_size: The number of units per call, which is adjusted after each call. If None, chunks
            are not divided.
        give_up: A function that ends running calls early. With `give_up`, one unit may take long,
            so the main thread leaves the work to helpers and can handle signals.

    Raises:
        RuntimeError: a call returned a status other than 0; no further chunk is started.
        BaseException: the error of a call, or KeyboardInterrupt in the caller, after the running
            chunks have ended.
    """
    chunks = [*itertools.pairwise(edges)]
    chunks.reverse()
    workers = pool()
    watched = give_up is not None and threading.current_thread() is threading.main_thread()
    most = min(threads, len(chunks)) - (not watched) - workers.busy()
    helpers = max(int(watched and bool(chunks)), most)
    job = Job(
        call, chunks, helpers, chunk_size or ChunkSize(ALL_UNITS), give_up if watched else None
    )
    if helpers:
        workers.run(job)
    else:
        job.work()


_LIMIT: Final[ContextVar[int | None]] = ContextVar("axiomjit_threads", default=None)


@contextmanager
def threads(n: int) -> Iterator[None]:
    """A context in which work that this thread or task starts uses at most `n` threads.

    In nested blocks, the smallest number holds. Libraries that compute matrix products are limited,
    too, if `threadpoolctl` can be imported.

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
    """The number of the innermost `threads(n)` block; None outside of such blocks."""
    return _LIMIT.get()


def available_threads() -> int:
    """The largest number of threads that a call may use, limited by `threads(n)`."""
    most = granted()
    if most == 1:
        return 1
    own = _LIMIT.get()
    return most if own is None else min(own, most)


@lru_cache(maxsize=1)
def granted() -> int:
    """The number of threads that CPUs, control groups and environment allow.

    The first call that could use threads determines the number; after a fork it is determined
    again. If several environment variables limit threads, the first one that has a number is used.
    """
    affinity = getattr(os, "sched_getaffinity", None)
    cpus = len(affinity(0)) if affinity else os.cpu_count() or 1
    limits = [cpus, read_quota("/proc/self/cgroup", "/sys/fs/cgroup")]
    limits += [asked for asked in map(_thread_limit, VARIABLES) if asked is not None][:1]
    return min(limit for limit in limits if limit is not None)


def _thread_limit(variable: str) -> int | None:
    """The first number in an environment variable; None if there is none."""
    first = os.environ.get(variable, "").split(",")[0].strip()
    return int(first) if first.isdecimal() and int(first) else None


def read_quota(table: AnyPath, mount: AnyPath) -> int | None:
    """The smallest CPU quota of the groups that `table` lists and of their parent groups.

    Args:
        table: A file with lines "number:controllers:path", as /proc/self/cgroup.
        mount: The directory of control groups; version 1 has a subdirectory per controller.
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
    """The CPUs granted to one control group, in the format of version 1 or 2."""
    words = _read(f"{group}/cpu.max").split()
    if not words:
        words = [_read(f"{group}/cpu.cfs_{part}_us").strip() for part in ("quota", "period")]
    if len(words) != 2 or not all(word.isdecimal() for word in words):
        return None  # "max", "-1" or no such file
    return int(words[0]) / int(words[1]) if int(words[1]) else None


def _read(path: AnyPath) -> str:
    """The text of a file; an empty text if the file cannot be read."""
    try:
        with open(path) as file:
            return file.read()
    except OSError:
        return ""


after_fork(granted.cache_clear)
