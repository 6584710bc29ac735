"""The few forms that plain Python is too slow for: folds of many blocks and groups, compiled."""

import math

import numpy as np
import pytest

from axiomjit.runtime.execution.execute import BoundPlan
from tests.passes.examples import l2
from tests.passes.graphs import follow, in_numpy, lowered

EPS = np.finfo(np.float64).eps
RNG = np.random.default_rng(7)
LONG, OTHER = RNG.standard_normal(200_003), RNG.standard_normal(200_003)
WIDE = RNG.standard_normal((7, 70_001))
TALL = RNG.standard_normal((3_001, 67))


def ran(function, *arguments):
    """What a function returns, compiled."""
    case = follow(function, *arguments)
    plan = BoundPlan(lowered(case).plan, case.values)
    return case.returned(plan.run(case.arguments))


def assert_rounded(got, columns):
    """Sums within the bound of blocks of 1024 that form a tree: far below n * eps."""
    for value, column in zip(np.atleast_1d(got), columns, strict=True):
        size = math.fsum(map(abs, column))
        assert abs(float(value) - math.fsum(column)) <= 64 * EPS * size


@pytest.mark.parametrize(
    ("function", "argument", "columns"),
    [
        (lambda x: x.sum(), LONG, [LONG]),
        (lambda x: x[::-3].sum(), LONG, [LONG[::-3]]),
        (lambda x: x.sum(axis=1), WIDE, WIDE),
        (lambda x: x.sum(axis=0), TALL, TALL.T),
        (lambda x: x.sum(), WIDE[:, ::2], [WIDE[:, ::2].ravel()]),
        (lambda x: x.T.sum(), TALL, [TALL.ravel()]),
    ],
)
def test_long_sums_are_rounded_as_a_tree(function, argument, columns):
    assert_rounded(ran(function, argument)[0], columns)


def test_sums_of_several_loops_in_one_nest():
    rows, total, largest = ran(lambda x: (x.sum(axis=1), x.sum(), x.max()), WIDE)
    assert_rounded(rows, WIDE)
    assert_rounded(total, [WIDE.ravel()])
    assert largest == WIDE.max()


def test_l2_of_long_vectors():
    (got,) = ran(l2, LONG, OTHER)
    assert got == pytest.approx(math.sqrt(math.fsum((LONG - OTHER) ** 2)), rel=64 * EPS)


def test_elementwise_chain_has_the_bits_of_numpy():
    def function(x, y):
        return np.where(x > y, np.sqrt(abs(x)) / (y * y + 1.0), -x), np.maximum(x, y) - 0.5

    for got, want in zip(
        ran(function, LONG, OTHER), in_numpy(function, (LONG, OTHER)), strict=True
    ):
        np.testing.assert_array_equal(got, want, strict=True)
