"""The axis-graph door: values that are printed whenever they are computed."""

from __future__ import annotations

import numpy as np

from axiomjit.dims import dim
from axiomjit.graph import Held, Op
from axiomjit.index_maps import identity, permutation
from axiomjit.library_rows import PRINT
from axiomjit.origins import note
from axiomjit.tensors import Operand, Tensor, as_tensor, axis_extents, labelled, shown
from axiomjit.wholes import stored


def PrintOp(x: Operand, prefix: str | None = None) -> Tensor:
    """The tensor x, whose values are printed whenever a computation computes them.

    Args:
        x: The tensor.
        prefix: What stands before its dtype and axes.

    Returns:
        A tensor with the axes and the values of x.

    Raises:
        GraphTypeError: x is an array without axes, or of the wrong kind.
    """
    tensor = as_tensor(x, f"PrintOp of {shown((x,))}")
    before = "" if prefix is None else f"{prefix}: "
    text = np.frombuffer(f"{before}{tensor!r}\n".encode(), np.uint8)
    rank = len(tensor.axes)
    extents = (*axis_extents(tensor.axes), dim(text.size))
    operands = stored(tensor.node), Held(text.dtype, text, (dim(text.size),))
    maps = identity(rank), permutation([rank])
    node = note(Op(tensor.dtype, PRINT, None, operands, maps, extents, rank))
    return labelled(node, tensor.axes, tensor)
