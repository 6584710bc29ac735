"""Python loops that are recorded pass by pass: long ones are warned of, once and by line."""

import warnings
from pathlib import Path

import numpy as np
import pytest

import axiomjit
from axiomjit.base.errors import UnrolledLoopWarning
from axiomjit.base.trace_context import MANY
from tests.passes.graphs import follow

HERE = Path(__file__).name
X = np.arange(42.0).reshape(6, 7)

pytestmark = pytest.mark.usefixtures("in_numpy")


def test_a_long_python_loop_warns_once_at_the_users_line():
    def loop(x):
        total = 0.0
        for k in list(range(1500)):
            total = total + x[0, 0] * k
        return total

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        axiomjit.jit(loop)(X)
    assert [w.category for w in caught] == [UnrolledLoopWarning]
    assert caught[0].filename == __file__
    assert caught[0].lineno == loop.__code__.co_firstlineno + 3
    assert "loop: 2,000 operations were recorded" in str(caught[0].message)


def test_iterating_over_a_long_array_warns_when_many_elements_are_read():
    def loop(x, most):
        passes = []
        for element in x:
            passes.append(element)
            if len(passes) == most:
                break
        return passes[2]

    with pytest.warns(UnrolledLoopWarning, match="a Python loop, of which every pass"):
        follow(lambda x: loop(x, MANY + 1), np.ones(10 * MANY))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        follow(lambda x: loop(x, 3), np.ones(10 * MANY))


def test_short_loops_do_not_warn():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        axiomjit.jit(lambda x: sum(row for row in x))(np.ones((MANY // 4, 2)))


def aligned(a, b):
    """A table, made by a region, and a way through it, which is a list that `while` makes."""
    n, m = len(a), len(b)
    table = np.zeros((n + 1, m + 1))
    for i in range(1, n + 1):
        for j in range(1, m + 1):
            table[i, j] = abs(a[i - 1] - b[j - 1]) + min(table[i - 1, j], table[i, j - 1])
    path, i, j = [], n, m
    while i > 0 and j > 0:
        path.append((i, j))
        if table[i - 1, j] < table[i, j - 1]:
            i -= 1
        else:
            j -= 1
    return table, path


@pytest.mark.filterwarnings("error::axiomjit.base.errors.UnrolledLoopWarning")
@pytest.mark.filterwarnings("ignore::axiomjit.base.errors.FallbackWarning")
def test_a_long_loop_is_not_unrolled_because_of_what_stands_behind_it():
    draw = np.random.default_rng(0)
    a, b = draw.random(40), draw.random(50)
    compiled = axiomjit.jit(aligned)
    for _ in range(2):
        (table, path), (wanted, way) = compiled(a, b), aligned(a, b)
        assert np.array_equal(table, wanted)
        assert path == way
