"""A temporary shares the memory of the result that its last reader stores, element by element."""

import numpy as np
import pytest

from axiomjit.passes.loops.reuse_storages import reuse_storages
from tests.passes.examples import example, numbers
from tests.passes.graphs import (
    CONTEXT,
    before_and_after,
    evaluated,
    follow,
    lower_until,
    lowered,
    run_plain_case,
    small_forms,
)

X = numbers(5, 6) / 4


def scanned_twice(x):
    behind = np.cumsum(np.cumsum(x, axis=1)[:, ::-1], axis=1)[:, ::-1]
    return behind * x


def of_product(x):
    return np.exp(x @ x.T) * 2.0


@pytest.mark.parametrize("function", [scanned_twice, of_product])
def test_reuse_storages_golden(golden, function):
    golden(before_and_after("reuse_storages", follow(function, X)))


@pytest.mark.parametrize("name", ["l2", "single", "mapped", "centred", "total"])
def test_reuse_storages_leaves_alone(name):
    program = lower_until("reuse_storages", example(name))
    assert reuse_storages(program, CONTEXT) is program


def temporaries(function, *arguments):
    """How many temporaries a program has before and after the pass."""
    program = lower_until("reuse_storages", follow(function, *arguments))
    after = reuse_storages(program, CONTEXT)
    return tuple(sum(s.role.is_temporary for s in p.storages) for p in (program, after))


def read_backward(x):
    y = np.cumsum(x, axis=1)
    return y + y[:, ::-1]


def read_later(x):
    y = np.cumsum(x, axis=1)
    return y * 2.0, y.T @ x


def reduced(x):
    return np.cumsum(x, axis=1).sum(axis=1)


def narrower(x):
    return (np.exp(x @ x.T)).astype("f4")


def turned(x):
    y = x @ x.T
    return y + y.T


def returned(x):
    y = x @ x.T
    return y, np.exp(y)


def inverted(x):
    return np.linalg.inv(x) * 2.0


def in_chain(x):
    return np.exp(x) @ np.exp(x).T @ x


CASES = {
    scanned_twice: (1, 0),
    of_product: (1, 0),
    read_backward: (1, 1),
    read_later: (1, 1),
    reduced: (0, 0),
    narrower: (1, 1),
    turned: (1, 1),
    returned: (0, 0),
    in_chain: (2, 2),
}


@pytest.mark.parametrize("function", CASES)
def test_only_what_is_read_for_the_last_time_is_written_over(function):
    assert temporaries(function, X) == CASES[function]


def test_functions_of_numpy_allocate_their_results():
    assert temporaries(inverted, numbers(4, 4) + 9 * np.eye(4)) == (1, 1)


@pytest.mark.parametrize("function", [*CASES, inverted])
@pytest.mark.parametrize("threads", [1, 3])
def test_values(function, threads):
    case = follow(function, X[:, :5] + 9 * np.eye(5) if function is inverted else X)
    want = evaluated(case.graph, case)
    with small_forms():
        found = run_plain_case(case, lowered(case).plan, threads)
    for one, other in zip(found, want, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-13)
