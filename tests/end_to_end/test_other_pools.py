"""Functions called from pools of threads and processes that are not ours, and after forks."""

import concurrent.futures
import functools
import inspect
import multiprocessing
import os
import signal
import threading
import warnings

import numpy as np
import pytest

import axiomjit as aj
from axiomjit.runtime.execution.workers import available_threads, granted, pool

PATIENCE_S = 120
RNG = np.random.default_rng(0)
LARGE = [RNG.normal(size=(700, 900)) for _ in range(4)]
SCALE = np.float64(1.5)


@aj.jit
def folded(x):
    """Work for several threads."""
    return np.tanh(x * 0.5 + 0.25).sum(axis=1) + np.exp(-x * x).max(axis=1)


@aj.jit
def nested(x):
    return folded(x) * 2


def expected(x):
    return np.tanh(x * 0.5 + 0.25).sum(axis=1) + np.exp(-x * x).max(axis=1)


def agree(results, factor=1.0):
    for result, x in zip(results, LARGE, strict=True):
        np.testing.assert_allclose(result, expected(x) * factor, rtol=1e-12)


def in_process(x):
    """A result, and what tells where it was made."""
    return folded(x), os.getpid(), available_threads()


def check_processes(answers):
    results, processes, threads = zip(*answers, strict=True)
    agree(results)
    assert os.getpid() not in processes
    assert all(1 <= count <= granted() for count in threads)


@pytest.mark.parametrize("call", [folded, nested], ids=["plain", "nested"])
def test_a_pool_of_threads(call):
    factor = 2.0 if call is nested else 1.0
    before = threading.active_count()
    with concurrent.futures.ThreadPoolExecutor(8) as users:
        for _ in range(5):
            agree(users.map(call, LARGE, timeout=PATIENCE_S), factor)
    ours = threading.active_count() - before
    assert ours <= max(0, granted() - 1)
    assert len(pool().workers) <= max(0, granted() - 1)


def test_calls_inside_of_calls_inside_a_pool():
    """A pool within a pool: nobody waits for a thread that waits for it."""

    def spread(k):
        with concurrent.futures.ThreadPoolExecutor(2) as inner:
            return list(inner.map(nested, LARGE, timeout=PATIENCE_S))

    with concurrent.futures.ThreadPoolExecutor(4) as outer:
        for results in outer.map(spread, range(4), timeout=PATIENCE_S):
            agree(results, 2.0)


@pytest.mark.parametrize("method", multiprocessing.get_all_start_methods())
def test_a_pool_of_processes(method):
    """Workers are forked after this process has used threads, or begin anew."""
    folded(LARGE[0])
    context = multiprocessing.get_context(method)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of forks beside threads
        with concurrent.futures.ProcessPoolExecutor(2, context) as workers:
            check_processes(workers.map(in_process, LARGE, timeout=PATIENCE_S))


class Slow:
    """A callable whose signature another thread looks up for a while."""

    def __init__(self):
        self.asked, self.known = threading.Event(), threading.Event()

    def __call__(self, x):
        return x

    @property
    def __signature__(self):
        self.asked.set()
        assert self.known.wait(PATIENCE_S)
        return inspect.Signature([inspect.Parameter("x", inspect.Parameter.POSITIONAL_ONLY)])


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
def test_a_child_does_not_wait_for_a_signature_that_its_parent_looks_up():
    slow = Slow()
    other = threading.Thread(target=aj.jit, args=(slow,))
    other.start()
    assert slow.asked.wait(PATIENCE_S)
    child = os.fork()
    if not child:
        signal.alarm(20)
        os._exit(0 if (aj.jit(lambda x: x + 1)(np.ones(3)) == 2).all() else 1)
    slow.known.set()
    other.join()
    assert os.waitpid(child, 0)[1] == 0


@pytest.mark.parametrize("backend", ["loky", "threading", "multiprocessing"])
def test_joblib(backend):
    joblib = pytest.importorskip("joblib")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        workers = joblib.Parallel(n_jobs=2, backend=backend, timeout=PATIENCE_S)
        answers = workers(joblib.delayed(in_process)(x) for x in LARGE)
        agree(workers(joblib.delayed(folded)(x) for x in LARGE))
    if backend == "threading":
        agree([result for result, _, _ in answers])
    else:
        check_processes(answers)
    if backend == "loky":  # whose workers share the CPUs, and say so in their environment
        assert all(threads <= max(1, granted() // 2) for _, _, threads in answers)
        local = aj.jit(lambda x: x * SCALE)
        results = workers(joblib.delayed(local)(x) for x in LARGE)
        for result, x in zip(results, LARGE, strict=True):
            np.testing.assert_array_equal(result, x * SCALE)
        joblib.externals.loky.get_reusable_executor().shutdown(wait=True)


@pytest.mark.parametrize("scheduler", ["threads", "processes", "synchronous"])
def test_dask(scheduler):
    dask = pytest.importorskip("dask")
    local = aj.jit(lambda x: folded(x) + 1)
    tasks = [dask.delayed(local)(x) for x in LARGE]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        results = dask.compute(*tasks, scheduler=scheduler, num_workers=2)
    for result, x in zip(results, LARGE, strict=True):
        np.testing.assert_allclose(result, expected(x) + 1, rtol=1e-12)


def test_dask_arrays():
    array = pytest.importorskip("dask.array")
    x = np.concatenate(LARGE)
    blocks = array.from_array(x, chunks=(350, 900))
    by_block = functools.partial(blocks.map_blocks, drop_axis=1, dtype=x.dtype)
    result = by_block(folded).compute(scheduler="threads", num_workers=4)
    np.testing.assert_allclose(result, expected(x), rtol=1e-12)
