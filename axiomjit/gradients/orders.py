"""The pullbacks of sorting and of what sorts: each result is elements of the operand."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

import numpy as np

from axiomjit.base.dtypes import is_complex
from axiomjit.gradients.cotangents import Cotangent
from axiomjit.gradients.structures import Contributions
from axiomjit.gradients.transposes import copied, zeros
from axiomjit.gradients.values import NodeArray
from axiomjit.graph import builder
from axiomjit.graph.nodes import Node, Op, Scalar
from axiomjit.graph.shape_ops import padded
from axiomjit.graph.storages import update
from axiomjit.numpy_rules.table import FUNCTIONS
from axiomjit.symbolic.dims import dim
from axiomjit.symbolic.index_maps import identity, iterator


def of_sort(op: Op, g: Cotangent) -> Contributions:
    """The cotangents stand where the elements stood; equal elements stay in order."""
    x = builder.view(op.operands[0], op.maps[0], op.extents)
    places: Node = FUNCTIONS[np.argsort](x, axis=-1, kind="stable")
    value = put_along_last(g.settled(), places, x)
    return {0: Cotangent(value).through(op.maps[0], op.extents, op.operands[0].shape)}


def put_along_last(value: Node, places: Node, like: Node) -> Node:
    """Zeros like a node, with values written at distinct places along the last dimension."""
    rank = len(like.shape)
    into = copied(zeros(value.dtype, like.shape))
    target = (*identity(rank - 1), iterator(rank))
    whole = identity(rank)
    positions, lengths = [(places, whole)], [like.shape[-1]]
    return update(into, target, value, whole, value.shape, positions, lengths)


def _convolve(g: Any, y: Any, a: Any, v: Any, mode: str = "full") -> tuple[Any, ...]:
    """The correlation of the cotangent, amid zeros unless all was kept, with the other operand."""
    whole = _amid_zeros(g, a, v, mode)
    return np.correlate(whole, v, "valid"), np.correlate(whole, a, "valid")


def _correlate(g: Any, y: Any, a: Any, v: Any, mode: str = "valid") -> tuple[Any, ...]:
    """The pullback of the convolution with the second operand reversed and conjugated."""
    by_first, by_second = _convolve(g, y, a, _reversed(v), mode)
    return by_first, _reversed(by_second)


def _reversed(v: Any) -> Any:
    return np.conj(v[::-1]) if is_complex(v.dtype) else v[::-1]


def _amid_zeros(g: Any, a: Any, v: Any, mode: str) -> Any:
    """The cotangent of a product of this mode as that of the full one."""
    n, m = a.shape[0], v.shape[0]
    small = n if n <= m else m
    full = n + m - 1
    if mode in ("full", 2):
        return g
    low = small - 1 if mode in ("valid", 0) else (small - 1) // 2
    zero = Scalar(g.dtype, g.dtype.type(0), False)
    return NodeArray(padded(g.node, 0, (dim(low), full - low - g.shape[0]), zero))


ORDERS: Final[Mapping[Callable[..., Any], Any]] = {
    np.convolve: _convolve,
    np.correlate: _correlate,
}
"""The pullbacks by NumPy's function."""
