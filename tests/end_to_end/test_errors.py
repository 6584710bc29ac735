"""Errors of the jit door: what was asked at which line of the user, what was seen, what instead."""

import re
import warnings
from pathlib import Path

import numpy as np
import pytest

import axiomjit
from axiomjit.base.errors import (
    AxiomError,
    CompileError,
    FallbackWarning,
    GraphTypeError,
    GraphValueError,
    NeedsValuesError,
    UnsupportedAttributeError,
    UnsupportedError,
)
from axiomjit.runtime.codegen import compile_source
from axiomjit.runtime.codegen.kernel_cache import KERNELS

HERE = Path(__file__).name
X = np.arange(12.0).reshape(3, 4) + 1


def branch(x):
    if x.sum().item() > 0:
        return x
    return -x


def item_write(x):
    y = x * 2
    y.shape = -1
    return y


def in_place(x):
    x += 1
    return x if x[0, 0].item() > 0 else -x


class ArrayLike:
    def __array__(self, dtype=None, copy=None):
        return X


REFUSED = {
    "object": (lambda x: x + 1, np.array([1, "a"], object), GraphTypeError),
    "string": (lambda x: x + 1, np.array(["a"]), GraphTypeError),
    "long-double": (lambda x: x + 1, np.ones(3, np.longdouble), GraphTypeError),
    "array-like": (lambda x: x + 1, ArrayLike(), GraphTypeError),
    "masked": (lambda x: x + 1, np.ma.array([1.0]), GraphTypeError),
    "shapes": (lambda x: x + x[:2], X, GraphValueError),
    "product": (lambda x: x @ x, X, GraphValueError),
    "branch": (branch, X, NeedsValuesError),
    "range": (lambda x: list(range(x)), np.int64(3), NeedsValuesError),
    "asarray": (lambda x: np.asfortranarray(x) + 1, X, NeedsValuesError),
    "item-write": (item_write, X, NeedsValuesError),
    "in-place": (in_place, X, NeedsValuesError),
    "out": (lambda x: np.add(x, 1, out=np.zeros(4)), X, GraphValueError),
    "function": (lambda x: np.unwrap(x), X, UnsupportedError),
    "functions": (lambda x: np.pad(x, 1, np.frompyfunc(abs, 1, 1)), X, UnsupportedError),
    "zeros": (lambda x: np.trim_zeros(x[0]), X, UnsupportedError),
    "ufunc": (lambda x: np.nextafter(x, x), X, UnsupportedError),
    "accumulate": (lambda x: np.hypot.accumulate(x), X, UnsupportedError),
    "method": (lambda x: x.byteswap(), X, UnsupportedAttributeError),
    "where-option": (lambda x: x.std(where=x > 1), X, UnsupportedError),
    "order-option": (lambda x: np.add(x, 1, order="F"), X, UnsupportedError),
    "operand": (lambda x: x + "a", X, GraphTypeError),
    "cast": (lambda x: x.astype("g"), X, GraphTypeError),
}


def shown(error):
    """The message without folders and line numbers."""
    return re.sub(rf"[^\s]*[/\\]{HERE}:\d+", f"{HERE}:LINE", str(error))


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name, golden, monkeypatch):
    monkeypatch.setattr(axiomjit.config, "fallback", "error")
    function, argument, kind = REFUSED[name]
    before = np.array(argument, copy=True) if isinstance(argument, np.ndarray) else None
    with pytest.raises(kind, match=rf"{HERE}:\d+: .+\n  seen: .+\n  instead: .+") as caught:
        axiomjit.jit(function, strict=True)(argument)
    if before is not None:
        np.testing.assert_array_equal(argument, before)
    golden(shown(caught.value))


@pytest.mark.parametrize("dtype", ["S3", "U2", "M8[s]", "O", "V3", "V0", [], "f8, f8"], ids=str)
def test_arguments_of_other_elements_are_refused(dtype):
    for argument in (np.empty(3, dtype), np.empty((2, 0), dtype)):
        with pytest.raises(GraphTypeError, match="argument x\n  seen: elements of dtype"):
            axiomjit.jit(lambda x: x, strict=True)(argument)


@pytest.mark.parametrize("dtype", [np.int64, np.bool])
def test_integers_beyond_64_bits_are_refused_as_numpy_does(dtype):
    x = np.ones(5, dtype)
    for function in (lambda x, n: x * n, axiomjit.jit(lambda x, n: x * n)):
        with pytest.raises(OverflowError, match="too large to convert to C long"):
            function(x, 2**70)


def test_the_line_is_the_users():
    with pytest.raises(NeedsValuesError, match=r"array\.item") as caught:
        axiomjit.jit(branch, strict=True)(X)
    line = branch.__code__.co_firstlineno + 1
    assert str(caught.value).startswith(f"{__file__}:{line}: ")
    assert caught.value.where == f"{__file__}:{line}"


@pytest.mark.parametrize("function", [branch, item_write])
def test_without_strict_numpy_runs_with_one_warning(function):
    f = axiomjit.jit(function)
    before = axiomjit.stats()["fallbacks"]
    with pytest.warns(FallbackWarning, match=f"{function.__name__} runs in NumPy") as caught:
        result = f(X.copy())
    np.testing.assert_array_equal(result, function(X.copy()))
    assert len(caught) == 1
    np.testing.assert_array_equal(f(-X), function(-X))
    assert axiomjit.stats()["fallbacks"] == before + 2


def test_in_place_in_numpy_changes_the_argument_as_numpy_does():
    x = X.copy()
    with pytest.warns(FallbackWarning, match=r"array\.item"):
        axiomjit.jit(in_place)(x)
    np.testing.assert_array_equal(x, X + 1)


@pytest.mark.parametrize("policy", ["warn", "allow"])
def test_fallback_policies(policy, monkeypatch):
    monkeypatch.setattr(axiomjit.config, "fallback", policy)
    f = axiomjit.jit(lambda x: np.trim_zeros(x[0]))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        np.testing.assert_array_equal(f(X), np.trim_zeros(X[0]))
    assert [w.category for w in caught] == [FallbackWarning] * (policy == "warn")


def test_what_is_not_compiled_is_named(monkeypatch):
    monkeypatch.setattr(axiomjit.config, "fallback", "error")
    with pytest.raises(UnsupportedError, match=r"numpy\.trim_zeros, which is not compiled yet"):
        axiomjit.jit(lambda x: np.trim_zeros(x[0]))(X)
    with pytest.raises(UnsupportedAttributeError, match=r"compiled methods: sum, mean, max") as one:
        axiomjit.jit(lambda x: x.byteswap())(X)
    assert isinstance(one.value, AttributeError)


def test_settings_are_checked():
    with pytest.raises(GraphValueError, match="'step', 'error', 'warn', 'allow'"):
        axiomjit.config.fallback = "sometimes"
    with pytest.raises(GraphValueError, match="no parameter 'z'"):
        axiomjit.jit(lambda x: x, static_argnames=["z"])


def test_compile_failure_shows_no_traceback_of_numba(monkeypatch, memory_only):
    def explode(*args, **options):
        raise RuntimeError("LLVM ERROR: out of registers")

    monkeypatch.setattr(compile_source, "lower_source", explode)
    f = axiomjit.jit(lambda x: x * 19.0 - x / (x + 23) - np.sqrt(x + x * x))
    with pytest.raises(CompileError, match="out of registers") as caught:
        f(X)
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__
    assert "report this source" in str(caught.value)
    monkeypatch.undo()
    assert f(X).shape == X.shape
    assert KERNELS.get(f.lower(X).kernels[0]).compile_ms > 0


def test_errors_of_the_users_own_pass_through():
    def own(x):
        raise LookupError("mine")

    with pytest.raises(LookupError, match="mine"):
        axiomjit.jit(own)(X)


def test_errstate_keeps_its_meaning():
    f = axiomjit.jit(lambda x: 1 / x)
    with np.errstate(divide="raise"), pytest.raises(FloatingPointError, match="divide"):
        f(np.zeros(3))
    assert np.isinf(f(np.zeros(3))).all()
    before = np.seterr(divide="raise")
    with pytest.raises(FloatingPointError, match="divide"):
        f(np.zeros(3))
    np.seterr(**before)
    assert np.isinf(f(np.zeros(3))).all()


@pytest.mark.parametrize(
    ("function", "args", "said"),
    [
        (
            lambda n: {n: 1},
            (2.5,),
            "seen: a traced Python float",
        ),
        (lambda x: np.einsum("i,i", x), (X,), "seen: 1 operand for 2 before"),
        (lambda x: np.einsum("i", x), (np.ones((2, 3)),), r"\[2, 3\] for 1 axis\n"),
    ],
)
def test_messages_count_as_english_does(function, args, said):
    with pytest.raises(AxiomError, match=said):
        axiomjit.jit(function, strict=True)(*args)
