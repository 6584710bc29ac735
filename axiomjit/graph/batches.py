"""One computation for each row of an array: nodes with further iterators in front of their own."""

from __future__ import annotations

from collections.abc import Sequence

from axiomjit.graph import builder
from axiomjit.graph.library_operations import LibraryOperation
from axiomjit.graph.nodes import Node, Op, Update, note, post_order
from axiomjit.graph.primitives import COPY, JOIN, NUMBER
from axiomjit.symbolic.dims import Dim, dim
from axiomjit.symbolic.index_maps import IndexMap, compose, identity, iterator


def batched(result: Node, row: Node, rows: Node) -> Node | None:
    """The result computed of a row, for each row of an array; None if that is no loop.

    Args:
        result: A node that is computed of the row.
        row: The node that stands for one row, in no other use.
        rows: The array; its last dimensions are those of the row, the others become the first
            dimensions of what is returned.
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
    """The node with the extents `more` in front; operands in `made` have these, too."""
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
    """The node, repeated along further dimensions in front."""
    return builder.broadcast_to(node, (*more, *node.shape))
