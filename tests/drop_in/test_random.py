"""Random numbers of `axiomjit.numpy`: NumPy's, in lazy arrays where they are many."""

import pickle

import numpy
import pytest

import axiomjit.numpy as np
from axiomjit.numpy.lazy_arrays import LazyArray
from axiomjit.numpy.random import default_rng

N = 5000


def test_generators_draw_lazy_arrays():
    ours, theirs = default_rng(3), numpy.random.default_rng(3)
    for name, args in (("normal", (0, 1)), ("integers", (9,)), ("uniform", ()), ("choice", (7,))):
        made = getattr(ours, name)(*args, size=N)
        assert type(made) is LazyArray
        numpy.testing.assert_array_equal(made, getattr(theirs, name)(*args, size=N))
    assert type(ours.random(3)) is numpy.ndarray
    assert isinstance(ours.normal(), float)


def test_generators_are_generators():
    ours = np.random.default_rng(3)
    assert isinstance(ours, numpy.random.Generator)
    assert isinstance(numpy.random.default_rng(), np.random.Generator)
    assert default_rng(ours) is ours
    assert default_rng(ours.bit_generator).bit_generator is ours.bit_generator
    theirs = numpy.random.default_rng(3)
    assert default_rng(theirs).bit_generator is theirs.bit_generator
    children = ours.spawn(2)
    assert [type(one) for one in children] == [np.random.Generator] * 2
    again = pickle.loads(pickle.dumps(ours))
    assert type(again) is np.random.Generator
    assert again.random() == ours.random()
    assert repr(ours).startswith("Generator(PCG64)")


def test_arguments_may_be_lazy():
    ours, theirs = default_rng(3), numpy.random.default_rng(3)
    x, y = np.arange(N) * 1.0, numpy.arange(N) * 1.0
    numpy.testing.assert_array_equal(ours.normal(x), theirs.normal(y))
    ours.shuffle(x)
    theirs.shuffle(y)
    numpy.testing.assert_array_equal(x, y)
    assert ours.random(out=x) is x
    numpy.testing.assert_array_equal(x, theirs.random(N))
    numpy.testing.assert_array_equal(ours.permutation(x), theirs.permutation(numpy.asarray(x)))


def test_functions_of_the_module_share_numpys_state():
    numpy.random.seed(5)
    made = np.random.rand(N)
    assert type(made) is LazyArray
    numpy.random.seed(5)
    numpy.testing.assert_array_equal(made, numpy.random.rand(N))
    assert set(dir(numpy.random)) <= set(dir(np.random))
    assert np.random.seed is numpy.random.seed
    assert np.random.normal.__doc__ == numpy.random.normal.__doc__
    assert np.random.Generator.normal.__doc__ == numpy.random.Generator.normal.__doc__
    with pytest.raises(AttributeError):
        _ = np.random.gone


def test_states():
    ours, theirs = np.random.RandomState(3), numpy.random.RandomState(3)
    numpy.testing.assert_array_equal(ours.randn(50, 100), theirs.randn(50, 100))
    again = pickle.loads(pickle.dumps(ours))
    assert type(again) is np.random.RandomState
    assert again.rand() == theirs.rand()
    assert isinstance(theirs, np.random.RandomState)
