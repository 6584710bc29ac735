"""Functions of single elements that are no ufuncs: bits as NumPy's, in every dtype and layout."""

import numpy as np
import pytest

import axiomjit
from axiomjit.base.dtypes import DTYPES
from axiomjit.base.errors import FallbackWarning
from tests.graph.test_primitives import VALUES
from tests.numpy_rules.test_numpy_functions import assert_as_in_numpy
from tests.passes.graphs import follow, in_numpy, lowered, quiet, run_plain_case
from tests.runtime.codegen.kernels import near

CODES = sorted(DTYPES)
FUNCTIONS = {
    "round": np.round,
    "round 2": lambda x: np.round(x, 2),
    "around -1": lambda x: np.around(x, decimals=-1),
    "method": lambda x: x.round(1),
    "round far": lambda x: (np.round(x, 400), x.round(-400), x.round(12)),
    "replaced": np.nan_to_num,
    "replaced by": lambda x: np.nan_to_num(x, nan=-7, posinf=1e3, neginf=np.float64(0.1)),
    "replaced by a sum": lambda x: np.nan_to_num(x, nan=(x.real > 0).sum()),
    "close": lambda x: np.isclose(x, x[::-1]),
    "close to a number": lambda x: (np.isclose(x, 1), np.isclose(2.5, x, rtol=0.5, atol=0)),
    "close NaN": lambda x: np.isclose(x, x[::-1], atol=np.float32(1e-3), equal_nan=True),
    "close to a length": lambda x: np.isclose(x, x.shape[0]),
    "close to a bool": lambda x: np.isclose(x, True),
    "all close": lambda x: (np.allclose(x, x), np.allclose(x, x[:1], 0.5, equal_nan=True)),
    "all close to a number": lambda x: (np.allclose(x, 1), np.allclose(2.5, x, atol=1e3)),
    "equal": lambda x: (np.array_equal(x, x[::-1]), np.array_equal(x, x * 1)),
    "equal NaN": lambda x: (np.array_equal(x, x, equal_nan=True), np.array_equal(x, x[::2], True)),
    "equal to others": lambda x: (np.array_equal(x, x.real > 0), np.array_equal(x, [x])),
    "equivalent": lambda x: (np.array_equiv(x, x[:1]), np.array_equiv(x[..., :3], x[:0])),
    "infinite": lambda x: (np.isposinf(x.real), np.isneginf(x.real)),
    "degrees": lambda x: (np.degrees(x.real), np.rad2deg(x.real)),
    "radians": lambda x: (np.radians(x.real), np.deg2rad(x.real)),
    "fabs": lambda x: np.fabs(x.real),
    "heaviside": lambda x: (np.heaviside(x.real, 0.5), np.heaviside(x.real, x.real[::-1])),
}


def layouts(values):
    """The values as a row, as columns in both orders, backward, repeated, empty, as one number."""
    columns = np.stack([values, values[::-1]], axis=1)
    yield from (values, columns, np.asfortranarray(columns), columns[::-1, ::-1])
    yield np.broadcast_to(values, (2, len(values)))
    yield columns[:0]


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("code", CODES)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_bits_are_numpys(name, code):
    function = FUNCTIONS[name]
    values = VALUES[code]
    if "close" in name and code[0] == "c":  # absolute has two formulas in NumPy
        values = values[np.isfinite(values)] if name != "close NaN" else values.real + 0j
        values = values.astype(code)
    if code == "u4" and name in ("round far", "around -1"):
        return  # NumPy's packed cast of what does not fit uint32 is not that of single elements
    for array in layouts(values) if code in ("b1", "i2", "f4", "c16") else (values,):
        assert_as_in_numpy(function, array)


@pytest.mark.parametrize("code", ["b1", "i2", "f8", "c16"])
@pytest.mark.parametrize("name", ["round", "replaced", "infinite", "fabs"])
def test_bits_of_single_numbers(name, code):
    for value in VALUES[code][:6]:
        assert_as_in_numpy(FUNCTIONS[name], np.array(value))


@pytest.mark.parametrize("code", CODES)
@pytest.mark.parametrize(
    "function", [np.angle, lambda x: np.angle(x, deg=True), np.sinc], ids=["angle", "deg", "sinc"]
)
def test_angles_and_sines_are_near(function, code):
    values = VALUES[code]
    if code[0] in "fc":  # far from pi in NumPy's own error
        values = values[np.isfinite(values) & (np.abs(values) < 1e3)]
    for array in (values, values[::-1]):
        case = follow(function, array)
        want = in_numpy(function, [array])[0]
        with quiet():
            found = run_plain_case(case, lowered(case).plan)[0]
        assert found.dtype == want.dtype
        tiny = 16 * np.finfo(want.dtype).eps
        np.testing.assert_allclose(found, want, rtol=tiny, atol=tiny)
        if function is np.angle and code[0] != "c":
            assert near(found, want, 5)


@pytest.mark.parametrize("code", CODES)
def test_comparisons_of_arrays_are_python_bools(code):
    compared = axiomjit.jit(lambda x, y: (np.allclose(x, y), np.array_equal(x, y)), strict=True)
    equal = axiomjit.jit(lambda x, y: np.array_equal(x, y), strict=True)
    chosen = axiomjit.jit(lambda x, y: x if not np.array_equiv(x, y) else y[::-1], strict=True)
    x = np.array([1, 0, 1]).astype(code)
    for y in (x, x[::-1].copy(), np.array([1, 1, 1]).astype(code), x[:0], x[None], x[:1]):
        for _ in range(3):
            if np.ndim(y) == 1 and len(y):
                assert compared(x, y) == (np.allclose(x, y), np.array_equal(x, y))
            found = equal(x, y)
            assert type(found) is bool
            assert found == np.array_equal(x, y)
            np.testing.assert_array_equal(chosen(x, y), chosen.__wrapped__(x, y))


def test_operators_of_bools_give_bools():
    def function(x):
        one, other = np.allclose(x, 1), np.array_equal(x, x)
        return one & other, one | True, False ^ other, one & (x[0] > 0), one + other

    f = axiomjit.jit(function, strict=True)
    for x in (np.ones(3), np.arange(3.0)):
        assert [(type(n), n) for n in f(x)] == [(type(n), n) for n in function(x)]


def test_lengths_decide_whether_arrays_are_equal():
    f = axiomjit.jit(lambda x, y: np.array_equal(x[x > 0], y[y > 0]))
    x = np.array([1.0, -1.0, 2.0, 3.0])
    for y in (x, x[::-1], x[:3], x[2:], np.array([1.0, 2.0, 3.0]), x[:1] * 0):
        assert f(x, y) is np.array_equal(x[x > 0], y[y > 0])


def test_loops_until_arrays_are_close():
    def halved(x):
        count = 0
        while not np.allclose(x, 0, atol=1):
            x, count = x / 2, count + 1
        return x, count

    f = axiomjit.jit(halved, strict=True)
    for n in (3.0, 0.0, 9.0, 2.0):
        np.testing.assert_array_equal(f(np.full(3, n))[0], halved(np.full(3, n))[0])
        assert f(np.full(3, n))[1] == halved(np.full(3, n))[1]


def test_results_are_in_the_order_of_the_operand():
    x = np.asfortranarray(np.linspace(-2, 2, 12).reshape(3, 4))
    for function in (np.nan_to_num, np.round, np.sinc, np.isposinf, lambda x: x.round(1)):
        assert axiomjit.jit(function)(x).strides == function(x).strides


@axiomjit.jit(strict=True)
def compiled(x, z, i):
    cleaned = np.nan_to_num(x, nan=0.5, posinf=9.0)
    turned = np.deg2rad(x) + np.heaviside(x, 0.5) + np.fabs(x)
    near = np.isclose(x, cleaned, equal_nan=True), np.isneginf(x)
    rounded = np.round(x, 2), i.round(-1), np.round(z, 1)
    return cleaned, turned, near, rounded, np.nan_to_num(z)


def test_compiled():
    plain = compiled.__wrapped__
    for x, z in [(VALUES["f8"], VALUES["c16"]), (VALUES["f4"], VALUES["c8"])]:
        for i in (VALUES["i8"], VALUES["i2"][::-1]):
            with np.errstate(all="ignore"):
                want = plain(x, z, i)
            found = compiled(x, z, i)
            for one, other in zip(leaves(found), leaves(want), strict=True):
                assert one.dtype == other.dtype
                np.testing.assert_array_equal(one, other)
    assert "numpy." not in str(compiled.lower(VALUES["f8"], VALUES["c16"], VALUES["i8"]).graph)


def leaves(value):
    return [leaf for part in value for leaf in leaves(part)] if type(value) is tuple else [value]


def test_results_are_fresh_arrays():
    x = np.arange(4)
    for function in (lambda x: np.round(x, 1), lambda x: x.round(-1), np.nan_to_num):
        assert not np.shares_memory(axiomjit.jit(function)(x), x)


def test_results_in_given_arrays():
    def function(x, y, mask):
        np.round(x * 2, 1, out=y)
        np.isposinf(x, mask)
        return np.nan_to_num(x), np.deg2rad(x, out=x)

    arrays = np.array([1.23, np.inf, 2.34]), np.zeros(3), np.zeros(3, bool)
    mine = [array.copy() for array in arrays]
    for one, want in zip(
        axiomjit.jit(function, strict=True)(*mine), function(*arrays), strict=True
    ):
        np.testing.assert_array_equal(one, want)
    for one, want in zip(mine, arrays, strict=True):
        np.testing.assert_array_equal(one, want)


STEPS = {
    "tolerances": lambda x: np.isclose(x, 1, rtol=x[0]),
    "an array of tolerances": lambda x: np.isclose(x, 1, atol=np.full(3, 0.1)),
    "an array of replacements": lambda x: np.nan_to_num(x, nan=np.array([1.0, 2.0, 3.0])),
}


@pytest.mark.parametrize("name", STEPS)
def test_other_options_are_steps(name):
    f, x = axiomjit.jit(STEPS[name], strict=True), np.array([1.0, np.nan, 2.34])
    before = axiomjit.stats()["opaque_calls"]
    np.testing.assert_array_equal(f(x), STEPS[name](x))
    assert axiomjit.stats()["opaque_calls"] > before


def test_tolerances_that_numpy_warns_of():
    f = axiomjit.jit(lambda x: np.isclose(x, 1, rtol=np.inf))
    with pytest.warns(RuntimeWarning, match="rtol or atol is not valid"):
        np.testing.assert_array_equal(f(np.arange(3.0)), [True, True, True])


@pytest.mark.filterwarnings(f"ignore::{FallbackWarning.__module__}.FallbackWarning")
def test_errors_are_numpys():
    with pytest.raises(TypeError, match="ambiguous"):
        axiomjit.jit(np.isposinf)(np.array([1j]))
    with pytest.raises(TypeError, match="output"):
        axiomjit.jit(lambda x: np.round(x, 2))(np.array([True]))
