"""The accesses to memory in serial loops, as a position in each dimension of the storage.

An index of the loop IR counts elements from the start of the storage. The position in each
dimension is found by dividing the index by the strides, the largest stride first. The positions are
correct if each position after the first one is known to be within its dimension. In a dimension
whose stride is known only in a call, the position needs no check, since a position that contains
the stride is never accepted.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from axiomjit.base.records import Record
from axiomjit.passes.ir.loop_ir import For, Index, Load, Stmt, Store, bodies_of
from axiomjit.passes.ir.view_ir import POSITIONS, ArrayRole, Storage
from axiomjit.symbolic.dims import (
    BACKWARD,
    INDEX,
    STRIDE,
    Atom,
    Dim,
    Symbol,
    dim,
    polynomial,
    symbol_of,
)
from axiomjit.symbolic.index_maps import magnitude
from axiomjit.symbolic.index_ranges import Access, IndexRange, is_at_least, range_of_trips

OF_CALL: Final = (STRIDE, BACKWARD)
"""The kinds of strides whose values are known only in a call."""
MAX_DIVISIONS: Final = 32
"""The largest number of terms that are divided when an index is divided by a stride."""


class Accessed(Record):
    """A load from a storage, or a store into one, in the body of a loop."""

    stmt: Load | Store
    access: Access


def accesses_in(
    body: Sequence[Stmt], around: Sequence[IndexRange], inner: Sequence[IndexRange] = ()
) -> Iterator[Accessed]:
    """The accesses to arrays in statements and inner loops, without accesses to a kernel's cells.

    Args:
        body: The statements of a loop.
        around: The ranges of the indices of this loop and of the loops around this loop, outermost
            first.
        inner: The ranges of the loops between this loop and the statements.
    """
    for stmt in body:
        if isinstance(stmt, Load | Store):
            if stmt.buffer is not POSITIONS and stmt.buffer.role is not ArrayRole.CELLS:
                yield Accessed(stmt, access_of(stmt, around, inner))
            continue
        ranges = (*inner, range_of(stmt)) if isinstance(stmt, For) else inner
        for part in bodies_of(stmt):
            yield from accesses_in(part, around, ranges)


def range_of(loop: For) -> IndexRange:
    """The range of the iterator of a loop."""
    return range_of_trips(Symbol(str(loop.iterator), INDEX), loop.extent)


def access_of(
    stmt: Load | Store, around: Sequence[IndexRange], inner: Sequence[IndexRange] = ()
) -> Access:
    """The access of a load or store inside loops with the ranges `around` and `inner`."""
    gathered: list[IndexRange] = []
    place = positions(stmt.buffer, stmt.index, (*around, *inner), gathered)
    return Access(place, (*inner, *gathered))


def positions(
    storage: Storage, index: Index, ranges: Sequence[IndexRange], gathered: list[IndexRange]
) -> tuple[Dim, ...] | None:
    """The position of an element in each dimension; None if a position is not known.

    A gathered position is any number within its dimension; its range is appended to `gathered`.
    """
    rest = index.offset
    by_stride = dict(zip(storage.strides, storage.shape, strict=True))
    for name, stride in index.terms:
        symbol = Symbol(str(name), INDEX)
        if name in index.gathered:
            if storage.strides.count(stride) != 1:
                return None
            gathered.append((symbol, dim(0), by_stride[stride] - 1))
        rest += dim(symbol) * stride
    if any(stride.constant == 0 for stride in storage.strides):
        return None
    order = sorted(range(len(storage.strides)), key=lambda d: -magnitude(storage.strides[d]))
    found = _divided_by(rest, storage, order, (*ranges, *gathered), True)
    if found is None or any(symbol.kind in OF_CALL for p in found.values() for symbol in p.symbols):
        return None
    return tuple(found[d] for d in range(len(order)))


def _divided_by(
    rest: Dim, storage: Storage, order: Sequence[int], ranges: Sequence[IndexRange], is_first: bool
) -> dict[int, Dim] | None:
    """The positions in the dimensions `order`, by dimension, which together give the index `rest`.

    The quotient may be wrong by one: for the index `n - 1 - i` in a row of n elements, the quotient
    by n is 1 instead of 0. So the next smaller and the next larger quotient are tried, too.
    """
    if not order:
        return {} if rest.constant == 0 else None
    (d, *others), stride = order, storage.strides[order[0]]
    quotient, left = divided(rest, stride)
    for more in (0, -1, 1) if others else (0,):
        position = quotient + more
        if is_first or _is_within(position, storage, d, ranges):
            found = _divided_by(left - stride * more, storage, others, ranges, False)
            if found is not None:
                return {d: position, **found}
    return None


def _is_within(position: Dim, storage: Storage, d: int, ranges: Sequence[IndexRange]) -> bool:
    """True if a position is known to be within dimension d, or if its stride is in `OF_CALL`."""
    stride = symbol_of(storage.strides[d])
    if stride is not None and stride.kind in OF_CALL:
        return True
    return is_inside(position, storage.shape[d], ranges)


def is_inside(position: Dim, length: Dim, ranges: Sequence[IndexRange]) -> bool:
    """True if a position is within a length for all values of indices in ranges."""
    last = length - 1 - position
    return is_at_least(position, 0, ranges) and is_at_least(last, 0, ranges)


def divided(length: Dim, by: Dim) -> tuple[Dim, Dim]:
    """The quotient and the remainder of a division of polynomials, term by term."""
    quotient = dim(0)
    if not by.terms:
        return quotient, length
    lead, factor = by.terms[0]
    for _ in range(MAX_DIVISIONS):
        parts = (polynomial({m: int(n / factor)}) for m, n in _over(length, lead))
        part = next((one for one in parts if one.terms), None)
        if part is None:
            break
        quotient, length = quotient + part, length - part * by
    return quotient, length


def _over(length: Dim, factors: tuple[Atom, ...]) -> Iterator[tuple[tuple[Atom, ...], int]]:
    """The terms of a length that contain all of `factors`, with these factors removed."""
    for monomial, number in length.terms:
        left = list(monomial)
        for one in factors:
            if one not in left:
                break
            left.remove(one)
        else:
            yield tuple(left), number
