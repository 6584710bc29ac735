"""Axes merged, split again and added."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import axiomjit as aj
from axiomjit.base.errors import AxesError, GraphTypeError
from axiomjit.graph import execution
from tests.axis.test_axis_joins import lowered
from tests.axis.test_axis_slices import A, C, H, W, X, in_numpy, run

assert in_numpy
N = aj.make_axis(2, "N")


def test_merged_axes_count_in_c_order():
    flat = aj.flatten(X)
    assert flat.axes.lengths == (60,)
    assert flat.axes.full_lengths == ((3, 4, 5),)
    np.testing.assert_array_equal(run(flat), A.ravel())
    pair = aj.flatten(X, [W, C])
    assert pair.axes[0] is H
    np.testing.assert_array_equal(run(pair * 2), A.reshape(3, 20) * 2)
    turned = aj.flatten(aj.axes_with_order(X, [C, H, W]))
    np.testing.assert_array_equal(run(turned), A.transpose(2, 0, 1).ravel())
    assert aj.flatten(aj.constant(3.0)).axes.lengths == (1,)


def test_the_same_axes_make_the_same_axis():
    one, other = aj.flatten(X), aj.flatten(aj.constant(A * 2, [H, W, C]))
    assert one.axes == other.axes
    np.testing.assert_array_equal(run(one + other), 3 * A.ravel())
    assert aj.flatten(aj.axes_with_order(X, [C, H, W])).axes != one.axes
    assert aj.flatten(X, W) is X
    assert aj.flatten(X[0, 0]).axes[0] is C
    assert aj.unflatten(X) is X


def test_flatten_at_makes_two_axes():
    for k in range(4):
        merged = aj.flatten_at(X, k)
        want = A.reshape(-1, 20) if k == 1 else A.reshape(12, 5) if k == 2 else A.ravel()
        np.testing.assert_array_equal(run(merged), want)
    assert aj.flatten_at(X, 1).axes[0] is H
    assert aj.flatten_at(X, -2).axes == aj.flatten_at(X, 2).axes


def test_unflatten_restores_the_axes():
    for merged in (aj.flatten(X), aj.flatten(X, [H, W]), aj.flatten_at(aj.flatten(X, [H, W]), 1)):
        assert list(aj.unflatten(merged).axes) == [H, W, C]
        np.testing.assert_array_equal(run(aj.unflatten(merged)), A)
    nested = aj.flatten(aj.flatten(X, [W, C]))
    assert list(aj.unflatten(nested).axes) == [H, W, C]
    np.testing.assert_array_equal(run(aj.unflatten(nested)), A)
    summed = aj.sum(aj.flatten(X, [W, C]), H)
    np.testing.assert_array_equal(run(aj.unflatten(summed)), A.sum(0))


def test_lengths_may_come_later(in_numpy):
    h, w = aj.make_axis(name="h"), aj.make_axis(name="w")
    x = aj.placeholder([h, w])
    outputs = [aj.flatten(x), aj.unflatten(aj.flatten(x) + 1), aj.flatten(x[1:, ::-1])]
    h.length, w.length = 3, 4
    a = np.arange(12.0).reshape(3, 4)
    want = [a.ravel(), a + 1, a[1:, ::-1].ravel()]
    for got, expected in zip(run(outputs, (x, a)), want, strict=True):
        np.testing.assert_array_equal(got, expected)


def test_placeholders_have_merged_and_derived_axes(in_numpy):
    h, w = aj.make_axis(name="h"), aj.make_axis(name="w")
    x, flat = aj.placeholder([h, w]), aj.placeholder([[h, w]])
    later = aj.placeholder(x[1:].axes)
    outputs = [aj.unflatten(flat) + x, aj.flatten(x) - flat, later * x[1:], aj.dot(flat, flat)]
    h.length, w.length = 3, 4
    a = np.arange(12.0).reshape(3, 4)
    want = [3 * a, -a.ravel(), -(a[1:] ** 2), 4 * (a * a).sum()]
    got = run(outputs, (x, a), (flat, 2 * a.ravel()), (later, -a[1:]))
    for values, expected in zip(got, want, strict=True):
        np.testing.assert_array_equal(values, expected)


def test_expand_dims_repeats_along_a_new_axis():
    for pos in (0, 3, -1, -4):
        wide = aj.expand_dims(X, N, pos)
        assert wide.axes.index(N) == pos % 4
        want = np.repeat(np.expand_dims(A, pos), 2, pos)
        np.testing.assert_array_equal(run(wide), want)
    assert aj.expand_dims(X, W) is X


def test_dense_arguments_are_walked_through_in_place(unchecked):
    long, wide = aj.make_axis(100, "long"), aj.make_axis(30, "wide")
    x, y = aj.placeholder([long, wide]), aj.placeholder([long, wide])
    a = np.arange(3000.0).reshape(100, 30)
    flat = aj.flatten(x) * 2 - aj.flatten(y)
    for output, want in [
        (flat, a.ravel()),
        (aj.unflatten(flat), a),
        (aj.sum(flat), a.sum()),
        (aj.flatten(x)[1:] - aj.flatten(x)[:-1] + 0 * aj.flatten(y)[1:], np.ones(2999)),
        (aj.unflatten(aj.flatten(x + y)) - x, a),
    ]:
        stages = lowered(output, (x, a), (y, a))
        assert (stages.cost.kernels, stages.cost.temporary_bytes) == (1, 0)
        np.testing.assert_array_equal(run(output, (x, a), (y, a)), want)
    turned = np.asfortranarray(a)
    assert lowered(flat, (x, turned), (y, a)).cost.temporary_bytes == a.nbytes
    np.testing.assert_array_equal(run(flat, (x, turned), (y, a)), a.ravel())


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: aj.flatten(X, [H, C]), AxesError, r"over \[H=3, C=5\]\n  seen: axes \[H=3, W=4"),
        (lambda: aj.flatten(X, [W, H]), AxesError, "instead: name axes that follow each other"),
        (lambda: aj.flatten(X, [N]), AxesError, r"flatten of f8.*\n  seen: .* is N=2"),
        (lambda: aj.flatten(X, [W, W]), AxesError, "W=4 more than once"),
        (lambda: aj.flatten(A), GraphTypeError, "constant"),
        (lambda: aj.flatten_at(X, 4), AxesError, "position 4 among 4"),
        (lambda: aj.flatten_at(X, "1"), GraphTypeError, "a position of type str"),
        (lambda: aj.expand_dims(X, N, 4), AxesError, "position 4 among 4"),
        (lambda: aj.expand_dims(X, "N"), GraphTypeError, "make_axis\\(length, 'N'\\)"),
    ],
)
def test_refused(make, error, message):
    with pytest.raises(error, match=message):
        make()


@settings(max_examples=60, deadline=None)
@given(st.permutations([H, W, C]), st.data())
def test_unflatten_of_flatten_is_the_tensor(order, data):
    before = execution.install(run=None)
    try:
        tensor = aj.axes_with_order(X, order)
        low = data.draw(st.integers(0, 2))
        high = data.draw(st.integers(low + 1, 3))
        merged = aj.flatten(tensor, order[low:high])
        want = A.transpose([[H, W, C].index(axis) for axis in order])
        shape = [*want.shape[:low], -1, *want.shape[high:]]
        np.testing.assert_array_equal(run(merged), want.reshape(shape))
        back = aj.unflatten(merged)
        assert list(back.axes) == order
        np.testing.assert_array_equal(run(back), want)
    finally:
        execution.install(**before)
