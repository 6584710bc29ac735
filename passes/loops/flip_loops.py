"""LoopProgram -> LoopProgram: loops visit memory in ascending order."""

from __future__ import annotations

from axiomjit.passes.ir.context import Context
from axiomjit.passes.ir.loop_ir import (
    Alloc,
    For,
    Load,
    LoopProgram,
    ReadState,
    Stmt,
    Store,
    limited_iterators,
    walk,
)
from axiomjit.passes.ir.rewriting import flipped, keeps_order, rewrite_nests
from axiomjit.passes.ir.view_ir import POSITIONS
from axiomjit.symbolic.index_maps import is_backward


def flip_loops(program: LoopProgram, context: Context) -> LoopProgram:
    """Reverse a loop if every access whose index depends on it goes backward in memory.

    Reversed arrays are then read in memory order, and loops over them can be collapsed (as NumPy
    flips axes with negative strides). Loops with noncommutative folds, scans, or limits on the
    iterator keep their direction.

    Needs: a legal loop program whose loops have no blocks.
    Gives: a legal loop program.
    Keeps: the nests and their data; sums may be added in another order.
    """
    return rewrite_nests(program, _flip)


def _flip(stmt: Stmt) -> tuple[Stmt, ...]:
    if not isinstance(stmt, For) or not _goes_backward(stmt):
        return (stmt,)
    return (flipped(stmt),)


def _goes_backward(loop: For) -> bool:
    accesses = [s for s in walk(loop.body) if isinstance(s, Load | Store)]
    strides = [
        stride
        for access in accesses
        if access.buffer is not POSITIONS
        for name, stride in access.index.terms
        if name == loop.iterator
    ]
    backward = bool(strides) and all(map(is_backward, strides))
    limited = loop.iterator in limited_iterators(loop.body)
    return backward and not (keeps_order(loop) or _reads_outer_states(loop) or limited)


def _reads_outer_states(loop: For) -> bool:
    """True if the loop reads states that are opened outside the loop."""
    opened = {s.state.name for s in walk(loop.body) if isinstance(s, Alloc)}
    return any(isinstance(s, ReadState) and s.state.name not in opened for s in walk(loop.body))
