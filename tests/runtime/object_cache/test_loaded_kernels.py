"""Machine code from disk at work: its key, loading, threads, forks, and its bits."""

import ctypes
import os
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

import axiomjit
from axiomjit.base.config import config
from axiomjit.base.counters import stats
from axiomjit.base.target import target
from axiomjit.runtime.codegen import kernel_cache
from axiomjit.runtime.codegen.kernel_cache import KERNELS, KernelCache, LoadedKernel
from axiomjit.runtime.object_cache import entries, store
from axiomjit.runtime.object_cache.entries import Entry, make_entry, tables_of
from axiomjit.runtime.object_cache.store import OBJECTS
from tests.runtime.object_cache.object_runs import (
    SYMBOL,
    Planted,
    Process,
    object_of,
    planted_kernel,
)

KEY = "0" * 64


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder for kernels that is not there yet; no shared folder."""
    monkeypatch.setattr(config, "cache_dir", str(tmp_path / "kernels"))
    monkeypatch.setattr(config, "cache_shared", "")
    return tmp_path / "kernels"


FIELDS = {
    "key": lambda kernel: kernel.replace(key="other"),
    "source": lambda kernel: kernel.replace(source=kernel.source + "\n"),
    "traits": lambda kernel: kernel.replace(traits=kernel.traits.replace(strips=True)),
    "parameters": lambda kernel: kernel.replace(parameters=kernel.parameters * 2),
}


def test_the_key_tells_apart_all_that_decides(monkeypatch):
    kernel, here = planted_kernel(1), target()
    found = [store.disk_key(kernel, here, False, "")]
    assert found[0] == store.disk_key(planted_kernel(1), here, False, "")
    found += [store.disk_key(change(kernel), here, False, "") for change in FIELDS.values()]
    found.append(store.disk_key(kernel, here, True, ""))
    found.append(store.disk_key(kernel, here, False, "tag"))
    for field in here._fields:
        old = getattr(here, field)
        new = f"{old}x" if isinstance(old, str) else old + 1 if type(old) is int else not old
        found.append(store.disk_key(kernel, here.replace(**{field: new}), False, ""))
    monkeypatch.setenv("NUMBA_OPT", "1")
    found.append(store.disk_key(kernel, here, False, ""))
    assert len(set(found)) == len(found)


def test_the_digest_covers_what_makes_machine_code():
    """Modules that compiling a source imports; the others have no say in its code."""
    script = """
import sys, axiomjit.runtime.codegen.compile_source as c
print(*(m.__file__ for n, m in sys.modules.items() if n.startswith("axiomjit.runtime.")))
"""
    made = [sys.executable, "-c", script]
    imported = subprocess.run(made, capture_output=True, text=True, check=True).stdout.split()
    covered = {os.path.realpath(path) for path in store.maker_files()}
    left = {os.path.realpath(path) for path in imported} - covered
    rooms = {os.path.basename(os.path.dirname(path)) for path in left}
    assert rooms <= {"runtime", "object_cache", "memory"}


def test_equal_symbols_of_two_kernels_do_not_meet():
    codes = [entries.load(make_entry(KEY, SYMBOL, (object_of(n),), 0.0)) for n in range(150)]
    assert len({code.address for code in codes}) == 150


def resident_bytes():
    """The memory of this process."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="memory is read from /proc")
def test_code_that_nobody_holds_gives_its_memory_back():
    """Held, 1,500 kernels take 70 MB; the entry of a kernel holds its code."""
    entry = make_entry(KEY, SYMBOL, (object_of(1),), 0.0)

    def load_and_drop(count):
        for _ in range(count):
            code = entries.load(entry)
            called = kernel_cache.kernel_entry(code.address, code)
            del code
            words = (ctypes.c_int64 * 1)()
            assert called(ctypes.addressof(words), 0, 1) == 0
            assert words[0] == 1

    load_and_drop(200)
    before = resident_bytes()
    load_and_drop(1500)
    assert resident_bytes() - before < 8 * 2**20


@pytest.mark.parametrize("calls", [(), ("axiomjit_nowhere",)])
def test_what_calls_a_function_that_is_nowhere_is_not_loaded(calls, capfd):
    """It would call address 0; LLVM prints nothing of it."""
    code = object_of(1, "axiomjit_nowhere")
    assert entries.load(Entry(KEY, SYMBOL, calls, (code,), 0.0, (tables_of(code),))) is None
    assert capfd.readouterr() == ("", "")


def test_threads_load_a_kernel_once(folder):
    Process().stored(1)
    process, gate, found = Process(), threading.Barrier(8), []

    def ask():
        gate.wait()
        found.append(process.cache.get(planted_kernel(1)))

    def ask_all():
        threads = [threading.Thread(target=ask) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    before = stats()["disk_hits"]
    ask_all()
    assert stats()["disk_hits"] - before == 1
    assert len(set(map(id, found))) == 1
    assert isinstance(found[0], LoadedKernel)


def norms(x, y):
    return np.sqrt((x - 31.25) ** 2 + (y * 1.375) ** 2).sum(axis=1)


def long_chain(x, y):
    """Calls enough that the kernel calls functions of the library."""
    z = np.exp(x) * np.sin(y) + np.cos(x) * np.tan(y) + np.log(x + 1) + np.tanh(y)
    return z + np.exp(y) + np.sin(x) - 0.8125


def with_libm(x, y):
    return np.hypot(x, y) + np.fmod(x, y + 1.3125)


def complex_ones(x, y):
    return np.sqrt(x + 1j * y) * 1.0625


def halves(x, y):
    return (x.astype("f2") * y.astype("f2")).astype("f8") + 0.6875


def forget_all():
    """Let the next plan ask the disk, although plans run the same kernels."""
    KERNELS.forget()
    KERNELS._alive.clear()


@pytest.mark.parametrize("function", [norms, long_chain, with_libm, complex_ones, halves])
def test_loaded_kernels_have_the_bits_of_compiled_ones(folder, function):
    x, y = np.random.default_rng(3).random((2, 40, 53)) * 1e3
    given = [axiomjit.jit(function), axiomjit.jit(function)]
    lowered = given[0].lower(x, y)
    forget_all()
    before = stats()
    first = given[0](x, y)
    forget_all()
    second = given[1](x, y)
    after = stats()
    assert first.tobytes() == second.tobytes()
    for name in ("compiles", "disk_hits"):
        assert after[name] - before[name] == len(lowered.kernels)
    assert "define" in lowered.llvm
    assert lowered.asm
    for kernel in lowered.kernels:
        kept, _ = OBJECTS.find(KERNELS._disk_key(kernel, config.bounds))
        assert kept.objects == KERNELS.compiled(kernel).objects


def test_a_forked_child_loads_while_the_parent_loads(folder):
    """Locks that another thread holds when a process forks are free in the child."""
    script = f"""
import os, sys, threading
from axiomjit.base.config import config
from tests.runtime.object_cache.object_runs import Process
config.cache_dir = {str(folder)!r}
Process().stored(1)
ended = threading.Event()
def load():
    while not ended.is_set():
        assert Process().stored(1) == 1
threads = [threading.Thread(target=load) for _ in range(2)]
for thread in threads: thread.start()
try:
    for _ in range(40):
        child = os.fork()
        if not child:
            os._exit(0 if Process().stored(1) == 1 else 3)
        assert os.waitpid(child, 0)[1] == 0
finally:
    ended.set()
print("done")
"""
    command = [sys.executable, "-W", "ignore", "-c", script]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.stdout == "done\n", done.stderr


def test_a_signal_handler_may_ask_for_what_its_thread_compiles():
    depth = []

    def compiler(kernel, checked):
        depth.append(kernel.key)
        if len(depth) == 1:
            cache.get(kernel)  # as a handler would, in the middle
        return Planted(1)

    cache = KernelCache(compiler)
    first = cache.get(planted_kernel(1))
    assert cache.get(planted_kernel(1)) is first
    assert len(depth) == 2
