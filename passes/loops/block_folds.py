"""LoopProgram -> LoopProgram: folds run in fixed blocks whose results form a tree or a chain."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import count
from typing import Final

from axiomjit.graph.primitives import UfuncFold
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
    ReadState,
    State,
    Stmt,
    Store,
    map_nests,
    rewrite_body,
    walk,
)
from axiomjit.passes.ir.rewriting import all_steps, chain_of
from axiomjit.passes.ir.view_ir import ArrayRole, Storage
from axiomjit.symbolic.data_dependent import HeuristicScope
from axiomjit.symbolic.dims import Dim, bound, dim, larger, product

BLOCK: Final = 1024
"""The number of elements of a block, which are added in any order; block results form a tree."""
MIN_STEPS: Final = 256
"""The smallest number of steps of a fold loop that is cut; a shorter loop is one block."""
BLOCKS_PER_UNIT: Final = 64
"""The number of blocks in a unit of the grid: a power of two, so that a unit is a subtree of the
tree of results.
"""


def block_folds(program: LoopProgram, context: Context) -> LoopProgram:
    """Cut fold loops into blocks, and a fold without map loops into groups of blocks.

    Block results of sums and products form a tree. States of a StateFold, and states that are read
    after each element, are combined block after block.

    The blocks depend on extents alone, so a result has the same bits for every number of threads
    and every layout of chunks. A nest whose result has no dimensions gets a grid of groups and a
    combine part that adds the groups' results. Comparing an extent with the constants of this
    module records a guard in the scope.

    Needs: ordered, collapsed, tiled nests.
    Gives: a legal loop program whose nests have one outer map loop, or no loop at all.
    Keeps: each result, up to the rounding of sums; maxima and minima bit for bit.
    """
    numbers = count()
    with bound(HeuristicScope(context.scope)):
        return map_nests(program, lambda nest: _cut(nest, numbers))


def _cut(nest: Nest, numbers: Iterator[int]) -> Nest:
    outer = next((s for s in nest.body if isinstance(s, For)), None)
    if outer is None:
        return nest
    if outer.kind == "fold" and not _running(outer):
        return _in_groups(nest.body, outer, numbers)
    body = _cut_rows(nest.body)
    return nest if body == nest.body else Nest(body)


def _running(loop: For) -> set[str]:
    """The states of which a statement reads the value after each element."""
    folded = {s.state.name for s in walk((loop,)) if isinstance(s, Fold)}
    return folded & {s.state.name for s in walk((loop,)) if isinstance(s, ReadState)}


def _is_chained(state: State) -> bool:
    """True if the blocks of a state are combined in sequence, not as a tree."""
    return not isinstance(state.accumulator, UfuncFold) or state.accumulator.running


def _cut_rows(body: tuple[Stmt, ...], outer: Sequence[State] = ()) -> tuple[Stmt, ...]:
    """Cut every long enough fold below map loops into blocks.

    States in `outer` are opened outside of these loops; several runs of the loops fold into these
    states.
    """
    result: list[Stmt] = []
    for stmt in body:
        if not isinstance(stmt, For):
            result.append(stmt)
        elif stmt.kind == "map":
            inner = _cut_rows(stmt.body)
            result.append(stmt if inner == stmt.body else stmt.replace(body=inner))
        else:
            states = [*_folded_in(stmt, outer), *_blocked_states(result, stmt)]
            loop, cut = _cut_fold(stmt, states, whole=not outer)
            trees = [s for s in cut if s not in outer and not _is_chained(s)]
            result = [_as_tree(s, trees) for s in result]
            result.append(loop)
            result += [Drain(state) for state in trees]
    return tuple(result)


def _cut_fold(loop: For, states: list[State], *, whole: bool) -> tuple[For, list[State]]:
    """A fold loop cut into blocks, and the states that are folded in blocks.

    States folded in inner fold loops get the blocks of the inner loops. States folded directly in
    this loop get blocks of this loop, unless the loop is short and contains the whole fold.
    """
    inner = chain_of(loop)[1]
    beside = {s.state.name for s in _outside_folds(inner) if isinstance(s, Fold)}
    deep = [state for state in states if state.name not in beside]
    here = [state for state in states if state.name in beside]
    cut: For = loop
    if any(isinstance(s, For) and s.kind == "fold" for s in inner):
        cut = _with_inner(loop, _cut_rows(inner, deep))
    else:
        here, deep = states, []
    if not here or (whole and _is_short(loop)):
        return cut, deep
    return _blocked(cut, here), states


def _outside_folds(body: tuple[Stmt, ...]) -> Iterator[Stmt]:
    """The statements of a body that are outside of fold loops."""
    for stmt in body:
        if not isinstance(stmt, For):
            yield stmt
        elif stmt.kind == "map":
            yield from _outside_folds(stmt.body)


def _with_inner(loop: For, inner: tuple[Stmt, ...]) -> For:
    """The loops of a perfect nest, with the statements `inner` as innermost body."""
    for each in reversed(chain_of(loop)[0]):
        inner = (each.replace(body=inner),)
    (outermost,) = inner
    assert isinstance(outermost, For)
    return outermost


def _blocked_states(before: list[Stmt], loop: For) -> list[State]:
    """The states that a loop folds in blocks."""
    states = [s.state for s in before if isinstance(s, Alloc)]
    running = _running(loop)
    folded = _folded_in(loop, states)
    return [s for s in folded if s.accumulator.blocked or s.name in running]


def _folded_in(loop: For, states: Sequence[State]) -> list[State]:
    folded = {s.state.name for s in walk((loop,)) if isinstance(s, Fold)}
    return [state for state in states if state.name in folded]


def _as_tree(stmt: Stmt, trees: list[State]) -> Stmt:
    """Give the `Alloc` of a state in `trees` the scope "tree"; leave other statements unchanged."""
    is_tree = isinstance(stmt, Alloc) and stmt.state in trees
    return stmt.replace(scope="tree") if is_tree else stmt


def _is_short(loop: For) -> bool:
    """True if all steps of the fold fit into one block."""
    chain, _ = chain_of(loop)
    return all_steps(chain) <= BLOCK


def _ceil(length: Dim, size: int | Dim) -> Dim:
    return (length + (size - 1)) // size


def _blocked(loop: For, states: list[State]) -> For:
    """The perfect nest with one loop cut into blocks."""
    chain, inner = chain_of(loop)
    at = len(chain) - 1
    size: int | Dim = BLOCK
    if at > 0 and chain[at].extent < MIN_STEPS:
        size = larger(dim(BLOCK) // larger(chain[at].extent, 1), 1)
        at -= 1
    cut = chain[at]
    blocks = f"{cut.iterator}b"
    trees = [state for state in states if not _is_chained(state)]
    chained = [_Chained(state) for state in states if _is_chained(state)]
    for one in chained:
        inner = one.within_block(inner)
    body = inner
    for k in reversed(range(len(chain))):
        here = chain[k].replace(body=body, block=Block(blocks, size) if k == at else None)
        body = (here,)
        if k == at:
            opened = (*map(Alloc, trees), *(Alloc(one.block) for one in chained))
            pushed: list[Stmt] = [Push(state) for state in trees]
            for one in chained:
                pushed += one.after_block(inner)
            body = (For(blocks, _ceil(cut.extent, size), "fold", (*opened, here, *pushed)),)
    outermost = body[0]
    assert isinstance(outermost, For)
    return outermost


class _Chained:
    """A state that combines the states of its blocks in sequence."""

    def __init__(self, state: State) -> None:
        self.state = state
        self.block: State = state.replace(name=f"{state.name}b")
        self.names = tuple(f"{state.name}b{k}" for k in range(len(state.parts)))

    def reads(self) -> tuple[ReadState, ...]:
        """Statements that read all values of the block's state."""
        return tuple(ReadState(name, self.block, k) for k, name in enumerate(self.names))

    def within_block(self, body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
        """Statements that fold into the block's state; their reads include earlier blocks, too."""
        taken = False

        def rule(stmt: Stmt) -> tuple[Stmt, ...]:
            nonlocal taken
            if isinstance(stmt, Fold) and stmt.state == self.state:
                return (stmt.replace(state=self.block),)
            if isinstance(stmt, ReadState) and stmt.state == self.state:
                first, taken = not taken, True
                return (*(self.reads() if first else ()), stmt.replace(including=self.names))
            return (stmt,)

        return rewrite_body(body, rule)

    def after_block(self, body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
        """Statements that combine the block's state into the whole state, in each lane."""
        taken: tuple[Stmt, ...] = (*self.reads(), Fold(self.state, self.names))
        if self.state.lanes is None:
            return taken
        lanes = next(s for s in walk(body) if isinstance(s, For) and s.iterator == self.state.lanes)
        each: For = lanes.replace(body=taken)
        return (each,)


def _extents_inside(loop: For) -> Iterator[Dim]:
    """The extents of the first fold loop inside a loop, of the first one inside that, and so on."""
    inner = next((s for s in loop.body if isinstance(s, For) and s.kind == "fold"), None)
    if inner is not None:
        yield inner.extent
        yield from _extents_inside(inner)


def _in_groups(body: tuple[Stmt, ...], loop: For, numbers: Iterator[int]) -> Nest:
    """A grid of groups of blocks, and the part that combines their results.

    The grid and the combine part both repeat the statements before the loop; only the combine part
    stores the result.
    """
    at = body.index(loop)
    states = [s.state for s in body[:at] if isinstance(s, Alloc)]
    blocked, cut = _cut_fold(loop, _blocked_states(list(body[:at]), loop), whole=False)
    outermost = blocked.iterator != loop.iterator
    trees = [state for state in cut if not _is_chained(state)]
    opened = tuple(_as_tree(stmt, trees) for stmt in body[:at])
    rows = product(tuple(_extents_inside(loop)))
    size: int | Dim = (
        BLOCKS_PER_UNIT if outermost else larger(dim(BLOCK * BLOCKS_PER_UNIT) // larger(rows, 1), 1)
    )
    groups = _ceil(blocked.extent, size)
    unit = f"{blocked.iterator}g"
    here = Index(dim(0), ((unit, dim(1)),))
    drains = tuple(Drain(state) for state in trees)
    before = [stmt for stmt in opened if not isinstance(stmt, Store)]
    main: list[Stmt] = [*before, blocked.replace(block=Block(unit, size)), *drains]
    gather: list[Stmt] = []
    partials: list[Storage] = []
    for state in states:
        loaded = []
        for part, dtype in enumerate(state.parts):
            k = len(partials)
            buffer = Storage(f"p{next(numbers)}", ArrayRole.PARTIAL, dtype, (groups,), (dim(1),))
            partials.append(buffer)
            main += [ReadState(f"d{k}", state, part), Store(buffer, here, f"d{k}")]
            gather.append(Load(f"g{k}", buffer, here))
            loaded.append(f"g{k}")
        gather.append(Push(state, *loaded) if state in trees else Fold(state, tuple(loaded)))
    combine = (*opened, For(unit, groups, "fold", tuple(gather)), *drains, *body[at + 1 :])
    return Nest((For(unit, groups, "map", tuple(main)),), combine, tuple(partials))
