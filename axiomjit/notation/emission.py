"""Make projections and nodes of operations with closed shapes; dimensions are in memory order."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import cast

import numpy as np

from axiomjit.graph import builder
from axiomjit.graph.contractions import Projections, in_result_layout, sum_of_products
from axiomjit.graph.nodes import Node
from axiomjit.notation.shapes import Shape
from axiomjit.notation.specs import MEMORY_ORDER
from axiomjit.notation.symbols import Symbol
from axiomjit.notation.terms import Row
from axiomjit.numpy_rules.elementwise import UFUNCS
from axiomjit.numpy_rules.table import FUNCTIONS
from axiomjit.symbolic.dims import Dim
from axiomjit.symbolic.index_maps import Affine, fixed, iterator

Apply = Callable[..., Node | tuple[Node, ...]]
"""A NumPy rule: a function from nodes to a node."""
Starts = dict[str, tuple[Row, int]]
"""For each kind of axes, the row that is matched with an operand's row, and that row's first
dimension."""


def pointwise(shapes: Sequence[Shape], result: Shape) -> Projections:
    """The projections of a pointwise operation, whose operands stretch to the result."""
    starts: Starts = {}
    place = 0
    for kind in MEMORY_ORDER:
        row = result.rows[kind].flat
        starts[kind] = (row, place)
        place += len(row.cells)
    lengths = result.lengths
    indices, extents = _iterators(lengths)
    read = tuple(_functions(shape, starts, lengths, indices) for shape in shapes)
    return Projections(extents, lengths, tuple(indices), read)


def applied(apply: Apply, to: Projections, nodes: Sequence[tuple[Node, bool]]) -> Node:
    """The node of an elementwise function; a node paired with False is a number."""
    maps = iter(to.read)
    spread = [builder.view(n, next(maps), to.extents) if one else n for n, one in nodes]
    found = apply(*spread)
    assert isinstance(found, Node)
    return in_result_layout(found, to)


def composed(left: Shape, right: Shape, result: Shape) -> Projections:
    """The projections of `left @ right`, which contracts left input axes with right output axes."""
    batch, output, inner = (result.rows[kind].flat for kind in MEMORY_ORDER)
    outputs = len(batch.cells)
    inputs = outputs + len(output.cells)
    rank = inputs + len(inner.cells)
    met = left.rows["input"].flat
    within = tuple(cell.size for cell in met.cells if cell.size is not None)
    lengths = (*result.lengths, *within)
    indices, extents = _iterators(lengths)
    first: Starts = {"batch": (batch, 0), "output": (output, outputs), "input": (met, rank)}
    second: Starts = {"batch": (batch, 0), "output": (met, rank), "input": (inner, inputs)}
    read = tuple(
        _functions(shape, starts, lengths, indices)
        for shape, starts in ((left, first), (right, second))
    )
    return Projections(extents, result.lengths, tuple(indices[:rank]), read)


def transposed(shape: Shape, result: Shape) -> Projections:
    """The projections of a transpose, which swaps input and output axes."""
    indices, extents = _iterators(result.lengths)
    counts = [len(shape.rows[kind].flat.cells) for kind in MEMORY_ORDER]
    batch, swapped = counts[0], counts[0] + counts[2]
    read = (*indices[:batch], *indices[swapped:], *indices[batch:swapped])
    return Projections(extents, result.lengths, tuple(indices), (read,))


def sliced(index: int | Symbol, shape: Shape, result: Shape) -> Projections:
    """The projections of `x[index]` along the first dimension; the index may be negative."""
    indices, extents = _iterators(result.lengths)
    place = index.dim if isinstance(index, Symbol) else index
    if isinstance(index, int) and index < 0:
        place = shape.lengths[0] + index
    read = (fixed(place), *indices)
    symbols = ((index.dim, index),) if isinstance(index, Symbol) else ()
    return Projections(extents, result.lengths, tuple(indices), (read,), (), symbols)


def summed(to: Projections, nodes: Sequence[Node]) -> Node:
    """The node of the products of operands, summed over the iterators that the result lacks."""
    reads = list(zip(nodes, to.read, strict=True))
    return in_result_layout(sum_of_products(reads, to.extents, to.rank), to)


def _iterators(lengths: Sequence[Dim]) -> tuple[list[Affine], tuple[Dim, ...]]:
    """The index of each dimension (an iterator, or 0 for length 1), and the iterators' extents."""
    indices: list[Affine] = []
    extents: list[Dim] = []
    for length in lengths:
        if length.constant == 1:
            indices.append(fixed(0))
        else:
            indices.append(iterator(len(extents)))
            extents.append(length)
    return indices, tuple(extents)


def _functions(
    shape: Shape, starts: Starts, lengths: Sequence[Dim], indices: Sequence[Affine]
) -> tuple[Affine, ...]:
    """The index function of each dimension of an operand, whose rows are matched as in `starts`."""
    found: list[Affine] = []
    for kind in MEMORY_ORDER:
        row, (whole, start) = shape.rows[kind].flat, starts[kind]
        back = start + len(whole.cells) - len(row.trailing)
        places = [*range(start, start + len(row.leading))]
        places += range(back, back + len(row.trailing))
        for cell, place in zip(row.cells, places, strict=True):
            stretched = cell.size == 1 and lengths[place] != 1
            found.append(fixed(0) if stretched else indices[place])
    return tuple(found)


def rule_of(function: Callable[..., object]) -> Apply | None:
    """The rule of an elementwise NumPy function, or None if there is no rule."""
    if function is np.where:
        return cast(Apply, FUNCTIONS[function])
    if not isinstance(function, np.ufunc) or function.nout != 1 or function.signature is not None:
        return None
    return UFUNCS.get(function)
