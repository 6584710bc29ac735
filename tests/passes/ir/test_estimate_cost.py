"""What programs read, write and compute, in numbers."""

import numpy as np
import pytest

import axiomjit
from axiomjit.symbolic.dims import evaluate
from tests.passes.examples import example, l2, numbers
from tests.passes.graphs import follow, lower_until, lowered


def cost(function, *arguments):
    """Bytes read, written and temporary, and additions."""
    case = follow(function, *arguments)
    total = lowered(case).cost
    fields = (total.bytes_read, total.bytes_written, total.temporary_bytes, total.flops)
    return tuple(evaluate(field, case.values) for field in fields)


@pytest.mark.parametrize(
    ("function", "arguments", "expected"),
    [
        (lambda x: x + 1.0, (numbers(100),), (800, 800, 0, 100)),
        (lambda x: x + x, (numbers(100, dtype="f4"),), (400, 400, 0, 100)),
        (lambda x: np.sqrt(x), (numbers(100),), (800, 800, 0, 1200)),
        (lambda x: x.sum(), (numbers(10, 10),), (800, 8, 0, 100)),
        (lambda x: (x.sum(), x.max()), (numbers(100),), (800, 16, 0, 200)),
        (l2, (numbers(100), numbers(100)), (1600, 8, 0, 312)),
        (lambda x: x - x.sum(), (numbers(100),), (1608, 808, 8, 200)),
        (np.dot, (numbers(10, 20), numbers(20, 30)), (6400, 2400, 0, 12000)),
        (lambda x: x.T, (numbers(10, 10),), (0, 0, 0, 0)),
    ],
)
def test_cost(function, arguments, expected):
    assert cost(function, *arguments) == expected


@pytest.mark.parametrize("name", ["l2", "centred", "product"])
def test_estimate_cost_golden(golden, name):
    golden("\n".join(map(str, lower_until("tile_folds", example(name)).costs)))


def test_estimate_cost_leaves_alone():
    before = lower_until("estimate_cost", example("product"))
    after = lower_until("tile_folds", example("product"))
    assert (before.steps, len(before.costs)) == (after.steps, 0)
    assert len(after.costs) == len(after.steps)


def few_elements(x, count):
    for i in range(count):
        x[i] = x[i] * 0.5 + 1.0


def triangle(x):
    for i in range(x.shape[0]):
        for j in range(i):
            x[i] += x[j]


def test_the_cost_of_a_region_is_that_of_its_trips():
    compiled = axiomjit.jit(few_elements, strict=True)
    costs = [compiled.lower(numbers(n), 1000).cost for n in (10**4, 10**6)]
    assert costs[0] == costs[1]
    assert (costs[0].bytes_read, costs[0].bytes_written) == (8000, 8000)
    sums = axiomjit.jit(triangle, strict=True).lower(numbers(1000)).cost
    assert sums.bytes_written == pytest.approx(8 * 1000 * 999 / 2, rel=0.01)
