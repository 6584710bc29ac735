"""Graph -> Graph: reads through views become reads of what is viewed."""

from __future__ import annotations

from axiomjit.graph import Graph, Node, Op, is_view, rewrite
from axiomjit.index_maps import IndexMap, compose
from axiomjit.primitives import READ_ONLY


def compose_views(graph: Graph) -> Graph:
    """Compose the maps of view ops into the maps of the ops that read them.

    Needs: a legal graph.
    Gives: a graph in which no op reads a view op; views are left only as outputs.
    Keeps: the value of every output, and which outputs are views that may be written through.
    """
    return rewrite(graph, _compose)


def _compose(node: Node) -> Node:
    if not isinstance(node, Op):
        return node
    reads = [_through(child, index) for child, index in zip(node.operands, node.maps, strict=True)]
    operands = tuple(child for child, _ in reads)
    if operands == node.operands:
        return node
    rebuilt: Node = node.replace(
        operands=operands,
        maps=tuple(index for _, index in reads),
        primitive=READ_ONLY if is_view(node) and _is_read_only(node) else node.primitive,
    )
    return rebuilt


def _is_read_only(node: Node) -> bool:
    """Whether any view on the way to what is viewed is read-only."""
    while is_view(node):
        assert isinstance(node, Op)
        if node.primitive is READ_ONLY:
            return True
        node = node.operands[0]
    return False


def _through(child: Node, index: IndexMap) -> tuple[Node, IndexMap]:
    while is_view(child):
        assert isinstance(child, Op)
        index = compose(child.maps[0], index)
        child = child.operands[0]
    return child, index
