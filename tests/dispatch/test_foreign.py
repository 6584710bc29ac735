"""What is not compiled runs in NumPy: arguments of foreign classes per call, else the function."""

import time
import types
import warnings
from importlib import import_module
from importlib.util import find_spec

import numpy as np
import pytest

import axiomjit
from axiomjit.base.errors import (
    AxiomError,
    FallbackWarning,
    NeedsValuesError,
    NotDispatchedError,
    UnfollowedError,
)
from tests.generator.parameters import same
from tools.elementary.turns import interleaved

ROW = np.arange(5.0)
X = np.arange(6.0).reshape(2, 3)

pytestmark = [
    pytest.mark.usefixtures("in_numpy"),
    pytest.mark.filterwarnings("ignore::PendingDeprecationWarning"),
]


class Sub(np.ndarray):
    pass


class ArrayLike:
    def __array__(self, dtype=None, copy=None):
        return ROW


RECORDS = np.zeros(3, [("a", "f8"), ("b", "i4")])
FOREIGN = {
    "dates": (lambda x: x - x[0], np.array(["2020-01-01", "2020-02-01"], "M8[D]")),
    "durations": (lambda x: x.sum(), np.array([1, 2], "m8[s]")),
    "date": (lambda x: x + 1, np.datetime64("2020-01-02")),
    "records": (lambda x: x["a"] * 2, RECORDS),
    "record array": (lambda x: x.a * 2, RECORDS.view(np.recarray)),
    "text": (lambda x: np.char.upper(x), np.array(["a", "b"])),
    "bytes": (lambda x: x == b"a", np.array([b"a", b"b"])),
    "strings": (lambda x: x + x, np.array(["a", "b"], np.dtypes.StringDType())),
    "objects": (lambda x: x * 2, np.array([1, "a"], object)),
    "masked": (lambda x: x.mean(), np.ma.array([1.0, 2, 3], mask=[0, 1, 0])),
    "matrix": (lambda x: x * x, X[:, :2].view(np.matrix)),
    "subclass": (lambda x: x + 1, ROW.view(Sub)),
    "array-like": (lambda x: np.exp(x), ArrayLike()),
    "extended": (lambda x: x + 1, ROW.astype("g")),
}
if find_spec("pandas"):
    pd = import_module("pandas")
    FOREIGN["frame"] = (lambda x: np.exp(x), pd.DataFrame({"a": [1.0, 2]}))


def one_warning(function, *arguments):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = function(*arguments), function(*arguments)
    fallbacks = [w for w in caught if w.category is FallbackWarning]
    assert len(fallbacks) == 1
    return *found, str(fallbacks[0].message)


@pytest.mark.parametrize("name", FOREIGN)
def test_calls_with_foreign_arguments_are_numpys(name):
    function, argument = FOREIGN[name]
    compiled, before = axiomjit.jit(function), axiomjit.stats()["fallbacks"]
    first, second, said = one_warning(compiled, argument)
    want = function(argument)
    for found in (first, second):
        assert type(found) is type(want)
        assert str(found) == str(want)
    assert axiomjit.stats()["fallbacks"] == before + 2
    with pytest.raises(AxiomError) as refused:
        axiomjit.jit(function, strict=True)(argument)
    assert refused.value.seen in said
    assert refused.value.remedy in said


def test_a_function_stays_compiled_beside_foreign_arguments():
    f = axiomjit.jit(lambda x, y: x + y)
    one_warning(f, ROW.view(Sub), ROW)
    programs = repr(f)
    assert type(f(ROW, ROW)) is np.ndarray
    assert "1 program" in repr(f) != programs
    assert type(f(ROW, ROW.view(Sub))) is Sub
    assert "whole function" not in [cause.cause for cause in f.cache_info().in_numpy]


def test_foreign_arguments_that_numpy_refuses():
    f = axiomjit.jit(np.sin)
    with pytest.raises(TypeError, match="sin"):
        f(np.array(["a"]))
    with pytest.warns(FallbackWarning):
        f(ROW.view(Sub))


def test_calls_with_foreign_arguments_are_quick():
    """They cost less than a hundredth of following, whatever their lengths."""
    f, plain = axiomjit.jit(lambda x: None), axiomjit.jit(lambda x: x + 1)
    one_warning(f, np.array([None]))
    arrays = [np.array([None] * n) for n in range(1, 300)]
    times = interleaved(
        lambda: [f(a) for a in arrays], lambda: axiomjit.jit(plain)(ROW), 15, clock=time.thread_time
    )
    assert times.ratio / len(arrays) < 1 / 10


INSIDE = {
    "view": lambda x: x.view("i4"),
    "view of a class": lambda x: x.view(Sub),
    "flags": lambda x: x * 2 if x.flags.owndata else x,
    "base": lambda x: x.base is None,
    "strides": lambda x: (x * 2).strides,
    "ctypes": lambda x: x.ctypes.data > 0,
    "data": lambda x: x.data.nbytes,
    "memoryview": lambda x: memoryview(x).nbytes,
    "tobytes": lambda x: x.tobytes(),
    "astype text": lambda x: x.astype(str),
    "astype objects": lambda x: x.astype(object),
    "where of text": lambda x: np.where(x > 2, "a", "b"),
    "frompyfunc": lambda x: np.frompyfunc(lambda a: a + 1, 1, 1)(x),
    "vectorize": lambda x: np.vectorize(lambda a: a + 1 if a > 2 else a)(x),
    "trim_zeros": lambda x: np.trim_zeros(x),
    "text": lambda x: f"{x}".strip(),
    "array2string": lambda x: np.array2string(x),
    "equal to text": lambda x: x == "a",
    "sum of objects": lambda x: x.sum(dtype=object),
    "objects outside": lambda x: x * np.array([1, 2, 3, 4, 5], object),
    "masked outside": lambda x: x * np.ma.array(ROW, mask=ROW > 2),
    "matrix": lambda x: np.matrix(x) * 2,
    "array in an object": lambda x: types.SimpleNamespace(a=[{x.shape}]),
}


@pytest.mark.parametrize("name", INSIDE)
def test_functions_that_are_not_compiled_are_numpys(name):
    function = INSIDE[name]
    first, second, said = one_warning(axiomjit.jit(function), ROW)
    want = function(ROW)
    for found in (first, second):
        assert type(found) is type(want)
        assert str(found) == str(want)
    with pytest.raises(AxiomError) as refused:
        axiomjit.jit(function, strict=True)(ROW)
    assert refused.value.seen in said


INTEGERS = {
    "default_rng": (lambda n: np.random.default_rng(n).random(2), 3),
    "SeedSequence": (lambda n: np.random.SeedSequence([n, 1]).generate_state(2), 3),
    "RandomState": (lambda n: np.random.RandomState(n).rand(2), 3),
    "roll": (lambda n: np.roll(X, n), 2),
    "roll by an array": (lambda s: np.roll(X, s[0], axis=(0, 1)), np.array([[1, 2]])),
    "roll by a float": (lambda x: np.roll(x, 2.5), ROW),
    "linspace": (lambda n: np.linspace(0, n, 4), 5),
    "zeros of a NumPy integer": (lambda n: np.zeros(n), np.int64(3)),
    "full of an array": (lambda n: np.full(n, 2.0), np.array(3)),
    "interp": (lambda n: np.interp(X, ROW, ROW, left=n), -1),
    "median": (lambda n: np.median(X, axis=(n, n - 1)), 1),
    "reshape": (lambda n: np.arange(6.0).reshape(n, -1), 3),
    "flag": (lambda s: np.linalg.svd(X @ X.T, hermitian=s)[1], np.array(1)),
    "Fortran order": (lambda x: x.reshape((-1, 2), order="F"), X),
}


@pytest.mark.parametrize("name", INTEGERS)
def test_integers_are_taken_where_numpy_asks_for_an_index(name):
    function, argument = INTEGERS[name]
    compiled = axiomjit.jit(function, strict=True)
    for found in (compiled(argument), compiled(argument)):
        assert same(found, function(argument))


LEFT = {
    "reshape": (lambda x, s: x.reshape(s), np.array([3, 2])),
    "seed": (lambda x, s: np.random.default_rng(s).random(2), np.array([3, 2])),
    "where": (lambda x, s: x.sum(where=s), None),
}


@pytest.mark.parametrize("name", LEFT)
def test_what_stands_for_arrays_is_never_taken_for_a_number(name):
    function, argument = LEFT[name]
    first, second, _ = one_warning(axiomjit.jit(function), X, argument)
    assert same(first, function(X, argument))
    assert same(second, function(X, argument))


def test_errors_that_numpy_raises_too_leave_a_function_compiled():
    def function(x, n):
        if n > 3:
            raise LookupError("too large")
        return np.squeeze(x, axis=n)

    f = axiomjit.jit(function)
    for n, error in ((5, LookupError), (0, ValueError), (-7, np.exceptions.AxisError)):
        with pytest.raises(error):
            f(X, n)
    assert f(X[:1], 0).shape == (3,)
    assert "whole function" not in [cause.cause for cause in f.cache_info().in_numpy]


def test_errors_that_are_caught_do_not_decide():
    def function(x):
        try:
            return x.reshape(x.astype(int)[:2])
        except TypeError:
            return -x

    argument = np.array([2.0, 3, 0, 0, 0, 0])
    with pytest.warns(FallbackWarning):
        found = axiomjit.jit(function)(argument)
    np.testing.assert_array_equal(found, function(argument))


def test_strictly_what_numpy_alone_can_do_is_refused():
    argument = np.array([3, 1, 1])
    with pytest.raises(NeedsValuesError, match="seen: .+\n  instead: .+"):
        axiomjit.jit(lambda x: memoryview(x).nbytes, strict=True)(argument)
    with pytest.raises(UnfollowedError, match="seen: .+\n  instead: .+"):
        axiomjit.jit(lambda x: x.reshape(x), strict=True)(argument)
    with pytest.raises(NotDispatchedError, match="seen: .+\n  instead: .+"):
        axiomjit.jit(lambda x: np.polynomial.Polynomial(x)(2), strict=True)(argument)
