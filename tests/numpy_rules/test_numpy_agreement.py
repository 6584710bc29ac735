"""A compiled function gives what NumPy gives: values, bits, dtypes, shapes, strides, aliasing."""

import functools
import math
from collections import namedtuple

import numpy as np
import pytest

import axiomjit

Pair = namedtuple("Pair", "first second")


def arrange(a, layout):
    """The values of `a` in another layout."""
    if layout == "F":
        return np.asfortranarray(a)
    if layout == "strided":
        wide = np.zeros((a.shape[0], 2 * a.shape[1]), a.dtype)
        wide[:, ::2] = a
        return wide[:, ::2]
    if layout == "negative":
        return a[::-1, ::-1].copy()[::-1, ::-1]
    if layout == "transposed":
        return np.ascontiguousarray(a.T).T
    if layout == "broadcast":
        return np.broadcast_to(a[:1], a.shape)
    if layout == "read-only":
        a = a.copy()
        a.flags.writeable = False
    if layout == "misaligned":
        out = np.zeros(a.nbytes + 1, "u1")[1:].view(a.dtype).reshape(a.shape)
        out[...] = a
        return out
    return a


LAYOUTS = (
    *("C", "F", "strided", "negative", "transposed"),
    *("broadcast", "read-only", "misaligned"),
)
CASES = [(layout, "f8") for layout in LAYOUTS]
CASES += [(layout, "f4") for layout in ("C", "negative", "misaligned")]
EXACT = {
    "arithmetic": lambda x: (x - 1.5) * x + 2 / x,
    "roots": lambda x: np.where(x > 0, np.sqrt(np.abs(x)), -x),
    "extremes": lambda x: (np.maximum(x, 0.5), np.minimum(x, x[::-1])),
    "compare": lambda x: (x > 0.5, x <= x[:1], x != x[:, :1]),
    "shifted": lambda x: x[1:, ::2] - x[:-1, ::2],
    "folds": lambda x: (x.max(axis=-1), x.min(), (x > 0).sum(axis=0), (x > 0).sum()),
}
CLOSE = {
    "sums": lambda x: (x.sum(), x.sum(axis=0), x.mean(axis=(0, 1))),
    "rows": lambda x: (x.sum(axis=-1), x.mean(-1, keepdims=True)),
    "product": lambda x: (x.T @ x, x @ x[0], x[1] @ x.T),
}
COMPILED = {name: axiomjit.jit(f) for name, f in (EXACT | CLOSE).items()}


def pairs(got, want):
    """Leaves of two results of the same structure."""
    if isinstance(want, tuple):
        assert type(got) is type(want)
        assert len(got) == len(want)
        return [leaf for g, w in zip(got, want, strict=True) for leaf in pairs(g, w)]
    return [(got, want)]


def assert_alike(got, want, tolerance=0.0):
    """Same types, dtypes, shapes and, up to a tolerance, the same values; NaN equals NaN."""
    for g, w in pairs(got, want):
        assert type(g) is type(w)
        if not isinstance(w, np.ndarray | np.generic):
            assert g == w
            continue
        assert g.dtype == w.dtype
        assert g.shape == w.shape
        if tolerance:
            np.testing.assert_allclose(g, w, rtol=tolerance, atol=tolerance)
        else:
            np.testing.assert_array_equal(g, w)
            if w.dtype.kind == "f":
                np.testing.assert_array_equal(np.signbit(g), np.signbit(w))


def check(function, *args, tolerance=0.0, **kwargs):
    """Run in NumPy and compiled; compare, and return the compiled result."""
    with np.errstate(all="ignore"):
        want = function(*args, **kwargs)
        got = axiomjit.jit(function)(*args, **kwargs)
    assert_alike(got, want, tolerance)
    return got


def sample(dtype):
    x = np.random.default_rng(3).normal(size=(6, 7)).astype(dtype)
    x[0, :3] = np.nan, np.inf, -0.0
    return x


@pytest.mark.parametrize(("layout", "dtype"), CASES)
@pytest.mark.parametrize("name", EXACT)
def test_bits_in_every_layout(name, layout, dtype):
    x = arrange(sample(dtype), layout)
    before = x.copy()
    with np.errstate(all="ignore"):
        want = EXACT[name](x)
    got = COMPILED[name](x)
    assert_alike(got, want)
    np.testing.assert_array_equal(x, before)
    for result, expected in pairs(got, want):
        assert not np.shares_memory(result, x)
        if layout in ("C", "F", "transposed") and name in ("arithmetic", "roots"):
            assert result.strides == expected.strides


@pytest.mark.parametrize(("layout", "dtype"), CASES)
@pytest.mark.parametrize("name", CLOSE)
def test_sums_in_every_layout(name, layout, dtype):
    x = arrange(np.random.default_rng(3).normal(size=(6, 7)).astype(dtype), layout)
    tolerance = 1e-13 if dtype == "f8" else 1e-5
    assert_alike(COMPILED[name](x), CLOSE[name](x), tolerance)


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 1023, 1024, 1025, 65_537, 300_001])
def test_sum_is_within_its_bound_of_the_exact_sum(n):
    x = np.random.default_rng(n).normal(size=n)
    got = total(x)
    # Blocks of 1024 elements in some order, then a tree (design 4.7).
    steps = min(n, 1024) + math.ceil(math.log2(n + 1))
    assert abs(got - math.fsum(x)) <= steps * 2**-53 * math.fsum(abs(x))


total = axiomjit.jit(lambda x: x.sum())


@pytest.mark.parametrize("shape", [(0,), (0, 5), (5, 0), (1,), (1, 1), (1, 6), (6, 1), (2, 3, 2)])
def test_small_and_empty_shapes(shape):
    x = np.arange(math.prod(shape), dtype="f8").reshape(shape) - 1
    check(lambda x: (x + 1, x.sum(), x.sum(axis=0), x > 0), x)
    check(lambda x: x.sum(axis=-1, keepdims=True), x)


def test_empty_max_is_refused_and_empty_mean_is_nan():
    empty = np.zeros((0, 5))
    with pytest.raises(ValueError, match="max"):
        axiomjit.jit(lambda x: x.max())(empty)
    with pytest.raises(ValueError, match="min"):
        axiomjit.jit(lambda x: x.min(axis=0))(empty)
    assert axiomjit.jit(lambda x: x.max(axis=1))(empty).shape == (0,)
    assert math.isnan(axiomjit.jit(lambda x: x.mean())(empty))
    assert np.isnan(axiomjit.jit(lambda x: x.mean(axis=0))(empty)).all()


F4 = np.linspace(-2, 2, 9, dtype="f4")
PROMOTION = {
    "weak literal": lambda x: (x * 2, x + 1.5, 3 / x, np.where(x > 0, x, 0.1), x**2),
    "weak argument": lambda x, n=3, r=0.1: (x * n, x + r, r / x, np.maximum(x, n)),
    "strong scalar": lambda x: (x * np.float64(2), x + np.float32(0.1), np.float64(1) > x),
    "zero": lambda x: (1 / x, x / 0, 0 / x, -(x * 0)),
    "infinite": lambda x: (x * np.inf, np.inf - x, x * np.nan, np.maximum(x, np.nan)),
    "bools": lambda x: ((x > 0) * 2, (x > 0) * 2.0, (x > 0).mean(), x * (x > 0), x + True),
    "casts": lambda x: (x.astype("f8"), x.astype(bool), x.astype(np.float64) / 3, x.astype("f4")),
    "ints": lambda x: (x.astype(np.int64) + 1, x.astype(int) / 2, (x > 0).sum() * 0.5),
    "powers": lambda x: (x**0.5, x**-1, x**1, np.square(x), np.reciprocal(x), +x),
    "where": lambda x: (np.where(x > 0, 1, 0), np.where(x > 0, 1, 2.5), np.where(x, x, 1)),
}


@pytest.mark.parametrize("name", PROMOTION)
@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_promotion_and_special_values(name, dtype):
    check(PROMOTION[name], F4.astype(dtype))


def test_numbers_as_arguments_are_weak_and_numpy_scalars_strong():
    scale = axiomjit.jit(lambda x, s: x * s)
    for s in (2, 2.5, -(2**62), np.float64(2.5), np.float32(2.5), np.array(2.5), np.int64(3)):
        assert_alike(scale(F4, s), F4 * s)


MATRIX = np.arange(42.0).reshape(6, 7)
INDEXING = {
    "rows": lambda x: (x[1], x[-1], x[2:], x[:-2], x[::2], x[::-1], x[-1:0:-2]),
    "both": lambda x: (x[1:4, 2], x[..., 0], x[2, ...], x[:, None, 1:], x[None]),
    "beyond": lambda x: (x[10:], x[:100], x[-100:3], x[5:2], x[4:-10:-1]),
    "numbers": lambda x: (x[1, 2], x[-1, -1]),
    "computed": lambda x: x[: x.shape[0] // 2] + x[x.shape[0] // 2 :],
    "transposed": lambda x: (x.T, x.transpose(1, 0), np.transpose(x, (-1, 0)), x.T[1:]),
}


@pytest.mark.parametrize("name", INDEXING)
def test_views_are_views_of_the_argument(name):
    x = MATRIX.copy()
    for result, want in pairs(check(INDEXING[name], x), INDEXING[name](x)):
        assert np.shares_memory(result, x) == np.shares_memory(want, x)
        if isinstance(want, np.ndarray) and want.size and np.shares_memory(want, x):
            assert result.strides == want.strides
            assert result.flags.writeable


def test_writes_to_a_returned_view_reach_the_argument():
    x = MATRIX.copy()
    axiomjit.jit(lambda x: x[1:].T)(x)[0, 0] = -5
    assert x[1, 0] == -5
    assert axiomjit.jit(lambda x: x)(x) is x
    fixed = x.copy()
    fixed.flags.writeable = False
    assert not axiomjit.jit(lambda x: x[1:])(fixed).flags.writeable


@pytest.mark.parametrize("axis", [0, 1, -1, (0, 1), (-1, 0), None, np.int64(1)])
@pytest.mark.parametrize("keepdims", [False, True])
def test_axes_of_folds(axis, keepdims):
    check(
        lambda x: (
            x.sum(axis=axis, keepdims=keepdims),
            np.max(x, axis=axis, keepdims=keepdims),
            np.mean(x, axis, keepdims=keepdims),
        ),
        MATRIX,
    )


@pytest.mark.parametrize("axis", [2, -3, (0, 5), (0, 0), 1.5])
def test_bad_axes_raise_what_numpy_raises(axis):
    with pytest.raises((ValueError, TypeError)) as expected:
        MATRIX.sum(axis=axis)
    with pytest.raises(expected.type):
        axiomjit.jit(lambda x: x.sum(axis=axis))(MATRIX)


PRODUCTS = {
    "matrices": lambda a: (a @ a.T, a.T @ a, np.dot(a[:, :6], a), (a @ a.T).T),
    "vectors": lambda a: (a @ a[0], a[:, 0] @ a, a[1] @ a.T),
    "negative": lambda a: a[::-1, ::-1] @ a[::-1].T,
    "scaled": lambda a: (a * 0.5) @ (a.T + 1) - 1,
    "empty": lambda a: (a[:, :0] @ a[:0, :], a[:0] @ a.T),
    "big": lambda a: np.dot(a[None] + np.zeros((3, 1, 1)), a.T),
}


@pytest.mark.parametrize("name", PRODUCTS)
@pytest.mark.parametrize("dtype", ["f8", "f4", "i8", "c16", "c8"])
def test_products(name, dtype):
    a = np.arange(42).reshape(6, 7).astype(dtype)
    a = a + np.array(2j, dtype) * a.T.reshape(6, 7) if dtype[0] == "c" else a
    check(PRODUCTS[name], a, tolerance=1e-6 if dtype in ("f4", "c8") else 1e-14)


def test_partial_and_repeated_arguments():
    x = np.arange(9.0)
    scale = functools.partial(lambda factor, x, y: factor * x + y, 2.0)
    assert_alike(axiomjit.jit(lambda a, b: scale(a, b))(x, x), scale(x, x))
