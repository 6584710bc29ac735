"""Gradients of loops and branches that are regions of the program."""

import re

import numpy as np
import pytest

import axiomjit as aj
from axiomjit.base.errors import GradientError
from axiomjit.functions import loop_hooks
from axiomjit.gradients import regions
from axiomjit.gradients.cotangents import Cotangent
from axiomjit.gradients.kept_values import with_stand_ins
from axiomjit.gradients.transposes import zeros
from axiomjit.graph.closing import close_bodies
from axiomjit.graph.regions import rebuilt, written_versions
from axiomjit.symbolic.dims import INDEX, dim
from tests.gradients import loops
from tests.gradients.evaluated import directional

R = np.random.default_rng(7)
X = R.uniform(0.2, 1.3, size=11) * np.resize([1, -1, -1], 11)
V = R.normal(size=11)


@pytest.fixture(autouse=True)
def _in_numpy(monkeypatch, request):
    """The evaluator runs programs, unless a test is about compiled ones."""
    if "compiled" not in request.node.name:
        monkeypatch.setattr(aj.config, "disable", True)


def copying(function):
    """The function of a copy of its argument."""
    return lambda x: function(x.copy())


def error_of(function, x=X, v=V):
    """The relative error of a gradient along a direction."""
    wanted = directional(copying(function), x, v, 1e-3)
    found = (aj.grad(function)(x.copy()) * v).sum()
    return abs(found - wanted) / max(1.0, abs(wanted))


def has_region(function, x=X):
    text = str(aj.grad(function).lower(x).graph)
    return any(name in text for name in (" loop ", " while ", " branch "))


@pytest.mark.parametrize("function", loops.LOOPS, ids=lambda f: f.__name__)
def test_gradients_of_loops_are_slopes(function):
    x, v = (X[:8], V[:8]) if function in (loops.paths, loops.elimination) else (X, V)
    before = x.copy()
    assert error_of(function, x, v) < 1e-6
    assert has_region(function, x)
    value, _ = aj.value_and_grad(function)(x)
    assert value == pytest.approx(function(x.copy()))
    assert np.array_equal(x, before)


@pytest.mark.parametrize(
    "function",
    [loops.elimination, loops.paths, loops.newton, loops.positions, loops.scanned],
    ids=lambda f: f.__name__,
)
def test_compiled_gradients_of_loops_are_slopes(function):
    assert error_of(function) < 1e-6


@pytest.mark.parametrize(
    "function",
    [loops.recurrence, loops.stencil, loops.scanned, loops.swapped, loops.triangle, loops.branches],
    ids=lambda f: f.__name__,
)
def test_second_derivatives(function):
    gradient = aj.grad(function)
    wanted = directional(lambda x: (gradient(x) * V).sum(), X, V, 1e-3)
    found = aj.grad(lambda x: (aj.grad(function)(x) * V).sum())(X)
    assert (found * V).sum() == pytest.approx(wanted, rel=1e-6, abs=1e-6)
    _, tangent = aj.jvp(function, (X,), (V,))
    assert tangent == pytest.approx((gradient(X) * V).sum(), rel=1e-10)


@pytest.mark.parametrize("length", [9, 17])
@pytest.mark.parametrize("name", ["stencil", "recurrence", "scanned", "swapped", "two_arrays"])
def test_blocks_of_trips(name, length, monkeypatch):
    monkeypatch.setattr(regions, "MOST_KEPT", 0)
    x = R.normal(size=length) * 0.3
    function = copying(getattr(loops, name))
    assert error_of(function, x, R.normal(size=length)) < 1e-6


def decay(x, steps):
    u = x * 1.0
    for _ in range(steps):
        u[1:-1] = u[1:-1] + 0.1 * (u[2:] - 2 * u[1:-1] + u[:-2]) - 0.01 * u[1:-1] ** 3
    return (u * u).sum()


def test_compiled_blocks_keep_states_of_about_the_root_of_the_trips():
    x = np.sin(np.arange(3000) / 50)
    function = aj.grad(decay)
    graph = str(function.lower(x, 2500).graph)
    assert "block" in graph
    assert "f8[50, n0 - 2]" in graph
    assert "f8[2500" not in graph
    v = np.cos(np.arange(3000) * 1.7)
    wanted = directional(lambda y: decay(y, 2500), x, v, 1e-3)
    assert (function(x, 2500) * v).sum() == pytest.approx(wanted, rel=1e-6)
    assert (function(x, 77) * v).sum() == pytest.approx(
        directional(lambda y: decay(y, 77), x, v, 1e-3), rel=1e-6
    )


def test_linear_steps_keep_nothing():
    def linear(x):
        u = x * 1.0
        for _ in range(20):
            u[1:-1] += 0.1 * (u[2:] - 2 * u[1:-1] + u[:-2])
        return u[3]

    assert str(aj.grad(linear).lower(X).graph).count(" loop ") == 1
    assert error_of(linear) < 1e-9


def test_an_element_is_kept_per_trip_not_the_array():
    graph = str(aj.grad(loops.recurrence).lower(X).graph)
    assert "f8[n0 - 1]" in graph
    assert "f8[n0 - 1, n0]" not in graph


def test_loops_without_trips():
    def function(x):
        return aj.fori_loop(0, x.shape[0] - 11, lambda i, y: y * x[0], x[1])

    assert aj.grad(function)(X).tolist() == [0, 1] + [0] * 9


def test_dtypes():
    def single(x):
        return aj.fori_loop(0, 9, lambda i, y: np.tanh(y) * x[0], x[1])

    assert aj.grad(single)(X.astype("f4")).dtype == np.float32

    def squared(z):
        return abs(aj.fori_loop(0, 9, lambda i, y: y * y * 0.5 + z.sum(), z[0])) ** 2

    z, v = np.array([0.1 + 0.2j, 0.05 - 0.1j]), np.array([0.3 - 1j, 1 + 0.2j])
    wanted = directional(squared, z, v, 1e-3)
    assert (aj.grad(squared)(z).conj() * v).sum().real == pytest.approx(wanted, rel=1e-6)


@pytest.mark.parametrize("name", ["stencil", "scanned", "captured", "recurrence", "triangle"])
def test_many_loops_at_once(name):
    function = getattr(loops, name)
    rows = R.normal(size=(3, 11)) * 0.5
    gradient = aj.grad(function)
    assert " loop " in str(aj.vmap(function).lower(rows).graph)
    np.testing.assert_allclose(aj.vmap(function)(rows), [function(x) for x in rows])
    np.testing.assert_allclose(aj.vmap(gradient)(rows), [gradient(x) for x in rows], rtol=1e-10)


def test_hessians_of_loops():
    wanted = directional(aj.grad(loops.scanned), X, V, 1e-3)
    np.testing.assert_allclose(aj.hessian(loops.scanned)(X) @ V, wanted, rtol=1e-6, atol=1e-6)


@aj.custom_grad
def squared(x):
    """A square with a derivative of its own."""
    return x * x, lambda g: 20 * g * x


@aj.custom_grad
def paired(x, y):
    """A product and a sum whose derivatives by the first argument are three times as large."""
    return (x * y, x.sum()), lambda g: (3 * (g[0] * y + g[1]), g[0] * x)


def of_rules(square, pair):
    """Functions with loops whose bodies call functions with given derivatives."""

    def parts(x):
        y = x * 1.0
        for i in range(1, x.shape[0]):
            y[i] = 0.1 * square(y[i - 1]) + np.sin(x[i])
        return (y * y).sum()

    def arrays(x):
        y = x * 1.0
        for i in range(x.shape[0]):
            a, b = pair(y, x)
            y = np.sin(a) + 0.1 * b * x[i] * square(x[1])
        return y.sum()

    def branches(x):
        y, s = x * 1.0, 0.0
        for i in range(x.shape[0]):
            if x[i] > 0:
                y[i:] = 0.5 * y[i:] + 0.01 * square(y[i:])
            else:
                s = s + square(x[i]) * y[i - 1]
        return y.sum() * s

    return {"parts": parts, "arrays": arrays, "branches": branches}


@pytest.mark.parametrize("kept", [regions.MOST_KEPT, 0])
@pytest.mark.parametrize("name", ["parts", "arrays", "branches"])
def test_given_derivatives_in_bodies(name, kept, monkeypatch):
    """Given derivatives are those of a function with the same slopes, for orders 1 and 2."""
    monkeypatch.setattr(regions, "MOST_KEPT", kept)

    def square(x):
        fixed = aj.stop_gradient(x)
        return x * x + 18 * fixed * (x - fixed)

    def pair(x, y):
        fixed = aj.stop_gradient(x)
        larger = fixed + 3 * (x - fixed)
        return larger * y, larger.sum()

    function, other = (of_rules(*one)[name] for one in ((squared, paired), (square, pair)))
    gradient = aj.grad(function)
    np.testing.assert_allclose(gradient(X), aj.grad(other)(X), rtol=1e-11)
    assert has_region(function) or not kept
    if name == "branches":  # asks for values where each trip is followed
        return
    _, second = aj.jvp(gradient, (X,), (V,))
    monkeypatch.setattr(loop_hooks, "SHORT", 100)
    other = of_rules(squared, paired)[name]
    _, wanted = aj.jvp(aj.grad(other), (X,), (V,))
    np.testing.assert_allclose(second, wanted, rtol=1e-11)


def test_compiled_given_derivatives_in_bodies():
    def function(x):
        return aj.fori_loop(0, 9, lambda i, y: 0.1 * squared(y) + np.cos(y), x).sum()

    found = aj.grad(function)(X)
    y, slope = X, np.ones_like(X)
    for _ in range(9):
        y, slope = 0.1 * y * y + np.cos(y), slope * (2 * y - np.sin(y))
    np.testing.assert_allclose(found, slope, rtol=1e-12)
    assert aj.grad(lambda x: aj.cond(x > 0, squared, lambda y: 3 * y, x))(0.5) == 10


def test_conditions_differ_between_many_loops():
    for function in (loops.newton, loops.sides):
        with pytest.raises(GradientError, match="may differ between the mapped values"):
            aj.vmap(function)(np.stack([X, X]))


def test_products_of_parts_that_differ_between_trips():
    def products(x):
        return aj.fori_loop(0, 9, lambda i, y: y + np.prod(x[: i + 1]), 0.0)

    x = np.linspace(0.5, 1.5, 9)
    x[4] = 0
    running = np.cumprod(x)
    wanted = [np.where(np.arange(9) < k, 0, running).sum() / x[k] for k in range(4)]
    before, behind = running[3], 1 + np.cumprod(x[5:]).sum()
    found = aj.grad(products)(x)
    np.testing.assert_allclose(found, [*wanted, before * behind, 0, 0, 0, 0], rtol=1e-14)


def test_refusals(golden):
    def nested(x):
        def trip(i, s):
            return aj.while_loop(lambda y: abs(y * y - s) > 1e-9, lambda y: (y + s / y) / 2, s)

        return aj.fori_loop(0, 4, trip, x[0] ** 2 + 1)

    def products(x):
        return aj.fori_loop(0, 9, lambda i, y: y + np.cumprod(x[: i + 1]).sum(), 0.0)

    messages = []
    for function in (nested, products):
        with pytest.raises(GradientError) as caught:
            aj.grad(function)(X)
        messages.append(re.sub(r"^.*?: ", "", str(caught.value)))
    golden("\n\n".join(messages))


def _forwards(nodes, given, lengths=None):
    """Fault: the trips of an adjoint are in the order of the loop."""
    turned = dict(lengths or {})
    for symbol, value in turned.items():
        for one in value.symbols:
            if one.kind is INDEX and one not in (value + dim(one)).symbols:
                turned[symbol] = dim(one)
    return rebuilt(nodes, given, turned)


def _without_kept(ends, plan, stand_in):
    """Fault: zeros stand in place of the kept values."""
    return with_stand_ins(ends, plan, lambda value, _: zeros(value.dtype, value.shape))


def _one_side(scope, placeholders, ends, *rest, **named):
    """Fault: both sides of a branch are the first one."""
    return close_bodies(scope, placeholders, [ends[0]] * len(ends), *rest, **named)


def _without_captured(self, node):
    """Fault: values that a body captures get no cotangent."""
    made = zip(self.places, written_versions(node), strict=True)
    return {k: Cotangent(one) for k, one in made if k in self.wanted and k < self.written}


FAULTS = {
    "order": (regions, "rebuilt", _forwards, loops.recurrence),
    "kept": (regions, "with_stand_ins", _without_kept, loops.argument),
    "sides": (regions, "close_bodies", _one_side, loops.branches),
    "sums": (regions._OfRegion, "result", _without_captured, loops.triangle),
}
"""For each fault the attribute that it replaces, and a function whose gradient is then wrong."""


@pytest.mark.parametrize("fault", FAULTS)
def test_wrong_adjoints_are_found(fault, monkeypatch):
    owner, name, wrong, function = FAULTS[fault]
    assert error_of(function) < 1e-6
    monkeypatch.setattr(owner, name, wrong)
    assert error_of(copying(function)) > 1e-3


def test_a_compiled_sum_of_the_array_that_a_trip_writes():
    """The adjoint of a trip zeroes an element, and then adds to all of them."""

    def function(v):
        v = v.copy()
        for i in range(1, 9):
            v[i] = v.sum() * 0.1
        return v

    v, w = np.arange(9.0), np.linspace(-1.0, 1.0, 9)
    found = aj.vjp(function, v)[1](w)[0]
    columns = [function(row) for row in np.eye(9)]  # the function is linear
    np.testing.assert_allclose(found, np.array(columns) @ w, rtol=1e-12)
