"""`config.background`: NumPy answers calls while a thread compiles; kernels answer later ones."""

import contextlib
import os
import subprocess
import sys
import threading
import warnings

import numpy as np
import pytest

import axiomjit
from axiomjit.base.config import config
from axiomjit.base.counters import stats
from axiomjit.base.errors import CompileError, FallbackWarning
from axiomjit.base.locks import NotNowError
from axiomjit.runtime.codegen import kernel_cache as caches
from axiomjit.runtime.codegen.kernel_cache import KernelCache
from axiomjit.runtime.execution import plan_steps
from tests.runtime.object_cache.object_runs import Planted, planted_kernel
from tests.structure.sources import ROOT

X = np.linspace(0.5, 2.0, 40).reshape(5, 8)


@pytest.fixture
def gate(monkeypatch):
    """A compiler that waits for an event; nothing is looked for on disk."""
    opened = threading.Event()

    def compiler(kernel, checked):
        assert opened.wait(30)
        return caches._compile(kernel, checked)

    kernels = KernelCache(compiler)
    monkeypatch.setattr(plan_steps, "KERNELS", kernels)
    monkeypatch.setattr(config, "background", True)
    opened.kernels = kernels
    yield opened
    opened.set()
    kernels.background.join()


def ran(call):
    """What a call gives, and how many kernels it has run."""
    before = stats()["kernels_run"]
    return call(), stats()["kernels_run"] - before


def test_numpy_answers_until_the_kernel_is_there(gate):
    function = axiomjit.jit(lambda x: np.sqrt(x * 1.7).sum(axis=1) + 0.25)
    want = np.sqrt(X * 1.7).sum(axis=1) + 0.25
    for _ in range(3):
        found, kernels = ran(lambda: function(X))
        np.testing.assert_allclose(found, want, rtol=1e-15)
        assert kernels == 0
    gate.set()
    gate.kernels.background.join()
    found, kernels = ran(lambda: function(X))
    np.testing.assert_allclose(found, want, rtol=1e-15)
    assert kernels == 1
    assert function.cache_info().times.compiling > 0


def test_all_kernels_of_a_plan_are_asked_for_at_once(gate):
    function = axiomjit.jit(lambda x: ((x * 1.71) @ x.T, np.sort(x * 3.0, axis=1) * 2.0))
    first = function(X)
    waiting = len(gate.kernels.background._wishes)
    gate.set()
    gate.kernels.background.join()
    second, kernels = ran(lambda: function(X))
    assert kernels == waiting > 1
    for one, other in zip(first, second, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-14)


def test_calls_are_native_once_the_kernel_is_there(gate):
    function = axiomjit.jit(lambda x: x * 1.72 - 1.0)
    for _ in range(40):
        function(X)
    assert function.hits_natively[0] == 0
    gate.set()
    gate.kernels.background.join()
    for _ in range(5):
        np.testing.assert_array_equal(function(X), X * 1.72 - 1.0)
    if config.entry == "auto" and not config.bounds:
        assert function.hits_natively[0] > 0


def test_writes_reach_the_argument(gate):
    @axiomjit.jit
    def function(x):
        x[1] = x[0] * 1.73
        return x.sum()

    given, expected = X.copy(), X.copy()
    expected[1] = expected[0] * 1.73
    assert function(given) == pytest.approx(expected.sum(), rel=1e-14)
    np.testing.assert_array_equal(given, expected)


def test_compiling_ahead_waits(gate):
    gate.set()
    function = axiomjit.jit(lambda x: x * 1.74 - 2.0)
    function.warm(X)
    assert ran(lambda: function(X))[1] == 1
    assert not gate.kernels.background._wishes


def test_named_arrays_and_computations(gate):
    rows, columns = axiomjit.make_axis(5, "R"), axiomjit.make_axis(8, "C")
    image = axiomjit.placeholder([rows, columns])
    total = axiomjit.transformers.make_transformer().computation(
        axiomjit.sum(image * 1.75, out_axes=[rows]), image
    )
    for kernels in (0, 1):
        found, count = ran(lambda: total(X))
        np.testing.assert_allclose(found, (X * 1.75).sum(axis=1), rtol=1e-15)
        assert count == kernels
        gate.set()
        gate.kernels.background.join()


def refusing(kernel, checked):
    raise CompileError("compile this", "no", "leave it")


def test_a_failure_is_told_once_and_numpy_goes_on(monkeypatch):
    kernels = KernelCache(refusing)
    monkeypatch.setattr(plan_steps, "KERNELS", kernels)
    monkeypatch.setattr(config, "background", True)
    function = axiomjit.jit(lambda x: x * 1.76 - 2.0)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for _ in range(4):
            np.testing.assert_array_equal(function(X), X * 1.76 - 2.0)
            kernels.background.join()
    assert [w.category for w in caught] == [FallbackWarning]
    assert "compile this" in str(caught[0].message)
    assert caught[0].filename == __file__
    monkeypatch.setattr(config, "background", False)
    with pytest.raises(CompileError):
        function(X)


def test_threads_ask_for_one_compilation(monkeypatch):
    compiled, gate, release = [], threading.Barrier(8), threading.Event()

    def compiler(kernel, checked):
        assert release.wait(30)
        compiled.append(kernel.key)
        return Planted(1)

    monkeypatch.setattr(config, "background", True)
    cache = KernelCache(compiler)

    def ask(number):
        gate.wait()
        with pytest.raises(NotNowError):
            cache.get(planted_kernel(number % 2))

    threads = [threading.Thread(target=ask, args=(k,)) for k in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    release.set()
    cache.background.join()
    assert sorted(compiled) == ["planted 0", "planted 1"]
    assert cache.get(planted_kernel(0)) is cache.get(planted_kernel(0))


def test_the_thread_ends_when_nothing_is_left(gate):
    before = set(threading.enumerate())
    axiomjit.jit(lambda x: x * 1.77 - 2.0)(X)
    (new,) = set(threading.enumerate()) - before
    gate.set()
    new.join(30)
    assert set(threading.enumerate()) == before


def test_the_thread_is_no_daemon_where_the_caller_is_one(gate):
    function = axiomjit.jit(lambda x: x * 1.771 - 2.0)
    caller = threading.Thread(target=function, args=(X,), daemon=True)
    caller.start()
    caller.join(30)
    assert not gate.kernels.background._thread.daemon


def test_numpy_answers_where_no_thread_can_be_started(gate, monkeypatch):
    def refused(thread):
        raise RuntimeError("can't start new thread")

    function = axiomjit.jit(lambda x: x * 1.772 - 2.0)
    with monkeypatch.context() as without:
        without.setattr(threading.Thread, "start", refused)
        np.testing.assert_array_equal(function(X), X * 1.772 - 2.0)
        gate.kernels.background.join()
    function(X)
    gate.set()
    gate.kernels.background.join()
    assert ran(lambda: function(X))[1] == 1


def test_a_failure_is_forgotten_when_the_kernel_is_there(monkeypatch):
    outcomes = [CompileError("compile this", "no", "leave it"), None, None]

    def compiler(kernel, checked):
        outcome = outcomes.pop(0)
        if outcome is not None:
            raise outcome
        return Planted(3)

    cache = KernelCache(compiler)
    handle = cache.handle(planted_kernel(3))
    for background in (True, False):
        monkeypatch.setattr(config, "background", background)
        with contextlib.suppress(NotNowError):
            handle.get()
        cache.background.join()
    handle.drop()
    monkeypatch.setattr(config, "background", True)
    with pytest.raises(NotNowError, match="in the background"):
        handle.get()
    cache.background.join()
    assert handle.loaded is not None


def test_kernels_from_disk_are_loaded_at_once(monkeypatch, tmp_path):
    from axiomjit.runtime.object_cache.store import ObjectStore

    monkeypatch.setattr(config, "cache_dir", str(tmp_path))
    for background in (False, True):
        monkeypatch.setattr(config, "background", background)
        monkeypatch.setattr(plan_steps, "KERNELS", KernelCache(objects=ObjectStore()))
        function = axiomjit.jit(lambda x: x * 1.78 - 2.0)
        assert ran(lambda fn=function: fn(X))[1] == 1


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
def test_a_forked_child_asks_again(gate):
    function = axiomjit.jit(lambda x: x * 1.79 - 2.0)
    function(X)
    child = os.fork()
    if not child:
        gate.kernels._compile = caches._compile  # the event of the parent is of no use here
        right = bool((function(X) == X * 1.79 - 2.0).all())
        gate.kernels.background.join()
        right &= ran(lambda: function(X))[1] == 1
        os._exit(0 if right else 1)
    gate.set()
    assert os.waitpid(child, 0)[1] == 0


PROGRAM = """
import threading, time
import numpy as np
import axiomjit
assert threading.active_count() == 1
f = axiomjit.jit(lambda x: np.sqrt(x + 1.79))
x = np.arange(600.0)
started = time.perf_counter()
assert np.array_equal(f(x), np.sqrt(x + 1.79))
assert axiomjit.stats()["compiles"] == 0
if {waits}:
    while not axiomjit.stats()["kernels_run"]:
        f(x)
        assert time.perf_counter() < started + 60
print("ends")
"""


@pytest.mark.parametrize("waits", [True, False])
def test_programs_end_in_the_middle_of_a_compilation_too(waits):
    """The setting comes from the environment; no thread is started by the import."""
    settings = {"AXIOMJIT_BACKGROUND": "1", "AXIOMJIT_CACHE_DIR": "", "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-c", PROGRAM.format(waits=waits)]
    done = subprocess.run(
        command, env=os.environ | settings, capture_output=True, text=True, timeout=120
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "ends\n", "")
