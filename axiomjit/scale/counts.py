"""Lengths that are known only after all blocks are computed, as sums of the blocks' lengths."""

from __future__ import annotations

from collections.abc import Mapping

from axiomjit.base.dtypes import INT
from axiomjit.graph import builder
from axiomjit.graph.nodes import Input, LengthNode, Node, Op, Scalar, note, size
from axiomjit.graph.primitives import ALL, PRIMITIVES, VIEW, FoldRule
from axiomjit.symbolic.dims import Symbol, dim
from axiomjit.symbolic.index_maps import identity

COUNTED = FoldRule("count", False, True, ALL, True)
"""The fold that counts elements."""
_OPERATIONS = {
    "+": PRIMITIVES["add"],
    "*": PRIMITIVES["multiply"],
    "//": PRIMITIVES["floor_divide"],
    "min": PRIMITIVES["minimum"],
    "max": PRIMITIVES["maximum"],
}


def counted(node: LengthNode, sources: Mapping[Symbol, tuple[Input, int]]) -> Node:
    """A length as a value, computed from the counts of blocks.

    `sources` has, for each length that is not known, an input and its dimension.
    """

    def leaf(value: int | Symbol) -> Node:
        if isinstance(value, Symbol) and value in sources:
            return _count(*sources[value])
        return (
            size(dim(value)) if isinstance(value, Symbol) else Scalar(INT, INT.type(value), False)
        )

    def operation(name: str) -> object:
        return lambda left, right: builder.elementwise(_OPERATIONS[name], left, right)

    operators = {name: operation(name) for name in _OPERATIONS}
    return builder.cast(node.length.fold(leaf, operators), node.dtype)  # type: ignore[arg-type]


def _count(source: Input, dimension: int) -> Node:
    """The number of elements along a dimension."""
    rank = len(source.shape)
    parts = INT, VIEW, COUNTED, (source,), (identity(rank),), source.shape, 0
    total: Node = note(Op(*parts))
    for d, length in enumerate(source.shape):
        if d != dimension:
            total = builder.elementwise(PRIMITIVES["floor_divide"], total, size(length))
    return total


def block_count(op: Op) -> Node:
    """The number of elements of a block."""
    count = dim(1)
    for extent in op.extents:
        count = count * extent
    return builder.cast(size(count), INT)
