"""reshape, ravel and flatten: views where NumPy gives views, copies elsewhere, for all lengths."""

import numpy as np
import pytest

import axiomjit
from axiomjit.symbolic.dims import dim, exact_quotient, named_length
from tests.numpy_rules.test_numpy_agreement import assert_alike, pairs
from tests.numpy_rules.test_shape_functions import LAYOUTS, assert_views_alike

VIEWS = {
    "one": lambda x: (x.reshape(-1), x.ravel(), np.ravel(x), np.reshape(x, x.size)),
    "merged": lambda x: (
        x.reshape(x.shape[0], x.shape[1] * x.shape[2]),
        x.reshape((x.shape[0] * x.shape[1], x.shape[2])),
        x.reshape(x.shape[0], 1, -1, 1),
    ),
    "transposed": lambda x: (x.T.reshape(-1), x.T.ravel(), x.mT.reshape(x.shape[0], -1)),
    "sliced": lambda x: (x[1:].reshape(-1), x[:, 1:3].reshape(x.shape[0], -1), x[..., :1].ravel()),
    "again": lambda x: (x.reshape(-1).reshape(x.shape)[1:], x.T.ravel().reshape(-1, 1)[::-2]),
    "inner": lambda x: (x[0, 0].ravel(), x[0, 0, ::-1].reshape(-1), x[0, 0, ::-1].ravel()),
    "forced": lambda x: (x.reshape(-1, copy=True), x.reshape(x.shape, copy=False)),
    "flattened": lambda x: (x.flatten(), x[0].flatten(), x[0, 0].flatten()),
}
COMPILED = {name: axiomjit.jit(f) for name, f in VIEWS.items()}
CUBES = {**LAYOUTS, "empty": lambda: np.zeros((5, 6, 0))}


@pytest.mark.parametrize("layout", CUBES)
@pytest.mark.parametrize("name", VIEWS)
def test_views_and_copies(name, layout):
    x = CUBES[layout]()
    got = COMPILED[name](x)
    assert_views_alike(got, VIEWS[name](x), x)
    for result, _ in pairs(got, VIEWS[name](x)):
        if not np.shares_memory(result, x):
            assert result.flags.c_contiguous or result.ndim > 2 or name == "again"


def test_split_and_merged_in_the_middle_of_a_computation():
    def function(x, y):
        z = (x * 2.0).reshape(x.shape[0] * 2, -1) + 1.0
        return (
            z,
            z.reshape(2, -1, 3).sum(axis=1),
            (x.T + y.reshape(x.shape[::-1])).ravel(),
            x.sum(axis=0).reshape(2, -1) @ y.reshape(3, -1)[:, :2],
            np.reshape(x.mean(axis=1), (-1, 1)) * y.reshape(5, -1),
        )

    rng = np.random.default_rng(5)
    x, y = rng.integers(-4, 5, (5, 6)).astype("f8"), rng.integers(-4, 5, 30).astype("f8")
    assert_alike(axiomjit.jit(function)(x, y), function(x, y), 1e-15)
    got = axiomjit.jit(function)(x[:, ::-1].copy()[:, ::-1], y[::-1])
    assert_alike(got, function(x, y[::-1]), 1e-15)


def test_held_arrays_and_arrays_without_dimensions():
    held = np.arange(12.0).reshape(3, 4)

    def function(x, r):
        y = np.reshape(held, -1)[5:] * x
        return y, held.T.ravel() + x, x.reshape(1, 1), np.reshape(r, -1), x.ravel(), x.flatten()

    x = np.array(2.0)
    assert_alike(axiomjit.jit(function)(x, 1.5), function(x, 1.5))


def test_other_lengths_are_served_by_the_same_program():
    def function(x, k):
        return x.reshape(-1, x.shape[0]) + 0.0, x.ravel()[:k], (x + 1.0).reshape(k, -1).sum(axis=0)

    compiled = axiomjit.jit(function)
    for n in (6, 8, 10):
        x = np.arange(n * 60.0).reshape(n, 60)
        assert_alike(compiled(x, 12), function(x, 12))
    assert compiled.cache_info().traced == 1
    assert_alike(compiled(x, 15), function(x, 15))


def test_a_length_that_divides_only_sometimes():
    compiled = axiomjit.jit(lambda x: x.reshape(-1, 7))
    for n in (14, 21, 70):
        assert compiled(np.zeros(n)).shape == (n // 7, 7)
    assert compiled.cache_info().traced == 1
    with pytest.raises(ValueError, match="multiple of 7"):
        compiled(np.zeros(15))


def test_quotients_of_lengths_are_exact():
    n, m, k = named_length("n0"), named_length("n1"), named_length("n2")
    assert exact_quotient(n * m * k, n * k) is m
    assert exact_quotient(n, dim(0)) is None
    assert exact_quotient(dim(0), dim(0)) is dim(0)
    assert exact_quotient((n + 1) * (m - 2), n + 1) is m - 2
    assert exact_quotient(6 * n * n + 4 * n, 2 * n) is 3 * n + 2
    assert exact_quotient(dim(12), dim(4)) is dim(3)
    assert exact_quotient(n * m, n + 1) is None
    assert exact_quotient(3 * n, dim(2)) is None


WRONG = {
    "too few": lambda x: x.reshape(7),
    "two unknown": lambda x: x.reshape(-1, -1),
    "no multiple": lambda x: x.reshape(7, -1),
    "nothing": lambda x: x.reshape(0, -1),
    "fraction": lambda x: x.reshape(60.0, 2),
    "no shape": lambda x: x.reshape(),
    "no view": lambda x: x.T.reshape(-1, copy=False),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_shapes_raise_what_numpy_raises(name):
    x = LAYOUTS["C"]()
    with pytest.raises((ValueError, TypeError)) as expected:
        WRONG[name](x)
    with pytest.raises(expected.type):
        axiomjit.jit(WRONG[name])(x)


@pytest.mark.parametrize("function", [np.reshape, np.ravel, np.ndarray.flatten])
@pytest.mark.usefixtures("refusing")
def test_other_orders_are_refused_by_name(function):
    x = LAYOUTS["C"]()
    shape = {"shape": -1} if function is np.reshape else {}
    name = function.__name__
    with pytest.raises(axiomjit.base.errors.UnsupportedError, match=f"order of {name}"):
        axiomjit.jit(
            lambda x: (
                getattr(x, name)(order="A")
                if name == "flatten"
                else function(x, order="A", **shape)
            )
        )(x)


COPIES = [
    lambda x: (x.copy(), np.copy(x), np.copy(x, order="C"), x.copy("F")),
    lambda x: ((x + 1.0).copy(), (x.T + 1.0).copy("F"), np.copy(x + 1.0)),
    lambda x: (x[0, 1, 2][None], x[0, 1, 2, ...][None], np.flip(x[0, 1, 2]), x[0][1]),
]


@pytest.mark.parametrize("layout", ["C", "F"])
@pytest.mark.parametrize("function", COPIES)
def test_copies_lie_as_in_numpy(function, layout):
    x = np.array(np.arange(60.0).reshape(3, 4, 5), order=layout)
    for got, want in pairs(axiomjit.jit(function)(x), function(x)):
        np.testing.assert_array_equal(got, want, strict=True)
        assert got.strides == want.strides
        assert np.shares_memory(got, x) == np.shares_memory(want, x)
