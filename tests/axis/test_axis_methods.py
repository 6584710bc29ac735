"""What NumPy users type first: shapes, methods, `@`, `len`; and two axes of one name."""

import inspect
import warnings

import numpy as np
import pytest

import axiomjit as aj
from axiomjit.base.errors import AxesError, GraphTypeError, SameNameWarning, UnsupportedError

H, W = aj.make_axis(3, "H"), aj.make_axis(4, "W")
A = np.random.default_rng(1).normal(size=(3, 4))
X = aj.constant(A, [H, W])
NAMED = aj.NamedArray(A, [H, W])
BOTH = pytest.mark.parametrize("x", [X, NAMED], ids=["tensor", "array"])


@BOTH
def test_shapes(x):
    assert (x.shape, x.ndim, x.size, len(x)) == ((3, 4), 2, 12, 3)
    assert x.dtype == np.float64
    assert x.axes == aj.make_axes([H, W])


def test_shapes_of_unknown_lengths_and_of_numbers():
    late = aj.placeholder([aj.make_axis(name="late"), W])
    assert (late.shape, late.ndim, late.size) == ((None, 4), 2, None)
    with pytest.raises(AxesError, match=r"len of f8\[late=\?, W=4\]\n  seen: no length for late"):
        len(late)
    for number in (aj.constant(1.0), aj.NamedArray(1.0)):
        assert (number.shape, number.ndim, number.size) == ((), 0, 1)
        with pytest.raises(GraphTypeError, match=r"len of f8\[\]\n  seen: no axes"):
            len(number)


METHODS = ["sum", "prod", "mean", "max", "min", "var", "std", "any", "all", "argmax", "argmin"]


@pytest.mark.usefixtures("evaluator")
@BOTH
@pytest.mark.parametrize("name", METHODS)
def test_methods_are_numpys(name, x):
    method, numpys = getattr(x, name), getattr(np, name)
    for axis in (H, "H", 0, -2):
        result = method(axis)
        assert type(result) is type(x)
        assert result.axes == aj.make_axes(W)
        np.testing.assert_allclose(result, numpys(A, axis=0), rtol=1e-13)
        np.testing.assert_allclose(method(axis=axis), numpys(A, axis=0), rtol=1e-13)
    np.testing.assert_allclose(method(), numpys(A), rtol=1e-13)
    np.testing.assert_allclose(method(out_axes="W"), numpys(A, axis=0), rtol=1e-13)
    own = getattr(aj, name)
    np.testing.assert_array_equal(own(x, "H"), method("H"))


@BOTH
def test_options_of_numpy_are_refused(x):
    with pytest.raises(UnsupportedError, match="sum of .*\n  seen: .* keepdims\n  instead: leave"):
        x.sum("H", keepdims=True)
    with pytest.raises(UnsupportedError, match="var of .*\n  seen: it is called with ddof"):
        x.var("H", ddof=1)


@pytest.mark.usefixtures("evaluator")
@BOTH
def test_transpose(x):
    for turned in (x.transpose("W", "H"), x.transpose([W, H]), x.transpose(1, 0)):
        assert type(turned) is type(x)
        assert turned.axes == aj.make_axes([W, H])
        np.testing.assert_array_equal(turned, A.T)
    assert x.transpose().axes == x.T.axes
    with pytest.raises(AxesError, match="W=4 more than once"):
        x.transpose(W, "W")


@pytest.mark.usefixtures("evaluator")
@BOTH
def test_the_product_operator_is_dot(x):
    weights = aj.constant([1.0, 2, 3, 4], [W])
    for product in (x @ weights, weights @ x, x @ aj.NamedArray([1.0, 2, 3, 4], [W])):
        assert product.axes == aj.make_axes(H)
        np.testing.assert_allclose(product, A @ [1, 2, 3, 4])
    np.testing.assert_allclose(x.T @ x, (A * A).sum())
    for wrong in (lambda: x @ A.T, lambda: A.T @ x, lambda: np.ones(3) @ x, lambda: x @ [1]):
        with pytest.raises(GraphTypeError, match=r"constant\(value, axes\)"):
            wrong()


def test_under_jit():
    centred = aj.jit(lambda x: (x - x.mean(axis="H")) / x.std(0) @ aj.relu(x).max("H"))
    want = ((A - A.mean(0)) / A.std(0)) @ np.maximum(A, 0).max(0)
    np.testing.assert_allclose(centred(NAMED).values, want, rtol=1e-12)


def test_relu():
    np.testing.assert_array_equal(aj.relu(X), np.maximum(A, 0))
    small = aj.relu(aj.constant(np.array([-1, 0, 2], "i1"), [H]))
    assert small.dtype == np.int8
    assert np.isnan(np.asarray(aj.relu(aj.constant(np.nan))))


def twins():
    one, other = aj.make_axis(3, "batch"), aj.make_axis(3, "batch")
    return aj.constant(np.ones(3), [one]), aj.constant(np.ones((3, 4)), [other, W])


COMBINED = {
    "add": lambda x, y: x + y,
    "radd": lambda x, y: y + x,
    "where": lambda x, y: aj.where(x > 0, y, 0),
    "clip": lambda x, y: aj.clip(x, 0, y),
    "dot": lambda x, y: aj.dot(y, x),
    "np.add": lambda x, y: np.add(x.eval(), y.eval()),
    "take": lambda x, y: aj.take(y, aj.astype(x, int), W),
    "slices": lambda x, y: x[:2] + x,
    "convolution": lambda x, y: aj.convolution(SLID, aj.cast_axes(y, [x.axes[0], WINDOW])),
}
WIDE = aj.make_axis_role("wide")
WINDOW = aj.make_axis(4, "window", roles=WIDE)
SLID = aj.constant(np.ones((3, 9)), [aj.make_axis(3, "batch"), aj.make_axis(9, "n", roles=WIDE)])


@pytest.mark.parametrize("name", list(COMBINED))
def test_a_result_with_two_axes_of_one_name_warns_once(name):
    x, y = twins()
    made = f"{__file__}:{inspect.getsourcelines(twins)[1] + 1}"
    with pytest.warns(SameNameWarning, match="two different axes called 'batch'") as caught:
        [COMBINED[name](x, y) for _ in range(3)]
    (warning,) = caught
    assert warning.filename == __file__
    assert f"batch=3 (made at {made})" in str(warning.message)
    assert str(warning.message).count(f"(made at {__file__}:") == 2
    assert "cast_axes(x, axes)" in str(warning.message)


def test_each_place_and_pair_warns():
    with pytest.warns(SameNameWarning) as caught:
        [x + y for x, y in (twins(), twins()) for _ in range(2)]
    assert len(caught) == 1  # axes made anew at the same places
    x, y = twins()
    with pytest.warns(SameNameWarning) as caught:
        [x * y, x / aj.constant(1.0, aj.make_axis(3, "batch"))]
    assert len(caught) == 2


ALLOWED = {
    "one axis": lambda x, y: x + aj.cast_axes(y, [x.axes[0], W]),
    "renamed": lambda x, y: x + aj.rename(y, {"batch": "other"}),
    "contracted": lambda x, y: aj.dot(aj.cast_axes(x, y.axes[:1]), y),
    "explicit": lambda x, y: aj.broadcast(x, [x.axes[0], *y.axes]),
    "of one operand": lambda x, y: aj.broadcast(x, [x.axes[0], *y.axes]) * y + x,
    "transposed": lambda x, y: y @ y.T * (y + y.T),
    "offset": lambda x, y: x + aj.cast_axes(x, [x.axes[0] + 1]),
    "unnamed": lambda x, y: aj.constant(1.0, aj.make_axis(2)) + aj.constant(1.0, aj.make_axis(2)),
    "parts of one length": lambda x, y: x[1:] - x[:-1],
    "softmax": lambda x, y: aj.softmax(y, W),
    "concatenated": lambda x, y: aj.concat_along_axis([x, x], x.axes[0]),
    "one hot": lambda x, y: aj.one_hot(aj.astype(x, int), y.axes[0]),
}


@pytest.mark.parametrize("name", list(ALLOWED))
def test_axes_that_are_meant_do_not_warn(name):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ALLOWED[name](*twins())
