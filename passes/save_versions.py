"""Graph -> Graph: a value that is read after its storage is overwritten is copied before."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection

from axiomjit.algebra.index_maps import identity
from axiomjit.graph.nodes import (
    Graph,
    Node,
    Op,
    Saved,
    Update,
    post_order,
    rebuild,
    rewrite,
    with_operands,
)
from axiomjit.graph.primitives import COPY, SAVE
from axiomjit.graph.stored_reads import reads_of
from axiomjit.passes.choose_storage import choose_storage
from axiomjit.passes.ir.context import Context
from axiomjit.passes.order_writes import order_writes


def save_versions(graph: Graph, context: Context) -> Graph:
    """Copy versions that have a later reader, and values that are read elsewhere while written.

    A version of a storage that some reader cannot read before the next version is written (two
    storages that are exchanged, an output that is no last version) is copied first. A value whose
    elements depend on other elements of the storage it is written into is computed beside it.

    Needs: a legal graph in which only outputs are views.
    Gives: a graph whose writes have an order, each into the memory of the version before.
    Keeps: the value of every output.
    """
    if not any(isinstance(node, Update) for node in post_order(graph.outputs)):
        return graph
    while True:
        graph = _apart(graph)
        stored = choose_storage(graph)
        changed = _beside(graph, stored)
        if changed is graph:
            late = order_writes(graph, stored).late
            changed = _saved(graph, late) if late else graph
        if changed is graph:
            return graph
        graph = changed


def _apart(graph: Graph) -> Graph:
    """The graph in which each version has one successor; a second one is written into a copy."""
    followed: Counter[Node] = Counter()

    def rule(node: Node) -> Node:
        if not isinstance(node, Update):
            return node
        old = node.operands[0]
        followed[old] += 1
        if followed[old] == 1:
            return node
        apart: Node = node.replace(operands=(_saved_copy(old, followed[old]), node.operands[1]))
        return apart

    return rewrite(graph, rule)


def _saved_copy(node: Node, number: int = 0) -> Op:
    rank = len(node.shape)
    if isinstance(node, Op) and node.primitive is COPY:  # what it is a copy of serves as well
        parts = node.operands, node.maps, node.extents, rank
    else:
        parts = (node,), (identity(rank),), node.shape, rank
    return Saved(node.dtype, SAVE, None, *parts, number=number)


def _beside(graph: Graph, stored: Collection[Node]) -> Graph:
    """The graph in which a value that reads other elements than it writes has its own storage."""

    def rule(node: Node, new: dict[Node, Node]) -> Node:
        rebuilt = with_operands(node, [new[child] for child in node.children])
        if not (isinstance(node, Update) and isinstance(rebuilt, Update) and _shifts(node, stored)):
            return rebuilt
        beside: Node = rebuilt.replace(
            operands=(rebuilt.operands[0], _copy(rebuilt)),
            maps=(rebuilt.maps[0], identity(rebuilt.rank)),
        )
        return beside

    return rebuild(graph, rule)


def _shifts(op: Update, stored: Collection[Node]) -> bool:
    """Whether a value is read, where it is computed, from other elements than it is written to."""
    places = reads_of(op, stored).get(op.operands[0], set())
    return any(place != op.maps[0] for place in places)


def _copy(op: Update) -> Node:
    """The value of an update at each point of its iteration space, stored."""
    value, index = op.operands[1], op.maps[1]
    return Op(op.dtype, SAVE, None, (value,), (index,), op.extents, op.rank)


def _saved(graph: Graph, late: frozenset[Node]) -> Graph:
    """The graph in which copies of some versions are read, except by what writes the next one."""
    copies: dict[Node, Node] = {}

    def rule(node: Node, new: dict[Node, Node]) -> Node:
        read = [copies.get(child, new[child]) for child in node.children]
        if isinstance(node, Update):
            read[0] = new[node.operands[0]]
        rebuilt = with_operands(node, read)
        if node in late:
            copies[node] = _saved_copy(rebuilt)
        return rebuilt

    saved = rebuild(graph, rule)
    results = [copies.get(old, new) for old, new in zip(graph.results, saved.results, strict=True)]
    kept: Graph = graph.replace(outputs=(*results, *saved.outputs[len(results) :]))
    return kept
