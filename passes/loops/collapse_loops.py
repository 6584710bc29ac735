"""LoopProgram -> LoopProgram: nested loops that walk memory without gaps become one loop."""

from __future__ import annotations

from axiomjit.passes.ir.context import Context
from axiomjit.passes.ir.loop_ir import (
    Bound,
    For,
    Load,
    LoopProgram,
    Part,
    Select,
    Stmt,
    Store,
    bounds_of,
    limited_iterators,
    rewrite_body,
    walk,
)
from axiomjit.passes.ir.rewriting import rewrite_nests, walks_as_one


def collapse_loops(program: LoopProgram, context: Context) -> LoopProgram:
    """Merge a loop p with the loop q directly inside if a step of p equals all steps of q.

    Every access must satisfy stride(p) == stride(q) * extent(q), as polynomials. A kernel for
    contiguous arrays of any rank then has one flat loop (ngraph tensors: flattened views).

    Needs: a legal loop program whose loops have no blocks.
    Gives: a legal loop program.
    Keeps: the order in which elements are visited.
    """
    return rewrite_nests(program, lambda stmt: (_merge(stmt),))


def _merge(stmt: Stmt) -> Stmt:
    """The loop, merged with the loop in its body if possible; that loop is already merged."""
    if not isinstance(stmt, For) or len(stmt.body) != 1:
        return stmt
    inner = stmt.body[0]
    if not isinstance(inner, For) or inner.kind != stmt.kind:
        return stmt
    accesses = [s for s in walk(inner.body) if isinstance(s, Load | Store)]
    if not all(walks_as_one(a.index, stmt, inner) for a in accesses):
        return stmt
    if any(bound.iterator == inner.iterator for bound in bounds_of(inner.body)):
        return stmt
    if not limited_iterators(inner.body).isdisjoint((stmt.iterator, inner.iterator)):
        return stmt
    body = rewrite_body(inner.body, lambda s: (_without(s, stmt.iterator, inner),))
    return inner.replace(extent=stmt.extent * inner.extent, body=body)


def _without(stmt: Stmt, iterator: str, flat: For) -> Stmt:
    """The statement with terms of the flat loop's iterator in place of the two iterators' terms."""
    if isinstance(stmt, Select):
        return stmt.replace(parts=tuple(_scaled(p, iterator, flat) for p in stmt.parts))
    if not isinstance(stmt, Load | Store):
        return stmt
    terms = tuple((name, stride) for name, stride in stmt.index.terms if name != iterator)
    return stmt.replace(index=stmt.index.replace(terms=terms))


def _scaled(part: Part, iterator: str, flat: For) -> Part:
    """The part of a select with its bounds converted from rows to elements."""
    bounds = tuple(
        Bound(flat.iterator, b.low * flat.extent, b.high * flat.extent)
        if b.iterator == iterator
        else b
        for b in part.bounds
    )
    return part.replace(bounds=bounds)
