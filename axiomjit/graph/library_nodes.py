"""Operations on entire operands: sorting along a dimension, words as other elements."""

from __future__ import annotations

from axiomjit.algebra.index_maps import iterator, permutation
from axiomjit.base.dtypes import DType
from axiomjit.base.origins import catches_errors
from axiomjit.base.trace_context import current
from axiomjit.graph import builder
from axiomjit.graph.library_operations import BITCAST, LibraryOperation
from axiomjit.graph.nodes import Held, Input, Node, Op, base_of
from axiomjit.graph.origins import note
from axiomjit.graph.primitives import COPY


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


def bits_of(words: Node, dtype: DType) -> Node:
    """The bits of groups of four words as elements of a dtype, in one dimension.

    The words are uint32 of shape (n, 4); n groups of 16 bytes are 16 n / itemsize elements.
    """
    groups, four = words.shape
    extents = (groups * (16 // dtype.itemsize), groups, four)
    index = (iterator(1), iterator(2))
    operation = BITCAST.replace(gives=dtype)
    return note(Op(dtype, operation, None, (stored(words),), (index,), extents, 1))


def stored(node: Node) -> Node:
    """The node, or a copy if it has no storage, as a broadcast number."""
    base = base_of(node)
    at_hand = isinstance(base, Op | Held) or (isinstance(base, Input) and not base.weak)
    return node if at_hand else builder.elementwise(COPY, node)


def may_fail(node: Op) -> Op:
    """The node, which may raise an error: it is computed even if nobody uses it, as in NumPy."""
    following = current()
    if following is not None:
        following.may_fail.append(node)
        following.handles = following.handles or catches_errors(following.within)
    return node
