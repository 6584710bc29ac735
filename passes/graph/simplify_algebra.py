"""Graph -> Graph: simplify operands by identities that keep every bit of the result."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from axiomjit.base.dtypes import is_unsigned
from axiomjit.base.records import Record
from axiomjit.graph.nodes import Graph, Node, Op, is_view, rewrite, with_operands
from axiomjit.graph.regions import overwritten
from axiomjit.passes.ir.context import Context
from axiomjit.symbolic.index_maps import identity


class Rule(Record):
    """An identity; `simpler` returns the replacement of an operand, or None.

    The identity applies to the operands of the primitives in `readers`; if `readers` is empty, to
    the operands of all primitives.
    """

    identity: str
    simpler: Callable[[Node], Node | None]
    readers: frozenset[str] = frozenset()


def simplify_algebra(graph: Graph, context: Context) -> Graph:
    """Bypass operations that undo each other, by the identities in `RULES`.

    Only operands are rewritten, and no operands of views, so that an output stays a new array or a
    view of a new array.

    Needs: a legal graph.
    Gives: a graph in which no operand matches an identity of `RULES`.
    Keeps: the value of every output, bit for bit.
    """
    return rewrite(graph, _simplify)


def _simplify(node: Node) -> Node:
    if not isinstance(node, Op) or is_view(node):
        return node
    first = overwritten(node)  # these operands are written in place
    read = (_simplest(child, node) for child in node.operands[first:])
    return with_operands(node, (*node.operands[:first], *read))


def _simplest(child: Node, reader: Op) -> Node:
    for rule in RULES:
        if not rule.readers or reader.primitive.name in rule.readers:
            simpler = rule.simpler(child)
            child = child if simpler is None else simpler
    return child


def _negated_twice(child: Node) -> Node | None:
    inner = _operand_of(child, "negative")
    return None if inner is None else _operand_of(inner, "negative")


def _cast_back(child: Node) -> Node | None:
    """The operand of two casts, to a wider dtype of the same kind and back; otherwise None."""
    inner = _operand_of(child, "cast")
    base = None if inner is None else _operand_of(inner, "cast")
    if inner is None or base is None:
        return None
    widened = inner.dtype.kind == base.dtype.kind and inner.dtype.itemsize > base.dtype.itemsize
    return base if child.dtype == base.dtype and widened and not base.weak else None


def _negated(child: Node) -> Node | None:
    """The operand of a negation; None for unsigned integers, whose negation wraps around."""
    return _operand_of(child, "negative") if not is_unsigned(child.dtype) else None


def _operand_of(node: Node, primitive: str) -> Node | None:
    """The operand of an elementwise op of this primitive; None for other nodes."""
    if not isinstance(node, Op) or node.primitive.name != primitive or node.fold is not None:
        return None
    return node.operands[0] if node.maps[0] == identity(node.rank) else None


RULES: Final = (
    Rule("--x = x", _negated_twice),
    Rule("a cast to a wider type and back = no cast", _cast_back),
    Rule("|-x| = |x|", _negated, frozenset({"absolute"})),
)
"""The identities, in the order of their application."""
