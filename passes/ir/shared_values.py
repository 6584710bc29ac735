"""Values of a loop body that are equal, computed once."""

from __future__ import annotations

from axiomjit.passes.ir.loop_ir import (
    Alloc,
    Fold,
    For,
    Index,
    Let,
    Load,
    State,
    Stmt,
    Store,
    Take,
    rewrite_body,
    walk,
)
from axiomjit.passes.ir.renaming import rename_iterators
from axiomjit.passes.ir.view_ir import Storage


def share_scalars(body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
    """Compute equal loads and scalars of a body once; a value stored here is not loaded again."""
    names: dict[str, str] = {}
    known: dict[object, str] = {}
    stored: dict[tuple[Storage, Index], str] = {}
    result: list[Stmt] = []
    for original in body:
        stmt = rename_iterators((original,), names)[0] if names else original
        key: object = None
        match stmt:
            case Load(buffer=buffer, index=index):
                key = (buffer, index)
                if (buffer, index) in stored:
                    known[key] = stored[(buffer, index)]
            case Let(dtype=dtype, primitive=primitive, operands=operands):
                key = (dtype, primitive, operands)
            case Take(state=state, part=at, ahead=ahead):
                key = (state, at, ahead)
            case Store(buffer=buffer, index=index, value=value) if not stmt.scatters:
                stored[(buffer, index)] = value
        if key is not None and isinstance(stmt, Load | Let | Take):
            if key in known:
                names[stmt.name] = known[key]
                continue
            known[key] = stmt.name
        result.append(stmt)
    return tuple(result) if names else body


def share_states(body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
    """Replace states that fold the same value in one loop by one state."""
    opened = {stmt.state.name for stmt in body if isinstance(stmt, Alloc)}
    twins: dict[str, str] = {}
    for loop in walk(body):
        folds: dict[object, State] = {}
        for stmt in loop.body if isinstance(loop, For) else ():
            if isinstance(stmt, Fold) and stmt.state.name in opened:
                key = (stmt.values, stmt.state.accumulator, stmt.state.dtype)
                first = folds.setdefault(key, stmt.state)
                if first.name != stmt.state.name:
                    twins[stmt.state.name] = first.name
    if not twins:
        return body

    def drop(stmt: Stmt) -> tuple[Stmt, ...]:
        again = isinstance(stmt, Alloc | Fold) and stmt.state.name in twins
        return () if again else (stmt,)

    return rename_iterators(rewrite_body(body, drop), twins)
