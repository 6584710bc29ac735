"""Graph -> Graph: bypass copies into C order for operations that do not need this order."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from axiomjit.graph.external_calls import has_memory
from axiomjit.graph.library_operations import LibraryOperation
from axiomjit.graph.nodes import (
    Constant,
    Graph,
    Input,
    Node,
    Op,
    is_view,
    post_order,
    rewrite,
)
from axiomjit.graph.primitives import GATHER, MATERIALIZE, MERGED, PACKS, SAVE, UPDATE
from axiomjit.graph.regions import overwritten
from axiomjit.graph.storages import strides_of_constant
from axiomjit.passes.ir.context import Context, Layouts
from axiomjit.symbolic.dims import Dim, dim, exact_quotient, product
from axiomjit.symbolic.index_maps import (
    Affine,
    IndexMap,
    affine,
    compose,
    fixed,
    identity,
    iterator,
    strides_through,
)
from axiomjit.views.descriptions import row_major_strides

NOT_ELEMENTWISE: Final = (*PACKS, GATHER, MATERIALIZE, SAVE, UPDATE)
"""The primitives whose values are stored, or that read at other positions than the result's."""


def elide_copies(graph: Graph, context: Context) -> Graph:
    """Bypass copies whose only purpose is to merge dimensions.

    A reader needs no copy in three cases. If the reader's map splits the merged dimensions again,
    it reads the array that was copied. If the copied array is a C-contiguous argument or constant,
    the reader reads that array. If the copied values are elementwise results of C-contiguous
    arguments and constants, the reader computes the values in memory order. A copy stays if a view
    of it is returned, since the view must be of new memory. A copy also stays if a library
    operation would otherwise read a number, which has no memory.

    Needs: a legal graph in which only outputs are views.
    Gives: a legal graph.
    Keeps: the value of every output, and the outputs that are views of arguments.
    """
    return rewrite(graph, lambda node: _without_copies(node, context.layouts))


def _without_copies(node: Node, layouts: Layouts) -> Node:
    if not isinstance(node, Op) or is_view(node):
        return node
    reads = [
        _read_without_copy(child, index, node, layouts)
        for child, index in zip(node.operands, node.maps, strict=True)
    ]
    for k in range(overwritten(node)):  # these are written in place
        reads[k] = node.operands[k], node.maps[k]
    operands = tuple(child for child, _ in reads)
    if operands == node.operands:
        return node
    return node.replace(operands=operands, maps=tuple(index for _, index in reads))


def _read_without_copy(
    child: Node, index: IndexMap, op: Op, layouts: Layouts
) -> tuple[Node, IndexMap]:
    if not isinstance(child, Op) or child.primitive is not MERGED:
        return child, index
    (packed,) = child.operands
    if isinstance(op.primitive, LibraryOperation) and not has_memory(packed):
        return child, index
    plain = _split_again(index, child.shape, op.extents)
    if plain is not None:
        return packed, compose(child.maps[0], plain)
    walk = _dense_walk(child, packed, layouts)
    if walk is not None:
        return packed, compose(walk, index)
    if _is_own_order(child) and all(f == fixed(0) for f in index[:-1]):
        row = _row_of(packed, layouts)
        if row is not None:
            return row, index[-1:]
    return child, index


def _is_own_order(pack: Op) -> bool:
    return pack.maps[0] == identity(len(pack.shape)) and len(pack.shape) > 1


def _row_of(node: Node, layouts: Layouts) -> Node | None:
    """The node with its dimensions merged; None unless it is elementwise on C-contiguous arrays."""
    rows: dict[Node, Node | None] = {}
    for each in post_order((node,)):
        if isinstance(each, Op):
            rows[each] = _computed_row(each, node.shape, rows, layouts)
            if rows[each] is None:
                return None
    return rows.get(node)


def _computed_row(
    op: Op, shape: tuple[Dim, ...], rows: Mapping[Node, Node | None], layouts: Layouts
) -> Node | None:
    if op.fold is not None or op.regions or op.conditions or op.shape != shape or is_view(op):
        return None
    if isinstance(op.primitive, LibraryOperation) or op.primitive in NOT_ELEMENTWISE:
        return None
    operands: list[Node] = []
    maps: list[IndexMap] = []
    for child, index in zip(op.operands, op.maps, strict=True):
        walk: IndexMap | None = ()
        if child.shape:
            whole = index == identity(len(shape)) and child.shape == shape
            walk = _leaf_walk(child, layouts) if whole else None
            if whole and rows.get(child) is not None:
                walk = identity(1)
        if walk is None:
            return None
        row = rows.get(child)
        operands.append(child if row is None else row)
        maps.append(walk)
    return op.replace(operands=tuple(operands), maps=tuple(maps), extents=(product(shape),), rank=1)


def _leaf_walk(node: Node, layouts: Layouts) -> IndexMap | None:
    """The map from one dimension to an entire C-contiguous array; None for other layouts."""
    strides = _strides(node, layouts)
    if strides is None or strides != row_major_strides(node.shape):
        return None
    unit = len(strides) - 1
    return tuple(iterator(0) if d == unit else fixed(0) for d in range(len(strides)))


def _split_again(
    index: IndexMap, shape: tuple[Dim, ...], extents: tuple[Dim, ...]
) -> IndexMap | None:
    """The map in which an index that exceeds its dimension carries into the next outer dimension.

    None if the carry cannot be proved for all lengths.
    """
    functions: list[Affine] = []
    carried = fixed(0)
    for d in reversed(range(len(shape))):
        own = dict(index[d].terms)
        for k, factor in carried.terms:
            own[k] = own.get(k, dim(0)) + factor
        offset = index[d].offset + carried.offset
        carried = fixed(0)
        if d:
            over = {k: q for k, c in own.items() if (q := exact_quotient(c, shape[d])) is not None}
            carried = affine(over)
            own = {k: c for k, c in own.items() if k not in over}
            if not _stays_below(own, offset, shape[d], extents):
                return None
        functions.append(affine(own, offset))
    return tuple(reversed(functions))


def _stays_below(
    terms: Mapping[int, Dim], offset: Dim, length: Dim, extents: tuple[Dim, ...]
) -> bool:
    """True if it can be proved that the function is in [0, length) for all lengths."""
    highest = offset
    for k, factor in terms.items():
        if factor.constant is None or factor.constant < 0:
            return False
        highest = highest + factor * (extents[k] - 1)
    left = (length - 1 - highest).constant
    return left is not None and left >= 0 and offset.constant is not None and offset.constant >= 0


def _dense_walk(pack: Op, packed: Node, layouts: Layouts) -> IndexMap | None:
    """The map that reads an array in place of its copy; None if the layouts differ."""
    strides = _strides(packed, layouts)
    if strides is None or not any(stride.constant == 1 for stride in strides):
        return None
    (index,) = pack.maps
    first, seen = strides_through(index, strides, len(pack.shape), dim)
    step = dim(1)
    steps: dict[int, Dim] = {}
    for k in reversed(range(len(seen))):
        if seen[k] is not step and pack.shape[k].constant != 1:
            return None
        steps[k] = step
        step = step * pack.shape[k]
    unit = next(d for d, stride in enumerate(strides) if stride.constant == 1)
    whole = affine(steps, first)
    return tuple(whole if d == unit else fixed(0) for d in range(len(strides)))


def _strides(node: Node, layouts: Layouts) -> tuple[Dim, ...] | None:
    """The strides of an argument or a constant in elements; None for other nodes."""
    if isinstance(node, Constant):
        return strides_of_constant(node)
    return layouts.get(node.position) if isinstance(node, Input) else None
