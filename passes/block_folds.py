"""LoopProgram -> LoopProgram: folds run in fixed blocks whose results form a tree."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from typing import Final

from axiomjit.algebra.dims import Dim, bound, dim, larger, product
from axiomjit.passes.ir.context import Context
from axiomjit.passes.ir.loop_ir import (
    Alloc,
    Block,
    Drain,
    Fold,
    For,
    Index,
    Load,
    LoopProgram,
    Nest,
    Push,
    State,
    Stmt,
    Store,
    Take,
    chain_of,
    map_nests,
)
from axiomjit.passes.ir.view_ir import Storage

BLOCK: Final = 1024
"""Elements that are added in any order; block results are added as a tree."""
SHORT: Final = 256
"""A fold loop below this is not cut; blocks are made of whole runs of it."""
GROUP: Final = 64
"""Blocks in one unit of the grid: a power of two, so that groups are subtrees of the tree."""


def block_folds(program: LoopProgram, context: Context) -> LoopProgram:
    """Cut fold loops into blocks, and a fold without map loops into groups of blocks.

    The blocks depend on extents alone, so a result has the same bits for every number of threads
    and every layout of chunks. A nest whose result has no dimensions gets a grid of groups and a
    combine part that adds the groups' results. Extents that decide the form in this call leave
    guards in the scope.

    Needs: ordered, collapsed, tiled nests.
    Gives: a legal loop program whose nests have one outer map loop, or no loop at all.
    Keeps: each result within the bound of the sum's rounding; max and min bit for bit.
    """
    numbers = count()
    with bound(context.scope):
        return map_nests(program, lambda nest: _cut(nest, numbers))


def _cut(nest: Nest, numbers: Iterator[int]) -> Nest:
    outer = next((s for s in nest.body if isinstance(s, For)), None)
    if outer is None:
        return nest
    if outer.kind == "fold":
        return _in_groups(nest.body, outer, numbers)
    body = _cut_rows(nest.body)
    return nest if body == nest.body else Nest(body)


def _cut_rows(body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
    """Block every fold below map loops that is long enough to need a tree."""
    result: list[Stmt] = []
    for stmt in body:
        if not isinstance(stmt, For):
            result.append(stmt)
        elif stmt.kind == "map":
            inner = _cut_rows(stmt.body)
            result.append(stmt if inner == stmt.body else stmt.replace(body=inner))
        else:
            trees = [
                s.state for s in result if isinstance(s, Alloc) and s.state.accumulator.blocked
            ]
            if not trees or _is_short(stmt):
                result.append(stmt)
                continue
            result = [_as_tree(s) for s in result]
            result.append(_blocked(stmt, trees)[0])
            result += [Drain(state) for state in trees]
    return tuple(result)


def _as_tree(stmt: Stmt) -> Stmt:
    """A blocked state is opened as a tree; its own cell is opened in each block."""
    blocked = isinstance(stmt, Alloc) and stmt.state.accumulator.blocked
    tree: Stmt = stmt.replace(scope="tree") if blocked else stmt
    return tree


def _is_short(loop: For) -> bool:
    """Whether the whole fold is one block."""
    chain, _ = chain_of(loop)
    return product(tuple(k.extent for k in chain)) <= BLOCK


def _ceil(length: Dim, size: int | Dim) -> Dim:
    return (length + (size - 1)) // size


def _blocked(loop: For, states: list[State]) -> tuple[For, bool]:
    """The chain with one loop cut into blocks; and whether the block loop is the outermost."""
    chain, inner = chain_of(loop)
    at = len(chain) - 1
    size: int | Dim = BLOCK
    if at > 0 and chain[at].extent < SHORT:
        size = larger(dim(BLOCK) // larger(chain[at].extent, 1), 1)
        at -= 1
    cut = chain[at]
    blocks = f"{cut.iterator}b"
    body = inner
    for k in reversed(range(len(chain))):
        here = chain[k].replace(body=body, block=Block(blocks, size) if k == at else None)
        body = (here,)
        if k == at:
            opened = tuple(Alloc(state) for state in states)
            pushed = tuple(Push(state) for state in states)
            body = (For(blocks, _ceil(cut.extent, size), "fold", (*opened, here, *pushed)),)
    outermost = body[0]
    assert isinstance(outermost, For)
    return outermost, at == 0


def _in_groups(body: tuple[Stmt, ...], loop: For, numbers: Iterator[int]) -> Nest:
    """A grid of groups of blocks, and the part that combines their results."""
    at = body.index(loop)
    opened = tuple(map(_as_tree, body[:at]))
    states = [s.state for s in opened if isinstance(s, Alloc)]
    trees = [state for state in states if state.accumulator.blocked]
    blocked, outermost = _blocked(loop, trees) if trees else (loop, False)
    rows = product(tuple(k.extent for k in chain_of(loop)[0][1:]))
    size: int | Dim = GROUP if outermost else larger(dim(BLOCK * GROUP) // larger(rows, 1), 1)
    groups = _ceil(blocked.extent, size)
    unit = f"{blocked.iterator}g"
    here = Index(dim(0), ((unit, dim(1)),))
    partials = tuple(
        Storage(f"p{next(numbers)}", "partial", state.dtype, (groups,), (dim(1),))
        for state in states
    )
    drains = tuple(Drain(state) for state in trees)
    main: list[Stmt] = [*opened, blocked.replace(block=Block(unit, size)), *drains]
    gather: list[Stmt] = []
    for k, (state, buffer) in enumerate(zip(states, partials, strict=True)):
        main += [Take(f"d{k}", state), Store(buffer, here, f"d{k}")]
        gather.append(Load(f"g{k}", buffer, here))
        gather.append(Push(state, f"g{k}") if state in trees else Fold(state, f"g{k}"))
    combine = (*opened, For(unit, groups, "fold", tuple(gather)), *drains, *body[at + 1 :])
    return Nest((For(unit, groups, "map", tuple(main)),), combine, partials)
