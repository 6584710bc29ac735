"""LoopProgram -> LoopProgram: folds across memory keep a tile of states, one per lane."""

from __future__ import annotations

from typing import Final

from axiomjit.passes.ir.context import Context
from axiomjit.passes.ir.loop_ir import (
    Alloc,
    Block,
    Fold,
    For,
    Let,
    Load,
    LoopProgram,
    ReadState,
    State,
    Stmt,
    Store,
    limited_iterators,
    rewrite_body,
    walk,
)
from axiomjit.passes.ir.rewriting import chain_of, rewrite_nests, stride_cost
from axiomjit.passes.loops.fuse_loops import MAX_SHORT
from axiomjit.symbolic.dims import SMALL, bound

LANES: Final = 512
"""The number of lanes of a block, and the smallest number for a thread: enough for vector code."""
UNROLL: Final = 4
"""The largest number of blocks of lanes that a thread takes together, so that it reads longer
pieces of contiguous memory.
"""
MAX_TILE_BYTES: Final = 16_384
"""The largest number of bytes of all tiles of a loop, which stay in the first-level cache."""
MAX_WINDOW: Final = 16
"""The largest number of elements of a window for which vectors of lanes are faster than vectors of
elements.
"""

MIN_GATHERED_BYTES: Final = 4
"""The smallest number of bytes of an element for which vector loads of elements that are not
adjacent exist.
"""


def tile_folds(program: LoopProgram, context: Context) -> LoopProgram:
    """Put the innermost map loop inside the fold loops if only the map loop has unit stride.

    Folding a C-ordered matrix along its first dimension cell by cell would touch a cache line per
    element. Instead a block of `LANES` results is folded at once: the map loop is cut into blocks,
    the states become a tile with a cell per lane, and the lanes run innermost. If a fold computes
    little, a thread takes up to `UNROLL` blocks together, since memory is read fastest along whole
    rows. Folds over short windows, over windows cut off at the edges of the array, and short folds
    of elementary functions are tiled, too; comparing the length of windows and of short folds
    records a guard in the scope.

    Needs: ordered loops; a fold directly inside a map loop has no map loop inside.
    Gives: a legal loop program.
    Keeps: the order in which each result's elements are added.
    """
    with bound(context.scope):
        return rewrite_nests(program, lambda stmt: (_tiled(stmt),))


def _tiled(stmt: Stmt) -> Stmt:
    if not isinstance(stmt, For) or stmt.kind != "map":
        return stmt
    folds = [s for s in stmt.body if isinstance(s, For)]
    if len(folds) != 1 or folds[0].kind != "fold" or not _is_plain(folds[0]):
        return stmt
    across = _walks_across(stmt, folds[0])
    if not (across or _is_over_windows(stmt, folds[0]) or _is_short(folds[0])):
        return stmt
    lane = stmt.iterator
    tiles = f"{lane}t"
    at = stmt.body.index(folds[0])
    before, after = stmt.body[:at], stmt.body[at + 1 :]
    allocs = tuple(s for s in before if isinstance(s, Alloc))
    shared = tuple(s for s in before if not isinstance(s, Alloc))
    repeated = tuple(s for s in shared if not isinstance(s, Store))
    limited = bool(limited_iterators(folds[0].body))
    unrolled = _unroll(allocs, folds[0]) if across and not limited else 1
    block = Block(tiles, LANES, unrolled)

    def lanes(body: tuple[Stmt, ...]) -> For:
        return For(lane, stmt.extent, "map", _in_lanes(body, lane, unrolled), block)

    def enter(inner: Stmt) -> tuple[Stmt, ...]:
        if isinstance(inner, For) and not any(isinstance(s, For) for s in inner.body):
            return (inner.replace(body=(lanes((*repeated, *inner.body)),)),)
        return (inner,)

    fold = rewrite_body((folds[0],), enter)
    rest = (*shared, *after)
    body = (*_in_lanes(allocs, lane, unrolled), *fold, *((lanes(rest),) if rest else ()))
    return For(tiles, (stmt.extent + (LANES - 1)) // LANES, "map", body, unroll=unrolled)


def _unroll(allocs: tuple[Alloc, ...], fold: For) -> int:
    """The number of blocks of lanes per iteration; 1 if tiles are large or the loop may be split.

    If the loop may be split, `strip_mine` later splits it into strips of one block.
    """
    lets = [s for s in walk((fold,)) if isinstance(s, Let)]
    if any(let.primitive.elementary or let.primitive.scalar for let in lets):
        return 1
    cell = sum(part.itemsize for alloc in allocs for part in alloc.state.parts)
    return max(1, min(UNROLL, MAX_TILE_BYTES // (LANES * cell)))


def _in_lanes(body: tuple[Stmt, ...], lane: str, unrolled: int) -> tuple[Stmt, ...]:
    """The statements, with states that have one cell per lane."""

    def rule(stmt: Stmt) -> tuple[Stmt, ...]:
        if isinstance(stmt, Alloc | Fold | ReadState):
            state: State = stmt.state.replace(lanes=lane, cells=LANES * unrolled)
            return (stmt.replace(state=state),)
        return (stmt,)

    return rewrite_body(body, rule)


def _is_plain(fold: For) -> bool:
    """True if fold loops are directly nested, so that lanes can run innermost."""
    return not any(isinstance(s, For) for s in chain_of(fold)[1])


def _walks_across(mapped: For, fold: For) -> bool:
    """True if the map loop walks memory in smaller steps than the fold loop."""
    innermost = chain_of(fold)[0][-1]
    accesses = [s for s in walk((fold,)) if isinstance(s, Load | Store)]
    return stride_cost(mapped, accesses) < stride_cost(innermost, accesses)


def _is_over_windows(mapped: For, fold: For) -> bool:
    """True if the fold runs over windows along the map loop that are short, or cut off at edges."""
    if mapped.iterator in limited_iterators(fold.body):
        return True
    innermost = chain_of(fold)[0][-1]
    accesses = [s for s in walk((fold,)) if isinstance(s, Load | Store)]
    if stride_cost(mapped, accesses)[0] > stride_cost(innermost, accesses)[0]:
        return False
    if not any(_slides(access, mapped, innermost) for access in accesses):
        return False
    return innermost.extent > SMALL and innermost.extent <= MAX_WINDOW


def _is_short(fold: For) -> bool:
    """True if a fold is too short for vectors along it, and has functions that need vectors."""
    loops, body = chain_of(fold)
    functions = any(isinstance(s, Let) and s.primitive.elementary for s in body)
    loads = [s.buffer.dtype for s in body if isinstance(s, Load)]
    stores = any(isinstance(s, Store) for s in body)
    if not functions or stores or any(dtype.itemsize < MIN_GATHERED_BYTES for dtype in loads):
        return False
    return len(loops) == 1 and loops[0].extent <= MAX_SHORT


def _slides(access: Load | Store, one: For, other: For) -> bool:
    """True if an access has unit stride along both loops."""
    steps = dict(access.index.terms)
    return all(k.iterator in steps and steps[k.iterator].constant == 1 for k in (one, other))
