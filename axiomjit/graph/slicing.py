"""Views of parts of dimensions: in steps or backwards; and with new dimensions of length 1."""

from __future__ import annotations

from collections.abc import Sequence

from axiomjit.algebra.dims import Dim, dim
from axiomjit.algebra.index_maps import affine, iterator
from axiomjit.algebra.ranges import range_of, settled
from axiomjit.graph import builder
from axiomjit.graph.nodes import Node

BACKWARDS = slice(None, None, -1)


def positions_of(part: slice, length: Dim) -> tuple[Dim, int, Dim]:
    """First position, step and number of positions of a slice; looks leave guards.

    Raises:
        ValueError: the step is zero.
    """
    step = 1 if part.step is None else int(part.step)
    if step == 0:
        raise ValueError("slice step cannot be zero")
    start, count = range_of(part.start, part.stop, step, length)
    return settled(start), step, settled(count)


def sliced(node: Node, axes: Sequence[int], part: slice) -> Node:
    """The node with the positions of a slice along each of these dimensions."""
    index = [iterator(d) for d in range(len(node.shape))]
    extents = list(node.shape)
    for d in axes:
        start, step, extents[d] = positions_of(part, node.shape[d])
        index[d] = affine({d: dim(step)}, start)
    return builder.view(node, tuple(index), tuple(extents))


def flip(node: Node, axes: Sequence[int]) -> Node:
    """The node read backwards along these dimensions."""
    return sliced(node, axes, BACKWARDS)


def insert_dimensions(node: Node, axes: Sequence[int]) -> Node:
    """The node with lengths of 1 at these dimensions of the result."""
    rank = len(node.shape) + len(axes)
    kept = [d for d in range(rank) if d not in axes]
    lengths = iter(node.shape)
    extents = tuple(dim(1) if d in axes else next(lengths) for d in range(rank))
    return builder.view(node, tuple(iterator(d) for d in kept), extents)
