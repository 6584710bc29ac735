"""LoopProgram -> LoopProgram: rows are written some rows later, where their readers are behind."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from axiomjit.base.dtypes import INT
from axiomjit.graph.nodes import LengthNode
from axiomjit.passes.ir.accesses import accessed
from axiomjit.passes.ir.added_numbers import AddedNumbers
from axiomjit.passes.ir.context import Context
from axiomjit.passes.ir.cost import Cost
from axiomjit.passes.ir.loop_ir import (
    For,
    Index,
    LibraryCall,
    LoopProgram,
    Nest,
)
from axiomjit.passes.ir.loop_orders import all_steps
from axiomjit.passes.ir.plain_walks import PlainWalk, in_one_nest, in_one_walk, plain_walk
from axiomjit.passes.ir.row_distances import ZERO, Distances, distances_of
from axiomjit.passes.ir.row_nests import Rows, row_nest
from axiomjit.passes.ir.view_ir import ArrayRole, Storage
from axiomjit.symbolic.dims import bound, dim, smaller

ROW: Final = 512
"""Elements of a row, at least; shorter ones are taken together."""
TOGETHER: Final = 16
"""How many short rows are taken as one."""
LARGEST: Final = 1 << 20
"""Elements of a row, at most: larger ones leave the cache before they are written."""
FAR: Final = 16
"""Rows that may lie between a read and a write; a copy costs less than a larger buffer."""
LONG: Final = 1 << 16
"""Elements of a row that stay in the second-level cache, with the rows that wait."""
SHARE: Final = 16
"""A block has up to so many times the rows of its buffer; of few rows there are so many blocks."""
LEAST: Final = 3
"""A block has so many times the rows of its buffer, at least."""


def buffer_rows(program: LoopProgram, context: Context) -> LoopProgram:
    """Join a nest that computes new values beside an array with the nest that writes them there.

    The values depend on old elements of the array some rows before and behind, so a row is written
    when no later row reads it: until then its new values wait in a buffer of rows. Rows are shared
    out in blocks. Rows at the ends of a block are read by its neighbours; these are
    written by the combine part, when all blocks have run. So results do not depend on threads.
    Which rows are read, and how long they are, leaves guards in the scope.

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
    """The steps of a program while some of them are joined; what is joined to another is None."""

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
        """Join step k with the one that reads its temporaries, if that is possible."""
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
        pair = in_one_walk(walks[0], walks[1], kept)
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
        """Both walks as one, None where one reads what the other writes far away."""
        pairs = _pairs(*pair, kept)
        near = [each for each in pairs if not _apart(distances_of(*each, pair[0].loops))]
        if all(_is_one_place(*each) for each in near):
            return in_one_nest(pair, kept) if pairs else None
        rows = _rows(pair[0].loops, near)
        if rows is None:
            return None
        names = [f"p{self.partials + n}" for n in range(len(kept))]
        self.partials += len(kept)
        return row_nest(rows, pair, kept, self.number, names)

    def number(self, value: int) -> str:
        """The name of a whole number."""
        return self.numbers.named(LengthNode(INT, dim(value)))

    def temporaries(self, k: int) -> set[Storage]:
        """What only step k writes, each once, and only one later step reads."""
        reads, writes = self.accessed[k]
        fresh = {s for s in writes - reads - self.seen if s.role is ArrayRole.TEMPORARY}
        fresh = {s for s in fresh if s.name not in self.given.updated}
        alone = [s for s in fresh if len(self.readers.get(s, ())) == 1]
        at = min((self.readers[s][0] for s in alone), default=k)
        return {s for s in alone if self.readers[s][0] == at}

    def may_move(self, k: int, at: int) -> bool:
        """Whether a step may run before the steps between step k and itself."""
        reads, writes = self.accessed[at]
        for n in range(k + 1, at):
            before, made = self.accessed[n]
            called = isinstance(self.steps[n], LibraryCall)  # it may fail
            if called or writes & (before | made) or reads & made:
                return False
        return k < at

    def program(self) -> LoopProgram:
        """The program of the steps as they are now."""
        left = [k for k, step in enumerate(self.steps) if step is not None]
        return self.given.replace(
            storages=tuple(s for s in self.given.storages if s not in self.dropped),
            numbers=tuple(self.numbers.every),
            steps=tuple(self.steps[k] for k in left),
            costs=tuple(self.costs[k] for k in left),
        )


def _rows(loops: Sequence[For], pairs: Sequence[tuple[Index, Index]]) -> Rows | None:
    """What a row is, and how far away rows are read; None where that is too far, or not known.

    Rows are steps of the outermost loop, or of a loop inside it where each step reads what is
    written in the same step of the outer ones, if those rows are shorter.
    """
    best: Rows | None = None
    for level in range(len(loops)):
        known = [distances_of(*pair, loops, level) for pair in pairs]
        near = [each for each in known if each is not None and not each.is_apart]
        rows = None if None in known else _cut(loops, level, near)
        if rows is None or (best is not None and rows.cells >= best.cells):
            break
        best = rows
        if best.cells <= LONG or any(each != ZERO for each in near):
            break
    return best if best is not None and best.cells <= LARGEST else None


def _apart(found: Distances | None) -> bool:
    return found is not None and found.is_apart


def _is_one_place(read: Index, written: Index) -> bool:
    """Whether each step reads what it writes."""
    return read.offset is written.offset and dict(read.terms) == dict(written.terms)


def _cut(loops: Sequence[For], level: int, near: Sequence[Distances]) -> Rows | None:
    """The rows of one of the loops."""
    outer, inner = loops[level].extent, loops[level + 1 :]
    around, width = all_steps(loops[:level]), all_steps(inner)
    behind, ahead = 0, 0
    if inner:
        height = dim(1 if width * around >= ROW else TOGETHER)
        behind = max([0, *(-int(each.low) for each in near)])
        ahead = max([0, *(int(each.high) for each in near)])
    else:  # a row is as long as reads are far, so that they are in the next one
        height = dim(ROW)
        for each in near:
            height = max(height, each.high, -each.low)
            behind, ahead = behind | (each.low < 0), ahead | (each.high > 0)
    if max(behind, ahead) > FAR or (height > ROW and height * FAR > outer):
        return None
    count, slots = (outer + (height - 1)) // height, behind + ahead + 1
    size = smaller(SHARE * slots, outer // (height * SHARE) + LEAST * slots)
    return Rows(level, height, width, around, count, size, int(behind), int(ahead))


def _pairs(first: PlainWalk, second: PlainWalk, kept: set[Storage]) -> list[tuple[Index, Index]]:
    """What the first reads and the second writes in the same buffer; nothing if they stay apart."""
    reads, writes = first.reads, second.writes
    made = {store.buffer for store in first.writes} - kept
    used = {load.buffer for load in second.reads} | {store.buffer for store in writes}
    if made & used:
        return []
    return [(r.index, w.index) for r in reads for w in writes if r.buffer == w.buffer]


def _cost(first: Cost, second: Cost, kept: set[Storage]) -> Cost:
    """The cost of both, without what the buffer keeps in the cache."""
    saved = sum((storage.size_bytes for storage in kept), dim(0))
    return Cost(
        first.bytes_read + second.bytes_read - saved,
        first.bytes_written + second.bytes_written - saved,
        first.flops + second.flops,
        first.temporary_bytes + second.temporary_bytes - saved,
        first.scratch_bytes + second.scratch_bytes,
        1,
    )
