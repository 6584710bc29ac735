"""The rules of ufuncs, `clip`, `copy` and `astype`."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any, Final, cast

import numpy as np
from numpy.lib.array_utils import normalize_axis_index

from axiomjit.base.dtypes import FLOAT, HALF, SINGLE, is_complex, is_inexact, wanted_dtype
from axiomjit.base.errors import GraphValueError, UnsupportedError
from axiomjit.base.origins import user_location
from axiomjit.graph import builder, powers
from axiomjit.graph.builder import fits, loop_of, promotable
from axiomjit.graph.contractions import sum_of_products
from axiomjit.graph.describe import describe_call, describe_length
from axiomjit.graph.nodes import LengthNode, Node, Scalar
from axiomjit.graph.primitives import COPY, PRIMITIVES, WHERE
from axiomjit.graph.shape_ops import pack
from axiomjit.graph.storages import strides_of
from axiomjit.numpy_rules.options import UNGIVEN, Rule, only_defaults, refuse
from axiomjit.symbolic.data_dependent import assumed_equal
from axiomjit.symbolic.dims import Dim
from axiomjit.symbolic.index_maps import iterator
from axiomjit.views.dense_layout import row_major_strides

Rules = Callable[..., Node | tuple[Node, ...]]


def matmul_node(a: object, b: object) -> Node:
    """The rule of np.matmul; a library multiplies large matrices, and loops multiply small ones.

    Raises:
        UnsupportedError: an operand is a number.
        GraphValueError: the contracted lengths differ.
    """
    left, right = builder.as_node(a, "matmul"), builder.as_node(b, "matmul")
    ranks = len(left.shape), len(right.shape)
    if 0 in ranks:
        raise UnsupportedError(
            describe_call("matmul", left, right),
            "an operand without dimensions",
            "use matrices, vectors or stacks of matrices; for numbers use *",
            user_location(),
        )
    return builder.dot(left, right) if max(ranks) <= 2 else _stacks(left, right)


def _stacks(left: Node, right: Node) -> Node:
    stack = builder.broadcast_shapes([left.shape[:-2], right.shape[:-2]], "matmul", left, right)
    place = len(stack)
    rows = left.shape[-2:-1]
    columns = right.shape[-1:] if len(right.shape) > 1 else ()
    met, other = left.shape[-1], right.shape[max(len(right.shape) - 2, 0)]
    if not assumed_equal(met, other):
        raise GraphValueError(
            describe_call("matmul", left, right),
            f"lengths {describe_length(met)} (last dimension of the left operand) and "
            f"{describe_length(other)} (last but one of the right one)",
            "transpose or slice an operand so that these two lengths are equal",
            user_location(),
        )
    row, column = place, place + len(rows)
    inner = column + len(columns)
    shape = (*stack, *rows, *columns)
    own_rows = (iterator(row),) if rows else ()
    own_columns = (iterator(column),) if columns else ()
    reads = [
        (left, (*builder.stretch_map(left.shape[:-2], stack), *own_rows, iterator(inner))),
        (right, (*builder.stretch_map(right.shape[:-2], stack), iterator(inner), *own_columns)),
    ]
    return sum_of_products(reads, (*shape, met), len(shape))


def conjugates(node: Node) -> Node:
    """The complex conjugates of the elements; a node of real elements is returned unchanged."""
    return builder.elementwise(PRIMITIVES["conjugate"], node) if is_complex(node.dtype) else node


def axis_last(node: Node, axis: object) -> Node:
    """The node with a dimension moved to the end."""
    along = normalize_axis_index(operator.index(axis), len(node.shape))  # type: ignore[arg-type]
    return builder.transpose(node, [*(d for d in range(len(node.shape)) if d != along), along])


def _product_rule(name: str, ranks: tuple[int, int], met: tuple[int, int]) -> Rules:
    """The rule of a product of two stacks, whose members have these ranks (1 or 2).

    `met` are the dimensions of the two operands that are summed over, counted from the end. The
    left operand is conjugated if its members are vectors.
    """

    def rule(x1: object, x2: object) -> Node:
        left, right = (builder.as_node(x, name) for x in (x1, x2))
        if any(len(node.shape) < rank for node, rank in zip((left, right), ranks, strict=True)):
            raise UnsupportedError(
                describe_call(name, left, right),
                "an operand with too few dimensions",
                "give stacks of vectors and matrices as NumPy documents them",
                user_location(),
            )
        if not assumed_equal(left.shape[met[0]], right.shape[met[1]]):
            raise GraphValueError(
                describe_call(name, left, right),
                f"lengths {describe_length(left.shape[met[0]])} and "
                f"{describe_length(right.shape[met[1]])} of the dimensions that are summed over",
                "transpose or slice an operand so that these two lengths are equal",
                user_location(),
            )
        left = conjugates(left) if ranks[0] == 1 else left
        plain = (len(left.shape), len(right.shape)) == ranks
        return builder.dot(left, right) if plain else _stacked_product(left, right, ranks, met)

    return rule


def _stacked_product(left: Node, right: Node, ranks: tuple[int, int], met: tuple[int, int]) -> Node:
    """The products of the members of two stacks, summed over the dimensions `met`."""
    stacks = [
        node.shape[: len(node.shape) - k] for node, k in zip((left, right), ranks, strict=True)
    ]
    stack = builder.broadcast_shapes(stacks, "a product of stacks", left, right)
    kept: list[Dim] = [*stack]
    reads, last = [], len(stack) + sum(ranks) - 2
    for node, own, rank, summed in zip((left, right), stacks, ranks, met, strict=True):
        index = [*builder.stretch_map(own, stack)]
        for d in range(-rank, 0):
            index.append(iterator(last if d == summed else len(kept)))
            kept += [] if d == summed else [node.shape[d]]
        reads.append((node, tuple(index)))
    return sum_of_products(reads, (*kept, left.shape[met[0]]), last)


def _ufunc_rule(name: str) -> Rule:
    primitive = PRIMITIVES[name]

    def rule(*operands: object) -> Node:
        nodes = [builder.as_node(operand, name) for operand in operands]
        return builder.elementwise(primitive, *nodes)

    return rule


def _power(base: object, exponent: object) -> Node:
    return powers.power(builder.as_node(base, "power"), builder.as_node(exponent, "power"))


def _as_loop(x: object, ufunc: np.ufunc) -> Node:
    """The operand in the dtype of NumPy's loop; a Python number that needs no cast stays weak."""
    node = builder.as_node(x, ufunc.__name__)
    dtype = loop_of(ufunc, (promotable(node),))[-1]
    return node if node.dtype == dtype else builder.cast(node, dtype)


def _square(x: object) -> Node:
    node = _as_loop(x, np.square)
    return builder.elementwise(PRIMITIVES["multiply"], node, node)


def _sqrt(x: object) -> Node:
    return builder.strong(builder.elementwise(PRIMITIVES["sqrt"], builder.as_node(x, "sqrt")))


def _positive(x: object) -> Node:
    return copied(_as_loop(x, np.positive))


def _reciprocal(x: object) -> Node:
    """The rule of np.reciprocal; for integers 1 / x is computed in float64, as in NumPy."""
    node = _as_loop(x, np.reciprocal)
    if is_inexact(node.dtype):
        return powers.reciprocal(node)
    return builder.cast(powers.reciprocal(builder.cast(node, FLOAT)), node.dtype)


def conjugated(x: object) -> Node:
    """The rule of np.conjugate; real elements are copied."""
    node = _as_loop(x, np.conjugate)
    if is_complex(node.dtype):
        return builder.elementwise(PRIMITIVES["conjugate"], node)
    return copied(node)


def _in_loop(ufunc: np.ufunc, *operands: object) -> list[Node]:
    """The operands in the dtypes of NumPy's loop.

    Raises:
        OverflowError: a dtype cannot hold a Python integer.
    """
    nodes = [builder.as_node(operand, ufunc.__name__) for operand in operands]
    loop = loop_of(ufunc, tuple(map(promotable, nodes)))
    for node, dtype in zip(nodes, loop, strict=False):
        builder.check_fits(node, dtype)
    return [builder.cast(node, dtype) for node, dtype in zip(nodes, loop, strict=False)]


def _scaled_rule(ufunc: np.ufunc, over: float, under: float) -> Rule:
    """The rule of a multiplication by `over / under`, divided in the dtype of the loop."""

    def rule(x: object) -> Node:
        (node,) = _in_loop(ufunc, x)
        wide = SINGLE if node.dtype == HALF else node.dtype
        factor = Scalar(wide, np.divide(over, under, dtype=wide), False)
        scaled = builder.elementwise(PRIMITIVES["multiply"], builder.cast(node, wide), factor)
        return builder.cast(scaled, node.dtype)

    return rule


def _heaviside(x1: object, x2: object) -> Node:
    """The rule of np.heaviside: 0 below zero, 1 above, NaN for NaN, at zero the second operand."""
    x, middle = _in_loop(np.heaviside, x1, x2)
    zero, nan = (Scalar(x.dtype, x.dtype.type(value), False) for value in (0, np.nan))
    step = builder.cast(builder.elementwise(PRIMITIVES["greater"], x, zero), x.dtype)
    step = builder.elementwise(WHERE, builder.elementwise(PRIMITIVES["isnan"], x), nan, step)
    at_zero = builder.elementwise(PRIMITIVES["equal"], x, zero)
    return builder.elementwise(WHERE, at_zero, middle, step)


def _divmod(x: object, y: object) -> tuple[Node, Node]:
    operands = builder.as_node(x, "divmod"), builder.as_node(y, "divmod")
    quotient = builder.elementwise(PRIMITIVES["floor_divide"], *operands)
    return quotient, builder.elementwise(PRIMITIVES["remainder"], *operands)


def _bound(node: Node, value: object, below: bool) -> Node | None:
    """A bound of np.clip; None for a Python integer out of range, which has no effect."""
    if value is None or value is UNGIVEN:
        return None
    bound = builder.as_node(value, "clip")
    if fits(bound, node.dtype):
        return bound
    negative = (
        bound.length < 0 if isinstance(bound, LengthNode) else cast(Scalar, bound).value.item() < 0
    )
    return None if negative == below else bound


def clip(
    a: object,
    a_min: object = UNGIVEN,
    a_max: object = UNGIVEN,
    out: object = None,
    *,
    min: object = UNGIVEN,
    max: object = UNGIVEN,
) -> Node:
    """The rule of np.clip; a bound outside the range of the dtype has no effect."""
    only_defaults("clip", out=out)
    if a_min is UNGIVEN and a_max is UNGIVEN:
        a_min, a_max = (None if bound is UNGIVEN else bound for bound in (min, max))
    elif min is not UNGIVEN or max is not UNGIVEN:
        raise ValueError(
            "Passing `min` or `max` keyword argument when "
            "`a_min` and `a_max` are provided is forbidden."
        )
    node = builder.strong(builder.as_node(a, "clip"))
    low, high = _bound(node, a_min, below=True), _bound(node, a_max, below=False)
    if low is not None and high is not None:
        return builder.elementwise(PRIMITIVES["clip"], node, low, high)
    if low is not None:
        return builder.elementwise(PRIMITIVES["maximum"], node, low)
    if high is not None:
        return builder.elementwise(PRIMITIVES["minimum"], node, high)
    return _positive(node)


def cast_to(
    node: Node, dtype: Any, order: str = "K", casting: Any = "unsafe", copy: bool = True
) -> Node:
    """The rule of `astype`: a new array, or the node itself with `copy=False` and equal dtypes.

    Raises:
        TypeError: `casting` does not allow the conversion.
    """
    wanted = wanted_dtype(np.dtype(dtype), f"astype({dtype})", user_location())
    if not np.can_cast(node.dtype, wanted, casting):
        raise TypeError(
            f"Cannot cast array data from {node.dtype!r} to {wanted!r} according to the rule "
            f"{casting!r}"
        )
    if order != "K" and not copy:  # the current memory order is unknown
        raise refuse("astype", "order", order)
    if node.dtype == wanted:
        return copied(node, order) if copy else node
    made = builder.cast(node, wanted)
    return made if order == "K" else copied(made, order)


def copied(a: object, order: str = "K", subok: bool = False) -> Node:
    """The rule of np.copy: a new array in the operand's memory order, C or Fortran order."""
    node = builder.as_node(a, "copy")
    if order == "F":
        backwards = tuple(reversed(range(len(node.shape))))
        return builder.transpose(copied(builder.transpose(node, backwards), "C"), backwards)
    if order not in ("K", "C"):
        raise refuse("copy", "order", order)
    if order == "C" and strides_of(node) != row_major_strides(node.shape):
        return pack(node)
    return builder.elementwise(COPY, node)


SPECIAL: Final[dict[np.ufunc, Rules]] = {
    np.divmod: _divmod,
    np.power: _power,
    np.square: _square,
    np.sqrt: _sqrt,
    np.positive: _positive,
    np.reciprocal: _reciprocal,
    np.conjugate: conjugated,
    **{ufunc: _scaled_rule(ufunc, np.pi, 180) for ufunc in (np.deg2rad, np.radians)},
    **{ufunc: _scaled_rule(ufunc, 180, np.pi) for ufunc in (np.rad2deg, np.degrees)},
    np.heaviside: _heaviside,
    np.matmul: matmul_node,
    np.vecdot: _product_rule("vecdot", (1, 1), (-1, -1)),
    np.matvec: _product_rule("matvec", (2, 1), (-1, -1)),
    np.vecmat: _product_rule("vecmat", (1, 2), (-1, -2)),
}
UFUNCS: Final[dict[np.ufunc, Rules]] = {
    **{row.ufunc: _ufunc_rule(name) for name, row in PRIMITIVES.items() if row.ufunc is not None},
    **SPECIAL,
}
