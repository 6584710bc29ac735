"""One compilation per key, whoever asks; a failed one is tried again."""

import gc
import threading
import time
import weakref

import numpy as np
import pytest

import axiomjit
from axiomjit.base.counters import stats
from axiomjit.base.errors import CompileError
from axiomjit.base.target import chosen_target
from axiomjit.passes.ir.plan_ir import Kernel
from axiomjit.runtime.codegen.kernel_cache import KERNELS, KernelCache
from tests.runtime.object_cache.object_runs import Planted


def kernel(key):
    return Kernel("def kernel(w, lo, hi):\n    pass\n", (), key, False, chosen_target())


def test_each_key_is_compiled_once():
    compiled = []
    cache = KernelCache(lambda k, checked: compiled.append(k.key) or Planted(1))
    before = stats()
    first = cache.get(kernel("a"))
    assert cache.get(kernel("a")) is first
    assert cache.get(kernel("b")) is not first
    assert compiled == ["a", "b"]
    after = stats()
    assert after["compiles"] - before["compiles"] == 2
    assert after["cache_hits"] - before["cache_hits"] == 1


def test_threads_wait_for_one_compilation_and_other_keys_do_not():
    compiled, found, gate = [], [], threading.Barrier(9)
    release = threading.Event()

    def compiler(k, checked):
        compiled.append(k.key)
        if k.key == "slow":
            assert release.wait(10)
        return Planted(1)

    cache = KernelCache(compiler)

    def ask():
        gate.wait()
        found.append(cache.get(kernel("slow")))

    workers = [threading.Thread(target=ask) for _ in range(8)]
    for worker in workers:
        worker.start()
    gate.wait()
    while not compiled:
        time.sleep(0.001)
    cache.get(kernel("other"))  # is not held up
    release.set()
    for worker in workers:
        worker.join()
    assert compiled == ["slow", "other"]
    assert len(found) == 8
    assert len(set(map(id, found))) == 1


def test_failed_compilation_is_tried_again():
    attempts = []

    def compiler(k, checked):
        attempts.append(k.key)
        if len(attempts) == 1:
            raise CompileError("compile", "a failure", "try again")
        return Planted(1)

    cache = KernelCache(compiler)
    before = stats()["compiles"]
    with pytest.raises(CompileError, match="a failure"):
        cache.get(kernel("a"))
    assert stats()["compiles"] == before
    assert cache.get(kernel("a")) is cache.get(kernel("a"))
    assert attempts == ["a", "a"]


def test_kernels_that_nobody_runs_are_bounded_and_held_ones_stay():
    compiled = []
    cache = KernelCache(lambda k, checked: compiled.append(k.key) or Planted(1), kept=3)
    held = cache.handle(kernel("held"))
    held.get()
    watched = [weakref.ref(cache.get(kernel(f"k{n}"))) for n in range(20)]
    gc.collect()
    assert sum(one() is not None for one in watched) == 3
    assert cache.get(kernel("held")) is held.loaded
    assert compiled.count("held") == 1
    cache.get(kernel("k19"))
    assert compiled.count("k19") == 1
    cache.get(kernel("k0"))
    assert compiled.count("k0") == 2
    cache.forget()
    gc.collect()
    assert not any(one() for one in watched)
    assert cache.handle(kernel("held")) is held


def test_the_last_asked_for_are_kept():
    compiled = []
    cache = KernelCache(lambda k, checked: compiled.append(k.key) or Planted(1), kept=2)
    for key in ("a", "b", "a", "c", "a", "b"):
        cache.get(kernel(key))
    assert compiled == ["a", "b", "c", "b"]


def test_kernels_of_dropped_functions_are_freed(monkeypatch):
    """Their code, and what Numba knew of them."""
    monkeypatch.setattr(KERNELS, "_most", 2)
    x, alive = np.ones(3), []
    for k in range(6):
        function = axiomjit.jit(eval("lambda x: x + 7" + " * x - 3" * k, {}))
        program = function.lower(x)
        function(x)
        alive += [weakref.ref(KERNELS.get(one)) for one in program.kernels]
    assert all(one() is not None for one in alive[-2:])
    del function, program
    gc.collect()
    assert sum(one() is not None for one in alive) <= 3
