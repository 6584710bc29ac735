"""A nest whose rows are computed into a buffer, and written where they belong some rows later."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Final

from axiomjit.base.dtypes import INT
from axiomjit.base.records import Record
from axiomjit.graph.primitives import PRIMITIVES
from axiomjit.passes.ir.loop_ir import Block, For, Index, Let, Limit, Load, Nest, Stmt, Store
from axiomjit.passes.ir.loop_orders import counted_steps, nested
from axiomjit.passes.ir.plain_walks import PlainWalk
from axiomjit.passes.ir.view_ir import POSITIONS, ArrayRole, Storage
from axiomjit.symbolic.dims import Dim, dim, smaller

Terms = tuple[tuple[str, Dim], ...]
ONE: Final = dim(1)


class Rows(Record):
    """How the loop of a walk at a `level` is cut: `count` rows of `height` steps, in blocks.

    A step has `width` elements in each step of all loops `around` this one, a block `size` rows. A
    row is read by up to so many rows `behind` it, before which it must not be written, and by as
    many rows `ahead` of it.
    """

    level: int
    height: Dim
    width: Dim
    around: Dim
    count: Dim
    size: Dim
    behind: int
    ahead: int

    @property
    def slots(self) -> int:
        """The rows of a buffer: the first ones of the block, then those that wait in turn."""
        return self.behind + self.ahead + 1

    @property
    def cells(self) -> Dim:
        """The elements of a row."""
        return self.around * self.height * self.width

    @property
    def blocks(self) -> Dim:
        """How many blocks there are."""
        return (self.count + (self.size - 1)) // self.size


def row_nest(
    rows: Rows,
    pair: tuple[PlainWalk, PlainWalk],
    kept: Collection[Storage],
    number: Callable[[int], str],
    names: Sequence[str],
) -> Nest:
    """Two walks over the same iterators as one nest.

    What the first stores in `kept` storages the second loads from buffers. Each row is computed
    into the buffer of its block, then the row is written that so many rows behind it have been
    computed. The first and the last rows of a block stay in its buffer until the combine part.

    Args:
        rows: what a row is.
        pair: what computes rows, and what writes them.
        kept: storages of which only some rows are kept.
        number: gives the name of a whole number of the program.
        names: one for the buffer of each storage.
    """
    return _Writer(rows, pair, kept, number, names).nest()


class _Writer:
    """Writes the statements of one nest."""

    def __init__(
        self,
        rows: Rows,
        pair: tuple[PlainWalk, PlainWalk],
        kept: Collection[Storage],
        number: Callable[[int], str],
        names: Sequence[str],
    ) -> None:
        self.rows, self.pair, self.number = rows, pair, number
        loops = pair[0].loops
        self.around, self.outer = loops[: rows.level], loops[rows.level]
        self.inner = loops[rows.level + 1 :]
        step = self.outer.iterator
        self.single = rows.height.constant == 1
        self.block = f"{step}b"
        self.row = step if self.single else f"{step}r"
        self.late = self.row if rows.slots == 1 else f"{step}w"
        cells = rows.blocks * smaller(rows.slots, rows.count) * rows.cells
        self.buffers = {
            storage: Storage(name, ArrayRole.PARTIAL, storage.dtype, (cells,), (ONE,))
            for name, storage in zip(names, sorted(kept, key=lambda s: s.name), strict=True)
        }

    def nest(self) -> Nest:
        """The whole nest."""
        rows = self.rows
        made, slot = self.slot_made()
        compute = (*made, *self.steps(self.pair[0], slot, self.row))
        late = self.written(rows.behind)
        if rows.slots > 1:
            after = self.within(rows.slots - 1, rows.size)
            late = (For(self.late, rows.count, "map", late, Block(self.row, 1), limits=(after,)),)
        each = For(self.row, rows.count, "map", (*compute, *late), Block(self.block, rows.size))
        main = (For(self.block, rows.blocks, "map", (each,)),)
        combine = (For(self.block, rows.blocks, "map", self.left_over()),)
        return Nest(main, combine if rows.slots > 1 else (), tuple(self.buffers.values()))

    def left_over(self) -> tuple[Stmt, ...]:
        """Write the first and the last rows of a block, of which the last one has fewer."""
        rows, found = self.rows, []
        of_block = Block(self.block, rows.size)
        if rows.ahead:
            early = self.steps(self.pair[1], self.slot(self.place(rows.cells)), self.late)
            limit = self.within(0, dim(rows.ahead))
            found.append(For(self.late, rows.count, "map", early, of_block, limits=(limit,)))
        if rows.behind:
            ended = rows.size - rows.behind
            body = self.written(0)
            last = self.within(ended, rows.size)
            found.append(For(self.late, rows.count, "map", body, of_block, limits=(last,)))
            span, rest = (rows.count - rows.behind, rows.count), self.within(rows.ahead, ended)
            found.append(For(self.late, rows.count, "map", body, of_block, span, limits=(rest,)))
        return tuple(found)

    def within(self, low: int | Dim, high: Dim) -> Limit:
        """Only these rows of the block."""
        return Limit(self.place(ONE).terms, dim(low), high)

    def place(self, factor: Dim) -> Index:
        """Which row of its block the row is that is written, times a factor."""
        return Index(dim(0), ((self.block, -self.rows.size * factor), (self.late, factor)))

    def slot(self, slot: Index) -> Index:
        """Where a row is in the buffers, given where it is in that of its block."""
        size = self.rows.cells * self.rows.slots
        return _sum(slot, Index(dim(0), ((self.block, size),)))

    def slot_made(self) -> tuple[tuple[Stmt, ...], Index]:
        """Where in the buffer a row is put: the first rows one after the other, others in turn."""
        rows = self.rows
        if rows.slots == 1:
            return (), self.slot(Index(dim(0), ()))
        here = Index(dim(0), ((self.block, -rows.size), (self.row, ONE)))
        made: list[Stmt] = [Load("vrow", POSITIONS, here)]
        terms: list[tuple[str, Dim]] = []
        turn = "vrow"
        if rows.ahead:
            made.append(_let("vfirst", "minimum", "vrow", self.number(rows.ahead)))
            terms.append(("vfirst", rows.cells))
        if rows.ahead and rows.behind:
            made.append(_let("vturn", "subtract", "vrow", "vfirst"))
            turn = "vturn"
        if rows.behind:
            made.append(_let("vslot", "remainder", turn, self.number(rows.behind + 1)))
            terms.append(("vslot", rows.cells))
        return tuple(made), self.slot(Index(dim(0), tuple(terms), tuple(name for name, _ in terms)))

    def written(self, before: int) -> tuple[Stmt, ...]:
        """Write the row so many rows before, which is not among the first of its block."""
        rows = self.rows
        made: tuple[Stmt, ...] = ()
        slot = Index(rows.cells * rows.ahead, ())
        if rows.behind:
            turn = _sum(self.place(ONE), Index(dim(-before - rows.ahead), ()))
            turns = self.number(rows.behind + 1)
            made = Load("vback", POSITIONS, turn), _let("vheld", "remainder", "vback", turns)
            slot = slot.replace(terms=(("vheld", rows.cells),), gathered=("vheld",))
        return (*made, *self.steps(self.pair[1], self.slot(slot), self.late, before))

    def steps(self, walk: PlainWalk, slot: Index, row: str, before: int = 0) -> tuple[Stmt, ...]:
        """The steps of a row, or of the row so many rows `before`, which then is a whole one."""
        rows, step = self.rows, self.outer.iterator
        shift = dim(-before) * rows.height
        whole = bool(before) or self.single
        place: Terms = ((row, rows.height), (step, ONE)) if whole else ((step, ONE),)
        inside: Terms = ((step, rows.width),)
        if not before:
            inside = (*inside, (row, -rows.height * rows.width))
        if self.single:
            place, inside = ((row, ONE),), ()
        kept = _sum(slot, Index(dim(0), (*self.strides(), *inside)))
        body = tuple(self.placed(stmt, Index(shift, place), kept) for stmt in walk.body)
        body = nested(self.inner, body)
        if not self.single:
            block = None if before else Block(row, rows.height)
            extent = rows.height if before else self.outer.extent
            body = (For(step, extent, "map", body, block),)
        return nested(self.around, body)

    def strides(self) -> Terms:
        """Where in a row a step of the other loops is."""
        step = self.rows.height * self.rows.width
        around = ((name, stride * step) for name, stride in counted_steps(self.around))
        return *around, *counted_steps(self.inner)

    def placed(self, stmt: Stmt, here: Index, kept: Index) -> Stmt:
        """The statement with the step of the outer loop at `here`."""
        if not isinstance(stmt, Load | Store):
            return stmt
        if stmt.buffer in self.buffers:
            return stmt.replace(buffer=self.buffers[stmt.buffer], index=kept)
        strides = dict(stmt.index.terms)
        pace = strides.pop(self.outer.iterator, dim(0))
        if pace.constant == 0:
            return stmt
        scaled = tuple((name, factor * pace) for name, factor in here.terms)
        steps = Index(stmt.index.offset + here.offset * pace, scaled, here.gathered)
        index = _sum(steps, Index(dim(0), tuple(strides.items()), stmt.index.gathered))
        return stmt.replace(index=index)


def _let(name: str, primitive: str, left: str, right: str) -> Let:
    """An operation on whole numbers."""
    return Let(name, INT, PRIMITIVES[primitive], (left, right))


def _sum(left: Index, right: Index) -> Index:
    """The sum of two indices, values first."""
    total: dict[str, Dim] = {}
    for name, factor in (*left.terms, *right.terms):
        total[name] = total.get(name, dim(0)) + factor
    terms = ((name, factor) for name, factor in total.items() if factor.constant != 0)
    values = {*left.gathered, *right.gathered}
    ordered = sorted(terms, key=lambda term: term[0] not in values)
    gathered = tuple(name for name, _ in ordered if name in values)
    return Index(left.offset + right.offset, tuple(ordered), gathered)
