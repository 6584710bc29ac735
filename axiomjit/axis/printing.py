"""Graphs of axis tensors: print the values of a tensor when they are computed."""

from __future__ import annotations

import numpy as np

from axiomjit.axis.tensors import Operand, Tensor, as_tensor, axis_extents, labelled, shown
from axiomjit.base.origins import hides_frames
from axiomjit.graph.external_calls import stored
from axiomjit.graph.library_operations import PRINT
from axiomjit.graph.nodes import Constant, Op, note
from axiomjit.symbolic.dims import dim
from axiomjit.symbolic.index_maps import identity, permutation


@hides_frames
def PrintOp(x: Operand, prefix: str | None = None) -> Tensor:
    """Return a tensor equal to x; each computation of it prints its values.

    Args:
        x: The tensor.
        prefix: The text that is printed before the dtype and axes of x.

    Returns:
        A tensor with the axes and the values of x.

    Raises:
        GraphTypeError: x is an array without axes, or neither a tensor nor a number.
    """
    tensor = as_tensor(x, f"PrintOp of {shown((x,))}")
    before = "" if prefix is None else f"{prefix}: "
    text = np.frombuffer(f"{before}{tensor!r}\n".encode(), np.uint8)
    rank = len(tensor.axes)
    extents = (*axis_extents(tensor.axes), dim(text.size))
    operands = stored(tensor.node), Constant(text.dtype, text, (dim(text.size),))
    maps = identity(rank), permutation([rank])
    node = note(Op(tensor.dtype, PRINT, None, operands, maps, extents, rank))
    return labelled(node, tensor.axes, tensor)
