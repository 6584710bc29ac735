"""Parts of tensors: integers, slices, Ellipsis, dictionaries; lengths known, unknown and wrong."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import axiomjit as aj
from axiomjit.base.errors import AxesError, GraphTypeError
from axiomjit.graph import execution
from axiomjit.symbolic.dims import dim, evaluate, named_length
from axiomjit.symbolic.index_maps import range_of
from axiomjit.transformers import make_transformer

ROLE = aj.make_axis_role("height")
H = aj.make_axis(3, "H", roles=[ROLE])
W, C = aj.make_axis(4, "W"), aj.make_axis(5, "C")
A = np.arange(60.0).reshape(3, 4, 5)
X = aj.constant(A, [H, W, C])


@pytest.fixture
def in_numpy():
    """Graphs are evaluated in NumPy: no kernel is compiled."""
    before = execution.install(run=None)
    yield
    execution.install(**before)


def run(outputs, *pairs):
    """The value of tensors for (placeholder, array) pairs."""
    computation = make_transformer().computation(outputs, *[p for p, _ in pairs])
    return computation(*[array for _, array in pairs])


KEYS = [
    0,
    -1,
    np.int8(2),
    (1, -4),
    (slice(None), 0),
    slice(1, None),
    slice(-2, None),
    slice(0, 99),
    slice(2, 1),
    (slice(None, None, 2), slice(None, None, -1)),
    (slice(-1, None, -2), slice(3, 0, -1), slice(-9, -1, 3)),
    (slice(0, 0), 1),
    ...,
    (..., 3),
    (1, ..., slice(1, 4)),
    (0, 0, 0),
    (slice(np.int64(1), np.int64(3)),),
    (),
]


@pytest.mark.parametrize("key", KEYS, ids=str)
def test_parts_are_numpys(key, in_numpy):
    part = X[key]
    want = A[key]
    assert part.axes.lengths == want.shape
    np.testing.assert_array_equal(run(part), want)


def test_parts_are_compiled_as_views():
    x = aj.placeholder([H, W, C])
    middle = x[:, ::-2, 1:4]
    parts = [x[1:] * 2, aj.sum(middle, middle.axes[2]), x[{W: 0, C: slice(None, None, 2)}] + 1]
    want = [A[1:] * 2, A[:, ::-2, 1:4].sum(2), A[:, 0, ::2] + 1]
    for got, expected in zip(run(parts, (x, A)), want, strict=True):
        np.testing.assert_array_equal(got, expected)


def test_a_stencil_is_one_loop_without_temporaries(unchecked):
    long = aj.make_axis(1000, "long")
    x, a = aj.placeholder([long]), np.arange(1000.0) ** 2
    curve = x[2:] - 2 * x[1:-1] + x[:-2]
    stages = make_transformer().computation(curve, x).lower(a)
    assert (stages.cost.kernels, stages.cost.temporary_bytes) == (1, 0)
    assert stages.loops.count("for ") == 1
    np.testing.assert_array_equal(run(curve, (x, a)), np.full(998, 2.0))


def test_dictionaries_name_axes():
    part = X[{C: -1, H: slice(1, None)}]
    np.testing.assert_array_equal(run(part), A[1:, :, -1])
    assert part.axes[1] is W
    np.testing.assert_array_equal(run(aj.slice_along_axis(X, W, slice(2))), A[:, :2])
    assert X[{}] is X


def test_whole_slices_keep_the_axis_and_others_make_new_ones():
    assert X[:] is X[...] is X[0:, ::1] is aj.tensor_slice(X, [slice(None)] * 3) is X
    part = X[1:, :, ::-1]
    assert part.axes[1] is W
    for new, old in ((part.axes[0], H), (part.axes[2], C)):
        assert new is not old
        assert new.axis_class is old.axis_class
        assert new.roles == old.roles
        assert new.name == old.name
    assert part.axes.lengths == (2, 4, 5)
    turned = aj.constant(A[:, 0, 0], [H - 1])[1:]
    assert turned.axes[0].dual_offset == -1


def test_parts_of_one_axis_meet_by_class():
    np.testing.assert_array_equal(run(X[1:] - X[:-1]), np.diff(A, axis=0))
    late = aj.placeholder([aj.make_axis(name="late")])
    stencil = late[2:] + late[:-2]  # the lengths follow from one another, whatever they are
    late.axes[0].length = 6
    np.testing.assert_array_equal(run(stencil, (late, np.arange(6.0))), [2, 4, 6, 8])


def test_tensor_slice_names_its_axes():
    short, other = aj.make_axis(2, "short"), aj.make_axis(name="other")
    part = aj.tensor_slice(X, [slice(1, None), 0, slice(0, 3)], [short, other])
    assert list(part.axes) == [short, other]
    with pytest.raises(AxesError, match=r"no length for Axis\(other=\?\)"):
        run(part)
    other.length = 3
    np.testing.assert_array_equal(run(part), A[1:, 0, :3])
    assert (short.length, H.length) == (2, 3)


def test_lengths_may_come_later(in_numpy):
    h, w = aj.make_axis(name="h"), aj.make_axis(name="w")
    x = aj.placeholder([h, w])
    parts = [x[1:], x[:-1, 2], x[-1], x[::-2, 1:9:3], x[5:2:-1], x[-3:-1]]
    assert [part.axes.lengths for part in parts[:2]] == [(None, None), (None,)]
    h.length, w.length = 7, 4
    a = np.arange(28.0).reshape(7, 4)
    want = [a[1:], a[:-1, 2], a[-1], a[::-2, 1:9:3], a[5:2:-1], a[-3:-1]]
    for part, got, expected in zip(parts, run(parts, (x, a)), want, strict=True):
        assert part.axes.lengths == expected.shape
        np.testing.assert_array_equal(got, expected)


def test_late_lengths_may_not_fit():
    h = aj.make_axis(name="h")
    x = aj.placeholder([h])
    third, fits = x[2], x[1]
    h.length = 2
    assert run(fits, (x, np.array([1.0, 2]))) == 2
    message = r"a part of f8\[h=\?\]\n  seen: position 2 along h=2\n  instead: .* from -2 to 1"
    with pytest.raises(AxesError, match=message):
        run(third, (x, np.zeros(2)))
    k, wrong = aj.make_axis(name="k"), aj.make_axis(4, "wrong")
    y = aj.placeholder([k])
    named = aj.tensor_slice(y, [slice(1, None)], [wrong])
    k.length = 4
    with pytest.raises(AxesError, match=r"tensor_slice of .* to \[wrong=4\]\n  seen: axes \[k=3\]"):
        run(named, (y, np.zeros(4)))


@pytest.mark.parametrize(
    ("key", "error", "message"),
    [
        (3, AxesError, r"position 3 along H=3\n  instead: give a position from -3 to 2"),
        ((0, -5), AxesError, "position -5 along W=4"),
        ((0, 0, 0, 0), AxesError, r"4 items for axes \[H=3, W=4, C=5\]\n  instead: .* at most one"),
        ((..., ...), AxesError, "two of them ..."),
        (
            {aj.make_axis(3, "foreign"): 0},
            AxesError,
            "none of which is foreign=3\n  instead: name one of its",
        ),
        (slice(None, None, 0), AxesError, "give a step that is not zero"),
        (1.0, GraphTypeError, r"seen: a float\n  instead: use integers, slices of integers"),
        (True, GraphTypeError, "seen: a bool"),
        ([0, 1], GraphTypeError, r"seen: a list\n(?s:.*)take\(x, indices, axis\)"),
        (np.array([0, 1]), GraphTypeError, "seen: a ndarray"),
        (None, GraphTypeError, "seen: a NoneType"),
        (slice(0.5, None), GraphTypeError, "seen: a float"),
        ("H", GraphTypeError, r"seen: 'H' of type str\n(?s:.*)x\[{'H': 0}\]"),
    ],
    ids=str,
)
def test_refused_parts(key, error, message):
    with pytest.raises(error, match=rf"a part of f8\[H=3, W=4, C=5\](?s:.*){message}"):
        X[key]


@pytest.mark.parametrize(
    ("items", "axes", "message"),
    [
        ([0], None, r"1 item for axes .*\n  instead: give exactly one item per axis"),
        ([slice(None)] * 4, None, "4 items for axes"),
        ([0, 0, slice(2)], [W], r"to \[W=4\]\n  seen: axes \[C=2\]"),
        ([0, 0, 0], [W], "give one axis of the same length for each axis"),
        ([0, 0, 9], None, "position 9 along C=5"),
    ],
)
def test_refused_slices(items, axes, message):
    with pytest.raises(AxesError, match=f"tensor_slice of (?s:.*){message}"):
        aj.tensor_slice(X, items, axes)


def test_tensors_are_not_iterated():
    with pytest.raises(GraphTypeError, match=r"iteration over f8(?s:.*)take parts, as in x\[0\]"):
        list(X)


BOUNDS = [None, *range(-7, 8)]


def test_ranges_are_pythons():
    n = named_length("n")
    for length, step in itertools.product(range(6), [-3, -2, -1, 1, 2, 3]):
        for start, stop in itertools.product(BOUNDS, BOUNDS):
            values = {n.terms[0][0][0]: length}
            first, count = (evaluate(d, values) for d in range_of(start, stop, step, n))
            want = range(*slice(start, stop, step).indices(length))
            assert count == len(want)
            assert not want or first == want[0]
            assert first >= 0 or not want
            assert all(d.constant is not None for d in range_of(start, stop, step, dim(length)))


ITEMS = st.one_of(
    st.integers(-3, 2), st.slices(3), st.builds(slice, st.none(), st.integers(-4, 4), st.none())
)


@settings(max_examples=60, deadline=None)
@given(st.lists(ITEMS, max_size=3), st.data())
def test_parts_of_parts(items, data):
    before = execution.install(run=None)
    try:
        key = tuple(items)
        part, want = X[key], A[key]
        if part.axes:
            axis = data.draw(st.sampled_from(list(part.axes)))
            again = data.draw(st.slices(axis.length))
            want = want[(slice(None),) * part.axes.index(axis) + (again,)]
            part = part[{axis: again}]
        np.testing.assert_array_equal(run(part), want)
    finally:
        execution.install(**before)
