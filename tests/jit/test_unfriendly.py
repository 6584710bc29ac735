"""What an unfriendly user finds. A strict `xfail` is a defect that is open: take the mark away."""

import dataclasses
import functools
import pickle

import numpy as np
import pytest

import axiomjit
from axiomjit.arguments import plain_array
from axiomjit.errors import AxiomError, FallbackWarning, GraphTypeError
from tests.jit.test_numpy_agreement import assert_alike

X = np.arange(42.0).reshape(6, 7)


def bug(reason, *values):
    return pytest.param(*values, marks=pytest.mark.xfail(strict=True, reason=reason), id=reason)


@dataclasses.dataclass(frozen=True)
class Holder:
    value: object


@axiomjit.jit
def top_level(x):
    return x + 1


NESTED = axiomjit.jit(lambda n: n * 2)
SAME_VALUES = [
    bug("states of a total and of rows are shared", lambda x: (x.sum(), x.sum(axis=-1))),
    bug("numbers picked from an array meet", lambda x: x[0, 0] + x[1, 1]),
    bug("rows picked from an array meet", lambda x: x[0] + x[1]),
    lambda x: x[0] @ x[1],
    bug("builtin sum over rows", lambda x: sum(x[:3])),
    bug("0-d result of where", lambda x: np.where(x[0, 0] > 0, x[0, 0], 0.0)),
    bug("0-d view", lambda x: x[0, 0, ...]),
    bug("length divided", lambda x: x * (x.shape[0] / 2)),
    bug("number by length", lambda x: x * (1.0 / x.shape[0])),
    bug("length with float", lambda x: x * (x.shape[0] * 0.5 + 0.5)),
    bug("length as power", lambda x: x * x.shape[0] ** 2),
    bug("root of length", lambda x: x / np.sqrt(x.shape[0])),
    bug("length against float", lambda x: x if x.shape[0] == 6.0 else -x),
    bug("length as key", lambda x: x * {6: 2.0}[x.shape[0]]),
    bug("range of positions", lambda x: np.arange(x.shape[0]) + x.T),
    bug("array of lengths", lambda x: x * np.full(7, x.shape[0])),
    bug("shape returned", lambda x: x.shape),
    bug("size returned", lambda x: x.size),
    bug("ndim function", lambda x: x * np.ndim(x)),
    bug("shape function", lambda x: x * np.shape(x)[0]),
    bug("itemsize", lambda x: x * x.itemsize),
    bug("list operand", lambda x: x + [1.0] * 7),
    bug("astype copy=", lambda x: x.astype("f4", copy=False)),
    bug("copy order", lambda x: x.copy("F")),
    bug("explicit where=True", lambda x: x.sum(where=True)),
    bug("length to nested jit", lambda x: x * NESTED(x.shape[0])),
    bug("dot takes numbers as strong", lambda x: np.dot(x.astype("f4"), 2.0)),
    bug("sum over axis of number", lambda x: np.sum(x[0, 0] * 1, axis=0)),
]


@pytest.mark.parametrize("function", SAME_VALUES)
def test_same_as_numpy(function):
    assert_alike(axiomjit.jit(function)(X), function(X), 1e-14)


@pytest.mark.xfail(strict=True, reason="integer arithmetic of Python numbers wraps")
def test_python_integers_do_not_wrap():
    x = np.ones(5)
    assert axiomjit.jit(lambda x, n: x * (n * n))(x, 2**40)[0] == 2.0**80


@pytest.mark.xfail(strict=True, reason="OverflowError from a ready plan")
def test_integer_beyond_64_bits_after_a_small_one():
    f = axiomjit.jit(lambda x, n: x * n)
    f(np.ones(5), 3)
    with pytest.raises(GraphTypeError, match="outside 64 bits"):
        f(np.ones(5), 2**70)


@pytest.mark.xfail(strict=True, reason="the exact key of a call ignores the kind of array")
@pytest.mark.parametrize("kind", ["masked", "subclass"])
def test_subclass_after_a_plain_array_is_refused(kind):
    f = axiomjit.jit(lambda x, s: x * x * s)
    x = np.ones((5, 5))
    f(x, 2.0)
    other = (
        np.ma.array(x, mask=x > 0) if kind == "masked" else x.view(type("Sub", (np.ndarray,), {}))
    )
    with pytest.raises(GraphTypeError, match="argument x"):
        f(other, 2.0)


@pytest.mark.xfail(strict=True, reason="static values are told apart by ==")
def test_static_zeros_of_both_signs():
    f = axiomjit.jit(lambda x, s: x / s, static_argnames="s")
    f(np.ones(5), 0.0)
    assert f(np.ones(5), -0.0)[0] == -np.inf


@pytest.mark.xfail(strict=True, reason="StopIteration")
@pytest.mark.parametrize("value", [[1.0], np.ones(5)], ids=["list", "array"])
def test_unhashable_inside_a_hashable_type(value):
    with pytest.raises(GraphTypeError, match="Holder"):
        axiomjit.jit(lambda x, p: x * p.value)(np.ones(5), Holder(value))


@pytest.mark.xfail(strict=True, reason="results that hold traced arrays are returned as they are")
@pytest.mark.parametrize(
    "function", [lambda x: Holder(x + 1), lambda x: {x + 1}, lambda x: (v + 1 for v in [x])]
)
def test_traced_arrays_do_not_leak(function):
    with pytest.raises(AxiomError, match="instead:"):
        axiomjit.jit(function)(np.ones(5))


@pytest.mark.xfail(strict=True, reason="fold over no axis is the node itself")
@pytest.mark.parametrize("name", ["sum", "max"])
def test_fold_over_no_axis_is_a_copy(name):
    x = X.copy()
    assert not np.shares_memory(axiomjit.jit(lambda x: getattr(x, name)(axis=()))(x), x)


@pytest.mark.xfail(strict=True, reason="made writable")
def test_broadcast_result_is_read_only():
    x = np.ones(5)
    assert not axiomjit.jit(lambda x: np.broadcast_to(x, (3, 5)))(x).flags.writeable


def misaligned():
    return np.zeros(41, "u1")[1:].view("f8")


@pytest.mark.parametrize("x", [misaligned(), bug("a copy, and native", np.zeros(5, ">f8"))])
def test_views_of_arguments_in_odd_layouts(x):
    result = axiomjit.jit(lambda x: x[1:])(x)
    assert result.dtype == x.dtype
    assert np.shares_memory(result, x)


@pytest.mark.xfail(strict=True, reason="ascontiguousarray does not align")
def test_kernels_get_aligned_arrays():
    assert plain_array(misaligned()).flags.aligned


@pytest.mark.xfail(strict=True, reason="0-d arrays become scalars")
@pytest.mark.parametrize(
    "function", [lambda x: x, lambda x: x.T, np.copy, lambda x: x.astype("f4")]
)
def test_arrays_without_dimensions_stay_arrays(function):
    x = np.array(3.0)
    assert_alike(axiomjit.jit(lambda x: function(x))(x), function(x))


@pytest.mark.parametrize(
    ("function", "kind"),
    [
        bug("StopIteration", lambda x: x[..., ...], IndexError),
        bug("ZeroDivisionError", lambda x: x[::0], ValueError),
        bug("list of axes is taken", lambda x: x.sum(axis=[0]), TypeError),
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
        bug("computed before tracing", lambda held, x: x + held * 2),
        bug("a number read from it", lambda held, x: x + held[0]),
    ],
)
def test_held_array_that_changes_is_seen(use):
    held, x = np.ones(10), np.arange(10.0)
    f = axiomjit.jit(lambda x: use(held, x))
    f(x)
    held += 1
    np.testing.assert_array_equal(f(x), use(held, x))


@pytest.mark.xfail(strict=True, reason="a converted copy is held")
def test_held_byteswapped_array_that_changes_is_seen():
    held, x = np.ones(10, ">f8"), np.arange(10.0)
    f = axiomjit.jit(lambda x: x + held)
    f(x)
    held += 1
    np.testing.assert_array_equal(f(x), x + held)


class Model:
    factor = 2.0

    @axiomjit.jit
    def scaled(self, x):
        return x * self.factor

    def __call__(self, x):
        return x * self.factor


def test_methods():
    assert Model().scaled(X)[0, 1] == 2.0


@pytest.mark.xfail(strict=True, reason="a bound method is a partial")
def test_bound_methods_explain():
    assert "source" in str(Model().scaled.explain(X))


@pytest.mark.xfail(strict=True, reason="an instance is static by identity")
def test_attribute_that_changes_is_seen():
    model = Model()
    model.scaled(X)
    model.factor = 3.0
    assert model.scaled(X)[0, 1] == 3.0


@pytest.mark.xfail(strict=True, reason="no __qualname__")
@pytest.mark.parametrize(
    "function", [functools.partial(lambda k, x: x * k, 2.0), Model()], ids=["partial", "object"]
)
def test_callables_without_a_name_explain(function):
    f = axiomjit.jit(function)
    assert f(X)[0, 1] == 2.0
    assert "source" in str(f.explain(X))


@pytest.mark.xfail(strict=True, reason="not picklable")
def test_module_level_function_is_pickled_by_name():
    assert pickle.loads(pickle.dumps(top_level)) is top_level


@pytest.mark.xfail(strict=True, reason="stacklevel points at jit.py")
def test_fallback_warning_points_at_the_caller():
    with pytest.warns(FallbackWarning, match="truth") as caught:
        axiomjit.jit(lambda x: x if x.sum() > 0 else -x)(X)
    assert caught[0].filename == __file__
