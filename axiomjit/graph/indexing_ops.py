"""Gathers: the elements of an array at positions, and the elements that a mask selects.

A gather checks that the positions are within the length, then reads the elements. The number of
elements that a mask selects is a data-dependent length. `with_counts` adds the counts of masks to a
graph, and `counted` computes other lengths from the counts.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Final

from axiomjit.base.dtypes import BOOL, INT, is_bool, is_integer, is_signed, value_range
from axiomjit.base.errors import GraphTypeError
from axiomjit.base.origins import user_location
from axiomjit.base.trace_context import current
from axiomjit.graph import builder
from axiomjit.graph.builder import cast
from axiomjit.graph.external_calls import may_fail, stored
from axiomjit.graph.library_operations import NONZERO, LibraryOperation, check_ends, check_positions
from axiomjit.graph.nodes import (
    Graph,
    LengthNode,
    Node,
    Op,
    Scalar,
    Update,
    base_of,
    describe_type,
    is_view,
    note,
    post_order,
)
from axiomjit.graph.primitives import (
    COPY,
    GATHER,
    MATERIALIZE,
    MAX,
    MIN,
    PACKS,
    PRIMITIVES,
    SAVE,
    SUM,
    WHERE,
)
from axiomjit.graph.regions import symbols_of
from axiomjit.graph.storages import view_map
from axiomjit.symbolic.data_dependent import (
    DataDependent,
    data_dependent_among,
    data_dependent_in,
    data_dependent_length,
)
from axiomjit.symbolic.dims import DIMS, Dim, Scope, Symbol, current_scope, dim, product
from axiomjit.symbolic.index_maps import IndexMap, fixed, iterator

ZERO: Final = Scalar(INT, INT.type(0), False)
LOWEST, HIGHEST = (Scalar(INT, INT.type(end), False) for end in value_range(INT))
STORED: Final = (*PACKS, SAVE, MATERIALIZE)
"""Primitives whose results are always stored in memory."""
Position = tuple[Node, IndexMap]
"""Nonnegative positions, and the map from points of the result to the positions."""


def gather(
    values: Node,
    index: IndexMap,
    positions: Sequence[Position],
    shape: tuple[Dim, ...],
    lengths: Sequence[Dim],
) -> Node:
    """The elements of an array at positions, for each point of a shape.

    Args:
        values: The array to read.
        index: The map from points of the shape and from positions to elements of the array.
        positions: The int64 nodes of the positions, all within their lengths.
        shape: The shape of the result.
        lengths: For each of the positions, the length of the dimension that it indexes.
    """
    if not positions:
        return builder.elementwise(COPY, builder.view(values, index, shape))
    nodes, maps = zip(*positions, strict=True)
    operands, extents = (values, *nodes), (*shape, *lengths)
    return note(Op(values.dtype, GATHER, None, operands, (index, *maps), extents, len(shape)))


def checked_positions(positions: Node, length: Dim, axis: int, shape: tuple[Dim, ...]) -> Node:
    """Nonnegative int64 positions, checked to be within the length.

    Args:
        positions: Integers; negative integers count from the end.
        length: The length of the indexed dimension.
        axis: The number of the indexed dimension, for the error.
        shape: The shape to broadcast to; an empty shape skips the check.

    Raises:
        GraphTypeError: the positions are not integers.
        PositionError: a position is out of range; raised when the program runs.
    """
    if not (is_bool(positions.dtype) or is_integer(positions.dtype)):
        raise not_integers_error(f"elements at {describe_type(positions)}", "positions")
    wide = cast(positions, INT)
    following = current()
    if following is not None and following.region is not None:
        checked: Node = following.region.checked(wide, length)
        return checked
    within = may_fail(_checked_length(positions, wide, length, axis, shape))
    behind = builder.elementwise(PRIMITIVES["add"], wide, within)
    from_end = builder.elementwise(PRIMITIVES["less"], wide, ZERO)
    return builder.elementwise(WHERE, from_end, behind, wide)


def not_integers_error(asked: str, what: str) -> GraphTypeError:
    """The error for positions that are not integers."""
    remedy = "convert them with .astype(np.int64)"
    return GraphTypeError(asked, f"{what} that are no integers", remedy, user_location())


def _checked_length(
    positions: Node, wide: Node, length: Dim, axis: int, shape: tuple[Dim, ...]
) -> Op:
    """The length, computed after a check that all positions are within the length.

    `wide` are the positions as int64. Positions that are computed element by element are not stored
    for the check; a loop finds the smallest and the largest position.
    """
    # the last iterator carries the length; the operand repeats along it, also for a length of 0
    whole = shape and list(map(id, positions.shape)) == list(map(id, shape))
    if whole and _is_computed(positions):
        axes = range(len(shape))
        low, high = (
            builder.fold(*each) for each in ((MIN, wide, axes, HIGHEST), (MAX, wide, axes, LOWEST))
        )
        return note(Op(INT, check_ends(axis), None, (low, high), ((), ()), (length + 1,), 0))
    as_is = is_signed(positions.dtype) or positions.dtype.str[1:] in ("u1", "u2", "u4")
    looked_at = (stored(positions if as_is else wide),)
    seen = (builder.stretch_map(positions.shape, shape),)
    return note(Op(INT, check_positions(axis), None, looked_at, seen, (*shape, length + 1), 0))


def _is_computed(node: Node) -> bool:
    """True if the elements of a node are computed in the loops of its users."""
    base = base_of(node)
    if not isinstance(base, Op) or isinstance(base, Update) or base.fold is not None:
        return False
    return not isinstance(base.primitive, LibraryOperation) and base.primitive not in STORED


def take(values: Node, positions: Node, axis: int) -> Node:
    """The elements at positions along a dimension; the positions' dimensions replace this one."""
    at = checked_positions(positions, values.shape[axis], axis, positions.shape)
    return take_checked(values, at, axis)


def take_checked(values: Node, positions: Node, axis: int) -> Node:
    """The result of `take` without a check: all positions must be valid and nonnegative."""
    new = len(positions.shape)
    shape = (*values.shape[:axis], *positions.shape, *values.shape[axis + 1 :])
    index = [iterator(d if d < axis else d + new - 1) for d in range(len(values.shape))]
    index[axis] = iterator(len(shape))
    here = tuple(iterator(axis + d) for d in range(new))
    return gather(values, tuple(index), [(positions, here)], shape, [values.shape[axis]])


_PRIMITIVES: Final = {
    "+": PRIMITIVES["add"],
    "*": PRIMITIVES["multiply"],
    "//": PRIMITIVES["floor_divide"],
    "min": PRIMITIVES["minimum"],
    "max": PRIMITIVES["maximum"],
}


def as_mask(node: Node) -> Node:
    """A bool for each element: True if the element is not zero."""
    if node.dtype == BOOL:
        return node
    zero = Scalar(node.dtype, node.dtype.type(0), False)
    return builder.elementwise(PRIMITIVES["not_equal"], node, zero)


def count_true(mask: Node) -> Node:
    """The number of true elements of a mask, as an int64."""
    return builder.fold(SUM, cast(mask, INT), tuple(range(len(mask.shape))))


def true_positions(mask: Node) -> tuple[Node, ...]:
    """For each dimension, the positions of a mask's true elements in C order, as np.nonzero.

    The length of the positions is a symbol that all uses of this mask share.
    """
    rank, length = len(mask.shape), data_dependent_length(current_scope(), mask)
    extents = (dim(rank), length, *mask.shape)
    # a library operation reads repeated elements only once, so these need a copy
    seen = view_map(mask)
    plain = seen is not None and not is_view(seen[0])
    once = mask if plain else builder.elementwise(COPY, mask)
    operands = stored(once), stored(count_true(mask))
    maps = tuple(iterator(2 + d) for d in range(rank)), ()
    every = note(Op(INT, NONZERO, None, operands, maps, extents, 2))
    return tuple(builder.view(every, (fixed(d), iterator(0)), (length,)) for d in range(rank))


def with_counts(graph: Graph, scope: Scope) -> Graph:
    """The graph with the counts of masks that the graph or a guard uses.

    Guards on data-dependent lengths are removed from the scope; the program checks these guards
    when the counts are known.
    """
    later = {g: data_dependent_in(g.left, g.right) for g in scope.guards}
    later = {guard: symbols for guard, symbols in later.items() if symbols}
    asked = frozenset().union(*later.values())
    for guard in later:
        del scope.guards[guard]
    masks = dict(needed_counts(graph.nodes, scope, asked))
    order = list(masks)
    last = {guard: max(symbols, key=order.index) for guard, symbols in later.items()}
    found = tuple(DataDependent(s, tuple(g for g in later if last[g] == s)) for s in order)
    counts = tuple(map(count_of, masks.values()))
    outputs = (*graph.results, *counts, *graph.final_values)
    return Graph(graph.inputs, outputs, graph.writes, found)


def needed_counts(
    nodes: Iterable[Node], scope: Scope, asked: Iterable[Symbol] = ()
) -> list[tuple[Symbol, Node]]:
    """The data-dependent lengths in nodes, and the lengths in `asked`, each with its node.

    Lengths on which these lengths depend are included. All lengths are in the order in which the
    trace made them.
    """
    keys = {s: key for key, s in scope.data_dependent.items() if isinstance(key, Node)}
    needed: set[Symbol] = set()
    waiting = [*asked, *_data_dependent(nodes)]
    while waiting:
        symbol = waiting.pop()
        if symbol not in needed:
            needed.add(symbol)
            waiting += _data_dependent(post_order((keys[symbol],)))
    return [(symbol, key) for symbol, key in keys.items() if symbol in needed]


def _data_dependent(nodes: Iterable[Node]) -> frozenset[Symbol]:
    """The symbols of data-dependent lengths in nodes, and in the bodies of regions among nodes."""
    return data_dependent_among(frozenset[Symbol]().union(*map(symbols_of, nodes)))


def count_of(key: Node) -> Node:
    """The node that computes a data-dependent length; for a mask, the number of true elements."""
    return count_true(key) if key.dtype == BOOL else key


def size_estimate(key: Node) -> Dim:
    """An estimate of a data-dependent length: the number of all elements of its mask."""
    masks = (key,) if key.dtype == BOOL else key.children
    return sum((product(node.shape) for node in masks), dim(0))


def counted(length: Dim, counts: Mapping[Symbol, Node]) -> Node:
    """The node that computes a length from the counts of masks and from known lengths."""

    def leaf(value: int | Symbol) -> Dim | Node:
        count = counts.get(value) if isinstance(value, Symbol) else None
        return dim(value) if count is None else count

    def computed(sign: str, left: Dim | Node, right: Dim | Node) -> Dim | Node:
        if isinstance(left, Dim) and isinstance(right, Dim):
            return DIMS[sign](left, right)
        return builder.elementwise(_PRIMITIVES[sign], _number(left), _number(right))

    return _number(length.fold(leaf, {sign: partial(computed, sign) for sign in DIMS}))


def _number(value: Dim | Node) -> Node:
    return LengthNode(INT, value) if isinstance(value, Dim) else value
