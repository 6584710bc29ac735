"""Functions that write at positions, or count them: `ufunc.at`, `np.put`, `np.bincount`."""

import tracemalloc

import numpy as np
import pytest

import axiomjit as aj
from axiomjit.base.errors import GraphValueError, UnsupportedError

X = np.arange(30.0).reshape(5, 6)
AGAIN = np.array([0, 3, 0, 1, 1, 0])
WEIGHTS = np.cos(np.arange(6.0))

pytestmark = pytest.mark.usefixtures("nothing_runs_in_numpy")


def agrees(function, *arguments):
    """What the function returns and writes is as in NumPy, bit for bit."""
    given = [array.copy(order="K") for array in arguments]
    wanted = [array.copy(order="K") for array in arguments]
    results = function(*wanted), aj.jit(function)(*given)
    for want, got in (*zip(wanted, given, strict=True), results):
        np.testing.assert_array_equal(got, want, strict=True)


def combined(h, i, w):
    np.add.at(h, i, 1)
    np.subtract.at(h, i, w)
    np.maximum.at(h, (i[::-1],), w[0])
    np.multiply.at(h, slice(1, 3), 2)
    np.add.at(h, 2, 0.1)


@pytest.mark.usefixtures("compiled")
@pytest.mark.parametrize("code", ["f8", "f4", "i4", "u1", "f2", "c8", "c16"])
def test_at_combines_in_the_dtype_of_the_values(code):
    agrees(combined, np.arange(5).astype(code), AGAIN, WEIGHTS)


@pytest.mark.usefixtures("compiled")
def test_at_writes_into_rows_views_and_new_arrays():
    def f(x, i, w):
        h = np.zeros((5, 6))
        np.add.at(h, i % 5, x[:1])
        np.add.at(h.T[::-1], (slice(None), i % 5), np.arange(6))
        np.minimum.at(x, (i % 5, i), w)
        np.bitwise_or.at(i, i, 8)
        return h

    agrees(f, X, AGAIN, WEIGHTS)


@pytest.mark.usefixtures("compiled")
def test_at_with_a_mask_and_with_the_array_itself():
    def f(h):
        np.add.at(h, h > 3, 10)
        np.add.at(h, h.astype(int) % 5, h)

    agrees(f, np.arange(6.0))


def test_at_says_what_numpy_says():
    with pytest.raises(ValueError, match="a value of shape"):
        aj.jit(lambda h, i: np.add.at(h, i, h[None, :6]))(X[0].copy(), AGAIN)
    with pytest.raises(IndexError, match="index 7 is out of bounds for axis 0 with size 6"):
        aj.jit(lambda h, i: np.add.at(h, i, 1))(X[0].copy(), AGAIN + 4)
    with pytest.raises(TypeError, match="first operand must be"):
        aj.jit(lambda i: np.add.at(1.0, i, 1))(AGAIN)


@pytest.mark.usefixtures("compiled")
def test_put():
    def f(x, i, w):
        np.put(x, i * 9 - 1, w)
        x.put(i[:5], w[:2])
        np.put(x[::-1, 1:].T, [[1, 2], [3, -4]], w)
        np.put(x, i * 50 - 60, w[:4], mode="wrap")
        np.put(x, i * 50 - 60, 7, "clip")

    agrees(f, X, AGAIN, WEIGHTS)
    agrees(f, X.T, AGAIN, WEIGHTS)


@pytest.mark.usefixtures("compiled")
def test_put_along_axis():
    def f(x, i, w):
        np.put_along_axis(x, i[None] % 5, 9, 0)
        np.put_along_axis(x[:, :6], np.argsort(-x, axis=1)[:, :2], x[:, :1] * 2, 1)
        np.put_along_axis(x, i + 11, w, None)

    agrees(f, X, AGAIN, WEIGHTS)


def test_put_says_what_numpy_says():
    for wrong, message in (
        (lambda x, i: np.put(x, i, 1, mode="best"), "clipmode must be one of"),
        (lambda x, i: np.put(x[:0], i, 1), "cannot replace elements of an empty array"),
        (lambda x, i: np.put_along_axis(x, i, 1, 0), "must have the same number of dimensions"),
        (lambda x, i: np.put_along_axis(x, x, 1, 0), "must be an integer array"),
        (lambda x, i: np.put(x, i * 10, 1), "index 30 is out of bounds for axis 0 with size 30"),
    ):
        with pytest.raises((ValueError, IndexError), match=message):
            aj.jit(wrong)(X.copy(), AGAIN)


@pytest.mark.usefixtures("compiled")
@pytest.mark.parametrize("code", ["i8", "i4", "u1", "b1"])
def test_bincount(code):
    def f(x, w):
        n, c = np.bincount(x), np.bincount(x, w)
        return np.stack([n + c, n[::-1] * 2.0, np.bincount(x, w, minlength=2) - n])

    def g(x, w):
        return np.bincount(x, minlength=9) * w[0]

    positions = (AGAIN + 1).astype(code)
    agrees(f, positions, WEIGHTS)
    agrees(g, positions, WEIGHTS)
    agrees(g, positions[:0], WEIGHTS)
    agrees(lambda x, w: np.bincount(x, w, minlength=3), positions[:0], WEIGHTS[:0])  # integers


def test_bincount_says_what_numpy_says():
    count = aj.jit(np.bincount)
    with pytest.raises(GraphValueError, match="argument must have no negative elements"):
        count(-AGAIN)
    with pytest.raises(ValueError, match="object too deep for desired array"):
        count(X.astype(int))
    with pytest.raises(ValueError, match="'minlength' must not be negative"):
        aj.jit(lambda x: np.bincount(x, minlength=-1))(AGAIN)
    with pytest.raises(ValueError, match="weights and list don't have the same length"):
        aj.jit(lambda x, w: np.bincount(x, w))(AGAIN, WEIGHTS[:4])
    with pytest.raises(TypeError, match="according to the rule 'safe'"):
        aj.jit(lambda x, w: np.bincount(x, w))(AGAIN, WEIGHTS * 1j)
    with pytest.raises(TypeError, match="elements that are no integers"):
        count(WEIGHTS)


@pytest.mark.usefixtures("unchecked")
def test_a_histogram_is_one_loop_without_temporaries(monkeypatch):
    monkeypatch.setattr(aj.config, "check", False)

    def f(h, i):
        np.add.at(h, i, 1)

    h, i = np.zeros(100, int), np.arange(200_000) % 100
    jitted = aj.jit(f)
    cost = jitted.lower(h, i).cost
    assert (cost.kernels, cost.temporary_bytes) == (1, 8)
    jitted(h, i)
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        jitted(h, i)
        measured = tracemalloc.get_traced_memory()[1] - before
    finally:
        tracemalloc.stop()
    assert measured < 20_000
    np.testing.assert_array_equal(h, 4000)


def changed(x, i):
    np.negative.at(x, i)
    np.square.at(x, (i[:2],))
    np.power.at(x, i, 2)
    np.sqrt.at(x, slice(1, 3))


@pytest.mark.usefixtures("compiled")
def test_at_of_ufuncs_without_a_loop_of_ours_is_numpys(monkeypatch):
    agrees(changed, np.arange(5.0), AGAIN)
    compiled = aj.jit(changed)
    with pytest.raises(IndexError, match="out of bounds"):
        compiled(np.arange(5.0), AGAIN + 3)
    monkeypatch.setattr(aj.config, "fallback", "error")
    for ufunc in (np.negative, np.power, np.arctan2):
        values = () if ufunc.nin == 1 else (2.0,)
        with pytest.raises(UnsupportedError, match="at, which is not compiled yet"):
            aj.jit(lambda h, i, u=ufunc, v=values: u.at(h, i, *v))(X[0].copy(), AGAIN)
