"""Functions on many threads, in forked children, under interrupts, and in signal handlers.

The runs are short ones of `tests.end_to_end.thread_runs`, which has the long ones.
"""

import os
import re
import signal
import subprocess
import sys

import pytest

from tests.generator.budget import budget
from tests.structure.sources import ROOT

NOTHING_IS = ("lost additions", "lost appends", "lost prints", "duplicate draws")
NOTHING_IS += ("errors", "crashes", "hung")
SHORT = {
    "threads": (2, {"wrong": 0, "hung": 0}),
    "forks": (budget(5), {"wrong": 0, "hung": 0}),
    "interrupts": (budget(4), {"wrong next call": 0}),
    "units": (budget(3), {"wrong next call": 0}),
    "following": (4, dict.fromkeys(NOTHING_IS, 0)),
    "first": (budget(2), {"errors": 0, "crashes": 0, "hung": 0}),
}
HANDLER = """
import signal, sys, threading, warnings
import numpy as np, axiomjit
from tests.end_to_end.thread_runs import close, parts
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
    axiomjit.runtime.codegen.kernel_cache.KERNELS.forget()
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
from tests.end_to_end.thread_runs import close, parts
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
CUT_IMPORT = """
import builtins, os, sys, threading
import axiomjit
from axiomjit.base import locks
locks.PATIENCE_S = 0.05
builtins.begun, builtins.goes_on = threading.Event(), threading.Event()
sys.path.insert(0, {folder!r})
other = threading.Thread(target=locks.lazy_import, args=("slowly",))
other.start()
builtins.begun.wait(60)
child = os.fork()
builtins.goes_on.set()
if child == 0:
    os._exit(0 if locks.lazy_import("slowly").value == 1 else 1)
status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
other.join()
print(status, sys.modules["slowly"].value)
"""
SLOWLY = """
import builtins
builtins.begun.set()
builtins.goes_on.wait(60)
value = 1
"""
FORKS_AT_ONCE = """
import os, sys, threading, time, warnings
os.register_at_fork(before=lambda: time.sleep(0.01))  # other threads go on in the middle of a fork
from axiomjit.base.locks import FORKS_WAIT
unraised = []
sys.unraisablehook = unraised.append
def fork():
    for _ in range(5):
        child = os.fork()
        if child == 0:
            os._exit(0)
        os.waitpid(child, 0)
threads = [threading.Thread(target=fork) for _ in range(4)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
free = FORKS_WAIT.queue.acquire(timeout=5) and FORKS_WAIT.lock.acquire(timeout=5)
print(free, unraised)
"""
COMPILER_LOCKS = """
import threading
import numpy as np, axiomjit
from axiomjit.base.locks import FORKS_WAIT
from llvmlite.binding import ffi
from numba.core.compiler_lock import global_compiler_lock
from tests.end_to_end.thread_runs import close, parts
axiomjit.config.cache_mb = 0
x, y = np.random.default_rng(0).normal(size=(2, 30, 40))
for lock in (global_compiler_lock, ffi.lib._lock):
    both, wrong = threading.Barrier(2), []
    def compile_ours():
        with FORKS_WAIT:
            both.wait()
            with lock:
                pass
    other = threading.Thread(target=compile_ours)
    other.start()
    with lock:  # as what numba calls while it compiles has it
        both.wait()
        right = close(axiomjit.jit(parts(1))(x, y), parts(1)(x, y))
    other.join()
    print(right)
"""
WHILE_ANOTHER_IMPORTS = """
import importlib, importlib.machinery, sys, threading
import numpy as np, axiomjit
from tests.end_to_end.thread_runs import close, parts
class Pausing:
    def find_spec(self, name, path, target=None):
        if name == {part!r}:
            spec = importlib.machinery.PathFinder.find_spec(name, path)
            run = spec.loader.exec_module
            def pause(module):
                begun.set()
                done.wait(3)
                run(module)
            spec.loader.exec_module = pause
            return spec
begun, done = threading.Event(), threading.Event()
x, y = np.linspace(0.0, 1.0, 2400).reshape(2, 30, 40)
sys.meta_path.insert(0, Pausing())
other = threading.Thread(target=importlib.import_module, args=({module!r},))
other.start()
assert begun.wait(60)
print(close(axiomjit.jit(parts(1))(x, y), parts(1)(x, y)))
done.set()
other.join()
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
    many, expected = SHORT[name]
    if not hasattr(os, "fork"):
        pytest.skip("no fork on this platform")
    words = ("-m", "tests.end_to_end.thread_runs", name, "--budget", str(many))
    lines = run("", *words, timeout=600).splitlines()
    counts = {line[:20].strip(): float(line[20:]) for line in lines}
    assert {key: counts[key] for key in expected} == expected
    if name == "threads":
        assert counts["calls"] >= 32
        assert counts["compiles"] == counts["kernels"]
    if name == "following":
        assert min(counts["followed"], counts["additions"], counts["prints"]) > 10
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


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this platform")
def test_a_child_imports_what_another_thread_was_importing(tmp_path):
    (tmp_path / "slowly.py").write_text(SLOWLY)
    assert run(CUT_IMPORT.format(folder=str(tmp_path))).split() == ["0", "1"]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this platform")
def test_threads_fork_at_once():
    assert run(FORKS_AT_ONCE).strip() == "True []"


def test_who_holds_a_lock_of_a_compiler_does_not_wait_for_ours():
    assert run(COMPILER_LOCKS).split() == ["True", "True"]


@pytest.mark.parametrize(
    ("module", "part"),
    [("numba", "numba.core.config"), ("numpy.random", "numpy.random._generator")],
)
def test_another_thread_imports_what_is_looked_at(module, part):
    out = run(WHILE_ANOTHER_IMPORTS.format(module=module, part=part))
    assert out.strip() == "True"


def test_the_page_about_threads_runs():
    snippets = re.findall(r"```python\n(.*?)```", (ROOT / "docs/threads.md").read_text(), re.DOTALL)
    assert snippets
    for snippet in snippets:
        exec(snippet, {})
