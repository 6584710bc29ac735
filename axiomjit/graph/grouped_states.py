"""The state of each group of labelled elements, by a scan of the elements sorted by label.

The sort is stable, so the elements of a group keep their order. The scan starts anew where the
label changes; the state after the last element of a group is the group's state.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from axiomjit.base.dtypes import INT, value_range
from axiomjit.graph import builder
from axiomjit.graph.builder import cast, elementwise
from axiomjit.graph.indexing_ops import ZERO, take_checked
from axiomjit.graph.nodes import Input, Node, Scalar, note
from axiomjit.graph.primitives import ALL, COPY, PRIMITIVES, SUM, WHERE
from axiomjit.graph.reductions import StateFold, in_nodes, running_fold, scan_states
from axiomjit.graph.storages import update
from axiomjit.symbolic.dims import Dim
from axiomjit.symbolic.index_maps import identity, iterator

_RADIX_SORTED: Final = np.dtype(np.uint16)
"""The dtype of labels for which NumPy's stable sort is a radix sort, in linear time."""
_ONE: Final = Scalar(INT, INT.type(1), False)


class GroupedScan(StateFold):
    """The fold of (label, state) pairs that combines states by `grouped` where labels are equal."""

    grouped: StateFold

    def __init__(self, grouped: StateFold) -> None:
        """Make the fold that starts anew where the label changes."""
        start = (INT.type(0), *grouped.start)
        rule: tuple[Any, ...] = ("fold", True, False, ALL, False)
        rule += (_within_groups(grouped), start, False, (), grouped)
        super(StateFold, self).__init__(*rule)


def _within_groups(fold: StateFold) -> tuple[Node, ...]:
    """The graph of scalars that combines two (label, state) pairs."""
    parts = (INT, *fold.parts)
    given: list[Any] = [Input(d, k, ()) for k, d in enumerate(parts * 2)]
    (own, *left), (other, *right) = given[: len(parts)], given[len(parts) :]
    same = elementwise(PRIMITIVES["equal"], own, other)
    combined = in_nodes(fold.outputs, [*left, *right])
    chosen = (
        elementwise(WHERE, same, cast(both, part), single)
        for both, part, single in zip(combined, fold.parts, right, strict=True)
    )
    return other, *chosen


def group_sizes(cells: Node, count: Dim) -> Node:
    """The number of elements with each label from 0 to `count`."""
    rank = len(cells.shape)
    begun = elementwise(COPY, builder.broadcast_to(ZERO, (count + 1,)))
    parts = begun, (iterator(rank),), _ONE, (), cells.shape
    here = cells, identity(rank)
    return note(update(*parts, [here], [count + 1], PRIMITIVES["add"]))


def group_states(
    fold: StateFold,
    rows: Sequence[Node],
    cells: Node,
    sizes: Node,
    argsort: Callable[[Node], Node],
) -> list[Node]:
    """The states of the groups; arbitrary values for a group without elements.

    Args:
        fold: The fold that combines two states of one group.
        rows: The parts of the elements' states; elements stand along the last dimension.
        cells: The label of each element, an int64; there is at least one element.
        sizes: The number of elements with each label; the last label is left out.
        argsort: The function that sorts labels in a stable way, and returns positions.

    Returns:
        The parts of the states, with the groups along the last dimension.
    """
    along, (every,) = len(rows[0].shape) - 1, sizes.shape
    count = every - 1
    known = count.constant
    short = known is not None and known <= value_range(_RADIX_SORTED)[1]
    places = argsort(cast(cells, _RADIX_SORTED) if short else cells)
    labels = builder.broadcast_to(take_checked(cells, places, 0), rows[0].shape)
    ordered = [take_checked(row, places, along) for row in rows]
    scanned = scan_states(GroupedScan(fold), [labels, *ordered], (along,))[1:]
    ends = elementwise(PRIMITIVES["subtract"], running_fold(SUM, sizes, INT, (0,)), _ONE)
    last = builder.view(ends, identity(1), (count,))
    last = elementwise(PRIMITIVES["maximum"], last, ZERO)
    return [take_checked(node, last, along) for node in scanned]
