"""The one builder of nodes: dtypes, lengths and maps are settled here, later stages only check.

Every door (tracing under `jit`, the axis graph) comes through these functions. Positional
functions follow NumPy's broadcasting; the mapped forms take the maps as they are.
"""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Complex, Integral, Real
from typing import Any, Final

import numpy as np

from axiomjit.algebra.chosen import assumed_equal, chosen_in
from axiomjit.algebra.dims import Dim, dim, product
from axiomjit.algebra.index_maps import (
    Conditions,
    IndexMap,
    affine,
    changes_nothing,
    identity,
    iterator,
    permutation,
    through,
)
from axiomjit.base import dtypes
from axiomjit.base.dtypes import BOOL, HALF, INT, SINGLE, DType, is_complex, is_inexact
from axiomjit.base.errors import GraphTypeError, GraphValueError, NeedsValuesError
from axiomjit.base.origins import user_location
from axiomjit.base.trace_context import current
from axiomjit.graph.captured import held_array
from axiomjit.graph.joins import concatenate
from axiomjit.graph.nodes import Held, Node, Op, Scalar, size
from axiomjit.graph.origins import note
from axiomjit.graph.primitives import (
    ANY,
    COPY,
    MAX,
    MIN,
    PRIMITIVES,
    READ_ONLY,
    SUM,
    VIEW,
    Primitive,
    UfuncFold,
)
from axiomjit.graph.promotion import cast, loop_of, resolve
from axiomjit.graph.seen import at_hand, seen_call, seen_shape, seen_type

MULTIPLY: Final = PRIMITIVES["multiply"]


def as_node(value: Any, asked: str) -> Node:
    """Return the node of a number, an array or a length; a node is returned as it is.

    An array from outside a followed function is held by reference; a list or range becomes an
    array, also a list of nodes and lengths, whose numbers count as NumPy's.

    Raises:
        GraphTypeError: nothing can be computed with the value.
        ValueError: the parts of a list have other shapes.
    """
    if isinstance(value, Node):
        return value
    if isinstance(value, Dim):
        return size(value) if value.constant is None else as_node(value.constant, asked)
    if isinstance(value, list | tuple | range):
        if holds_nodes(value):
            return _stacked([strong(as_node(part, asked)) for part in value])
        value = np.asarray(value)
    kind = type(value)  # not isinstance: a traced array claims to be an ndarray
    if issubclass(kind, np.ndarray):
        native = dtypes.supported(value.dtype, asked, user_location())
        if not dtypes.walkable(value):
            refusal = GraphTypeError if current() is None else NeedsValuesError
            raise refusal(
                asked,
                "an array from outside the function that is byteswapped or misaligned, or whose "
                "strides are not whole elements",
                "convert it there once, for example with x.astype(x.dtype.newbyteorder('='))",
                user_location(),
            )
        value = held_array(value)
        return Held(native, value, tuple(dim(n) for n in value.shape))
    if issubclass(kind, np.generic):
        native = dtypes.supported(value.dtype, asked, user_location())
        return Scalar(native, native.type(value), False)
    if issubclass(kind, bool):
        return Scalar(BOOL, np.bool_(value), False)
    if issubclass(kind, Integral) and -(2**63) <= int(value) < 2**64:
        wide = dtypes.INT if int(value) < 2**63 else dtypes.UNSIGNED
        return Scalar(wide, wide.type(int(value)), True)
    if issubclass(kind, Real):
        return Scalar(dtypes.FLOAT, np.float64(float(value)), True)
    if issubclass(kind, Complex):
        return Scalar(dtypes.COMPLEX, np.complex128(complex(value)), True)
    raise GraphTypeError(
        f"an operand of {asked}",
        seen_type(value),
        "pass arrays or numbers; mark other arguments with static_argnames",
        user_location(),
    )


def holds_nodes(value: object) -> bool:
    """Whether nested lists have nodes or lengths in them."""
    if isinstance(value, list | tuple):
        return any(map(holds_nodes, value))
    return isinstance(value, Node | Dim)


def _stacked(parts: Sequence[Node]) -> Node:
    """Nodes of one shape along a new first dimension, in their common dtype."""
    rank = len(parts[0].shape)
    if not all(
        len(part.shape) == rank and all(map(assumed_equal, part.shape, parts[0].shape))
        for part in parts
    ):
        raise ValueError(
            "setting an array element with a sequence. The requested array has an inhomogeneous "
            f"shape; its parts have the shapes {', '.join(seen_shape(p.shape) for p in parts)}"
        )
    common = dtypes.common(tuple(part.dtype for part in parts))
    index = tuple(iterator(d + 1) for d in range(rank))
    rows = [view(cast(part, common), index, (dim(1), *part.shape)) for part in parts]
    return concatenate(rows, 0)


def map_op(
    primitive: Primitive,
    operands: Sequence[Node],
    maps: Sequence[IndexMap],
    extents: tuple[Dim, ...],
) -> Node:
    """A primitive at every point of `extents`, operands read through `maps`."""
    cast_operands, result = resolve(primitive, operands)
    rank = len(extents)
    return note(Op(result, primitive, None, cast_operands, tuple(maps), extents, rank))


def broadcast_shapes(
    shapes: Sequence[tuple[Dim, ...]], function: str, *operands: Node
) -> tuple[Dim, ...]:
    """NumPy's broadcast of shapes, trailing dimensions aligned, ones stretched.

    `function` and `operands` are named in the error.

    Raises:
        GraphValueError: two lengths differ and neither is 1.
    """
    rank = max((len(shape) for shape in shapes), default=0)
    result: list[Dim] = []
    for position in range(-rank, 0):
        found = (shape[position] for shape in shapes if -position <= len(shape))
        met = list(dict.fromkeys(each for each in found if each.constant != 1))
        if len(met) == 1:  # nothing to compare it with: a look would leave a guard
            result += met
            continue
        length = dim(1)
        for each in met:
            if each == 1:
                continue
            if length == 1:
                length = each
            elif assumed_equal(length, each):
                length = each if chosen_in(length) else length
            else:
                meet = f"lengths {at_hand(length)} and {at_hand(each)} meet"
                raise GraphValueError(
                    seen_call(function, *operands),
                    f"{meet} at dimension {position} of {', '.join(map(seen_shape, shapes))}",
                    "reshape or slice so that the lengths are equal, or 1 where one stretches",
                    user_location(),
                )
        result.append(length)
    return tuple(result)


def stretch_map(shape: tuple[Dim, ...], extents: tuple[Dim, ...]) -> IndexMap:
    """The map by which NumPy's broadcasting reads an operand of `shape` at points of `extents`."""
    shift = len(extents) - len(shape)
    return tuple(  # the same length is not looked at, which would leave a guard
        iterator(d + shift)
        if length is extents[d + shift] or length != 1 or extents[d + shift] == 1
        else affine({})
        for d, length in enumerate(shape)
    )


def elementwise(primitive: Primitive, *operands: Node) -> Node:
    """A primitive of positionally broadcast operands."""
    extents = broadcast_shapes([n.shape for n in operands], primitive.name, *operands)
    maps = [stretch_map(n.shape, extents) for n in operands]
    return map_op(primitive, operands, maps, extents)


def view(node: Node, index: IndexMap, extents: tuple[Dim, ...]) -> Node:
    """The node read through a map; the node itself if the map changes nothing."""
    if changes_nothing(index, extents, node.shape):
        return node
    return note(Op(node.dtype, VIEW, None, (node,), (index,), extents, len(extents)))


def read_only(node: Node, seen: Node) -> Node:
    """`seen`, a view of the node or the node itself, as a view that nobody may write through."""
    shape = seen.shape
    index = seen.maps[0] if isinstance(seen, Op) and seen is not node else identity(len(shape))
    return note(Op(node.dtype, READ_ONLY, None, (node,), (index,), shape, len(shape)))


def part(node: Node, name: str) -> Node:
    """The real or imaginary parts of complex elements, computed; `name` is "real" or "imag"."""
    node = cast(node, INT) if node.weak and node.dtype == BOOL else node
    if is_complex(node.dtype):
        return elementwise(PRIMITIVES[name], node)
    if name == "real":
        return node
    zero = node.dtype.type(0)
    zeros = as_node(zero.item(), name) if node.weak else Scalar(node.dtype, zero, False)
    return broadcast_to(zeros, node.shape)


def part_view(node: Node, name: str) -> Node:
    """A view of the real or imaginary parts of complex elements; for a Python number computed."""
    if not is_complex(node.dtype) or node.weak:
        return part(node, name)
    index, shape = identity(len(node.shape)), node.shape
    dtype, primitive = dtypes.part_dtype(node.dtype), PRIMITIVES[f"{name}_view"]
    return note(Op(dtype, primitive, None, (node,), (index,), shape, len(shape)))


def transpose(node: Node, order: Sequence[int]) -> Node:
    """Dimension k of the result is dimension `order[k]` of the node."""
    inverse = [order.index(d) for d in range(len(order))]
    return view(node, permutation(inverse), tuple(node.shape[d] for d in order))


def broadcast_to(node: Node, extents: tuple[Dim, ...]) -> Node:
    """The node stretched to `extents`, as NumPy's broadcast_to."""
    if broadcast_shapes([node.shape, extents], "broadcast_to", node) != extents:
        raise GraphValueError(
            f"broadcast_to({seen_type(node)}, {seen_shape(extents)})",
            f"{seen_shape(node.shape)} does not stretch to {seen_shape(extents)}",
            "give a shape whose trailing lengths equal the array's, or where the array has 1",
            user_location(),
        )
    return view(node, stretch_map(node.shape, extents), extents)


def fold(
    accumulator: UfuncFold,
    node: Node,
    axes: Sequence[int],
    initial: Node | None = None,
    conditions: Conditions = (),
) -> Node:
    """The node folded along dimensions, in the order listed; the others keep theirs.

    `initial` (of the result's dtype) is combined with each result, on its left. Elements where one
    of the conditions, over the node's dimensions, does not hold are left out.

    Raises:
        GraphValueError: max or min over a length of 0, without an initial value.
    """
    result = accumulator.result_dtype(node.dtype)
    if initial is not None:
        # A fold of no elements gives the neutral value, which changes nothing in the initial one.
        combine = PRIMITIVES[accumulator.reduce.__name__]
        return elementwise(
            combine, initial, _fold(accumulator, cast(node, result), axes, conditions)
        )
    if not axes:
        whole = cast(node, result)
        if not accumulator.blocked or not is_inexact(result):
            return elementwise(COPY, whole)
        start = Scalar(result, result.type(accumulator.initial(result)), False)
        return elementwise(accumulator.combine, start, whole)
    check_not_empty(accumulator, node, axes)
    return _fold(accumulator, cast(node, result), axes, conditions)


def _fold(
    accumulator: UfuncFold, operand: Node, axes: Sequence[int], conditions: Conditions
) -> Node:
    if not axes:
        return operand
    rank = len(operand.shape)
    kept = [d for d in range(rank) if d not in axes]
    order = [*kept, *axes]
    index = permutation([order.index(d) for d in range(rank)])
    extents = tuple(operand.shape[d] for d in order)
    within = through(conditions, index)
    given = (operand,), (index,), extents, len(kept), (), within
    return note(Op(operand.dtype, VIEW, accumulator, *given))


def check_not_empty(accumulator: UfuncFold, node: Node, axes: Sequence[int]) -> None:
    """Refuse to fold along a length of 0 what has no value then."""
    if not accumulator.has_identity and any(node.shape[d] == 0 for d in axes):
        raise GraphValueError(
            f"{accumulator.name} of {seen_type(node)} along dimensions {tuple(axes)}",
            f"a length of 0, and {accumulator.name} of nothing has no value",
            f"call {accumulator.name} only where the array has elements",
            user_location(),
        )


def summed_in(node: Node) -> DType:
    """The dtype in which averages are taken: float64 of integers; sums may be beyond float16."""
    if node.dtype == HALF:
        return SINGLE
    return node.dtype if is_inexact(node.dtype) else dtypes.FLOAT


def mean(node: Node, axes: Sequence[int]) -> Node:
    """sum / count along dimensions; bools and ints give float64, floats keep their dtype."""
    total = fold(SUM, cast(node, summed_in(node)), axes)
    averaged = average(total, as_node(count(node, axes), "mean"))
    return cast(averaged, HALF) if node.dtype == HALF else averaged


def count(node: Node, axes: Sequence[int]) -> Dim:
    """The number of elements folded into each result."""
    return product(tuple(node.shape[d] for d in axes))


def average(total: Node, count: Node) -> Node:
    """total / count in the dtype of the total; divided in 64 bits, as the count is an int64."""
    wide = loop_of(np.divide, (total.dtype, dtypes.INT))[-1]
    quotient = elementwise(PRIMITIVES["divide"], cast(total, wide), cast(count, wide))
    return cast(quotient, total.dtype)


def contract(
    left: Node,
    right: Node,
    maps: tuple[IndexMap, IndexMap],
    extents: tuple[Dim, ...],
    rank: int,
    conditions: Conditions = (),
) -> Node:
    """The sum of products of two operands over the iterators from `rank` on, within conditions."""
    (a, b), result = resolve(MULTIPLY, (left, right))
    if rank == len(extents):
        return note(Op(result, MULTIPLY, None, (a, b), maps, extents, rank))
    if result == HALF:  # products are not rounded to it, as in NumPy
        singles = cast(a, SINGLE), cast(b, SINGLE)
        return cast(contract(*singles, maps, extents, rank, conditions), HALF)
    total = ANY if result == BOOL else SUM
    return note(Op(result, MULTIPLY, total, (a, b), maps, extents, rank, (), conditions))


def strong(node: Node) -> Node:
    """The node as an array: a Python number takes part in promotion with its dtype."""
    return elementwise(COPY, node) if node.weak else node


def dot(left: Node, right: Node) -> Node:
    """NumPy's dot: products of numbers, inner products, matrix products.

    Raises:
        GraphValueError: the contracted lengths differ.
    """
    if not left.shape or not right.shape:
        return elementwise(MULTIPLY, strong(left), strong(right))
    a, b = len(left.shape), len(right.shape)
    meet = max(b - 2, 0)
    if not assumed_equal(left.shape[-1], right.shape[meet]):
        raise GraphValueError(
            seen_call("dot", left, right),
            f"lengths {at_hand(left.shape[-1])} (last dimension of the left operand) and "
            f"{at_hand(right.shape[meet])} (dimension {meet} of the right one)",
            "transpose or slice an operand so that these two lengths are equal",
            user_location(),
        )
    rank = a - 1 + b - 1
    left_map = permutation([*range(a - 1), rank])
    rest = iter(range(a - 1, rank))
    right_map = permutation([rank if d == meet else next(rest) for d in range(b)])
    kept = (*left.shape[:-1], *(n for d, n in enumerate(right.shape) if d != meet))
    return contract(left, right, (left_map, right_map), (*kept, left.shape[-1]), rank)


__all__ = [
    "MAX",
    "MIN",
    "SUM",
    "as_node",
    "broadcast_shapes",
    "broadcast_to",
    "cast",
    "contract",
    "dot",
    "elementwise",
    "fold",
    "map_op",
    "mean",
    "read_only",
    "transpose",
    "view",
]
