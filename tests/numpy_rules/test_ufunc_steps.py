"""Ufuncs without a row of their own: steps that NumPy runs, with its bits, dtypes and layout."""

import numpy as np
import pytest

import axiomjit
from axiomjit.base.errors import (
    FallbackWarning,
    GraphTypeError,
    GraphValueError,
    NeedsValuesError,
    UnsupportedError,
)
from axiomjit.graph.primitives import PRIMITIVES
from axiomjit.numpy_rules.elementwise import UFUNCS
from tests.numpy_rules.ufunc_cases import check, check_every_layout

NUMPYS = {
    name: ufunc
    for name in dir(np)
    if isinstance(ufunc := getattr(np, name), np.ufunc)
    and ufunc not in UFUNCS
    and ufunc.signature is None
    and name != "isnat"
}


@pytest.mark.parametrize("dtype", ["f4", "f8", "i2", "u8", "?", "c16"])
@pytest.mark.parametrize("name", NUMPYS)
def test_steps_agree_with_numpy(name, dtype):
    check_every_layout(NUMPYS[name], dtype)


CALLS = {
    "before and after": lambda x, y: np.spacing(x * 2 + 1) * y - 1,
    "number": lambda x, y: np.nextafter(x, 0) + np.nextafter(0.5, x[0]),
    "numbers": lambda x, y: x + np.nextafter(x.shape[0], 9),
    "length": lambda x, y: np.ldexp(x, x.shape[1]),
    "several": lambda x, y: np.frexp(x)[1] + np.modf(y)[0],
    "row": lambda x, y: np.gcd(x.astype(int), y[1].astype("i4")),
    "column": lambda x, y: np.float_power(x, y[:, :1].T.T),
    "outer": lambda x, y: np.nextafter.outer(x[0], y),
    "scalar": lambda x, y: np.spacing(x.sum() // 1),
    "dtype": lambda x, y: np.add(x, 1, dtype="f4") + np.fmod(x, y, dtype="f4"),
    "unsafe": lambda x, y: np.multiply(x * 9, y, dtype=int, casting="unsafe"),
    "signature": lambda x, y: np.float_power(x, 2, signature="dd->d"),
    "sig": lambda x, y: np.nextafter(x, y, sig="ff->f", casting="same_kind"),
    "out": lambda x, y: np.nextafter(x, y, out=x * 0),
    "where": lambda x, y: np.nextafter(x, 0, where=x > 1, out=y * 2),
    "where without out": lambda x, y: np.add(x, y, where=x > 1, out=None)[x > 1],
    "longer mask": lambda x, y: np.add(x[0], 1, where=np.ones_like(y, dtype=bool), out=None),
    "two outs": lambda x, y: np.frexp(x, out=(y * 1, (y * 0).astype("i4"))),
    "numpy's array": lambda x, y: np.nextafter(np.arange(4.0), x),
    "weak": lambda x, y: np.nextafter(2, x.astype("f4")),
    "integer powers": lambda x, y: 2 ** x.astype(int) + x.astype(int) ** y.astype(int),
    "astype": lambda x, y: x.astype("f4", "C", casting="same_kind", copy=True),
    "astype of columns": lambda x, y: x.astype(dtype="c16", order="F", subok=False),
}


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("way", ["compiled", "portable", "evaluator"])
def test_calls_and_options(name, way, monkeypatch):
    monkeypatch.setattr(axiomjit.config, "disable", way == "evaluator")
    monkeypatch.setattr(axiomjit.config, "entry", "portable" if way == "portable" else "auto")
    x, y = np.linspace(0.5, 4, 20).reshape(5, 4), np.linspace(3, 0.75, 20).reshape(5, 4)
    check(CALLS[name], (x, y))
    check(CALLS[name], (np.asfortranarray(x), y[::-1]))


def test_written_arguments():
    def function(x, y):
        x[1:] = np.spacing(x[:-1])
        np.nextafter(x, 9, out=x, where=y > 2)
        return x[0] * 2

    x, y = np.linspace(0.5, 4, 20).reshape(5, 4), np.linspace(3, 0.75, 20).reshape(5, 4)
    mine, f = x.copy(), axiomjit.jit(function, strict=True)
    for _ in range(3):
        np.testing.assert_array_equal(f(mine, y), function(x, y))
        np.testing.assert_array_equal(mine, x)


def test_no_row_is_taken_for_a_step():
    assert not {f"numpy.{name}" for name in NUMPYS} & set(PRIMITIVES)


def test_steps_are_counted_named_and_between_kernels(golden):
    x = np.linspace(0.5, 4, 20).reshape(5, 4)
    f = axiomjit.jit(lambda x: np.sqrt(np.spacing(x * 2) + 1) * np.nextafter(x, 0))
    before = axiomjit.stats()
    f(x), f(x)
    after = axiomjit.stats()
    assert after["opaque_calls"] - before["opaque_calls"] == 4
    assert after["fallbacks"] == before["fallbacks"]
    assert "numpy.spacing" in str(f.explain(x))
    golden(f"{f.lower(x).loops}\n{f.lower(x).plan}")


def test_the_policy_rules(monkeypatch):
    x = np.linspace(0.5, 4, 5)
    monkeypatch.setattr(axiomjit.config, "fallback", "error")
    with pytest.raises(UnsupportedError, match=r"spacing, which is not compiled"):
        axiomjit.jit(lambda x: np.spacing(x))(x)
    monkeypatch.setattr(axiomjit.config, "fallback", "warn")
    f = axiomjit.jit(lambda x: np.spacing(x))
    np.testing.assert_array_equal(f(x), np.spacing(x))
    assert "in NumPy" not in repr(f)
    with pytest.warns(FallbackWarning, match="vectorized.*not known"):
        axiomjit.jit(lambda x: np.frompyfunc(abs, 1, 1)(x))(x)


ERRORS = {
    "shapes": (lambda x: np.nextafter(x, x[:2]), GraphValueError, "lengths 5 and 2"),
    "dtypes": (lambda x: np.nextafter(x + 1j, x), GraphTypeError, "not supported"),
    "object": (lambda x: np.frompyfunc(abs, 1, 1)(x), NeedsValuesError, "not known"),
    "mask": (lambda x: np.nextafter(x, 0, where=x), GraphTypeError, "array of bools"),
    "option": (lambda x: np.nextafter(x, 0, order="F"), UnsupportedError, "order"),
    "no loop": (lambda x: np.nextafter(x, 0, dtype=int), GraphTypeError, "No loop"),
    "too large": (
        lambda x: np.gcd(x.astype("i1"), 300),
        OverflowError,
        "300 out of bounds for int8",
    ),
}


@pytest.mark.parametrize("name", ERRORS)
def test_errors(name):
    function, kind, text = ERRORS[name]
    with pytest.raises(kind, match=text):
        axiomjit.jit(function, strict=True)(np.linspace(0.5, 4, 5))


def test_a_wrong_step_would_be_seen(monkeypatch):
    """The tables above can fail: a ufunc that gives other values in steps is found."""
    from axiomjit.graph.external_calls import UfuncCall

    right = UfuncCall.__call__

    def wrong(self, operands, labels, out):
        right(self, operands, labels, out)
        out[...] = out + 1

    monkeypatch.setattr(UfuncCall, "__call__", wrong)
    with pytest.raises(AssertionError):
        check(lambda x: np.nextafter(x, 0), [np.linspace(0.5, 4, 5)])
