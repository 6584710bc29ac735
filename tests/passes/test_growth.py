"""Programs of twice as many operations become about twice as many statements, in as much time."""

import cProfile

import numpy as np
import pytest

import axiomjit
from axiomjit.base.config import config
from axiomjit.passes.ir.loop_ir import Nest
from tests.passes.graphs import follow, in_numpy, lower_until, lowered, run_plain_case
from tests.passes.stored import assert_same

X, Y = np.linspace(0.5, 2.0, 5 * 6).reshape(5, 6), np.linspace(1.0, 3.0, 5 * 6).reshape(5, 6)


def chain(count):
    def function(x, y):
        steps = [np.sqrt, lambda v: v * y, lambda v: v - x, lambda v: np.maximum(v, 0.5)]
        value = x
        for k in range(count):
            value = steps[k % 4](value)
        return value

    return function


def mesh(count):
    """Each value is computed from the one before and an early one."""

    def function(x, y):
        values = [x, y]
        for k in range(count // 2):
            values.append(values[-1] * 0.5 + values[k * 7 // 11])
        return values[-1]

    return function


def tree(count):
    def function(x, y):
        values = [x * (k + 1.5) for k in range(count // 2)]
        while len(values) > 1:
            pairs = zip(values[::2], values[1::2], strict=False)
            values = [a + b for a, b in pairs] + values[len(values) // 2 * 2 :]
        return values[0]

    return function


def results(count):
    return lambda x, y: tuple(np.sqrt(x + y) * (k + 1.5) for k in range(count))


def sums(count):
    return lambda x, y: tuple((x * (k + 1.5)).sum(axis=1) for k in range(count // 2))


def shifts(count):
    def function(x, y):
        total = x[0]
        for k in range(count // 2):
            total = total + np.roll(y[0], k % 5 + 1) * (k + 0.5)
        return total

    return function


def joined(count):
    return lambda x, y: np.concatenate([x[k % 4 : k % 4 + 1] * 2.0 for k in range(count)])


def centred(count):
    def function(x, y):
        value = x
        for _ in range(count // 3):
            value = value - (value * y).mean(axis=1, keepdims=True)
        return value

    return function


FAMILIES = [chain, mesh, tree, results, sums, shifts, joined, centred]
GROWTH = 2.5
"""The largest growth of statements and of work when the number of operations is doubled."""
CROSSING = {mesh: 3.0}
"""Where most values are used much later, more of them cross kernels: stored, and loaded again."""
LIMIT = 1100
"""Statements in one nest: two ops that just fit may meet in a third, and loops are split."""


def sizes(function):
    """The number of statements of each nest, when all passes have run."""
    program = lower_until("make_plan", follow(function, X, Y))
    return [sum(1 for _ in step.statements) for step in program.steps if isinstance(step, Nest)]


@pytest.mark.parametrize("make", FAMILIES)
def test_statements_grow_as_operations_do(make):
    small, large = sizes(make(200)), sizes(make(400))
    assert sum(large) <= CROSSING.get(make, GROWTH) * sum(small)
    assert len(large) <= GROWTH * len(small) + 1
    assert max(large) <= LIMIT


def calls(function):
    """How many calls of functions it takes to follow a function, lower it and render it.

    They are counted, since times of a busy machine say little; each does little by itself.
    """
    profile = cProfile.Profile()
    compiled = axiomjit.jit(function)
    profile.enable()
    try:
        kernels = compiled.lower(X, Y).kernels
    finally:
        profile.disable()
    assert kernels
    return sum(entry.callcount for entry in profile.getstats())


@pytest.mark.parametrize("make", FAMILIES)
@pytest.mark.parametrize("check", [False, True])
def test_the_work_of_compiling_grows_as_operations_do(make, check, monkeypatch):
    monkeypatch.setattr(config, "check", check)  # verifiers count, too
    calls(make(20))  # what a process does once
    count = 150 if check and make is not mesh else 200
    assert calls(make(2 * count)) <= GROWTH * calls(make(count))


@pytest.mark.parametrize("make", FAMILIES)
def test_large_programs_mean_what_numpy_does(make):
    case = follow(make(150), X, Y)
    got = run_plain_case(case, lowered(case).plan)
    want = in_numpy(make(150), (X, Y))
    if make in (sums, centred):
        for one, other in zip(got, want, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-12)
    else:
        assert_same(got, want, make.__name__)
