"""The books of the pool are right wherever a signal interrupts the calling thread."""

import os
import signal
import subprocess
import sys
import threading
import time

import pytest

from axiomjit.runtime.execution import workers
from axiomjit.runtime.execution.workers import ChunkSize, Job, Pool, run_chunks
from tests.runtime.execution.interrupts import Injector, Interrupt


class Buffer:
    """What chunks write to; after the call nobody may."""

    def __init__(self, chunk_s):
        self.chunk_s, self.given_back, self.late, self.done = chunk_s, False, False, []

    def write(self, low, high):
        time.sleep(self.chunk_s)
        self.late |= self.given_back
        self.done.append(low)
        return 0


def run_interrupted(pool, at, chunk_s=0.0005, seats=2, give_up=None):
    """Run a job with an interrupt at one instruction; the injector and the buffer."""
    buffer, injector = Buffer(chunk_s), Injector(at, workers.__file__)
    job = Job(buffer.write, [(k, k + 1) for k in range(6)], seats, ChunkSize(1), give_up)
    before = sys.gettrace()
    sys.settrace(injector)
    try:
        pool.run(job)
    except Interrupt:
        pass
    finally:
        sys.settrace(before)
        injector.last.clear()
        buffer.given_back = True
    return injector, buffer, job


def check_books(pool, job, place):
    """Nobody is at work for the job, and nobody comes; each worker is known, once."""
    if job.is_open:  # the signal came before the call had done anything
        assert job not in pool.jobs, place
        assert len(job.chunks) == 6, place
    else:
        assert not job.chunks, place
    assert not any(seat.locked() for seat in job.seats), place
    assert len(pool.workers) == len(set(pool.workers)) <= pool.most, place


def call_both(pool):
    """A job that ends only if both helpers come."""
    barrier = threading.Barrier(3)
    pool.run(Job(lambda low, high: barrier.wait(30) * 0, [(0, 1), (1, 2), (2, 3)], 2, ChunkSize(1)))


def check_threads(pool):
    """The threads of a pool are those in its books, as soon as surplus ones have ended."""
    deadline = time.monotonic() + 10
    while {t for t in threading.enumerate() if getattr(t, "pool", None) is pool} != set(
        pool.workers
    ):
        assert time.monotonic() < deadline, pool.workers
        time.sleep(0.001)


@pytest.mark.parametrize("watched", [False, True], ids=["works", "watches"])
@pytest.mark.parametrize("fresh", [True, False], ids=["first call", "later call"])
def test_an_interrupt_at_any_instruction_leaves_nothing_open(fresh, watched):
    given_up = []
    give_up = (lambda: given_up.append(True)) if watched else None
    warm = Pool()
    run_interrupted(warm, 0)
    total = run_interrupted(Pool() if fresh else warm, 0, give_up=give_up)[0].seen
    assert total > 40
    places = set()
    for at in range(1, total + 1):
        pool = Pool() if fresh else warm
        given_up.clear()
        injector, buffer, job = run_interrupted(pool, at, give_up=give_up)
        assert not watched or job.is_open or given_up, injector.raised
        if injector.raised is None:  # this run took fewer instructions: workers were quicker
            continue
        places.add(injector.raised.split(":")[0])
        check_books(pool, job, injector.raised)
        time.sleep(0.002)
        assert not buffer.late, injector.raised
        call_both(pool)
        assert not pool.busy(), injector.raised
        check_threads(pool)
    expected = {"run", "_call_workers", "work", "close", "stop"}
    expected |= {"watch", "wait"} if watched else {"learn"}
    assert places >= expected | ({"_hire"} if fresh else set())


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="no interval timer here")
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # in a gc callback
def test_signals_at_random_moments():
    rounds = int(os.environ.get("AXIOMJIT_TEST_SIGNALS", "400"))
    late = interrupted = 0
    pool = Pool()

    def handler(number, frame):
        raise Interrupt

    before = signal.signal(signal.SIGALRM, handler)
    try:
        for k in range(rounds):
            pool = pool if k % 40 else Pool()
            buffer = Buffer(0.0001)
            job = Job(buffer.write, [(n, n + 1) for n in range(6)], 2, ChunkSize(1))
            try:
                signal.setitimer(signal.ITIMER_REAL, 1e-5 + (k * 7919 % 1000) * 1e-6)
                pool.run(job)
                signal.setitimer(signal.ITIMER_REAL, 0)
            except Interrupt:
                interrupted += 1
            buffer.given_back = True
            if k % 16 == 0:
                time.sleep(0.001)
            late += buffer.late
            check_books(pool, job, k)
            assert not pool.busy()
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert late == 0
    assert interrupted > rounds // 8


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="no interval timer here")
def test_a_signal_handler_may_run_jobs():
    pool, inner = Pool(), []

    def handler(number, frame):
        buffer = Buffer(0.0)
        pool.run(Job(buffer.write, [(n, n + 1) for n in range(4)], 2, ChunkSize(1)))
        inner.append(sorted(buffer.done))

    before = signal.signal(signal.SIGALRM, handler)
    try:
        for k in range(300):
            signal.setitimer(signal.ITIMER_REAL, 1e-5 + (k * 7919 % 600) * 1e-6)
            buffer = Buffer(0.0001)
            pool.run(Job(buffer.write, [(n, n + 1) for n in range(4)], 2, ChunkSize(1)))
            assert sorted(buffer.done) == [0, 1, 2, 3]
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert len(inner) > 20
    assert all(done == [0, 1, 2, 3] for done in inner)


def test_a_helper_ends_its_chunk_when_the_caller_has_nothing_left():
    """A chunk of many paces is run to its end, though nothing else is left to take."""
    pool, done, taken = Pool(), [], threading.Event()

    def call(low, high):
        if low == 0:  # the caller holds on until the helper has the long chunk
            assert taken.wait(30)
        else:
            taken.set()
            time.sleep(0.001)
        done.append((low, high))
        return 0

    pool.run(Job(call, [(1, 60), (0, 1)], 1, ChunkSize(1)))
    assert sum(high - low for low, high in done) == 60


def test_threads_that_cannot_start_are_not_counted(monkeypatch):
    pool, buffer = Pool(), Buffer(0.0)

    def refuse(worker):
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as patch:
        patch.setattr(workers._Worker, "start", refuse)
        pool.run(Job(buffer.write, [(n, n + 1) for n in range(4)], 2, ChunkSize(1)))
    assert sorted(buffer.done) == [0, 1, 2, 3]
    assert pool.workers == []
    pool.run(Job(buffer.write, [(n, n + 1) for n in range(4)], 2, ChunkSize(1)))
    assert len(pool.workers) == 2


def test_calls_at_the_same_time_share_the_threads(monkeypatch):
    """Live threads stay within the callers and the workers that one call may have."""
    monkeypatch.setattr(workers._Process, "pool", Pool())
    most, lock, now = [0], threading.Lock(), [0]

    def chunk(low, high):
        with lock:
            now[0] += 1
            most[0] = max(most[0], now[0])
        time.sleep(0.0005)
        with lock:
            now[0] -= 1
        return 0

    def user():
        for _ in range(20):
            run_chunks(chunk, [*range(9)], 4)

    users = [threading.Thread(target=user) for _ in range(6)]
    for thread in users:
        thread.start()
    for thread in users:
        thread.join(60)
    assert 4 <= most[0] <= 6 + 3


@pytest.mark.parametrize("guess", [1, 100, 10**6])
@pytest.mark.parametrize("unit_s", [1e-6, 1e-4])
def test_the_pace_follows_measured_speed(guess, unit_s):
    """After a first call of any length, no call takes long, and few are very short."""
    chunk_size, taken = ChunkSize(guess), []
    left = int(400 / unit_s)
    while left > 0:
        units = min(left, chunk_size.most)
        left -= units
        seconds = units * unit_s
        taken.append(seconds)
        chunk_size.learn(units, seconds)
    settled = taken[20:-1]
    assert settled
    assert max(settled) <= 0.03
    assert min(settled) >= 0.0025
    assert max(taken[1:]) <= 0.1


def test_slow_units_are_run_one_at_a_time():
    chunk_size = ChunkSize(64)
    chunk_size.learn(64, 64 * 0.5)
    assert chunk_size.most == 1
    chunk_size.learn(1, 0.5)
    assert chunk_size.most == 1


FORKED = """
import os, signal, sys, threading, time
from axiomjit.runtime.execution.workers import run_chunks
def slow(low, high):
    if low == 20:
        signal.setitimer(signal.ITIMER_REAL, 0.001)
    time.sleep(0.01)
    return 0
def handler(number, frame):
    global child
    child = os.fork()
child = None
signal.signal(signal.SIGALRM, handler)
try:
    run_chunks(slow, range(100), 3)
    print("ended", child == 0)
except RuntimeError as error:
    print(error, child == 0)
sys.stdout.flush()
if child == 0:
    run_chunks(slow, range(10), 3)
    os._exit(0)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this platform")
def test_a_fork_in_the_middle_of_a_call_is_told_in_the_child():
    done = subprocess.run(
        [sys.executable, "-c", FORKED], capture_output=True, timeout=60, check=True, text=True
    )
    told = sorted(done.stdout.splitlines())
    assert told == ["ended False", "the process was forked while it ran chunks True"]


def test_a_caller_that_watches_works_where_nobody_helps(monkeypatch):
    """No thread can be started: the work is done all the same, after a while."""
    monkeypatch.setattr(workers._Worker, "start", lambda self: (_ for _ in ()).throw(MemoryError))
    monkeypatch.setattr(workers, "PATIENCE_S", 0.01)
    names = []

    def chunk(low, high):
        names.append(threading.current_thread().name)
        return 0

    Pool().run(Job(chunk, [(0, 1), (1, 2)], 1, ChunkSize(1), give_up=lambda: None))
    assert names == [threading.main_thread().name] * 2


def test_long_units_are_left_to_helpers_by_the_main_thread_alone():
    names = []

    def chunk(low, high):
        names.append(threading.current_thread())
        return 0

    run_chunks(chunk, (0, 1), 1, ChunkSize(1), give_up=lambda: None)
    other = threading.Thread(
        target=run_chunks, args=(chunk, (0, 1), 1, ChunkSize(1)), kwargs={"give_up": lambda: None}
    )
    other.start()
    other.join()
    assert names[0] is not threading.main_thread()
    assert names[1] is other
