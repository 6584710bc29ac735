"""Reductions over named axes: values against NumPy's, any subset of axes in any order."""

import itertools

import numpy as np
import pytest

import axiomjit as aj
from axiomjit.base.errors import AxesError

pytestmark = pytest.mark.usefixtures("evaluator")  # kernels of folds are tested elsewhere

C, H, W = aj.make_axis(3, "C"), aj.make_axis(4, "H"), aj.make_axis(5, "W")
AXES = [C, H, W]
A = np.random.default_rng(3).integers(-3, 4, (3, 4, 5)).astype(float)
X = aj.constant(A, AXES)
NUMPYS = {
    "sum": np.sum,
    "prod": np.prod,
    "max": np.max,
    "min": np.min,
    "any": np.any,
    "all": np.all,
    "mean": np.mean,
    "variance": np.var,
    "squared_L2": lambda a, axis: np.sum(a * a, axis=axis),
    "L1_norm": lambda a, axis: np.sum(abs(a), axis=axis),
    "L2_norm": lambda a, axis: np.sqrt(np.sum(a * a, axis=axis)),
}
SUBSETS = [s for n in range(4) for s in itertools.permutations(range(3), n)]


@pytest.mark.parametrize("name", NUMPYS)
def test_any_subset_in_any_order(name):
    function = getattr(aj, name)
    made = {s: function(X, [AXES[k] for k in s]) for s in SUBSETS}
    comp = aj.transformers.make_transformer().computation([*made.values(), function(X)])
    *values, every = comp()
    for subset, value in zip(SUBSETS, values, strict=True):
        assert list(made[subset].axes) == [a for k, a in enumerate(AXES) if k not in subset]
        expected = NUMPYS[name](A, axis=subset)
        assert value.dtype == expected.dtype
        np.testing.assert_allclose(value, expected, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(every, NUMPYS[name](A, axis=None), rtol=1e-12)


def flat_place(array, subset, function):
    """The place along dimensions in the order listed, by one flat dimension."""
    kept = [k for k in range(array.ndim) if k not in subset]
    lengths = [array.shape[k] for k in kept]
    return function(array.transpose([*kept, *subset]).reshape(*lengths, -1), axis=-1)


@pytest.mark.parametrize("name", ["argmax", "argmin"])
def test_places_are_flat_in_the_order_listed(name):
    function = getattr(aj, name)
    array = A.copy()
    array[1, 2, 3] = array[1, 3, 1] = np.nan
    x = aj.constant(array, AXES)
    subsets = [s for s in SUBSETS if s]
    made = [function(x, [AXES[k] for k in s]) for s in subsets]
    comp = aj.transformers.make_transformer().computation([*made, function(x)])
    *values, every = comp()
    for subset, value in zip(subsets, values, strict=True):
        assert value.dtype == np.int64
        np.testing.assert_array_equal(value, flat_place(array, subset, getattr(np, name)))
    assert every == getattr(np, name)(array)
    np.testing.assert_array_equal(function(x, []), np.zeros((3, 4, 5)))
    turned = function(x, [W], out_axes=[H, C])
    np.testing.assert_array_equal(turned, getattr(np, name)(array, axis=2).T)


@pytest.mark.parametrize("code", ["b1", "i1", "u4", "f2", "f4", "c16"])
def test_dtypes_are_numpys(code):
    array = A.astype(code) + (A * 1j if code == "c16" else 0)
    array = array.astype(code)
    x = aj.constant(array, AXES)
    for name in ("sum", "prod", "max", "any", "all", "mean", "variance"):
        result = getattr(aj, name)(x, [H])
        expected = NUMPYS[name](array, axis=1)
        assert result.dtype == expected.dtype, name
        tolerance = 1e-2 if code == "f2" else 1e-5
        np.testing.assert_allclose(np.asarray(result), expected, rtol=tolerance, atol=tolerance)
    squares = (array * array.conj()).real
    np.testing.assert_allclose(aj.squared_L2(x, [H]), np.sum(squares, axis=1), rtol=1e-2)


def test_norms_take_an_epsilon():
    zeros = aj.constant(0.0, [H])
    assert np.asarray(aj.L2_norm(zeros, eps=4.0)) == 2
    assert np.asarray(aj.L2_norm(zeros)) == 0


def test_sizes_follow_the_lengths():
    later = aj.make_axis(name="later")
    x = aj.placeholder([C, later], "f4")
    mean = aj.sum(x, [later]) / aj.tensor_size(x, [later])
    assert mean.dtype == np.float32
    assert aj.tensor_size(x).axes == aj.make_axes()
    later.length = 2
    comp = aj.transformers.make_transformer().computation([mean, aj.tensor_size(x)], x)
    means, size = comp(np.arange(6).reshape(3, 2))
    np.testing.assert_array_equal(means, [0.5, 2.5, 4.5])
    assert size == 6
    assert np.asarray(aj.tensor_size(X, [H], [W, C])) == 4


def test_numbers_have_no_axes_to_reduce():
    assert np.asarray(aj.sum(3)) == 3
    assert np.asarray(aj.argmax(3.0)) == 0
    with pytest.raises(AxesError, match=r"sum of i8\[\]\n  seen: axes \[\], none of which is H=4"):
        aj.sum(3, [H])


def test_axes_of_length_zero():
    empty = aj.make_axis(0, "empty")
    x = aj.constant(np.ones((3, 0)), [C, empty])
    np.testing.assert_array_equal(aj.sum(x, [empty]), np.zeros(3))
    np.testing.assert_array_equal(aj.all(x, [empty]), np.ones(3, bool))
    assert np.asarray(aj.argmax(x, [C])).shape == (0,)
    late = aj.make_axis(name="late")
    comp = aj.transformers.make_transformer().computation(aj.argmin(aj.constant(1.0, [late])))
    late.length = 0
    with pytest.raises(AxesError, match=r"argmin over \[late=0\]"):
        comp()


def test_reductions_fuse_with_what_they_read():
    x = aj.placeholder(AXES)
    comp = aj.transformers.make_transformer().computation(aj.sum((x - 1) * (x + 1), [W]), x)
    cost = comp.lower(A).cost
    assert (cost.kernels, cost.temporary_bytes) == (1, 0)
