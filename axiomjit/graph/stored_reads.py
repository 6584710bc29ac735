"""Find which memory is read, and where, in the loops that compute a stored value."""

from __future__ import annotations

from collections.abc import Collection

from axiomjit.algebra.index_maps import IndexMap, compose, iterator
from axiomjit.graph.nodes import Node, Op, Update


def reads_of(
    unit: Op, stored: Collection[Node], operand: int | None = None
) -> dict[Node, set[IndexMap]]:
    """The stored nodes that the loops of a stored op read, and the maps through which they read.

    A map is from the dimensions of the node read to the iterators of the op and of the folds
    computed in it. The elements that an update overwrites are not read. With `operand`, it is what
    the loops read for this one of the op's operands.
    """
    found: dict[Node, set[IndexMap]] = {}
    first = 1 if isinstance(unit, Update) else 0
    which = slice(first, None) if operand is None else slice(operand, operand + 1)
    stack = list(zip(unit.operands[which], unit.maps[which], strict=True))
    seen: set[tuple[Node, IndexMap]] = set()
    inner = len(unit.extents)
    while stack:
        node, index = stack.pop()
        if (node, index) in seen:
            continue
        seen.add((node, index))
        if not isinstance(node, Op) or node in stored:
            found.setdefault(node, set()).add(index)
            continue
        place = list(index)
        for _ in node.extents[node.rank :]:
            place.append(iterator(inner))
            inner += 1
        stack += [(c, compose(m, place)) for c, m in zip(node.operands, node.maps, strict=True)]
    return found
