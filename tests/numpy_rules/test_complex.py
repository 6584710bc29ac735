"""Complex arrays give what NumPy gives: views of parts, weak numbers, folds, special values."""

import functools
import itertools
import operator
import warnings

import numpy as np
import pytest
from numpy.exceptions import ComplexWarning

import axiomjit
from axiomjit.base.errors import UnsupportedError
from tests.numpy_rules.test_numpy_agreement import LAYOUTS, arrange, assert_alike, check, pairs
from tests.runtime.codegen.kernels import same_bits

RNG = np.random.default_rng(7)
WHOLE = RNG.integers(-3, 4, (2, 6, 7)) / 2
X = WHOLE[0] + 1j * WHOLE[1]

VIEWS = {
    "parts": lambda x: (x.real, x.imag, np.real(x), np.imag(x)),
    "of views": lambda x: (x.T.real, x[::2, 1:].imag, x[::-1].real, x[1].imag, x[0, 0].real),
    "views of them": lambda x: (x.real.T, x.imag[1:, ::-2], x.real[2], x.real.real, x.imag.real),
    "reshaped": lambda x: (x.real.reshape(3, 14), x.reshape(-1).imag, x.T.imag.ravel()),
    "read-only": lambda x: (np.broadcast_to(x, (3, 6, 7)).imag, np.diagonal(x.real), x.real.imag),
    "themselves": lambda x: (x.real.conj(), x.real.conjugate(), x.imag.real),
}


@pytest.mark.parametrize("layout", ["C", "strided", "negative", "read-only"])
@pytest.mark.parametrize("name", VIEWS)
def test_parts_are_views_of_the_argument(name, layout):
    x = arrange(X, layout)
    for result, want in pairs(check(VIEWS[name], x), VIEWS[name](x)):
        assert np.shares_memory(result, x) == np.shares_memory(want, x)
        if isinstance(want, np.ndarray):
            assert result.strides == want.strides
            assert result.flags.writeable == want.flags.writeable


def test_writes_to_a_part_reach_the_argument():
    x = X.copy()
    real, imag = axiomjit.jit(lambda x: (x.real[1:], x.imag.T))(x)
    real[0, 0], imag[2, 1] = 50, -7
    assert x[1, 0].real == 50
    assert x[1, 2].imag == -7


def test_writing_parts_is_compiled():
    def function(x):
        x.imag = 3
        return x

    x = X.copy()
    assert axiomjit.jit(function, strict=True)(x) is x
    np.testing.assert_array_equal(x.imag, 3)


def test_parts_of_results_are_views_of_them():
    y, real, imag = check(lambda x: (y := x * 2, y.real, y.imag[::2]), X)
    assert np.shares_memory(y, real)
    assert np.shares_memory(y, imag)


@pytest.mark.parametrize("way", ["compiled", "evaluated"])
def test_parts_are_read_where_they_are_used(way, monkeypatch):
    monkeypatch.setattr(axiomjit.config, "disable", way == "evaluated")

    def function(x):
        square = x.real * x.real + x.imag**2
        return square, x.real.sum(axis=0), x.T.imag @ x.real, (x * x).imag - 1, x.real[::2].max()

    check(function, X, tolerance=1e-15)
    assert np.shares_memory(axiomjit.jit(lambda x: x[1].imag)(X), X)


NUMBERS = [2j, complex(-0.0, np.inf), np.complex64(1 + 2j)]
WEAK = {
    "argument": lambda x, z: (x * z, z - x, x / z, z == x, np.maximum(x, z), np.where(x > 0, x, z)),
    "alone": lambda x, z: (x * (z * z), x + (z + 1), x - z.real, x * z.imag, x * z.conjugate()),
    "literal": lambda x, z: (x * 1j, x + (1 + 2j) * z, 1j - x, x**2 + 0.5j, np.add(x, 3j)),
}


@pytest.mark.parametrize("dtype", ["f4", "c8", "c16", "i4"])
@pytest.mark.parametrize("name", WEAK)
def test_complex_numbers_are_weak_and_numpys_are_strong(name, dtype):
    x = np.arange(1, 10).astype(dtype)
    f = axiomjit.jit(WEAK[name])
    for z in NUMBERS:
        with np.errstate(all="ignore"):
            want = WEAK[name](x, z)
        assert_alike(f(x, z), want, 1e-6 if x.dtype.itemsize < 8 else 1e-15)


def test_numbers_that_come_back():
    assert axiomjit.jit(lambda z: z)(1 + 2j) == 1 + 2j
    assert axiomjit.jit(lambda z: (z.real, z.imag, -z))(1 + 2j) == (1, 2, -1 - 2j)
    check(lambda x, z: (x.conj(), z + x), np.array(1 + 2j), np.complex64(2j))


ELEMENTWISE = {
    "arithmetic": lambda x: ((x - 1.5j) * x + 2 / x, -x, +x, x / (2 - x), np.reciprocal(x)),
    "parts": lambda x: (x.real - x.imag, x.conj(), np.conj(x.real), np.square(x)),
    "order": lambda x: (x > 0.5, x <= x[:1], x != x[:, :1], np.fmax(x, 1j), np.minimum(x, x[::-1])),
    "tests": lambda x: (np.isnan(x), np.isfinite(x), np.logical_not(x), x.astype(bool)),
    "scalar": lambda x: (np.sqrt(x), np.sign(x), np.rint(x), x**3, np.clip(x, 0, 1 + 1j)),
    "folds": lambda x: (x.max(axis=-1), x.min(), x.any(axis=0), x.all(), np.count_nonzero(x)),
}
COMPILED = {name: axiomjit.jit(f) for name, f in ELEMENTWISE.items()}


def sample(dtype):
    x = (RNG.normal(size=(6, 7)) + 1j * RNG.normal(size=(6, 7))).astype(dtype)
    x[0, :4] = complex(np.nan, 1), complex(1, np.inf), complex(-0.0, 0.0), 0
    return x


@pytest.mark.parametrize(
    ("layout", "dtype"), [*((layout, "c16") for layout in LAYOUTS), ("C", "c8"), ("strided", "c8")]
)
@pytest.mark.parametrize("name", ELEMENTWISE)
def test_bits_in_every_layout(name, layout, dtype):
    x = arrange(sample(dtype), layout)
    before = x.copy()
    with np.errstate(all="ignore"):
        want = ELEMENTWISE[name](x)
    for result, expected in pairs(COMPILED[name](x), want):
        assert type(result) is type(expected)
        assert same_bits(np.asarray(result), np.asarray(expected))
        assert not np.shares_memory(result, x)
    assert same_bits(x, before)


@pytest.mark.parametrize("dtype", ["c8", "c16"])
def test_absolute_values_are_those_of_dense_arrays(dtype):
    x = sample(dtype)
    check(lambda x: abs(x), x)
    flipped = axiomjit.jit(lambda x: abs(x[:, ::-1]))(x)  # NumPy calls hypot for this layout
    assert same_bits(flipped, abs(x)[:, ::-1])


ENDS = [0.0, -0.0, 1.0, -2.5, np.inf, np.nan]
EXPONENTS = [*range(-4, 9), 50, 99, -99, 100, 0.5, -1.5, 2j, 1 + 1j, complex(3, -0.0), np.nan]


@pytest.mark.parametrize("dtype", ["c8", "c16"])
def test_powers_of_special_values(dtype):
    values = [complex(*parts) for parts in itertools.product(ENDS, ENDS)] + [3 - 2j, 1.1 + 0.3j]
    pairs_of = list(itertools.product(values, EXPONENTS))
    x, y = (np.array(column, dtype) for column in zip(*pairs_of, strict=True))
    with np.errstate(all="ignore"):
        want = np.power(x, y)
    assert same_bits(axiomjit.jit(np.power)(x, y), want)


def reductions(x):
    return (
        *(x.sum(), x.sum(axis=0), x.sum(axis=1, keepdims=True), x.sum(initial=2j, where=x > 0)),
        *(x.prod(axis=0), np.prod(x[0]), x.prod(axis=1, where=x != 0)),
        *(x.max(axis=0, initial=-1, where=x < 0), x.min(axis=1), np.ptp(x, axis=0), np.trace(x)),
        *(x.mean(), x.mean(axis=0), x.mean(axis=1, where=x > 0), x.any(axis=1), x.all()),
        *(x.var(axis=0), x.std(axis=1, ddof=1), x.var(), x.std(keepdims=True)),
    )


@pytest.mark.parametrize("dtype", ["c8", "c16"])
@pytest.mark.parametrize("layout", ["C", "F", "negative"])
def test_reductions(layout, dtype):
    x = arrange(X.astype(dtype), layout)
    with np.errstate(all="ignore"):
        want = reductions(x)
    assert_alike(REDUCTIONS(x), want, 1e-5 if dtype == "c8" else 1e-13)


REDUCTIONS = axiomjit.jit(reductions)


def widened(x):
    return x.sum(dtype="c16"), x.var(dtype="c16"), x.std(dtype="c16")


def test_dtypes_of_reductions(monkeypatch):
    check(lambda x: (x.sum(dtype="c8"), x.mean(dtype="c8"), x.prod(dtype="c8")), X, tolerance=1e-5)
    check(lambda x: (x.var(dtype="c16"), x.std(dtype="c8")), X, tolerance=1e-6)
    assert_alike(axiomjit.jit(widened)(X.real), widened(X.real), 1e-14)
    monkeypatch.setattr(axiomjit.config, "fallback", "error")
    with pytest.raises(UnsupportedError, match="the option dtype of var"):
        axiomjit.jit(lambda x: x.var(dtype="f8"))(X)
    with pytest.raises(TypeError):
        axiomjit.jit(lambda x: x.sum(initial=1j))(X.real)


@pytest.mark.parametrize("shape", [(0,), (0, 3), (3, 0), (1, 1), ()])
def test_empty_and_small(shape):
    x = np.full(shape, 3 - 1j)
    check(lambda x: (x.sum(), x.prod(), x.any(), x.max(initial=2j), x.sum(axis=-1, initial=-1)), x)
    check(lambda x: (x * 2, x.conj(), np.sqrt(x), x.real + 1, x.imag - 1, x.astype("c8") / 2), x)


@pytest.mark.parametrize("dtype", ["c8", "c16"])
def test_long_sums_are_as_accurate_as_numpys(dtype):
    x = (RNG.normal(size=100_003) + 1j * RNG.normal(size=100_003) + 1).astype(dtype)
    exact = x.astype("G").sum()
    total, product = axiomjit.jit(lambda x: (x.sum(), (x * x.conj()).sum()))(x)
    assert abs(total - exact) <= max(abs(x.sum() - exact), np.finfo(dtype).eps * abs(exact))
    squares = (x.real.astype("g") ** 2 + x.imag.astype("g") ** 2).sum()
    assert abs(product - squares) <= 4 * np.finfo(dtype).eps * squares


def test_maxima_of_many_are_lexicographic_and_keep_the_first_nan():
    x = (np.arange(200_000) % 9973 + 1j * (np.arange(200_000) % 7)).astype("c16")
    f = axiomjit.jit(lambda x: (x.max(), x.min()))
    assert_alike(f(x), (x.max(), x.min()))
    x[[150_000, 70_000]] = complex(np.nan, 1), complex(2, np.nan)
    for got, want in zip(f(x), (x.max(), x.min()), strict=True):
        assert same_bits(np.asarray(got), np.asarray(want))


@pytest.mark.parametrize("dtype", ["i4", "f4", "f2"])
def test_dropping_the_imaginary_part_warns_at_the_users_line_once(dtype):
    f = axiomjit.jit(lambda x: x.astype(dtype))
    with pytest.warns(ComplexWarning, match="discards the imaginary part") as caught:
        result = f(X)
    assert [w.filename for w in caught] == [__file__]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert_alike(f(X), result)
    assert_alike(result, X.real.astype(dtype))
    with pytest.warns(ComplexWarning):
        assert axiomjit.jit(lambda x: x.sum(dtype="f8"))(X) == X.real.sum()


def test_held_arrays_and_static_numbers():
    held = X.copy()
    f = axiomjit.jit(lambda x, z: x * held + z, static_argnames="z")
    assert_alike(f(X, 2j), X * held + 2j)
    assert_alike(f(X, complex(0, -0.0)), X * held)
    held += 1j
    assert_alike(f(X, 2j), X * held + 2j)


def test_elements_apart_by_one_and_a_half_of_their_size():
    records = np.zeros(5, [("a", "c16"), ("b", "f8")])
    records["a"] = X[0, :5]
    check(lambda x: (x * 2, x.real + 1, x.sum()), records["a"])


def test_several_wide_scalars_lie_side_by_side():
    x = np.arange(5, dtype="c8")
    numbers = (1j, 2.5, np.complex64(3 + 1j), np.complex128(-1j), np.int8(-3), np.float16(0.5))

    def function(x, *numbers):
        return functools.reduce(lambda total, number: total * number + x, numbers, x)

    check(function, x, *numbers, tolerance=1e-15)


@pytest.mark.parametrize("z", [1j, 2.0, np.complex128(1j), np.array([1j, 2])], ids=repr)
@pytest.mark.parametrize(
    "compare",
    [
        *(lambda z: z < 3, lambda z: z < 3, lambda z: z <= 2.5, lambda z: z >= z * 2),
        *(lambda z: -z > 1, lambda z: z > True, lambda z: z < abs(z), lambda z: z == 3),
        *(lambda z: np.less(z, 3), lambda z: z < np.float64(3), lambda z: np.float64(3) < z),
    ],
)
def test_complex_numbers_of_python_have_no_order(compare, z, in_numpy):
    try:
        wanted = compare(z)
    except TypeError:
        with pytest.raises(TypeError, match="not supported between instances of"):
            axiomjit.jit(compare)(z)
    else:
        np.testing.assert_array_equal(axiomjit.jit(compare)(z), wanted)


NAN = float("nan")
COMPARED = [1 + 1j, complex(1, NAN), complex(NAN, 1), complex(NAN, NAN), 1 + 2j, 2 + 1j, -0.0 + 1j]


@pytest.mark.parametrize("name", ["lt", "le", "gt", "ge"])
def test_numbers_are_ordered_as_numpy_orders_numbers(name):
    """Unlike arrays, complex NumPy numbers are compared part by part: a NaN decides in its part."""
    compare = getattr(operator, name)

    def function(x, a, b):
        return (compare(a, b), compare(a, 1.0), compare(1.0, b), compare(x[0], b), compare(x, b))

    compiled = axiomjit.jit(function, strict=True)
    for a, b in itertools.product(map(np.complex128, COMPARED), repeat=2):
        x = np.array([a, b])
        with np.errstate(invalid="ignore"):
            found, want = compiled(x, a, b), function(x, a, b)
        assert [type(one) for one in found] == [type(one) for one in want]
        assert all(map(np.array_equal, found, want)), (a, b)
