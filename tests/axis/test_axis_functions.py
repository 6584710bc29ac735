"""Contraction, reduction and relabelling: values and refusals (the arrows are in test_tensors)."""

import numpy as np
import pytest

import axiomjit as aj
from axiomjit.axis import functions as af
from axiomjit.axis import tensors as t
from axiomjit.base.errors import AxesError
from tests.axis.test_tensors import C, H, N, W, filled, value


def test_dot_outer_scalar_and_square():
    x, y = filled("H", 1), filled("W", 2)
    a, b = value(x, y)
    assert list(af.dot(x, y).axes) == [H, W]
    np.testing.assert_array_equal(value(af.dot(x, y)), np.outer(a, b))
    np.testing.assert_array_equal(value(af.dot(3, x)), 3 * a)
    np.testing.assert_allclose(value(af.dot(x, x)), a @ a, rtol=1e-15)
    assert af.dot(t.constant([1, 2], [H]), t.constant([3, 4], [H])).dtype == np.int64


def test_reduction_values():
    x = filled("CHW")
    a = value(x)
    np.testing.assert_allclose(value(aj.sum(x)), a.sum(), rtol=1e-12)
    np.testing.assert_allclose(value(aj.mean(x, [C, W])), a.mean((0, 2)), rtol=1e-12)
    np.testing.assert_array_equal(value(aj.max(x, W)), a.max(2))
    np.testing.assert_array_equal(value(aj.min(x, [W, H])), a.min((1, 2)))
    np.testing.assert_array_equal(value(aj.sum(x, [])), a)
    assert aj.sum(t.constant([True, True], [H])).dtype == np.int64
    assert value(aj.mean(t.constant([1, 2], [H]))) == 1.5


def test_the_order_of_reduction_axes_changes_nothing():
    x = filled("CHW")
    assert aj.sum(x, [C, W]).node is aj.sum(x, [W, C]).node


def test_out_axes_give_the_result_its_order():
    x = filled("CHW")
    a = value(x)
    result = aj.max(x, out_axes=[W, C])
    assert list(result.axes) == [W, C]
    np.testing.assert_array_equal(value(result), a.max(1).T)
    result = aj.max(x, [H], [W, C])
    np.testing.assert_array_equal(value(result), a.max(1).T)
    assert list(aj.sum(x, out_axes=[]).axes) == []


@pytest.mark.parametrize(
    ("reduced", "out", "seen"),
    [
        ([N], None, r"axes \[C=5, H=2, W=3\], none of which is N=4"),
        ([C], [C, H, W], "C=5 both reduced and left"),
        ([C], [H], "W=3 neither reduced nor left"),
        (None, [N], r"axes \[C=5, H=2, W=3\], none of which is N=4"),
        ([], [H, W], "C=5 neither reduced nor left"),
    ],
)
def test_reductions_refuse_axes_that_do_not_fit(reduced, out, seen):
    with pytest.raises(AxesError, match=rf"sum of f8\[C=5, H=2, W=3\].*\n  seen: {seen}\n"):
        aj.sum(t.placeholder([C, H, W]), reduced, out)


def test_reductions_refuse_a_repeated_axis():
    with pytest.raises(AxesError, match="C=5 more than once"):
        aj.sum(t.placeholder([C, H]), [C, C])


@pytest.mark.parametrize(
    ("function", "axes", "message"),
    [
        (af.broadcast, [C], r"broadcast of f8\[C=5, H=2\] to \[C=5\]"),
        (af.broadcast, [C, N], r"seen: axes \[C=5, H=2\], of which H=2 would be lost"),
        (af.axes_with_order, [C], "H=2 would be lost\n  instead: list each of its axes"),
        (af.axes_with_order, [C, H, N], r"axes_with_order of f8\[C=5, H=2\]\n  seen: .* is N=4"),
        (af.cast_axes, [C], r"cast_axes of f8\[C=5, H=2\] to \[C=5\]"),
        (af.cast_axes, [H, C], r"seen: axes \[C=5, H=2\]: H=2 for C=5, C=5 for H=2"),
    ],
)
def test_relabelling_refuses_axes_that_do_not_fit(function, axes, message):
    with pytest.raises(AxesError, match=message):
        function(t.placeholder([C, H]), axes)
