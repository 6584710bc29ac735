"""An axis of a tensor may be given by its name, in every function that asks for one."""

import inspect

import numpy as np
import pytest

import axiomjit as aj
from axiomjit.base.errors import AxesError, GraphTypeError, PositionError
from tests.axis.axis_doors import (
    ADDED,
    BATCH,
    CHANNEL,
    DOORS,
    FILTER,
    NEW,
    NUMPYS_OWN,
    ROW,
    SLIDING,
)

A = np.random.default_rng(0).random((4, 6, 3)) + 0.1


@pytest.fixture(name="x")
def make_x():
    return aj.constant(A, [BATCH, ROW, CHANNEL])


def seen(result):
    """What a result shows: names and lengths of its axes, and its values."""
    axes = getattr(result, "axes", result)
    text = repr(result) if isinstance(axes, aj.Axes) else type(result).__name__
    return text, None if isinstance(result, aj.Axes) else np.asarray(result).tolist()


def names_of(calls):
    return pytest.mark.parametrize("name", list(calls))


@pytest.mark.usefixtures("evaluator")
@names_of(DOORS)
def test_a_name_means_what_the_axis_means(name, x):
    assert seen(DOORS[name](x, "batch")) == seen(DOORS[name](x, BATCH))


@pytest.mark.usefixtures("evaluator")
@names_of(SLIDING)
def test_a_name_means_the_axis_along_which_a_filter_slides(name, x):
    assert seen(SLIDING[name](x, "row")) == seen(SLIDING[name](x, ROW))


@names_of(DOORS)
def test_a_near_miss_lists_what_is_near(name, x):
    with pytest.raises(AxesError) as caught:
        DOORS[name](x, "Bach")
    error = caught.value
    assert "none of which is called 'Bach'" in error.seen
    assert "batch=4" in error.seen
    assert error.remedy == "name one of its axes; near is 'batch'"
    assert error.where.startswith(inspect.getfile(DOORS[name]))


@names_of(DOORS)
def test_a_name_that_is_far_from_all_lists_the_axes(name, x):
    with pytest.raises(AxesError, match="none of which is called 'zzz'\n  instead: name one of"):
        DOORS[name](x, "zzz")


@names_of(DOORS)
def test_an_ambiguous_name_is_refused(name, x):
    twin = aj.make_axis(2, "batch")
    both = aj.broadcast(x, [BATCH, twin, ROW, CHANNEL])
    with pytest.raises(AxesError) as caught:
        DOORS[name](both, "batch")
    if name != "merged axis":  # there each of the merged axes is named
        assert "of which 2 have the name 'batch'" in caught.value.seen
        assert f"(made at {__file__}:" in caught.value.seen
        assert "rename(x, {x.axes[0]: 'new name'})" in caught.value.remedy


@names_of(DOORS)
@pytest.mark.parametrize("wrong", [1.5, b"batch", ROW.roles[0]], ids=["float", "bytes", "role"])
def test_what_is_neither_axis_nor_name_is_refused(name, wrong, x):
    with pytest.raises((TypeError, ValueError) if name in NUMPYS_OWN else GraphTypeError):
        DOORS[name](x, wrong)


FOREIGN_IS_FINE = {
    *("broadcast", "cast_axes", "cast_role", "tensor_slice", "pad axes", "pooling axes"),
    *("axes -", "axes &"),
}


@names_of([name for name in DOORS if name not in FOREIGN_IS_FINE])
def test_another_axis_of_the_name_is_told_apart(name, x):
    twin = aj.make_axis(4, "batch")
    with pytest.raises(AxesError) as caught:
        DOORS[name](x, twin)
    if name != "merged axis":
        assert f"in which {BATCH} (made at {BATCH.origin}) is not" in caught.value.seen
        assert f"batch=4 (made at {__file__}:" in caught.value.seen


@names_of(ADDED)
def test_an_axis_that_is_added_has_a_length(name, x):
    with pytest.raises(GraphTypeError, match=r"instead: make the new axis first: make_axis\("):
        ADDED[name](x, "new")
    assert NEW in ADDED[name](x, NEW).axes


def test_expand_dims_by_the_name_of_an_axis_that_is_there(x):
    assert aj.expand_dims(x, "batch") is x


def test_every_function_with_axes_is_here():
    """Parameters that ask for axes of a tensor, of public functions that are not tried above."""
    tried = {name.split(" ")[0].removeprefix("x.") for name in (*DOORS, *SLIDING, *ADDED)}
    parameters = {"axis", "axes", "reduction_axes", "out_axes", "normalization_axes", "windows"}
    makes_axes = {"constant", "placeholder", "variable", "persistent_tensor", "temporary"}
    makes_axes |= {"make_axes", "vmap"}
    for name in aj.__all__:
        value = getattr(aj, name)
        if inspect.isfunction(value) and parameters & set(inspect.signature(value).parameters):
            assert name in tried | makes_axes, name


def test_names_of_the_input_come_before_those_of_the_filter(x):
    window = aj.make_axis(2, "row", roles=ROW.roles)
    filters = aj.cast_axes(FILTER, [CHANNEL, window])
    named = aj.convolution(x, filters, padding={"row": 1})
    assert named.axes.lengths == aj.convolution(x, filters, padding={window: 1}).axes.lengths
    assert aj.convolution(x, FILTER, padding={"window": 1}).axes.lengths == (4, 7)
    with pytest.raises(AxesError, match="two entries for row=6\n  instead: give each axis one"):
        aj.convolution(x, FILTER, padding={"row": 1, ROW: 1})
    with pytest.raises(AxesError, match="a padding for batch=4; windows slide along row=6"):
        aj.convolution(x, FILTER, padding={"batch": 1})
    with pytest.raises(AxesError, match="near is 'window'"):
        aj.convolution(x, FILTER, strides={"windw": 1})


def test_positions_are_for_numpys_functions_and_methods(x):
    for sums in (np.sum(x, axis=(0, "row")), x.sum(axis=[0, -2]), np.sum(x, (BATCH, 1))):
        np.testing.assert_allclose(sums, A.sum((0, 1)))
    for wrong in (lambda: np.sum(x, axis=3), lambda: x.sum(-4), lambda: x.transpose(0, 1, 3)):
        with pytest.raises(PositionError, match=r"position -?\d among axes \[batch=4, row=6, cha"):
            wrong()
    with pytest.raises(IndexError):
        np.sum(x, axis=3)
    with pytest.raises(GraphTypeError, match="0 of type int as an axis\n  instead: name one of"):
        aj.sum(x, 0)


def test_axes_without_names_are_passed_themselves():
    x = aj.constant(np.ones(2), aj.make_axis(2))
    with pytest.raises(AxesError, match=r"instead: pass one of its axes, as x.axes\[0\]"):
        aj.sum(x, "batch")
    with pytest.raises(AxesError, match="instead: leave it out: there are no axes"):
        aj.sum(aj.constant(1.0), "batch")


def test_the_name_of_an_offset_axis(x):
    assert aj.sum(x.T, "batch-1").axes == (x.axes - "batch").T
    with pytest.raises(AxesError, match="near is 'batch-1'"):
        aj.sum(x.T, "batch")
