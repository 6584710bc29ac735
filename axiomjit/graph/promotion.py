"""NumPy's promotion of the operands of an operation, as casts that the graph shows.

NumPy's own tables decide (`axiomjit.base.dtypes.resolve`). A Python number is weak: it takes the
dtype of the arrays beside it, and one that this dtype cannot hold is refused, as in NumPy.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.exceptions import ComplexWarning

from axiomjit.algebra.index_maps import identity
from axiomjit.base import dtypes
from axiomjit.base.dtypes import (
    BOOL,
    ELEMENT_TYPES,
    DType,
    Promotable,
    is_bool,
    is_complex,
    is_integer,
)
from axiomjit.base.errors import GraphTypeError, UnsupportedError
from axiomjit.base.origins import user_location, warn
from axiomjit.graph.nodes import LengthNode, Node, Op, Scalar
from axiomjit.graph.origins import note
from axiomjit.graph.primitives import CAST, COPIES, IMAG, REAL, WHERE, Primitive
from axiomjit.graph.seen import seen_call


def promotable(node: Node) -> Promotable:
    """The node as promotion sees it: its dtype, or the type of a Python number."""
    return ELEMENT_TYPES[node.dtype].python if node.weak and node.dtype != BOOL else node.dtype


def fits(node: Node, dtype: DType) -> bool:
    """Whether a dtype holds the value of a Python integer; true for everything else.

    A look at a length leaves a guard.
    """
    if not is_integer(dtype) or not node.weak or not isinstance(node, Scalar | LengthNode):
        return True
    if not is_integer(node.dtype):
        return True
    low, high = dtypes.value_range(dtype)
    if isinstance(node, Scalar):
        return bool(low <= node.value.item() <= high)
    above = bool(low == -(2**63)) or node.length >= low
    return above and (bool(high >= 2**63 - 1) or node.length <= high)


def cast(node: Node, dtype: DType) -> Node:
    """The node with elements of another dtype, as `astype`; itself where nothing changes.

    Dropping imaginary parts warns at the user's line, once, while the function is followed.
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
    """Operands cast to the loop's dtypes, and the dtype of the result.

    Raises:
        GraphTypeError, UnsupportedError: no such loop.
        OverflowError: a Python integer beside an array that cannot hold it.
    """
    kinds = tuple(promotable(node) for node in operands)
    if primitive.compares and not all(fits(n, d.dtype) for n in operands for d in operands):
        kinds = tuple(node.dtype for node in operands)
    if primitive in COPIES:
        return tuple(operands), operands[0].dtype
    if primitive in (REAL, IMAG):
        return tuple(operands), dtypes.part_dtype(operands[0].dtype)
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
                seen_call(primitive.name, *operands),
                f"{primitive.name} of {wanted} elements is not compiled",
                "convert the operands with .astype(np.float64)",
                user_location(),
            )
    if primitive is not WHERE:
        for node, wanted in zip(operands, loop, strict=True):
            check_fits(node, wanted)
    return tuple(cast(n, d) for n, d in zip(operands, loop, strict=True)), result


def check_fits(node: Node, dtype: DType) -> None:
    """NumPy's own complaint about a Python integer beside a narrower array.

    Raises:
        OverflowError: the dtype does not hold it.
    """
    if not fits(node, dtype):
        value = int(node.length) if isinstance(node, LengthNode) else getattr(node, "value", None)
        raise OverflowError(f"Python integer {value} out of bounds for {dtype}")


def loop_of(
    ufunc: np.ufunc, kinds: tuple[Promotable, ...], name: str | None = None
) -> tuple[DType, ...]:
    """Operand and result dtypes of NumPy's loop for such operands; errors speak of `name`.

    Raises:
        GraphTypeError, UnsupportedError: no such loop.
    """
    try:
        return dtypes.resolve_loop(ufunc, kinds)
    except (GraphTypeError, UnsupportedError) as error:
        own, shown = ufunc.__name__, name or ufunc.__name__
        asked, seen = (text.replace(own, shown) for text in (error.asked, error.seen))
        raise type(error)(asked, seen, error.remedy, user_location()) from None
