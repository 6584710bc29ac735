"""Graph -> Graph: identities that keep every bit of the result."""

from __future__ import annotations

from axiomjit.graph import Graph, Node, Op, Update, rewrite
from axiomjit.index_maps import identity


def simplify_algebra(graph: Graph) -> Graph:
    """Read past operations that undo each other.

    --x is x, |-x| is |x|, and a cast to a wider type and back is no cast. Only operands are
    rewritten: an output stays a fresh array.

    Needs: a legal graph.
    Gives: a graph without such pairs in operand position.
    Keeps: the value of every output, bit for bit.
    """
    return rewrite(graph, _simplify)


def _simplify(node: Node) -> Node:
    if not isinstance(node, Op):
        return node
    operands = tuple(_undo(child) for child in node.operands)
    if isinstance(node, Update):
        operands = (node.operands[0], *operands[1:])  # the first is written, not read
    if node.primitive.name == "absolute" and operands[0].dtype.kind != "u":  # where -x wraps
        operands = tuple(_under(child, "negative") or child for child in operands)
    if operands == node.operands:
        return node
    rebuilt: Node = node.replace(operands=operands)
    return rebuilt


def _undo(child: Node) -> Node:
    inner = _under(child, "negative")
    if inner is not None and (base := _under(inner, "negative")) is not None:
        return base
    inner = _under(child, "cast")
    if inner is not None and (base := _under(inner, "cast")) is not None:
        widened = inner.dtype.kind == base.dtype.kind and inner.dtype.itemsize > base.dtype.itemsize
        if child.dtype == base.dtype and widened and not base.weak:
            return base
    return child


def _under(node: Node, primitive: str) -> Node | None:
    """The operand of a plain elementwise `primitive`, or None."""
    if not isinstance(node, Op) or node.primitive.name != primitive or node.fold is not None:
        return None
    return node.operands[0] if node.maps[0] == identity(node.rank) else None
