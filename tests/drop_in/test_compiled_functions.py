"""Functions that `jit` compiles take lazy arrays, and may be written with `axiomjit.numpy`."""

import numpy
import pytest

import axiomjit
import axiomjit.numpy as np

N = 5000


@axiomjit.jit
def scaled(x, factor=1):
    return x * 2 + factor


@axiomjit.jit
def first_set(x):
    x[0] = 9
    return x


@axiomjit.jit
def made(x):
    o = np.zeros(x.shape)
    o[1:-1] = np.asarray(x)[1:-1] * 2
    return o + np.arange(len(x)) + np.random.default_rng(3).normal(size=len(x))


def test_lazy_arguments():
    for _ in range(3):
        x = np.ones(N) + 1
        for found in (scaled(x), scaled(x=x), scaled(x, x.sum() / (2 * N))):
            assert type(found) is numpy.ndarray
            assert found[0] == 5
        assert not scaled._numpy_calls.all()


def test_writes_into_lazy_arguments():
    x = np.ones(N) + 1
    before = x * 1
    given = first_set(x)
    assert (x[0], before[0]) == (9, 2)
    given[1] = 4
    assert x[1] == 4


def test_functions_of_the_namespace_are_followed():
    x = numpy.arange(N * 1.0)
    expected = made.__wrapped__(x)
    for _ in range(2):
        found = made(x)
        assert type(found) is numpy.ndarray
        numpy.testing.assert_allclose(found, expected, rtol=1e-13)
    assert not made._numpy_calls.all()


def test_nested_lazy_arrays_run_in_numpy():
    function = axiomjit.jit(lambda pair: pair[0] + pair[1])
    x = np.ones(N)
    with pytest.warns(axiomjit.errors.FallbackWarning, match="LazyArray"):
        numpy.testing.assert_array_equal(function([x, x]), numpy.full(N, 2.0))
