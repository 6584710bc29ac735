"""LoopProgram -> LoopProgram: loops run only the iterations in which the limits hold."""

from __future__ import annotations

from axiomjit.passes.ir.context import Context
from axiomjit.passes.ir.loop_ir import (
    Fold,
    For,
    If,
    Limit,
    LoopProgram,
    Nest,
    Stmt,
    Store,
    map_nests,
    rewrite_body,
)
from axiomjit.passes.ir.rewriting import map_bodies
from axiomjit.symbolic.dims import bound


def limit_loops(program: LoopProgram, context: Context) -> LoopProgram:
    """Move the limits of statements to a loop around them, whose body then has no condition.

    A limit moves to the innermost loop whose iterator is in the limit, if all folds and stores in
    this loop have the limit. The loop over a window at an edge is then shorter, and an inner loop
    along a row is vector code. Limits without iterators are evaluated, which records guards in the
    scope.

    Needs: a legal loop program; the passes that make blocks and lanes have run.
    Gives: a legal loop program.
    Keeps: the points of the nest that are computed, and their order.
    """
    with bound(context.scope):
        return map_nests(program, _limit)


def _limit(nest: Nest) -> Nest:
    if not any(isinstance(stmt, If) for stmt in nest.statements):
        return nest
    return map_bodies(nest, lambda body: rewrite_body(body, _with_moved_limits))


def _with_moved_limits(stmt: Stmt) -> tuple[Stmt, ...]:
    """A loop with the limits common to its body; limits without iterators are evaluated."""
    if isinstance(stmt, If):
        held = {limit: limit.low <= 0 < limit.high for limit in stmt.limits if not limit.terms}
        if not all(held.values()):
            return ()
        return _under(tuple(limit for limit in stmt.limits if limit not in held), stmt.body)
    if not isinstance(stmt, For):
        return (stmt,)
    shared = _shared(stmt.body)
    own = tuple(limit for limit in shared or () if stmt.iterator in dict(limit.terms))
    if not own:
        return (stmt,)

    def without(inner: Stmt) -> tuple[Stmt, ...]:
        if not isinstance(inner, If):
            return (inner,)
        return _under(tuple(limit for limit in inner.limits if limit not in own), inner.body)

    return (stmt.replace(limits=(*stmt.limits, *own), body=rewrite_body(stmt.body, without)),)


def _under(limits: tuple[Limit, ...], body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
    return (If(limits, body),) if limits else body


def _shared(body: tuple[Stmt, ...]) -> tuple[Limit, ...] | None:
    """The limits common to all folds and stores of a body; None if there are no such statements."""
    found: tuple[Limit, ...] | None = None
    for stmt in body:
        if isinstance(stmt, Fold | Store):
            return ()
        if isinstance(stmt, If):
            own: tuple[Limit, ...] | None = (*stmt.limits, *(_shared(stmt.body) or ()))
        elif isinstance(stmt, For):
            own = _shared(stmt.body)
        else:
            continue
        if own is not None:
            found = own if found is None else tuple(limit for limit in found if limit in own)
    return found
