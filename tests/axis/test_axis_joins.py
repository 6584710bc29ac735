"""Tensors side by side: padded, stacked, concatenated, one-hot; read in place."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import axiomjit as aj
from axiomjit.base.errors import AxesError, GraphTypeError
from axiomjit.graph import execution
from tests.axis.test_axis_slices import ROLE, A, C, H, W, X, in_numpy, run

assert in_numpy
B = A[::-1] * 2
Y = aj.constant(B.transpose(2, 0, 1), [C, H, W])
H2 = aj.make_axis(2, "H2", axis_class=H.axis_class)
TALL = aj.make_axis(1, "tall", roles=[ROLE])


def test_pad_surrounds_with_zeros():
    padded = aj.pad(X, [(1, 2), 0, 3])
    assert padded.axes.lengths == (6, 4, 11)
    assert padded.axes[1] is W
    new = padded.axes[0]
    assert (new.axis_class, new.roles, new.name) == (H.axis_class, H.roles, "H")
    np.testing.assert_array_equal(run(padded), np.pad(A, [(1, 2), (0, 0), (3, 3)]))
    assert aj.pad(X, [0, (0, 0), np.int64(0)]) is X
    assert aj.pad(2, []).axes.lengths == ()
    assert aj.pad(aj.constant([True], [TALL]), [1]).dtype == bool


def test_pad_names_its_axes():
    long = aj.make_axis(name="long")
    padded = aj.pad(X[0, 0], [(0, 2)], [long])
    assert list(padded.axes) == [long]
    long.length = 7
    np.testing.assert_array_equal(run(padded), np.pad(A[0, 0], (0, 2)))


def test_lengths_may_come_later(in_numpy):
    late, both = aj.make_axis(name="late"), aj.make_axis(name="both")
    x, y = aj.placeholder([late]), aj.placeholder([late])
    outputs = [
        aj.pad(x, [(2, 1)]),
        aj.stack([x, y], both, -1),
        aj.concat_along_axis([x, y[1:]], late),
        aj.one_hot(aj.constant([2, 0, -1, 9], [W]), late),
    ]
    late.length, both.length = 3, 2
    a, b = np.arange(3.0), np.arange(3.0) + 5
    want = [
        np.pad(a, (2, 1)),
        np.stack([a, b], -1),
        np.concatenate([a, b[1:]]),
        np.arange(3)[:, None] == [2, 0, -1, 9],
    ]
    for got, expected in zip(run(outputs, (x, a), (y, b)), want, strict=True):
        np.testing.assert_array_equal(got, expected, strict=True)


def test_stack_brings_operands_to_the_order_of_the_first():
    two = aj.make_axis(2, "two")
    for pos in (0, 2, -1):
        stacked = aj.stack([X, Y], two, pos)
        assert stacked.axes.index(two) == pos % 4
        np.testing.assert_array_equal(run(stacked), np.stack([A, B], pos))
    mixed = aj.stack([aj.constant([1, 2], [H2]), aj.constant([1.5, 2], [H2])], two)
    assert mixed.dtype == np.float64
    np.testing.assert_array_equal(run(aj.stack([1, 2.5], two)), [1, 2.5])


def test_stack_pairs_by_class():
    other, two = aj.make_axis(2, axis_class=H.axis_class), aj.make_axis(2)
    stacked = aj.stack([aj.constant([1.0, 2], [H2]), aj.constant([3.0, 4], [other])], two)
    assert list(stacked.axes) == [two, H2]
    np.testing.assert_array_equal(run(stacked), [[1, 2], [3, 4]])


def test_concat_follows_axis_class_and_role():
    parts = [X, aj.axes_with_order(Y, [W, C, H]), X[{H: slice(2)}]]
    parts += [
        aj.constant(np.ones((2, 4, 5)), [H2, W, C]),
        aj.constant(np.ones((1, 4, 5)), [TALL, W, C]),
    ]
    joined = aj.concat_along_axis(parts, H)
    new = joined.axes[0]
    assert joined.axes.lengths == (11, 4, 5)
    assert (new.axis_class, new.roles) == (H.axis_class, H.roles)
    want = np.concatenate([A, B, A[:2], np.ones((3, 4, 5))])
    np.testing.assert_array_equal(run(joined), want)
    assert aj.concat_along_axis([X], H) is X


def test_one_hot_is_true_at_the_position():
    labels = aj.constant(np.array([[2, 0, 1, 5], [-1, 1, 1, 0]]), [H2, W])
    hot = aj.one_hot(labels, C)
    assert list(hot.axes) == [C, H2, W]
    values = np.array([[2, 0, 1, 5], [-1, 1, 1, 0]])
    np.testing.assert_array_equal(run(hot), np.arange(5)[:, None, None] == values, strict=True)
    weights = aj.constant(np.arange(5.0), [C])
    np.testing.assert_array_equal(
        run(aj.dot(hot, weights)), np.where(values % 5 == values, values, 0)
    )


def lowered(output, *pairs):
    """The stages of the computation of an output."""
    from axiomjit.transformers import make_transformer

    computation = make_transformer().computation(output, *[p for p, _ in pairs])
    return computation.lower(*[array for _, array in pairs])


def test_joins_are_read_in_place(unchecked):
    long = aj.make_axis(1000, "long")
    x, a = aj.placeholder([long]), np.arange(1000.0)
    padded, joined = aj.pad(x, [1]), aj.concat_along_axis([x, x * 2], long)
    for output, want in [
        (padded[2:] + padded[:-2] - 2 * padded[1:-1], np.diff(np.pad(a, 1), 2)),
        (aj.sum(joined), 3 * a.sum()),
        (aj.sum(aj.stack([x, x + 1], H2)), 2 * a.sum() + 1000),
    ]:
        stages = lowered(output, (x, a))
        assert (stages.cost.kernels, stages.cost.temporary_bytes) == (1, 0)
        np.testing.assert_array_equal(run(output, (x, a)), want)


FOREIGN = aj.make_axis(3, "foreign")


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: aj.pad(X, [1, 1]), AxesError, "pad of f8.*\n  seen: 2 paddings for axes"),
        (lambda: aj.pad(X, 1), AxesError, "1 padding for axes"),
        (lambda: aj.pad(X, [1, 1, -1]), AxesError, "the padding -1\n  instead: .* not negative"),
        (lambda: aj.pad(X, [1, 1, (0, -2)]), AxesError, r"the padding \(0, -2\)"),
        (lambda: aj.pad(X, [1, 1, (1, 2, 3)]), AxesError, r"the padding \(1, 2, 3\)"),
        (lambda: aj.pad(X, [1, 1, 0.5]), GraphTypeError, "a float\n  instead: give integers"),
        (
            lambda: aj.pad(X, [1, 0, 0], [H, W, C]),
            AxesError,
            r"to \[H=3.*\n  seen: axes \[H=5, W=4",
        ),
        (lambda: aj.stack([], H2), AxesError, "stack of nothing\n  seen: no tensors"),
        (lambda: aj.stack([X, X], FOREIGN), AxesError, "along foreign=3\n  seen: 2 tensors"),
        (lambda: aj.stack([X, X[0]], H2), AxesError, r"seen: axes \[W=4, C=5\] beside \[H=3"),
        (lambda: aj.stack([X, X, X], H), AxesError, "an axis that none of them has, not H=3"),
        (lambda: aj.stack([X, X], H2, 4), AxesError, "position 4 among 4\n  instead: .* -4 to"),
        (lambda: aj.stack([X, X], H2, 1.0), GraphTypeError, "a position of type float"),
        (lambda: aj.stack([X, A], H2), GraphTypeError, "constant"),
        (lambda: aj.concat_along_axis([], H), AxesError, "concat_along_axis of nothing"),
        (lambda: aj.concat_along_axis([X], FOREIGN), AxesError, "none of which is foreign=3"),
        (
            lambda: aj.concat_along_axis([X, aj.broadcast(X[0], [FOREIGN, W, C])], H),
            AxesError,
            r"along H=3\n  seen: axes \[foreign=3, W=4, C=5\] beside .*\n  instead: .* class or",
        ),
        (lambda: aj.concat_along_axis([X, X[0]], H), AxesError, r"axes \[W=4, C=5\] beside"),
        (lambda: aj.concat_along_axis([X, X[:, 0]], H), AxesError, r"axes \[H=3, C=5\] beside"),
        (lambda: aj.one_hot(X, FOREIGN), GraphTypeError, "dtype float64\n  instead: convert"),
        (
            lambda: aj.one_hot(aj.constant([1], [TALL]), TALL),
            AxesError,
            "along tall=1\n  seen: axes",
        ),
    ],
)
def test_refused(make, error, message):
    with pytest.raises(error, match=message):
        make()


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=3, max_size=3), st.data())
def test_a_slice_of_a_pad_is_numpys(widths, data):
    before = execution.install(run=None)
    try:
        padded, want = aj.pad(X, widths), np.pad(A, widths)
        np.testing.assert_array_equal(run(padded), want)
        keys = tuple(data.draw(st.slices(n)) for n in want.shape)
        np.testing.assert_array_equal(run(padded[keys]), want[keys])
        inside = tuple(slice(low, low + n) for (low, _), n in zip(widths, A.shape, strict=True))
        np.testing.assert_array_equal(run(padded[inside] - X), np.zeros_like(A))
    finally:
        execution.install(**before)


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_stack_and_concat_are_numpys(data):
    before = execution.install(run=None)
    try:
        axis = data.draw(st.sampled_from([H, W, C]))
        cuts = data.draw(st.lists(st.slices(axis.length), min_size=1, max_size=4))
        at = [H, W, C].index(axis)
        orders = [data.draw(st.permutations(range(3))) for _ in cuts]
        parts = [X[{axis: cut}] for cut in cuts]
        turned = [
            aj.axes_with_order(p, [p.axes[k] for k in order])
            for p, order in zip(parts, orders, strict=True)
        ]
        arrays = [A[(slice(None),) * at + (cut,)] for cut in cuts]
        joined = aj.concat_along_axis([parts[0], *turned[1:]], parts[0].axes[at])
        np.testing.assert_array_equal(run(joined), np.concatenate(arrays, at))
        many, pos = aj.make_axis(len(cuts)), data.draw(st.integers(-4, 3))
        same = [X * k for k in range(len(cuts))]
        stacked = aj.stack(same, many, pos)
        np.testing.assert_array_equal(
            run(stacked), np.stack([A * k for k in range(len(cuts))], pos)
        )
    finally:
        execution.install(**before)
