"""`warm` compiles for described arguments; the calls that follow compile nothing."""

from types import SimpleNamespace

import numpy as np
import pytest

import axiomjit
from axiomjit.base.errors import FallbackWarning, GraphTypeError, GraphValueError


def compiles():
    return axiomjit.stats()["compiles"]


SHAPES = [(), (1,), (3,), (700,), (5, 6), (4, 1, 9), (0, 5), (5, 0), (2, 0, 3)]


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("dtype", ["f8", "f4", "i2", "?", "c16"])
def test_a_spec_lies_as_numpy_lays_a_new_array(shape, order, dtype):
    described = axiomjit.spec(shape, dtype, order)
    array = np.empty(shape, dtype, order)
    assert (described.shape, described.dtype) == (array.shape, array.dtype)
    assert described.strides == array.strides
    assert axiomjit.spec(shape, dtype, array.strides) == described
    stand_in = described.stand_in()
    assert type(stand_in) is np.ndarray
    assert (stand_in.shape, stand_in.dtype, stand_in.strides) == (shape, array.dtype, array.strides)


def test_a_spec_takes_no_memory():
    assert axiomjit.spec((2**30, 2**29)).stand_in().nbytes == 2**62


X = np.linspace(0.0, 1.0, 6 * 9).reshape(6, 9)
CALLS = [
    (lambda x, y: (x * y + 2.0).sum(axis=1), (X, X + 1.0), {}),
    (lambda x, y: x + y, (X.T, X.T[::2, ::3].repeat(3, 1).repeat(2, 0)[:9, :6]), {}),
    (lambda x, n: x * n + n, (X, 3), {}),
    (lambda x, scale: x * scale, (X.astype("f4"), 2.5), {}),
    (lambda x, mode: np.exp(x) if mode == "exp" else x, (X, "exp"), {}),
    (lambda x, *, y: x @ y, (X,), {"y": X.T.copy()}),
    (lambda pair: pair[0] - pair[1]["b"], ((X, {"b": X[:1]}),), {}),
    (lambda x: np.sort(x, axis=0) + 1, (np.asfortranarray(X),), {}),
    (lambda x: x[::2].sum(), (X[:, 0],), {}),
    (lambda x: x * 2, (np.float32(3.0),), {}),
    (lambda x: x + 1, (np.ones((3, 0)),), {}),
]


def described(value):
    """The value with a spec in place of each array."""
    match value:
        case np.ndarray():
            return axiomjit.spec(value.shape, value.dtype, value.strides)
        case tuple():
            return tuple(map(described, value))
        case dict():
            return {key: described(item) for key, item in value.items()}
    return value


@pytest.mark.parametrize(("function", "args", "kwargs"), CALLS)
@pytest.mark.parametrize("trapping", [False, True])
def test_a_warm_call_compiles_and_binds_nothing(function, args, kwargs, trapping):
    jitted = axiomjit.jit(function)
    with np.errstate(divide="raise" if trapping else "warn"):
        assert jitted.warm(*described(args), **described(kwargs)) is None
    info, before = jitted.cache_info(), compiles()
    assert info.traced == 1
    np.testing.assert_allclose(
        jitted(*args, **kwargs), function(*args, **kwargs), rtol=1e-6, strict=True
    )
    assert compiles() == before
    assert (jitted.cache_info().bound, jitted.cache_info().traced) == (info.bound, info.traced)


def test_warm_runs_nothing():
    jitted = axiomjit.jit(lambda x: np.tanh(x) * 7.25)
    before = axiomjit.stats()
    jitted.warm(axiomjit.spec((500, 3)))
    after = axiomjit.stats()
    assert after["compiles"] == before["compiles"] + 1
    assert after["kernels_run"] == before["kernels_run"]
    jitted.warm(axiomjit.spec((500, 3)))
    assert axiomjit.stats()["compiles"] == after["compiles"]
    assert jitted.cache_info().bound == 1


def test_other_lengths_of_the_class_compile_nothing():
    jitted = axiomjit.jit(lambda x: np.cosh(x) * 7.25)
    jitted.warm(axiomjit.spec((500, 30)))
    before = compiles()
    x = np.ones((61, 7))
    np.testing.assert_allclose(jitted(x), np.cosh(x) * 7.25)
    assert compiles() == before
    assert jitted.cache_info().traced == 1


def test_arrays_may_be_given_as_they_are():
    jitted = axiomjit.jit(lambda x, y: x - y)
    jitted.warm(X, axiomjit.spec(X.shape))
    bound = jitted.cache_info().bound
    np.testing.assert_array_equal(jitted(X, X), X - X)
    assert jitted.cache_info().bound == bound


def test_methods_are_warmed_for_their_instance():
    class Scale:
        factor = 3.5

        @axiomjit.jit
        def __call__(self, x):
            return x * self.factor

        @axiomjit.jit
        def shifted(self, x):
            return x + self.factor

    scale = Scale()
    scale.shifted.warm(axiomjit.spec(9))
    before = compiles()
    np.testing.assert_array_equal(scale.shifted(np.ones(9)), np.ones(9) + 3.5)
    assert compiles() == before


def test_named_arrays_are_refused():
    axis = axiomjit.make_axis(9, "W")
    jitted = axiomjit.jit(lambda x, y: x * y)
    with pytest.raises(GraphTypeError, match="call the function once with such an array"):
        jitted.warm(axiomjit.NamedArray(np.ones(9), [axis]), 2.0)


def test_static_arguments_are_told_apart():
    jitted = axiomjit.jit(lambda x, power: x**power, static_argnames="power")
    jitted.warm(axiomjit.spec(9), power=2)
    traced = jitted.cache_info().traced
    jitted(np.ones(9), power=2)
    assert jitted.cache_info().traced == traced
    jitted(np.ones(9), power=3)
    assert jitted.cache_info().traced == traced + 1


def test_a_function_that_needs_values_runs_in_numpy_from_then_on():
    jitted = axiomjit.jit(lambda x: x * x.sum().item())
    with pytest.warns(FallbackWarning, match="runs in NumPy"):
        jitted.warm(axiomjit.spec(9))
    np.testing.assert_array_equal(jitted(-np.ones(9)), np.full(9, 9.0))
    jitted.warm(axiomjit.spec(9))


def test_containers_are_described_inside():
    jitted = axiomjit.jit(lambda p: p.w * p.k)
    jitted.warm(SimpleNamespace(w=axiomjit.spec(9), k=2))
    bound = jitted.cache_info().bound
    jitted(SimpleNamespace(w=np.ones(9), k=2))
    assert jitted.cache_info().bound == bound


@pytest.mark.parametrize(
    ("arguments", "kind", "text"),
    [
        ((3.5,), GraphValueError, "the shape 3.5"),
        (((3, "n"),), GraphValueError, "give whole numbers as lengths"),
        (((3, -1),), GraphValueError, "the length -1"),
        ((3, "O"), GraphTypeError, "elements of dtype object"),
        ((3, "nothing"), GraphTypeError, "name a dtype"),
        ((3, float, "K"), GraphValueError, "'C' or 'F', or strides in bytes"),
        ((3, float, None), GraphValueError, "the layout None"),
        ((3, float, (4,)), GraphValueError, "multiples of 8 for float64"),
        (((3, 4), float, (8,)), GraphValueError, "one stride, in bytes, per dimension"),
        (((2**40, 2**40),), GraphValueError, "describe a smaller array"),
        (((2, 2), float, (2**63, 8)), GraphValueError, "describe a smaller array"),
    ],
)
def test_specs_that_describe_no_array_are_refused(arguments, kind, text):
    with pytest.raises(kind, match="(?s)test_warm.py.*" + text):
        axiomjit.spec(*arguments)


def test_arguments_that_do_not_fit_are_refused_as_in_a_call():
    jitted = axiomjit.jit(lambda x, y: x + y)
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'y'"):
        jitted.warm(axiomjit.spec(9))
    with pytest.raises(ValueError, match="lengths 9 and 8 meet"):
        jitted.warm(axiomjit.spec(9), axiomjit.spec(8))
