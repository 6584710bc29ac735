"""What a process imports, starts and waits for before its first result."""

import gc
import os
import platform
import statistics
import subprocess
import sys
import threading

import pytest

from axiomjit.base.locks import uncollected
from tests.structure.sources import ROOT

PROGRAM = """
import sys, threading, time
import numpy as np
start = time.process_time()
import axiomjit
{after}
x = np.arange(600.0).reshape(20, 30)
f = axiomjit.jit(lambda x: ((x - 0.5) ** 2).sum(axis=1) * {factor})
assert np.allclose(f(x), ((x - 0.5) ** 2).sum(axis=1) * {factor})
print(time.process_time() - start)
print("numba" in sys.modules, "llvmlite" in sys.modules, threading.active_count(), axiomjit.stats())
"""
IMPORT = """
import sys, threading, time
start = time.process_time()
import numpy
import llvmlite.binding
middle = time.process_time()
before = set(sys.modules)
import axiomjit
end = time.process_time()
new = {m.partition(".")[0] for m in set(sys.modules) - before}
ours = {m for m in sys.modules if m.startswith("axiomjit.")}
print((end - middle) / (middle - start))
print(sorted(new), len(ours), threading.active_count(), axiomjit.stats()["compiles"])
print(sorted({m.split(".")[1] for m in ours}))
"""
MODULES = 72
"""More modules of ours than this take longer than the import may take."""


@pytest.fixture(scope="module")
def code(tmp_path_factory):
    """A folder for byte code."""
    return str(tmp_path_factory.mktemp("code"))


@pytest.fixture
def python(tmp_path, code):
    """Lines that a program prints in a new process, which finds byte code and kernels on disk."""

    def run(script):
        kept = {"PYTHONDONTWRITEBYTECODE": "", "PYTHONPYCACHEPREFIX": code}
        kept |= {"AXIOMJIT_CACHE_DIR": str(tmp_path / "kernels"), "PYTHONPATH": str(ROOT)}
        kept |= {"AXIOMJIT_CHECK": "0"}  # which asks all passes
        command = [sys.executable, "-c", script]
        done = subprocess.run(
            command, cwd=ROOT, env=os.environ | kept, capture_output=True, text=True, timeout=120
        )
        assert done.stderr == ""
        return done.stdout.splitlines()

    return run


def test_import_loads_little_and_starts_nothing(python):
    new, ours = python(IMPORT)[1:]
    names = new.partition("]")[0]
    assert "numba" not in names
    for heavy in ("pathlib", "hashlib", "json", "html", "importlib.metadata", "difflib"):
        assert f"'{heavy}'" not in names
    count, threads, compiles = map(int, new.partition("] ")[2].split())
    assert count <= MODULES
    assert (threads, compiles) == (1, 0)
    assert not {
        "'runtime'",
        "'passes'",
        "'bench'",
        "'cli'",
        "'debug'",
        "'axis'",
        "'tracing'",
    } & set(ours.strip("[]").split(", "))


@pytest.mark.alone
def test_import_takes_a_part_of_numpys_and_llvmlites(python):
    """30 ms beside their 90 or more; the first run writes the byte code."""
    python(IMPORT)
    assert statistics.median(float(python(IMPORT)[0]) for _ in range(7)) < 0.5


def test_a_warm_first_call_imports_no_compiler_and_starts_no_thread(python):
    program = PROGRAM.format(after="", factor=1.25)
    assert "'compiles': 1," in python(program)[1]
    warm = python(program)[1]
    without = platform.machine() != "x86_64"  # elsewhere LLVM links, and says what the CPU can do
    assert warm.startswith(f"False {without} 1 {{'compiles': 0, 'cache_hits': 0, 'disk_hits': 1,")


FIRST = """
import sys
import numpy as np
import axiomjit
x = np.arange(1000.0)
axiomjit.jit(lambda x, y: 2.0 * x + y)(x, x)
print(*(name for name in sys.modules if name.startswith("axiomjit.")))
print("numpy.fft" in sys.modules, "random" in sys.modules)
"""
FIRST_MODULES = 205
"""More modules of ours than this are not for a program of one loop."""


def test_a_first_call_imports_what_its_program_needs(python):
    python(FIRST)
    modules, others = python(FIRST)
    names = set(modules.split())
    assert len(names) <= FIRST_MODULES
    assert not {name for name in names if name.startswith("axiomjit.axis")}
    late = "passes.loops.split_scans passes.loops.search_blocks numpy_rules.linalg "
    late += "tracing.external_calls tracing.traced_random"
    assert not names & {f"axiomjit.{name}" for name in late.split()}
    assert others == "False False"


COLLECTING = """
import gc, threading
{before}
import axiomjit
print(gc.isenabled())
axiomjit.sum
print(gc.isenabled())
"""


@pytest.mark.parametrize(
    ("before", "state"), [("", "True"), ("gc.disable()", "False"), ("import numpy", "True")]
)
def test_the_collector_is_left_as_it_was(python, before, state):
    assert python(COLLECTING.format(before=before)) == [state, state]


def test_the_collector_is_left_alone_beside_other_threads():
    seen, done = [], threading.Event()
    thread = threading.Thread(target=done.wait)
    thread.start()
    with uncollected():
        seen.append(gc.isenabled())
    done.set()
    thread.join()
    assert seen == [True]


def test_checked_and_plain_kernels_are_kept_apart(python):
    """A kernel that checks its accesses is not loaded where none was asked for; nor is another."""
    program = PROGRAM.format(after="axiomjit.config.bounds = True", factor=2.25)
    other = PROGRAM.format(after="axiomjit.config.bounds = False", factor=2.25)
    assert "'compiles': 1," in python(program)[1]
    assert "'compiles': 1," in python(other)[1]
    assert "'compiles': 0," in python(program)[1]
    assert "'compiles': 0," in python(other)[1]
