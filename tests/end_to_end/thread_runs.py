"""Long runs of threads, forks and interrupts; the tests run them with small budgets.

    python -m tests.end_to_end.thread_runs threads --budget 60     # seconds
    python -m tests.end_to_end.thread_runs forks --budget 500      # children
    python -m tests.end_to_end.thread_runs interrupts --budget 100 # interrupts
    python -m tests.end_to_end.thread_runs units --budget 100      # interrupts within single units
    python -m tests.end_to_end.thread_runs following --budget 600  # seconds, beside other threads
    python -m tests.end_to_end.thread_runs first --budget 20       # processes that compile first

Each prints what it has counted and fails where something hangs, is wrong or comes late.
"""

import argparse
import collections
import contextlib
import functools
import importlib
import io
import json
import os
import random
import signal
import statistics
import subprocess
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
    shapes = {name: SHAPES.get(name, (3000, 4000)) for name in kernels}
    drawn = {shape: rng.normal(size=(2, *shape)) for shape in dict.fromkeys(shapes.values())}
    prepared = []
    for name, function in kernels.items():
        x, y = drawn[shapes[name]]
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


class Shared:
    """Arrays and containers that functions read while other threads change them."""

    def __init__(self):
        self.array, self.parts = np.zeros(64), [np.zeros(64), np.ones(64)]
        self.list, self.dict, self.set, self.count = [], {}, set(), 0
        self.deep = {"arrays": [np.zeros(64)], "lists": [[]]}

    @functools.cached_property
    def rng(self):
        """A generator; `numpy.random` is imported by the runs that use it."""
        return np.random.default_rng(1)

    def read(self, x):
        """A method that only reads."""
        return x * self.count + self.array + len(self.list)


def _readers(shared):
    """New functions, never followed before, that read all that is shared and change nothing."""
    array, rng, parts, deep = shared.array, shared.rng, shared.parts, shared.deep

    def of_cells(x):
        known = len(shared.list) + len(shared.dict) + len(shared.set)
        return x + array * x + parts[0] + known * (rng is not None)

    def of_globals(x):
        total = x * SHARED.count
        for part in SHARED.parts:
            total = total + part
        return total + SHARED.deep["arrays"][0] + len(SHARED.deep["lists"][0])

    def of_defaults(x, held=shared.list, random=np.random):
        return of_cells(x) + len(held) + deep["arrays"][0] * (random is not None)

    def of_method(x):
        return shared.read(x)

    return of_cells, of_globals, of_defaults, of_method


SHARED = Shared()
MODULES = ("colorsys", "sndhdr", "this", "quopri", "wave", "chunk", "xdrlib", "nturl2path")
"""Modules that nothing here uses; their imports print or warn at most."""


class _Others:
    """What other threads do to `SHARED`: each adds or draws one thing after the other, and counts.

    Each kind of change has one thread, so that none is lost in Python alone.
    """

    def __init__(self, out):
        self.out, self.done = out, collections.Counter()
        self.drawn = collections.defaultdict(list)

    def write(self):
        """Add one to each array and to a number."""
        SHARED.array += 1
        SHARED.parts[0] += 1
        SHARED.deep["arrays"][0][:] += 1
        SHARED.count += 1
        self.done["additions"] += 4

    def append(self):
        """Add an entry to each container."""
        number = self.done["appends"]
        SHARED.list.append(number)
        SHARED.dict[number] = number
        SHARED.set.add(number)
        SHARED.deep["lists"][0].append(number)
        self.done["appends"] += 4

    def draw(self):
        """Draw a number from each generator."""
        self.drawn["np.random"].append(np.random.random())
        self.drawn["rng"].append(SHARED.rng.random())
        self.drawn["random"].append(random.random())
        self.done["draws"] += 3

    def print(self):
        """Print a line."""
        print("line", self.done["prints"], flush=True)
        self.done["prints"] += 1

    def load(self):
        """Import a module anew."""
        name = MODULES[self.done["imports"] % len(MODULES)]
        sys.modules.pop(name, None)
        with contextlib.suppress(ModuleNotFoundError):  # of another version of Python
            importlib.import_module(name)
        self.done["imports"] += 1

    def lost(self):
        """How many of each are lost, or drawn twice."""
        arrays = (SHARED.array, SHARED.parts[0], SHARED.deep["arrays"][0])
        added = sum(int(array[0]) for array in arrays) + SHARED.count
        held = (SHARED.list, SHARED.dict, SHARED.set, SHARED.deep["lists"][0])
        lines = [line for line in self.out.getvalue().splitlines() if line.startswith("line ")]
        return {
            "lost additions": self.done["additions"] - added,
            "lost appends": self.done["appends"] - sum(map(len, held)),
            "lost prints": self.done["prints"] - len(set(lines)),
            "duplicate draws": sum(len(d) - len(set(d)) for d in self.drawn.values()),
        }


def follow_beside(seconds, followers=2):
    """Follow new functions while other threads change what they read; counts of what is lost."""
    axiomjit.config.disable = True  # nothing is about kernels
    axiomjit.config.check = False  # what other threads change is no change of a trace
    warnings.simplefilter("ignore")
    sys.setswitchinterval(1e-5)
    out, before = io.StringIO(), sys.stdout
    sys.stdout = out
    others, ends, failed = _Others(out), time.monotonic() + seconds, []
    followed = [0] * followers

    def repeat(change):
        while time.monotonic() < ends:
            change()
            time.sleep(2e-4)  # containers stay small enough to be walked

    def follow(number):
        x = np.arange(64.0)
        while time.monotonic() < ends:
            for reader in _readers(SHARED):
                try:
                    axiomjit.jit(reader, strict=True)(x)
                    followed[number] += 1
                except Exception as error:
                    failed.append(str(error).partition(" seen: ")[2] or repr(error))

    def noted(work, *arguments):
        try:
            work(*arguments)
        except BaseException as error:
            failed.append(repr(error))

    changes = (others.write, others.append, others.draw, others.print, others.load)
    threads = [threading.Thread(target=noted, args=(repeat, change)) for change in changes]
    threads += [threading.Thread(target=noted, args=(follow, k)) for k in range(followers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(seconds + CHILD_S)
    hung = sum(thread.is_alive() for thread in threads)
    sys.stdout = before
    print("\n".join(failed), file=sys.stderr)
    return {
        **{"followed": sum(followed), **others.done, **others.lost()},
        **{"errors": len(failed), "hung": hung},
    }


FIRST = ("call", "warm", "lower", "explain")


def compile_first(seed, users=8):
    """Compile first in several threads at once, while others import and fork; errors and faults."""
    axiomjit.config.cache_mb = 0
    warnings.simplefilter("ignore")
    sys.setswitchinterval(1e-5)
    gate, failed, raised = threading.Barrier(users + 2), [], []
    sys.unraisablehook = raised.append
    x, y = np.arange(6.0).reshape(2, 3), np.ones((2, 3))

    def work(number):
        function = parts(number % 3 if seed % 2 else number)
        jitted, verb = axiomjit.jit(function), FIRST[(number + seed) % len(FIRST)]
        if verb != "call":
            str(getattr(jitted, verb)(x, y))
        if not close(jitted(x, y), function(x, y)):
            raise ValueError("wrong")

    def load():
        importlib.import_module(("numpy.random", "numba")[seed // 2 % 2])

    def fork():
        for _ in range(3 * hasattr(os, "fork") * (seed % 2)):
            child = os.fork()
            if child == 0:
                os._exit(0)
            os.waitpid(child, 0)

    def noted(run, *arguments):
        gate.wait()
        time.sleep((arguments[0] * seed % 16) * 0.02 if arguments else 0)
        try:
            run(*arguments)
        except BaseException as error:
            failed.append(repr(error))

    threads = [threading.Thread(target=noted, args=(work, k)) for k in range(users)]
    threads += [threading.Thread(target=noted, args=(run,)) for run in (load, fork)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(CHILD_S)
    for text in (*failed, *(f"{one.exc_value!r} in {one.object}" for one in raised)):
        print(text, file=sys.stderr)
    return {
        "threads": users,
        "errors": len(failed) + len(raised),
        "hung": sum(thread.is_alive() for thread in threads),
    }


IN_CHILD = {"following": follow_beside, "first": compile_first}
PIECE_S = 20
"""How many seconds one process follows for: what crashes takes its counts with it."""


def _in_processes(name, given):
    """The sums of the counts of several processes, with those that crashed."""
    totals, said = collections.Counter(processes=0, crashes=0), collections.Counter()
    code = "import json, sys; from tests.end_to_end import thread_runs as runs; "
    code += "print(json.dumps(runs.IN_CHILD[sys.argv[1]](int(sys.argv[2]))), flush=True); "
    code += "import os; os._exit(0)"  # threads that hang are counted
    for number in given:
        command = [sys.executable, "-X", "faulthandler", "-c", code, name, str(number)]
        done = subprocess.run(command, capture_output=True, text=True)
        totals["processes"] += 1
        if done.returncode:
            totals["crashes"] += 1
            said[done.stderr[-2000:]] += 1
        else:
            totals.update(json.loads(done.stdout.splitlines()[-1]))
            said.update(filter(None, done.stderr.splitlines()))
    for text, count in said.most_common(5):
        print(f"{count} times: {text}", file=sys.stderr)
    return dict(totals)


def run_following(seconds):
    """What is lost of what other threads do while functions are followed, and crashes."""
    whole, rest = divmod(seconds, PIECE_S)
    return _in_processes("following", [PIECE_S] * whole + [rest] * (rest > 0))


def run_first(processes):
    """Errors and crashes of processes whose threads compile first, all at once."""
    return _in_processes("first", range(processes))


RUNS = {
    "following": run_following,
    "first": run_first,
    "threads": run_threads,
    "forks": run_forks,
    "interrupts": run_interrupts,
    "units": run_units,
}
DEFAULTS = {"following": 5, "first": 4, "threads": 5, "forks": 20, "interrupts": 12, "units": 6}


def main():
    """Run one campaign and print its counts."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("run", choices=RUNS)
    parser.add_argument("--budget", type=int, help="seconds, processes, children or interrupts")
    asked = parser.parse_args()
    counts = RUNS[asked.run](asked.budget or DEFAULTS[asked.run])
    for name, count in counts.items():
        print(f"{name:20}{count:.6g}")


if __name__ == "__main__":
    main()
