"""Derivatives that users give: `custom_grad`, `stop_gradient`, and `check_grad`."""

import numpy as np
import pytest

import axiomjit as aj
from axiomjit.base.errors import GradientError
from axiomjit.gradients import libraries

X = np.array([0.5, -1.0, 2.0])


@pytest.fixture(autouse=True)
def _in_numpy(monkeypatch):
    monkeypatch.setattr(aj.config, "disable", True)


@aj.custom_grad
def clipped(x):
    return x * 1.0, lambda g: np.clip(g, -1, 1)


@aj.custom_grad
def product(x, y):
    return {"a": x * y}, lambda g: (g["a"] * y * 10, g["a"] * x)


def test_the_pullback_is_the_derivative():
    assert clipped(3.0) == 3.0
    np.testing.assert_array_equal(aj.jit(clipped)(X), X)
    weights = np.array([3.0, -0.5, 1.0])
    found = aj.grad(lambda x: (clipped(x) * weights).sum())(X)
    np.testing.assert_array_equal(found, [1.0, -0.5, 1.0])
    both = aj.grad(lambda x, y: product(x, y)["a"].sum(), argnums=(0, 1))(X, 2 * X)
    np.testing.assert_allclose(both[0], 20 * X)
    np.testing.assert_allclose(both[1], X)


def test_it_holds_in_nested_gradients():
    def inner(x):
        return aj.grad(lambda y: product(y, y * y)["a"].sum())(x).sum()  # 12 y**2

    np.testing.assert_allclose(aj.grad(inner)(X), 24 * X)
    outer = aj.grad(lambda x: aj.grad(lambda y: product(x, y)["a"].sum())(x).sum())
    np.testing.assert_allclose(outer(X), np.ones(3))


def test_wrong_pullbacks_are_refused():
    @aj.custom_grad
    def alone(x):
        return x * 2

    @aj.custom_grad
    def short(x, y):
        return x * y, lambda g: g

    @aj.custom_grad
    def other(x):
        return x * 2, lambda g: g[:1]

    with pytest.raises(GradientError, match=r"not \(result, pullback\)"):
        alone(X)
    with pytest.raises(GradientError, match="not one cotangent for each argument"):
        aj.grad(lambda x: short(x, x).sum())(X)
    with pytest.raises(GradientError, match=r"float64\[1\] for float64\[3\]"):
        aj.grad(lambda x: other(x).sum())(X)


def test_library_functions_get_rules(monkeypatch):
    monkeypatch.setattr(libraries, "_GIVEN", {})
    with pytest.raises(GradientError, match="custom_grad"):
        aj.grad(np.linalg.cond)(np.diag(X))
    aj.custom_grad(np.linalg.cond, lambda g, y, a: (g * a,))
    with pytest.raises(TypeError, match="unexpected keyword argument 'p'"):
        aj.grad(lambda a: np.linalg.cond(a))(np.diag(X))
    assert aj.custom_grad(np.linalg.cond, lambda g, y, a, p: (g * a,)) is np.linalg.cond
    found = aj.grad(lambda a: 2 * np.linalg.cond(a))(np.diag(X))
    np.testing.assert_allclose(found, 2 * np.diag(X))


def test_stopped_values_are_constants():
    assert aj.grad(lambda x: x * aj.stop_gradient(x))(3.0) == 3.0
    found = aj.grad(lambda p: (p["a"] * aj.stop_gradient(p)["a"] ** 2).sum())({"a": X})
    np.testing.assert_allclose(found["a"], X**2)
    np.testing.assert_array_equal(aj.stop_gradient(X), X)
    second = aj.hessian(lambda x: (aj.stop_gradient(x) * x**2).sum())(X)
    np.testing.assert_allclose(second, np.diag(2 * X))


def test_gradients_are_checked():
    aj.check_grad(lambda x, y: np.sin(x).sum() * y["a"], X, {"a": 2.0}, order=2)
    aj.check_grad(lambda z: np.exp(z) * abs(z), X + 1j)
    with pytest.raises(GradientError, match="where differences give"):
        aj.check_grad(lambda x, y: product(x, y)["a"], X, X)

    @aj.custom_grad
    def cube(x):
        return x**3, lambda g: 3 * x * aj.stop_gradient(x) * g

    aj.check_grad(cube, X)
    with pytest.raises(GradientError, match="where differences give"):
        aj.check_grad(cube, X, order=2)
