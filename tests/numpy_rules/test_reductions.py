"""Folds over axes with their options give what NumPy gives: values, dtypes, shapes, errors."""

import numpy as np
import pytest

import axiomjit
from tests.numpy_rules.test_numpy_agreement import arrange, assert_alike, check, pairs
from tests.runtime.codegen.kernels import same_bits

RNG = np.random.default_rng(11)
X = RNG.integers(-3, 4, (6, 7)).astype("f8") / 2
FOLDS = {
    "products": lambda x: (x.prod(), np.prod(x, axis=0), x.prod(axis=-1, keepdims=True)),
    "tests": lambda x: (x.any(), np.all(x, axis=0), (x > 1).any(axis=1), np.all(x > -9)),
    "masked": lambda x: (
        x.sum(where=x > 0),
        x.max(axis=0, initial=-1, where=x < 0),
        np.min(x, axis=1, initial=0.5, where=x[0] > 0, keepdims=True),
        np.prod(x, axis=0, where=x != 0, initial=2),
        np.any(x > 1, where=x < 0, axis=0),
        x.all(where=x != 0),
    ),
    "counted": lambda x: (
        np.count_nonzero(x, axis=0),
        np.ptp(x, axis=1),
        np.ptp(x),
        np.trace(x),
        x.trace(1),
        x.mean(where=x > 0),
    ),
}
COMPILED = {name: axiomjit.jit(f) for name, f in FOLDS.items()}


@pytest.mark.parametrize("layout", ["C", "F", "strided", "negative", "broadcast"])
@pytest.mark.parametrize("name", FOLDS)
def test_bits_in_every_layout(name, layout):
    x = arrange(X, layout)
    assert_alike(COMPILED[name](x), FOLDS[name](x), 1e-15)
    for got, want in pairs(COMPILED[name](x), FOLDS[name](x)):
        assert not isinstance(want, np.ndarray) or got.flags.c_contiguous


DTYPES = ["?", "i1", "i4", "i8", "u1", "u4", "u8", "f4", "f8", "c8", "c16"]


@pytest.mark.parametrize("dtype", DTYPES)
def test_results_have_numpys_dtypes(dtype):
    x = (np.arange(6) % 3).reshape(2, 3).astype(dtype)

    def function(x):
        folds = (x.sum(axis=0), x.prod(axis=0), x.max(), x.any(axis=0), x.all(), x.mean())
        return *folds, np.count_nonzero(x, axis=1), x.sum(initial=2), x.prod(initial=1)

    check(function, x)


@pytest.mark.parametrize("dtype", ["i1", "u2", "i8", "f4", "f8"])
def test_dtype_decides_what_is_computed_in(dtype):
    def function(x, y):
        return x.sum(dtype=dtype), y.prod(axis=1, dtype=dtype), np.add.reduce(y, dtype=dtype)

    check(function, X, np.arange(12).reshape(3, 4) + 3, tolerance=1e-15)
    if dtype[0] == "f":
        check(lambda y: (y.mean(dtype=dtype), y.std(dtype=dtype)), np.arange(12), tolerance=1e-6)


@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_spreads(dtype):
    def function(x):
        rows = (np.var(x, axis=1), x.std(axis=0, ddof=1), x.var(axis=0, keepdims=True))
        return *rows, np.std(x), np.var(x, correction=1), (x > 0).std()

    x = RNG.normal(size=(6, 7)).astype(dtype)
    check(function, x, tolerance=1e-6 if dtype == "f4" else 1e-14)


@pytest.mark.filterwarnings("ignore:Degrees of freedom")
def test_too_few_degrees_of_freedom():
    check(lambda x: (x.var(ddof=42), x.std(axis=1, ddof=9), np.var(x[0] * 0, ddof=7)), X)


def test_nan_is_true_and_zeros_are_false():
    x = np.array([[np.nan, 0.0, -0.0], [np.inf, 0.0, 1.0]])
    check(lambda x: (x.any(axis=0), x.all(axis=0), x.any(axis=1), np.all(x, axis=1)), x)


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8"])
def test_extremes_have_the_sign_of_their_zeros_and_no_nan_is_lost(dtype):
    rng = np.random.default_rng(2)
    function = axiomjit.jit(lambda x: (x.max(axis=1), x.min(axis=1), x.max(axis=0), x.max()))
    for choice in ([0.0, -0.0], [0.0, -0.0, -0.0, -3.0], [0.0, -0.0, 3.0], [-0.0], [0.5, -0.5]):
        for length in (1, 3, 8, 70):
            x = rng.choice(choice, (40, length)).astype(dtype)
            x[rng.random(40) < 0.2, rng.integers(0, length)] = rng.choice([np.nan, -np.nan])
            highest, lowest, down, whole = function(x)
            for found, rows in (
                (highest, x),
                (-lowest, -x),
                (down, x.T),
                (whole, x.reshape(1, -1)),
            ):
                wanted = np.array([exact_max(row) for row in rows], dtype)
                assert same_bits(np.atleast_1d(found), wanted)


def exact_max(row):
    """NaN if there is one, else the largest number, +0 above -0."""
    if np.isnan(row).any():
        return np.nan
    return max(row.tolist(), key=lambda v: (v, not np.signbit(v)))


@pytest.mark.parametrize("shape", [(0,), (0, 3), (3, 0), (1, 1), ()])
def test_empty_and_small(shape):
    x = np.full(shape, 3.0)
    check(lambda x: (x.prod(), x.any(), x.all(axis=-1), x.max(initial=2), x.min(initial=4.5)), x)
    check(lambda x: (x.prod(axis=()), x.sum(axis=(), initial=1.0), x.any(axis=())), x)
    check(lambda x: (x.sum(where=x > 5), x.sum(axis=-1, keepdims=True, initial=-1)), x)


def test_ufunc_reduce_has_the_options_of_the_functions():
    def function(x):
        return (
            np.multiply.reduce(x),
            np.logical_or.reduce(x, axis=1),
            np.logical_and.reduce(x, axis=None),
            np.maximum.reduce(x, axis=1, initial=1, where=x > 0, keepdims=True),
            np.add.reduce(x > 0),
            np.minimum.reduce(x, axis=None, dtype="f4"),
        )

    check(function, X)


def test_initial_may_be_traced_and_is_in_the_results_dtype():
    def function(x, k, r, z):
        return x.sum(initial=k), x.max(axis=0, initial=r), x.prod(initial=z), np.sum(x, initial=0.9)

    for x in (X, X.astype("i8"), X.astype("f4")):
        check(function, x, 3, 1.5, np.array(2.0), tolerance=1e-6)


def test_long_products_stay_accurate():
    x = 1 + RNG.normal(size=(3_001, 67)) * 1e-3
    exact = np.prod(x.astype(np.longdouble), axis=0)
    got, row, total = axiomjit.jit(lambda x: (x.prod(axis=0), x.T.prod(axis=1), x.prod()))(x)
    np.testing.assert_allclose(got, exact.astype("f8"), rtol=1e-13)
    np.testing.assert_array_equal(got, row)
    np.testing.assert_allclose(total, exact.prod().astype("f8"), rtol=1e-12)


WRONG = {
    "initial of max": lambda x: x[:0].max(),
    "mask of max": lambda x: x.max(where=x > 0),
    "float mask": lambda x: x.sum(where=x),
    "wider mask": lambda x: x[:1].sum(where=x > 0),
    "initial with dimensions": lambda x: x.sum(initial=x[0]),
    "nan as int": lambda x: (x > 0).sum(initial=np.nan),
    "axis": lambda x: x.prod(axis=2),
    "axes": lambda x: np.any(x, axis=(0, 0)),
    "ddof and correction": lambda x: np.std(x, ddof=1, correction=1),
    "bools": lambda x: np.ptp(x > 0),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_options_raise_what_numpy_raises(name):
    with pytest.raises((ValueError, TypeError)) as expected:
        WRONG[name](X)
    with pytest.raises(expected.type):
        axiomjit.jit(WRONG[name])(X)


@pytest.mark.parametrize(
    ("function", "option"),
    [
        (lambda x: x.var(where=x > 0), "where"),
        (lambda x: x.std(ddof=0.5), "ddof"),
        (lambda x: np.var(x, dtype="i8"), "dtype"),
        (lambda x: x.sum(dtype=bool), "dtype"),
    ],
)
@pytest.mark.usefixtures("refusing")
def test_what_is_not_compiled_is_refused_by_name(function, option):
    with pytest.raises(axiomjit.base.errors.UnsupportedError, match=f"the option {option} of"):
        axiomjit.jit(function)(X)


@pytest.mark.parametrize("function", [np.mean, np.var, np.std])
@pytest.mark.parametrize("axis", [0, -1])
def test_a_number_has_no_dimension_to_count_along(function, axis):
    compiled = axiomjit.jit(lambda x: function(x, axis=axis))
    for one in (function, lambda x, axis: compiled(x)):
        with pytest.raises(np.exceptions.AxisError, match=f"axis {axis} is out of bounds"):
            one(np.array(2.0), axis=axis)
    assert axiomjit.jit(lambda x: np.sum(x, axis=axis))(np.array(2.0)) == 2


def negative_zeros(x, mask, start):
    return (
        np.sum(x, initial=-0.0),
        np.sum(x, axis=1, initial=-0.0),
        np.sum(x, axis=1, initial=0.0),
        np.sum(x, axis=1, initial=start),
        np.add.reduce(x, initial=-0.0, where=mask),
    )


@pytest.mark.parametrize("code", ["f8", "f4", "c16"])
@pytest.mark.parametrize("shape", [(3, 1500), (3, 0)])
def test_sums_of_negative_zeros(code, shape):
    function = axiomjit.jit(negative_zeros, strict=True)
    zero = -np.dtype(code).type(0)
    for at, value, start in ((0, 0.0, -0.0), (0, zero, -0.0), (-1, 0.0, 0.0), (1, 1, -0.0)):
        x, mask = np.full(shape, zero), np.ones(shape, bool)
        if x.size:
            x[1, at], mask[2] = value, False
        expected = negative_zeros(x, mask, np.float64(start))
        for found, want in zip(function(x, mask, np.float64(start)), expected, strict=True):
            assert_alike(found, want)
            for part in (np.real, np.imag):
                np.testing.assert_array_equal(np.signbit(part(found)), np.signbit(part(want)))
