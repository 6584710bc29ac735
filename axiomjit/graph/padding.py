"""Elements before and after a dimension: a join of margins and the node between them.

A margin is a number, or a part of the node read once more; neither has memory of its own.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from axiomjit.algebra.dims import Dim, dim
from axiomjit.base.errors import UnsupportedError
from axiomjit.base.origins import user_location
from axiomjit.graph import builder
from axiomjit.graph.builder import concatenate
from axiomjit.graph.nodes import Node
from axiomjit.graph.seen import at_hand, seen_type
from axiomjit.graph.slicing import flip, sliced

Widths = tuple[Dim, Dim]
"""The number of elements before and after a dimension."""
Margins = tuple[Node, Node]
Repeat = Callable[[Node, int, Widths], Margins]


def between(node: Node, axis: int, margins: Margins) -> Node:
    """The node with margins before and after it along a dimension."""
    return concatenate([margins[0], node, margins[1]], axis)


def padded(node: Node, axis: int, widths: Widths, *numbers: Node) -> Node:
    """The node between numbers of its dtype along a dimension: one for both sides, or two."""
    first, last = (
        builder.view(number, (), _margin(node, axis, width))
        for number, width in zip((numbers[0], numbers[-1]), widths, strict=True)
    )
    return between(node, axis, (first, last))


def _margin(node: Node, axis: int, width: Dim) -> tuple[Dim, ...]:
    """The shape of a margin of the node."""
    return (*node.shape[:axis], width, *node.shape[axis + 1 :])


def _check_not_empty(node: Node, axis: int, widths: Widths) -> None:
    if node.shape[axis] == 0 and any(width != 0 for width in widths):
        raise ValueError(
            f"can't extend empty axis {axis} using modes other than 'constant' or 'empty'"
        )


def _check_margin(node: Node, axis: int, widths: Widths, most: Dim) -> None:
    """Refuse margins longer than what they repeat."""
    _check_not_empty(node, axis, widths)
    for width in widths:
        if width > most:
            raise UnsupportedError(
                f"pad({seen_type(node)}, ...) by {at_hand(width)} along dimension {axis}",
                f"a margin beyond the {at_hand(most)} elements that it repeats",
                "pad by less, or several times",
                user_location(),
            )


def _edge(node: Node, axis: int, widths: Widths) -> Margins:
    _check_not_empty(node, axis, widths)
    first = sliced(node, [axis], slice(dim(0), dim(1)))
    last = sliced(node, [axis], slice(node.shape[axis] - 1, node.shape[axis]))
    before, after = (_margin(node, axis, width) for width in widths)
    return builder.broadcast_to(first, before), builder.broadcast_to(last, after)


def _mirrored(skipped: int) -> Repeat:
    """The elements next to an end in reverse; `skipped` 1 leaves out the end itself."""

    def margins(node: Node, axis: int, widths: Widths) -> Margins:
        length = node.shape[axis]
        _check_margin(node, axis, widths, length - skipped)
        before = sliced(node, [axis], slice(dim(skipped), widths[0] + skipped))
        last = length - skipped
        after = sliced(node, [axis], slice(last - widths[1], last))
        return flip(before, (axis,)), flip(after, (axis,))

    return margins


def _wrap(node: Node, axis: int, widths: Widths) -> Margins:
    length = node.shape[axis]
    _check_margin(node, axis, widths, length)
    before = sliced(node, [axis], slice(length - widths[0], length))
    return before, sliced(node, [axis], slice(dim(0), widths[1]))


REPEATS: Final[dict[str, Repeat]] = {
    "edge": _edge,
    "reflect": _mirrored(1),
    "symmetric": _mirrored(0),
    "wrap": _wrap,
}
"""The margins that repeat parts of a node, by NumPy's name of the mode.

Raises:
    ValueError: there is nothing to repeat.
    UnsupportedError: a margin is longer than what it repeats.
"""
