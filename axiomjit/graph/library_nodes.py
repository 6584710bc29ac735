"""Operations on entire operands along one dimension: sorting, taking by position."""

from __future__ import annotations

from collections.abc import Sequence

from axiomjit.algebra.dims import Dim
from axiomjit.algebra.index_maps import IndexMap, permutation
from axiomjit.base.dtypes import INT
from axiomjit.base.errors import GraphTypeError
from axiomjit.base.origins import user_location
from axiomjit.graph import builder
from axiomjit.graph.library_operations import TAKE, LibraryOperation
from axiomjit.graph.nodes import Held, Input, Node, Op, base_of
from axiomjit.graph.origins import note
from axiomjit.graph.primitives import COPY
from axiomjit.graph.promotion import cast
from axiomjit.graph.seen import seen_type


def in_order(operation: LibraryOperation, node: Node, axis: int) -> Node:
    """The elements along a dimension in order, or (ARGSORT) the positions that they had."""
    return _along(operation, node, axis)


def _along(operation: LibraryOperation, node: Node, axis: int) -> Node:
    rank = len(node.shape)
    order = [*(d for d in range(rank) if d != axis), axis]
    index = permutation([order.index(d) for d in range(rank)])
    extents = tuple(node.shape[d] for d in order)
    dtype = operation.dtype(node.dtype)
    found = note(Op(dtype, operation, None, (stored(node),), (index,), extents, rank))
    return builder.transpose(found, [order.index(d) for d in range(rank)])


def stored(node: Node) -> Node:
    """The node, or a copy if it has no storage, as a broadcast number."""
    base = base_of(node)
    at_hand = isinstance(base, Op | Held) or (isinstance(base, Input) and not base.weak)
    return node if at_hand else builder.elementwise(COPY, node)


def gather(
    values: Node,
    positions: Node,
    maps: tuple[IndexMap, IndexMap],
    extents: tuple[Dim, ...],
) -> Node:
    """The value at each position along the last of `extents`; the others are the result's.

    Negative positions count from the end, and one outside is refused when it is met.

    Raises:
        GraphTypeError: the positions are no integers.
    """
    if positions.dtype.kind not in "biu":
        raise GraphTypeError(
            f"take from {seen_type(values)} at {seen_type(positions)}",
            "positions that are no integers",
            "convert them with .astype(np.int64)",
            user_location(),
        )
    operands = stored(values), stored(cast(positions, INT))
    rank = len(extents) - 1
    return note(Op(values.dtype, TAKE, None, operands, maps, extents, rank))


def take_nodes(values: Node, positions: Node, axis: int) -> Node:
    """np.take along a dimension, whose place the dimensions of the positions take."""
    shape = (*values.shape[:axis], *positions.shape, *values.shape[axis + 1 :])
    rank, new = len(shape), len(positions.shape)
    first: Sequence[int] = [
        d if d < axis else rank if d == axis else d + new - 1 for d in range(len(values.shape))
    ]
    maps = permutation(first), permutation(range(axis, axis + new))
    return gather(values, positions, maps, (*shape, values.shape[axis]))
