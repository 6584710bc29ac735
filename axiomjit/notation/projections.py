"""The projections of a spec: index maps over iterators of labels and row variables (OCANNL shapes).

The product space has an iterator for each label and for each axis of a row variable, except axes of
length 1.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence

from axiomjit.graph.contractions import Margins, Projections
from axiomjit.notation.rows import Rows, Solution
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
    """The axis of a slot for each dimension, in memory order; None for axes of a row variable."""
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
