"""Programs of twice as many operations become about twice as many statements, in as much time."""

import cProfile
import functools
from unittest.mock import patch

import numpy as np
import pytest

import axiomjit
from axiomjit.base.config import config
from axiomjit.passes.ir.loop_ir import Nest
from tests.passes.graphs import answered, follow, in_numpy, lowered, run_plain_case
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
FEW = 20
LIMIT = 1100
"""Statements in one nest: two ops that just fit may meet in a third, and loops are split."""


@functools.cache
def work(make, count, check):
    """The function calls of following, lowering and rendering, and the statements per nest.

    Calls are counted, since times of a busy machine say little; each does little by itself.
    """
    if count > FEW:
        work(make, FEW, check)  # what a process does once
    profile = cProfile.Profile()
    compiled = axiomjit.jit(make(count))
    with patch.object(config, "check", check):  # verifiers count, too
        profile.enable()
        try:
            lowered = compiled.lower(X, Y)
            kernels = lowered.kernels
        finally:
            profile.disable()
    assert kernels
    steps = answered(compiled, X, Y)[1].loops.steps
    sizes = [sum(1 for _ in step.statements) for step in steps if isinstance(step, Nest)]
    return sum(entry.callcount for entry in profile.getstats()), sizes


@pytest.mark.parametrize("make", FAMILIES)
def test_statements_grow_as_operations_do(make):
    small, large = (work(make, count, False)[1] for count in (200, 400))
    assert sum(large) <= CROSSING.get(make, GROWTH) * sum(small)
    assert len(large) <= GROWTH * len(small) + 1
    assert max(large) <= LIMIT


@pytest.mark.parametrize("make", FAMILIES)
@pytest.mark.parametrize("check", [False, True])
def test_the_work_of_compiling_grows_as_operations_do(make, check):
    count = 150 if check and make is not mesh else 200
    assert work(make, 2 * count, check)[0] <= GROWTH * work(make, count, check)[0]


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
