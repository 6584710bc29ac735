"""Functions on many threads, in forked children, under interrupts, and in signal handlers.

The runs are short ones of `tests.thread_runs`, which has the long ones.
"""

import os
import re
import signal
import subprocess
import sys

import pytest

from tests.structure.sources import ROOT

SHORT = {
    "threads": (2, {"wrong": 0, "hung": 0}),
    "forks": (10, {"wrong": 0, "hung": 0}),
    "interrupts": (8, {"wrong next call": 0}),
    "units": (6, {"wrong next call": 0}),
}
HANDLER = """
import signal, sys, threading, warnings
import numpy as np, axiomjit
from tests.thread_runs import close, parts
axiomjit.config.cache_mb = 0
x, y = np.random.default_rng(0).normal(size=(2, 30, 40))
calls, wrong = [0], []
def handler(number, frame):
    signal.setitimer(signal.ITIMER_REAL, 0)
    for number in {seeds}:
        if not close(functions[number](x, y), parts(number)(x, y)):
            wrong.append(number)
    calls[0] += 1
signal.signal(signal.SIGALRM, handler)
for k in range({rounds}):
    functions = [axiomjit.jit(parts(seed)) for seed in range(2)]
    signal.setitimer(signal.ITIMER_REAL, 0.001 + k * {step})
    for number in (0, 1):
        if not close(functions[number](x, y), parts(number)(x, y)):
            wrong.append(number)
    signal.setitimer(signal.ITIMER_REAL, 0)
    axiomjit.runtime.compiling.kernel_cache.KERNELS.forget()
info = [f.cache_info() for f in functions]
for f in functions:
    before = f.cache_info().hits
    f(x, y)
    f(x, y)
    assert f.cache_info().hits > before, "compiled after the handler"
print(calls[0] > {rounds} // 8, wrong)
"""
TORN = """
import os, sys, threading, time, warnings
import numpy as np, axiomjit
from axiomjit.base import locks
from axiomjit.base.counters import stats
from tests.thread_runs import close, parts
locks.PATIENCE_S = 0.05
x, y = np.random.default_rng(0).normal(size=(2, 30, 40))
known = axiomjit.jit(parts(1))
known(x, y)
held, done = threading.Event(), threading.Event()
def compile_long():
    with locks.FORKS_WAIT:
        held.set()
        done.wait(60)
other = threading.Thread(target=compile_long)
other.start()
held.wait(60)
child = os.fork()
if child == 0:
    before = stats()["compiles"]
    right = close(known(x, y), parts(1)(x, y))
    right = right and close(axiomjit.jit(parts(2))(x, y), parts(2)(x, y))
    axis = axiomjit.make_axis(30)
    t = axiomjit.placeholder([axis])
    total = axiomjit.transformers.make_transformer().computation(t * 3, t)
    right = right and np.array_equal(total(x[:, 0]), x[:, 0] * 3)
    os._exit(0 if right and stats()["compiles"] == before else 1)
status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
done.set()
other.join()
assert close(axiomjit.jit(parts(3))(x, y), parts(3)(x, y))
print(status)
"""


def run(code, *arguments, timeout=120):
    """The output of a Python program; it must end."""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", *arguments, *(["-c", code] if code else [])],
        capture_output=True,
        timeout=timeout,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("name", SHORT)
def test_short_runs(name):
    budget, expected = SHORT[name]
    if not hasattr(os, "fork"):
        pytest.skip("no fork on this platform")
    lines = run("", "-m", "tests.thread_runs", name, "--budget", str(budget)).splitlines()
    counts = {line[:20].strip(): float(line[20:]) for line in lines}
    assert {key: counts[key] for key in expected} == expected
    if name == "threads":
        assert counts["calls"] >= 32
        assert counts["compiles"] == counts["kernels"]
    if name == "units":  # each takes longer, on any machine
        assert counts["median ms"] < 100


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="no interval timer here")
@pytest.mark.parametrize("step", [0.001, 0.004], ids=["early", "late"])
def test_a_signal_handler_may_call_what_is_being_compiled(step):
    """At moments through following, lowering and compiling, of this and of another function."""
    out = run(HANDLER.format(seeds="(0, 1)", rounds=30, step=step))
    assert out.split(maxsplit=1) == ["True", "[]\n"]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this platform")
def test_a_child_of_a_torn_compilation_runs_in_numpy():
    """The fork did not wait for the compilation any longer: the child compiles nothing."""
    assert run(TORN).strip() == "0"


def test_the_page_about_threads_runs():
    snippets = re.findall(r"```python\n(.*?)```", (ROOT / "docs/threads.md").read_text(), re.DOTALL)
    assert snippets
    for snippet in snippets:
        exec(snippet, {})
