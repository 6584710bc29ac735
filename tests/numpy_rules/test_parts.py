"""Arrays taken apart (`split`, `ix_`), grids, and new arrays of computed lengths."""

import re
import warnings

import numpy as np
import pytest

import axiomjit
from axiomjit.base.errors import FallbackWarning

X = np.arange(12.0)
ROWS = np.cos(np.arange(48.0)).reshape(6, 8)

pytestmark = pytest.mark.usefixtures("nothing_runs_in_numpy")


def agrees(function, *arguments):
    """Results, their containers, which are views, and what arguments hold are NumPy's."""
    given, wanted = ([np.array(a) for a in arguments] for _ in range(2))
    want, got = function(*wanted), axiomjit.jit(function)(*given)
    assert type(got) is type(want)
    if isinstance(want, np.ndarray):
        want, got = [want], [got]
    for one, other in (*zip(got, want, strict=True), *zip(given, wanted, strict=True)):
        np.testing.assert_array_equal(one, other, strict=True)
        assert np.shares_memory(one, given[0]) == np.shares_memory(other, wanted[0])


@pytest.mark.parametrize(
    ("function", "array"),
    [
        (lambda x: np.split(x, 3), X),
        (lambda x: np.split(x, [3, x.size - 2, 50]), X),
        (lambda x: np.split(x, np.array([3, 5])), X),
        (lambda x: np.split(x, [-3, 2]), X),
        (lambda x: np.split(x, 2)[0] + np.split(x, 2)[1], X),
        (lambda x: np.array_split(x, 5), X),
        (lambda x: np.array_split(x, 3, axis=1), ROWS),
        (lambda x: np.hsplit(x, 2), X),
        (lambda x: np.hsplit(x, [1, 3]), ROWS),
        (lambda x: np.vsplit(x, 2), ROWS),
        (lambda x: np.dsplit(x.reshape(2, 3, 8), 2), ROWS),
    ],
)
def test_parts_are_views(function, array):
    agrees(function, array)


def test_writes_into_parts_are_seen():
    def function(x):
        left, right = np.split(x, 2)
        left += 1
        right[:] = left
        return x * 1

    agrees(function, X)


def test_a_split_serves_other_lengths():
    compiled = axiomjit.jit(lambda x: np.split(x, 3)[1])
    for n in (12, 9, 30):
        np.testing.assert_array_equal(compiled(np.arange(n)), np.split(np.arange(n), 3)[1])
    assert compiled.cache_info().traced == 1


@pytest.mark.parametrize(
    "function",
    [
        lambda x: np.split(x, 5),
        lambda x: np.array_split(x, 0),
        lambda x: np.vsplit(x, 2),
        lambda x: np.dsplit(x, 2),
        lambda x: np.ix_(x.reshape(3, 4)),
        lambda x: np.meshgrid(x, x, indexing="yx"),
    ],
)
def test_errors_are_numpys(function):
    with pytest.raises(ValueError, match=".") as want:
        function(X)
    with pytest.raises(ValueError, match=re.escape(str(want.value))):
        axiomjit.jit(function)(X)


@pytest.mark.parametrize(
    "function",
    [
        lambda m, i, j: m[np.ix_(i, j)],
        lambda m, i, j: m[np.ix_(i, m[0] > 0)] * 2,
        lambda m, i, j: m[np.ix_([0, 1], j)],
        lambda m, i, j: np.ix_(i, j),
        lambda m, i, j: np.meshgrid(i, j),
        lambda m, i, j: np.meshgrid(i, j.reshape(-1, 1), 3),
        lambda m, i, j: np.meshgrid(i, j, i, indexing="ij"),
        lambda m, i, j: np.meshgrid(i, j, sparse=True),
        lambda m, i, j: np.meshgrid(i * 2.0),
    ],
)
def test_grids(function):
    agrees(function, ROWS, np.array([0, 2]), np.array([1, 3, 4]))


@pytest.mark.parametrize("k", [0, 2, -3])
def test_diagonals(k):
    agrees(lambda m: np.diag(m[:, :6], k), ROWS)
    agrees(lambda m: np.diag(m[0] * np.nan, k), ROWS)
    agrees(lambda x: np.diag(x > 3, k), X)
    agrees(lambda x: np.diagflat(x[2:], k), X)
    agrees(lambda m: np.diagflat(m[:2, ::2], k) + 1, ROWS)
    agrees(lambda x: np.diagflat(x.sum(), k), X)
    agrees(lambda m: np.diag(m, k) * 2, np.asfortranarray(ROWS))


def test_writes_at_a_grid():
    def function(m, i, j):
        m[np.ix_(i, j)] = 0
        return m * 1

    agrees(function, ROWS, np.array([0, 2]), np.array([1, 3, 4]))


def one_hot(y):
    made = np.zeros((y.size, y.max() + 1))
    made[np.arange(y.size), y] = 1
    return made


def table(y):
    made = np.zeros((y.max() + 1, y.max() + 2), int)
    np.add.at(made, (y, y + 1), 1)
    return made


def sieve(y):
    prime = np.ones(y[0] + 30, bool)
    prime[:2] = False
    prime[4::2] = False
    return np.flatnonzero(prime)


@pytest.mark.parametrize("function", [one_hot, table, sieve, lambda y: np.full(y[1], 7.0) * 2])
def test_new_arrays_of_computed_lengths(function):
    compiled = axiomjit.jit(function, strict=True)
    for labels in ([0, 2, 1, 1, 3, 0], [5, 0, 0, 2, 1, 1], [0, 0, 0, 0, 0, 0, 0]):
        y = np.array(labels)
        np.testing.assert_array_equal(compiled(y), function(y), strict=True)
    assert compiled.cache_info().traced == 1


def test_a_negative_computed_length_is_numpys_error():
    compiled = axiomjit.jit(lambda y: np.zeros(y.min()))
    assert compiled(np.array([3, 4])).shape == (3,)
    warnings.simplefilter("ignore", FallbackWarning)
    with pytest.raises(ValueError, match="negative dimensions are not allowed"):
        compiled(np.array([3, -4]))
