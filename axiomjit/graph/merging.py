"""Dimensions merged into one and split again, by maps alone (ngraph tensors: flattening).

Where neighbouring dimensions are contiguous in memory, the last one's stride walks through all of
them. So the map of a merged dimension moves along the last of them, beyond its length, and keeps
the others at 0. Splitting a dimension is an affine map by itself.

`merge` first copies in C order; a pass drops the copy of what is already stored so, and of what is
only split again. `reshaped` copies where NumPy does: arrays whose merged dimensions are not
contiguous, and computed values.
"""

from __future__ import annotations

from collections.abc import Sequence

from axiomjit.algebra.dims import Dim, product
from axiomjit.algebra.index_maps import Affine, affine, fixed, identity, iterator
from axiomjit.graph import builder
from axiomjit.graph.known_strides import strides_of
from axiomjit.graph.nodes import Node
from axiomjit.graph.primitives import MERGED, PACK
from axiomjit.views.dense_layout import row_major_strides

Group = tuple[list[int], list[int]]
"""Dimensions of the old and of the new shape that hold the same elements, lengths of 1 left out."""


def pack(node: Node) -> Node:
    """A copy that is contiguous in C order."""
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


def reshaped(node: Node, shape: tuple[Dim, ...]) -> Node:
    """The elements of the node, in C order, in another shape with the same number of elements."""
    groups = _groups(node.shape, shape)
    if is_copied(node, shape):
        node = pack(node)
    index: list[Affine] = [affine({})] * len(node.shape)
    for old, new in groups:
        if old:
            steps = row_major_strides([shape[d] for d in new])
            index[old[-1]] = affine(dict(zip(new, steps, strict=True)))
    return builder.view(node, tuple(index), shape)


def flat(node: Node) -> Node:
    """The elements of the node, in C order, in one dimension."""
    return reshaped(node, (product(node.shape),))


def is_copied(node: Node, shape: tuple[Dim, ...]) -> bool:
    """Whether NumPy copies to reshape: some merged dimensions are not contiguous."""
    merged = [old for old, _ in _groups(node.shape, shape) if len(old) > 1]
    if not merged or any(n == 0 for n in node.shape):
        return False
    strides = strides_of(node)
    if strides is None:
        return True
    pairs = [pair for old in merged for pair in zip(old, old[1:], strict=False)]
    return any(strides[a] != strides[b] * node.shape[b] for a, b in pairs)


def _groups(old: Sequence[Dim], new: Sequence[Dim]) -> list[Group]:
    """The smallest runs of dimensions with equal products; one run if there are no elements."""
    left = [d for d, n in enumerate(old) if n != 1]
    right = [d for d, n in enumerate(new) if n != 1]
    if any(n == 0 for n in old):
        return [(left, right)]
    groups: list[Group] = []
    while left and right:
        here: Group = ([left.pop(0)], [right.pop(0)])
        while True:
            before = product(tuple(old[d] for d in here[0]))
            after = product(tuple(new[d] for d in here[1]))
            if before == after:
                break
            if before < after:
                here[0].append(left.pop(0))
            else:
                here[1].append(right.pop(0))
        groups.append(here)
    return groups
