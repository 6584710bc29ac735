"""`sliding_window_view`: windows are views, read in place and never stored."""

import numpy as np
import pytest
from numpy.lib.stride_tricks import sliding_window_view

import axiomjit
from axiomjit.base.errors import NeedsValuesError

X = np.cos(np.arange(20.0))
ROWS = np.sin(np.arange(42.0)).reshape(6, 7)

pytestmark = pytest.mark.usefixtures("nothing_runs_in_numpy")


@pytest.mark.usefixtures("compiled")
@pytest.mark.parametrize(
    "function",
    [
        lambda m: sliding_window_view(m, (2, 3)).sum((-1, -2)),
        lambda m: sliding_window_view(m, 3, axis=1)[:, ::2].max(-1),
        lambda m: sliding_window_view(m, [2], axis=-1, subok=True).mean(-1),
        lambda m: sliding_window_view(m, (2, 2), axis=(1, 1)),
        lambda m: sliding_window_view(m, (), axis=()),
        lambda m: sliding_window_view(m, m.shape[0], axis=1),
        lambda m: sliding_window_view(m.T[::-1], 2, axis=0).sum(-1),
        lambda m: sliding_window_view(m, (0, 1)),
        lambda m: np.einsum("ijkl,kl->ij", sliding_window_view(m, (3, 3)), m[:3, :3]),
        lambda m: sliding_window_view(m[m > 0], 2).sum(-1),
        lambda m: np.median(sliding_window_view(m, 3, axis=0), axis=-1),
        lambda m: sliding_window_view([m[0, 0], m[1, 1], m[2, 2]], 2),
    ],
)
def test_windows_are_numpys(function):
    got, want = axiomjit.jit(function)(ROWS), function(ROWS)
    np.testing.assert_allclose(got, want, rtol=1e-13, strict=True)


@pytest.mark.parametrize("writeable", [False, True])
def test_windows_of_an_argument_are_a_view_of_it(writeable):
    def function(x):
        return sliding_window_view(x, 3, writeable=writeable)[::2]

    got, want = axiomjit.jit(function)(X), function(X)
    assert got.strides == want.strides
    assert got.flags.writeable is writeable
    assert np.shares_memory(got, X)
    np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda x: sliding_window_view(x, 30), "larger than input"),
        (lambda x: sliding_window_view(x, -1), "negative"),
        (lambda x: sliding_window_view(x, (2, 2)), "window_shape"),
        (lambda x: sliding_window_view(x, (2, 2), axis=0), "axes elements|axes"),
        (lambda x: sliding_window_view(x, 2, axis=1), "out of bounds"),
    ],
)
def test_errors_are_numpys(function, message):
    with pytest.raises(ValueError, match=message):
        function(X)
    with pytest.raises(ValueError, match=message):
        axiomjit.jit(function)(X)


def read_only(x):
    sliding_window_view(x, 3)[0] = 1


def one(x):
    windows = sliding_window_view(x, 3, writeable=True)
    windows[0, 1] = 10
    return windows + 0


def apart(x):
    windows = sliding_window_view(x, 3, writeable=True)
    windows[::3] += 10
    windows[1] *= 2
    windows[::2, 0] = 5
    return windows + 0


def later(x):
    windows = sliding_window_view(x, 3)
    x[4] = 100
    return windows.sum(-1)


@pytest.mark.parametrize("function", [one, apart, later])
def test_writes_through_windows_that_do_not_overlap(function):
    given, wanted = X.copy(), X.copy()
    got, want = axiomjit.jit(function)(given), function(wanted)
    np.testing.assert_allclose(got, want, rtol=1e-14)
    np.testing.assert_array_equal(given, wanted)


def test_windows_are_read_only_unless_writeable():
    given = X.copy()
    with pytest.raises(ValueError, match="read-only"):
        axiomjit.jit(read_only)(given)
    np.testing.assert_array_equal(given, X)


def test_writes_through_overlapping_windows_run_in_numpy():
    def function(x):
        windows = sliding_window_view(x, 3, writeable=True)
        windows[...] = windows + 10

    with pytest.raises(NeedsValuesError, match="a write into"):
        axiomjit.jit(function, strict=True)(X.copy())
