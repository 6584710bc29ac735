"""Long runs of threads, forks and interrupts; the tests run them with small budgets.

    python -m tests.thread_runs threads --budget 60     # seconds
    python -m tests.thread_runs forks --budget 500      # children
    python -m tests.thread_runs interrupts --budget 100 # interrupts
    python -m tests.thread_runs units --budget 100      # interrupts within single units

Each prints what it has counted and fails where something hangs, is wrong or comes late.
"""

import argparse
import os
import random
import signal
import statistics
import sys
import threading
import time
import warnings

import numpy as np

import axiomjit
from axiomjit.base.counters import stats

CHILD_S = 60.0
LUCK = random.Random(0)


def parts(seed):
    """A text that no other seed compiles, and its meaning in NumPy."""
    number = float(seed) + 0.5

    def function(x, y):
        return np.tanh(x * number + y).sum(axis=1) + np.sqrt(np.abs(x - y)).max(axis=1)

    return function


def close(result, expected):
    """Whether a result is right; sums are added in another order."""
    return np.allclose(result, expected, rtol=1e-9, atol=1e-9)


def run_threads(seconds, users=32):
    """Calls, wrong results, and compiles per key, of many threads on one function."""
    function = parts(LUCK.random() * 1e6)
    jitted = axiomjit.jit(function)
    rng = np.random.default_rng(0)
    shapes = [(5, 7), (300, 400), (17, 3), (1200, 1100)]
    given = [(rng.normal(size=shape), rng.normal(size=shape)) for shape in shapes]
    expected = [function(*pair) for pair in given]
    calls, wrong, gate = [0] * users, [], threading.Barrier(users)
    ends = time.monotonic() + seconds

    def use(number):
        gate.wait()
        try:
            while True:
                k = (calls[number] + number) % len(shapes)
                if not close(jitted(*given[k]), expected[k]):
                    wrong.append(shapes[k])
                calls[number] += 1
                if time.monotonic() > ends:
                    return
        except BaseException as error:
            wrong.append(repr(error))

    threads = [threading.Thread(target=use, args=(k,)) for k in range(users)]
    axiomjit.config.cache_mb = 0  # compiles are counted: none is found on disk
    before = stats()["compiles"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(seconds + CHILD_S)
    hung = sum(thread.is_alive() for thread in threads)
    compiles = stats()["compiles"] - before
    kernels = {
        step.kernel.key
        for pair in given
        for step in jitted.lower(*pair)._stages.plan.steps
        if hasattr(step, "kernel")
    }
    return {
        "calls": sum(calls),
        "wrong": len(wrong),
        "hung": hung,
        "compiles": compiles,
        "kernels": len(kernels),
    }


def run_forks(children, busy=True):
    """Children, and those that hang or are wrong, of a process that has used its threads.

    While it forks, one thread compiles new functions, one follows, one runs large arrays.
    """
    known = parts(-1)
    jitted = axiomjit.jit(known)
    rng = np.random.default_rng(1)
    large = rng.normal(size=(1500, 1500)), rng.normal(size=(1500, 1500))
    small = large[0][:40, :50], large[1][:40, :50]
    expected = known(*large), known(*small)
    assert close(jitted(*large), expected[0])
    stopped = threading.Event()

    def compile_new():
        for seed in range(10**9):
            if stopped.is_set():
                return
            axiomjit.jit(parts(seed))(*small)

    def follow_new():
        while not stopped.is_set():
            axiomjit.jit(known).lower(*small)

    def run_large():
        while not stopped.is_set():
            jitted(*large)

    workers = [threading.Thread(target=work, daemon=True) for work in (compile_new, follow_new)]
    workers.append(threading.Thread(target=run_large, daemon=True))
    for worker in workers if busy else ():
        worker.start()
    hung = wrong = 0
    slowest = 0.0
    for k in range(children):
        time.sleep(LUCK.random() * 0.02)
        began = time.monotonic()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)
            child = os.fork()
        if child == 0:
            os._exit(_in_child(k, jitted, large, small, expected))
        slowest = max(slowest, time.monotonic() - began)
        status = _wait(child)
        hung += status is None
        wrong += status not in (None, 0)
    stopped.set()
    for worker in workers if busy else ():
        worker.join(CHILD_S)
    return {"children": children, "hung": hung, "wrong": wrong, "slowest fork, s": slowest}


def _in_child(k, jitted, large, small, expected):
    """Use known and new functions in a forked child; 0 if all is right."""
    try:
        right = close(jitted(*large), expected[0])
        function = parts(-2 - k % 7)
        right &= close(axiomjit.jit(function)(*small), function(*small))
        return 0 if right else 2
    except BaseException as error:
        print("child:", repr(error), file=sys.stderr, flush=True)
        return 3


def _wait(child):
    """The exit status of a child; None for one that was killed because it hung."""
    deadline = time.monotonic() + CHILD_S
    while time.monotonic() < deadline:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.002)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return None


KERNELS = {
    "elementary functions": lambda x, y: np.tanh(np.sin(x) * np.exp(y)) + np.log1p(x * x) ** 1.7,
    "rows": lambda x, y: (np.exp(x - x.max(axis=1)[:, None]) * y).sum(axis=1),
    "pairs": lambda x, y: np.sqrt(((x[:, None, :] - y[None, :, :]) ** 2).sum(axis=2)),
    "columns": lambda x, y: (x * y).sum(axis=0) + np.cos(x).max(axis=0),
}
UNITS = {
    "few columns": lambda x, y: np.tanh(np.sin(x) * np.exp(y)).sum(axis=0),
    "extremes of few columns": lambda x, y: np.tanh(np.sin(x) * y).max(axis=0),
    "long rows": lambda x, y: np.tanh(np.sin(x) * np.exp(y)).max(axis=1) + (x * y).sum(axis=1),
}
"""Kernels that have one unit, or two, each of which takes longer than a call may be deaf."""
SHAPES = {"pairs": (1500, 400), "long rows": (2, 10_000_000)}
SHAPES |= dict.fromkeys(("few columns", "extremes of few columns"), (3_000_000, 7))


def run_units(count):
    """As `run_interrupts`, of kernels with long units."""
    return run_interrupts(count, UNITS)


def run_interrupts(count, kernels=KERNELS):
    """Times from an interrupt to its KeyboardInterrupt, in ms, and wrong next calls."""
    taken, wrong = [], 0
    rng = np.random.default_rng(2)
    prepared = []
    for name, function in kernels.items():
        shape = SHAPES.get(name, (3000, 4000))
        x, y = rng.normal(size=shape), rng.normal(size=shape)
        jitted = axiomjit.jit(function)
        prepared.append((jitted, x, y, jitted(x, y)))
    sent = [0.0]
    before = signal.signal(signal.SIGALRM, signal.default_int_handler)
    note = _Sender(sent)
    try:
        for k in range(count):
            jitted, x, y, expected = prepared[k % len(prepared)]
            began = time.perf_counter()
            jitted(x, y)
            usual = time.perf_counter() - began
            try:
                note.send_after(LUCK.random() * usual)
                while True:  # until the signal comes, whatever the call takes
                    jitted(x, y)
            except KeyboardInterrupt:
                taken.append((time.perf_counter() - sent[0]) * 1e3)
            wrong += not np.array_equal(jitted(x, y), expected, equal_nan=True)
    finally:
        signal.signal(signal.SIGALRM, before)
    taken.sort()
    return {
        "interrupts": count,
        "wrong next call": wrong,
        "median ms": statistics.median(taken),
        "p99 ms": taken[min(len(taken) - 1, int(len(taken) * 0.99))],
        "slowest ms": taken[-1],
    }


class _Sender:
    """Sends the process a signal from another process's point of view: at a moment of its own."""

    def __init__(self, sent):
        self.sent = sent

    def send_after(self, seconds):
        def send():
            time.sleep(seconds)
            self.sent[0] = time.perf_counter()
            os.kill(os.getpid(), signal.SIGALRM)

        threading.Thread(target=send, daemon=True).start()


RUNS = {
    "threads": run_threads,
    "forks": run_forks,
    "interrupts": run_interrupts,
    "units": run_units,
}
DEFAULTS = {"threads": 5, "forks": 20, "interrupts": 12, "units": 6}


def main():
    """Run one campaign and print its counts."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("run", choices=RUNS)
    parser.add_argument("--budget", type=int, help="seconds, children or interrupts")
    asked = parser.parse_args()
    counts = RUNS[asked.run](asked.budget or DEFAULTS[asked.run])
    for name, count in counts.items():
        print(f"{name:20}{count:.6g}")


if __name__ == "__main__":
    main()
