"""LoopProgram -> LoopProgram: a buffer holds new rows of an array until the old rows are read."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Final

from axiomjit.base.dtypes import INT
from axiomjit.base.records import Record
from axiomjit.graph.nodes import LengthNode
from axiomjit.graph.primitives import PRIMITIVES
from axiomjit.passes.ir.context import Context
from axiomjit.passes.ir.loop_ir import (
    Block,
    Cost,
    For,
    Index,
    Let,
    LibraryCall,
    Limit,
    Load,
    LoopProgram,
    Nest,
    Stmt,
    Store,
    accessed,
)
from axiomjit.passes.ir.rewriting import (
    AddedNumbers,
    PlainWalk,
    all_steps,
    joined_nest,
    nested,
    plain_walk,
    row_major_terms,
    with_common_iterators,
)
from axiomjit.passes.ir.view_ir import POSITIONS, ArrayRole, Storage
from axiomjit.symbolic.dims import Dim, bound, current_scope, dim, exact_quotient, smaller

MIN_ROW: Final = 512
"""The smallest number of elements of a row; shorter rows are grouped."""
ROWS_PER_GROUP: Final = 16
"""The number of short rows in a group."""
MAX_ROW: Final = 1 << 20
"""The largest number of elements of a row; larger rows leave the cache before they are written."""
MAX_DISTANCE: Final = 16
"""The largest number of rows between a read and a write; for longer distances a copy is cheaper
than a buffer.
"""
MAX_CACHED_ROW: Final = 1 << 16
"""The largest number of elements of a row that stays in the second-level cache together with the
buffered rows.
"""
MAX_BUFFERS: Final = 16
"""The largest number of rows of a block, in multiples of the buffer; also the number of blocks if
there are few rows.
"""
MIN_BUFFERS: Final = 3
"""The smallest number of rows of a block, in multiples of the buffer."""


def buffer_rows(program: LoopProgram, context: Context) -> LoopProgram:
    """Join a nest that computes an array's new values with the nest that stores them there.

    New values depend on old elements of rows before and after, so a row is written only when no
    later row reads its old elements any more. Until a row is written, its new values are in a
    buffer of rows. Threads share rows in blocks. Neighbouring blocks read the rows at the ends of a
    block, so the combine part writes these rows after all blocks have run. Results therefore do not
    depend on the number of threads. Decisions that depend on distances of reads and lengths of rows
    record guards in the scope.

    Needs: a legal loop program with a cost per step.
    Gives: a legal loop program.
    Keeps: every result, bit for bit.
    """
    if not program.updated:
        return program
    with bound(context.scope):
        joined = _Steps(program)
        for k in range(len(program.steps)):
            joined.join(k)
        return joined.program() if joined.dropped else program


class _Steps:
    """The steps of a program while pairs are joined; a step joined to another becomes None."""

    def __init__(self, program: LoopProgram) -> None:
        self.given = program
        self.steps: list[Nest | LibraryCall | None] = list(program.steps)
        self.costs = list(program.costs)
        self.accessed = [accessed(step) for step in program.steps]
        self.readers: dict[Storage, list[int]] = {}
        for k, (reads, _) in enumerate(self.accessed):
            for storage in reads:
                self.readers.setdefault(storage, []).append(k)
        self.numbers = AddedNumbers(program.numbers)
        self.partials = sum(len(s.partials) for s in program.steps if isinstance(s, Nest))
        seen = (*program.results, *(count.view for count in program.counts))
        self.seen = {view.storage for view in seen}
        self.dropped: set[Storage] = set()

    def join(self, k: int) -> None:
        """Join step k with the step that reads its temporaries, if that is possible."""
        first = self.steps[k]
        if not isinstance(first, Nest):
            return
        kept = self.temporaries(k)
        at = self.readers[next(iter(kept))][0] if kept else k
        second = self.steps[at]
        if not isinstance(second, Nest) or not self.may_move(k, at):
            return
        walks = plain_walk(first), plain_walk(second)
        if walks[0] is None or walks[1] is None:
            return
        pair = with_common_iterators(walks[0], walks[1], kept)
        nest = None if pair is None else self.nest(pair, kept)
        if pair is None or nest is None:
            return
        self.steps[k] = nest
        self.steps[at] = None
        self.costs[k] = _cost(self.costs[k], self.costs[at], kept)
        reads, writes = (self.accessed[k][n] | self.accessed[at][n] for n in range(2))
        self.accessed[k], self.accessed[at] = (reads - kept, writes - kept), (set(), set())
        self.dropped |= kept

    def nest(self, pair: tuple[PlainWalk, PlainWalk], kept: set[Storage]) -> Nest | None:
        """Both nests as one nest; None if a read is too far from the write of its element."""
        pairs = _pairs(*pair, kept)
        near = [each for each in pairs if not _disjoint(_distances_of(*each, pair[0].loops))]
        if all(_is_one_place(*each) for each in near):
            return joined_nest(pair, kept) if pairs else None
        rows = _rows(pair[0].loops, near)
        if rows is None:
            return None
        names = [f"p{self.partials + n}" for n in range(len(kept))]
        self.partials += len(kept)
        return _RowNest(rows, pair, kept, self.number, names).nest()

    def number(self, value: int) -> str:
        """The name of an integer constant."""
        return self.numbers.named(LengthNode(INT, dim(value)))

    def temporaries(self, k: int) -> set[Storage]:
        """The storages that only step k writes, once, and only the next reader of k reads."""
        reads, writes = self.accessed[k]
        fresh = {s for s in writes - reads - self.seen if s.role is ArrayRole.TEMPORARY}
        fresh = {s for s in fresh if s.name not in self.given.updated}
        alone = [s for s in fresh if len(self.readers.get(s, ())) == 1]
        at = min((self.readers[s][0] for s in alone), default=k)
        return {s for s in alone if self.readers[s][0] == at}

    def may_move(self, k: int, at: int) -> bool:
        """True if step `at` may run directly after step k, before the steps between these two."""
        reads, writes = self.accessed[at]
        for n in range(k + 1, at):
            before, made = self.accessed[n]
            called = isinstance(self.steps[n], LibraryCall)  # a library call may raise an error
            if called or writes & (before | made) or reads & made:
                return False
        return k < at

    def program(self) -> LoopProgram:
        """The program with one nest in place of each pair of nests that was joined."""
        left = [k for k, step in enumerate(self.steps) if step is not None]
        return self.given.replace(
            storages=tuple(s for s in self.given.storages if s not in self.dropped),
            numbers=tuple(self.numbers.every),
            steps=tuple(self.steps[k] for k in left),
            costs=tuple(self.costs[k] for k in left),
        )


def _rows(loops: Sequence[For], pairs: Sequence[tuple[Index, Index]]) -> Rows | None:
    """The rows of a nest, and the distances of reads; None if distances are too large or unknown.

    Rows are iterations of the outermost loop, or of a loop inside it if the outer loops read only
    elements that the same iteration writes and the rows of the inner loop are shorter.
    """
    best: Rows | None = None
    for level in range(len(loops)):
        known = [_distances_of(*pair, loops, level) for pair in pairs]
        near = [each for each in known if each is not None and not each.is_disjoint]
        rows = None if None in known else _rows_of_loop(loops, level, near)
        if rows is None or (best is not None and rows.cells >= best.cells):
            break
        best = rows
        if best.cells <= MAX_CACHED_ROW or any(each != ZERO for each in near):
            break
    return best if best is not None and best.cells <= MAX_ROW else None


def _disjoint(found: Distances | None) -> bool:
    return found is not None and found.is_disjoint


def _is_one_place(read: Index, written: Index) -> bool:
    """True if each iteration reads the element that it writes."""
    return read.offset is written.offset and dict(read.terms) == dict(written.terms)


def _rows_of_loop(loops: Sequence[For], level: int, near: Sequence[Distances]) -> Rows | None:
    """The rows formed by the iterations of one of the loops."""
    outer, inner = loops[level].extent, loops[level + 1 :]
    around, width = all_steps(loops[:level]), all_steps(inner)
    behind, ahead = 0, 0
    if inner:
        height = dim(1 if width * around >= MIN_ROW else ROWS_PER_GROUP)
        behind = max([0, *(-int(each.low) for each in near)])
        ahead = max([0, *(int(each.high) for each in near)])
    else:  # a row is at least as long as the distances of reads, which then reach only the next row
        height = dim(MIN_ROW)
        for each in near:
            height = max(height, each.high, -each.low)
            behind, ahead = behind | (each.low < 0), ahead | (each.high > 0)
    if max(behind, ahead) > MAX_DISTANCE or (height > MIN_ROW and height * MAX_DISTANCE > outer):
        return None
    count, slots = (outer + (height - 1)) // height, behind + ahead + 1
    size = smaller(MAX_BUFFERS * slots, outer // (height * MAX_BUFFERS) + MIN_BUFFERS * slots)
    return Rows(level, height, width, around, count, size, int(behind), int(ahead))


def _pairs(first: PlainWalk, second: PlainWalk, kept: set[Storage]) -> list[tuple[Index, Index]]:
    """Each pair of a read in the first nest and a write in the second nest of the same buffer."""
    reads, writes = first.reads, second.writes
    made = {store.buffer for store in first.writes} - kept
    used = {load.buffer for load in second.reads} | {store.buffer for store in writes}
    if made & used:
        return []
    return [(r.index, w.index) for r in reads for w in writes if r.buffer == w.buffer]


def _cost(first: Cost, second: Cost, kept: set[Storage]) -> Cost:
    """The cost of both steps, without the traffic that the buffer saves."""
    saved = sum((storage.size_bytes for storage in kept), dim(0))
    return Cost(
        first.bytes_read + second.bytes_read - saved,
        first.bytes_written + second.bytes_written - saved,
        first.flops + second.flops,
        first.temporary_bytes + second.temporary_bytes - saved,
        first.scratch_bytes + second.scratch_bytes,
        1,
    )


Terms = tuple[tuple[str, Dim], ...]
ONE: Final = dim(1)


class Rows(Record):
    """The division of loop number `level` of a nest into `count` rows of `height` iterations.

    An iteration has `width` elements in each iteration of the loops `around`. A block has `size`
    rows. A row is read in the computation of up to `behind` later rows, so the row is written after
    these. A row is also read in the computation of up to `ahead` earlier rows.
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
        """The number of rows in a buffer: a block's first rows, and rows not yet written."""
        return self.behind + self.ahead + 1

    @property
    def cells(self) -> Dim:
        """The number of elements of a row."""
        return self.around * self.height * self.width

    @property
    def blocks(self) -> Dim:
        """The number of blocks."""
        return (self.count + (self.size - 1)) // self.size


class _RowNest:
    """Writes two nests over the same iterators as one nest.

    The second nest loads, from buffers, the values that the first nest would store in `kept`
    storages. Each row is computed into the buffer of its block; then the row that is `behind` rows
    earlier is written. The first and the last rows of a block stay in the buffer until the combine
    part.

    Args:
        rows: the size and the number of rows.
        pair: the loops that compute rows, and the loops that write rows.
        kept: the storages that are replaced by buffers of a few rows.
        number: a function that returns the name of an integer constant of the program.
        names: one name for the buffer of each storage.
    """

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
        rows = self.rows
        made, slot = self.slot_statements()
        compute = (*made, *self.row_statements(self.pair[0], slot, self.row))
        late = self.written(rows.behind)
        if rows.slots > 1:
            after = self.within(rows.slots - 1, rows.size)
            late = (For(self.late, rows.count, "map", late, Block(self.row, 1), limits=(after,)),)
        each = For(self.row, rows.count, "map", (*compute, *late), Block(self.block, rows.size))
        main = (For(self.block, rows.blocks, "map", (each,)),)
        combine = (For(self.block, rows.blocks, "map", self.remaining_rows()),)
        return Nest(main, combine if rows.slots > 1 else (), tuple(self.buffers.values()))

    def remaining_rows(self) -> tuple[Stmt, ...]:
        """Write the first and the last rows of a block; the last block has fewer rows."""
        rows, found = self.rows, []
        of_block = Block(self.block, rows.size)
        if rows.ahead:
            early = self.row_statements(self.pair[1], self.slot(self.place(rows.cells)), self.late)
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
        """The limit with which a loop runs only for rows `low` to `high` - 1 of the block."""
        return Limit(self.place(ONE).terms, dim(low), high)

    def place(self, factor: Dim) -> Index:
        """The number of the written row in its block, times a factor, as an index."""
        return Index(dim(0), ((self.block, -self.rows.size * factor), (self.late, factor)))

    def slot(self, slot: Index) -> Index:
        """The position of a row in the buffers, given its position in the buffer of its block."""
        size = self.rows.cells * self.rows.slots
        return _sum(slot, Index(dim(0), ((self.block, size),)))

    def slot_statements(self) -> tuple[tuple[Stmt, ...], Index]:
        """Statements that compute a row's slot, and the slot; first rows have their own slots."""
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
        """Statements that write the row `before` rows earlier; first rows are written elsewhere."""
        rows = self.rows
        made: tuple[Stmt, ...] = ()
        slot = Index(rows.cells * rows.ahead, ())
        if rows.behind:
            turn = _sum(self.place(ONE), Index(dim(-before - rows.ahead), ()))
            turns = self.number(rows.behind + 1)
            made = Load("vback", POSITIONS, turn), _let("vheld", "remainder", "vback", turns)
            slot = slot.replace(terms=(("vheld", rows.cells),), gathered=("vheld",))
        return (*made, *self.row_statements(self.pair[1], self.slot(slot), self.late, before))

    def row_statements(
        self, walk: PlainWalk, slot: Index, row: str, before: int = 0
    ) -> tuple[Stmt, ...]:
        """The statements of the nest `walk` for one row, or for the row `before` rows earlier."""
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
        """The strides, in the buffer of a row, of the iterators around and inside the row."""
        step = self.rows.height * self.rows.width
        around = ((name, stride * step) for name, stride in row_major_terms(self.around))
        return *around, *row_major_terms(self.inner)

    def placed(self, stmt: Stmt, here: Index, kept: Index) -> Stmt:
        """The statement with the outer loop's iterator replaced by the index `here`."""
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
    return Let(name, INT, PRIMITIVES[primitive], (left, right))


def _sum(left: Index, right: Index) -> Index:
    """The sum of two indices; terms of values come before terms of iterators."""
    total: dict[str, Dim] = {}
    for name, factor in (*left.terms, *right.terms):
        total[name] = total.get(name, dim(0)) + factor
    terms = ((name, factor) for name, factor in total.items() if factor.constant != 0)
    values = {*left.gathered, *right.gathered}
    ordered = sorted(terms, key=lambda term: term[0] not in values)
    gathered = tuple(name for name, _ in ordered if name in values)
    return Index(left.offset + right.offset, tuple(ordered), gathered)


class Distances(Record):
    """Bounds of distances: iteration j reads elements of iterations j + low to j + high only."""

    low: Dim
    high: Dim

    @property
    def is_disjoint(self) -> bool:
        """True if no iteration reads an element that the loop writes."""
        return self.low > self.high


DISJOINT: Final = Distances(dim(1), dim(0))
ZERO: Final = Distances(dim(0), dim(0))


def _distances_of(
    read: Index, written: Index, loops: Sequence[For], level: int = 0
) -> Distances | None:
    """The distances of a read, in iterations of one of the loops; None if no bounds are known.

    The bounds are those for the lengths and strides of this call; guards for them are recorded in
    the ambient scope.

    Args:
        read: the index of the read.
        written: the index of the write, in the same buffer.
        loops: the loops around the read and the write, outermost first.
        level: the number of the loop; distances in iterations of outer loops are 0.
    """
    if read.gathered or written.gathered:
        return None
    low, high = _distance_range(read, written, loops[level + 1 :])
    name = loops[level].iterator
    pace, other = dict(written.terms).get(name, dim(0)), dict(read.terms).get(name, dim(0))
    if pace is not other:
        first, last = _spans(loops[level : level + 1], read, written)
        return DISJOINT if low + first > 0 or high + last < 0 else None
    if pace == 0:
        return None
    if pace < 0:
        low, high, pace = -high, -low, -pace
    if low is high:
        exact = exact_quotient(low, pace)
        if exact is not None:
            extent = loops[level].extent
            return DISJOINT if exact >= extent or exact <= -extent else Distances(exact, exact)
    value = current_scope().value
    least, most = -(-value(low) // value(pace)), value(high) // value(pace)
    if not (pace * (least - 1) < low and high < pace * (most + 1)):
        return None  # excluded by the guards
    return Distances(dim(least), dim(most))


def _distance_range(read: Index, written: Index, inner: Sequence[For]) -> tuple[Dim, Dim]:
    """The least and the largest distance between a read and a write in one outer iteration."""
    distance = read.offset - written.offset
    low, high = _spans(inner, read, written)
    return distance + low, distance + high


def _spans(loops: Sequence[For], read: Index, written: Index) -> tuple[Dim, Dim]:
    """The range of the distance between a read and a write over all iterations of some loops."""
    low, high = dim(0), dim(0)
    for index, sign in ((read, 1), (written, -1)):
        strides = dict(index.terms)
        for loop in loops:
            span = strides.get(loop.iterator, dim(0)) * (loop.extent - 1) * sign
            if span < 0:
                low += span
            else:
                high += span
    return low, high
