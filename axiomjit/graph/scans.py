"""Running folds: an op that folds without losing an iterator has its state after each element.

The last iterator is the one along which it runs; a view puts it back to its place. Several
dimensions are merged into one before, in the order in which they are listed.
"""

from __future__ import annotations

from collections.abc import Sequence

from axiomjit.algebra.dims import Dim
from axiomjit.algebra.index_maps import IndexMap, identity, permutation
from axiomjit.base.dtypes import DType, state_dtype
from axiomjit.graph import builder
from axiomjit.graph.merging import merge, split
from axiomjit.graph.nodes import Node, Op, Scalar
from axiomjit.graph.origins import note
from axiomjit.graph.primitives import STATE, VIEW, FoldRule, UfuncFold
from axiomjit.graph.promotion import cast
from axiomjit.graph.state_folds import StateFold, in_nodes, parts_of


def running(fold: UfuncFold, node: Node, dtype: DType, axes: Sequence[int]) -> Node:
    """The folds in a dtype of the first elements along dimensions, as np.cumsum along one."""
    (scanned,) = _scanned(fold.replace(running=True), dtype, [cast(node, dtype)], axes)
    return scanned


def scan_states(fold: StateFold, operands: Sequence[Node], axes: Sequence[int]) -> list[Node]:
    """The states of the first elements along dimensions of operands of one shape.

    The initial state is combined once, on the left of each.
    """
    states = _scanned(fold, state_dtype(fold.parts), operands, axes)
    if not fold.starts or fold.has_identity:
        return states
    start: list[Node] = [Scalar(value.dtype, value, False) for value in fold.start]
    shape, values = operands[0].shape, in_nodes(fold.outputs, start + states)
    pairs = zip(values, fold.parts, strict=True)
    return [builder.broadcast_to(cast(value, part), shape) for value, part in pairs]


def _scanned(
    fold: FoldRule, dtype: DType, operands: Sequence[Node], axes: Sequence[int]
) -> list[Node]:
    """The states along dimensions: along several as along one, into which they are merged."""
    shape = operands[0].shape
    kept = [d for d in range(len(shape)) if d not in axes]
    order = [*kept, *axes]
    back = [order.index(d) for d in range(len(shape))]
    if len(axes) == 1:
        found = _along_one(fold, dtype, operands, permutation(back), [shape[d] for d in order])
        return [builder.transpose(part, back) for part in found]
    groups = [*[1] * len(kept), len(axes)]
    rows = [merge(builder.transpose(operand, order), groups) for operand in operands]
    found = _along_one(fold, dtype, rows, identity(len(groups)), rows[0].shape)
    lengths = tuple(shape[d] for d in axes)
    return [builder.transpose(split(part, len(kept), lengths), back) for part in found]


def _along_one(
    fold: FoldRule, dtype: DType, operands: Sequence[Node], index: IndexMap, extents: Sequence[Dim]
) -> list[Node]:
    """The states along the last iterator."""
    primitive = VIEW if len(operands) == 1 else STATE
    maps = (index,) * len(operands)
    scan = Op(dtype, primitive, fold, tuple(operands), maps, tuple(extents), len(extents))
    return parts_of(note(scan))
