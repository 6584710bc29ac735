"""The builder of all nodes: it resolves dtypes, lengths and maps; later stages only check them.

Every front end (tracing under `jit`, the axis graph) makes nodes by the functions of this module.
Functions without maps broadcast as NumPy does; other functions take explicit index maps. NumPy's
own tables decide dtypes (`axiomjit.base.dtypes`). A Python number is weak: it takes the dtype of
the other operands, and is refused if that dtype cannot hold the number.

A join has no memory of its own. The parts of a join are read in place, and only a join that is a
result is stored. So padding or rolling an operand makes no copy.
"""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Complex, Integral, Real
from typing import Any, Final

import numpy as np
from numpy.exceptions import ComplexWarning

from axiomjit.base import dtypes
from axiomjit.base.dtypes import (
    BOOL,
    ELEMENT_TYPES,
    HALF,
    INT,
    SINGLE,
    DType,
    Promotable,
    is_bool,
    is_complex,
    is_inexact,
    is_integer,
)
from axiomjit.base.errors import (
    GraphTypeError,
    GraphValueError,
    NeedsValuesError,
    TraceError,
    UnsupportedError,
)
from axiomjit.base.origins import user_location, warn
from axiomjit.base.trace_context import current
from axiomjit.graph.captured import constant_array
from axiomjit.graph.nodes import (
    Constant,
    LengthNode,
    Node,
    Op,
    Scalar,
    describe_call,
    describe_length,
    describe_shape,
    describe_type,
    note,
    size,
)
from axiomjit.graph.primitives import (
    ANY,
    BITS_AS,
    BITS_VIEWS,
    CAST,
    COMPLEX_OF,
    COPIES,
    COPY,
    IMAG,
    JOIN,
    MAX,
    MIN,
    NUMBER,
    PRIMITIVES,
    READ_ONLY,
    REAL,
    SUM,
    VIEW,
    WHERE,
    Primitive,
    UfuncFold,
)
from axiomjit.symbolic.data_dependent import assumed_equal, data_dependent_in
from axiomjit.symbolic.dims import Dim, current_scope, dim, product
from axiomjit.symbolic.index_maps import (
    Conditions,
    IndexMap,
    Region,
    affine,
    identity,
    is_identity,
    iterator,
    permutation,
    shift,
    through,
)
from axiomjit.symbolic.index_ranges import equals_in_all_trips

JoinedPart = tuple[Node, IndexMap, Region]
"""An operand, the map from points of the join to the operand, and the region that it fills."""


def join(parts: Sequence[JoinedPart], extents: tuple[Dim, ...]) -> Node:
    """Join parts of the same dtype; their regions partition the extents."""
    operands, maps, regions = zip(*parts, strict=True)
    dtype = operands[0].dtype
    return note(Op(dtype, JOIN, None, operands, maps, extents, len(extents), regions))


def whole(extents: Sequence[Dim]) -> Region:
    """The region that contains all points of the extents."""
    return tuple((dim(0), extent) for extent in extents)


def concatenate(nodes: Sequence[Node], axis: int) -> Node:
    """Concatenate nodes of the same dtype along a dimension; all other lengths are equal."""
    start = dim(0)
    places: list[tuple[Node, Dim]] = []
    for node in nodes:
        places.append((node, start))
        start = start + node.shape[axis]
    first = nodes[0].shape
    extents = (*first[:axis], start, *first[axis + 1 :])
    parts: list[JoinedPart] = []
    for node, low in places:
        if node.shape[axis].constant == 0:
            continue
        region = list(whole(extents))
        region[axis] = (low, low + node.shape[axis])
        starts = [-low if d == axis else dim(0) for d in range(len(extents))]
        parts.append((node, shift(identity(len(extents)), starts), tuple(region)))
    return join(parts or [(nodes[0], identity(len(extents)), whole(extents))], extents)


def promotable(node: Node) -> Promotable:
    """The type of a node for NumPy's promotion: a dtype, or the class of a Python number."""
    return ELEMENT_TYPES[node.dtype].python if node.weak and node.dtype != BOOL else node.dtype


def fits(node: Node, dtype: DType) -> bool:
    """True if a dtype can hold the value of a Python integer; always true for other nodes.

    Comparing a length records a guard.
    """
    if not is_integer(dtype) or not node.weak or not isinstance(node, Scalar | LengthNode):
        return True
    if not is_integer(node.dtype):
        return True
    low, high = dtypes.value_range(dtype)
    if isinstance(node, Scalar):
        return bool(low <= node.value.item() <= high)
    if low == -(2**63) and _is_word(node.length):
        return True
    above = node.length >= low
    return above and (bool(high > 2**63 - 1) or node.length <= high)


def _is_word(length: Dim) -> bool:
    """True if a length fits into 64 bits, as all lengths do except huge integer arguments."""
    try:
        value = current_scope().value(length)
    except (KeyError, TraceError):  # the length of an axis may be unknown
        return True
    return -(2**63) <= value < 2**63


def cast(node: Node, dtype: DType) -> Node:
    """The node converted to another dtype, as by `astype`; the node itself if nothing changes.

    If imaginary parts are dropped, a warning names the user's line once, while the function is
    traced.
    """
    if node.dtype == dtype and not node.weak:
        return node
    if is_complex(node.dtype) and not (is_bool(dtype) or is_complex(dtype)):
        warn("Casting complex values to real discards the imaginary part", ComplexWarning)
    if isinstance(node, LengthNode) and fits(node, dtype):
        return LengthNode(dtype, node.length)
    if isinstance(node, Scalar):
        with np.errstate(all="ignore"):
            value = dtypes.convert(node.value, dtype)
        return Scalar(dtype, value, node.weak and dtype != BOOL)
    rank = len(node.shape)
    return note(Op(dtype, CAST, None, (node,), (identity(rank),), node.shape, rank))


def resolve(primitive: Primitive, operands: Sequence[Node]) -> tuple[tuple[Node, ...], DType]:
    """The operands, cast to the dtypes of NumPy's loop, and the dtype of the result.

    Raises:
        GraphTypeError, UnsupportedError: there is no such loop.
        OverflowError: the dtype of an array operand cannot hold a Python integer operand.
    """
    kinds = tuple(promotable(node) for node in operands)
    if primitive.compares and not all(fits(n, d.dtype) for n in operands for d in operands):
        kinds = tuple(node.dtype for node in operands)
    if primitive in COPIES:
        return tuple(operands), operands[0].dtype
    if primitive in (REAL, IMAG):
        return tuple(operands), dtypes.part_dtype(operands[0].dtype)
    if primitive is COMPLEX_OF:
        return tuple(operands), dtypes.complex_dtype(operands[0].dtype)
    if primitive is WHERE:
        result = dtypes.common(kinds[1:])
        loop: tuple[DType, ...] = (BOOL, result, result)
    else:
        assert primitive.loop is not None, primitive
        *loop_in, result = loop_of(primitive.loop, kinds, primitive.name)
        loop = tuple(loop_in)
    for wanted in loop[-1:]:
        if dtypes.code(wanted) not in primitive.loops:
            raise GraphTypeError(
                describe_call(primitive.name, *operands),
                f"{primitive.name} of {wanted} elements is not compiled",
                "convert the operands with .astype(np.float64)",
                user_location(),
            )
    if primitive is not WHERE:
        for node, wanted in zip(operands, loop, strict=True):
            check_fits(node, wanted)
    return tuple(cast(n, d) for n, d in zip(operands, loop, strict=True)), result


def check_fits(node: Node, dtype: DType) -> None:
    """Raise NumPy's own error for a Python integer that the dtype cannot hold.

    Raises:
        OverflowError: the integer is outside the range of the dtype.
    """
    if not fits(node, dtype):
        value = int(node.length) if isinstance(node, LengthNode) else getattr(node, "value", None)
        raise OverflowError(f"Python integer {value} out of bounds for {dtype}")


def loop_of(
    ufunc: np.ufunc, kinds: tuple[Promotable, ...], name: str | None = None
) -> tuple[DType, ...]:
    """The operand and result dtypes of NumPy's loop for these types; errors mention `name`.

    Raises:
        GraphTypeError, UnsupportedError: there is no such loop.
    """
    try:
        return dtypes.resolve_loop(ufunc, kinds)
    except (GraphTypeError, UnsupportedError) as error:
        own, shown = ufunc.__name__, name or ufunc.__name__
        asked, seen = (text.replace(own, shown) for text in (error.asked, error.seen))
        raise type(error)(asked, seen, error.remedy, user_location()) from None


MULTIPLY: Final = PRIMITIVES["multiply"]


def as_node(value: Any, asked: str) -> Node:
    """Return the node of a number, array or length; a node is returned unchanged.

    An array from outside a traced function is held by reference. A list or range becomes an array.
    A list of nodes and lengths becomes an array, too; the numbers in it count as NumPy scalars.

    Raises:
        GraphTypeError: the value cannot be an operand.
        UnsupportedError: the value is an integer of more than 64 bits.
        ValueError: the parts of a list have different shapes.
    """
    if isinstance(value, Node):
        return value
    if isinstance(value, Dim):
        return size(value) if value.constant is None else as_node(value.constant, asked)
    if isinstance(value, list | tuple | range):
        if holds_nodes(value):
            return _stacked_nodes([strong(as_node(part, asked)) for part in value])
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
        value = constant_array(value)
        return Constant(native, value, tuple(dim(n) for n in value.shape))
    if issubclass(kind, np.generic):
        native = dtypes.supported(value.dtype, asked, user_location())
        return Scalar(native, native.type(value), False)
    if issubclass(kind, bool):
        return Scalar(BOOL, np.bool_(value), False)
    if issubclass(kind, Integral) and -(2**63) <= int(value) < 2**64:
        wide = dtypes.INT if int(value) < 2**63 else dtypes.UNSIGNED
        return Scalar(wide, wide.type(int(value)), True)
    if issubclass(kind, Integral):
        raise UnsupportedError(
            asked,
            f"the integer {value}, which has more than 64 bits",
            "write it as a float, or compute with it outside the compiled function",
            user_location(),
        )
    if issubclass(kind, Real):
        return Scalar(dtypes.FLOAT, np.float64(float(value)), True)
    if issubclass(kind, Complex):
        return Scalar(dtypes.COMPLEX, np.complex128(complex(value)), True)
    raise GraphTypeError(
        f"an operand of {asked}",
        describe_type(value),
        "call it, with parentheses" if callable(value) else "give an array or a number",
        user_location(),
    )


def holds_nodes(value: object) -> bool:
    """True if nested lists contain nodes or lengths."""
    if isinstance(value, list | tuple):
        return any(map(holds_nodes, value))
    return isinstance(value, Node | Dim)


def _stacked_nodes(parts: Sequence[Node]) -> Node:
    """Stack nodes of equal shape along a new first dimension, in their common dtype."""
    rank = len(parts[0].shape)
    if not all(
        len(part.shape) == rank and all(map(assumed_equal, part.shape, parts[0].shape))
        for part in parts
    ):
        raise ValueError(
            "setting an array element with a sequence. The requested array has an inhomogeneous "
            f"shape; its parts have the shapes {', '.join(describe_shape(p.shape) for p in parts)}"
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
    """The node of a primitive at every point of `extents`, with operands read through `maps`."""
    cast_operands, result = resolve(primitive, operands)
    rank = len(extents)
    return note(Op(result, primitive, None, cast_operands, tuple(maps), extents, rank))


def broadcast_shapes(
    shapes: Sequence[tuple[Dim, ...]], function: str, *operands: Node
) -> tuple[Dim, ...]:
    """The shape that NumPy broadcasts shapes to.

    Trailing dimensions are aligned, and lengths of 1 are stretched.

    `function` and `operands` appear in the error.

    Raises:
        GraphValueError: two lengths differ and neither is 1.
    """
    rank = max((len(shape) for shape in shapes), default=0)
    result: list[Dim] = []
    for position in range(-rank, 0):
        found = (shape[position] for shape in shapes if -position <= len(shape))
        met = list(dict.fromkeys(each for each in found if each.constant != 1))
        if len(met) == 1:  # reading the only length would record a guard
            result += met
            continue
        length = dim(1)
        for each in met:
            if each == 1:
                continue
            if length == 1:
                length = each
            elif assumed_equal(length, each):
                length = each if data_dependent_in(length) else length
            else:
                meet = f"lengths {describe_length(length)} and {describe_length(each)} meet"
                raise GraphValueError(
                    describe_call(function, *operands),
                    f"{meet} at dimension {position} of {', '.join(map(describe_shape, shapes))}",
                    "reshape or slice so that the lengths are equal, or 1 where one stretches",
                    user_location(),
                )
        result.append(length)
    return tuple(result)


def stretch_map(shape: tuple[Dim, ...], extents: tuple[Dim, ...]) -> IndexMap:
    """The map that reads an operand of `shape` at points of `extents`, by broadcasting."""
    shift = len(extents) - len(shape)
    return tuple(  # an equal length is not read, which would record a guard
        iterator(d + shift)
        if length is extents[d + shift] or length != 1 or equals_in_all_trips(extents[d + shift], 1)
        else affine({})
        for d, length in enumerate(shape)
    )


def elementwise(primitive: Primitive, *operands: Node) -> Node:
    """The node of a primitive, with operands broadcast by position."""
    extents = broadcast_shapes([n.shape for n in operands], primitive.name, *operands)
    maps = [stretch_map(n.shape, extents) for n in operands]
    return map_op(primitive, operands, maps, extents)


def python_number(node: Node) -> Node:
    """The value of a node without dimensions as a Python number."""
    return note(Op(node.dtype, NUMBER, None, (node,), ((),), (), 0))


def view(node: Node, index: IndexMap, extents: tuple[Dim, ...]) -> Node:
    """The node read through a map; the node itself if the map is the identity."""
    if is_identity(index, extents, node.shape):
        return node
    return note(Op(node.dtype, VIEW, None, (node,), (index,), extents, len(extents)))


def read_only(node: Node, seen: Node) -> Node:
    """A read-only view of `seen`, which is the node or a view of the node."""
    shape = seen.shape
    index = seen.maps[0] if isinstance(seen, Op) and seen is not node else identity(len(shape))
    return note(Op(node.dtype, READ_ONLY, None, (node,), (index,), shape, len(shape)))


def part(node: Node, name: str) -> Node:
    """The real or imaginary parts of complex elements as new values; `name` is "real" or "imag"."""
    node = cast(node, INT) if node.weak and node.dtype == BOOL else node
    if is_complex(node.dtype):
        return elementwise(PRIMITIVES[name], node)
    if name == "real":
        return node
    zero = node.dtype.type(0)
    zeros = as_node(zero.item(), name) if node.weak else Scalar(node.dtype, zero, False)
    return broadcast_to(zeros, node.shape)


def part_view(node: Node, name: str) -> Node:
    """The real or imaginary parts of complex elements as a view; new values for a Python number."""
    if not is_complex(node.dtype) or node.weak:
        return part(node, name)
    index, shape = identity(len(node.shape)), node.shape
    dtype, primitive = dtypes.part_dtype(node.dtype), PRIMITIVES[f"{name}_view"]
    return note(Op(dtype, primitive, None, (node,), (index,), shape, len(shape)))


def with_part(node: Node, name: str, value: Node) -> Node:
    """The complex elements with their real or imaginary parts replaced by a value.

    The value has the dtype of the parts and is broadcast to the shape of the node; `name` is "real"
    or "imag".
    """
    parts = {one: part(node, one) for one in ("real", "imag")} | {
        name: broadcast_to(value, node.shape)
    }
    index, shape = identity(len(node.shape)), node.shape
    operands = parts["real"], parts["imag"]
    return note(Op(node.dtype, COMPLEX_OF, None, operands, (index, index), shape, len(shape)))


def bits(node: Node, dtype: DType) -> Node:
    """The bits of a node's elements as new elements of another dtype of the same size."""
    return _as_bits(node, BITS_AS[dtype], dtype)


def bits_view(node: Node, dtype: DType) -> Node:
    """The bits of a node's elements as elements of another dtype of the same size, as a view."""
    return _as_bits(node, BITS_VIEWS[dtype], dtype)


def _as_bits(node: Node, primitive: Primitive, dtype: DType) -> Node:
    index, shape = identity(len(node.shape)), node.shape
    return note(Op(dtype, primitive, None, (node,), (index,), shape, len(shape)))


def transpose(node: Node, order: Sequence[int]) -> Node:
    """The node with permuted dimensions: dimension k of the result is `order[k]` of the node."""
    inverse = [order.index(d) for d in range(len(order))]
    return view(node, permutation(inverse), tuple(node.shape[d] for d in order))


def broadcast_to(node: Node, extents: tuple[Dim, ...]) -> Node:
    """The node stretched to `extents`, as by NumPy's `broadcast_to`."""
    if broadcast_shapes([node.shape, extents], "broadcast_to", node) != extents:
        raise GraphValueError(
            f"broadcast_to({describe_type(node)}, {describe_shape(extents)})",
            f"{describe_shape(node.shape)} does not stretch to {describe_shape(extents)}",
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
    """Reduce the node along dimensions, in the order listed, and drop these dimensions.

    `initial` has the dtype of the result; at last, it is combined with each result, as the left
    operand. Elements that violate a condition on the node's dimensions are skipped.

    Raises:
        GraphValueError: a maximum or minimum is taken along a length of 0, without an initial
            value.
    """
    result = accumulator.result_dtype(node.dtype)
    if initial is not None:
        # An empty reduction gives the identity, which leaves the initial value unchanged.
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
    """Refuse an empty reduction whose accumulator has no identity."""
    if not accumulator.has_identity and any(node.shape[d] == 0 for d in axes):
        raise GraphValueError(
            f"{accumulator.name} of {describe_type(node)} along dimensions {tuple(axes)}",
            f"a length of 0, and {accumulator.name} of nothing has no value",
            f"call {accumulator.name} only where the array has elements",
            user_location(),
        )


def summed_in(node: Node) -> DType:
    """The dtype in which an average is summed: float64 for integers, float32 for float16."""
    if node.dtype == HALF:
        return SINGLE
    return node.dtype if is_inexact(node.dtype) else dtypes.FLOAT


def mean(node: Node, axes: Sequence[int]) -> Node:
    """The mean along dimensions; bools and integers give float64, floats keep their dtype."""
    total = fold(SUM, cast(node, summed_in(node)), axes)
    averaged = average(total, as_node(count(node, axes), "mean"))
    return cast(averaged, HALF) if node.dtype == HALF else averaged


def count(node: Node, axes: Sequence[int]) -> Dim:
    """The number of elements that are reduced to each result."""
    return product(tuple(node.shape[d] for d in axes))


def average(total: Node, count: Node) -> Node:
    """The quotient of total and count in the total's dtype; the division uses the wider dtype."""
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
    """The sum of products of two operands over the iterators from `rank` on.

    Points that violate a condition are skipped.
    """
    (a, b), result = resolve(MULTIPLY, (left, right))
    if rank == len(extents):
        return note(Op(result, MULTIPLY, None, (a, b), maps, extents, rank))
    if result == HALF:  # as in NumPy, products are not rounded to float16
        singles = cast(a, SINGLE), cast(b, SINGLE)
        return cast(contract(*singles, maps, extents, rank, conditions), HALF)
    total = ANY if result == BOOL else SUM
    return note(Op(result, MULTIPLY, total, (a, b), maps, extents, rank, (), conditions))


def strong(node: Node) -> Node:
    """The node as an array; a Python number is no longer weak in promotion."""
    return elementwise(COPY, node) if node.weak else node


def dot(left: Node, right: Node) -> Node:
    """NumPy's `dot`: a product of numbers, an inner product, or a matrix product.

    Raises:
        GraphValueError: the contracted lengths differ.
    """
    if not left.shape or not right.shape:
        return elementwise(MULTIPLY, strong(left), strong(right))
    a, b = len(left.shape), len(right.shape)
    meet = max(b - 2, 0)
    if not assumed_equal(left.shape[-1], right.shape[meet]):
        raise GraphValueError(
            describe_call("dot", left, right),
            f"lengths {describe_length(left.shape[-1])} (last dimension of the left operand) and "
            f"{describe_length(right.shape[meet])} (dimension {meet} of the right one)",
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
