"""The accesses of serial loops, with a position in each dimension of their storage.

An index of the loop IR counts elements; positions in rows and columns are found again by dividing
it by the strides. They are right if each but the first is surely within its dimension, or has a
stride that is a number of the call, which no position names.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from axiomjit.base.records import Record
from axiomjit.passes.ir.loop_ir import For, Index, Load, Stmt, Store, bodies_of
from axiomjit.passes.ir.view_ir import POSITIONS, ArrayRole, Storage
from axiomjit.symbolic.dependence import Access, is_at_least, range_of_trips
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
from axiomjit.symbolic.index_ranges import IndexRange

OF_CALL: Final = (STRIDE, BACKWARD)
"""The kinds of strides that are numbers of the call."""
MAX_DIVISIONS: Final = 32
"""The most terms of an index that are divided by a stride."""


class Accessed(Record):
    """A load or store of a storage in the body of a loop."""

    stmt: Load | Store
    access: Access


def accesses_in(
    body: Sequence[Stmt], around: Sequence[IndexRange], inner: Sequence[IndexRange] = ()
) -> Iterator[Accessed]:
    """The accesses of memory in statements, also in loops inside; cells of the kernel have none.

    Args:
        body: The statements of a loop.
        around: The ranges of the indices of this loop and of loops around it, outermost first.
        inner: The ranges of loops between this loop and the statements.
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
    """The access of a load or store inside loops with these ranges."""
    gathered: list[IndexRange] = []
    place = positions(stmt.buffer, stmt.index, (*around, *inner), gathered)
    return Access(place, (*inner, *gathered))


def positions(
    storage: Storage, index: Index, ranges: Sequence[IndexRange], gathered: list[IndexRange]
) -> tuple[Dim, ...] | None:
    """The position of an element in each dimension; None if it is not known.

    Computed positions are numbers from 0 to the end of their dimension; `gathered` gets them.
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
    """The positions in these dimensions, by dimension, whose sum in elements is `rest`.

    `n - 1 - i` in a row of n elements looks like the next row: its quotient is one too large.
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
    """True if a position is surely within its dimension, or needs not be, to be the only one."""
    stride = symbol_of(storage.strides[d])
    if stride is not None and stride.kind in OF_CALL:
        return True
    return is_inside(position, storage.shape[d], ranges)


def is_inside(position: Dim, length: Dim, ranges: Sequence[IndexRange]) -> bool:
    """True if a position is within a length for all values of indices in ranges."""
    last = length - 1 - position
    return is_at_least(position, 0, ranges) and is_at_least(last, 0, ranges)


def divided(length: Dim, by: Dim) -> tuple[Dim, Dim]:
    """Quotient and rest of a division of polynomials, term by term."""
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
    """The terms of a length that have these factors, without them."""
    for monomial, number in length.terms:
        left = list(monomial)
        for one in factors:
            if one not in left:
                break
            left.remove(one)
        else:
            yield tuple(left), number
