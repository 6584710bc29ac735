"""Gradients of functions that ask for values in each call: followed with the values of the call."""

import math

import numpy as np
import pytest

import axiomjit as aj
from axiomjit.base.errors import FallbackWarning, GradientError, NeedsValuesError
from axiomjit.tracing import computed_numbers
from tests.gradients.evaluated import directional

X = np.array([0.3, 0.5, 0.6])
V = np.array([1.0, -0.7, 0.4])
LOG = []


def item(x):
    return math.sin(x[0].item()) * x[1] + x.item(2)


def text(x):
    return x.sum() if f"{x[0] * 10:.0f}" == "3" else (x * x).sum()


def lists(x):
    values = x.tolist()
    return values[0] * values[1] + max(values) ** 2


def iterated(x):
    y, trips = x * 0.5, 0
    while float(np.abs(y - np.cos(y) * x).max()) > 1e-13:
        with np.errstate(over="ignore"):  # no region
            y = np.cos(y) * x
        trips += 1
    assert trips > 20
    return (y * y).sum()


def with_loop(x):
    v = x[0].item()
    s = aj.fori_loop(0, 9, lambda i, y: y * 0.9 + x[1] * v, 0.0)
    for i in range(12):
        s = s + x[2] * x[2] * i
    return s


def places(x):
    return x[int(x[1] * 4.5)] * x[round(x[0].item())]


FUNCTIONS = (item, text, lists, iterated, with_loop, places)


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_gradients_are_slopes(function):
    gradient = aj.value_and_grad(function)
    with pytest.warns(FallbackWarning, match=f"{function.__name__} runs in NumPy"):
        value, found = gradient(X)
    again, _ = gradient(X.copy())  # without a warning
    assert value == again == pytest.approx(function(X))
    wanted = directional(function, X, V, 1e-3)
    assert (found * V).sum() == pytest.approx(wanted, rel=1e-6)
    assert [(one.cause, one.calls) for one in gradient.cache_info().in_numpy] == [
        ("whole function", 2)
    ]


def logged(x, w):
    LOG.append(f"{(x * w).sum():.3f}")
    w[0] = 5.0
    return (x * w).sum() * x[0].item()


def test_effects_happen_once_and_arguments_stay():
    w = np.ones(3)
    LOG.clear()
    with pytest.warns(FallbackWarning):
        by_x, by_w = aj.grad(logged, argnums=(0, 1))(X, w)
    assert LOG == ["1.400"]
    assert w.tolist() == [1, 1, 1]
    np.testing.assert_allclose(by_w, [0, 0.15, 0.18])
    np.testing.assert_allclose(by_x, [2.6 + 1.5, 0.3, 0.3])


def test_other_derivatives_and_compiled_functions_around():
    makers = (
        lambda x: aj.vjp(item, x)[1](2.0)[0],
        aj.jit(lambda x: 2 * aj.grad(item)(x)),
        lambda x: 2 * aj.jacobian(item)(x),
    )
    wanted = 2 * np.array([math.cos(0.3) * 0.5, math.sin(0.3), 1.0])
    for make in makers:
        with pytest.warns(FallbackWarning):
            np.testing.assert_allclose(make(X), wanted)


def test_strict_derivatives_are_errors():
    for make in (aj.grad, aj.value_and_grad):
        with pytest.raises(NeedsValuesError, match=r"array\.item"):
            make(item, strict=True)(X)
        with np.errstate(all="raise"), pytest.raises(NeedsValuesError, match="in NumPy"):
            make(lambda x: (x * x).sum(), strict=True)(X)
    assert aj.grad(item, strict=True) is not aj.grad(item)


def test_trapped_errors_are_raised_where_numpy_raises_them():
    with np.errstate(all="raise"):
        assert aj.grad(lambda x: (x * x).sum())(X).tolist() == [0.6, 1.0, 1.2]


def test_what_has_no_rule_is_refused_without_a_warning():
    with pytest.raises(GradientError, match="custom_grad"):
        aj.grad(lambda x: np.linalg.cond(x))(np.eye(2))


def test_what_has_no_rule_is_refused_behind_a_length_that_depends_on_values():
    """The error is not taken for one of an estimated length."""
    special = pytest.importorskip("scipy.special")

    def chosen(x):
        some = x[x > 0.4]
        return np.cos(some).sum() * len(str(some.sum())) + special.jv(0, x).sum()

    with pytest.warns(FallbackWarning), pytest.raises(GradientError, match="custom_grad"):
        aj.grad(chosen)(X)


def test_values_of_draws_are_not_asked_for_twice():
    def drawn(x, generator):
        return (x * len(f"{(x * generator.normal(size=3)).sum():.2f}")).sum()

    with pytest.warns(FallbackWarning), pytest.raises(NeedsValuesError, match="the text of"):
        aj.grad(drawn)(X, np.random.default_rng(0))


def test_a_wrong_value_is_found(monkeypatch):
    real = computed_numbers.KnownValues.__call__
    monkeypatch.setattr(computed_numbers.KnownValues, "__call__", lambda self, n: real(self, n) + 1)
    with pytest.warns(FallbackWarning):
        found = aj.grad(lambda x: text(x))(X)
    assert abs(found - 1).max() > 0.1
