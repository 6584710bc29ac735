"""LoopProgram -> LoopProgram: a user's commutative fold takes each element into the next lane."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import count
from typing import Final

from axiomjit.graph.reductions import ArgReduceFold, StateFold
from axiomjit.passes.ir.context import Context
from axiomjit.passes.ir.loop_ir import (
    Alloc,
    Block,
    Fold,
    For,
    Index,
    Let,
    Load,
    LoopProgram,
    ReadState,
    State,
    Stmt,
    Store,
)
from axiomjit.passes.ir.rewriting import rewrite_nests
from axiomjit.passes.ir.view_ir import POSITIONS
from axiomjit.symbolic.dims import bound, dim

LANES: Final = 64
"""The number of elements that are folded side by side: several vectors of any dtype."""
MIN_STEPS: Final = 256
"""The smallest number of steps of a loop that gets lanes."""


def interleave_folds(program: LoopProgram, context: Context) -> LoopProgram:
    """Fold element k of a block into lane k modulo `LANES`, then one lane after the other.

    In a fold by an accumulator of the user, each iteration depends on the previous one, so the code
    would be scalar. If the order of elements does not matter, `LANES` states are folded side by
    side: the innermost loop runs over the states and is vector code. Lanes are combined in order
    within the fixed blocks of the fold, so results depend on extents alone. Short loops, and loops
    with other folds or reads of states, are not changed. The test for a short loop records a guard
    in the scope.

    Needs: blocked nests.
    Gives: a legal loop program.
    Keeps: each result up to the order in which its elements are combined.
    """
    numbers = count()

    def rule(stmt: Stmt) -> tuple[Stmt, ...]:
        return _interleaved(stmt, numbers) if isinstance(stmt, For) else (stmt,)

    with bound(context.scope):
        return rewrite_nests(program, rule)


def _interleaved(loop: For, numbers: Iterator[int]) -> tuple[Stmt, ...]:
    """The loop or, if it gets lanes, loops over the lanes and statements that combine the lanes."""
    states = [s.state for s in loop.body if isinstance(s, Fold)]
    size = LANES if loop.block is None else dim(loop.block.size).constant
    if size is None or size % LANES or not _may_have_lanes(loop, states) or loop.extent < MIN_STEPS:
        return (loop,)
    turns, own = f"{loop.iterator}l", loop.block
    within = None if own is None else Block(own.outer, size // LANES)
    outer = For(turns, (loop.extent + (LANES - 1)) // LANES, "fold", (), within)
    block = Block(turns, LANES)
    result: list[Stmt] = []
    lanes: dict[State, State] = {}
    for state in states:
        lanes[state] = state.replace(name=f"{state.name}l", lanes=loop.iterator, cells=LANES)
        result.append(Alloc(lanes[state]))
    body = tuple(s.replace(state=lanes[s.state]) if isinstance(s, Fold) else s for s in loop.body)
    side = loop.replace(kind="map", body=body, block=block)
    result.append(outer.replace(body=(side,)))
    first = f"l{next(numbers)}"
    terms = () if own is None else ((own.outer, dim(size // LANES)),)
    result.append(Load(first, POSITIONS, Index(dim(0), terms)))
    for state, lane in lanes.items():
        names = tuple(f"{lane.name}{k}" for k in range(len(state.parts)))
        taken = tuple(ReadState(name, lane, k) for k, name in enumerate(names))
        joined = loop.replace(body=(*taken, Fold(state, names)), block=block)
        result.append(outer.replace(body=(joined,), block=None, at=first))
    return tuple(result)


def _may_have_lanes(loop: For, states: Sequence[State]) -> bool:
    """True if a loop runs all its iterations, and each iteration folds into each state once."""
    whole = loop.kind == "fold" and loop.span is None and loop.at is None and not loop.limits
    plain = all(isinstance(s, Let | Load | Store | Fold) for s in loop.body)
    once = bool(states) and len(set(states)) == len(states)
    return whole and plain and once and all(map(_may_turn, states))


def _may_turn(state: State) -> bool:
    """True if the order of elements does not matter and the state has no lanes yet."""
    fold = state.accumulator
    known = isinstance(fold, StateFold) and not isinstance(fold, ArgReduceFold)
    return known and fold.commutative and state.lanes is None
