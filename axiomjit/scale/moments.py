"""Sums of squared deviations across blocks, in one pass over the elements.

NumPy's variance sums the squares of differences from a mean, which needs a first pass over all
elements. In this module, a block has the state (count, sum, sum of squared deviations from its own
mean), and two states are merged by the formula of Chan, Golub and LeVeque (1979), without
cancellation.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from axiomjit.base.dtypes import FLOAT, is_float
from axiomjit.graph import builder
from axiomjit.graph.nodes import LengthNode, Node, Op, is_view, note, size
from axiomjit.graph.primitives import ALL, CAST, PRIMITIVES, SUM, VIEW, FoldRule
from axiomjit.symbolic.dims import dim
from axiomjit.symbolic.index_maps import IndexMap, affine, compose, identity, iterator


class SquaresFold(FoldRule):
    """The sum of squared deviations from the mean of all elements."""

    def __repr__(self) -> str:
        return self.name

    def combined(
        self, one: Sequence[np.ndarray], other: Sequence[np.ndarray]
    ) -> tuple[np.ndarray, ...]:
        """The state (count, sum, sum of squares) of the union of two parts."""
        (count, total, squares), (more, added, further) = one, other
        apart = added / more - total / count
        between = apart * apart * (count * more / (count + more))
        return (
            np.asarray(count + more),
            np.asarray(total + added),
            np.asarray(squares + further + between),
        )


SQUARES = SquaresFold("squared deviations", True, False, ALL, True)


def squares_of(op: Op) -> Op | None:
    """The fold by `SQUARES` in place of a sum of squared deviations; None for other operations."""
    if op.fold is not SUM or op.primitive is not VIEW or op.conditions or not is_float(op.dtype):
        return None
    square = op.operands[0]
    if not isinstance(square, Op) or square.fold is not None:
        return None
    if square.primitive.name != "multiply" or square.operands[0] is not square.operands[1]:
        return None
    apart = square.operands[0]
    plain = identity(len(square.extents))
    if square.maps != (plain, plain) or not isinstance(apart, Op):
        return None
    if apart.primitive.name != "subtract" or apart.fold is not None or apart.maps[0] != plain:
        return None
    elements, mean = apart.operands
    if not _is_mean(elements, mean, apart.maps[1], op):
        return None
    parts = FLOAT, VIEW, SQUARES, (elements,), op.maps, op.extents, op.rank
    return note(Op(*parts))


def _is_mean(elements: Node, mean: Node, index: IndexMap, op: Op) -> bool:
    """True if a value, read by a map, is the mean of the elements that an operation folds."""
    mean, index = _below(mean, index)
    if not isinstance(mean, Op) or mean.primitive.name != "divide" or mean.fold is not None:
        return False
    total, count = mean.operands
    total, index = _below(total, compose(mean.maps[0], index))
    if not isinstance(total, Op) or total.fold is not SUM or total.primitive is not VIEW:
        return False
    if total.operands[0] is not elements or total.conditions:
        return False
    kept = _dimensions(total, range(total.rank))
    folded = _dimensions(total, range(total.rank, len(total.extents)))
    if None in kept or set(folded) != set(_dimensions(op, range(op.rank, len(op.extents)))):
        return False
    whole = dim(1)
    for extent in total.extents[total.rank :]:
        whole = whole * extent
    known = isinstance(count, LengthNode) and count.length is whole
    return known and index == tuple(iterator(d) for d in kept if d is not None)


def _below(node: Node, index: IndexMap) -> tuple[Node, IndexMap]:
    """The value below views and casts, and the map composed with the maps of these views."""
    while isinstance(node, Op) and node.fold is None:
        if not (is_view(node) or node.primitive is CAST):
            break
        (child,), (inner,) = node.operands, node.maps
        node, index = child, compose(inner, index)
    return node, index


def _dimensions(op: Op, iterators: Sequence[int]) -> list[int | None]:
    """For each iterator, the operand's dimension that it walks alone; None if there is none."""
    alone = {function: d for d, function in enumerate(op.maps[0])}
    return [alone.get(iterator(k)) for k in iterators]


def block_moments(op: Op) -> list[Node]:
    """The state of the elements of a block, for an operation that folds them by `SQUARES`."""
    row, every = PRIMITIVES, len(op.extents)
    elements = builder.cast(op.operands[0], FLOAT)
    count = dim(1)
    for extent in op.extents[op.rank :]:
        count = count * extent
    total = Op(FLOAT, VIEW, SUM, (elements,), op.maps, op.extents, op.rank)
    mean = builder.elementwise(row["divide"], total, size(count))
    seen = Op(FLOAT, VIEW, None, (elements,), op.maps, op.extents, every)
    kept = tuple(affine({k: dim(1)}) for k in range(op.rank))
    maps = identity(every), kept
    apart = Op(FLOAT, row["subtract"], None, (seen, mean), maps, op.extents, every)
    square = builder.elementwise(row["multiply"], apart, apart)
    squares = Op(FLOAT, VIEW, SUM, (square,), (identity(every),), op.extents, op.rank)
    return [builder.cast(size(count), FLOAT), total, squares]
