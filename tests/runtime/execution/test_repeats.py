"""Loops and branches as steps of plans: in Python and natively, trip by trip."""

import signal
import time
from unittest.mock import patch

import numpy as np
import pytest

import axiomjit as aj
from axiomjit.base.config import config
from axiomjit.passes.ir.plan_ir import Repeat
from axiomjit.runtime.execution import plan_steps, repeats
from axiomjit.runtime.execution.repeats import Body
from tests.tracing.repeat_programs import PROGRAMS
from tests.tracing.test_control_flow import assert_as_python, copies


def sorted_up(x, n):
    """A vector of which less is sorted in each trip; lengths name the index."""

    def step(i, total):
        x[i:] = np.sort(x[i:]) * 0.75 - 0.1 * x[i]
        return total + x[i]

    return aj.fori_loop(0, n, step, 0.0)


def in_python():
    """Bodies never get native plans."""
    return patch.object(repeats, "MAX_TABLES", 0)


@pytest.mark.parametrize("name", PROGRAMS)
def test_both_back_ends_give_equal_bits(name):
    function, make = PROGRAMS[name]
    native, slow = make(9, np.random.default_rng(9)), make(9, np.random.default_rng(9))
    found = aj.jit(strict=True)(function)(*native)
    with in_python():
        wanted = aj.jit(strict=True)(function)(*slow)
    parts = [found, wanted]
    one, other = (p if isinstance(p, tuple) else () if p is None else (p,) for p in parts)
    for a, b in zip((*one, *native), (*other, *slow), strict=True):
        assert np.array_equal(a, b)


def slow_runs(monkeypatch):
    """A list to which each run of a body in Python adds itself."""
    runs, slow = [], Body._slow

    def counted(self, *given):
        runs.append(self)
        return slow(self, *given)

    monkeypatch.setattr(Body, "_slow", counted)
    return runs


def test_trips_run_natively_with_the_index_as_a_word(monkeypatch):
    monkeypatch.setattr(config, "bounds", False)  # checked kernels run in Python
    runs = slow_runs(monkeypatch)
    compiled = aj.jit(strict=True)(sorted_up)
    x = np.random.default_rng(0).random(60)
    assert_as_python(compiled, sorted_up, [x, 50])
    assert 0 < len(runs) <= repeats.IN_PYTHON + repeats.MAX_TABLES
    before = len(runs)
    for _ in range(3):
        assert_as_python(compiled, sorted_up, [x, 50])
    assert len(runs) == before


def test_a_wrong_word_changes_the_result(monkeypatch):
    right = Body._run_at
    monkeypatch.setattr(Body, "_run_at", lambda self, *g: right(self, *g[:-1], max(g[-1] - 1, 0)))
    with pytest.raises(AssertionError):
        assert_as_python(aj.jit(sorted_up), sorted_up, [np.random.default_rng(0).random(9), 9])


def test_a_condition_that_is_not_asked_changes_the_result(monkeypatch):
    function, make = PROGRAMS["newton"]
    right = repeats.Repeating.run

    def once(self, *seen):
        self._trips, self._bodies = 1, self._bodies[:1]
        return right(self, *seen)

    monkeypatch.setattr(repeats.Repeating, "run", once)
    with pytest.raises(AssertionError):
        assert_as_python(aj.jit(function), function, make(6, np.random.default_rng(0)))


def test_other_counts_of_trips_compile_nothing():
    compiled = aj.jit(strict=True)(sorted_up)
    x = np.random.default_rng(0).random(60)
    compiled(x.copy(), 5)
    before, compiles = compiled.cache_info().traced, aj.stats()["compiles"]
    for n in (1, 7, 50, 33, 51, 52):
        assert_as_python(compiled, sorted_up, [x, n])
    assert compiled.cache_info().traced == before
    assert aj.stats()["compiles"] == compiles


def test_other_lengths_are_bound_once_each():
    compiled = aj.jit(strict=True)(sorted_up)
    for n in (20, 30, 20, 30):
        assert_as_python(compiled, sorted_up, [np.random.default_rng(n).random(n), n])
    assert compiled.cache_info().traced == 1


def test_views_and_other_orders_of_memory():
    compiled = aj.jit(strict=True)(sorted_up)
    x = np.random.default_rng(0).random((60, 3))
    for one in (x[:, 1], x[::-2, 0], np.asfortranarray(x)[:, 2]):
        assert_as_python(compiled, sorted_up, [one, 20])
        mine, plain = one.copy(), one.copy()
        sorted_up(plain, 20)
        whole = np.zeros((60, 3))
        view = whole[: len(one), 1]
        view[...] = mine
        compiled(view, 20)
        assert np.allclose(view, plain)
        assert not whole[:, [0, 2]].any()


def smoothed(x, n):
    return aj.fori_loop(0, n, lambda i, x: np.cumsum(x) / (i + 2.0) + x.mean(), x)


def test_kernels_of_bodies_use_threads_with_equal_bits(monkeypatch):
    monkeypatch.setattr(plan_steps, "SERIAL_WORK", 0)
    x = np.random.default_rng(0).random(300_000)
    results = []
    for threads in (1, 2):
        with aj.threads(threads):
            results.append(aj.jit(strict=True)(smoothed)(x, 4))
    assert np.array_equal(*results)
    assert np.allclose(results[0], smoothed(x, 4))


def endless(x):
    def step(carried):
        return np.sort(carried[0])[::-1] * 1.0, carried[1] + 1.0

    return aj.while_loop(lambda carried: carried[1] < 1e12, step, (x, 0.0))


def test_an_interrupt_is_heard_between_trips():
    compiled = aj.jit(strict=True)(endless)
    x = np.arange(5.0)

    def stop(*_):
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, stop)
    try:
        started = time.perf_counter()
        signal.setitimer(signal.ITIMER_REAL, 1.0)
        with pytest.raises(KeyboardInterrupt):
            compiled(x)
        assert time.perf_counter() - started < 5.0
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def test_checked_kernels_run_in_python(monkeypatch):
    monkeypatch.setattr(config, "bounds", True)
    x = np.random.default_rng(0).random(12)
    assert_as_python(aj.jit(strict=True)(sorted_up), sorted_up, [x, 10])


def failing(a, b, n):
    def step(i, total):
        b[i] += 1.0
        a[i, i] -= 1.0
        return total + np.linalg.solve(a, b)[0]

    return aj.fori_loop(0, n, step, 0.0)


@pytest.mark.parametrize("singular", [False, True])
def test_an_error_halfway_leaves_what_numpy_leaves(singular):
    a, b = np.diag([2.0, 2.0, 1.0 if singular else 3.0, 2.0]), np.ones(4)
    mine, plain = copies([a, b]), copies([a, b])
    outcomes = []
    for function, given in ((aj.jit(failing), mine), (failing, plain)):
        try:
            outcomes.append(function(*given, 4))
        except np.linalg.LinAlgError as error:
            outcomes.append(str(error))
    assert outcomes[0] == outcomes[1]
    assert (str(outcomes[0]) == "Singular matrix") is singular
    for one, other in zip(mine, plain, strict=True):
        assert np.array_equal(one, other)


def unread(a):
    def step(i, total):
        np.linalg.inv(a * (3.0 - i))
        return total + 1.0

    return aj.fori_loop(0, 6, step, 0.0)


def test_a_step_that_nothing_reads_may_raise_its_error():
    with pytest.raises(np.linalg.LinAlgError):
        aj.jit(unread)(np.eye(3))
    steps = aj.jit(unread).lower(np.eye(3))._stages.plan.steps
    assert any(isinstance(step, Repeat) for step in steps)


def one_bit(x, n):
    def step(i, carried):
        def up():
            return np.sort(x)[i] + carried

        return aj.cond(carried < x[i], up, lambda: carried * 0.5)

    return aj.fori_loop(0, n, step, 0.0)


def test_integers_from_outside_reach_the_loop():
    compiled = aj.jit(strict=True)(one_bit)
    x = np.random.default_rng(0).random(30)
    for n in (3, 4, 5, 6, 7, 30, 29, 28):
        assert compiled(x, n) == one_bit(x, n)
