"""Graph -> Graph: reads of views become reads of the viewed values."""

from __future__ import annotations

from axiomjit.graph.nodes import ELEMENT_VIEWS, Graph, Node, Op, is_view, rewrite
from axiomjit.graph.primitives import READ_ONLY
from axiomjit.passes.ir.context import Context
from axiomjit.symbolic.index_maps import IndexMap, compose


def compose_views(graph: Graph, context: Context) -> Graph:
    """Compose the maps of view ops into the maps of the ops that read them.

    Needs: a legal graph.
    Gives: a graph in which only outputs are views. If a view has another dtype than the viewed
    value, its readers compute the elements.
    Keeps: the value of every output, and the outputs that are writable views.
    """
    return rewrite(graph, _compose)


def _compose(node: Node) -> Node:
    if not isinstance(node, Op):
        return node
    reads = [
        _read_of_base(node, child, index)
        for child, index in zip(node.operands, node.maps, strict=True)
    ]
    operands = tuple(child for child, _ in reads)
    if operands == node.operands:
        return node
    return node.replace(
        operands=operands,
        maps=tuple(index for _, index in reads),
        primitive=READ_ONLY if _is_plain_view(node) and _is_read_only(node) else node.primitive,
    )


def _is_plain_view(node: Op) -> bool:
    return is_view(node) and node.primitive.name not in ELEMENT_VIEWS


def _is_read_only(node: Node) -> bool:
    """True if the node is a read-only view, or is made from a read-only view."""
    while is_view(node):
        assert isinstance(node, Op)
        if node.primitive is READ_ONLY:
            return True
        node = node.operands[0]
    return False


def _read_of_base(reader: Op, child: Node, index: IndexMap) -> tuple[Node, IndexMap]:
    """The node and map of a read through views; views with another dtype are not removed."""
    while is_view(child):
        assert isinstance(child, Op)
        part = ELEMENT_VIEWS.get(child.primitive.name)
        if part is not None:
            return (child if is_view(reader) else _compose(child.replace(primitive=part))), index
        if child.primitive is READ_ONLY and reader.primitive.name in ELEMENT_VIEWS:
            return child, index
        index = compose(child.maps[0], index)
        child = child.operands[0]
    return child, index
