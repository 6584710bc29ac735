"""Byte order: what is not native runs in NumPy, so that all of NumPy's rules for it hold."""

import warnings

import numpy as np
import pytest

import axiomjit
from axiomjit.base.config import config
from axiomjit.base.errors import FallbackWarning, NeedsValuesError

SWAPPED = np.arange(6.0).astype(">f8")
MATRIX = np.arange(6, dtype=">i4").reshape(2, 3)
PLAIN = np.arange(6.0)
OUTSIDE = np.ones(6, ">f8")
EXPRESSIONS = """
x.dtype
x.dtype.isnative
x if x.dtype == ">f8" else x * 2
x.copy()
x + 0
x * x
x[1:]
x.T
x.astype(x.dtype)
x.astype("f8")
x.astype(x.dtype.newbyteorder())
np.sort(x)
np.concatenate([x, x])
np.where(x > 1, x, 0)
np.zeros_like(x)
np.empty_like(x).dtype
np.asarray(x, dtype="f4")
x.sum()
x.max()
x.cumsum()
x.ravel()
np.take(x, [0])
np.maximum(x, x)
np.diag(x[:1])
np.pad(x, 1)
(x, x[:])
"""
WANTED = """
x.astype(">f4")
x.astype(dtype=np.dtype("f8").newbyteorder())
np.asarray(x, dtype=">f8")
np.array(x, ">c16")
np.zeros(2, ">i2")
np.zeros(x.shape, ">i2")
np.ones(2, dtype=">f8") + x[:2]
np.full(2, x[0], ">f4")
np.zeros_like(x, dtype=">f4")
np.full_like(x, 2, dtype=">i4")
np.arange(3, dtype=">i4")
np.arange(len(x), dtype=">i4")
np.linspace(0, 1, 3, dtype=">f8")
np.eye(2, dtype=">f8")
np.identity(2, ">f8")
np.array([x[0], 1], ">f4")
np.ascontiguousarray(x, ">f4")
x.sum(dtype=">f8")
x.cumsum(dtype=">f4")
x.mean(axis=0, dtype=">f8")
np.add.reduce(x, dtype=">f8")
np.concatenate([x, x], dtype=">f8")
np.stack([x, x], dtype=">f4")
x.view(">f8")
np.frombuffer(b"12345678", ">f8")
np.fromiter((1, 2), ">f8")
x + OUTSIDE
x[OUTSIDE > 0]
OUTSIDE[1:]
OUTSIDE
"""


def function_of(expression):
    space = {"np": np, "OUTSIDE": OUTSIDE}
    exec(f"def function(x):\n    return {expression}", space)  # noqa: S102
    return space["function"]


def outcome(function, x):
    """The values and dtypes of a result, or the class of its error."""
    try:
        made = function(x)
    except Exception as error:
        return type(error).__name__
    parts = made if isinstance(made, tuple) else (made,)
    kinds = [(one.dtype.str, one.tolist()) for one in parts if hasattr(one, "tolist")]
    return kinds or made


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("x", [SWAPPED, MATRIX], ids=["vector", "matrix"])
def test_calls_with_byteswapped_arrays_are_those_of_numpy(x, in_numpy):
    for expression in EXPRESSIONS.split("\n")[1:-1]:
        function = function_of(expression)
        compiled = axiomjit.jit(function)
        found = [outcome(compiled, x) for _ in range(2)]
        assert found == [outcome(function, x)] * 2, expression


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("expression", WANTED.split("\n")[1:-1])
def test_byte_orders_that_are_asked_for(expression, in_numpy, monkeypatch):
    monkeypatch.setattr(config, "fallback", "allow")  # view
    function = function_of(expression)
    compiled = axiomjit.jit(function)
    assert [outcome(compiled, PLAIN) for _ in range(2)] == [outcome(function, PLAIN)] * 2


def test_one_warning_says_so_and_native_calls_stay_compiled():
    compiled = axiomjit.jit(lambda x: x * 2)
    before = axiomjit.stats()["fallbacks"]
    with pytest.warns(FallbackWarning, match="not native"):
        assert compiled(SWAPPED).tolist() == compiled(PLAIN).tolist()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(2):
            assert compiled(SWAPPED).tolist() == compiled(PLAIN).tolist()
    assert axiomjit.stats()["fallbacks"] == before + 3
    assert [cause.cause for cause in compiled.cache_info().in_numpy] == ["arguments"]
    with pytest.raises(NeedsValuesError, match="not native"):
        axiomjit.jit(lambda x: x * 2, strict=True)(SWAPPED)
    with pytest.raises(NeedsValuesError, match="not native"):
        axiomjit.jit(lambda x: x.astype(">f4"), strict=True)(PLAIN)
