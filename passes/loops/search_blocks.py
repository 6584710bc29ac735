"""LoopProgram -> LoopProgram: the position of an extreme is found by searching one block."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import count
from typing import Final

import numpy as np

from axiomjit.base.dtypes import BOOL, INT, is_inexact
from axiomjit.base.records import Record
from axiomjit.graph.primitives import CAST, MIN, PRIMITIVES, WHERE
from axiomjit.graph.reductions import ArgReduceFold
from axiomjit.passes.ir.context import Context
from axiomjit.passes.ir.loop_ir import (
    Alloc,
    Block,
    Defining,
    Fold,
    For,
    If,
    Index,
    Let,
    Load,
    LoopProgram,
    Nest,
    ReadState,
    Select,
    State,
    Stmt,
    Store,
    cell,
    dtypes_of,
    map_nests,
    needed,
    outer_values,
    rewrite_body,
    walk,
)
from axiomjit.passes.ir.view_ir import POSITIONS, ArrayRole, Storage
from axiomjit.symbolic.data_dependent import HeuristicScope
from axiomjit.symbolic.dims import Dim, bound, dim

BLOCK: Final = 256
"""The number of elements of a block: large enough that going from block to block is cheap, and
small enough that searching one block is short compared with a row.
"""
PREFETCH_BYTES: Final = 2048
"""The number of bytes between a load and its prefetch. While a block is searched, the processor
does not prefetch later elements by itself.
"""
POSITION_DTYPE: Final = np.dtype(np.int32)
"""The dtype of positions in a block."""
MAX_TILE: Final = 1024
"""The largest number of elements of a block that is kept in a tile."""
MIN_ITERATIONS: Final = 64
"""The smallest number of iterations of a loop that this pass changes."""


def search_blocks(program: LoopProgram, context: Context) -> LoopProgram:
    """Fold only the extremes, block by block, and search the extreme's block for its position.

    Folding an extreme together with its position takes a comparison and two selections, each of
    which depends on the previous iteration, so the code would be scalar. With this pass, the
    innermost loop is vector code that folds the elements of a block; the extreme of the block is
    then one element of the fold, with the number of the block as position. At the end, the elements
    of the block with the extreme are computed again, and the first element that equals the extreme
    has the position. If elements depend on earlier iterations, they are stored in a tile, which is
    searched before the next block is computed. The pass does not change short loops, loops whose
    elements are overwritten, and states with lanes. Comparing the length of a loop records a guard
    in the scope.

    Needs: blocked nests.
    Gives: a legal loop program.
    Keeps: every result, bit for bit.
    """
    numbers = count()

    def searched(nest: Nest) -> Nest:
        tiles: list[Storage] = []

        def rule(stmt: Stmt) -> tuple[Stmt, ...]:
            return _searched(stmt, tiles, numbers) if isinstance(stmt, For) else (stmt,)

        body = rewrite_body(nest.body, rule)
        tiled = (*nest.tiles, *tiles)
        return nest if body == nest.body else nest.replace(body=body, tiles=tiled)

    with bound(HeuristicScope(context.scope)):
        return map_nests(program, searched)


def _searched(loop: For, tiles: list[Storage], numbers: Iterator[int]) -> tuple[Stmt, ...]:
    """The loops and statements that search for the positions of a loop, or the unchanged loop."""
    if loop.kind != "fold" or loop.limits or any(isinstance(s, For | If) for s in loop.body):
        return (loop,)
    searches = _searches(loop, numbers)
    if not searches:
        return (loop,)
    repeats = all(search.repeats for search in searches)
    if not (_is_cut(loop) if repeats else _is_tiled(loop)) or loop.extent < MIN_ITERATIONS:
        return (loop,)
    return _searched_at_end(loop, searches) if repeats else _searched_at_once(loop, searches, tiles)


def _searched_at_once(
    loop: For, searches: Sequence[_Search], tiles: list[Storage]
) -> tuple[Stmt, ...]:
    """A loop over a block that stores its elements in tiles, and loops that search the tiles."""
    assert loop.block is not None
    here, size = cell(loop.iterator, loop.block), dim(loop.block.size)
    own = {search.block for search in searches}
    body = _without_places(loop.body, searches)
    body = tuple(s for s in body if not isinstance(s, Fold) or s.state not in own)
    filled: dict[str, Storage] = {}
    result: list[Stmt] = []
    for search in searches:
        element, dtype, best = search.fold.values[0], search.block.dtype, f"{search.name}v"
        if element not in filled:
            role = ArrayRole.TILE
            filled[element] = Storage(f"{search.name}x", role, dtype, (size,), (dim(1),))
        load = Load(element, filled[element], here)
        again = loop.replace(body=(load, Fold(search.block, (element,))))
        result += [Alloc(search.block), again, ReadState(best, search.block)]
        result += search.replace(body=(load,)).search(again, best)
    tiles += filled.values()
    stores = tuple(Store(tile, here, element) for element, tile in filled.items())
    return loop.replace(body=(*body, *stores)), *result


def _searched_at_end(loop: For, searches: Sequence[_Search]) -> tuple[Stmt, ...]:
    """Loops over blocks, and for each position a search of the block that has the extreme."""
    body = rewrite_body(_without_places(loop.body, searches), lambda s: (_with_prefetch(s, loop),))
    plain = loop.replace(body=body)
    blocks, inside = f"{loop.iterator}r", loop.block
    within = None if inside is None else Block(inside.outer, dim(inside.size) // BLOCK)
    outer = For(blocks, (loop.extent + (BLOCK - 1)) // BLOCK, "fold", (), within)
    inner = plain.replace(block=Block(blocks, BLOCK))
    number = Index(dim(0), ((blocks, dim(1)),))
    steps: list[Stmt] = [*(Alloc(s.block) for s in searches), inner]
    for each in searches:
        steps += [ReadState(f"{each.name}v", each.block), Load(f"{each.name}n", POSITIONS, number)]
        steps.append(Fold(each.blocks, (f"{each.name}v", f"{each.name}n")))
    result: list[Stmt] = [*(Alloc(s.blocks) for s in searches), outer.replace(body=tuple(steps))]
    for each in searches:
        best, won = f"{each.name}v", f"{each.name}n"
        found = each.search(inner, best)
        result += [ReadState(best, each.blocks), ReadState(won, each.blocks, 1)]
        result.append(For(blocks, outer.extent, "fold", found, at=won))
    return tuple(result)


def _with_prefetch(stmt: Stmt, loop: For) -> Stmt:
    """The statement; a load with unit stride also prefetches data for the time after the search."""
    if not isinstance(stmt, Load) or stmt.buffer is POSITIONS:
        return stmt
    if dict(stmt.index.terms).get(loop.iterator, dim(0)).constant != 1:
        return stmt
    return stmt.replace(prefetch=dim(PREFETCH_BYTES // stmt.buffer.dtype.itemsize))


def _is_cut(loop: For) -> bool:
    """True if this pass may cut a loop: it has no block, or its block is a multiple of BLOCK."""
    if loop.block is None:
        return True
    size = dim(loop.block.size).constant
    return size is not None and size > BLOCK and size % BLOCK == 0


def _is_tiled(loop: For) -> bool:
    """True if a loop runs over all of a block whose elements fit in a tile."""
    if loop.block is None or loop.block.unroll > 1 or loop.span is not None or loop.at is not None:
        return False
    size = dim(loop.block.size).constant
    parts = any(isinstance(s, Select) for s in loop.body)  # loops with selects are split
    return not parts and size is not None and size <= MAX_TILE


def _searches(loop: For, numbers: Iterator[int]) -> list[_Search]:
    """The searches for the positions that a loop folds; empty if some search is impossible."""
    made = {s.name: s for s in loop.body if isinstance(s, Defining)}
    written = {s.buffer for s in loop.body if isinstance(s, Store)}
    searches = []
    for stmt in loop.body:
        if not isinstance(stmt, Fold) or not isinstance(stmt.state.accumulator, ArgReduceFold):
            continue
        place = made.get(stmt.values[1])
        index = place.index if isinstance(place, Load) and place.buffer is POSITIONS else None
        step = None if index is None else dict(index.terms).get(loop.iterator)
        body = needed(loop.body, stmt.values[0])
        every = walk(body)
        if any(isinstance(s, Load) and s.buffer in written for s in every):
            return []
        repeats = not any(isinstance(s, ReadState) for s in every)
        stored = dtypes_of(body).get(stmt.values[0]) == stmt.state.parts[0]
        if stmt.state.lanes is not None or not (repeats or stored):
            return []
        if index is None or step is None or not step > 0:
            return []
        searches.append(_Search(f"f{next(numbers)}", stmt, body, index, step, repeats))
    return searches


def _without_places(body: tuple[Stmt, ...], searches: Sequence[_Search]) -> tuple[Stmt, ...]:
    """The statements, with folds of extremes alone in place of folds of extremes with positions."""
    folds = {search.fold: search for search in searches}
    result: list[Stmt] = []
    for stmt in body:
        search = folds.get(stmt) if isinstance(stmt, Fold) else None
        result.append(stmt if search is None else Fold(search.block, search.fold.values[:1]))
    places = {search.fold.values[1] for search in searches}
    places = places.difference(*map(outer_values, result))
    return tuple(s for s in result if not isinstance(s, Load) or s.name not in places)


class _Search(Record):
    """A search for the position of a minimum or maximum.

    `body` computes the element at `place`; each iteration of the loop moves the place by `step`. If
    `repeats` is True, the element may be computed again after the loop.
    """

    name: str
    fold: Fold
    body: tuple[Stmt, ...]
    place: Index
    step: Dim
    repeats: bool

    @property
    def block(self) -> State:
        """The state of a block's extreme; the value is only compared, so zeros need no sign."""
        rule = self.fold.state.accumulator
        assert isinstance(rule, ArgReduceFold)
        return State(f"{self.name}b", rule.extreme, rule.dtype, signs=False)

    @property
    def blocks(self) -> State:
        """The state of the extreme of all blocks, with the number of its block."""
        return self.fold.state.replace(name=f"{self.name}s")

    def search(self, loop: For, best: str) -> tuple[Stmt, ...]:
        """Statements that search a block for an element, and fold the element with its position."""
        assert loop.block is not None
        size, dtype = dim(loop.block.size), self.block.dtype
        here, found = cell(loop.iterator, loop.block), State(f"{self.name}p", MIN, POSITION_DTYPE)
        element = self.fold.values[0]
        equal, missing, hit, long, short, nowhere, candidate, nearest, steps, start, place = (
            f"{self.name}{letter}" for letter in "eihcdowgmjq"
        )
        test = [Let(equal, BOOL, PRIMITIVES["equal"], (element, best))]
        if is_inexact(dtype):
            test.append(Let(missing, BOOL, PRIMITIVES["isnan"], (element,)))
            test.append(Let(hit, BOOL, PRIMITIVES["logical_or"], (equal, missing)))
        else:
            hit = equal
        body = (
            *self.body,
            *test,
            Load(long, POSITIONS, here),
            Let(short, POSITION_DTYPE, CAST, (long,)),
            Let(candidate, POSITION_DTYPE, WHERE, (hit, short, nowhere)),
            Fold(found, (candidate,)),
        )
        scaled = list[Stmt]()
        if self.step.constant == 1:
            steps = nearest
        else:
            scaled.append(Load(f"{self.name}k", POSITIONS, Index(self.step, ())))
            factors = (nearest, f"{self.name}k")
            scaled.append(Let(steps, INT, PRIMITIVES["multiply"], factors))
        terms = dict(self.place.terms) | {loop.block.outer: self.step * size}
        del terms[loop.iterator]
        return (
            Load(f"{self.name}l", POSITIONS, Index(size, ())),
            Let(nowhere, POSITION_DTYPE, CAST, (f"{self.name}l",)),
            Alloc(found),
            loop.replace(body=body),
            ReadState(f"{self.name}f", found),
            Let(nearest, INT, CAST, (f"{self.name}f",)),
            *scaled,
            Load(start, POSITIONS, self.place.replace(terms=tuple(terms.items()))),
            Let(place, INT, PRIMITIVES["add"], (start, steps)),
            Fold(self.fold.state, (best, place)),
        )
