"""Large results own their memory as NumPy's do, and it is given out again when they are freed."""

import gc
import os
import subprocess
import sys
import threading
import tracemalloc
from itertools import product

import numpy as np
import pytest

import axiomjit
from axiomjit.base.config import config
from axiomjit.base.errors import GraphValueError
from axiomjit.runtime.memory import allocation
from axiomjit.runtime.memory.allocation import MIN_RECYCLED_BYTES, counts, kept_bytes, recycled

pytestmark = pytest.mark.skipif(os.name != "posix", reason="memory is recycled on POSIX systems")
BYTE = np.dtype(np.uint8)


@pytest.fixture(autouse=True)
def empty_pool(monkeypatch):
    """Each test begins with nothing kept, and a limit that holds what it frees."""
    monkeypatch.setattr(config, "_pool_bytes", 2**28)
    recycled(np.empty, (MIN_RECYCLED_BYTES,), BYTE)
    gc.collect()
    axiomjit.trim()
    yield
    axiomjit.trim()


def make(size):
    return recycled(np.empty, (size,), BYTE)


@pytest.mark.parametrize("size", [0, 1, 63, 4032, 4033, 2**17, 2**17 + 1, 10**6, 2**22, 5 * 10**7])
def test_arrays_own_aligned_memory_and_hold_what_is_written(size):
    arrays = [make(size) for _ in range(3)]
    for k, array in enumerate(arrays):
        array[...] = k + 1
    for k, array in enumerate(arrays):
        assert array.base is None
        assert array.flags.owndata
        assert array.ctypes.data % 64 == 0
        assert (array == k + 1).all()
    spans = sorted((a.ctypes.data, a.ctypes.data + size) for a in arrays)
    assert all(one[1] <= other[0] for one, other in zip(spans, spans[1:], strict=False))


@pytest.mark.parametrize(("power", "part"), [*product(range(12, 23), range(8)), (24, 3), (26, 7)])
def test_blocks_are_at_most_an_eighth_larger(power, part):
    size = (1 << power) + part * (1 << power) // 8 - 64
    before = kept_bytes()
    del_me = make(size)
    address = del_me.ctypes.data
    del del_me
    kept = kept_bytes() - before
    assert size <= kept - 64 <= max(size * 9 / 8 + 64, 4096)
    again = make(size - size // 20)
    assert (again.ctypes.data == address) == (kept_bytes() == before)


def test_memory_comes_back_after_arrays_are_freed():
    first = make(10**6)
    address, (again, fresh) = first.ctypes.data, counts()
    del first
    second = make(10**6)
    assert second.ctypes.data == address
    assert counts() == (again + 1, fresh)
    third = make(10**6)
    assert third.ctypes.data != address
    assert counts() == (again + 1, fresh + 1)


def test_views_keep_the_memory():
    array = make(10**6)
    address, view = array.ctypes.data, array[5:]
    del array
    assert make(10**6).ctypes.data != address
    del view
    assert address in {a.ctypes.data for a in [make(10**6) for _ in range(2)]}


def test_what_is_kept_is_bounded(monkeypatch):
    monkeypatch.setattr(config, "_pool_bytes", 5 * 2**20)
    arrays = [make(2**20) for _ in range(20)]
    while arrays:
        arrays.pop()
        assert kept_bytes() <= 5 * 2**20
    assert kept_bytes() > 0
    large = make(6 * 2**20)
    del large
    assert kept_bytes() <= 5 * 2**20


def test_nothing_is_recycled_without_a_pool(monkeypatch):
    monkeypatch.setattr(config, "_pool_bytes", 0)
    before = counts()
    make(10**6)
    assert counts() == before


def test_trim_gives_everything_back():
    del_me = [make(k * 10**5) for k in range(2, 30)]
    del del_me
    kept = kept_bytes()
    assert axiomjit.stats()["bytes_pooled"] == kept > 10**7
    assert axiomjit.trim() == kept
    assert kept_bytes() == axiomjit.stats()["bytes_pooled"] == axiomjit.trim() == 0


def test_arrays_are_resized_as_usual():
    array = make(300_000)
    array[...] = np.arange(300_000) % 251
    for size in (300_100, 2_000_000, 1_000, 300_000):
        old = array[: min(size, len(array))].copy()
        array.resize(size, refcheck=False)
        assert np.array_equal(array[: len(old)], old)
        assert not array[len(old) :].any()


def test_the_users_handler_is_back_afterwards():
    from numpy._core.multiarray import get_handler_name

    assert get_handler_name(make(10**6)) == "axiomjit"
    assert get_handler_name(np.empty(10**6)) == "default_allocator"
    with pytest.raises(ValueError, match="negative"):
        recycled(np.empty, (-1,), BYTE)
    assert get_handler_name(np.empty(10**6)) == "default_allocator"
    with pytest.raises(MemoryError):
        recycled(np.empty, (2**62,), BYTE)


def test_tracemalloc_sees_the_arrays():
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        array = make(10**7)
        assert tracemalloc.get_traced_memory()[0] - before >= 10**7
        del array
        assert tracemalloc.get_traced_memory()[0] - before < 10**5
    finally:
        tracemalloc.stop()


def test_threads_share_the_pool():
    wrong = []

    def use(seed):
        rng, held = np.random.default_rng(seed), []
        for _ in range(400):
            array = make(int(rng.integers(1, 2_000_000)))
            array[:: max(1, len(array) - 1)] = mark = int(rng.integers(256))
            held.append((array, mark))
            if len(held) > 5:
                gone, mark = held.pop(int(rng.integers(5)))
                if gone[0] != mark or gone[-1] != mark:
                    wrong.append(len(gone))

    threads = [threading.Thread(target=use, args=(k,)) for k in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert wrong == []


def test_results_of_functions_are_recycled():
    softmax = axiomjit.jit(
        lambda x: np.exp(x - x.max(1, keepdims=True)) / np.exp(x - x.max(1, keepdims=True)).sum(1)
    )
    x = np.random.default_rng(0).normal(size=(300, 300))
    expected = softmax(x).copy()
    before = counts()[1]
    for _ in range(10):
        result = softmax(x)
        assert result.base is None
        assert result.flags.owndata
        assert np.array_equal(result, expected)
        del result
    assert counts()[1] == before


@pytest.mark.parametrize("value", [-1, 2**63, "much", 1.5])
def test_a_wrong_limit_is_refused(value):
    with pytest.raises(GraphValueError, match="no number of bytes"):
        config.pool_bytes = value


ENDING = """
import numpy as np, axiomjit, sys
f = axiomjit.jit(lambda x: x * 2)
sys.kept = f(np.ones(10**6))          # freed when modules are gone
class Late:
    def __init__(self, array): self.array = array
    def __del__(self): self.array = None
late = Late(f(np.ones(10**6)))
import threading
threading.stack = late
"""


def test_arrays_may_be_freed_when_python_ends():
    done = subprocess.run([sys.executable, "-c", ENDING], capture_output=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, b"")


def test_the_environment_sets_the_limit():
    code = "import axiomjit; print(axiomjit.config.pool_bytes)"
    for text, expected in (("12345", 12345), ("0", 0), ("", 2**28)):
        done = subprocess.run(
            [sys.executable, "-c", code],
            capture_output=True,
            timeout=60,
            env={**os.environ, "AXIOMJIT_POOL_BYTES": text},
        )
        assert int(done.stdout) == expected
    assert allocation.MIN_RECYCLED_BYTES < 2**20
