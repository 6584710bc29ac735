"""Distinct elements in compiled functions: their number is known while the program runs."""

import numpy as np
import pytest

import axiomjit as aj
from axiomjit.passes.ir.print_program import print_program
from tests.numpy_rules.library_cases import (
    assert_as_numpy,
    assert_equal,
    assert_in_layouts,
    layouts,
    outcome,
)
from tests.passes.graphs import follow, lowered

RNG = np.random.default_rng(8)
CODES = ["f8", "f4", "i8", "u1", "b1", "c16"]


def values(code, *shape):
    a = RNG.integers(0, 9, shape).astype(code)
    if code[0] in "fc":
        a.flat[:: max(1, a.size // 4)] = np.nan
    return a


ROWS = {
    "unique": np.unique,
    "index": lambda a: np.unique(a, return_index=True),
    "inverse": lambda a: np.unique(a, return_inverse=True),
    "counts": lambda a: np.unique(a, return_counts=True),
    "every": lambda a: np.unique(a, True, True, True),
    "nan": lambda a: np.unique(a, equal_nan=False),
    "one part": lambda a: np.unique(a, return_counts=True)[1],
    "unique_all": np.unique_all,
    "unique_counts": np.unique_counts,
    "unique_inverse": np.unique_inverse,
    "union1d": lambda a: np.union1d(a, a[:2] * 2),
    "setdiff1d": lambda a: np.setdiff1d(a, a[:2]),
    "setxor1d": lambda a: np.setxor1d(a, a[::2]),
    "intersect1d": lambda a: np.intersect1d(a, a[:2]),
    "indices": lambda a: np.intersect1d(a, a[1:], return_indices=True),
    "isin": lambda a: np.isin(a, a[0]),
    "not in": lambda a: np.isin(a, a[0], invert=True),
}


@pytest.mark.parametrize("code", CODES)
@pytest.mark.parametrize("name", ROWS)
def test_rows(name, code):
    assert_as_numpy(ROWS[name], values(code, 30))
    assert_in_layouts(ROWS[name], values(code, 5, 6))


@pytest.mark.parametrize("code", ["f8", "i4", "b1"])
@pytest.mark.parametrize("axis", [0, 1, -1])
def test_unique_along_an_axis(code, axis):
    a = np.repeat(RNG.integers(0, 2, (3, 4)), 2, axis=axis).astype(code)
    for one in layouts(a):
        assert_as_numpy(lambda a: np.unique(a, axis=axis), one)
        assert_as_numpy(lambda a: np.unique(a, True, True, True, axis), one)


FOLLOWED = {
    "map": lambda x: np.unique(x) * 2 + 1,
    "fold": lambda x: (np.unique(x) * 2).sum(),
    "length": lambda x: np.unique(x).size * x,
    "mean by group": lambda x: np.unique(x, return_counts=True)[1] / x.size,
    "rows": lambda x: np.unique(x)[:, None] * np.arange(3.0),
    "twice": lambda x: np.unique(np.unique(x) // 2),
    "of chosen ones": lambda x: np.unique(x[x > 3]) - 1,
    "chosen ones": lambda x: np.unique(x)[np.unique(x) > 3] * 2,
    "sorted": lambda x: np.sort(-np.unique(x)),
    "as a number": lambda x: np.bincount(x.astype(int), minlength=len(np.unique(x))),
    "joined": lambda x: np.concatenate([np.unique(x), x]),
}


@pytest.mark.parametrize("name", FOLLOWED)
def test_what_follows_is_compiled(name):
    function, x = FOLLOWED[name], RNG.integers(0, 50, 400).astype(float)
    assert_as_numpy(function, x, rtol=1e-13)
    compiled = aj.jit(function, strict=True)
    compiled(x)
    before = aj.stats()
    for _ in range(2):
        x = RNG.integers(0, 90, 400).astype(float)
        assert_equal(compiled(x), function(x), 1e-13)
    after = aj.stats()
    assert after["compiles"] == before["compiles"]
    assert after["fallbacks"] == before["fallbacks"]
    assert after["kernels_run"] > before["kernels_run"]


def test_the_function_is_called_once(golden):
    def shares(x):
        found, counts = np.unique(x * 2, return_counts=True)
        return found + 1, counts / x.size

    x = RNG.integers(0, 9, 40).astype(float)
    golden(print_program(lowered(follow(shares, x)).plan))
    compiled = aj.jit(shares)
    compiled(x)
    before = aj.stats()["library_calls"]
    assert_equal(compiled(x), shares(x))
    assert aj.stats()["library_calls"] == before + 1


@pytest.mark.filterwarnings("ignore::axiomjit.base.errors.FallbackWarning")
def test_a_length_that_decides_is_left_to_numpy():
    compiled = aj.jit(lambda x, y: np.unique(x) * y)
    y = np.arange(4.0)
    before = aj.stats()["fallbacks"]
    for x, left in ((np.ones(9), 1), (np.arange(4.0), 0), (np.arange(9.0), 1)):
        want = outcome(lambda x: np.unique(x) * y, (x,))
        assert str(outcome(compiled, (x, y))) == str(want)
        before += left
        assert aj.stats()["fallbacks"] == before


def test_no_elements():
    for function in ROWS.values():
        assert_as_numpy(function, np.zeros((3, 0)))
