"""Projections, and the nodes of operations with closed shapes (OCANNL shapes).

The projections of a spec are index maps over iterators of labels and row variables. The product
space has an iterator for each label and for each axis of a row variable, except axes of length 1.
Dimensions of nodes are in memory order.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import cast

import numpy as np

from axiomjit.graph import builder
from axiomjit.graph.contractions import Margins, Projections, in_result_layout, sum_of_products
from axiomjit.graph.nodes import Node
from axiomjit.notation.leaves import Symbol
from axiomjit.notation.shapes import Shape
from axiomjit.notation.solving import Row
from axiomjit.notation.specs import (
    MEMORY_ORDER,
    AxisSpec,
    Concat,
    EinsumSpec,
    Fixed,
    Label,
    RowSpec,
    SlotSpec,
)
from axiomjit.notation.specs import Affine as Window
from axiomjit.notation.templates import Rows, Solution
from axiomjit.numpy_rules.elementwise import UFUNCS
from axiomjit.numpy_rules.table import FUNCTIONS
from axiomjit.symbolic.dims import Dim, dim, larger
from axiomjit.symbolic.index_maps import Affine, IndexMap, affine, fixed, iterator


def projections_of(spec: EinsumSpec, solution: Solution, live: Sequence[str] = ()) -> Projections:
    """The projections of a spec with known shapes; `live` has one part of each concatenation."""
    space = _Space(solution, live)
    slots = zip((spec.result, *spec.operands), (solution.result, *solution.operands), strict=True)
    touched, margins = zip(*(space.slot(slot, rows) for slot, rows in slots), strict=True)
    written, *read = touched
    extents, shape = tuple(space.extents), solution.result.dims
    return Projections(extents, shape, written, tuple(read), margins[1:])


def axes_of(slot: SlotSpec, rows: Rows) -> tuple[AxisSpec | None, ...]:
    """For each dimension, in memory order, the axis of the slot; None for a row variable's axes."""
    found: list[AxisSpec | None] = []
    for kind in MEMORY_ORDER:
        row, sizes = slot.row(kind), getattr(rows, kind)
        found += [*row.leading, *[None] * (len(sizes) - len(row.axes)), *row.trailing]
    return tuple(found)


def labels_of(spec: EinsumSpec, solution: Solution) -> tuple[tuple[Hashable, ...], ...]:
    """The label of each dimension of the result and of each operand; None without a label."""
    slots = zip((spec.result, *spec.operands), (solution.result, *solution.operands), strict=True)
    return tuple(tuple(_labels(slot, rows)) for slot, rows in slots)


def _labels(slot: SlotSpec, rows: Rows) -> Iterator[Hashable]:
    for kind in MEMORY_ORDER:
        row, sizes = slot.row(kind), getattr(rows, kind)
        count = len(sizes) - len(row.axes)
        yield from map(_label, row.leading)
        yield from ((row.variable, k - count) for k in range(count))
        yield from map(_label, row.trailing)


class _Space:
    """The iterators made so far for labels and for axes of row variables."""

    def __init__(self, solution: Solution, live: Sequence[str]) -> None:
        self.solution, self.live = solution, live
        self.extents: list[Dim] = []
        self.places: dict[Hashable, Affine] = {}

    def at(self, key: Hashable, size: Dim) -> Affine:
        """The index of a label or an axis of a row variable; its iterator is made at first use."""
        if key not in self.places:
            if size.constant == 1:
                self.places[key] = fixed(0)
            else:
                self.places[key] = iterator(len(self.extents))
                self.extents.append(size)
        return self.places[key]

    def slot(self, slot: SlotSpec, rows: Rows) -> tuple[IndexMap, Margins]:
        """The index and the margins of each dimension of a slot, in memory order."""
        found: list[Affine] = []
        margins: list[tuple[Dim, Dim]] = []
        for kind in MEMORY_ORDER:
            row, sizes = slot.row(kind), getattr(rows, kind)
            middle = sizes[len(row.leading) : len(sizes) - len(row.trailing)]
            within = self.middle(row, middle)
            first, last = sizes[: len(row.leading)], sizes[len(sizes) - len(row.trailing) :]
            found += map(self.axis, row.leading, first)
            found += within
            found += map(self.axis, row.trailing, last)
            margins += map(self.margin, row.leading)
            margins += [(dim(0), dim(0))] * len(within)
            margins += map(self.margin, row.trailing)
        return tuple(found), tuple(margins)

    def middle(self, row: RowSpec, sizes: Sequence[Dim]) -> list[Affine]:
        """The indices of the axes of a row variable; an axis of length 1 is read at index 0."""
        if row.variable is None:
            return []
        whole = self.solution.rows[row.variable]
        found: list[Affine] = []
        for k, size in enumerate(sizes, len(whole) - len(sizes)):
            index = self.at((row.variable, k), whole[k])
            found.append(fixed(0) if size.constant == 1 else index)
        return found

    def axis(self, axis: AxisSpec, size: Dim) -> Affine:
        """The index of an axis with this size."""
        match axis:
            case Label(name=name):
                return self.at(name, self.solution.labels[name])
            case Fixed(index=index):
                return fixed(index)
            case Window(kernel=None):
                return self.scaled(axis.over, axis.stride, axis.offset)
            case Window(kernel=str(kernel)):
                over = self.scaled(axis.over, axis.stride, axis.offset)
                within = self.scaled(kernel, axis.dilation, -self.margin(axis)[0])
                return _sum(over, within)
            case Concat(parts=parts):
                part = next(p for p in parts if p in self.live)
                before = [self.solution.labels[p] for p in parts[: parts.index(part)]]
                return _sum(self.at(part, self.solution.labels[part]), fixed(sum(before, dim(0))))
        return self.at(object(), size)

    def scaled(self, label: str, factor: int, offset: int | Dim) -> Affine:
        """The index of a label times a factor, plus an offset."""
        index = self.at(label, self.solution.labels[label])
        return affine({k: dim(factor) for k, _ in index.terms}, offset)

    def margin(self, axis: AxisSpec) -> tuple[Dim, Dim]:
        """The numbers of elements that windows read before and after the axis."""
        if not isinstance(axis, Window) or axis.kernel is None:
            return dim(0), dim(0)
        if not axis.padded:
            return dim(0), dim(axis.offset)
        reach = (self.solution.labels[axis.kernel] - 1) * axis.dilation
        before = reach // 2
        return before, larger(0, reach - before + (axis.offset + 1 - axis.stride))


def _label(axis: AxisSpec) -> str | None:
    return axis.name if isinstance(axis, Label) else None


def _sum(left: Affine, right: Affine) -> Affine:
    terms = dict(left.terms)
    for k, factor in right.terms:
        terms[k] = terms.get(k, dim(0)) + factor
    return affine(terms, left.offset + right.offset)


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
