"""Positions out of range beside writes and draws: what NumPy has done then, and its error."""

import numpy as np
import pytest

import axiomjit as aj
from axiomjit.base.errors import PositionError

GENERATOR = np.random.default_rng(7)
X, FAR = np.arange(6.0), np.array([0, 9])


def before(x, i):
    x[:2] = 7
    first = x[i]
    x[3] = first[0]
    return first * 2


def at_positions(x, i):
    x[i] = 3
    x[:2] += 5


def twice(x, i):
    x[i - 9] = 8
    x[i] = 3


def depends(x, i):
    x[0] = 9
    return x[i + x[:2].astype(int)]


def drawn(x, i):
    x += GENERATOR.random(6)
    return x[i] + GENERATOR.random(2)


def unused(x, i):
    _ = x[i]
    return x + 1


def unused_parts(x, i):
    return np.take(x, i)[:0]


def found(function, i):
    """The error or the results of a call, what its argument holds then, and the random state."""
    x = X.copy()
    GENERATOR.bit_generator.state = np.random.PCG64(5).state
    try:
        results = function(x, i)
    except IndexError as error:
        results = str(error).partition("\n")[0].rpartition(": ")[2]
    return results, x, GENERATOR.bit_generator.state


@pytest.mark.parametrize("compiles", [True, False])
@pytest.mark.parametrize(
    "function", [before, at_positions, twice, depends, drawn, unused, unused_parts]
)
def test_a_position_out_of_range(function, compiles, monkeypatch):
    monkeypatch.setattr(aj.config, "disable", not compiles)
    compiled = aj.jit(function, strict=True)
    for i in (FAR, np.array([0, 0]), FAR - 1, FAR % 4):
        (want, after, state), (got, now, drawn_to) = found(function, i), found(compiled, i)
        np.testing.assert_array_equal(got, want)
        np.testing.assert_array_equal(now, after)
        assert drawn_to == state


def test_positions_are_looked_at_before_anything_is_written():
    for function, early in ((before, ()), (twice, ()), (depends, (0,))):
        assert aj.jit(function).lower(X, FAR)._stages.plan.early == early


def refused(x, i):
    first = x[i]
    return first + np.ones((2, 3))


def refused_later(x, i):
    try:
        return x[i] + np.ones((2, 3))
    except IndexError:
        return -x


def test_an_error_of_a_step_comes_before_one_that_is_known_while_following():
    f = aj.jit(refused, strict=True)
    for _ in range(2):
        with pytest.raises(PositionError, match="index 9 is out of bounds"):
            f(X, FAR)
        with pytest.raises(ValueError, match="lengths 2 and 3 meet"):
            f(X, FAR % 4)
    later = aj.jit(refused_later, strict=True)
    np.testing.assert_array_equal(later(X, FAR), -X)
    with pytest.raises(ValueError, match="could not be broadcast"):
        later(X, FAR % 4)
