"""Graphs of axis tensors: random tensors, whose numbers each run of a computation draws anew.

All numbers come from one generator, which `axiomjit.config.seed = n` seeds.
"""

from __future__ import annotations

import numpy as np

from axiomjit.axis.tensors import Operand, Tensor, as_tensor, axis_extents, labelled, shown
from axiomjit.base.dtypes import FLOAT, is_float
from axiomjit.base.origins import hides_frames
from axiomjit.graph.builder import cast
from axiomjit.graph.library_operations import NORMAL, UNIFORM, LibraryOperation
from axiomjit.graph.nodes import Constant, Op, note


@hides_frames
def uniform(x: Operand, low: Operand = 0.0, high: Operand = 1.0) -> Tensor:
    """A tensor with the axes of x whose elements are random, uniformly distributed in [low, high).

    Args:
        x: A tensor with the axes of the result. The result has this dtype if it is floating,
            otherwise float64.
        low: The lower bound, a number or tensor.
        high: The upper bound, a number or tensor.

    Returns:
        A tensor whose values are drawn once in every run.

    Raises:
        AxesError: axes could be paired in several ways.
        GraphTypeError: an operand is an array without axes, or neither a tensor nor a number.
    """
    asked = f"uniform of {shown((x,))}"
    start = as_tensor(low, asked)
    return _drawn(UNIFORM, x, asked) * (as_tensor(high, asked) - start) + start


@hides_frames
def normal(x: Operand, loc: Operand = 0.0, scale: Operand = 1.0) -> Tensor:
    """A tensor with the axes of x whose elements are random, normally distributed.

    Args:
        x: A tensor with the axes of the result. The result has this dtype if it is floating,
            otherwise float64.
        loc: The mean, a number or tensor.
        scale: The standard deviation, a number or tensor.

    Returns:
        A tensor whose values are drawn once in every run.

    Raises:
        AxesError: axes could be paired in several ways.
        GraphTypeError: an operand is an array without axes, or neither a tensor nor a number.
    """
    asked = f"normal of {shown((x,))}"
    mean, deviation = as_tensor(loc, asked), as_tensor(scale, asked)
    return _drawn(NORMAL, x, asked) * deviation + mean


def _drawn(operation: LibraryOperation, x: Operand, asked: str) -> Tensor:
    tensor = as_tensor(x, asked)
    # An array of its own, so that two draws are never the same node.
    token = Constant(FLOAT, np.zeros(()), ())
    extents = axis_extents(tensor.axes)
    node = note(Op(FLOAT, operation, None, (token,), ((),), extents, len(extents)))
    dtype = tensor.dtype if is_float(tensor.dtype) else FLOAT
    return labelled(cast(node, dtype), tensor.axes, tensor)
