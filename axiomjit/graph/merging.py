"""Dimensions merged into one and split again, by maps alone (ngraph tensors: flattening).

Where neighbouring dimensions lie dense in memory, the last one's stride walks through all of
them; so a merged dimension is a map that steps beyond the last of those it merges and stands
still along the others. What is merged is first copied in C order; where it lies so already, and
where what reads it only splits it again, a pass drops the copy.
"""

from __future__ import annotations

from collections.abc import Sequence

from axiomjit.algebra.dims import Dim, product
from axiomjit.algebra.index_maps import Affine, affine, fixed, identity, iterator
from axiomjit.graph import builder
from axiomjit.graph.nodes import Node
from axiomjit.graph.primitives import MERGED, PACK
from axiomjit.views.dense_layout import row_major_strides


def pack(node: Node) -> Node:
    """A copy that lies dense in C order."""
    return builder.elementwise(PACK, node)


def merge(node: Node, groups: Sequence[int]) -> Node:
    """The node with runs of so many dimensions merged into one each, in C order."""
    index: list[Affine] = []
    extents: list[Dim] = []
    for k, count in enumerate(groups):
        first = len(index)
        index += [fixed(0)] * (count - 1) + [iterator(k)] * (count > 0)
        extents.append(product(node.shape[first : first + count]))
    base = builder.elementwise(MERGED, node) if any(n > 1 for n in groups) else node
    return builder.view(base, tuple(index), tuple(extents))


def split(node: Node, at: int, lengths: tuple[Dim, ...]) -> Node:
    """The node with a dimension split into several, whose lengths have its length as product."""
    new = len(lengths)
    terms = dict(zip(range(at, at + new), row_major_strides(lengths), strict=True))
    before, after = identity(at), [iterator(k + new - 1) for k in range(at + 1, len(node.shape))]
    extents = (*node.shape[:at], *lengths, *node.shape[at + 1 :])
    return builder.view(node, (*before, affine(terms), *after), extents)
