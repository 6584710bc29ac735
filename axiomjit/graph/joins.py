"""Arrays side by side as one: complex views, whose parts are read in place (ngraph tensors).

A join has no memory of its own. It is read through the selection, and only a join that is a result
is stored; so padding an operand, or shifting it in a circle, costs no copy.
"""

from __future__ import annotations

from collections.abc import Sequence

from axiomjit.algebra.dims import Dim, dim
from axiomjit.algebra.index_maps import IndexMap, Region, identity, shift
from axiomjit.graph.nodes import Node, Op
from axiomjit.graph.origins import note
from axiomjit.graph.primitives import JOIN

JoinedPart = tuple[Node, IndexMap, Region]
"""An operand, the map from points of the whole to it, and the region that it fills."""


def join(parts: Sequence[JoinedPart], extents: tuple[Dim, ...]) -> Node:
    """A value made of parts of one dtype, whose regions partition the extents."""
    operands, maps, regions = zip(*parts, strict=True)
    dtype = operands[0].dtype
    return note(Op(dtype, JOIN, None, operands, maps, extents, len(extents), regions))


def whole(extents: Sequence[Dim]) -> Region:
    """The region of all points."""
    return tuple((dim(0), extent) for extent in extents)


def concatenate(nodes: Sequence[Node], axis: int) -> Node:
    """Nodes of one dtype that follow each other along a dimension; the others are equal."""
    start = dim(0)
    places: list[tuple[Node, Dim]] = []
    for node in nodes:
        places.append((node, start))
        start = start + node.shape[axis]
    first = nodes[0].shape
    extents = (*first[:axis], start, *first[axis + 1 :])
    parts: list[JoinedPart] = []
    for node, low in places:
        if node.shape[axis].constant == 0:
            continue
        region = list(whole(extents))
        region[axis] = (low, low + node.shape[axis])
        starts = [-low if d == axis else dim(0) for d in range(len(extents))]
        parts.append((node, shift(identity(len(extents)), starts), tuple(region)))
    return join(parts or [(nodes[0], identity(len(extents)), whole(extents))], extents)
