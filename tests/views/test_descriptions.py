"""Descriptions of tensors and views (ngraph tensors): given, derived and refused ones."""

import copy
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from axiomjit.axis.axes import make_axis
from axiomjit.base.errors import GraphValueError, PositionError
from axiomjit.descriptions import (
    BasicTensorDescription,
    BroadcastTensorDescription,
    ComplexTensorViewDescription,
    FlattenTensorDescription,
    Layout,
    PadTensorDescription,
    PermuteTensorDescription,
    SimpleTensorViewDescription,
    SliceTensorDescription,
    TensorDescription,
    column_major_strides,
    complex_view,
    row_major_strides,
)
from axiomjit.symbolic.dims import named_length
from axiomjit.symbolic.index_maps import identity, permutation


def dense(*shape, sizes=None):
    """A description whose layout is row-major."""
    sizes = sizes or shape
    return BasicTensorDescription(shape, "f8", layout=Layout(row_major_strides(sizes), 0, sizes))


def test_strides_are_those_of_the_document():
    assert row_major_strides((5, 3, 2)) == (6, 2, 1)
    assert column_major_strides((5, 3, 2)) == (1, 5, 15)
    assert row_major_strides(()) == column_major_strides(()) == ()


def test_linear_index():
    layout = Layout((6, 2, 1), 7, (5, 3, 2))
    assert layout.linear_index((4, 2, 1)) == 36
    assert Layout((0, -1), 4).linear_index((9, 5)) == -1
    for place in ((5, 0, 0), (0, -1, 0), (0, 0, 2)):
        with pytest.raises(PositionError, match=r"seen: sizes \(5, 3, 2\)"):
            layout.linear_index(place)
    assert Layout((6, 2, 1)).linear_index((9, 9, 9)) == 81
    with pytest.raises(GraphValueError, match="3 strides\n  instead: give one number per dim"):
        layout.linear_index((1, 1))
    with pytest.raises(GraphValueError, match="give one size per stride"):
        Layout((1, 2), 0, (3,))


@given(st.permutations(range(3)), st.tuples(*[st.integers(0, 4)] * 3))
def test_permuting_everything_is_a_transpose(order, place):
    layout = Layout((24, 6, 1), 3, (5, 4, 6))
    moved = tuple(place[d] for d in order)
    try:
        want = layout.linear_index(place)
    except IndexError:
        with pytest.raises(IndexError):
            layout.permuted(order).linear_index(moved)
    else:
        assert layout.permuted(order).linear_index(moved) == want


def test_a_basic_description_keeps_what_it_is_given():
    plain = BasicTensorDescription([3, 4], np.float32)
    assert (plain.shape, plain.dtype, plain.rank) == ((3, 4), np.dtype("f4"), 2)
    assert plain.read_only
    assert plain.layout is None
    assert not BasicTensorDescription((), "i8", read_only=False).read_only
    assert copy.copy(plain) == pickle.loads(pickle.dumps(plain)) == plain


@pytest.mark.parametrize(
    ("make", "seen"),
    [
        (lambda: BasicTensorDescription((3, -1), "f8"), "a negative length"),
        (lambda: BasicTensorDescription((3,), "f8", layout=Layout((1, 3))), r"strides \(1, 3\)"),
        (lambda: dense(3, 5, sizes=(3, 4)), r"sizes \(3, 4\)"),
    ],
)
def test_a_basic_description_refuses(make, seen):
    with pytest.raises(GraphValueError, match=seen):
        make()


def seen(description):
    """The elements that a layout reaches in memory of counting numbers."""
    layout = description.layout
    position = np.full(description.lengths, layout.offset)
    for axis, (length, step) in enumerate(zip(description.lengths, layout.strides, strict=True)):
        shape = [1] * description.rank
        shape[axis] = length
        position += step * np.arange(length).reshape(shape)
    return position


BASE = dense(2, 3, 5, sizes=(4, 4, 8))


def test_permute():
    view = PermuteTensorDescription(dense(2, 3, 5), (1, 2, 0))
    assert (view.shape, view.permutation) == ((3, 5, 2), (1, 2, 0))
    np.testing.assert_array_equal(seen(view), seen(view.base_tensor).transpose(1, 2, 0))
    view = PermuteTensorDescription(BASE, (2, 0, 1))
    assert view.layout.sizes == (8, 4, 4)
    for wrong in ((0, 1), (0, 1, 1), (0, 1, 3)):
        with pytest.raises(GraphValueError, match="list each of the dimensions 0 to 2 once"):
            PermuteTensorDescription(BASE, wrong)


def test_broadcast():
    view = BroadcastTensorDescription(dense(3, 5), (1, 3, 1, 5))
    assert (view.shape, view.layout.strides) == ((1, 3, 1, 5), (0, 5, 0, 1))
    assert view.read_only
    assert view.dtype == "f8"
    assert BroadcastTensorDescription(dense(1, 3), (1, 3)).layout.strides == (3, 1)
    assert BroadcastTensorDescription(dense(1, 3), (1, 1, 3)).rank == 3
    for wrong in ((3,), (3, 2, 5), (5, 3), (3, 5, 2), (1, 1)):
        with pytest.raises(GraphValueError, match="with a 1 for each new dimension"):
            BroadcastTensorDescription(dense(3, 5), wrong)


def test_flatten():
    view = FlattenTensorDescription(dense(32, 32, 128), ((32, 32), 128))
    assert (view.shape, view.lengths, view.rank) == (((32, 32), 128), (1024, 128), 2)
    assert view.layout.strides == (128, 1)
    np.testing.assert_array_equal(seen(view), seen(view.base_tensor).reshape(1024, 128))
    apart = FlattenTensorDescription(dense(3, 4, 5, sizes=(3, 8, 5)), ((3, 4), 5))
    assert apart.layout is None
    assert FlattenTensorDescription(dense(1, 4, sizes=(1, 9)), ((1, 4),)).layout.strides == (1,)
    for wrong in (((32, 32, 128), 1), (1024, 128), ((32, 32),)):
        with pytest.raises(GraphValueError, match="those of merged dimensions in a tuple"):
            FlattenTensorDescription(dense(32, 32, 128), wrong)


@pytest.mark.parametrize(
    "slices",
    [
        (slice(None), slice(None), slice(None)),
        (0, slice(1, 3), slice(None, None, 2)),
        (-1, 2, slice(4, None, -2)),
        (slice(1, 9), slice(2, 2), -5),
    ],
)
def test_slice(slices):
    view = SliceTensorDescription(BASE, slices)
    want = seen(BASE)[slices]
    assert (view.shape, view.slices) == (want.shape, slices)
    np.testing.assert_array_equal(seen(view), want)


def test_a_slice_refuses():
    with pytest.raises(PositionError, match="a length of 3\n  instead: give integers from -3"):
        SliceTensorDescription(BASE, (0, 3, 0))
    with pytest.raises(GraphValueError, match="give one slice or integer per dimension"):
        SliceTensorDescription(BASE, (0, 1))
    deferred = BasicTensorDescription((named_length("n"), 3), "f8")
    with pytest.raises(GraphValueError, match="not known yet"):
        SliceTensorDescription(deferred, (slice(1, None), 0))
    assert SliceTensorDescription(deferred, (slice(None), 0)).shape == (named_length("n"),)


def test_pad_is_a_selection_of_its_base_and_of_zeros():
    view = PadTensorDescription(dense(2, 3), (1, 0), (0, 2))
    assert (view.shape, view.pre_padding, view.post_padding) == ((3, 5), (1, 0), (0, 2))
    assert view.layout is None
    assert view.read_only
    whole = complex_view(view)
    want = np.pad(seen(view.base_tensor), [(1, 0), (0, 2)])
    for place in np.ndindex(3, 5):
        number, inner = whole.select(place)
        got = seen(view.base_tensor)[inner] if number == 0 else 0.0
        assert got == want[place]
        assert (number == 0) == (inner != ())
    for wrong in (((1,), (0,)), ((0, -1), (0, 0))):
        with pytest.raises(GraphValueError, match="give 0 or more per dimension"):
            PadTensorDescription(dense(2, 3), *wrong)


def test_views_keep_the_base_and_whether_it_may_be_written():
    base = BasicTensorDescription((2, 3), "f4", read_only=False)
    views = [
        PermuteTensorDescription(base, (1, 0)),
        FlattenTensorDescription(base, ((2, 3),)),
        SliceTensorDescription(base, (0, slice(None))),
    ]
    for view in views:
        assert isinstance(view, SimpleTensorViewDescription)
        assert isinstance(view, BasicTensorDescription)
        assert view.base_tensor is base
        assert not view.read_only
        assert view.layout is None
        assert copy.copy(view) == view
    assert PadTensorDescription(base, (0, 0), (1, 1)).read_only


HALVES = [((0, 2), (0, 4)), ((2, 5), (0, 4))]


def test_a_complex_view_selects():
    tensors = [dense(2, 4), dense(4, 3)]
    turned = [identity(2), lambda place: (place[1], place[0] - 2)]
    view = ComplexTensorViewDescription(tensors, HALVES, turned)
    assert (view.shape, view.dtype, view.read_only) == ((5, 4), np.dtype("f8"), True)
    assert view.select((1, 3)) == (0, (1, 3))
    assert view.select((4, 3)) == (1, (3, 2))
    with pytest.raises(PositionError, match=r"a view of shape \(5, 4\)"):
        view.select((5, 0))
    assert ComplexTensorViewDescription(tensors[:1], HALVES[:1], [permutation((1, 0))]).select(
        (1, 3)
    ) == (0, (3, 1))


@pytest.mark.parametrize(
    ("regions", "fault"),
    [
        ([((0, 3), (0, 4)), ((2, 5), (0, 4))], r"which overlap"),
        ([((0, 2), (0, 4)), ((3, 5), (0, 4))], "regions of 16 points in a space of 20"),
        ([((0, 2), (0, 4)), ((2, 5),)], "a region of 2 dimensions in a space of 1"),
        ([((2, 0), (0, 4)), ((2, 5), (0, 4))], "a region from 2 to 0"),
        ([((-1, 2), (0, 4)), ((2, 5), (0, 4))], "a region from -1 to 2"),
        ([((0, 2), (0, 4))], "1 region and 2 maps"),
    ],
)
def test_boxes_must_partition_the_shape(regions, fault):
    tensors = [dense(2, 4), dense(3, 4)]
    with pytest.raises(GraphValueError, match=fault):
        ComplexTensorViewDescription(tensors, regions, [identity(2)] * 2)
    mixed = [tensors[0], BasicTensorDescription((3, 4), "f4")]
    with pytest.raises(GraphValueError, match="dtypes float32, float64"):
        ComplexTensorViewDescription(mixed, HALVES, [identity(2)] * 2)


def test_boxes_of_unknown_lengths_are_compared_as_polynomials():
    n, m = named_length("n"), named_length("m")
    tensors = [BasicTensorDescription((n, 4), "f8"), BasicTensorDescription((m, 4), "f8")]
    regions = [((0, n), (0, 4)), ((n, n + m), (0, 4))]
    view = ComplexTensorViewDescription(tensors, regions, [identity(2)] * 2)
    assert view.shape == (n + m, 4)
    overlapping = [((0, n), (0, 4)), ((n - 1, n + m), (0, 4))]
    with pytest.raises(GraphValueError, match="points in a space of"):
        ComplexTensorViewDescription(tensors, overlapping, [identity(2)] * 2)


def test_a_description_with_axes_has_their_lengths():
    height, width = make_axis(2, "H"), make_axis(name="W")
    described = TensorDescription([height, width], "f4", layout=Layout((8, 1), 0, (2, 8)))
    assert described.shape == (2, width.dim)
    assert tuple(described.axes) == (height, width)
    assert described.base_tensor is None
    width.length = 3
    assert TensorDescription([height, width], "f4").shape == (2, 3)
    with pytest.raises(GraphValueError, match=r"sizes \(2, 2\)"):
        TensorDescription([height, width], "f4", layout=Layout((2, 1), 0, (2, 2)))
