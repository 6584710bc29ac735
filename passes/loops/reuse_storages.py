"""LoopProgram -> LoopProgram: a temporary is stored in the memory of the value made from it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from axiomjit.base.locks import lazy_import
from axiomjit.passes.ir.context import Context
from axiomjit.passes.ir.loop_ir import (
    For,
    Index,
    LibraryCall,
    Load,
    LoopProgram,
    Nest,
    Stmt,
    Store,
    accessed,
    bodies_of,
    rewrite_body,
)
from axiomjit.passes.ir.view_ir import ArrayRole, Storage

Steps = Sequence[Nest | LibraryCall]


def reuse_storages(program: LoopProgram, context: Context) -> LoopProgram:
    """Store a temporary in the storage that its last reader, a nest, writes element by element.

    In each iteration, the nest loads an element of the temporary and stores the element at the same
    place, so no iteration overwrites an element that another iteration needs. The temporary and the
    other storage have equal shapes, strides and dtypes, and only this nest writes the other
    storage. A result that a function of NumPy allocates keeps its own storage.

    Needs: a legal loop program whose loops have no blocks.
    Gives: a legal loop program with fewer temporaries.
    Keeps: every result, bit for bit.
    """
    shown = {view.storage for view in program.results}
    shown |= {count.view.storage for count in program.counts}
    users = _users(program.steps)
    free = [s for s in program.storages if s.role is ArrayRole.TEMPORARY and s not in shown]
    taken: dict[Storage, Storage] = {}
    heirs: set[Storage] = set()
    for old in free:
        last = program.steps[users[old][-1]] if old in users else None
        if not isinstance(last, Nest) or old.name in program.updated:
            continue
        if any(_is_fixed(program.steps[k], old) for k in users[old]):
            continue
        for new in _stored_over(last, old):
            if users[new][0] == users[old][-1] and new not in heirs:
                taken[old] = new
                heirs.add(new)
                break
    return _renamed(program, taken, users) if taken else program


def _users(steps: Steps) -> dict[Storage, list[int]]:
    """For each storage, the indices of the steps that read or write it."""
    found: dict[Storage, list[int]] = {}
    for k, step in enumerate(steps):
        reads, writes = accessed(step)
        for storage in reads | writes:
            found.setdefault(storage, []).append(k)
    return found


def _is_fixed(step: Nest | LibraryCall, storage: Storage) -> bool:
    """True if a call allocates the storage itself."""
    if isinstance(step, Nest) or step.target is not storage:
        return False
    key: object = lazy_import("axiomjit.graph.external_calls").call_key(step.operation)
    return key is not None


def _stored_over(nest: Nest, old: Storage) -> Iterator[Storage]:
    """The storages that a nest writes only at places where the same iteration has read `old`."""
    accesses = [*_accesses(nest.body, ())]
    loads = [(stmt, loops) for stmt, loops in accesses if stmt.buffer is old]
    if any(isinstance(stmt, Store) or not _is_own(stmt.index, loops) for stmt, loops in loads):
        return
    place = loads[0][0].index
    if any(stmt.index != place for stmt, _ in loads):
        return
    order = {id(stmt): k for k, (stmt, _) in enumerate(accesses)}
    last = order[id(loads[-1][0])]
    for new in dict.fromkeys(s.buffer for s, _ in accesses if isinstance(s, Store)):
        own = [(stmt, loops) for stmt, loops in accesses if stmt.buffer is new]
        if _is_alike(old, new) and all(
            isinstance(stmt, Store)
            and not stmt.scatters
            and stmt.index == place
            and _is_own(stmt.index, loops)
            and order[id(stmt)] > last
            for stmt, loops in own
        ):
            yield new


def _accesses(
    body: tuple[Stmt, ...], loops: tuple[str, ...]
) -> Iterator[tuple[Load | Store, tuple[str, ...]]]:
    """The loads and stores of a body in order, each with the iterators of the loops around it."""
    for stmt in body:
        if isinstance(stmt, Load | Store):
            yield stmt, loops
        inner = (*loops, stmt.iterator) if isinstance(stmt, For) else loops
        for part in bodies_of(stmt):
            yield from _accesses(part, inner)


def _is_own(index: Index, loops: Sequence[str]) -> bool:
    """True if an index depends on the iterator of each loop, and on no other value."""
    return not index.gathered and {name for name, _ in index.terms} == set(loops)


def _is_alike(old: Storage, new: Storage) -> bool:
    """True if a storage may take the place of a temporary."""
    made = new.role in (ArrayRole.RESULT, ArrayRole.TEMPORARY)
    return made and new is not old and old.tensor == new.tensor


def _renamed(
    program: LoopProgram,
    taken: Mapping[Storage, Storage],
    users: Mapping[Storage, Sequence[int]],
) -> LoopProgram:
    """The program with other storages in place of temporaries."""
    found: dict[Storage, Storage] = {}

    def final(storage: Storage) -> Storage:
        chain = []
        while storage in taken and storage not in found:
            chain.append(storage)
            storage = taken[storage]
        last = found.get(storage, storage)
        found.update(dict.fromkeys(chain, last))
        return last

    def rule(stmt: Stmt) -> tuple[Stmt, ...]:
        if isinstance(stmt, Load | Store) and stmt.buffer in taken:
            return (stmt.replace(buffer=final(stmt.buffer)),)
        return (stmt,)

    def moved(step: Nest | LibraryCall) -> Nest | LibraryCall:
        if isinstance(step, Nest):
            return step.replace(body=rewrite_body(step.body, rule))
        operands = tuple(
            view.replace(storage=final(view.storage)) if view.storage in taken else view
            for view in step.operands
        )
        return step.replace(operands=operands, target=final(step.target))

    steps = list(program.steps)
    for k in {k for old in taken for k in users[old]}:
        steps[k] = moved(steps[k])
    kept = tuple(s for s in program.storages if s not in taken)
    updated = program.updated | {final(new).name for new in taken.values()}
    return program.replace(storages=kept, steps=tuple(steps), updated=updated)
