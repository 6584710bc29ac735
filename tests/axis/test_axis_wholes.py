"""Running folds, sorting, taking and clipping along named axes."""

import numpy as np
import pytest

import axiomjit as aj
from axiomjit.base.errors import AxesError, GraphTypeError, PositionError
from tests.axis.test_axis_slices import A, C, H, W, run

M = np.random.default_rng(1).permutation(A.ravel()).reshape(A.shape)
Y = aj.constant(M, [H, W, C])
N = aj.make_axis(2, "N")


@pytest.mark.parametrize(
    ("function", "numpys"),
    [
        (aj.cumsum, np.cumsum),
        (aj.cumprod, np.cumprod),
        (aj.sort, np.sort),
        (aj.argsort, np.argsort),
    ],
)
def test_along_every_axis(function, numpys):
    results = [function(Y, axis) for axis in (H, W, C)]
    assert all(list(result.axes) == [H, W, C] for result in results)
    for k, values in enumerate(run(results)):
        np.testing.assert_array_equal(values, numpys(M, axis=k), strict=True)


def test_between_fused_loops():
    x = aj.placeholder([C], np.int16)
    values = np.array([5, -2, 7, 0, 3], np.int16)
    result = aj.cumsum(aj.sort(x * 2, C) + 1, C) - 3
    np.testing.assert_array_equal(run(result, (x, values)), np.cumsum(np.sort(values * 2) + 1) - 3)


def test_lengths_may_come_later():
    late = aj.make_axis(name="late")
    x = aj.placeholder([late])
    sums, last = aj.cumsum(x, late), aj.take(x, -1, late)
    late.length = 4
    got = run([sums, last], (x, np.arange(4.0)))
    np.testing.assert_array_equal(got[0], [0, 1, 3, 6])
    assert got[1] == 3


def test_take_puts_the_axes_of_the_indices_in_place():
    places = np.array([[0, -1, 3, 2], [1, 1, -4, 0]])
    taken = aj.take(Y, aj.constant(places[:, 0], [N]), W)
    assert list(taken.axes) == [H, N, C]
    np.testing.assert_array_equal(run(taken), M[:, places[:, 0]])
    one = aj.take(Y, 1, H)
    assert list(one.axes) == [W, C]
    np.testing.assert_array_equal(run(one), M[1])


def test_take_pairs_the_axes_that_both_have():
    order = aj.argsort(Y, W)
    np.testing.assert_array_equal(run(aj.take(Y, order, W)), np.sort(M, axis=1))
    places = np.array([[0, 2], [1, -1], [3, 0]])
    taken = aj.take(Y, aj.constant(places, [H, N]), W)  # for each H other places of W
    assert list(taken.axes) == [H, N, C]
    np.testing.assert_array_equal(run(taken), M[np.arange(3)[:, None], places])
    turned = aj.take(aj.axes_with_order(Y, [C, W, H]), aj.constant(places.T, [N, H]), W)
    np.testing.assert_array_equal(run(turned), M[np.arange(3)[:, None], places].T)


def test_clip_and_where_by_axes():
    low, high = aj.constant([1.0, 2, 3, 4], [W]), aj.constant(np.arange(5.0) * 12, [C])
    got = run(aj.clip(Y, low, high))
    np.testing.assert_array_equal(got, np.clip(M, [[1], [2], [3], [4]], np.arange(5.0) * 12))
    chosen = aj.where(aj.constant([True, False, True, False], [W]), Y, 0.0)
    assert list(chosen.axes) == [H, W, C]
    want = np.where(np.array([True, False, True, False])[:, None], M, 0.0)
    np.testing.assert_array_equal(run(chosen), want)


@pytest.mark.parametrize("function", [aj.cumsum, aj.cumprod, aj.sort, aj.argsort])
def test_a_foreign_axis_is_refused(function):
    with pytest.raises(AxesError, match=r"of f8\[H=3, W=4, C=5\]\n  seen: .* which is N=2"):
        function(Y, N)


def test_positions_are_integers_within_the_axis():
    with pytest.raises(AxesError, match="take of .*\n  seen: .* none of which is N=2"):
        aj.take(Y, 0, N)
    with pytest.raises(GraphTypeError, match="positions that are no integers"):
        aj.take(Y, 1.0, H)
    with pytest.raises(PositionError, match="index 3 is out of bounds for axis 0 with size 3"):
        run(aj.take(Y, 3, H))
    np.testing.assert_array_equal(run(aj.take(Y, 2, H)), M[2])
