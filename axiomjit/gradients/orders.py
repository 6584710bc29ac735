"""Derivatives of sorting, of convolutions and of functions that sort, by rules and by twins.

A twin of a NumPy function has the same operands, options and result, and calls only functions that
have derivative rules. The derivative of the function is the derivative of its twin.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

import numpy as np

from axiomjit.base.dtypes import is_complex, part_dtype
from axiomjit.base.records import Record
from axiomjit.gradients.cotangents import Cotangent
from axiomjit.gradients.rules import NO_PATH, Refused
from axiomjit.gradients.structures import Contributions
from axiomjit.gradients.transposes import copied, zeros
from axiomjit.gradients.values import NodeArray
from axiomjit.graph import builder
from axiomjit.graph.nodes import Node, Op, Scalar, size
from axiomjit.graph.shape_ops import padded
from axiomjit.graph.storages import update
from axiomjit.numpy_rules.options import reduced_dimensions
from axiomjit.numpy_rules.table import FUNCTIONS
from axiomjit.symbolic.dims import dim
from axiomjit.symbolic.index_maps import identity, iterator


class Twin(Record):
    """A function that replaces a NumPy function in derivatives, and whose operations have rules."""

    function: Callable[..., Any]


def of_sort(op: Op, g: Cotangent) -> Contributions:
    """The cotangent of a sort's operand: each element of `g` at its position before the sort.

    The places come from a stable sort, so equal elements keep their order.
    """
    x = builder.view(op.operands[0], op.maps[0], op.extents)
    places: Node = FUNCTIONS[np.argsort](x, axis=-1, kind="stable")
    value = put_along_last(g.settled(), places, x)
    return {0: Cotangent(value).through(op.maps[0], op.extents, op.operands[0].shape)}


def put_along_last(value: Node, places: Node, like: Node) -> Node:
    """Zeros of the shape of `like`, with values at distinct places along the last dimension."""
    rank = len(like.shape)
    into = copied(zeros(value.dtype, like.shape))
    target = (*identity(rank - 1), iterator(rank))
    whole = identity(rank)
    positions, lengths = [(places, whole)], [like.shape[-1]]
    return update(into, target, value, whole, value.shape, positions, lengths)


def _convolve(g: Any, y: Any, a: Any, v: Any, mode: str = "full") -> tuple[Any, ...]:
    """For each operand, the correlation of the full cotangent with the other operand."""
    whole = _amid_zeros(g, a, v, mode)
    return np.correlate(whole, v, "valid"), np.correlate(whole, a, "valid")


def _correlate(g: Any, y: Any, a: Any, v: Any, mode: str = "valid") -> tuple[Any, ...]:
    """The pullback of a convolution whose second operand is reversed and conjugated."""
    by_first, by_second = _convolve(g, y, a, _reversed(v), mode)
    return by_first, _reversed(by_second)


def _reversed(v: Any) -> Any:
    return np.conj(v[::-1]) if is_complex(v.dtype) else v[::-1]


def _amid_zeros(g: Any, a: Any, v: Any, mode: str) -> Any:
    """The cotangent of a convolution in this mode, padded to the length of the mode "full"."""
    n, m = a.shape[0], v.shape[0]
    small = n if n <= m else m
    full = n + m - 1
    if mode in ("full", 2):
        return g
    low = small - 1 if mode in ("valid", 0) else (small - 1) // 2
    zero = Scalar(g.dtype, g.dtype.type(0), False)
    return NodeArray(padded(g.node, 0, (dim(low), full - low - g.shape[0]), zero))


def _rows(x: Any, axis: Any) -> Any:
    """The array with the reduced dimensions merged into one last dimension and sorted along it."""
    axes = reduced_dimensions(x.node, axis)
    kept = [d for d in range(x.ndim) if d not in axes]
    turned = np.transpose(x, (*kept, *axes))
    return np.sort(np.reshape(turned, (*(x.shape[d] for d in kept), -1)), axis=-1)


def _kept(made: Any, x: Any, axis: Any, keepdims: bool, more: int = 0) -> Any:
    """The result of a reduction; for `keepdims`, with the reduced dimensions, of length 1.

    The result has `more` additional dimensions in front.
    """
    if not keepdims:
        return made
    axes = reduced_dimensions(x.node, axis)
    return np.expand_dims(made, tuple(d + more for d in axes))


def _median(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    rows = _rows(x, axis)
    count = rows.shape[-1]
    made = (rows[..., (count - 1) // 2] + rows[..., count // 2]) * 0.5
    return _kept(made, x, axis, keepdims)


def _quantile(
    x: Any, q: Any, axis: Any = None, method: str = "linear", keepdims: bool = False
) -> Any:
    if method != "linear":
        return Refused(f"a quantile by method={method!r}")
    rows = _rows(x, axis)
    last: Any = NodeArray(size(rows.shape[-1] - 1))
    q = q if isinstance(q, NodeArray) else NodeArray(builder.as_node(float(q), "quantile"))
    place = q * last
    low = np.floor(place).astype(np.int64)
    high = np.minimum(low + 1, last.astype(np.int64))
    share = place - low
    below, above = (np.take(rows, one, axis=-1) for one in (low, high))
    made = below + (above - below) * share
    if q.ndim:
        made = np.moveaxis(made, -1, 0)
    return _kept(made, x, axis, keepdims, q.ndim)


def _percentile(x: Any, q: Any, **options: Any) -> Any:
    return _quantile(x, q / 100, **options)


def _partition(x: Any, kth: Any = 0, axis: int = -1, kind: str = "introselect") -> Any:
    """The result of `np.partition`, made by sorting and by taking elements at their ranks."""
    result = np.partition(x, kth, axis=axis)
    ranks = np.argsort(np.argsort(result, axis=axis, kind="stable"), axis=axis)
    return np.take_along_axis(np.sort(x, axis=axis), ranks, axis=axis)


def _interp(
    x: Any, xp: Any, fp: Any, left: Any = None, right: Any = None, period: Any = None
) -> Any:
    if period is not None:
        return Refused("interp with a period")
    last = NodeArray(size(xp.shape[0] - 1)).astype(np.int64)
    low = np.clip(np.searchsorted(xp, x, side="right") - 1, 0, last - 1)
    x0, x1, f0, f1 = (np.take(one, at) for one in (xp, fp) for at in (low, low + 1))
    inner = f0 + (f1 - f0) * ((x - x0) / (x1 - x0))
    below, above = fp[0] if left is None else left, fp[-1] if right is None else right
    return np.where(x < xp[0], below, np.where(x > xp[-1], above, inner))


def _unique(
    g: Any,
    y: Any,
    x: Any,
    axis: Any = None,
    sorted: bool = True,
    part: int | None = None,
    **options: Any,
) -> Any:
    """The cotangent of `np.unique`'s operand: equal elements share a result's cotangent evenly."""
    if axis is not None or not sorted:
        return Refused("the unique rows of an array, or values that are not sorted")
    flat = np.reshape(x, -1)
    every = np.sort(flat)
    first, end = (np.searchsorted(every, flat, side=side) for side in ("left", "right"))
    shares = np.take(g, np.searchsorted(y, flat)) / (end - first).astype(part_dtype(x.dtype))
    return (np.reshape(shares, x.shape),)


_SETS: Final = Refused("a set of values, which has no derivative rule")
_COUNTS: Final = Refused("a histogram, whose counts jump")
_NAN: Final = Refused("a median or quantile that leaves out NaN")
ORDERS: Final[Mapping[Callable[..., Any], Any]] = {
    np.convolve: _convolve,
    np.correlate: _correlate,
    np.sort: Twin(lambda x, axis=-1, **options: np.sort(x, axis=axis)),
    np.partition: Twin(_partition),
    np.median: Twin(_median),
    np.quantile: Twin(_quantile),
    np.percentile: Twin(_percentile),
    np.interp: Twin(_interp),
    **dict.fromkeys((np.nanmedian, np.nanquantile, np.nanpercentile), _NAN),
    **dict.fromkeys((np.unique, np.unique_all, np.unique_counts, np.unique_inverse), _unique),
    **dict.fromkeys((np.union1d, np.intersect1d, np.setdiff1d, np.setxor1d), _SETS),
    np.unique_values: _SETS,
    **dict.fromkeys((np.histogram, np.histogram_bin_edges), _COUNTS),
    **dict.fromkeys(
        (np.argsort, np.argpartition, np.lexsort, np.searchsorted, np.digitize, np.isin), NO_PATH
    ),
}
"""The pullback or the twin of each NumPy function."""
