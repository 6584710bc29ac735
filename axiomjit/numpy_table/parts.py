"""The part of the NumPy table that takes arrays apart into views, and makes grids of vectors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np
from numpy.lib.array_utils import normalize_axis_index

from axiomjit.base.dtypes import is_bool
from axiomjit.graph import builder
from axiomjit.graph.builder import cast
from axiomjit.graph.indexing_ops import true_positions
from axiomjit.graph.nodes import Node, Scalar
from axiomjit.graph.primitives import COPY, PRIMITIVES, WHERE
from axiomjit.graph.reductions import positions_along
from axiomjit.graph.shape_ops import flat, insert_dimensions, padded, sliced
from axiomjit.numpy_table.options import Row, refuse
from axiomjit.numpy_table.shapes import FUNCTIONS as SHAPES
from axiomjit.numpy_table.shapes import array_node
from axiomjit.symbolic.dims import Dim, dim
from axiomjit.symbolic.index_maps import iterator


def _array_split(ary: object, indices_or_sections: Any, axis: int = 0) -> list[Node]:
    node = array_node(ary, "array_split")
    d = normalize_axis_index(axis, len(node.shape))
    length = node.shape[d]
    if isinstance(indices_or_sections, int | np.integer | Dim):
        sections = int(indices_or_sections)
        if sections <= 0:
            raise ValueError("number sections must be larger than 0.")
        longer, each = int(length % sections), length // sections
        starts = [each * k + min(k, longer) for k in range(sections + 1)]
    else:
        starts = [dim(0), *_ends(indices_or_sections), length]
    ends = zip(starts, starts[1:], strict=False)
    return [sliced(node, [d], slice(start, end)) for start, end in ends]


def _ends(indices: Any) -> Sequence[Any]:
    """Where parts begin, as they are given.

    Raises:
        UnsupportedError: they are computed, so that nobody knows how long the parts are.
    """
    if isinstance(indices, Node) or any(isinstance(end, Node) for end in indices):
        raise refuse("array_split", "indices_or_sections", indices)
    return [end if isinstance(end, Dim) else int(end) for end in indices]


def _split(ary: object, indices_or_sections: Any, axis: int = 0) -> list[Node]:
    node = array_node(ary, "split")
    if isinstance(indices_or_sections, int | np.integer | Dim):
        length = node.shape[normalize_axis_index(axis, len(node.shape))]
        if length % int(indices_or_sections) != 0:
            raise ValueError("array split does not result in an equal division")
    return _array_split(node, indices_or_sections, axis)


def _split_row(name: str, least: int, axis: int) -> Row:
    """The row of vsplit and its like, of arrays with so many dimensions at least."""

    def row(ary: object, indices_or_sections: Any) -> list[Node]:
        node = array_node(ary, name)
        rank = len(node.shape)
        if rank < least:
            raise ValueError(f"{name} only works on arrays of {least} or more dimensions")
        return _split(node, indices_or_sections, min(axis, rank - 1))

    return row


def _diag(v: object, k: int = 0) -> Node:
    """The diagonal of a matrix, read-only; of a vector the matrix that has it there."""
    node = array_node(v, "diag")
    if len(node.shape) == 2:
        seen: Node = SHAPES[np.diagonal](node, k)
        return builder.read_only(node, seen)
    if len(node.shape) != 1:
        raise ValueError("Input must be 1- or 2-d.")
    more, zero = dim(abs(k)), Scalar(node.dtype, node.dtype.type(0), False)
    whole = padded(node, 0, (dim(0), more), zero)
    side = whole.shape[0]
    along, other = (0, 1) if k >= 0 else (1, 0)
    place, wanted = (positions_along((side, side), (d,)) for d in (along, other))
    shift = builder.as_node(more, "diag")
    here = builder.elementwise(
        PRIMITIVES["equal"], builder.elementwise(PRIMITIVES["add"], place, shift), wanted
    )
    values = builder.view(whole, (iterator(along),), (side, side))
    return builder.elementwise(WHERE, here, values, zero)


def _vectors(arrays: Sequence[object], name: str) -> list[Node]:
    """Vectors, each along a dimension of its own."""
    nodes = [array_node(value, name) for value in arrays]
    return [
        insert_dimensions(flat(node), [k for k in range(len(nodes)) if k != d])
        for d, node in enumerate(nodes)
    ]


def _open_grid(*args: object) -> tuple[Node, ...]:
    """np.ix_: positions for each dimension of a grid; of bools those that are true."""
    nodes: list[Node] = []
    for value in args:
        node = array_node(value, "ix_")
        if len(node.shape) != 1:
            raise ValueError("Cross index must be 1 dimensional")
        if node.shape[0].constant == 0:
            node = cast(node, np.dtype(np.intp))
        nodes.append(true_positions(node)[0] if is_bool(node.dtype) else node)
    return tuple(_vectors(nodes, "ix_"))


def _meshgrid(
    *xi: object, copy: bool = True, sparse: bool = False, indexing: str = "xy"
) -> tuple[Node, ...]:
    if indexing not in ("xy", "ij"):
        raise ValueError("Valid values for `indexing` are 'xy' and 'ij'.")
    nodes = _vectors(xi, "meshgrid")
    if indexing == "xy" and len(nodes) > 1:
        order = (1, 0, *range(2, len(nodes)))
        nodes = [builder.transpose(node, order) for node in nodes]
    if not sparse:
        shape = builder.broadcast_shapes([node.shape for node in nodes], "meshgrid", *nodes)
        nodes = [builder.broadcast_to(node, shape) for node in nodes]
    return tuple(builder.elementwise(COPY, node) for node in nodes) if copy else tuple(nodes)


FUNCTIONS: Final[dict[Callable[..., object], Row]] = {
    np.array_split: _array_split,
    np.split: _split,
    np.vsplit: _split_row("vsplit", 2, 0),
    np.hsplit: _split_row("hsplit", 1, 1),
    np.dsplit: _split_row("dsplit", 3, 2),
    np.diag: _diag,
    np.ix_: _open_grid,
    np.meshgrid: _meshgrid,
}
