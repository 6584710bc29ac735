"""Folds that skip NaN, weighted averages and covariances: values, warnings and errors of NumPy."""

import itertools
import warnings

import numpy as np
import pytest

import axiomjit
from axiomjit.base.dtypes import DTYPES
from axiomjit.numpy_rules.statistics import NAN_FOLDS
from tests.passes.graphs import (
    as_tuple,
    evaluated,
    follow,
    in_numpy,
    lowered,
    quiet,
    run_plain_case,
)

CODES = sorted(DTYPES)
_DRAWN = np.random.default_rng(4)


def sample(code, shape=(5, 6)):
    """Numbers of a dtype; of floats some NaN, one infinity, a row and a column of NaN."""
    values = _DRAWN.normal(0, 3, shape)
    dtype = DTYPES[code]
    if dtype.kind == "c":
        values = values + 1j * _DRAWN.normal(0, 3, shape)
    values = np.abs(values).astype(dtype) if dtype.kind == "u" else values.astype(dtype)
    if dtype.kind in "fc" and len(shape) == 2:
        values[1, 2], values[3, 4], values[2], values[:, 5] = np.nan, np.inf, np.nan, np.nan
    return values


def tolerance(code):
    return {"f2": 4e-3, "f4": 2e-6, "c8": 2e-6}.get(code, 1e-13)


def assert_near(found, want, rtol):
    for one, other in zip(as_tuple(found), as_tuple(want), strict=True):
        one, other = np.asarray(one), np.asarray(other)
        assert (one.dtype, one.shape) == (other.dtype, other.shape)
        scale = np.max(np.abs(other), initial=0.0, where=np.isfinite(other))
        if other.dtype.kind == "c":
            np.testing.assert_allclose(one.real, other.real, rtol=rtol, atol=rtol * scale)
            one, other = one.imag, other.imag
        np.testing.assert_allclose(one, other, rtol=rtol, atol=rtol * scale)


def assert_as_in_numpy(function, *arguments, rtol=1e-13):
    """The evaluator and the generated source are near NumPy's result."""
    want = in_numpy(function, arguments)
    case = follow(function, *arguments)
    with quiet(), warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        planned = run_plain_case(case, lowered(case).plan)
        every = evaluated(case.graph, case), planned
    for found in every:
        assert_near(tuple(found[: len(want)]), want, rtol)


OPTIONS = [
    {},
    {"axis": 0},
    {"axis": -1, "keepdims": True},
    {"axis": (1, 0)},
    {"axis": None, "keepdims": True},
]


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("code", CODES)
@pytest.mark.parametrize("function", NAN_FOLDS, ids=lambda f: f.__name__)
def test_folds_without_nan(function, code):
    x = sample(code)
    for options in OPTIONS[: 5 if code in ("f8", "c8") else 3]:
        if function is np.nanprod and code in ("f2", "i8", "u8"):
            x = x[:2]
        assert_as_in_numpy(
            lambda x, options=options: function(x, **options), x, rtol=tolerance(code)
        )


def layouts():
    x = sample("f8")
    yield from (np.asfortranarray(x), x[::-1, ::2], x.T, np.broadcast_to(x[0], (3, 6)))
    yield from (x[0], sample("f8", ()), sample("f8", (2, 3, 4)).transpose(1, 2, 0), x[:, :0])


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("function", NAN_FOLDS, ids=lambda f: f.__name__)
def test_layouts(function):
    for x in layouts():
        if x.size:
            assert_as_in_numpy(function, x)
        if x.ndim > 1:
            assert_as_in_numpy(lambda x: function(x, axis=0), x)


MORE = {
    "dtype": lambda x: (np.nansum(x, dtype="f4"), np.nanmean(x, 0, "f8"), np.nanprod(x, 1, "c16")),
    "where": lambda x: (np.nansum(x, 0, where=x > 0), np.nanmean(x, where=x < 1)),
    "initial": lambda x: (np.nansum(x, initial=2.0), np.nanprod(x[:2], initial=0.5)),
    "freedom": lambda x: (
        np.nanvar(x, ddof=1),
        np.nanstd(x, 0, correction=2),
        np.nanvar(x, 1, ddof=5),
    ),
    "dtype of spreads": lambda x: (np.nanvar(x, dtype="f8"), np.nanstd(x, 0, "f4")),
    "distances": lambda x: x - np.nanmean(x, axis=1, keepdims=True),
    "chosen": lambda x: np.nansum(x[1]) + np.nanmax(x * 2) - np.nanmin(x[0] - 1),
    "of a list": lambda x: np.nanmax([x[0, 0], x[1, 2], x[0, 1]]),
}


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("code", ["f4", "f8", "f2"])
@pytest.mark.parametrize("name", MORE)
def test_options(name, code):
    rtol = {"f2": 4e-3, "f4": 1e-5}.get(code, 1e-5 if "dtype" in name else 1e-13)
    assert_as_in_numpy(MORE[name], np.where(np.isinf(sample(code)), 1, sample(code)), rtol=rtol)


def shown(function, *arguments):
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        function(*arguments)
    found = [(one.category, str(one.message), one.lineno) for one in seen]
    return [one for one in found if "encountered in" not in one[1]]


WARNING = {
    "nanmax": lambda x: np.nanmax(x, axis=0),
    "nanmin": lambda x: np.nanmin(x),
    "nanmean": lambda x: np.nanmean(x, axis=1) * 2,
    "nanvar": lambda x: np.nanvar(x, axis=0, ddof=1),
    "nanstd": lambda x: np.nanstd(x),
    "two": lambda x: np.nanmean(x) + np.nanmin(x),
    "unused": lambda x: (np.nanmean(x), x * 2)[1],
}


@pytest.mark.parametrize("name", WARNING)
def test_warnings_are_numpys(name):
    f, x = axiomjit.jit(WARNING[name], strict=True), sample("f8")[3:]
    nothing = x * np.nan
    x[:, 5] = 1.0
    for array in (nothing, x, nothing, nothing[:, :2]):
        found, want = shown(f, array), shown(WARNING[name], array)
        if name == "nanstd":  # NumPy names its own line
            found, want = ([one[:2] for one in each] for each in (found, want))
        assert found == want
    assert "numpy.nan" not in str(f.lower(x).graph)


NAN = float("nan")
NUMBERS = {
    "array": np.array(complex(NAN, 1)),
    "complex": np.complex128(complex(NAN, 1)),
    "single": np.complex64(complex(1, NAN)),
    "float": np.float64(NAN),
    "python": complex(NAN, 2),
    "known": np.complex128(3 + 1j),
}
OF_NUMBERS = {
    "nanmin": lambda x: np.nanmin(x),
    "nanmax": lambda x: np.nanmax(x),
    "a list": lambda x: np.nanmin([x, x * 2]),
    "rows": lambda x: np.nanmax([[x, x], [x, x]], axis=0),
}


@pytest.mark.parametrize("name", OF_NUMBERS)
def test_nan_extremes_of_numbers_and_lists(name):
    f = axiomjit.jit(OF_NUMBERS[name], strict=True)
    for x in NUMBERS.values():
        assert [one[:2] for one in shown(f, x)] == [one[:2] for one in shown(OF_NUMBERS[name], x)]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found, want = f(x), OF_NUMBERS[name](x)
        assert type(found) is type(want)
        assert np.asarray(found).tobytes() == np.asarray(want).tobytes()


def test_a_warning_that_is_an_error():
    f, x = axiomjit.jit(lambda x: np.nanmean(x), strict=True), np.full(4, np.nan)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for array in (x, x, np.ones(4)):
            if np.isnan(array).all():
                with pytest.raises(RuntimeWarning, match="Mean of empty slice"):
                    f(array)
            else:
                assert f(array) == 1


AVERAGES = {
    "mean": lambda x, w: (np.average(x), np.average(x, axis=0), np.average(x, 1, keepdims=True)),
    "weights": lambda x, w: (np.average(x, weights=w), np.average(x, 0, w, keepdims=True)),
    "a row of weights": lambda x, w: np.average(x, axis=1, weights=w[0]),
    "a column": lambda x, w: np.average(x, axis=0, weights=w[:, 1], returned=True),
    "turned": lambda x, w: np.average(x, axis=(1, 0), weights=w.T),
    "returned": lambda x, w: (
        *np.average(x, axis=1, returned=True),
        *np.average(x, 0, w, returned=True),
        *np.average(x, weights=w, returned=True),
    ),
    "a list": lambda x, w: np.average(x, axis=0, weights=[1, 2, 3.5, 4, 5]),
}


@pytest.mark.parametrize("code", CODES)
@pytest.mark.parametrize("name", AVERAGES)
def test_averages(name, code):
    x = _DRAWN.uniform(0.5, 9, (5, 6)).astype(code)
    for w in (x[::-1], x.real.astype("f4"), np.arange(1, 31).reshape(6, 5).T):
        assert_as_in_numpy(AVERAGES[name], x, w, rtol=max(tolerance(code), 2e-6))


COVARIANCES = {
    "rows": lambda x, y: np.cov(x),
    "columns": lambda x, y: np.cov(x, rowvar=False),
    "biased": lambda x, y: (np.cov(x, bias=True), np.cov(x, ddof=0), np.cov(x[0], ddof=2)),
    "two": lambda x, y: (np.cov(x, y), np.cov(x[0], y[0]), np.cov(x, y.T[:6].T, False)),
    "one": lambda x, y: np.cov(x[1]),
    "single": lambda x, y: np.cov(x, dtype="c8" if x.dtype.kind == "c" else "f4"),
    "correlations": lambda x, y: (np.corrcoef(x), np.corrcoef(x[0], y[0])),
    "of columns": lambda x, y: (np.corrcoef(x, y, rowvar=False), np.corrcoef(x[0])),
}


@pytest.mark.parametrize("code", CODES)
@pytest.mark.parametrize("name", COVARIANCES)
def test_covariances(name, code):
    x = _DRAWN.uniform(0, 60, (2, 5, 7)) + (
        1j * _DRAWN.normal(size=(2, 5, 7)) if code[0] == "c" else 0
    )
    x = (x > 30 if code == "b1" else x).astype(code)
    rtol = 2e-5 if name == "single" or code in ("f2", "f4", "c8") else 1e-11
    assert_as_in_numpy(COVARIANCES[name], *x, rtol=rtol)


@axiomjit.jit(strict=True)
def compiled(x, w):
    folds = np.nansum(x, axis=0), np.nanmean(x, axis=1), np.nanvar(x), np.nanmax(x, axis=0)
    return *folds, *np.average(w, 0, w, returned=True), np.cov(w), np.corrcoef(w), np.nanprod(x[0])


def test_compiled():
    plain, w = compiled.__wrapped__, _DRAWN.uniform(1, 2, (5, 6))
    before = axiomjit.stats()
    for code, layout in itertools.product(("f8", "f4"), (np.array, np.asfortranarray)):
        x = layout(sample(code))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)
            assert_near(compiled(x, w), plain(x, w), tolerance(code))
    after = axiomjit.stats()
    assert after["opaque_calls"] == before["opaque_calls"]
    assert after["fallbacks"] == before["fallbacks"]


STEPS = {
    "initial": lambda x: np.nanmax(x, initial=0.0),
    "where": lambda x: np.nanmin(x, where=x > 0, initial=9.0),
    "spread where": lambda x: np.nanvar(x, where=x > 0),
    "mean": lambda x: np.nanstd(x, mean=np.full((1, 1), 0.5)),
    "fraction": lambda x: np.nanvar(x, ddof=0.5),
    "weights": lambda x: np.cov(x, aweights=x[0]),
    "counts": lambda x: np.cov(x, fweights=np.arange(6)),
}


@pytest.mark.parametrize("name", STEPS)
def test_other_options_are_steps(name):
    f, before = axiomjit.jit(STEPS[name], strict=True), axiomjit.stats()["opaque_calls"]
    x = _DRAWN.uniform(1, 2, (5, 6))
    np.testing.assert_allclose(f(x), STEPS[name](x), rtol=1e-12)
    assert axiomjit.stats()["opaque_calls"] > before


ERRORS = {
    "weights": (lambda x: np.average(x, weights=x - x), ZeroDivisionError, "sum to zero"),
    "a column": (lambda x: np.average(x, 0, x > 3), ZeroDivisionError, "sum to zero"),
    "shapes": (lambda x: np.average(x, 0, x[0]), ValueError, "consistent"),
    "no axis": (lambda x: np.average(x, weights=x[0]), TypeError, "Axis must be specified"),
    "dtype": (lambda x: np.nanmean(x, dtype=int), TypeError, "must be inexact"),
    "nothing": (lambda x: np.nanmax(x[:0]), ValueError, "max"),
    "dimensions": (lambda x: np.cov(x[None]), ValueError, "more than 2 dimensions"),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", ERRORS)
def test_errors(name):
    function, kind, text = ERRORS[name]
    x = np.arange(6.0).reshape(2, 3)
    f = axiomjit.jit(function)
    for _ in range(2):
        with pytest.raises(kind, match=text):
            f(x)


@pytest.mark.filterwarnings("ignore:divide by zero", "ignore:invalid value")
def test_no_degrees_of_freedom():
    f, x = axiomjit.jit(lambda x: np.cov(x)), np.ones((3, 1))
    with pytest.warns(RuntimeWarning, match="Degrees of freedom <= 0"):
        assert np.isnan(f(x)).all()
