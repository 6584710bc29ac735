"""Elements of an array at positions that other arrays hold: gathers, and checks of positions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from axiomjit.algebra.dims import Dim
from axiomjit.algebra.index_maps import IndexMap, iterator
from axiomjit.base.dtypes import INT, is_bool, is_integer, is_signed, value_range
from axiomjit.base.errors import GraphTypeError
from axiomjit.base.origins import user_location
from axiomjit.graph import builder
from axiomjit.graph.library_nodes import may_fail, stored
from axiomjit.graph.library_operations import LibraryOperation, check_ends, check_positions
from axiomjit.graph.nodes import Node, Op, Scalar, Update, base_of
from axiomjit.graph.origins import note
from axiomjit.graph.primitives import (
    COPY,
    GATHER,
    MATERIALIZE,
    MAX,
    MIN,
    PACKS,
    PRIMITIVES,
    SAVE,
    WHERE,
)
from axiomjit.graph.promotion import cast
from axiomjit.graph.seen import seen_type

ZERO: Final = Scalar(INT, INT.type(0), False)
LOWEST, HIGHEST = (Scalar(INT, INT.type(end), False) for end in value_range(INT))
KEPT: Final = (*PACKS, SAVE, MATERIALIZE)
"""Primitives whose values are stored."""
Position = tuple[Node, IndexMap]
"""Positions from 0 on, and the map from points of the result to them."""


def gather(
    values: Node,
    index: IndexMap,
    positions: Sequence[Position],
    shape: tuple[Dim, ...],
    lengths: Sequence[Dim],
) -> Node:
    """The values at positions, at each point of a shape.

    Args:
        values: What is read.
        index: The map to it from the points of the shape and, behind these, the positions.
        positions: The nodes of positions, of int64, none outside its length.
        shape: The shape of the result.
        lengths: For each of the positions the length within which it is.
    """
    if not positions:
        return builder.elementwise(COPY, builder.view(values, index, shape))
    nodes, maps = zip(*positions, strict=True)
    operands, extents = (values, *nodes), (*shape, *lengths)
    return note(Op(values.dtype, GATHER, None, operands, (index, *maps), extents, len(shape)))


def placed(positions: Node, length: Dim, axis: int, shape: tuple[Dim, ...]) -> Node:
    """Positions counted from 0 on, int64; whether they are within the length is checked before.

    Args:
        positions: Integers; negative ones count from the end.
        length: The length that they are to be within.
        axis: Which dimension that is, for the error.
        shape: To which they are broadcast; where it has no elements nothing is checked.

    Raises:
        GraphTypeError: the positions are no integers.
        PositionError: at the call, one is out of range.
    """
    if not (is_bool(positions.dtype) or is_integer(positions.dtype)):
        raise no_integers(f"elements at {seen_type(positions)}", "positions")
    wide = cast(positions, INT)
    within = may_fail(_within(positions, wide, length, axis, shape))
    behind = builder.elementwise(PRIMITIVES["add"], wide, within)
    from_end = builder.elementwise(PRIMITIVES["less"], wide, ZERO)
    return builder.elementwise(WHERE, from_end, behind, wide)


def no_integers(asked: str, what: str) -> GraphTypeError:
    """The error for elements of which only integers can be used."""
    remedy = "convert them with .astype(np.int64)"
    return GraphTypeError(asked, f"{what} that are no integers", remedy, user_location())


def _within(positions: Node, wide: Node, length: Dim, axis: int, shape: tuple[Dim, ...]) -> Op:
    """The length, once positions, `wide` as int64, are found to be within it.

    What is computed element by element is not stored for that: a loop finds its ends.
    """
    # the last iterator brings the length; the operand is the same along it, also for a length of 0
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
    """Whether the elements of a node are computed one by one, in the loops of who reads them."""
    base = base_of(node)
    if not isinstance(base, Op) or isinstance(base, Update) or base.fold is not None:
        return False
    return not isinstance(base.primitive, LibraryOperation) and base.primitive not in KEPT


def take(values: Node, positions: Node, axis: int) -> Node:
    """The values at positions along a dimension, whose place their dimensions take."""
    at = placed(positions, values.shape[axis], axis, positions.shape)
    return taken(values, at, axis)


def taken(values: Node, positions: Node, axis: int) -> Node:
    """As `take`, at positions from 0 on that are known to be within the dimension."""
    new = len(positions.shape)
    shape = (*values.shape[:axis], *positions.shape, *values.shape[axis + 1 :])
    index = [iterator(d if d < axis else d + new - 1) for d in range(len(values.shape))]
    index[axis] = iterator(len(shape))
    here = tuple(iterator(axis + d) for d in range(new))
    return gather(values, tuple(index), [(positions, here)], shape, [values.shape[axis]])
