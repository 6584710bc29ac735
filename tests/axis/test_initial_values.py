"""Initial values of variables are checked when the variable is made, where lengths are known."""

import inspect

import numpy as np
import pytest

import axiomjit as aj
from axiomjit.base.errors import GraphTypeError, GraphValueError
from axiomjit.transformers import make_transformer

H, W = aj.make_axis(3, "H"), aj.make_axis(5, "W")
LATE_ROW = aj.make_axis(name="late")


@pytest.mark.parametrize(
    ("axes", "value", "error", "message"),
    [
        ([H, W], np.ones((5, 3)), GraphValueError, r"shape \(5, 3\) for axes \[H=3, W=5\]"),
        ([H, W], np.ones((3, 1)), GraphValueError, r"instead: give an array of shape \(3, 5\)"),
        ([H, W], np.ones(5), GraphValueError, r"an array of shape \(5,\) for axes \[H=3, W=5\]"),
        ([], [1.0], GraphValueError, r"an array of shape \(1,\) for axes \[\]"),
        ([LATE_ROW, W], np.ones((2, 4)), GraphValueError, r"give an array of shape \(any, 5\)"),
        ([LATE_ROW, W], np.ones(2), GraphValueError, r"axes \[late=\?, W=5\]"),
        ([H, W], np.ones((3, 5)) * 1j, GraphTypeError, "elements of dtype complex128"),
    ],
)
def test_an_initial_value_is_checked_when_the_variable_is_made(axes, value, error, message):
    with pytest.raises(error, match=message) as caught:
        aj.variable(axes, initial_value=value)
    assert "the initial value of the variable f8[" in caught.value.asked
    assert caught.value.where.startswith(__file__)
    assert aj.variable(axes, initial_value=7.0).axes == aj.make_axes(axes)


@pytest.mark.parametrize("value", [np.ones((2, 5)), lambda axes: np.ones((2, 5))])
def test_lengths_that_come_later_are_checked_then_at_the_line_of_the_variable(value):
    late = aj.make_axis(name="late")
    made = aj.variable([late, W], initial_value=value)
    late.length = 3
    with pytest.raises(GraphValueError, match=r"shape \(2, 5\) for axes \[late=3, W=5\]") as caught:
        make_transformer().computation(made)()
    assert caught.value.where == f"{__file__}:{LATE_LINE}"


LATE_LINE = (
    inspect.getsourcelines(
        test_lengths_that_come_later_are_checked_then_at_the_line_of_the_variable
    )[1]
    + 3
)
