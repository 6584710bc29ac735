"""Batching: a computation of one row is repeated for each row of an array."""

from __future__ import annotations

from collections.abc import Sequence

from axiomjit.graph import builder
from axiomjit.graph.library_operations import LibraryOperation
from axiomjit.graph.nodes import Node, Op, Update, note, post_order
from axiomjit.graph.primitives import COPY, JOIN, NUMBER
from axiomjit.symbolic.dims import Dim, dim
from axiomjit.symbolic.index_maps import IndexMap, compose, identity, iterator


def batched(result: Node, row: Node, rows: Node) -> Node | None:
    """The result for each row of an array, from the result for one row; None if impossible.

    Args:
        result: The node that is computed from one row.
        row: The node that represents one row; it has no other use.
        rows: The array of all rows. The last dimensions of the array are the dimensions of a row;
            its other dimensions become the first dimensions of the returned node.
    """
    more = rows.shape[: len(rows.shape) - len(row.shape)]
    made: dict[Node, Node] = {row: rows}
    for node in post_order((result,)):
        if node in made or not any(child in made for child in node.children):
            continue
        assert isinstance(node, Op)
        if isinstance(node.primitive, LibraryOperation) or node.conditions:
            return None
        made[node] = note(_with_iterators(node, made, more))
    if result in made:
        return made[result]
    shape = (*more, *result.shape)
    return builder.broadcast_to(builder.strong(result), shape)


def _with_iterators(node: Op, made: dict[Node, Node], more: tuple[Dim, ...]) -> Op:
    """The node with the extents `more` in front, reading batched operands from `made`."""
    if node.primitive is NUMBER:
        node = node.replace(primitive=COPY)
    count = len(more)
    outer = [iterator(count + k) for k in range(len(node.extents))]
    operands, maps = list[Node](), list[IndexMap]()
    for place, (child, index) in enumerate(zip(node.operands, node.maps, strict=True)):
        found, inner = made.get(child), compose(index, outer)
        if found is None and isinstance(node, Update) and place == 0:
            found = builder.elementwise(COPY, _repeated(child, more))
        operands.append(child if found is None else found)
        maps.append(inner if found is None else (*identity(count), *inner))
    parts = {
        **{"operands": tuple(operands), "maps": tuple(maps), "rank": node.rank + count},
        "extents": (*more, *node.extents),
    }
    if node.primitive is JOIN:
        every = tuple((dim(0), n) for n in more)
        parts["regions"] = tuple((*every, *region) for region in node.regions)
    if isinstance(node, Update):
        parts["whole"] = (*more, *node.whole)
    return node.replace(**parts)


def _repeated(node: Node, more: Sequence[Dim]) -> Node:
    """The node, broadcast along the leading dimensions `more`."""
    return builder.broadcast_to(node, (*more, *node.shape))
