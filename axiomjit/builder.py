"""The one builder of nodes: dtypes, lengths and maps are settled here, later stages only check.

Every door (tracing under `jit`, the axis graph) comes through these functions. Positional
functions follow NumPy's broadcasting; the mapped forms take the maps as they are.
"""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral, Real
from typing import Any, Final

import numpy as np

from axiomjit import dtypes
from axiomjit.dims import Dim, dim
from axiomjit.dtypes import BOOL, WEAK_TYPES, DType, Promotable
from axiomjit.errors import GraphTypeError, GraphValueError, UnsupportedError
from axiomjit.graph import Held, Node, Op, Scalar, Size, size
from axiomjit.index_maps import IndexMap, affine, identity, iterator, permutation
from axiomjit.origins import note, user_location
from axiomjit.primitives import (
    CAST,
    COPY,
    MAX,
    MIN,
    PACK,
    PRIMITIVES,
    READ_ONLY,
    SUM,
    VIEW,
    WHERE,
    Accumulator,
    Primitive,
)
from axiomjit.print_graph import shape_text, type_text

MULTIPLY: Final = PRIMITIVES["multiply"]


def as_node(value: Any, asked: str) -> Node:
    """The node of a number, an array or a length; a node is returned as it is.

    An array is held by reference, not copied; a list becomes an array.

    Raises:
        GraphTypeError: the value is nothing one can compute with.
    """
    if isinstance(value, Node):
        return value
    if isinstance(value, Dim):
        return size(value) if value.constant is None else as_node(value.constant, asked)
    if isinstance(value, list | tuple):
        value = np.asarray(value)
    if isinstance(value, np.ndarray):
        native = dtypes.supported(value.dtype, asked, user_location())
        if value.dtype != native or not value.flags.aligned:
            raise GraphTypeError(
                asked,
                "an array from outside the function that is byteswapped or misaligned",
                "convert it there once, for example with x.astype(x.dtype.newbyteorder('='))",
                user_location(),
            )
        return Held(native, value, tuple(dim(n) for n in value.shape))
    if isinstance(value, np.generic):
        native = dtypes.supported(value.dtype, asked, user_location())
        return Scalar(native, native.type(value), False)
    if isinstance(value, bool):
        return Scalar(BOOL, np.bool_(value), False)
    if isinstance(value, Integral) and -(2**63) <= int(value) < 2**63:
        return Scalar(dtypes.INT, np.int64(int(value)), True)
    if isinstance(value, Real):
        return Scalar(dtypes.FLOAT, np.float64(float(value)), True)
    raise GraphTypeError(
        asked,
        f"an operand of type {type(value).__name__}",
        "pass arrays or numbers; mark other arguments with static_argnames",
        user_location(),
    )


def promotable(node: Node) -> Promotable:
    """What the node is to promotion: its dtype, or int/float for a Python number."""
    return WEAK_TYPES[node.dtype] if node.weak else node.dtype


def cast(node: Node, dtype: DType) -> Node:
    """The node with elements of another dtype; itself where nothing changes."""
    if node.dtype == dtype and not node.weak:
        return node
    if isinstance(node, Size):
        return Size(dtype, node.length)
    if isinstance(node, Scalar):
        return Scalar(dtype, dtype.type(node.value), node.weak)
    rank = len(node.shape)
    return note(Op(dtype, CAST, None, (node,), (identity(rank),), node.shape, rank))


def resolve(primitive: Primitive, operands: Sequence[Node]) -> tuple[tuple[Node, ...], DType]:
    """Operands cast to the loop's dtypes, and the dtype of the result.

    Raises:
        GraphTypeError, UnsupportedError: no such loop.
    """
    kinds = tuple(promotable(node) for node in operands)
    if primitive is COPY or primitive is PACK:
        return tuple(operands), operands[0].dtype
    if primitive is WHERE:
        result = dtypes.common(kinds[1:])
        loop: tuple[DType, ...] = (BOOL, result, result)
    else:
        assert primitive.ufunc is not None, primitive
        *loop_in, result = _located_resolve(primitive.ufunc, kinds)
        loop = tuple(loop_in)
    for wanted in loop[-1:]:
        if dtypes.code(wanted) not in primitive.loops:
            raise GraphTypeError(
                f"{primitive.name}({', '.join(type_text(n) for n in operands)})",
                f"{primitive.name} of {wanted} elements is not compiled",
                "convert the operands with .astype(np.float64)",
                user_location(),
            )
    return tuple(cast(n, d) for n, d in zip(operands, loop, strict=True)), result


def _located_resolve(ufunc: np.ufunc, kinds: tuple[Promotable, ...]) -> tuple[DType, ...]:
    try:
        return dtypes.resolve(ufunc, kinds)
    except (GraphTypeError, UnsupportedError) as error:
        raise type(error)(error.asked, error.seen, error.remedy, user_location()) from None


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


def broadcast_shapes(shapes: Sequence[tuple[Dim, ...]], asked: str) -> tuple[Dim, ...]:
    """NumPy's broadcast of shapes, trailing dimensions aligned, ones stretched.

    Raises:
        GraphValueError: two lengths differ and neither is 1.
    """
    rank = max((len(shape) for shape in shapes), default=0)
    result: list[Dim] = []
    for position in range(-rank, 0):
        length = dim(1)
        for shape in shapes:
            if -position > len(shape) or shape[position] == 1:
                continue
            if length == 1:
                length = shape[position]
            elif length != shape[position]:
                raise GraphValueError(
                    asked,
                    "shapes "
                    + ", ".join(shape_text(s) for s in shapes)
                    + f"; lengths {length} and {shape[position]} meet at dimension {position}",
                    "reshape or slice so that the lengths are equal, or 1 where one stretches",
                    user_location(),
                )
        result.append(length)
    return tuple(result)


def stretch_map(shape: tuple[Dim, ...], extents: tuple[Dim, ...]) -> IndexMap:
    """How an operand of `shape` is read where the op has `extents` (positional broadcasting)."""
    shift = len(extents) - len(shape)
    return tuple(
        affine({}) if length == 1 and extents[d + shift] != 1 else iterator(d + shift)
        for d, length in enumerate(shape)
    )


def elementwise(primitive: Primitive, *operands: Node) -> Node:
    """A primitive of positionally broadcast operands."""
    asked = f"{primitive.name}({', '.join(type_text(n) for n in operands)})"
    extents = broadcast_shapes([n.shape for n in operands], asked)
    maps = [stretch_map(n.shape, extents) for n in operands]
    return map_op(primitive, operands, maps, extents)


def power(base: Node, exponent: Node) -> Node:
    """base ** exponent; NumPy's short forms for the exponents 2, 1, 0.5 and -1 of floats."""
    asked = f"power({type_text(base)}, {type_text(exponent)})"
    if isinstance(exponent, Scalar) and exponent.weak and base.dtype.kind == "f":
        value = exponent.value.item()
        if value == 2:
            return elementwise(MULTIPLY, base, base)
        if value == 1:
            return elementwise(MULTIPLY, base, as_node(1, asked))
        if value == 0.5:
            return elementwise(PRIMITIVES["sqrt"], base)
        if value == -1:
            return elementwise(PRIMITIVES["divide"], as_node(1, asked), base)
    return elementwise(PRIMITIVES["power"], base, exponent)


def view(node: Node, index: IndexMap, extents: tuple[Dim, ...]) -> Node:
    """The node read through a map; itself where the map changes nothing."""
    if index == identity(len(extents)) and extents == node.shape:
        return node
    return note(Op(node.dtype, VIEW, None, (node,), (index,), extents, len(extents)))


def read_only(node: Node, seen: Node) -> Node:
    """`seen`, a view of the node or the node itself, as a view that nobody may write through."""
    shape = seen.shape
    index = seen.maps[0] if isinstance(seen, Op) and seen is not node else identity(len(shape))
    return note(Op(node.dtype, READ_ONLY, None, (node,), (index,), shape, len(shape)))


def transpose(node: Node, order: Sequence[int]) -> Node:
    """Dimension k of the result is dimension `order[k]` of the node."""
    inverse = [order.index(d) for d in range(len(order))]
    return view(node, permutation(inverse), tuple(node.shape[d] for d in order))


def broadcast_to(node: Node, extents: tuple[Dim, ...]) -> Node:
    """The node stretched to `extents`, as NumPy's broadcast_to."""
    asked = f"broadcast_to({type_text(node)}, {shape_text(extents)})"
    if broadcast_shapes([node.shape, extents], asked) != extents:
        raise GraphValueError(
            asked,
            f"{shape_text(node.shape)} does not stretch to {shape_text(extents)}",
            "give a shape whose trailing lengths equal the array's, or where the array has 1",
            user_location(),
        )
    return view(node, stretch_map(node.shape, extents), extents)


def fold(
    accumulator: Accumulator, node: Node, axes: Sequence[int], initial: Node | None = None
) -> Node:
    """The node folded along dimensions, in the order listed; the others keep theirs.

    `initial` (of the result's dtype) is combined with each result, on its left.

    Raises:
        GraphValueError: max or min over a length of 0, without an initial value.
    """
    result = accumulator.result_dtype(node.dtype)
    if initial is not None:
        # What is folded without elements has the neutral value, which the initial one absorbs.
        combine = PRIMITIVES[accumulator.reduce.__name__]
        return elementwise(combine, initial, _fold(accumulator, cast(node, result), axes))
    if not axes:
        return elementwise(COPY, cast(node, result))
    _check_not_empty(accumulator, node, axes)
    return _fold(accumulator, cast(node, result), axes)


def _fold(accumulator: Accumulator, operand: Node, axes: Sequence[int]) -> Node:
    if not axes:
        return operand
    rank = len(operand.shape)
    kept = [d for d in range(rank) if d not in axes]
    order = [*kept, *axes]
    index = permutation([order.index(d) for d in range(rank)])
    extents = tuple(operand.shape[d] for d in order)
    return note(Op(operand.dtype, VIEW, accumulator, (operand,), (index,), extents, len(kept)))


def _check_not_empty(accumulator: Accumulator, node: Node, axes: Sequence[int]) -> None:
    if not accumulator.has_identity and any(node.shape[d] == 0 for d in axes):
        raise GraphValueError(
            f"{accumulator.name} of {type_text(node)} along dimensions {tuple(axes)}",
            f"a length of 0, and {accumulator.name} of nothing has no value",
            f"call {accumulator.name} only where the array has elements",
            user_location(),
        )


def mean(node: Node, axes: Sequence[int]) -> Node:
    """sum / count along dimensions; bools and ints give float64, floats keep their dtype."""
    operand = node if node.dtype.kind == "f" else cast(node, dtypes.FLOAT)
    count: Node = as_node(1, "mean")
    total = dim(1)
    for d in axes:
        total = total * node.shape[d]
    count = as_node(total, "mean")
    return elementwise(PRIMITIVES["divide"], fold(SUM, operand, axes), count)


def contract(
    left: Node,
    right: Node,
    maps: tuple[IndexMap, IndexMap],
    extents: tuple[Dim, ...],
    rank: int,
) -> Node:
    """The sum of products of two operands over the iterators from `rank` on."""
    (a, b), result = resolve(MULTIPLY, (left, right))
    if rank == len(extents):
        return note(Op(result, MULTIPLY, None, (a, b), maps, extents, rank))
    return note(Op(result, MULTIPLY, SUM, (a, b), maps, extents, rank))


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
    asked = f"dot({type_text(left)}, {type_text(right)})"
    if left.shape[-1] != right.shape[meet]:
        raise GraphValueError(
            asked,
            f"lengths {left.shape[-1]} (last dimension of the left operand) and "
            f"{right.shape[meet]} (dimension {meet} of the right one)",
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
    "power",
    "read_only",
    "transpose",
    "view",
]
