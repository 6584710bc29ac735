"""Sums of products over common iterators, and the index maps of operands and result.

The dtype is the same as in NumPy's einsum: the common dtype of the operands, also for integers. For
bools, the sum is `any` and the product is `and`. float16 is summed in float32 and rounded once.

In `Projections`, each dimension is read or written at an affine function of the iterators of the
product space. Iterators that are missing in the result are reduced. The methods of `Projections`
decide if every element of the result is written, and if each element is written only once.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import Any

from axiomjit.base.dtypes import BOOL, HALF, SINGLE, common
from axiomjit.base.records import Record
from axiomjit.graph import builder
from axiomjit.graph.builder import cast, promotable
from axiomjit.graph.nodes import Node, Op, note
from axiomjit.graph.primitives import ANY, PRIMITIVES, PRODUCT, SUM, VIEW
from axiomjit.symbolic.dims import Dim, dim
from axiomjit.symbolic.index_maps import (
    Affine,
    Conditions,
    IndexMap,
    identity,
    iterator,
    iterators_of,
)

Read = tuple[Node, IndexMap]
"""An operand, and the index map that reads it."""


def sum_of_products(
    reads: Sequence[Read], extents: tuple[Dim, ...], rank: int, conditions: Conditions = ()
) -> Node:
    """The sum over the iterators from `rank` on of the product of all operands.

    Points that violate a condition are skipped.
    """
    dtype = common(tuple(promotable(node) for node, _ in reads))
    folded = len(extents) > rank
    wide = SINGLE if dtype == HALF and folded else dtype
    factors = [(cast(builder.strong(node), wide), index) for node, index in reads]
    *before, (last, last_map) = factors
    if not before and not folded:
        return builder.view(last, last_map, extents)
    if folded and not (before and wide == BOOL):
        operands, maps = zip(*factors, strict=True)
        total, primitive = ANY if wide == BOOL else SUM, PRODUCT if before else VIEW
        found: Node = note(
            Op(wide, primitive, total, operands, maps, extents, rank, (), conditions)
        )
        return cast(found, dtype)
    whole = identity(len(extents))

    def multiplied(left: Read, right: Read) -> Read:
        pair, maps = (left[0], right[0]), (left[1], right[1])
        return builder.map_op(PRIMITIVES["multiply"], pair, maps, extents), whole

    first, first_map = reduce(multiplied, before)
    found = builder.contract(first, last, (first_map, last_map), extents, rank, conditions)
    return cast(found, dtype)


AxisIndex = tuple[dict[int, int], int]
"""The coefficients of the iterators, and an offset; unknown numbers are symbolic."""
Margins = tuple[tuple[Dim, Dim], ...]
"""For each dimension, the distances by which reads go beyond the start and the end."""


class Projections(Record):
    """The product space of an operation, and the index maps of its operands and its result.

    The iterators run up to `extents`. The map `written` writes the result, of the given `shape`.
    The maps `read` read the operands, up to `margins` beyond their ends. `space`, `result` and
    `operands` give the same facts as numbers: for each dimension, in memory order, the coefficients
    of the iterators and the offset. `symbols` pairs each symbol in an offset with the index that
    the symbol represents, which is known later.
    """

    extents: tuple[Dim, ...]
    shape: tuple[Dim, ...]
    written: IndexMap
    read: tuple[IndexMap, ...]
    margins: tuple[Margins, ...] = ()
    symbols: tuple[tuple[Dim, Any], ...] = ()

    @property
    def space(self) -> tuple[int, ...]:
        """The extent of each iterator; an unknown extent is symbolic."""
        return tuple(_number(extent) for extent in self.extents)

    @property
    def rank(self) -> int:
        """The number of iterators of the result; these iterators come first."""
        return len(iterators_of(self.written))

    @property
    def reduced(self) -> tuple[int, ...]:
        """The positions of the reduced iterators."""
        return tuple(range(self.rank, len(self.extents)))

    @property
    def result(self) -> tuple[AxisIndex, ...]:
        """The index function of each dimension of the result."""
        return _indices(self.written, self.symbols)

    @property
    def operands(self) -> tuple[tuple[AxisIndex, ...], ...]:
        """The index function of each dimension of each operand."""
        return tuple(_indices(index, self.symbols) for index in self.read)

    @property
    def is_surjective(self) -> bool:
        """True if every element of the result is surely written, so no initial fill is needed."""
        seen: set[int] = set()
        for function, length in zip(self.written, self.shape, strict=True):
            if not _covers(function, length, self.extents) or seen & {*_iterators_in(function)}:
                return False
            seen |= {*_iterators_in(function)}
        return True

    @property
    def is_injective(self) -> bool:
        """True if two points of the result's iterators surely never write the same element."""
        pinned: set[int] = set()
        waiting = list(self.written)
        while True:
            found = [f for f in waiting if _pins(f, pinned, self.extents)]
            if not found:
                return pinned == iterators_of(self.written)
            for function in found:
                pinned |= {*_iterators_in(function)}
                waiting.remove(function)


def in_result_layout(core: Node, to: Projections) -> Node:
    """The values, which have one dimension per iterator, as a view with the shape of the result."""
    index = [iterator(0)] * to.rank
    for d, function in enumerate(to.written):
        for k in _iterators_in(function):
            index[k] = iterator(d)
    return builder.view(core, tuple(index), to.shape)


def _number(length: Dim) -> int:
    return length if length.constant is None else length.constant  # type: ignore[return-value]


def _indices(index: IndexMap, symbols: Sequence[tuple[Dim, Any]]) -> tuple[AxisIndex, ...]:
    named = dict(symbols)
    return tuple(
        ({k: _number(c) for k, c in f.terms}, named.get(f.offset, _number(f.offset))) for f in index
    )


def _iterators_in(function: Affine) -> list[int]:
    return [k for k, _ in function.terms]


def _covers(function: Affine, length: Dim, extents: Sequence[Dim]) -> bool:
    """True if an index function takes every value below `length`."""
    if function.offset.constant != 0:
        return False
    if not function.terms:
        return length.constant == 1
    reach = dim(0)  # all indices up to this one are written
    for k, factor in sorted(function.terms, key=lambda term: term[1].constant or 0):
        step = factor.constant
        if step is None or (reach.constant is None and step != 1):
            return False
        if reach.constant is not None and step > reach.constant + 1:
            return False
        reach = reach + (extents[k] - 1) * factor
    return reach + 1 is length


def _pins(function: Affine, pinned: set[int], extents: Sequence[Dim]) -> bool:
    """True if the value of an index function and the `pinned` iterators determine all iterators."""
    reach = dim(0)
    open_terms = [(k, factor) for k, factor in function.terms if k not in pinned]
    for k, factor in sorted(open_terms, key=lambda term: abs(term[1].constant or 0)):
        step = factor.constant
        if step is None or (reach.constant is None or abs(step) <= reach.constant):
            return False
        reach = reach + (extents[k] - 1) * abs(step)
    return bool(open_terms)
