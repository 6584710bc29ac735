"""What NumPy's own tests and array-api-tests found."""

import numpy
import pytest

import axiomjit.numpy as np
from axiomjit.numpy.lazy_arrays import wrap

N = 5000


def lazy(array):
    """A lazy array of a copy."""
    return wrap(array.copy())


@pytest.mark.parametrize("value", [-numpy.nan, numpy.nan, -numpy.inf, -0.0, 0.0])
def test_signs_of_constants(value):
    for _ in range(4):
        found, expected = lazy(numpy.ones(N)), numpy.ones(N)
        for array in (found, expected):
            array[numpy.arange(N) % 3 == 1] = value
            array[7:9] = value
        assert numpy.signbit(found).sum() == numpy.signbit(expected).sum()


def test_powers_of_lists():
    base = numpy.arange(2, 2 + 2 * N).reshape(N, 2)
    for _ in range(3):
        found = np.power(lazy(base), [2, 3])
        assert (found == numpy.power(base, [2, 3])).all()


def test_flat():
    plain = numpy.arange(2.0 * N).reshape(2, N)
    mask, at = plain.ravel() % 3 == 0, numpy.arange(0, N, 7)
    for _ in range(3):
        x = lazy(plain) + 1
        assert isinstance(x.flat, numpy.flatiter)
        assert x.flat.base is x
        assert (numpy.asarray(x.flat[lazy(mask)]) == (plain + 1).flat[mask]).all()
        y, expected = x * 2, (plain + 1) * 2
        x.flat[lazy(mask)] = 0.0
        x.flat[lazy(at)] = lazy(-at)
        assert (numpy.asarray(y) == expected).all()
        expected = plain + 1
        expected.flat[mask] = 0.0
        expected.flat[at] = -at
        assert (numpy.asarray(x) == expected).all()
        assert (numpy.asarray(x.flat) == expected.ravel()).all()
        assert list(x.flat)[:9] == list(expected.flat)[:9]
        assert (x.flat > 0).sum() == (expected > 0).sum()
        assert len(x.flat) == 2 * N
        y = lazy(plain)
        y.flat = x.flat
        assert (numpy.asarray(y) == expected).all()
    with pytest.raises(IndexError, match="out of bounds"):
        x.flat[3 * N]
