"""`x.flat`: elements in C order, read and written by their places."""

import numpy as np
import pytest

import axiomjit
from axiomjit.base.errors import UnsupportedAttributeError

pytestmark = pytest.mark.usefixtures("nothing_runs_in_numpy")
X = np.cos(np.arange(12.0)).reshape(3, 4)
PLACES = np.array([[1, -1], [5, 5]])


def outcome(function, array):
    """What a call gives or raises, and what its argument holds then."""
    given = array.copy(order="K")
    try:
        found = function(given, PLACES)
    except (IndexError, ValueError, TypeError, StopIteration) as error:
        found = type(error)
    return found, given


def agrees(function):
    """What is given, raised and written is NumPy's, for all layouts."""
    compiled = axiomjit.jit(function, strict=True)
    for array in (X, X.T, X[::-1, ::2], X[:, :3], X[0]):
        (want, after), (got, now) = outcome(function, array), outcome(compiled, array)
        if isinstance(want, type):
            assert issubclass(got, want)
        else:
            assert type(got) is type(want)
            np.testing.assert_array_equal(got, want, strict=True)
        np.testing.assert_array_equal(now, after, strict=True)


@pytest.mark.parametrize(
    "function",
    [
        lambda x, i: x.flat[3],
        lambda x, i: x.flat[-1],
        lambda x, i: x.flat[99],
        lambda x, i: x.flat[1:4],
        lambda x, i: x.flat[::-2],
        lambda x, i: x.flat[...],
        lambda x, i: x.flat[(2,)],
        lambda x, i: x.flat[[0, 2]],
        lambda x, i: x[:3].flat[i % 3],
        lambda x, i: x.flat[i * 50],
        lambda x, i: x.flat[x.argmax()],
        lambda x, i: x.flat[x.ravel() > 0],
        lambda x, i: x.flat[x > 0] if x.ndim > 1 else x.flat[0],
        lambda x, i: x.flat[0, 1],
        lambda x, i: x.flat[None],
        lambda x, i: x.flat == x.ravel()[0],
        lambda x, i: x.flat.copy() * len(x.flat),
        lambda x, i: x.flat.base * 2,
        lambda x, i: np.array([v * 2 for v in x.flat]),
        lambda x, i: sum(x.flat) + next(x.flat),
        lambda x, i: np.float64(isinstance(x.flat, np.flatiter)),
    ],
)
def test_reads(function):
    agrees(function)


def diagonal(x, i):
    x.flat[:: x.shape[-1] + 1] = 9


def through_a_copy(x, i):
    kept = x.flat[:2]
    x.flat[0] = 7
    kept[1] = 5
    return kept


def written(places, value):
    def function(x, i):
        x.flat[places(x, i)] = value(x)

    return function


def everything(value):
    def function(x, i):
        x.flat = value(x)

    return function


@pytest.mark.parametrize(
    "function",
    [
        diagonal,
        through_a_copy,
        *(everything(v) for v in (lambda x: 3, lambda x: [1, 2], lambda x: [], lambda x: x[0] * 2)),
        written(lambda x, i: 2, lambda x: x.max()),
        written(lambda x, i: 2, lambda x: [1.0]),
        written(lambda x, i: 99, lambda x: 1),
        written(lambda x, i: x.argmin(), lambda x: 1),
        written(lambda x, i: slice(None, None, 2), lambda x: [1, 2]),
        written(lambda x, i: slice(2, 4), lambda x: 1j),
        written(lambda x, i: i % 3, lambda x: [[1, 2], [3, 4]]),
        written(lambda x, i: i * 50, lambda x: 1),
        written(lambda x, i: x.ravel() > 0, lambda x: x[0].max()),
        written(lambda x, i: (0, 1), lambda x: 1),
    ],
)
def test_writes(function):
    agrees(function)


def test_in_place_operators_read_and_write():
    def function(x, i):
        x.flat[0] += 1
        x.flat[1:3] *= 2
        return x * 1

    agrees(function)


def test_what_is_no_place_is_refused():
    with pytest.raises(UnsupportedAttributeError, match=r"array\.flat\.coords"):
        axiomjit.jit(lambda x: x.flat.coords, strict=True)(X)
