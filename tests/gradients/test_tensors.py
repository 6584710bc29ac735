"""`deriv` in the axis language, and gradients of functions of named arrays."""

import numpy as np
import pytest

import axiomjit as aj
from axiomjit.base.errors import GradientError, GraphValueError
from axiomjit.transformers import make_transformer

R = np.random.default_rng(6)
H, W, N = (aj.make_axis(length=n, name=name) for n, name in ((3, "H"), (4, "W"), (5, "N")))
X, Y = R.normal(size=(3, 4)), R.normal(size=(4, 5))


@pytest.fixture(autouse=True)
def _in_numpy(monkeypatch):
    monkeypatch.setattr(aj.config, "disable", True)


def computed(output, *pairs):
    tensors, arrays = zip(*pairs, strict=True) if pairs else ((), ())
    return make_transformer().computation(output, *tensors)(*arrays)


def test_derivatives_by_placeholders():
    x, y = aj.placeholder([H, W]), aj.placeholder([W, N])
    loss = aj.sum(aj.dot(x, y) ** 2)
    given = (x, X), (y, Y)
    np.testing.assert_allclose(computed(aj.deriv(loss, x), *given), 2 * X @ Y @ Y.T)
    by_y = aj.deriv(loss, y)
    assert by_y.axes == y.axes
    np.testing.assert_allclose(computed(by_y, *given), 2 * X.T @ X @ Y)
    assert not computed(aj.deriv(aj.sum(x), y), *given).any()


def test_an_error_replaces_the_sum():
    x, e = aj.placeholder([H, W]), aj.placeholder([W])
    found = computed(aj.deriv(aj.tanh(x), x, error=e), (x, X), (e, Y[:, 0]))
    np.testing.assert_allclose(found, (1 - np.tanh(X) ** 2) * Y[:, 0])
    with pytest.raises(GraphValueError, match=r"a dependent with axes.*H.*\n.*give error"):
        aj.deriv(aj.tanh(x), x)
    with pytest.raises(ValueError, match="list every axis"):
        aj.deriv(aj.sum(x), x, error=e)


def test_derivatives_by_computed_tensors_and_variables():
    x = aj.placeholder([H, W])
    middle = x * x
    loss = aj.sum(middle * middle)
    np.testing.assert_allclose(computed(aj.deriv(loss, middle), (x, X)), 2 * X * X)
    v = aj.variable([W], initial_value=np.arange(4.0))
    found = computed(aj.deriv(aj.sum(x * v * v), v), (x, X))
    np.testing.assert_allclose(found, 2 * np.arange(4.0) * X.sum(0))
    kept = aj.materialize(x * v)
    np.testing.assert_allclose(
        computed(aj.deriv(aj.sum(kept * kept), x), (x, X)), 2 * X * np.arange(4.0) ** 2
    )


def test_steps_of_descent():
    x = aj.constant(X, [H, W])
    w = aj.variable([W], initial_value=np.zeros(4))
    target = aj.constant(X @ np.arange(4.0), [H])
    loss = aj.sum((aj.dot(x, w) - target) ** 2)
    step = aj.assign(w, w - 0.05 * aj.deriv(loss, w))
    transformer = make_transformer()
    run, value = transformer.computation(step), transformer.computation(loss)
    before = float(value())
    for _ in range(50):
        run()
    assert float(value()) < 0.05 * before


def test_what_is_no_float_is_refused():
    k = aj.placeholder([H], dtype=np.int64)
    with pytest.raises(GradientError, match="int64 elements"):
        aj.deriv(aj.sum(k * 1.0), k)


def test_functions_of_named_arrays():
    x, y = aj.NamedArray(X, [H, W]), aj.NamedArray(Y, [W, N])

    def loss(x, y):
        return aj.sum(aj.dot(x, y) ** 2)

    value, gradient = aj.value_and_grad(loss, argnums=(0, 1))(x, y)
    assert float(value.values) == pytest.approx(((X @ Y) ** 2).sum())
    assert gradient[0].axes == x.axes
    np.testing.assert_allclose(gradient[0].values, 2 * X @ Y @ Y.T)
    np.testing.assert_allclose(gradient[1].values, 2 * X.T @ X @ Y)
    stopped = aj.grad(lambda x: aj.sum(x * aj.stop_gradient(x)))(x)
    np.testing.assert_allclose(stopped.values, X)
    with pytest.raises(GradientError, match="not one float"):
        aj.grad(lambda x: x * 2)(x)
    maximum = aj.grad(lambda x: aj.sum(aj.max(x, reduction_axes=[W]) * aj.prod(x, out_axes=[H])))(x)
    assert maximum.axes == x.axes


def test_vmap_along_an_axis(golden):
    x, y = aj.NamedArray(X, [H, W]), aj.NamedArray(Y, [W, N])
    rows = aj.vmap(lambda x, y: aj.dot(x, y), axis=H.name)(x, y)
    assert rows.axes == aj.make_axes([H, N])
    np.testing.assert_allclose(rows.values, X @ Y)
    each = aj.vmap(aj.grad(lambda x, y: aj.sum(aj.dot(x, y) ** 2)), axis=H)(x, y)
    assert each.axes == x.axes
    np.testing.assert_allclose(each.values, 2 * X @ Y @ Y.T)
    parts = aj.vmap(lambda x: {"twice": x * 2, "most": aj.max(x)}, axis=W)(x)
    assert parts["most"].axes == aj.make_axes([W])
    np.testing.assert_allclose(parts["most"].values, X.max(0))
    np.testing.assert_allclose(parts["twice"].values, 2 * X.T)
    other = aj.NamedArray(X, aj.make_axes({H.name: X.shape[0], "other": X.shape[1]}))
    messages = []
    for mapped, given in (
        (aj.vmap(aj.sum, axis="nowhere"), (x,)),
        (aj.vmap(aj.sum, axis=H.name), (X,)),
        (aj.vmap(lambda x, y: aj.sum(x) + aj.sum(y), axis=H.name), (x, other)),
        (aj.vmap(lambda x: aj.sum(x) * x_of(H), axis=H), (x,)),
    ):
        with pytest.raises(GraphValueError) as caught:
            mapped(*given)
        messages.append(str(caught.value).split(": ", 1)[1])
    golden("\n\n".join(messages))


def x_of(axis):
    """A tensor with the axis itself."""
    return aj.constant(np.ones(axis.length), [axis])


@pytest.mark.parametrize("mode", ["auto", "reverse", "forward"])
def test_jacobians_have_dual_axes_that_dot_contracts(mode):
    H, W = aj.make_axes({"H": 2, "W": 3})
    draw = np.random.default_rng(6)
    m, x = aj.NamedArray(draw.random((2, 3)), [H, W]), aj.NamedArray(draw.random(3), [W])
    change, still = aj.NamedArray(draw.random(3), [W]), aj.NamedArray(np.zeros((2, 3)), [H, W])

    def function(m, x):
        return np.exp(m @ x) * x.sum("W")

    slopes = aj.jacobian(function, 1, mode)(m, x)
    assert slopes.axes == aj.make_axes([H, W - 1])
    _, pushed = aj.jvp(lambda x, m: function(m, x), (x, m), (change, still))
    assert np.allclose(aj.dot(slopes, change).eval().values, pushed.values)
    both = aj.jacobian(lambda p: {"sum": p["m"].sum("W"), "own": p["x"] * p["x"]}, mode=mode)
    found = both({"m": m, "x": x})
    assert found["sum"]["m"].axes == aj.make_axes([H, H - 1, W - 1])
    assert np.array_equal(found["sum"]["m"].values, np.eye(2)[:, :, None] * np.ones(3))
    assert found["own"]["x"].axes == aj.make_axes([W, W - 1])
    assert np.array_equal(found["own"]["x"].values, np.diag(2 * x.values))


def test_hessians_of_named_arrays():
    W = aj.make_axis(length=4, name="W")
    x = aj.NamedArray([1.0, 2.0, 3.0, 4.0], [W])
    found = aj.hessian(lambda x: (x * x * x).sum("W"))(x)
    assert found.axes == aj.make_axes([W, W - 1])
    assert np.array_equal(found.values, np.diag(6 * x.values))
