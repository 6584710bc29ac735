"""LoopProgram -> LoopProgram: blocks of long scans may run in any order, and in parallel."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import count
from typing import Final

from axiomjit.base.dtypes import is_inexact
from axiomjit.base.records import Record
from axiomjit.graph.reductions import StateFold
from axiomjit.passes.ir.context import Context
from axiomjit.passes.ir.loop_ir import (
    Alloc,
    Cost,
    Fold,
    For,
    If,
    Index,
    Let,
    Limit,
    Load,
    LoopProgram,
    Nest,
    ReadState,
    Select,
    State,
    Stmt,
    Store,
    outer_values,
    rewrite_body,
    walk,
)
from axiomjit.passes.ir.rewriting import all_steps, nested, replace_nests, row_major_terms
from axiomjit.passes.ir.view_ir import ArrayRole, Storage
from axiomjit.passes.loops.estimate_cost import estimate_cost
from axiomjit.symbolic.data_dependent import HeuristicScope
from axiomjit.symbolic.dims import bound, dim

MIN_ELEMENTS: Final = 1 << 18
"""The smallest number of elements of a scan that is split; with fewer, one thread is about as
fast.
"""
MIN_UNSPLIT_ROWS: Final = 64
"""The smallest number of rows with which scans are not split, because threads take whole rows."""


def split_scans(program: LoopProgram, context: Context) -> LoopProgram:
    """Add a prepass that computes the state at the end of each block to long scans of few rows.

    A block of a scan needs the state at the end of the previous block. The prepass folds each block
    separately, and the combine part of the prepass combines these states block after block. Threads
    share the prepass and the scan, but not the combine part. The scan becomes a loop over blocks
    that loads the state before a block and stores the state after it. So one thread can run the
    blocks in order without the prepass. The prepass runs only if threads share the blocks of a row.
    With and without the prepass, the same states are combined in the same order, so results have
    the same bits.

    Scans that depend on other states, and scans in a nest with other folds, are not changed.
    Comparisons of lengths record guards in the scope.

    Needs: blocked nests with their costs; commutative folds have lanes.
    Gives: a legal loop program.
    Keeps: every result, bit for bit.
    """
    numbers, known = count(), frozenset(number.name for number in program.numbers)

    def split(nest: Nest, cost: Cost) -> list[tuple[Nest, Cost]] | None:
        scan = _scan_in(nest, known)
        if scan is None:
            return None
        partials = scan.partials(numbers)
        alone = program.replace(steps=(Nest(scan.unblocked()),))
        (own,) = estimate_cost(alone, context).costs
        waits = cost.bytes_written if scan.is_sequential else 0
        first = scan.prepass(partials), own.replace(flops=own.flops + waits)
        return [first, (scan.chained(partials), cost)]

    with bound(HeuristicScope(context.scope)):
        return replace_nests(program, split)


def _scan_in(nest: Nest, known: frozenset[str]) -> _Scan | None:
    """The scan in a nest, if the nest has no other work and the scan is long and has few rows.

    `known` holds the names of the program's numbers.
    """
    if nest.partials or nest.combine:
        return None
    loops: list[For] = []
    body = nest.body
    while len(body) == 1 and isinstance(body[0], For) and body[0].kind == "map":
        loops.append(body[0].replace(body=()))
        body = body[0].body
    *opened, blocks = body if body else (None,)
    if not isinstance(blocks, For) or not all(isinstance(s, Alloc) for s in opened):
        return None
    inside = [s for s in blocks.body if isinstance(s, For) and s.block is not None]
    own = [s for s in inside if s.block is not None and s.block.outer == blocks.iterator]
    states = tuple(s.state for s in opened if isinstance(s, Alloc))
    named = {s.state.name: s.state for s in blocks.body if isinstance(s, Alloc)}
    if len(own) != 1 or {f"{s.name}b" for s in states} != {*named} or not states:
        return None
    pairs = tuple((state, named[f"{state.name}b"]) for state in states)
    scan = _Scan(tuple(loops), blocks, own[0], pairs, known)
    return scan if scan.is_plain and scan.is_long else None


class _Scan(Record):
    """A scan: its loops over rows, blocks and elements, and its states with the states of blocks.

    `known` are the names of scalars that are computed outside the nest.
    """

    loops: tuple[For, ...]
    blocks: For
    within: For
    states: tuple[tuple[State, State], ...]
    known: frozenset[str]

    @property
    def lanes(self) -> For | None:
        """The loop over lanes of tiles."""
        name = self.states[0][0].lanes
        loops = (s for s in walk(self.blocks.body) if isinstance(s, For))
        return next((s for s in loops if s.iterator == name), None)

    @property
    def is_plain(self) -> bool:
        """True if each state is read after each element, and no state depends on another one."""
        folded = {s.state for s in walk((self.blocks,)) if isinstance(s, Fold)}
        taken = {s.state for s in walk((self.within,)) if isinstance(s, ReadState) and s.including}
        return (
            folded == {state for pair in self.states for state in pair}
            and taken == {state for state, _ in self.states}
            and self.folded() is not None
        )

    @property
    def is_long(self) -> bool:
        """True if splitting pays for the current lengths; a loop over tiles needs one iteration."""
        if self.within.extent < MIN_ELEMENTS:
            return False
        if not self.loops:
            return True
        first = self.loops[0]
        return first.extent <= 1 if self._is_over_tiles(first) else first.extent < MIN_UNSPLIT_ROWS

    @property
    def is_sequential(self) -> bool:
        """True if each iteration of a fold waits for the previous one, as in the scan itself.

        The result is False for integers and extremes, which are folded in vectors.
        """
        sums = (s for s, _ in self.states if s.accumulator.blocked and s.lanes is None)
        return any(isinstance(s.accumulator, StateFold) or is_inexact(s.dtype) for s in sums)

    def _is_over_tiles(self, loop: For) -> bool:
        lanes = self.lanes
        return lanes is not None and lanes.block is not None and lanes.block.outer == loop.iterator

    def rows(self) -> tuple[For, ...]:
        """The loops over rows and lanes; each row in each lane has its own state."""
        lanes = self.lanes
        rows = [loop for loop in self.loops if not self._is_over_tiles(loop)]
        return (*rows, *([] if lanes is None else [lanes]))

    def partials(self, numbers: Iterator[int]) -> tuple[Storage, ...]:
        """Buffers for the values of the states at the end of each block."""
        cells = all_steps((self.blocks, *self.rows()))
        parts = [dtype for state, _ in self.states for dtype in state.parts]
        return tuple(
            Storage(f"q{next(numbers)}", ArrayRole.PARTIAL, dtype, (cells,), (dim(1),))
            for dtype in parts
        )

    def _place(self, before: int = 0) -> Index:
        """The index, in partials, of this block or of the block `before` blocks earlier."""
        rows = self.rows()
        terms = ((self.blocks.iterator, all_steps(rows)), *row_major_terms(rows))
        return Index(all_steps(rows) * -before, terms)

    def _in_lanes(self, body: Sequence[Stmt]) -> tuple[Stmt, ...]:
        """The statements inside a loop over the lanes; without lanes, the statements alone."""
        lanes = self.lanes
        return tuple(body) if lanes is None else (lanes.replace(body=tuple(body)),)

    def _stored(self, states: Sequence[State], partials: Sequence[Storage]) -> Iterator[Stmt]:
        """Store the values of the states in the partials, at the place of this block."""
        each = iter(partials)
        for state in states:
            for part in range(len(state.parts)):
                name = f"{state.name}d{part}"
                yield ReadState(name, state, part)
                yield Store(next(each), self._place(), name)

    def _loaded(
        self, states: Sequence[State], partials: Sequence[Storage], before: int
    ) -> Iterator[Stmt]:
        """Combine the stored states of this block into the states that the loops fold.

        If `before` is not 0, set the states to the states that the block `before` blocks earlier
        has stored.
        """
        each = iter(partials)
        for state in states:
            names = tuple(f"{state.name}r{part}" for part in range(len(state.parts)))
            yield from (Load(name, next(each), self._place(before)) for name in names)
            yield Fold(state, names, kept=bool(before))

    def folded(self) -> tuple[Stmt, ...] | None:
        """The folds in a block, and the statements they need; None if other values are needed."""
        wanted: set[str] = set()
        found = _needed((self.within,), {state for _, state in self.states}, wanted)
        found = rewrite_body(found, _read_after)
        return found if found and wanted <= self.known else None

    def _over_blocks(self, body: Sequence[Stmt]) -> tuple[Stmt, ...]:
        """Loops over rows and blocks around statements; a unit of the grid is a block."""
        rows = bool(self.loops) and not self._is_over_tiles(self.loops[0])
        inner = nested(self.loops[int(rows) :], tuple(body))
        under = self.loops[0].iterator if rows else None
        inner = (self.blocks.replace(kind="map", body=inner, under=under),)
        return (self.loops[0].replace(body=inner),) if rows else inner

    def prepass(self, partials: Sequence[Storage]) -> Nest:
        """The nest that folds each block; the combine part joins the states block after block."""
        within = self.folded()
        assert within is not None
        own = [state for _, state in self.states]
        stored = self._in_lanes([*self._stored(own, partials)])
        body = self._over_blocks([*(Alloc(state) for state in own), *within, *stored])
        single = [s.replace(name=f"{s.name}c", lanes=None, cells=1) for s, _ in self.states]
        step = [*self._loaded(single, partials, 0), *self._stored(single, partials)]
        combine: tuple[Stmt, ...] = (
            *(Alloc(state) for state in single),
            self.blocks.replace(body=tuple(step)),
        )
        rows = [loop.replace(block=None, kind="map") for loop in self.rows()]
        return Nest(body, nested(rows, combine), tuple(partials), prepass=True)

    def chained(self, partials: Sequence[Storage]) -> Nest:
        """The nest of the scan, in which each block starts with the state of the previous block."""
        states = [state for state, _ in self.states]
        later = Limit(((self.blocks.iterator, dim(1)),), dim(1), self.blocks.extent)
        loaded = self._in_lanes([*self._loaded(states, partials, 1)])
        stored = self._in_lanes([*self._stored(states, partials)])
        opened = [Alloc(state) for state in states]
        body = [*opened, If((later,), loaded), *self.blocks.body, *stored]
        chain = self.blocks.extent
        return Nest(self._over_blocks(body), (), tuple(partials), chunk_chain=chain)

    def unblocked(self) -> tuple[Stmt, ...]:
        """The statements of the prepass, with loops over all elements in place of blocks."""

        def whole(stmt: Stmt) -> tuple[Stmt, ...]:
            return (stmt.replace(block=None),) if isinstance(stmt, For) else (stmt,)

        loops = [loop for loop in self.loops if not self._is_over_tiles(loop)]
        return nested(loops, rewrite_body(self.folded() or (), whole))


def _read_after(stmt: Stmt) -> tuple[Stmt, ...]:
    """The fold with a read of its state after each element, which fixes the order of elements."""
    if not isinstance(stmt, Fold):
        return (stmt,)
    return stmt, ReadState(f"{stmt.state.name}t", stmt.state)


def _needed(body: tuple[Stmt, ...], states: set[State], wanted: set[str]) -> tuple[Stmt, ...]:
    """The statements that fold into the states or compute the folded values.

    `wanted` are values that later statements use; the function adds values that these statements
    use and do not compute.
    """
    found: list[Stmt] = []
    for stmt in reversed(body):
        if isinstance(stmt, For | If):
            inner = _needed(stmt.body, states, wanted)
            if inner:
                found.append(stmt.replace(body=inner))
        elif isinstance(stmt, Fold) and stmt.state in states:
            wanted.update(stmt.values)
            found.append(stmt)
        elif isinstance(stmt, Let | Load | Select) and stmt.name in wanted:
            wanted.discard(stmt.name)
            wanted |= outer_values(stmt)
            found.append(stmt)
    return tuple(reversed(found))
