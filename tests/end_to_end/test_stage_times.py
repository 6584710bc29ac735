"""`cache_info().times` says what compiling took, stage by stage."""

import time

import numpy as np
import pytest

import axiomjit as aj
from axiomjit.base.config import config
from axiomjit.base.counters import Clock, StageTimes, stage

X = np.linspace(0.5, 2.0, 12).reshape(3, 4)


def fresh(factor):
    """A compiled function that no test has made before."""
    return aj.jit(lambda x: np.sqrt(x * factor).sum(axis=1))


def test_each_stage_of_a_first_call_takes_time(monkeypatch):
    monkeypatch.setattr(config, "cache_dir", "")
    function = fresh(1.0937)
    assert function.cache_info().times == StageTimes()
    started = time.perf_counter()
    function(X)
    whole = (time.perf_counter() - started) * 1e3
    times = function.cache_info().times
    assert min(times.following, times.lowering, times.compiling, times.loading) > 0
    assert times.total <= whole
    function(X)
    assert function.cache_info().times == times


def test_lowering_alone_compiles_nothing():
    function = fresh(1.0938)
    assert function.lower(X).source
    assert function.cache_info().times.compiling == 0


def test_kernels_from_disk_are_loaded(monkeypatch, tmp_path):
    from axiomjit.runtime.codegen.kernel_cache import KernelCache
    from axiomjit.runtime.execution import plan_steps
    from axiomjit.runtime.object_cache.store import ObjectStore

    monkeypatch.setattr(config, "cache_dir", str(tmp_path))
    found = []
    for _ in range(2):
        monkeypatch.setattr(plan_steps, "KERNELS", KernelCache(objects=ObjectStore()))
        function = fresh(1.0939)
        function(X)
        found.append(function.cache_info().times)
    first, second = found
    assert first.compiling > second.compiling == 0
    assert second.loading > 0


def test_named_arrays_count_too():
    rows, columns = aj.make_axis(3, "R"), aj.make_axis(4, "C")
    function = aj.jit(lambda x: aj.sum(x * 1.0941, out_axes=[rows]))
    function(aj.NamedArray(X, [rows, columns]))
    times = function.cache_info().times
    assert times.following > 0
    assert times.lowering > 0


def test_functions_have_clocks_of_their_own():
    one, other = Clock(), Clock()
    with one.running(), stage("lowering"):
        with other.running(), stage("compiling"):
            pass
        with pytest.raises(KeyError), stage("loading"):
            raise KeyError
    with stage("following"):  # of nobody
        pass
    assert set(one.spent) == {"lowering", "loading"}
    assert set(other.spent) == {"compiling"}
