"""One compilation per key, whoever asks; a failed one is tried again."""

import threading
import time

import pytest

from axiomjit.base.counters import stats
from axiomjit.base.errors import CompileError
from axiomjit.base.target import chosen_target
from axiomjit.passes.ir.kernel_ir import Kernel
from axiomjit.runtime.compiling.kernel_cache import KernelCache


def kernel(key):
    return Kernel("def kernel(w, lo, hi):\n    pass\n", (), key, False, chosen_target())


def test_each_key_is_compiled_once():
    compiled = []
    cache = KernelCache(lambda k, checked: compiled.append(k.key) or object())
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
        return object()

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
        return object()

    cache = KernelCache(compiler)
    before = stats()["compiles"]
    with pytest.raises(CompileError, match="a failure"):
        cache.get(kernel("a"))
    assert stats()["compiles"] == before
    assert cache.get(kernel("a")) is cache.get(kernel("a"))
    assert attempts == ["a", "a"]
