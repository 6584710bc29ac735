"""LoopProgram -> LoopProgram: blocks of long scans may run in any order, and in threads."""

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
from axiomjit.passes.ir.rewriting import all_steps, counted_steps, nested, replace_nests
from axiomjit.passes.ir.view_ir import ArrayRole, Storage
from axiomjit.passes.loops.estimate_cost import estimate_cost
from axiomjit.symbolic.data_dependent import HeuristicScope
from axiomjit.symbolic.dims import bound, dim

LONG: Final = 1 << 18
"""Fewest elements of a scan that is split: below, one thread is about as fast."""
ROWS: Final = 64
"""Fewest rows whose scans are not split: threads take whole rows."""


def split_scans(program: LoopProgram, context: Context) -> LoopProgram:
    """Add, before long scans of few rows, a prepass that finds the state at the end of each block.

    A block of a scan needs the state before it. The prepass folds each block by itself, as the scan
    does, and its combine part goes from block to block: three phases, of which threads share the
    first and the last. The scan becomes a loop over blocks that loads the state before a block and
    stores the state after it. So one thread may run the blocks in order without the prepass, which
    runs only if threads share the blocks of a row. Both ways combine the same states in the same
    order: results have the same bits.

    Scans that need other states, and scans beside other folds, are not changed. Lengths leave
    guards in the scope.

    Needs: blocked nests with their costs; folds that commute are in lanes already.
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
        waits = cost.bytes_written if scan.waits else 0
        first = scan.prepass(partials), own.replace(flops=own.flops + waits)
        return [first, (scan.chained(partials), cost)]

    with bound(HeuristicScope(context.scope)):
        return replace_nests(program, split)


def _scan_in(nest: Nest, known: frozenset[str]) -> _Scan | None:
    """The scan of a nest, if it is nothing else, long, and of few rows; else None.

    `known` are the names of numbers.
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
    """Loops over rows, over blocks, and within a block; each state with its block's state.

    `known` are names of scalars that are no values of the nest.
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
        """True if all states are read after each element, and none of them needs another one."""
        folded = {s.state for s in walk((self.blocks,)) if isinstance(s, Fold)}
        taken = {s.state for s in walk((self.within,)) if isinstance(s, ReadState) and s.including}
        return (
            folded == {state for pair in self.states for state in pair}
            and taken == {state for state, _ in self.states}
            and self.folded() is not None
        )

    @property
    def is_long(self) -> bool:
        """True if splitting pays for the current lengths; a loop over tiles has one iteration."""
        if self.within.extent < LONG:
            return False
        if not self.loops:
            return True
        first = self.loops[0]
        return first.extent <= 1 if self._is_over_tiles(first) else first.extent < ROWS

    @property
    def waits(self) -> bool:
        """True if each iteration of a fold waits for the last: folding is as slow as scanning.

        Integers and extremes are folded in vectors.
        """
        sums = (s for s, _ in self.states if s.accumulator.blocked and s.lanes is None)
        return any(isinstance(s.accumulator, StateFold) or is_inexact(s.dtype) for s in sums)

    def _is_over_tiles(self, loop: For) -> bool:
        lanes = self.lanes
        return lanes is not None and lanes.block is not None and lanes.block.outer == loop.iterator

    def rows(self) -> tuple[For, ...]:
        """The loops over rows, which have a state each, lanes included."""
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
        """The index of a block's cell, or of the cell `before` blocks earlier."""
        rows = self.rows()
        terms = ((self.blocks.iterator, all_steps(rows)), *counted_steps(rows))
        return Index(all_steps(rows) * -before, terms)

    def _in_lanes(self, body: Sequence[Stmt]) -> tuple[Stmt, ...]:
        """Statements in a loop over the lanes, if there are lanes."""
        lanes = self.lanes
        return tuple(body) if lanes is None else (lanes.replace(body=tuple(body)),)

    def _stored(self, states: Sequence[State], partials: Sequence[Storage]) -> Iterator[Stmt]:
        """Store the values of states in the cell of the block."""
        each = iter(partials)
        for state in states:
            for part in range(len(state.parts)):
                name = f"{state.name}d{part}"
                yield ReadState(name, state, part)
                yield Store(next(each), self._place(), name)

    def _loaded(
        self, states: Sequence[State], partials: Sequence[Storage], before: int
    ) -> Iterator[Stmt]:
        """Combine the values of a block's cell into states, or set them from the block before."""
        each = iter(partials)
        for state in states:
            names = tuple(f"{state.name}r{part}" for part in range(len(state.parts)))
            yield from (Load(name, next(each), self._place(before)) for name in names)
            yield Fold(state, names, kept=bool(before))

    def folded(self) -> tuple[Stmt, ...] | None:
        """The statements and folds of the loop within a block; None if they need other states."""
        wanted: set[str] = set()
        found = _needed((self.within,), {state for _, state in self.states}, wanted)
        found = rewrite_body(found, _read_after)
        return found if found and wanted <= self.known else None

    def _over_blocks(self, body: Sequence[Stmt]) -> tuple[Stmt, ...]:
        """Statements for each block of each row; a unit of the grid is a block."""
        rows = bool(self.loops) and not self._is_over_tiles(self.loops[0])
        inner = nested(self.loops[int(rows) :], tuple(body))
        under = self.loops[0].iterator if rows else None
        inner = (self.blocks.replace(kind="map", body=inner, under=under),)
        return (self.loops[0].replace(body=inner),) if rows else inner

    def prepass(self, partials: Sequence[Storage]) -> Nest:
        """The nest that folds each block; its combine part goes from block to block."""
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
        """The scan, block after block, from the state that the block before has stored."""
        states = [state for state, _ in self.states]
        later = Limit(((self.blocks.iterator, dim(1)),), dim(1), self.blocks.extent)
        loaded = self._in_lanes([*self._loaded(states, partials, 1)])
        stored = self._in_lanes([*self._stored(states, partials)])
        opened = [Alloc(state) for state in states]
        body = [*opened, If((later,), loaded), *self.blocks.body, *stored]
        chain = self.blocks.extent
        return Nest(self._over_blocks(body), (), tuple(partials), chunk_chain=chain)

    def unblocked(self) -> tuple[Stmt, ...]:
        """The statements of the prepass, in loops without blocks."""

        def whole(stmt: Stmt) -> tuple[Stmt, ...]:
            return (stmt.replace(block=None),) if isinstance(stmt, For) else (stmt,)

        loops = [loop for loop in self.loops if not self._is_over_tiles(loop)]
        return nested(loops, rewrite_body(self.folded() or (), whole))


def _read_after(stmt: Stmt) -> tuple[Stmt, ...]:
    """A fold whose state is read after each element, so that it keeps the order of the scan."""
    if not isinstance(stmt, Fold):
        return (stmt,)
    return stmt, ReadState(f"{stmt.state.name}t", stmt.state)


def _needed(body: tuple[Stmt, ...], states: set[State], wanted: set[str]) -> tuple[Stmt, ...]:
    """The statements that fold into states, and those that compute the folded values.

    `wanted` are values that later statements use, or that were used here but not computed.
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
