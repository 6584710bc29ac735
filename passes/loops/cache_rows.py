"""LoopProgram -> LoopProgram: a loop over a row loads values that an earlier loop has stored."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Final

from axiomjit.passes.ir.context import Context
from axiomjit.passes.ir.loop_ir import (
    Fold,
    For,
    Let,
    Load,
    LoopProgram,
    Nest,
    Stmt,
    Store,
    map_nests,
    rewrite_body,
    used,
)
from axiomjit.passes.ir.rewriting import stride_cost
from axiomjit.passes.ir.view_ir import ArrayRole, Storage

MIN_WEIGHT: Final = 16
"""The smallest cost, in additions, of a value that is stored; a store and a load cost about two."""


def cache_rows(program: LoopProgram, context: Context) -> LoopProgram:
    """Store expensive values of a fold in the row of a result, from which a later loop loads them.

    Without this pass, a softmax computes exponentials to sum them, and computes them again to
    divide them by the sum. With this pass, the first loop stores the exponentials in the row of the
    result, which stays in the cache, and the last loop loads and overwrites them. So the pass needs
    no memory in addition to the result. The pass requires that the result is written once and has
    the dtype of the value, and that both loops walk the same row.

    Needs: a legal loop program whose loops have no blocks.
    Gives: a legal loop program.
    Keeps: every result, bit for bit.
    """
    fresh = {
        s
        for s in program.storages
        if (s.role.is_temporary or s.role is ArrayRole.RESULT) and s.name not in program.updated
    }

    def kept(nest: Nest) -> Nest:
        accesses = [s for s in nest.statements if isinstance(s, Load | Store)]
        stores = [s.buffer for s in accesses if isinstance(s, Store)]
        loaded = {s.buffer for s in accesses if isinstance(s, Load)}
        once = {s for s in fresh if stores.count(s) == 1} - loaded
        return _in_rows(nest, once) if once else nest

    return map_nests(program, kept)


def _in_rows(nest: Nest, once: set[Storage]) -> Nest:
    def rule(stmt: Stmt) -> tuple[Stmt, ...]:
        if not isinstance(stmt, For) or stmt.kind != "map":
            return (stmt,)
        body = _kept(stmt.body, once)
        return (stmt if body is stmt.body else stmt.replace(body=body),)

    body = rewrite_body(nest.body, rule)
    return nest if body == nest.body else nest.replace(body=body)


def _kept(body: tuple[Stmt, ...], once: set[Storage]) -> tuple[Stmt, ...]:
    """The body in which a fold loop stores a value in a result and a later loop loads it."""
    for k, last in enumerate(body):
        if not isinstance(last, For) or last.kind != "map" or not _is_plain(last):
            continue
        stores = [s for s in last.body if isinstance(s, Store) and s.buffer in once]
        for store in stores:
            if stride_cost(last, [store]) != (0.0, -1.5):
                continue
            for j in reversed(range(k)):
                first = body[j]
                if not isinstance(first, For) or first.kind != "fold" or not _is_plain(first):
                    continue
                found = _shared(first, last, store)
                if found is not None:
                    return (*body[:j], found[0], *body[j + 1 : k], found[1], *body[k + 1 :])
    return body


def _is_plain(loop: For) -> bool:
    """True if a loop runs all iterations and has only loads, stores, scalars and folds."""
    whole = loop.block is None and loop.span is None and loop.at is None and not loop.limits
    return whole and all(isinstance(s, Let | Load | Store | Fold) for s in loop.body)


def _shared(first: For, last: For, store: Store) -> tuple[For, For] | None:
    """Both loops, changed so that the first stores an expensive value that the last one loads."""
    if first.extent is not last.extent:
        return None
    known = {key: name for name, key in _keys(first).items()}
    own = _keys(last)
    lets = {s.name: s for s in last.body if isinstance(s, Let)}
    for name, let in reversed(lets.items()):
        expensive = let.primitive.weight >= MIN_WEIGHT and let.dtype == store.buffer.dtype
        if not expensive or own[name] not in known or name == store.value:
            continue
        names = {last.iterator: first.iterator}
        terms = tuple((names.get(i, i), stride) for i, stride in store.index.terms)
        into = store.index.replace(terms=terms)
        keeping = _after(first.body, known[own[name]], Store(store.buffer, into, known[own[name]]))
        loading = [Load(name, store.buffer, store.index) if s is let else s for s in last.body]
        return first.replace(body=keeping), last.replace(body=_used(loading))
    return None


def _keys(loop: For) -> dict[str, Hashable]:
    """For each value of a loop, a key that is independent of names of values and the iterator."""
    keys: dict[str, Hashable] = {}
    for stmt in loop.body:
        match stmt:
            case Load(buffer=buffer, index=index):
                named = {loop.iterator: "", **keys}
                terms = tuple((named.get(i, i), stride) for i, stride in index.terms)
                keys[stmt.name] = (buffer, index.offset, terms)
            case Let(operands=operands):
                given = tuple(keys.get(name, name) for name in operands)
                keys[stmt.name] = (stmt.primitive, stmt.dtype, given)
    return keys


def _after(body: tuple[Stmt, ...], name: str, added: Stmt) -> tuple[Stmt, ...]:
    """The statements, with a new statement after the definition of a name."""
    at = next(k for k, s in enumerate(body) if isinstance(s, Let) and s.name == name)
    return (*body[: at + 1], added, *body[at + 1 :])


def _used(body: list[Stmt]) -> tuple[Stmt, ...]:
    """The statements without definitions of values that no statement uses."""
    wanted: set[str] = set()
    result: list[Stmt] = []
    for stmt in reversed(body):
        if isinstance(stmt, Let | Load) and stmt.name not in wanted:
            continue
        wanted |= set(used(stmt))
        result.append(stmt)
    return tuple(reversed(result))
