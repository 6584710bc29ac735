"""Graph -> Graph: ops with conditions that exclude padding read the unpadded operand."""

from __future__ import annotations

from collections.abc import Sequence

from axiomjit.graph.contractions import Read
from axiomjit.graph.library_operations import LibraryOperation
from axiomjit.graph.nodes import Graph, Node, Op, Update, is_view, rewrite
from axiomjit.graph.primitives import GATHER
from axiomjit.passes.ir.context import Context
from axiomjit.symbolic.index_maps import (
    Condition,
    Conditions,
    IndexMap,
    Region,
    affine,
    compose,
    condition,
)


def drop_padding(graph: Graph, context: Context) -> Graph:
    """Replace a read of a join by a read of one part if conditions exclude all other parts.

    A fold over windows skips points outside its operand, so the fold needs no padded copy of the
    operand. Elementwise ops between the padding and the fold need no padded copy either.

    Needs: a legal graph in which only outputs are views.
    Gives: a legal graph; at points that a condition excludes, maps may give elements outside an
        operand.
    Keeps: the value of every output.
    """
    return rewrite(graph, _without_padding)


def _without_padding(node: Node) -> Node:
    if not isinstance(node, Op) or not node.conditions:
        return node
    pairs = zip(node.operands, node.maps, strict=True)
    reads = [_unpadded(child, index, node.conditions) for child, index in pairs]
    return _with_reads(node, reads)


def _with_reads(op: Op, reads: Sequence[Read]) -> Op:
    """The op with these operands and maps; the op itself if they are unchanged."""
    operands = tuple(child for child, _ in reads)
    if operands == op.operands:
        return op
    return op.replace(operands=operands, maps=tuple(index for _, index in reads))


def _unpadded(child: Node, index: IndexMap, conditions: Conditions) -> Read:
    """The operand and the map that an op with conditions reads in place of a padded operand."""
    while isinstance(child, Op) and child.regions:
        held = (_is_within(region, index, child, conditions) for region in child.regions)
        part = next((k for k, holds in enumerate(held) if holds), None)
        if part is None:
            return child, index
        index = compose(child.maps[part], index)
        child = child.operands[part]
    return _computed_within(child, index, conditions), index


def _is_within(region: Region, index: IndexMap, join: Op, conditions: Conditions) -> bool:
    """True if one part of a join contains all points at which the conditions hold."""
    limits = zip(index, region, join.extents, strict=True)
    return all(
        condition(function, low, high) in conditions
        for function, (low, high), extent in limits
        if low.constant != 0 or high is not extent
    )


def _computed_within(child: Node, index: IndexMap, conditions: Conditions) -> Node:
    """The operand; if it is elementwise and reads padding, it gets the reader's conditions."""
    plain = isinstance(child, Op) and child.fold is None and not child.regions
    if not isinstance(child, Op) or not plain or child.conditions or is_view(child):
        return child
    whole = isinstance(child.primitive, LibraryOperation) or child.primitive is GATHER
    if isinstance(child, Update) or whole:
        return child
    within = _in_own_iterators(conditions, index)
    pairs = zip(child.operands, child.maps, strict=True)
    changed = _with_reads(child, [_unpadded(below, own, within) for below, own in pairs])
    return child if changed is child else changed.replace(conditions=within)


def _in_own_iterators(conditions: Conditions, index: IndexMap) -> Conditions:
    """The conditions of a reader, written with the iterators of an operand."""
    places: dict[int, int] = {}
    for d, function in enumerate(index):
        if len(function.terms) != 1 or function.offset.constant != 0:
            return ()
        ((k, factor),) = function.terms
        if factor.constant != 1 or k in places:
            return ()
        places[k] = d
    return tuple(
        Condition(affine({places[k]: c for k, c in one.function.terms}), one.low, one.high)
        for one in conditions
        if all(k in places for k, _ in one.function.terms)
    )
