"""Running folds: an op that folds without losing an iterator has its state after each element.

The last iterator is the one along which it runs; a view puts it back to its place.
"""

from __future__ import annotations

from collections.abc import Sequence

from axiomjit.algebra.index_maps import permutation
from axiomjit.base.dtypes import DType, state_dtype
from axiomjit.graph import builder
from axiomjit.graph.nodes import Node, Op, Scalar
from axiomjit.graph.origins import note
from axiomjit.graph.primitives import STATE, VIEW, FoldRule, UfuncFold
from axiomjit.graph.promotion import cast
from axiomjit.graph.state_folds import StateFold, in_nodes, parts_of


def running(fold: UfuncFold, node: Node, dtype: DType, axis: int) -> Node:
    """The folds in a dtype of the first elements along a dimension, as np.cumsum."""
    (scanned,) = _scanned(fold.replace(running=True), dtype, [cast(node, dtype)], axis)
    return scanned


def scan_states(fold: StateFold, operands: Sequence[Node], axis: int) -> list[Node]:
    """The states of the first elements along a dimension of operands of one shape.

    The initial state is combined once, on the left of each.
    """
    states = _scanned(fold, state_dtype(fold.parts), operands, axis)
    if not fold.starts or fold.has_identity:
        return states
    start: list[Node] = [Scalar(value.dtype, value, False) for value in fold.start]
    shape, values = operands[0].shape, in_nodes(fold.outputs, start + states)
    pairs = zip(values, fold.parts, strict=True)
    return [builder.broadcast_to(cast(value, part), shape) for value, part in pairs]


def _scanned(fold: FoldRule, dtype: DType, operands: Sequence[Node], axis: int) -> list[Node]:
    shape = operands[0].shape
    order = [*(d for d in range(len(shape)) if d != axis), axis]
    index = permutation([order.index(d) for d in range(len(shape))])
    extents = tuple(shape[d] for d in order)
    primitive = VIEW if len(operands) == 1 else STATE
    maps = (index,) * len(operands)
    scan = note(Op(dtype, primitive, fold, tuple(operands), maps, extents, len(shape)))
    back = [order.index(d) for d in range(len(shape))]
    return [builder.transpose(part, back) for part in parts_of(scan)]
