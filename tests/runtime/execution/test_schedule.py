"""Chunks run exactly once, on any number of threads, through failures, interrupts and forks."""

import itertools
import os
import signal
import subprocess
import sys
import threading
import time

import pytest

from axiomjit.base.errors import GraphValueError
from axiomjit.runtime.execution.workers import (
    available_threads,
    chunk_edges,
    granted,
    read_quota,
    run_chunks,
    threads,
)


def run_even(call, grid, chunk, count):
    """Chunks of one size."""
    run_chunks(call, [*range(0, grid, chunk), grid], count)


class Recorder:
    """A chunk function that remembers its calls, and sleeps as if it had released the GIL."""

    def __init__(self, sleep_s=0.0):
        self.sleep_s, self.calls, self.workers = sleep_s, [], set()

    def __call__(self, lo, hi):
        time.sleep(self.sleep_s)
        self.calls.append((lo, hi))
        self.workers.add(threading.current_thread())
        return 0


@pytest.mark.parametrize("count", [1, 2, 5])
@pytest.mark.parametrize(("grid", "chunk"), [(0, 3), (1, 3), (3, 3), (10, 3), (12, 3), (7, 1)])
def test_chunks_cover_the_grid_once(grid, chunk, count):
    call = Recorder()
    run_even(call, grid, chunk, count)
    calls = sorted(
        call.calls
    )  # a chunk that took long, since others run, is followed by shorter ones
    assert [0, *(hi for _, hi in calls)] == [*(lo for lo, _ in calls), grid]
    assert {lo for lo, _ in calls} >= set(range(0, grid, chunk))


@pytest.mark.parametrize("count", [1, 2, 5, 16])
@pytest.mark.parametrize("grid", [0, 1, 2, 7, 100, 12345])
def test_chunks_shrink(grid, count):
    edges = chunk_edges(grid, count)
    sizes = [hi - lo for lo, hi in itertools.pairwise(edges)]
    assert (edges[0], edges[-1]) == (0, grid)
    assert all(size > 0 for size in sizes)
    assert sizes == sorted(sizes, reverse=True)
    if count == 1:
        assert len(sizes) == min(grid, 1)
    elif grid >= 100:
        assert sizes[0] == -(-grid // (2 * count))
        assert len(sizes) <= 10 * count
        assert sizes[-1] <= -(-grid // (16 * count))


def test_one_thread_or_one_chunk_stays_in_the_caller():
    for grid, chunk, count in ((100, 1, 1), (100, 100, 8)):
        call = Recorder()
        run_even(call, grid, chunk, count)
        assert call.workers == {threading.current_thread()}
        assert call.calls == sorted(call.calls)


def test_several_threads_take_part_up_to_the_limit():
    call = Recorder(sleep_s=0.005)
    run_even(call, 30, 1, 3)
    assert len(call.workers) == 3
    assert threading.current_thread() in call.workers


def test_no_thread_before_the_first_parallel_call():
    code = (
        "import threading; from tests.runtime.execution.test_schedule import run_even\n"
        "run_even(lambda lo, hi: 0, 9, 1, 1); run_even(lambda lo, hi: 0, 9, 9, 4)\n"
        "assert threading.active_count() == 1\n"
        "run_even(lambda lo, hi: 0, 9, 1, 2)\n"
        "assert threading.active_count() == 2\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


@pytest.mark.parametrize("count", [1, 4])
def test_status_stops_the_rest(count):
    call = Recorder(sleep_s=0.001)
    with pytest.raises(RuntimeError, match="kernel returned status 7 for units 2 to 3"):
        run_even(lambda lo, hi: 7 if lo == 2 else call(lo, hi), 1000, 1, count)
    assert len(call.calls) < 50


@pytest.mark.parametrize("in_caller", [True, False])
def test_exceptions_reach_the_caller(in_caller):
    caller, failed = threading.current_thread(), threading.Event()

    def call(lo, hi):
        if (threading.current_thread() is caller) == in_caller:
            failed.set()
            raise ZeroDivisionError("planted")
        assert failed.wait(30)
        return 0

    with pytest.raises(ZeroDivisionError, match="planted"):
        run_even(call, 1000, 1, 2)


def test_interrupt_waits_for_running_chunks_and_stops_the_rest():
    caller, started, raised = threading.current_thread(), threading.Event(), threading.Event()
    ended = []

    def call(lo, hi):
        if threading.current_thread() is caller:
            assert started.wait(30)
            raised.set()
            raise KeyboardInterrupt
        started.set()
        assert raised.wait(30)
        time.sleep(0.05)
        ended.append(lo)
        return 0

    with pytest.raises(KeyboardInterrupt):
        run_even(call, 1000, 1, 2)
    assert len(ended) == 1
    time.sleep(0.1)
    assert len(ended) == 1


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="no interval timer here")
def test_interrupt_while_waiting_for_a_worker():
    caller, started, release = threading.current_thread(), threading.Event(), threading.Event()
    ended = []

    def call(lo, hi):
        if threading.current_thread() is caller:
            assert started.wait(30)
            return 0
        if not started.is_set():
            started.set()
            signal.setitimer(signal.ITIMER_REAL, 0.1)
            release.wait(30)  # longer than the caller has anything to do
        ended.append(lo)
        return 0

    def interrupt(number, frame):
        threading.Timer(0.05, release.set).start()
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        with pytest.raises(KeyboardInterrupt):
            run_even(call, 3, 1, 2)
        assert release.is_set()
        assert ended
    finally:
        signal.signal(signal.SIGALRM, before)


def test_pool_works_after_a_failure():
    for _ in range(20):
        with pytest.raises(RuntimeError, match="status 1"):
            run_even(lambda lo, hi: 1, 50, 1, 3)
    test_several_threads_take_part_up_to_the_limit()


def test_many_short_and_failing_calls_lose_no_worker():
    for k in range(3000):
        if k % 3:
            run_even(lambda lo, hi: 0, 5, 1, 4)
        else:
            with pytest.raises(RuntimeError, match="status 1"):
                run_even(lambda lo, hi: hi // 4, 50, 1, 4)
    barrier = threading.Barrier(4)  # passed only if four threads run a chunk at once
    run_even(lambda lo, hi: barrier.wait(30) * 0, 4, 1, 4)


def test_nested_calls_end():
    call = Recorder(sleep_s=0.0005)

    def outer(lo, hi):
        run_even(call, 8, 1, 3)
        return 0

    run_even(outer, 6, 1, 3)
    assert len(call.calls) == 48


def test_many_user_threads_share_the_pool():
    recorders = [Recorder(sleep_s=0.0002) for _ in range(8)]

    def user(recorder):
        for _ in range(10):
            run_even(recorder, 16, 2, 3)

    users = [threading.Thread(target=user, args=(recorder,)) for recorder in recorders]
    for thread in users:
        thread.start()
    for thread in users:
        thread.join(60)
    expected = sorted([(lo, lo + 2) for lo in range(0, 16, 2)] * 10)
    assert all(sorted(recorder.calls) == expected for recorder in recorders)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this platform")
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_fork_after_use():
    run_even(Recorder(sleep_s=0.002), 8, 1, 3)
    child = os.fork()
    if child == 0:
        call = Recorder(sleep_s=0.005)
        run_even(call, 12, 1, 3)
        os._exit(0 if len(call.calls) == 12 and len(call.workers) == 3 else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


@pytest.fixture(name="environment")
def make_environment(monkeypatch):
    """An environment without limits, looked at anew after changes."""
    for variable in ("AXIOMJIT_NUM_THREADS", "OMP_NUM_THREADS"):
        monkeypatch.delenv(variable, raising=False)
    granted.cache_clear()
    yield monkeypatch
    granted.cache_clear()


@pytest.mark.usefixtures("environment")
def test_threads_is_a_nesting_limit_of_this_thread():
    machine = available_threads()
    seen = []
    with threads(1):
        assert available_threads() == 1
        with threads(64):
            assert available_threads() == 1
        other = threading.Thread(target=lambda: seen.append(available_threads()))
        other.start()
        other.join()
    assert seen == [machine]
    assert available_threads() == machine
    with pytest.raises(GraphValueError, match="let at least one thread work"), threads(0):
        pass


@pytest.mark.parametrize("variable", ["AXIOMJIT_NUM_THREADS", "OMP_NUM_THREADS"])
def test_environment_limits(environment, variable):
    machine = available_threads()
    for text, expected in (("1", 1), ("1,4", 1), ("many", machine), ("0", machine), ("", machine)):
        environment.setenv(variable, text)
        granted.cache_clear()
        assert available_threads() == expected


@pytest.mark.parametrize(
    ("table", "files", "expected"),
    [
        ("0::/job", {"job/cpu.max": "150000 100000"}, 2),
        ("0::/job", {"job/cpu.max": "max 100000", "cpu.max": "100000 100000"}, 1),
        ("0::/job", {"job/cpu.max": "max 100000"}, None),
        ("0::/elsewhere", {"cpu.max": "300000 100000"}, 3),
        ("4:memory:/m\n3:cpu,cpuacct:/a/b", {"cpu,cpuacct/a/b/cpu.cfs": "400000 100000"}, 4),
        ("3:cpu:/a", {"cpu/a/cpu.cfs": "-1 100000"}, None),
        ("3:cpu:/a", {"cpu/a/cpu.cfs": "1000 100000"}, 1),
        ("", {}, None),
    ],
)
def test_control_group_quota(tmp_path, table, files, expected):
    (tmp_path / "table").write_text(table)
    for name, text in files.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.name == "cpu.max":
            path.write_text(text)
        else:
            quota, period = text.split()
            (path.parent / "cpu.cfs_quota_us").write_text(quota)
            (path.parent / "cpu.cfs_period_us").write_text(period)
    assert read_quota(tmp_path / "table", tmp_path) == expected


def test_quota_without_control_groups(tmp_path):
    assert read_quota(tmp_path / "none", tmp_path) is None
