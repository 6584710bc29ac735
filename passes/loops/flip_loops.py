"""LoopProgram -> LoopProgram: loops walk memory forward."""

from __future__ import annotations

from axiomjit.passes.ir.context import Context
from axiomjit.passes.ir.loop_ir import (
    Alloc,
    Bound,
    For,
    Load,
    LoopProgram,
    ReadState,
    Select,
    Stmt,
    Store,
    limited_iterators,
    rewrite_body,
    walk,
)
from axiomjit.passes.ir.rewriting import keeps_order, rewrite_nests
from axiomjit.passes.ir.view_ir import POSITIONS
from axiomjit.symbolic.dims import Dim
from axiomjit.symbolic.index_maps import is_backward


def flip_loops(program: LoopProgram, context: Context) -> LoopProgram:
    """Reverse a loop if every access that moves along it goes backward.

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
    name, last = stmt.iterator, stmt.extent - 1
    body = rewrite_body(stmt.body, lambda s: (_flipped(s, name, last),))
    return (stmt.replace(body=body),)


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


def _flipped(stmt: Stmt, iterator: str, last: Dim) -> Stmt:
    """The statement with `last - iterator` in place of the iterator."""
    if isinstance(stmt, Select):
        parts = (
            part.replace(bounds=tuple(_flipped_bound(b, iterator, last) for b in part.bounds))
            for part in stmt.parts
        )
        return stmt.replace(parts=tuple(parts))
    if not isinstance(stmt, Load | Store):
        return stmt
    offset, terms = stmt.index.offset, []
    for name, stride in stmt.index.terms:
        if name == iterator:
            offset, stride = offset + stride * last, stride * -1
        terms.append((name, stride))
    return stmt.replace(index=stmt.index.replace(offset=offset, terms=tuple(terms)))


def _flipped_bound(bound: Bound, iterator: str, last: Dim) -> Bound:
    if bound.iterator != iterator:
        return bound
    return Bound(iterator, last + 1 - bound.high, last + 1 - bound.low)
