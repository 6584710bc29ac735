"""Graph -> Graph: simplify operands by identities that keep every bit of the result."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import combinations
from typing import Final

from axiomjit.base.dtypes import is_complex, is_unsigned
from axiomjit.base.records import Record
from axiomjit.graph.library_operations import LibraryOperation
from axiomjit.graph.nodes import Graph, Node, Op, Update, is_scan, is_view, rewrite, with_operands
from axiomjit.graph.primitives import GATHER, POSITION, PRIMITIVES, SUM, VIEW
from axiomjit.graph.regions import Region, overwritten
from axiomjit.passes.ir.context import Context
from axiomjit.symbolic.index_maps import Affine, IndexMap, compose, identity

Symmetries = dict[Node, dict[tuple[int, int], int]]
"""For each value, the pairs of dimensions that may be exchanged, each with the result's sign."""
NEGATIVE: Final = PRIMITIVES["negative"]


class Rule(Record):
    """An identity; `simpler` returns the replacement of an operand, or None.

    The identity applies to the operands of the primitives in `readers`; if `readers` is empty, to
    the operands of all primitives.
    """

    identity: str
    simpler: Callable[[Node], Node | None]
    readers: frozenset[str] = frozenset()


def simplify_algebra(graph: Graph, context: Context) -> Graph:
    """Bypass operations that undo each other, by the identities in `RULES`, and transposes.

    A transpose of a symmetric value, such as the distances of all pairs of points, is the value. A
    sum over the transpose of a value that then changes its sign, as differences do, is a sum over
    the negated value. Only operands are rewritten, and no operands of views, so that an output
    stays a new array or a view of a new array.

    Needs: a legal graph.
    Gives: a graph in which no operand matches an identity of `RULES`.
    Keeps: the value of every output, bit for bit.
    """
    symmetries: Symmetries = {}

    def simplified(node: Node) -> Node:
        if not isinstance(node, Op) or is_view(node):
            return node
        first = overwritten(node)  # these operands are written in place
        read = (_simplest(child, node) for child in node.operands[first:])
        found = with_operands(node, (*node.operands[:first], *read))
        assert isinstance(found, Op)
        if not isinstance(found.primitive, LibraryOperation | Region) and not first:
            found = _in_order(found, symmetries)
        symmetries[found] = _symmetries_of(found, symmetries)
        return found

    return rewrite(graph, simplified)


def _in_order(op: Op, symmetries: Symmetries) -> Op:
    """The op, which reads dimensions that may be exchanged in the order of its iterators."""
    operands, maps = list(op.operands), list(op.maps)
    sums = op.fold is SUM and op.primitive is VIEW and _number_is_unknown(op)
    for k, child in enumerate(op.operands):
        for (d, e), sign in symmetries.get(child, {}).items():
            index = maps[k]
            if not _is_descending(index[d], index[e]) or not (sign == 1 or sums):
                continue
            maps[k] = _exchanged(index, d, e)
            operands[k] = operands[k] if sign == 1 else _negative(operands[k])
    return op if maps == list(op.maps) else op.replace(operands=tuple(operands), maps=tuple(maps))


def _number_is_unknown(op: Op) -> bool:
    """True if a fold has a loop: a sum then starts at 0.0, and ignores the signs of zeros."""
    return any(n.constant is None for n in op.extents[op.rank :])


def _negative(node: Node) -> Node:
    """The negation of a value."""
    opposite = _operand_of(node, "negative")
    whole = identity(len(node.shape))
    negative = Op(node.dtype, NEGATIVE, None, (node,), (whole,), node.shape, len(node.shape))
    return negative if opposite is None else opposite


def _is_descending(first: Affine, second: Affine) -> bool:
    """True if two index functions are iterators, the later iterator first."""
    plain = all(
        len(f.terms) == 1 and f.terms[0][1].constant == 1 and f.offset.constant == 0
        for f in (first, second)
    )
    return plain and first.terms[0][0] > second.terms[0][0]


def _exchanged(index: IndexMap, d: int, e: int) -> IndexMap:
    """The map with the functions of two dimensions exchanged."""
    found = list(index)
    found[d], found[e] = index[e], index[d]
    return tuple(found)


def _symmetries_of(op: Op, known: Symmetries) -> dict[tuple[int, int], int]:
    """The pairs of dimensions that may be exchanged, each with 1, or -1 if that negates the op.

    At -1 zeros may keep their sign.
    """
    whole = isinstance(op.primitive, LibraryOperation) or isinstance(op, Update) or is_scan(op)
    inexact = op.fold is not None and len(op.operands) > 1  # a library may compute it
    if whole or inexact or op.regions or op.conditions or op.primitive in (GATHER, POSITION):
        return {}
    pairs = [pair for pair in combinations(range(op.rank), 2) if _are_equal(op, *pair)]
    found = {pair: _sign(op, *pair, known) for pair in pairs}
    return {pair: sign for pair, sign in found.items() if sign}


def _are_equal(op: Op, d: int, e: int) -> bool:
    return op.extents[d] is op.extents[e] and op.extents[d].constant != 1


def _sign(op: Op, d: int, e: int, known: Symmetries) -> int:
    """1 if an op keeps its values when two iterators are exchanged, -1 if it negates them, or 0."""
    outer = list(identity(len(op.extents)))
    outer[d], outer[e] = outer[e], outer[d]
    moved = tuple(compose(index, outer) for index in op.maps)
    name = op.primitive.name
    if len(set(op.operands)) == 1 and len(moved) == 2 and moved == op.maps[::-1] != op.maps:
        sign = {"add": 1, "multiply": 1, "subtract": -1}.get(name, 0)
    else:
        reads = zip(op.operands, op.maps, moved, strict=True)
        signs = [_sign_of_read(*read, known.get(read[0], {})) for read in reads]
        same = len(set(zip(op.operands, op.maps, strict=True))) == 1
        # squares of complex numbers see the signs of zeros
        partial = (name == "absolute" and is_unsigned(op.dtype)) or is_complex(op.dtype)
        sign = _combined(name, signs, same)
        sign = 0 if partial and -1 in signs and sign == 1 else sign
    return sign if sign == 1 or op.fold in (None, SUM) else 0


def _combined(name: str, signs: Sequence[int], same: bool) -> int:
    """The sign of an operation by the signs of its operands, of which all are the `same` or not."""
    if all(sign == 1 for sign in signs):
        return 1
    if 0 in signs:
        return 0
    if (name == "multiply" and len(signs) == 2 and same) or name == "absolute":
        return 1  # (-0.0) * (-0.0) = 0.0 * 0.0
    if name in ("negative", "view", "copy") or (name in ("add", "subtract") and 1 not in signs):
        return -1
    return -1 if (name == "multiply" and 1 in signs) or (name == "divide" and signs[1] == 1) else 0


def _sign_of_read(
    child: Node, index: IndexMap, moved: IndexMap, own: Mapping[tuple[int, int], int]
) -> int:
    """The sign of a value that is read through a map with exchanged iterators."""
    if moved == index:
        return 1
    return next((sign for pair, sign in own.items() if _exchanged(index, *pair) == moved), 0)


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
