"""Numbers that say where an element stands, and folds that give such numbers."""

from __future__ import annotations

from collections.abc import Sequence

from axiomjit.algebra.dims import Dim, dim, product
from axiomjit.algebra.index_maps import affine
from axiomjit.base.dtypes import HALF, INT, SINGLE
from axiomjit.graph import builder
from axiomjit.graph.nodes import Node, Op, Scalar
from axiomjit.graph.origins import note
from axiomjit.graph.place_folds import PlaceFold
from axiomjit.graph.primitives import MAX, POSITION, PRIMITIVES, SUM, WHERE, UfuncFold
from axiomjit.graph.state_folds import folded_states


def positions_along(shape: tuple[Dim, ...], axes: Sequence[int]) -> Node:
    """For each point of a shape its place among those along some axes, the last axis fastest."""
    steps: dict[int, Dim] = {}
    step = dim(1)
    for d in reversed(axes):
        steps[d] = step
        step = step * shape[d]
    count = product(tuple(shape[d] for d in axes))
    every = note(Op(INT, POSITION, None, (), (), (count,), 1))
    return builder.view(every, (affine(steps),), shape)


def choose_position(extreme: UfuncFold, node: Node, axes: Sequence[int]) -> Node:
    """The first place of the MAX or MIN along dimensions, of the first NaN if there is one.

    The dimensions count as one in the order listed.

    Raises:
        GraphValueError: a dimension has no elements.
    """
    if not axes:
        return builder.broadcast_to(Scalar(INT, INT.type(0), False), node.shape)
    builder.check_not_empty(extreme, node, axes)
    values = builder.cast(node, extreme.state_dtype(node.dtype))
    fold = PlaceFold(extreme, values.dtype)
    return folded_states(fold, [values, positions_along(node.shape, axes)], axes)[1]


def log_sum_exp(node: Node, axes: Sequence[int]) -> Node:
    """log(sum(exp(x))) along dimensions, shifted by the largest element; of nothing -inf."""
    dtype = builder.summed_in(node)
    wide = builder.cast(node, SINGLE if node.dtype == HALF else dtype)
    low = Scalar(wide.dtype, wide.dtype.type(float("-inf")), False)
    zero = Scalar(wide.dtype, wide.dtype.type(0), False)
    largest = builder.fold(MAX, wide, axes, low)
    finite = builder.elementwise(PRIMITIVES["isfinite"], largest)
    shift = builder.elementwise(WHERE, finite, largest, zero)
    apart = builder.elementwise(PRIMITIVES["subtract"], wide, _stretched(shift, wide, axes))
    total = builder.fold(SUM, builder.elementwise(PRIMITIVES["exp"], apart), axes)
    result = builder.elementwise(
        PRIMITIVES["add"], builder.elementwise(PRIMITIVES["log"], total), shift
    )
    return builder.cast(result, HALF) if node.dtype == HALF else result


def _stretched(folded: Node, node: Node, axes: Sequence[int]) -> Node:
    """What was folded along dimensions, at each point of what was folded."""
    kept = [d for d in range(len(node.shape)) if d not in axes]
    index = tuple(affine({d: dim(1)}) for d in kept)
    return builder.view(folded, index, node.shape)
