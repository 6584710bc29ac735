"""Folds of groups of labelled elements: a block has the states of all groups.

In graphs over entire arrays, folds of groups are scatters, which combine each element with the
state of its group, or scans of the elements sorted by label. Along an axis in blocks, such scatters
and scans become one operation, a fold by `GroupsFold`, whose result has a dimension of groups that
no operand has. A gather at a few positions becomes a fold, too; its result has the dimensions of
the positions.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np

from axiomjit.base.dtypes import state_dtype
from axiomjit.graph import builder
from axiomjit.graph.grouped_states import GroupedScan, group_sizes, group_states
from axiomjit.graph.indexing_ops import ZERO, gather
from axiomjit.graph.library_operations import LibraryOperation
from axiomjit.graph.nodes import (
    Graph,
    Node,
    Op,
    Scalar,
    Update,
    base_of,
    is_scan,
    is_view,
    note,
    rewrite,
    size,
)
from axiomjit.graph.primitives import (
    ACCUMULATORS,
    ALL,
    COPY,
    GATHER,
    MERGED,
    PRIMITIVES,
    STATE,
    WHERE,
    FoldRule,
    Primitive,
    UfuncFold,
    part_of_state,
)
from axiomjit.graph.reductions import StateFold, in_arrays
from axiomjit.graph.shape_ops import merge
from axiomjit.graph.storages import update
from axiomjit.scale.partitions import Values, number
from axiomjit.symbolic.dims import Dim
from axiomjit.symbolic.index_maps import IndexMap, affine, fixed, identity, iterator, iterators_of

_FOLDS: Final[Mapping[Primitive, UfuncFold]] = {row.combine: row for row in ACCUMULATORS.values()}
State = tuple[np.ndarray, ...]


class GroupsFold(FoldRule):
    """The fold of each group of elements by `each`; the first operand has the labels.

    Dimension `at` of the result is the dimension of groups. For a `StateFold` it is the last
    dimension, and `order` is the operation that sorts labels; the state of a block begins with the
    number of elements in each group.
    """

    each: FoldRule
    at: int
    order: LibraryOperation | None

    def __repr__(self) -> str:
        return self.name

    @property
    def parts(self) -> int:
        """The number of results."""
        return len(self.each.parts) if isinstance(self.each, StateFold) else 1

    def combined(self, one: State, other: State) -> State:
        """The state of the union of two parts of the elements, the first part in front."""
        if isinstance(self.each, UfuncFold):
            return (np.asarray(self.each.combine.evaluate(one[0], other[0])),)
        assert isinstance(self.each, StateFold)
        (count, *left), (more, *right) = one, other
        pairs = list(zip(left, right, strict=True))
        # a group without elements has an arbitrary state
        first = [np.where(count, a, b) for a, b in pairs]
        second = [np.where(more, b, a) for a, b in pairs]
        with np.errstate(all="ignore"):
            made = in_arrays(self.each.outputs, [*first, *second])
        both = (count > 0) & (more > 0)
        states = (
            np.where(both, value, a).astype(a.dtype, copy=False)
            for value, a in zip(made, first, strict=True)
        )
        return count + more, *states

    def results(self, state: State) -> State:
        """The results of all elements, from their state."""
        return state[1:] if isinstance(self.each, StateFold) else state


def _groups_fold(each: FoldRule, at: int, order: LibraryOperation | None = None) -> GroupsFold:
    """The fold of groups; with `order`, a fold of no elements has no state."""
    given = f"{each} of groups", True, order is None, ALL, each.commutative, each, at, order
    return GroupsFold(*given)


# Scatters


def grouped_update(op: Update) -> Op | None:
    """The fold of the elements that a scatter combines, without the old elements.

    None for other scatters, in which elements replace old ones or do not come from all dimensions
    of a result.
    """
    each = None if op.combine is None else _FOLDS.get(op.combine)
    if each is None or len(op.operands) != 3 or op.conditions or op.regions:
        return None
    _, value, cells = op.operands
    numbers = {function: d for d, function in enumerate(op.maps[0])}
    at = numbers.get(iterator(op.rank))
    kept = {k: d for k in range(op.rank) if (d := numbers.get(iterator(k))) is not None}
    if at is None or len(kept) + 1 != len(op.whole) or value.dtype != op.dtype:
        return None
    if any(op.extents[k] is not op.whole[d] for k, d in kept.items()):
        return None
    folded = [k for k in range(op.rank) if k not in kept]
    moved = kept | {k: len(op.whole) + n for n, k in enumerate(folded)}
    maps = tuple(_renumbered(index, moved) for index in (op.maps[2], op.maps[1]))
    extents = (*op.whole, *(op.extents[k] for k in folded))
    fold = _groups_fold(each, at)
    return note(Op(op.dtype, STATE, fold, (cells, value), maps, extents, len(op.whole)))


def _renumbered(index: IndexMap, numbers: Mapping[int, int]) -> IndexMap:
    return tuple(
        affine({numbers[k]: c for k, c in function.terms}, function.offset) for function in index
    )


def begins_with_identity(op: Update, fold: GroupsFold) -> bool:
    """True if all old elements of a scatter are the identity of its fold."""
    node = base_of(op.operands[0])
    while isinstance(node, Op) and node.primitive is COPY and node.fold is None:
        node = base_of(node.operands[0])
    assert isinstance(fold.each, UfuncFold)
    start = fold.each.initial(op.dtype)
    return isinstance(node, Scalar) and node.value == op.dtype.type(start)


# Scans of sorted elements


def with_grouped_scans(graph: Graph) -> tuple[Graph, Mapping[Node, Node]]:
    """The graph with folds in place of scans of sorted elements, and the scan of each fold."""
    replaced: dict[Node, Node] = {}

    def rule(node: Node) -> Node:
        found = _grouped_scan(node)
        if found is None:
            return node
        replaced[found] = node
        return found

    return rewrite(graph, rule), replaced


def _grouped_scan(node: Node) -> Op | None:
    """A fold of groups, or a part of it, in place of a scan's states; None for other nodes."""
    if not isinstance(node, Op) or node.primitive is not GATHER:
        return None
    part = node.operands[0]
    scan = part.operands[0] if isinstance(part, Op) and part.primitive.name == "part" else None
    if not isinstance(scan, Op) or not is_scan(scan) or not isinstance(scan.fold, GroupedScan):
        return None
    assert isinstance(part, Op)
    labels, *rows = (base_of(one) for one in scan.operands)
    cells, order = _taken(labels)
    kept = node.rank - 1
    sources = [_unmerged(cells, 0), *(_unmerged(_taken(row)[0], kept) for row in rows)]
    lengths = sources[0][1]
    if any(own != lengths for _, own in sources) or not isinstance(order, Op):
        return None
    each, last = scan.fold.grouped, tuple(iterator(node.rank + k) for k in range(len(lengths)))
    assert isinstance(order.primitive, LibraryOperation)
    fold = _groups_fold(each, kept, order.primitive)
    maps = (last, *((*identity(kept), *last),) * len(rows))
    extents = (*node.shape, *lengths)
    operands = tuple(one for one, _ in sources)
    made = note(Op(state_dtype(each.parts), STATE, fold, operands, maps, extents, node.rank))
    if len(each.parts) == 1:
        return made
    # the first part of the scan's state is the label
    number = part_of_state(int(part.primitive.source) - 1)
    every = identity(node.rank)
    return note(Op(node.dtype, number, None, (made,), (every,), node.shape, node.rank))


def _taken(node: Node) -> tuple[Node, Node]:
    """The values and the positions of a gather."""
    assert isinstance(node, Op)
    assert node.primitive is GATHER
    values, positions = node.operands
    return values, positions


def _unmerged(node: Node, kept: int) -> tuple[Node, tuple[Dim, ...]]:
    """The value before its dimensions from `kept` on were merged, and the merged lengths."""
    below = node.operands[0] if isinstance(node, Op) and is_view(node) else None
    if isinstance(below, Op) and below.primitive is MERGED:
        count = len(below.shape) - kept
        index = (*identity(kept), *[fixed(0)] * (count - 1), iterator(kept))
        assert isinstance(node, Op)
        if node.maps[0] == index:
            return below.operands[0], below.shape[kept:]
    return node, node.shape[kept:]


# Elements at chosen positions


class TakenFold(FoldRule):
    """The elements of the first operand at the positions that the other operands have.

    The state of a block has, for each element of the result, True if the block has it, and its
    value.
    """

    def __repr__(self) -> str:
        return self.name

    def combined(self, one: State, other: State) -> State:
        """The state of the union of two parts of the elements."""
        (has, value), (more, further) = one, other
        return has | more, np.where(has, value, further)


TAKEN: Final = TakenFold("elements at chosen positions", False, False, ALL, True)


def few_taken(op: Op, along: Sequence[int], values: Values) -> Op | None:
    """The fold of the elements that a gather reads along the dimensions `along`, or None.

    None if the result has more than half of the elements along these dimensions, since each block
    has a state of the size of the result, or if a folded iterator walks several dimensions.
    """
    index, *maps = op.maps
    taken = {k for one in maps for k in iterators_of(one)} - iterators_of(index)
    result = math.prod(number(op.extents[k], values) for k in taken)
    whole = math.prod(number(op.operands[0].shape[d], values) for d in along)
    own = [k for function in index for k, _ in function.terms if k >= op.rank]
    plain = all(iterator(k) in index for k in own) and len(set(own)) == len(own)
    if not plain or len(own) != len(maps) or 2 * result > whole or op.conditions or op.regions:
        return None
    return note(Op(op.dtype, STATE, TAKEN, op.operands, op.maps, op.extents, op.rank))


def block_taken(op: Op, starts: Sequence[Node]) -> list[Node]:
    """The state of a block, for an operation that folds its elements by `TAKEN`.

    `starts` has the position at which the block starts along each folded iterator.
    """
    row = PRIMITIVES
    (values, *positions), (index, *maps) = op.operands, op.maps
    lengths = op.extents[op.rank :]
    inside: list[Node] = []
    found = []
    for place, own, start, length in zip(positions, maps, starts, lengths, strict=True):
        within = builder.elementwise(row["subtract"], place, start)
        low = builder.elementwise(row["greater_equal"], within, ZERO)
        high = builder.elementwise(row["less"], within, size(length))
        both = builder.elementwise(row["logical_and"], low, high)
        found.append((builder.elementwise(WHERE, both, within, ZERO), own))
        inside.append(builder.view(both, own, op.shape))
    has = functools.reduce(lambda a, b: builder.elementwise(row["logical_and"], a, b), inside)
    return [builder.elementwise(COPY, has), gather(values, index, found, op.shape, lengths)]


# Blocks


def block_groups(op: Op) -> list[Node]:
    """The state of the elements of a block, for an operation that folds them by a `GroupsFold`."""
    fold = op.fold
    assert isinstance(fold, GroupsFold)
    if isinstance(fold.each, UfuncFold):
        return [_scatter(op, fold.each)]
    old = [k for k in range(len(op.extents)) if k != fold.at]
    numbers = {k: n for n, k in enumerate(old)}
    cells, *rows = op.operands
    index, *maps = (_renumbered(one, numbers) for one in op.maps)
    extents = tuple(op.extents[k] for k in old)
    return _sorted_states(op, cells, rows, index, maps, extents)


def _scatter(op: Op, each: UfuncFold) -> Node:
    """The states of the groups of a block, in a loop in the order of the values in memory."""
    (cells, value), (index, source), fold = op.operands, op.maps, op.fold
    assert isinstance(fold, GroupsFold)
    walked = [k for function in source for k, _ in function.terms]
    rest = [k for k in range(len(op.extents)) if k != fold.at and k not in walked]
    order = list(dict.fromkeys([*rest, *walked]))
    numbers = {k: n for n, k in enumerate(order)} | {fold.at: len(order)}
    start = Scalar(op.dtype, op.dtype.type(each.initial(op.dtype)), False)
    begun = builder.elementwise(COPY, builder.broadcast_to(start, op.shape))
    target = tuple(iterator(numbers[k]) for k in range(op.rank))
    parts = begun, target, value, _renumbered(source, numbers)
    extents = tuple(op.extents[k] for k in order)
    here = cells, _renumbered(index, numbers)
    return update(*parts, extents, [here], [op.shape[fold.at]], each.combine)


def _sorted_states(
    op: Op,
    cells: Node,
    rows: Sequence[Node],
    index: IndexMap,
    maps: Sequence[IndexMap],
    extents: tuple[Dim, ...],
) -> list[Node]:
    fold, kept = op.fold, op.rank - 1
    assert isinstance(fold, GroupsFold)
    assert isinstance(fold.each, StateFold)
    order, folded = fold.order, len(extents) - kept
    assert order is not None
    apart = _renumbered(index, {kept + k: k for k in range(folded)})
    cells = merge(builder.view(cells, apart, extents[kept:]), [folded])
    every = [*[1] * kept, folded]
    seen = [merge(builder.view(r, m, extents), every) for r, m in zip(rows, maps, strict=True)]

    def argsort(labels: Node) -> Node:
        (n,) = labels.shape
        return note(Op(cells.dtype, order, None, (labels,), ((iterator(1),),), (n, n), 1))

    sizes = group_sizes(cells, op.shape[-1])
    states = group_states(fold.each, seen, cells, sizes, argsort)
    count = builder.view(sizes, identity(1), op.shape[-1:])
    return [builder.elementwise(COPY, count), *states]
