"""No more kernels are loaded than the settings allow; dropped ones come back when they are run."""

import ctypes
import gc
import itertools
import threading
import time
import weakref
from array import array

import numpy as np
import pytest

import axiomjit
from axiomjit.base.config import config
from axiomjit.base.counters import stats
from axiomjit.base.errors import GraphValueError
from axiomjit.base.native_callable import NativeCallable
from axiomjit.base.target import target
from axiomjit.runtime.codegen.compile_source import compile_source
from axiomjit.runtime.codegen.kernel_cache import KernelCache, KernelHandle
from axiomjit.runtime.native_call.native_entry import refusal
from tests.runtime.codegen import memory_runs
from tests.runtime.codegen.kernels import SQUARES, SQUARES_PARAMETERS
from tests.runtime.object_cache.object_runs import Planted, planted_kernel

X = np.linspace(0.0, 1.0, 50)


@pytest.fixture
def most(monkeypatch):
    """Sets how many kernels may be loaded."""
    return lambda number: monkeypatch.setattr(config, "kernels", number)


class Counting:
    """A cache whose kernels store their numbers, with handles and a list of what was compiled."""

    def __init__(self, count):
        self.compiled = []
        self.cache = KernelCache(self.compile)
        self.handles = [self.cache.handle(planted_kernel(k)) for k in range(count)]

    def compile(self, kernel, checked):
        number = int(kernel.key.split()[-1])
        self.compiled.append(number)
        return Planted(number)

    def stored(self, number):
        return stored(self.handles[number].get())

    def loaded(self):
        return [k for k, handle in enumerate(self.handles) if handle.loaded is not None]


def stored(loaded):
    words = (ctypes.c_int64 * 1)()
    assert loaded.entry(ctypes.addressof(words), 0, 1) == 0
    return words[0]


def test_those_that_were_not_run_for_longest_are_dropped(most):
    most(3)
    kernels = Counting(6)
    for number in (0, 1, 2, 3):
        assert kernels.stored(number) == number
    assert kernels.loaded() == [1, 2, 3]
    assert kernels.stored(1) == 1
    assert kernels.stored(3) == 3
    assert kernels.stored(4) == 4
    assert kernels.loaded() == [1, 3, 4]
    assert kernels.compiled == [0, 1, 2, 3, 4]
    assert kernels.stored(0) == 0
    assert kernels.compiled == [0, 1, 2, 3, 4, 0]
    assert len(kernels.loaded()) == 3


def test_more_may_be_loaded_when_the_setting_grows(most):
    kernels = Counting(6)
    for number, expected in ((1, 1), (4, 4), (2, 2)):
        most(number)
        assert [kernels.stored(k) for k in range(6)] == list(range(6))
        assert len(kernels.loaded()) == expected


def test_an_eighth_is_dropped_at_once(most):
    most(16)
    kernels = Counting(20)
    counts = []
    for number in range(20):
        kernels.stored(number)
        counts.append(len(kernels.loaded()))
    assert counts[14:] == [15, 16, 14, 15, 16, 14]
    assert kernels.loaded() == list(range(6, 20))


def test_a_dropped_kernel_stays_while_it_is_held(most):
    most(1)
    kernels = Counting(2)
    running = kernels.handles[0].get()
    assert kernels.stored(1) == 1
    assert kernels.loaded() == [1]
    assert stored(running) == 0


def test_a_dropped_kernel_that_is_held_is_not_loaded_again(most, monkeypatch):
    """A plan that runs it would else be left in its middle, where calls do not wait."""
    most(1)
    kernels = Counting(2)
    running = kernels.handles[0].get()
    assert kernels.stored(1) == 1
    monkeypatch.setattr(config, "background", True)
    assert kernels.handles[0].get() is running
    assert kernels.compiled == [0, 1]


def test_handles_that_die_leave_no_trace(most):
    most(2)
    kernels = Counting(4)
    kernels.cache.forget()
    for number in range(4):
        kernels.stored(number)
    del kernels.handles[2:]
    gc.collect()
    assert len(kernels.cache._loaded) == 0
    assert kernels.stored(0) == 0
    assert kernels.loaded() == [0]


def functions(count):
    return [axiomjit.jit(eval(f"lambda x: x * {k} + {'x ** 2 - ' * k} 0.75")) for k in range(count)]


def right(k, x):
    return eval(f"x * {k} + {'x ** 2 - ' * k} 0.75")


@pytest.mark.parametrize("way", ["auto", "portable"])
def test_functions_whose_kernels_were_dropped_work_on(most, monkeypatch, way):
    monkeypatch.setattr(config, "entry", way)
    most(2)
    compiled = functions(5)
    for _ in range(30):
        for k, function in enumerate(compiled):
            assert function(X).tobytes() == right(k, X).tobytes()
    assert all(function.cache_info().traced == 1 for function in compiled)


class User:
    """A function whose native calls run a kernel."""

    def __init__(self, hits=0):
        self.hits_natively = [hits]

    def drop_tables(self, kernel=None):
        """There are none."""


def test_calls_of_one_function_are_not_taken_for_those_of_another():
    handle, first = Counting(1).handles[0], User()
    handle.add_user(first)
    first.hits_natively[0] = 3
    before = handle.last_use()
    assert handle.last_use() == before
    del first
    second = User(hits=1)
    handle.add_user(second)
    assert handle.last_use() == before
    second.hits_natively[0] = 3
    assert handle.last_use() > before


@pytest.mark.skipif(bool(refusal()), reason=refusal())
def test_kernels_that_native_calls_run_are_used_ones(most):
    """The native entry does not tell that it ran one: its count of calls does."""
    most(2)
    used, *others = functions(6)
    for _ in range(4):
        used(X)
    answered = used.cache_info().hits
    before = stats()
    for other in others:
        used(X)
        other(X)
    used(X)
    after = stats()
    assert used.cache_info().hits == answered + 6
    assert after["compiles"] + after["disk_hits"] - before["compiles"] - before["disk_hits"] == 5


@pytest.mark.usefixtures("unchecked")  # checked kernels are run by plans, which load them again
@pytest.mark.skipif(bool(refusal()), reason=refusal())
def test_native_guards_of_a_dropped_kernel_go_and_come_back(most):
    most(1)
    first, second = functions(2)
    for _ in range(4):
        first(X)
    native = first.hits_natively[0]
    assert native
    tables = first.func.__self__
    assert tables[0]
    second(X)
    second(X)
    assert tables[0] == ()
    for _ in range(4):
        assert first(X).tobytes() == right(0, X).tobytes()
    assert first.hits_natively[0] > native


class Exchanged(list):
    """A cell whose tables another thread exchanges right after they were read first."""

    def __getitem__(self, place):
        found = super().__getitem__(place)
        if "new" not in found:
            self[0] = (*found, "new", ())
        return found


def test_tables_may_be_exchanged_while_those_of_a_kernel_are_dropped():
    kernel, function = object(), NativeCallable()
    cell = Exchanged([("table", (kernel,), "other", ())])
    native = type("Native", (), {"__self__": cell, "__call__": None})()
    function.enter(native)
    function.drop_tables(kernel)
    assert list(cell) == [("other", (), "new", ())]


@pytest.mark.usefixtures("unchecked")
@pytest.mark.skipif(bool(refusal()), reason=refusal())
def test_a_table_does_not_keep_a_kernel_that_was_dropped_while_it_was_made(monkeypatch):
    (function,) = functions(1)
    add_user, dropped = KernelHandle.add_user, []

    def too_late(handle, user):
        dropped.append(weakref.ref(handle.loaded))
        handle.drop()
        add_user(handle, user)

    monkeypatch.setattr(KernelHandle, "add_user", too_late)
    for _ in range(3):
        assert function(X).tobytes() == right(0, X).tobytes()
    assert dropped
    assert function.func.__self__[0] == ()
    gc.collect()
    assert not any(kernel() for kernel in dropped)


def test_threads_run_kernels_that_others_drop(most):
    most(2)
    compiled, x = functions(4), np.linspace(0.0, 1.0, 20_000)
    expected = [right(k, x).tobytes() for k in range(4)]
    wrong, until = [], time.monotonic() + 1.5

    def call(own):
        while time.monotonic() < until:
            for k in (own, own, own, (own + 1) % 4):
                if compiled[k](x).tobytes() != expected[k]:
                    wrong.append(k)

    threads = [threading.Thread(target=call, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_a_kernel_whose_users_are_gone_or_new_was_not_run():
    """Users have counts of their own: a count that is gone, or begins anew, is no use."""
    handle, later = Counting(2).handles

    class User:
        def __init__(self, hits):
            self.hits_natively = array("q", [hits])

        def drop_tables(self, kernel=None):
            pass

    handle.get()
    first, other = User(0), User(7)
    handle.add_user(first)
    handle.add_user(other)
    before = handle.last_use()
    first.hits_natively[0] += 3
    used = handle.last_use()
    assert used > before
    del other
    assert handle.last_use() == used
    handle.drop()
    handle.get(), later.get()
    new = User(0)
    handle.add_user(new)
    assert handle.last_use() < later.last_use()


@pytest.mark.skipif(not memory_runs.STATM.exists(), reason="memory is read from /proc")
def test_memory_does_not_grow_with_kernels():
    """Loaded ones take 8 KiB each; compiling one left 77 KiB of LLVM's passes behind."""
    assert memory_runs.run_kernels(150, 400, most=100) < 2 * 2**20
    sources = (SQUARES.replace("t * t", f"t * f8({k}.0)") for k in itertools.count())
    compiled = lambda _: compile_source(next(sources), SQUARES_PARAMETERS, target())  # noqa: E731
    assert memory_runs.grown_bytes(compiled, 5, 20) < 2**19


@pytest.mark.parametrize("number", [0, -1, 1.5, "many", None])
def test_no_such_number(number):
    with pytest.raises(GraphValueError, match="from 1 on"):
        config.kernels = number
