"""The one table from NumPy functions to the builder; every NumPy door goes through it.

A row takes what the NumPy function takes, with arrays as nodes, and gives a node. An option that
is not compiled is refused by name.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, cast

import numpy as np
from numpy.lib.array_utils import normalize_axis_tuple

from axiomjit import builder
from axiomjit.dims import Dim, dim
from axiomjit.dtypes import FLOAT, supported
from axiomjit.errors import UnsupportedError
from axiomjit.graph import Node, Scalar, Size
from axiomjit.index_maps import affine, iterator
from axiomjit.origins import user_location
from axiomjit.primitives import MAX, MIN, PRIMITIVES, SUM, WHERE, Accumulator
from axiomjit.print_graph import type_text
from axiomjit.promotion import fits, loop_of, promotable

Axis = int | Sequence[int] | None
Row = Callable[..., Node]
Rows = Callable[..., Node | tuple[Node, ...]]

UNGIVEN: Final = np._NoValue


def refuse(function: str, option: str, value: object) -> UnsupportedError:
    """The error for an option that is not compiled."""
    shown = f"Traced({type_text(value)})" if isinstance(value, Node) else repr(value)
    return UnsupportedError(
        f"{function}(..., {option}={shown})",
        f"the option {option} of {function}",
        f"call {function} without {option}, or apply it outside the compiled function",
        user_location(),
    )


def _only_defaults(function: str, **options: object) -> None:
    for option, value in options.items():
        if value is not None and value is not UNGIVEN and value is not True:
            raise refuse(function, option, value)


def _ufunc_row(name: str) -> Row:
    primitive = PRIMITIVES[name]

    def row(*operands: object) -> Node:
        nodes = [builder.as_node(operand, name) for operand in operands]
        return builder.elementwise(primitive, *nodes)

    return row


def _power(base: object, exponent: object) -> Node:
    return builder.power(builder.as_node(base, "power"), builder.as_node(exponent, "power"))


def _as_loop(x: object, ufunc: np.ufunc) -> Node:
    """The operand of a ufunc in the dtype of NumPy's loop, a Python number as it is."""
    node = builder.as_node(x, ufunc.__name__)
    dtype = loop_of(ufunc, (promotable(node),))[-1]
    return node if node.dtype == dtype else builder.cast(node, dtype)


def _square(x: object) -> Node:
    node = _as_loop(x, np.square)
    return builder.elementwise(PRIMITIVES["multiply"], node, node)


def _positive(x: object) -> Node:
    return _copy(_as_loop(x, np.positive))


def _reciprocal(x: object) -> Node:
    """1 / x; of integers the quotient in float64, cast back, as NumPy does it."""
    node = _as_loop(x, np.reciprocal)
    one, divide = builder.as_node(1.0, "reciprocal"), PRIMITIVES["divide"]
    if node.dtype.kind == "f":
        return builder.elementwise(divide, one, node)
    quotient = builder.elementwise(divide, one, builder.cast(node, FLOAT))
    return builder.cast(quotient, node.dtype)


def _divmod(x: object, y: object) -> tuple[Node, Node]:
    operands = builder.as_node(x, "divmod"), builder.as_node(y, "divmod")
    quotient = builder.elementwise(PRIMITIVES["floor_divide"], *operands)
    return quotient, builder.elementwise(PRIMITIVES["remainder"], *operands)


def _bound(node: Node, value: object, below: bool) -> Node | None:
    """A bound of clip; None for a Python integer that lies outside on its own side."""
    if value is None or value is UNGIVEN:
        return None
    bound = builder.as_node(value, "clip")
    if fits(bound, node.dtype):
        return bound
    negative = bound.length < 0 if isinstance(bound, Size) else cast(Scalar, bound).value.item() < 0
    return None if negative == below else bound


def _clip(
    a: object,
    a_min: object = UNGIVEN,
    a_max: object = UNGIVEN,
    out: object = None,
    *,
    min: object = UNGIVEN,
    max: object = UNGIVEN,
) -> Node:
    """np.clip; a Python integer beyond what the elements can hold is no bound."""
    _only_defaults("clip", out=out)
    if a_min is UNGIVEN and a_max is UNGIVEN:
        a_min, a_max = (None if bound is UNGIVEN else bound for bound in (min, max))
    elif min is not UNGIVEN or max is not UNGIVEN:
        raise ValueError(
            "Passing `min` or `max` keyword argument when "
            "`a_min` and `a_max` are provided is forbidden."
        )
    node = builder.as_node(a, "clip")
    low, high = _bound(node, a_min, below=True), _bound(node, a_max, below=False)
    if low is not None and high is not None:
        return builder.elementwise(PRIMITIVES["clip"], node, low, high)
    if low is not None:
        return builder.elementwise(PRIMITIVES["maximum"], node, low)
    if high is not None:
        return builder.elementwise(PRIMITIVES["minimum"], node, high)
    return _positive(node)


def _axes(node: Node, axis: Axis) -> tuple[int, ...]:
    """The dimensions that an `axis` argument names.

    Raises:
        numpy.exceptions.AxisError: no such dimension.
    """
    rank = len(node.shape)
    if isinstance(axis, list):
        raise TypeError(f"'list' object cannot be interpreted as an integer: axis={axis}")
    if axis is None or (rank == 0 and axis in (0, -1)):
        return tuple(range(rank))
    return normalize_axis_tuple(axis, rank)


def keep_dimensions(node: Node, shape: tuple[Dim, ...], axes: Sequence[int]) -> Node:
    """A fold's result with a length of 1 where a dimension was folded."""
    kept = [d for d in range(len(shape)) if d not in axes]
    extents = tuple(dim(1) if d in axes else shape[d] for d in range(len(shape)))
    return builder.view(node, tuple(iterator(d) for d in kept), extents)


def _fold_row(name: str, fold: Callable[[Node, Sequence[int]], Node]) -> Row:
    def row(
        a: object,
        axis: Axis = None,
        dtype: object = None,
        out: object = None,
        keepdims: object = False,
        initial: object = UNGIVEN,
        where: object = UNGIVEN,
    ) -> Node:
        _only_defaults(name, dtype=dtype, out=out, initial=initial, where=where)
        node = builder.as_node(a, name)
        axes = _axes(node, axis)
        folded = fold(node, axes)
        keep = keepdims is not UNGIVEN and bool(keepdims)
        return keep_dimensions(folded, node.shape, axes) if keep else folded

    return row


def _extreme_row(name: str, accumulator: Accumulator) -> Row:
    """max and min take no dtype, so `out` stands third."""
    row = _fold_row(name, lambda node, axes: builder.fold(accumulator, node, axes))

    def extreme(
        a: object,
        axis: Axis = None,
        out: object = None,
        keepdims: object = False,
        initial: object = UNGIVEN,
        where: object = UNGIVEN,
    ) -> Node:
        return row(a, axis, None, out, keepdims, initial, where)

    return extreme


def _dot(a: object, b: object, out: object = None) -> Node:
    _only_defaults("dot", out=out)
    return builder.dot(builder.as_node(a, "dot"), builder.as_node(b, "dot"))


def _matmul(a: object, b: object) -> Node:
    left, right = builder.as_node(a, "matmul"), builder.as_node(b, "matmul")
    if not 1 <= len(left.shape) <= 2 or not 1 <= len(right.shape) <= 2:
        raise UnsupportedError(
            f"matmul({type_text(left)}, {type_text(right)})",
            "operands of other than one or two dimensions",
            "use matrices or vectors; for numbers use *",
            user_location(),
        )
    return builder.dot(left, right)


def _where(condition: object, x: object = None, y: object = None) -> Node:
    if x is None or y is None:
        raise UnsupportedError(
            "where(condition)",
            "a result whose length depends on the values",
            "give all three arguments: where(condition, x, y)",
            user_location(),
        )
    nodes = [builder.as_node(value, "where") for value in (condition, x, y)]
    if nodes[0].dtype.kind != "b":
        zero = builder.as_node(0, "where")
        nodes[0] = builder.elementwise(PRIMITIVES["not_equal"], nodes[0], zero)
    return builder.elementwise(WHERE, *nodes)


def _transpose(a: object, axes: Sequence[int] | None = None) -> Node:
    node = builder.as_node(a, "transpose")
    rank = len(node.shape)
    if axes is None:
        return builder.transpose(node, tuple(reversed(range(rank))))
    order = normalize_axis_tuple(axes, rank)
    if len(order) != rank:
        raise ValueError("axes don't match array")
    return builder.transpose(node, order)


def _broadcast_to(array: object, shape: Any, subok: bool = False) -> Node:
    lengths = (shape,) if isinstance(shape, int | Dim) else tuple(shape)
    node = builder.as_node(array, "broadcast_to")
    return builder.broadcast_to(node, tuple(dim(n) for n in lengths))


def cast_to(node: Node, dtype: Any, copy: bool = True) -> Node:
    """`node.astype(dtype)`: a fresh array; with `copy=False` the node where it has the dtype."""
    wanted = supported(np.dtype(dtype), f"astype({dtype})", user_location())
    if node.dtype == wanted:
        return _copy(node) if copy else node
    return builder.cast(node, wanted)


def _copy(a: object, order: str = "K") -> Node:
    if order != "K":
        raise refuse("copy", "order", order)
    node = builder.as_node(a, "copy")
    return builder.elementwise(PRIMITIVES["copy"], node)


def index_node(node: Node, key: object) -> Node:
    """`node[key]` for integers, slices, Ellipsis and newaxis: a view.

    Raises:
        UnsupportedError: indexing with arrays or lists.
        IndexError: an index out of range, or more indices than dimensions.
    """
    items = key if isinstance(key, tuple) else (key,)
    if sum(item is Ellipsis for item in items) > 1:
        raise IndexError("an index can only have a single ellipsis ('...')")
    named = [k for k in items if k is not None and k is not Ellipsis]
    if len(named) > len(node.shape):
        raise IndexError(f"{len(named)} indices for an array of {len(node.shape)} dimensions")
    rest = len(node.shape) - len(named)
    full: list[object] = []
    for item in items:
        full += [slice(None)] * rest if item is Ellipsis else [item]
    full += [slice(None)] * (len(node.shape) - sum(k is not None for k in full))
    maps, extents = [], []
    lengths = iter(node.shape)
    for item in full:
        if item is None:
            extents.append(dim(1))
            continue
        length = next(lengths)
        if isinstance(item, slice):
            start, step, count = _slice_of(item, length)
            maps.append(affine({len(extents): dim(step)}, start))
            extents.append(count)
        else:
            maps.append(affine({}, _position(item, length)))
    return builder.view(node, tuple(maps), tuple(extents))


def _index_name(item: object) -> str:
    return f"an array {type_text(item)}" if isinstance(item, Node) else f"a {type(item).__name__}"


def _position(item: Any, length: Dim) -> Dim:
    if isinstance(item, bool) or not isinstance(item, int | np.integer | Dim):
        raise UnsupportedError(
            f"indexing with {_index_name(item)}",
            "an index that is no integer, slice, Ellipsis or newaxis",
            "use where(...) for a choice by mask, or index outside the compiled function",
            user_location(),
        )
    at = dim(int(item)) if isinstance(item, np.integer) else dim(item)
    if not -length <= at < length:
        raise IndexError(f"index {at} is out of bounds for a dimension of length {length}")
    return at + length if at < 0 else at


def _slice_of(item: slice, length: Dim) -> tuple[Dim, int, Dim]:
    """First position, step and number of positions of a slice; looks leave guards."""
    step = 1 if item.step is None else int(item.step)
    if step == 0:
        raise ValueError("slice step cannot be zero")
    if item.start is None and item.stop is None:
        start = dim(0) if step > 0 else length - 1
        return start, step, (length + (abs(step) - 1)) // abs(step)

    def clipped(value: Any, default: Dim, low: Dim, high: Dim) -> Dim:
        if value is None:
            return default
        at = dim(value)
        at = at + length if at < 0 else at
        return low if at < low else high if at > high else at

    if step > 0:
        start = clipped(item.start, dim(0), dim(0), length)
        stop = clipped(item.stop, length, dim(0), length)
        span = stop - start
    else:
        start = clipped(item.start, length - 1, dim(-1), length - 1)
        stop = clipped(item.stop, dim(-1), dim(-1), length - 1)
        span = start - stop
    count = dim(0) if span <= 0 else (span + (abs(step) - 1)) // abs(step)
    return start, step, count


SPECIAL: Final[dict[np.ufunc, Rows]] = {
    np.divmod: _divmod,
    np.power: _power,
    np.square: _square,
    np.positive: _positive,
    np.reciprocal: _reciprocal,
    np.matmul: _matmul,
}
UFUNCS: Final[dict[np.ufunc, Rows]] = {
    **{row.ufunc: _ufunc_row(name) for name, row in PRIMITIVES.items() if row.ufunc is not None},
    **SPECIAL,
}
_SUM: Final = _fold_row("sum", lambda node, axes: builder.fold(SUM, node, axes))
_MAX, _MIN = _extreme_row("max", MAX), _extreme_row("min", MIN)
FUNCTIONS: Final[dict[Callable[..., object], Row]] = {
    np.sum: _SUM,
    np.mean: _fold_row("mean", builder.mean),
    np.max: _MAX,
    np.amax: _MAX,
    np.min: _MIN,
    np.amin: _MIN,
    np.dot: _dot,
    np.where: _where,
    np.transpose: _transpose,
    np.broadcast_to: _broadcast_to,
    np.copy: _copy,
    np.clip: _clip,
}
METHODS: Final[dict[str, Row]] = {
    "sum": FUNCTIONS[np.sum],
    "mean": FUNCTIONS[np.mean],
    "max": _MAX,
    "min": _MIN,
    "dot": _dot,
    "clip": lambda a, min=None, max=None, out=None: _clip(a, min, max, out),
    "copy": lambda a, order="C": _copy(a, "K" if order == "C" else order),
}
REDUCTIONS: Final[dict[np.ufunc, Row]] = {np.add: _SUM, np.maximum: _MAX, np.minimum: _MIN}
