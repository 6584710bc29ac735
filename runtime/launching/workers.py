"""Worker threads, and the calls whose chunks they help to run.

A signal handler may interrupt the calling thread at any instruction, call us again, and raise. So
the caller changes what is shared by single operations of lists, dicts, queues and locks, which are
whole or not at all, and each is right by itself. Several steps are taken only by the workers, which
no signal handler interrupts.
"""

from __future__ import annotations

import threading
from _queue import SimpleQueue  # `queue` has the same one, and imports more than is needed
from collections.abc import Callable, Iterable
from time import perf_counter, sleep
from typing import Final

from axiomjit.base.locks import after_fork, new_gate, new_lock

Chunk = Callable[[int, int], int]
LONG_S: Final = 0.02
"""An uninterrupted call that takes longer is followed by shorter ones, so that Ctrl-C is heard."""
PATIENCE_S: Final = 1.0
"""How long a caller that watches waits for a helper before it works itself."""
SHORT_S: Final = 0.005
"""One that takes less is followed by longer ones."""


class Pace:
    """How many units of a kernel are run in one uninterrupted call, learnt from its calls."""

    __slots__ = ("most",)

    def __init__(self, most: int) -> None:
        """Begin with a guess; a low one costs little."""
        self.most = max(1, most)

    def learn(self, units: int, seconds: float) -> None:
        """Take notice that so many units took so long."""
        if seconds > LONG_S:
            self.most = max(1, int(units * (LONG_S / 2 / seconds)))
        elif seconds < SHORT_S and units >= self.most:
            self.most *= 2


class Job:
    """One parallel call: the chunks that nobody has taken yet, and a seat for each helper."""

    __slots__ = ("call", "chunks", "failures", "give_up", "is_open", "pace", "seats")

    def __init__(
        self,
        call: Chunk,
        chunks: Iterable[tuple[int, int]],
        seats: int,
        pace: Pace,
        give_up: Callable[[], object] | None = None,
    ) -> None:
        """Prepare; the last chunk is taken first. To `give_up` ends calls that are running."""
        self.call, self.pace, self.give_up = call, pace, give_up
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
                end = min(high, low + self.pace.most)
                began = perf_counter()
                status = self.call(low, end)
                if status:
                    raise RuntimeError(f"kernel returned status {status} for units {low} to {end}")
                self.pace.learn(end - low, perf_counter() - began)
                low = end

    def help(self) -> bool:
        """Work as a helper, in a free seat; False where there is none or nothing to do.

        A chunk is taken only in a seat, so that nobody works when the caller has seen all seats
        free and no chunks left.
        """
        for seat in self.seats if self.chunks else ():
            if seat.acquire(blocking=False):
                try:
                    self.work()
                except BaseException as error:  # handed to the caller, whatever it is
                    self.failures.append(error)
                    self.stop()
                finally:
                    seat.release()
                return True
        return False

    def watch(self) -> None:
        """Leave the work to helpers; signals are heard meanwhile, within a unit too.

        Where nobody takes a seat for long, work.
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
        """Wait until nobody is at work in a seat."""
        for seat in self.seats:
            with seat:
                pass

    def stop(self) -> None:
        """Let nothing further start, of chunks under way neither."""
        self.chunks.clear()
        self.is_open = False
        if self.give_up is not None:
            self.give_up()

    def close(self) -> None:
        """Stop, and wait for those at work: they write into the caller's arrays.

        What interrupts the waiting is raised afterwards.
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
        """Give up what helpers had taken, who are not in this forked process."""
        self.failures.append(RuntimeError("the process was forked while it ran chunks"))
        self.stop()
        self.seats = ()


class _Worker(threading.Thread):
    """A thread that helps with open jobs; a daemon, so that Python exits while it sleeps."""

    def __init__(self, pool: Pool) -> None:
        super().__init__(name="axiomjit", daemon=True)
        self.pool = pool
        self.is_entered = new_gate()
        self.is_entered.acquire()

    def run(self) -> None:
        """Enter itself in the pool, and help whenever it is called."""
        pool = self.pool
        pool.workers.append(self)
        needed = len(pool.workers) <= pool.most
        if not needed:  # the caller was interrupted before it saw another one
            pool.workers.remove(self)
        self.is_entered.release()
        while needed:
            pool.calls.get()
            while pool.help():
                pass


class Pool:
    """The workers and open jobs of this process; it grows to the most workers ever wanted."""

    def __init__(self) -> None:
        """Start without workers."""
        self.jobs: dict[Job, None] = {}
        self.workers: list[_Worker] = []
        self.most = 0
        self.calls: SimpleQueue[None] = SimpleQueue()  # an entry wakes a worker
        self._hiring = new_lock()

    def run(self, job: Job) -> None:
        """Run a job to its end, with helpers in its seats.

        Raises:
            BaseException: what a chunk or a signal handler raised; nobody is at work then.
        """
        try:
            try:
                self.jobs[job] = None
                if job.give_up is None:
                    self._call_workers(len(job.seats))
                else:  # there is a helper for it whatever others do
                    self._call_workers(sum([len(other.seats) for other in list(self.jobs)]))
                if job.give_up is None or not self.workers:
                    job.work()
                else:
                    job.watch()
                job.wait()
            finally:
                job.close()
        finally:  # again, if a signal came before the first step of that
            self.jobs.pop(job, None)
            job.close()
        if job.failures:
            raise job.failures[0]

    def help(self) -> bool:
        """Help with a job; False where none has a seat and something to do."""
        for job in list(self.jobs):
            if job.help():
                return True
            if not job.is_open:  # a signal came before the caller could do this
                self.jobs.pop(job, None)
        return False

    def busy(self) -> int:
        """How many calls are running jobs."""
        return sum(job.is_open for job in list(self.jobs))

    def _call_workers(self, count: int) -> None:
        if len(self.workers) < count:
            self._hire(count)
        for _ in range(count):
            if self.calls.qsize() >= len(self.workers):  # all will look for jobs anyway
                return
            self.calls.put(None)

    def _hire(self, count: int) -> None:
        """Start workers; each enters itself, so that the books know those that exist."""
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
    """The pool of this process."""

    pool = Pool()


def pool() -> Pool:
    """The pool of this process; a forked child has its own."""
    return _Process.pool


def _forget_workers() -> None:
    """Forget the parent's threads, which a forked child does not have."""
    old, _Process.pool = _Process.pool, Pool()
    for job in list(old.jobs):
        job.abandon()


after_fork(_forget_workers)
