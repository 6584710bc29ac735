"""Graphs of axis tensors: activation and loss functions of neural networks."""

from __future__ import annotations

import math

import numpy as np

from axiomjit.axis import reductions
from axiomjit.axis.axes import AxesOf
from axiomjit.axis.elementwise import apply_ufunc
from axiomjit.axis.tensors import Operand, Tensor, as_tensor, shown
from axiomjit.base.errors import AxesError
from axiomjit.base.origins import hides_frames, user_location


@hides_frames
def sigmoid(x: Operand) -> Tensor:
    """The logistic function 1 / (1 + exp(-x)) of each element.

    Returns:
        A tensor with the axes of x.

    Raises:
        GraphTypeError: x is an array without axes, or neither a tensor nor a number.
    """
    return apply_ufunc(np.divide, 1, apply_ufunc(np.exp, apply_ufunc(np.negative, x)) + 1)


@hides_frames
def relu(x: Operand) -> Tensor:
    """The larger of each element of x and 0.

    Returns:
        A tensor with the axes and the dtype of x; NaN stays NaN.

    Raises:
        GraphTypeError: x is an array without axes, or neither a tensor nor a number.
    """
    return apply_ufunc(np.maximum, x, 0, name="relu")


@hides_frames
def safelog(x: Operand, limit: float = -50.0) -> Tensor:
    """The larger of log(x) and `limit` for each element; zero and negative elements give `limit`.

    Returns:
        A tensor with the axes of x.

    Raises:
        GraphTypeError: x is an array without axes, or neither a tensor nor a number.
    """
    return apply_ufunc(np.log, apply_ufunc(np.maximum, x, math.exp(limit)))


@hides_frames
def softmax(x: Operand, normalization_axes: AxesOf = None) -> Tensor:
    """The softmax exp(x) / sum(exp(x)) over axes, computed without overflow.

    Args:
        x: The tensor.
        normalization_axes: The axes, or their names, over which the result sums to 1; by default
            all.

    Returns:
        A tensor with the axes of x.

    Raises:
        AxesError: x lacks an axis, or an axis is listed twice or has length 0.
        GraphTypeError: x is an array without axes, or neither a tensor nor a number.

    Examples:
        >>> x = aj.constant([[0.0, 0.0], [0.0, 9.0]], aj.make_axes({"batch": 2, "class": 2}))
        >>> aj.softmax(x, "class").sum("class").eval().values
        array([1., 1.])
    """
    tensor = as_tensor(x, f"softmax of {shown((x,))}")
    axes, _ = reductions.split_axes("softmax", tensor, normalization_axes, None)
    powers = apply_ufunc(np.exp, tensor - reductions.max(tensor, axes))
    return powers / reductions.sum(powers, axes)


@hides_frames
def cross_entropy_multi(
    y: Operand, t: Operand, usebits: bool = False, out_axes: AxesOf = None
) -> Tensor:
    """The cross entropy of distributions y with targets t, -sum(t * log(y)).

    Args:
        y: Probabilities, limited as in `safelog`.
        t: The target distributions.
        usebits: True for logarithms to base 2.
        out_axes: The axes of the result; the other axes are summed. By default all axes are summed.

    Raises:
        AxesError: neither operand has all axes of the other one, or `out_axes` has an axis that no
            operand has.
        GraphTypeError: an operand is an array without axes, or neither a tensor nor a number.
    """
    left, right = _checked_operands("cross_entropy_multi", y, t)
    total = reductions.sum(safelog(left) * right, out_axes=out_axes)
    return total * (-1.0 / math.log(2.0) if usebits else -1.0)


@hides_frames
def cross_entropy_binary_inner(y: Operand, t: Operand) -> Tensor:
    """The elements -(t * log(y) + (1 - t) * log(1 - y)), with `safelog` as the logarithm.

    Raises:
        AxesError: neither operand has all axes of the other one.
        GraphTypeError: an operand is an array without axes, or neither a tensor nor a number.
    """
    left, right = _checked_operands("cross_entropy_binary", y, t)
    return -(safelog(left) * right + safelog(1 - left) * (1 - right))


@hides_frames
def cross_entropy_binary(y: Operand, t: Operand, out_axes: AxesOf = None) -> Tensor:
    """The sum of `cross_entropy_binary_inner` over axes not in `out_axes`; errors are the same."""
    return reductions.sum(cross_entropy_binary_inner(y, t), out_axes=out_axes)


def _checked_operands(name: str, y: Operand, t: Operand) -> tuple[Tensor, Tensor]:
    """Check that one operand has all axes of the other one, and return both operands as tensors."""
    asked = f"{name} of {shown((y, t))}"
    left, right = as_tensor(y, asked), as_tensor(t, asked)
    if left.axes.is_sub_set(right.axes) or left.axes.is_super_set(right.axes):
        return left, right
    raise AxesError(
        asked,
        f"axes {left.axes} and {right.axes}, neither of which has all of the other's",
        "broadcast(x, axes) one of them, or relabel axes with cast_axes(x, axes)",
        user_location(),
    )
