"""`np.piecewise`: numbers, and functions of the elements that conditions choose."""

import numpy as np
import pytest

import axiomjit
from axiomjit.base.errors import FallbackWarning

X = np.cos(np.arange(30.0)) * 2


@pytest.mark.parametrize(
    "function",
    [
        lambda x: np.piecewise(x, [x < 0, x >= 0], [-1, 1]),
        lambda x: np.piecewise(x, [x < 0, x >= 1], [lambda v: -v, lambda v: v * v, 7.0]),
        lambda x: np.piecewise(x, x < 0, [np.abs, 0]),
        lambda x: np.piecewise(x, [x < 0], [lambda v, k: -v * k, lambda v, k: v + k], 3),
        lambda x: np.piecewise(x, [x < 0], [lambda v, k: v * k, 5], k=x.size),
        lambda x: np.piecewise(x, [x < 0], [lambda v: v - v.mean(), lambda v: v / v.max()]),
        lambda x: np.piecewise(x, [x < 2, x < 0], [1, lambda v: v * 2]),
        lambda x: np.piecewise(x.reshape(5, 6), [x.reshape(5, 6) < 0], [lambda v: v, 0]),
        lambda x: np.piecewise(x.astype(int), [x < 0], [lambda v: v + 0.5, 1.75]),
        lambda x: np.piecewise(x, [[k % 2 == 0 for k in range(30)]], [x[0], x[1]]),
        lambda x: np.piecewise(x, [x < 0], [lambda v: 3, 4]),
    ],
)
def test_each_function_has_the_elements_of_its_condition(function):
    compiled = axiomjit.jit(function)
    for x in (X, -X, np.abs(X) + 1):
        np.testing.assert_allclose(compiled(x), function(x), rtol=1e-14, strict=True)


def test_too_few_functions_are_refused():
    def function(x):
        return np.piecewise(x, [x < 0, x > 1, x > 2], [1, 2])

    with pytest.raises(ValueError, match=r"3 condition\(s\), either 3 or 4 functions"):
        function(X)
    with pytest.raises(ValueError, match=r"3 condition\(s\), either 3 or 4 functions"):
        axiomjit.jit(function)(X)


def test_a_function_that_needs_elements_is_not_asked_without_any():
    def function(x):
        return np.piecewise(x, [x > 9], [lambda v: v / v.max(), 1])

    compiled = axiomjit.jit(function)
    np.testing.assert_array_equal(compiled(X + 8), function(X + 8))
    with pytest.warns(FallbackWarning, match="m0 = 0"):
        np.testing.assert_array_equal(compiled(X), function(X))
