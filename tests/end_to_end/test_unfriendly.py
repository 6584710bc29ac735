"""What an unfriendly user finds."""

import functools
import pickle
import warnings

import numpy as np
import pytest

import axiomjit
from axiomjit.base.errors import (
    AxiomError,
    FallbackWarning,
    GraphTypeError,
    NeedsValuesError,
    TraceError,
    UnsupportedError,
)
from axiomjit.dispatch.arguments import plain_array
from tests.numpy_rules.test_numpy_agreement import assert_alike

X = np.arange(42.0).reshape(6, 7)


def case(name, *values):
    return pytest.param(*values, id=name)


@axiomjit.jit
def top_level(x):
    return x + 1


NESTED = axiomjit.jit(lambda n: n * 2)
SAME_VALUES = [
    case("states of a total and of rows are shared", lambda x: (x.sum(), x.sum(axis=-1))),
    case("numbers picked from an array meet", lambda x: x[0, 0] + x[1, 1]),
    case("rows picked from an array meet", lambda x: x[0] + x[1]),
    lambda x: x[0] @ x[1],
    case("builtin sum over rows", lambda x: sum(x[:3])),
    case("length divided", lambda x: x * (x.shape[0] / 2)),
    case("number by length", lambda x: x * (1.0 / x.shape[0])),
    case("length with float", lambda x: x * (x.shape[0] * 0.5 + 0.5)),
    case("length as power", lambda x: x * x.shape[0] ** 2),
    case("root of length", lambda x: x / np.sqrt(x.shape[0])),
    case("length against float", lambda x: x if x.shape[0] == 6.0 else -x),
    case("length as key", lambda x: x * {6: 2.0}[x.shape[0]]),
    case("range of positions", lambda x: np.arange(x.shape[0]) + x.T),
    case("array of lengths", lambda x: x * np.full(7, x.shape[0])),
    case("shape returned", lambda x: x.shape),
    case("size returned", lambda x: x.size),
    case("ndim function", lambda x: x * np.ndim(x)),
    case("shape function", lambda x: x * np.shape(x)[0]),
    case("itemsize", lambda x: x * x.itemsize),
    case("list operand", lambda x: x + [1.0] * 7),
    case("astype copy=", lambda x: x.astype("f4", copy=False)),
    case("explicit where=True", lambda x: x.sum(where=True)),
    case("length to nested jit", lambda x: x * NESTED(x.shape[0])),
    case("dot takes numbers as strong", lambda x: np.dot(x.astype("f4"), 2.0)),
    case("sum over axis of number", lambda x: np.sum(x[0, 0] * 1, axis=0)),
]


@pytest.mark.parametrize("function", SAME_VALUES)
def test_same_as_numpy(function):
    assert_alike(axiomjit.jit(function)(X), function(X), 1e-14)


def test_python_integers_do_not_wrap():
    x = np.ones(5)
    assert axiomjit.jit(lambda x, n: x * (n * n))(x, 2**40)[0] == 2.0**80


def test_integer_beyond_64_bits_after_a_small_one():
    f = axiomjit.jit(lambda x, n: x * n)
    for n in (3, 2**70, -(2**70), 4, 2**63, 2**64 - 1):
        assert_alike(f(np.ones(5), n), np.ones(5) * n)


def test_integer_beyond_64_bits_where_it_must_be_an_int64():
    f = axiomjit.jit(lambda x, n: x * n)
    f(np.ones(5, int), 3)
    with pytest.raises(OverflowError, match="too large"):
        f(np.ones(5, int), 2**70)


@pytest.mark.parametrize(
    "function",
    [
        case("range", lambda x, n: sum(x * k for k in range(n))),
        case("branch", lambda x, n: x if n > 3 else -x),
        case("power", lambda x, n: x**n),
        case("slice", lambda x, n: x[:n, n - 2 :]),
        case("axis", lambda x, n: x.sum(axis=n % 2)),
        case("integers alone", lambda x, n: (n, n + 1, n // 2, n * x.shape[0], np.negative(n))),
        case("integer and array", lambda x, n: (x + n, (x > 3) * n, x.astype("f4") / n)),
    ],
)
def test_integer_arguments(function):
    f = axiomjit.jit(function, strict=True)
    for n in (2, 3, 4, 5, 3, 7):
        assert_alike(f(X, n), function(X, n), 1e-14)


@pytest.mark.parametrize("function", [lambda n: n + 1.0, lambda n: 2.0**n, lambda n: max(n, 2.5)])
def test_integer_meets_float(function):
    assert_alike(axiomjit.jit(lambda x, n: x * function(n))(X, 3), X * function(3))


def test_comparison_with_an_integer_beyond_64_bits():
    compared = axiomjit.jit(lambda x, n: x < n)
    with pytest.warns(FallbackWarning, match="out of bounds for int64"):
        assert compared(np.ones(5, int), 2**70).all()
    assert not compared(np.ones(5, int), -(2**70)).any()


def test_length_inside_a_set():
    with pytest.raises(TraceError, match="return a frozenset"):
        axiomjit.jit(lambda x: frozenset([x.shape[0]]), strict=True)(X)


def test_copy_in_another_order_is_refused():
    with pytest.raises(UnsupportedError, match="the option order of copy"):
        axiomjit.jit(lambda x: x.copy("A"), strict=True)(X)


def test_integers_alone_do_not_warn():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert np.isnan(axiomjit.jit(lambda x, n: x + np.sqrt(n))(X, -3)).all()


def test_type_of_an_integer_argument_is_int():
    def function(x, n):
        return x if type(n) is int else -x

    assert axiomjit.jit(function, strict=True)(X, 3)[0, 1] == 1
    assert axiomjit.jit(function, static_argnames="n")(X, 3)[0, 1] == 1


@pytest.mark.parametrize("kind", ["masked", "subclass"])
def test_subclass_after_a_plain_array_is_numpys(kind):
    def function(x, s):
        return x * x * s

    f, strict = axiomjit.jit(function), axiomjit.jit(function, strict=True)
    x = np.ones((5, 5))
    f(x, 2.0), strict(x, 2.0)
    other = (
        np.ma.array(x, mask=x > 0) if kind == "masked" else x.view(type("Sub", (np.ndarray,), {}))
    )
    with pytest.raises(GraphTypeError, match="argument x"):
        strict(other, 2.0)
    with pytest.warns(FallbackWarning, match="such calls of .* argument x"):
        found = f(other, 2.0)
    assert type(found) is type(other)


def test_static_zeros_of_both_signs():
    f = axiomjit.jit(lambda x, s: x / s, static_argnames="s")
    f(np.ones(5), 0.0)
    assert f(np.ones(5), -0.0)[0] == -np.inf


@pytest.mark.parametrize("function", [lambda x: lambda: x + 1, lambda x: (v + 1 for v in [x])])
def test_traced_arrays_do_not_leak(function):
    with pytest.raises(AxiomError, match="instead:"):
        axiomjit.jit(function, strict=True)(np.ones(5))


def test_a_set_of_arrays_is_refused_as_in_numpy():
    for function in (lambda x: {x + 1}, axiomjit.jit(lambda x: {x + 1})):
        with pytest.raises(TypeError, match=r"unhashable type: 'numpy\.ndarray'"):
            function(np.ones(5))


@pytest.mark.parametrize("name", ["sum", "max"])
def test_fold_over_no_axis_is_a_copy(name):
    x = X.copy()
    assert not np.shares_memory(axiomjit.jit(lambda x: getattr(x, name)(axis=()))(x), x)


def test_broadcast_result_is_read_only():
    x = np.ones(5)
    assert not axiomjit.jit(lambda x: np.broadcast_to(x, (3, 5)))(x).flags.writeable


def misaligned():
    return np.zeros(41, "u1")[1:].view("f8")


def test_views_of_misaligned_arguments_are_of_a_copy():
    x = misaligned()
    f = axiomjit.jit(lambda x: x[1:])
    result = f(x)
    assert result.dtype == np.float64
    assert result.dtype.isnative
    assert not np.shares_memory(result, x)
    x[...] = 3
    np.testing.assert_array_equal(f(x), x[1:])


def test_kernels_get_aligned_arrays():
    assert plain_array(misaligned()).flags.aligned


@pytest.mark.parametrize(
    "function",
    [
        *(lambda x: x.reshape(()), lambda x: x.T, np.copy, lambda x: x.astype("f4")),
        *(lambda x: np.where(x > 0, x, 0.0), lambda x: x[...]),
    ],
)
def test_arrays_without_dimensions_become_scalars(function):
    x = np.array(3.0)
    assert isinstance(function(x), np.ndarray)
    assert_alike(axiomjit.jit(lambda x: function(x))(x), function(x)[()])


@pytest.mark.parametrize(
    ("function", "kind"),
    [
        case("StopIteration", lambda x: x[..., ...], IndexError),
        case("ZeroDivisionError", lambda x: x[::0], ValueError),
        case("list of axes is taken", lambda x: x.sum(axis=[0]), TypeError),
        (lambda x: x[6], IndexError),
        (lambda x: x[0, 0, 0], IndexError),
        (lambda x: x.transpose(0, 0), ValueError),
        (lambda x: x.transpose(0), ValueError),
        (lambda x: -(x > 0), TypeError),
        (lambda x: (x > 0) - (x > 1), TypeError),
    ],
)
def test_same_kind_of_error_as_numpy(function, kind):
    with pytest.raises(kind):
        function(X)
    with pytest.raises(kind):
        axiomjit.jit(function)(X)


@pytest.mark.parametrize(
    "use",
    [
        lambda held, x: x + held,
        lambda held, x: x * held.T,
        lambda held, x: x[::2] - held[::2],
    ],
)
def test_held_array_that_changes_is_seen(use):
    held, x = np.ones(10), np.arange(10.0)
    f = axiomjit.jit(lambda x: use(held, x))
    f(x)
    held += 1
    np.testing.assert_array_equal(f(x), use(held, x))


@pytest.mark.parametrize(
    "use", [lambda held, x: x + held * 2, lambda held, x: x + held[0]], ids=["product", "item"]
)
def test_what_is_computed_of_held_arrays_alone_is_computed_in_each_call(use):
    held, x = np.ones(10), np.arange(10.0)
    f = axiomjit.jit(lambda x: use(held, x), strict=True)
    for _ in range(4):
        np.testing.assert_array_equal(f(x), use(held, x))
        held += 1
    assert f.cache_info().traced == 1


def test_held_array_in_an_odd_layout_is_refused():
    records = np.ones(5, [("a", "c16"), ("b", "f8")])  # aligned, 24 bytes apart
    for held in (np.ones(5, ">f8"), misaligned(), records["a"]):
        f = axiomjit.jit(functools.partial(lambda held, x: x + held, held), strict=True)
        with pytest.raises(NeedsValuesError, match="byteswapped or misaligned"):
            f(np.arange(5.0))


class Model:
    factor = 2.0

    @axiomjit.jit
    def scaled(self, x):
        return x * self.factor

    def __call__(self, x):
        return x * self.factor


def test_methods():
    assert Model().scaled(X)[0, 1] == 2.0


def test_bound_methods_explain():
    assert "source" in str(Model().scaled.explain(X))


def test_attributes_that_change_are_seen():
    model = Model()
    model.scaled(X)
    model.factor = 3.0
    assert model.scaled(X)[0, 1] == 3.0
    other = Model()
    assert other.scaled(X)[0, 1] == 2.0


@pytest.mark.parametrize(
    "function", [functools.partial(lambda k, x: x * k, 2.0), Model()], ids=["partial", "object"]
)
def test_callables_without_a_name_explain(function):
    f = axiomjit.jit(function)
    assert f(X)[0, 1] == 2.0
    assert "source" in str(f.explain(X))


def test_module_level_function_is_pickled_by_name():
    assert pickle.loads(pickle.dumps(top_level)) is top_level


def test_fallback_warning_points_at_the_caller():
    with pytest.warns(FallbackWarning, match=r"array\.item") as caught:
        axiomjit.jit(lambda x: x * x.sum().item())(X)
    assert caught[0].filename == __file__


def test_equal_results_computed_twice_are_two_arrays():
    first, second, again = axiomjit.jit(lambda x: (x + 1, x + 1, x + 1))(X)
    assert not np.shares_memory(first, second)
    assert not np.shares_memory(second, again)
    np.testing.assert_array_equal(second, X + 1)


def test_one_result_returned_twice_is_one_array():
    def function(x):
        t = x + 1
        return t, t

    first, second = axiomjit.jit(function)(X)
    assert first is second
