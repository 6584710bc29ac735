"""Named arrays: looked at, in expressions, with NumPy's functions, under jit."""

import numpy as np
import pytest

import axiomjit as aj
from axiomjit.base.errors import AxesError, GraphTypeError, GraphValueError, UnsupportedError

H, W, N = aj.make_axis(3, "H"), aj.make_axis(4, "W"), aj.make_axis(2, "N")
A = np.arange(12.0).reshape(3, 4)
B = np.linspace(1, 2, 12).reshape(4, 3)


@pytest.fixture(name="x")
def make_x():
    return aj.NamedArray(A, [H, W])


@pytest.fixture(name="y")
def make_y():
    return aj.NamedArray(B, [W, H])


def test_what_a_named_array_knows(x):
    assert repr(x) == "f8[H=3, W=4]"
    assert str(x) == f"f8[H=3, W=4]\n{A}"
    assert x.dtype == np.float64
    assert list(x.T.axes) == [H - 1, W - 1]
    assert np.asarray(x) is A
    assert np.array(x) is not A
    assert np.asarray(x, dtype="f4").dtype == np.float32
    assert repr(aj.NamedArray(3)) == "i8[]"
    one = aj.NamedArray(3)
    assert (int(one), float(one), complex(one), bool(one), one.item()) == (3, 3.0, 3 + 0j, True, 3)


@pytest.mark.parametrize("axes", [[W, H], [H], None, [H, aj.make_axis(name="later")]])
def test_the_shape_is_the_lengths(axes):
    message = r"a named array with axes \[.*\]\n  seen: an array of shape \(3, 4\)"
    with pytest.raises(AxesError, match=message):
        aj.NamedArray(A, axes)
    later = aj.make_axis(name="later")
    with pytest.raises(AxesError, match=r"axes \[later=\?\]"):
        aj.NamedArray([1, 2], [later])
    assert later.length is None


def test_an_op_without_placeholders_evaluates_on_look():
    x = aj.constant(A, [H, W])
    held = (x * 2).eval()
    assert isinstance(held, aj.NamedArray)
    assert repr(held) == "f8[H=3, W=4]"
    np.testing.assert_array_equal(held.values, A * 2)
    np.testing.assert_array_equal(np.asarray(x + 1), A + 1)
    assert np.asarray(x, dtype=int).dtype == np.int64
    assert str(x + 1) == f"f8[H=3, W=4]\n{A + 1}"
    assert repr(x + 1) == "f8[H=3, W=4]"
    assert str(aj.placeholder([H]) + 1) == "f8[H=3]"
    assert str(aj.constant(1.0, [aj.make_axis(name="later")])) == "f8[later=?]"


def test_what_depends_on_placeholders_has_no_values():
    x = aj.placeholder([H], "i4") + 1
    message = r"the values of i4\[H=3\]\n  seen: it depends on the placeholders i4\[H=3\]\n"
    for look in (x.eval, lambda: np.asarray(x)):
        with pytest.raises(GraphValueError, match=message + "  instead: make_transformer"):
            look()
    later = aj.constant(1.0, [aj.make_axis(name="later")])
    with pytest.raises(AxesError, match=r"values of f8\[later=\?\]\n  seen: no length for"):
        later.eval()


def test_results_of_eval_alias_nothing():
    x = aj.constant(A, [H, W])
    first = x.eval()
    first.values[...] = 0
    np.testing.assert_array_equal(x.eval().values, A)


def test_in_expressions(x, y):
    tensor = aj.constant(A, [H, W])
    for total in (x + y, x + aj.constant(B, [W, H]), tensor + y):
        assert isinstance(total, aj.Tensor)
        assert list(total.axes) == [H, W]
        np.testing.assert_array_equal(total, A + B.T)
    np.testing.assert_array_equal(2 - x, 2 - A)
    np.testing.assert_array_equal(-x / 2 < y, -A / 2 < B.T)
    np.testing.assert_allclose(aj.dot(x, y), (A * B.T).sum())
    assert list(aj.sum(x, W).axes) == [H]
    x.values[0, 0] = 7
    try:
        assert np.asarray(x + 0)[0, 0] == 7
    finally:
        x.values[0, 0] = 0


def test_ufuncs_of_named_arrays_are_named_arrays(x, y):
    total = np.add(x, y)
    assert repr(total) == "f8[H=3, W=4]"
    np.testing.assert_array_equal(total.values, A + B.T)
    assert repr(np.sqrt(y)) == "f8[W=4, H=3]"
    assert repr(np.multiply(x, np.float32(2))) == "f8[H=3, W=4]"
    assert isinstance(np.add(x, aj.constant(1.0)), aj.Tensor)
    assert isinstance(np.float64(2) * aj.constant(A, [H, W]), aj.Tensor)


def test_ufuncs_outside_the_table(x, y):
    angle = np.nextafter(x, y)
    assert repr(angle) == "f8[H=3, W=4]"
    np.testing.assert_array_equal(angle.values, np.nextafter(A, B.T))
    fraction, whole = np.modf(y)
    np.testing.assert_array_equal(fraction.values + whole.values, B)
    with pytest.raises(UnsupportedError, match="nextafter of(?s:.*)apply it to values"):
        np.nextafter(aj.constant(A, [H, W]), y)


REDUCTIONS = [np.sum, np.prod, np.max, np.min, np.any, np.all, np.mean, np.var]


@pytest.mark.usefixtures("evaluator")
@pytest.mark.parametrize("function", [*REDUCTIONS, np.argmax, np.argmin, np.amax, np.amin])
def test_numpys_reductions(function, x):
    np.testing.assert_allclose(function(x).values, function(A), rtol=1e-13)
    for axis in (W, 1, [1], -1):
        result = function(x, axis=axis)
        assert list(result.axes) == [H]
        np.testing.assert_allclose(result.values, function(A, axis=1), rtol=1e-13)
    assert isinstance(function(aj.placeholder([H, W]), 0), aj.Tensor)


def test_numpys_choices(x, y):
    np.testing.assert_array_equal(np.where(x > 3, x, 0).eval(), np.where(A > 3, A, 0))
    clipped = np.clip(x, 2, y)
    np.testing.assert_array_equal(clipped.values, np.clip(A, 2, B.T))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda x: np.sum(x, keepdims=True), r"np.sum of f8\[H=3, W=4\]\n  seen: .* keepdims"),
        (lambda x: np.dot(x, x), "np.dot of .*\n  seen: it has no form for named axes"),
        (lambda x: np.allclose(x, aj.axes_with_order(x, [W, H])), "np.allclose of(?s:.*)one order"),
        (lambda x: np.matmul(x, x), "np.matmul of(?s:.*)instead: write x @ y"),
        (lambda x: np.add.reduce(x), "np.add of .*\n  seen: reduce\n"),
        (lambda x: np.add(x, 1, out=np.ones((3, 4))), "seen: __call__ with out"),
    ],
)
def test_other_calls_of_numpy_are_refused(call, message, x):
    with pytest.raises(UnsupportedError, match=message):
        call(x)


def test_other_functions_of_numpy_take_the_values(x):
    assert np.allclose(x, A)
    assert np.array_equal(x * 1, aj.constant(A, [H, W]))
    assert np.shape(x) == x.shape == (3, 4)
    assert np.ndim(x) == x.ndim == 2
    np.testing.assert_array_equal(np.sort(-x, axis=0), np.sort(-A, axis=0))
    np.testing.assert_array_equal(np.concatenate([x, A]), np.concatenate([A, A]))
    with pytest.raises(aj.errors.UnboundError, match="depends on the placeholders"):
        np.sort(aj.placeholder([H]))
    assert list(aj.constant(x).axes) == [H, W]


def test_equality_is_identity(x):
    for value in (x, aj.constant(A, [H, W])):
        assert (value == value) is True  # noqa: PLR0124
        for other in (A, A[0], np.float64(1), 1, aj.NamedArray(A, [H, W]), None):
            assert (value == other) is False
            assert (value != other) is True
        assert len({value: 1, x: 2}) <= 2


def test_under_jit(x, y):
    seen = []

    @aj.jit
    def f(a, b, k=2):
        seen.append(k)
        return {"root": np.sqrt(a + b) * k, "total": [np.sum(a, axis=H)], "k": k}

    for _ in range(2):
        result = f(x, y)
        assert repr(result["root"]) == "f8[H=3, W=4]"
        np.testing.assert_array_equal(result["root"].values, np.sqrt(A + B.T) * 2)
        np.testing.assert_allclose(result["total"][0].values, A.sum(0))
        assert result["k"] == 2
    np.testing.assert_array_equal(f(x, y, k=3)["root"].values, np.sqrt(A + B.T) * 3)
    assert seen == [2, 3]
    assert f.lower(x, y).cost.temporary_bytes == 0
    with np.errstate(invalid="raise"):
        assert repr(f(y, x)["root"]) == "f8[W=4, H=3]"
    turned = f(y, x)["root"]
    np.testing.assert_array_equal(turned.values, np.sqrt(A.T + B) * 2)


def test_a_compiled_function_within_an_expression(x):
    f = aj.jit(lambda a: np.sqrt(a) + 1)
    inner = f(aj.placeholder([H]))
    assert isinstance(inner, aj.Tensor)
    assert repr(inner) == "f8[H=3]"
    np.testing.assert_array_equal(aj.jit(lambda a: f(a) * 2)(x).values, (np.sqrt(A) + 1) * 2)


def test_arrays_without_axes_beside_named_ones_are_refused(x):
    f = aj.jit(lambda a, b: a + b)
    with pytest.raises(
        GraphTypeError, match=r"argument b beside named arrays\n  seen: an array of"
    ):
        f(x, A)
    np.testing.assert_array_equal(f(x, np.array(2.0)).values, A + 2)


def test_results_and_arguments_of_computations(x, y):
    a, b = aj.placeholder([H, W]), aj.placeholder([W])
    comp = aj.transformers.make_transformer().computation([a * b, b], a, b, named=True)
    product, second = comp(x, [1, 2, 3, 4])
    assert (repr(product), repr(second)) == ("f8[H=3, W=4]", "f8[W=4]")
    np.testing.assert_array_equal(product.values, A * [1, 2, 3, 4])
    product, _ = comp(y, aj.constant([1.0, 1, 1, 1], [W]))  # by its axes, in any order
    np.testing.assert_array_equal(product.values, B.T)
    with pytest.raises(AxesError, match=r"f8\[W=4\]\n  seen: the named array f8\[H=3, W=4\]"):
        comp(x, x)
    single = aj.transformers.make_transformer().computation(a, a, named=True)
    assert repr(single(x)) == "f8[H=3, W=4]"


@pytest.mark.parametrize(
    "function",
    [np.copy, np.array, np.asarray, np.transpose, np.zeros_like, lambda x: np.roll(x, 1)],
)
def test_values_that_a_compiled_function_asks_for_are_refused_in_its_words(function):
    x = aj.NamedArray(np.ones((3, 2)), {"m": 3, "n": 2})
    with pytest.raises(aj.errors.NeedsValuesError, match="the values of") as caught:
        aj.jit(function)(x)
    assert "a named array of a compiled function" in str(caught.value)
    assert "placeholder" not in str(caught.value)


def test_a_number_is_described_with_one_article():
    with pytest.raises(aj.errors.NeedsValuesError, match="seen: a traced Python float"):
        aj.jit(lambda x: {x: 1}, strict=True)(2.0)
