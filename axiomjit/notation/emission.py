"""Nodes of operations whose shapes are closed; dimensions are in memory order."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import cast

import numpy as np

from axiomjit.algebra.dims import Dim
from axiomjit.algebra.index_maps import Affine, fixed, identity, iterator
from axiomjit.graph import builder
from axiomjit.graph.nodes import Node
from axiomjit.notation.shapes import Shape
from axiomjit.notation.specs import MEMORY_ORDER
from axiomjit.notation.terms import Row
from axiomjit.numpy_table.table import FUNCTIONS, UFUNCS

Apply = Callable[..., Node | tuple[Node, ...]]
"""A row of the NumPy table."""


def pointwise(
    apply: Apply, nodes: Sequence[Node], shapes: Sequence[Shape | None], result: Shape
) -> Node:
    """A function of elements; operands without a shape are numbers."""
    spread = [
        node if shape is None else _spread(node, shape, result)
        for node, shape in zip(nodes, shapes, strict=True)
    ]
    found = apply(*spread)
    assert isinstance(found, Node)
    return found


def composed(nodes: Sequence[Node], left: Shape, right: Shape, result: Shape) -> Node:
    """The sum of products over the input of the left operand and the output of the right one."""
    batch, output, inner = (result.rows[kind].flat for kind in MEMORY_ORDER)
    outputs = len(batch.cells)
    inputs = outputs + len(output.cells)
    rank = inputs + len(inner.cells)
    met = left.rows["input"].flat
    within = tuple(cell.size for cell in met.cells if cell.size is not None)
    extents = (*result.lengths, *within)
    starts = {"batch": (batch, 0), "output": (output, outputs), "input": (met, rank)}
    first = _functions(left, {kind: starts[kind] for kind in MEMORY_ORDER}, extents)
    starts = {"batch": (batch, 0), "output": (met, rank), "input": (inner, inputs)}
    second = _functions(right, {kind: starts[kind] for kind in MEMORY_ORDER}, extents)
    return builder.contract(nodes[0], nodes[1], (first, second), extents, rank)


def transposed(node: Node, shape: Shape) -> Node:
    """Input and output dimensions change places."""
    counts = [len(shape.rows[kind].flat.cells) for kind in MEMORY_ORDER]
    batch, output = range(counts[0]), range(counts[0], counts[0] + counts[1])
    return builder.transpose(node, (*batch, *range(counts[0] + counts[1], sum(counts)), *output))


def sliced(node: Node, index: int | Dim) -> Node:
    """The first dimension at an index, which counts from the end where it is negative."""
    place = node.shape[0] + index if isinstance(index, int) and index < 0 else index
    rest = node.shape[1:]
    return builder.view(node, (fixed(place), *identity(len(rest))), rest)


def _spread(node: Node, shape: Shape, result: Shape) -> Node:
    """The node with the dimensions of the result."""
    starts: dict[str, tuple[Row, int]] = {}
    place = 0
    for kind in MEMORY_ORDER:
        row = result.rows[kind].flat
        starts[kind] = (row, place)
        place += len(row.cells)
    extents = result.lengths
    return builder.view(node, _functions(shape, starts, extents), extents)


def _functions(
    shape: Shape, starts: dict[str, tuple[Row, int]], extents: tuple[Dim, ...]
) -> tuple[Affine, ...]:
    """How an operand is read whose rows meet these rows, each from an iterator on."""
    found: list[Affine] = []
    for kind in MEMORY_ORDER:
        row, (whole, start) = shape.rows[kind].flat, starts[kind]
        back = start + len(whole.cells) - len(row.trailing)
        places = [*range(start, start + len(row.leading))]
        places += range(back, back + len(row.trailing))
        for cell, place in zip(row.cells, places, strict=True):
            stretched = cell.size == 1 and extents[place] != 1
            found.append(fixed(0) if stretched else iterator(place))
    return tuple(found)


def table_row(function: Callable[..., object]) -> Apply | None:
    """What a function of NumPy means on nodes, if it is one of elements in the table."""
    if function is np.where:
        return cast(Apply, FUNCTIONS[function])
    if not isinstance(function, np.ufunc) or function.nout != 1 or function.signature is not None:
        return None
    return UFUNCS.get(function)
