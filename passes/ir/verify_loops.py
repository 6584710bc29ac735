"""Legality of a loop program: names before use, states open where they are used, one writer."""

from __future__ import annotations

from collections.abc import Iterator

from axiomjit.algebra.dims import dim
from axiomjit.base.errors import VerifyError
from axiomjit.passes.ir.accesses import accessed
from axiomjit.passes.ir.loop_ir import (
    Alloc,
    Drain,
    Fold,
    For,
    If,
    Let,
    LibraryCall,
    Limit,
    Load,
    LoopProgram,
    Nest,
    Pick,
    Push,
    Stmt,
    Store,
    Take,
    cell,
    statements,
    used,
    walk,
)
from axiomjit.passes.ir.print_loops import print_loops
from axiomjit.passes.ir.view_ir import POSITIONS, ArrayRole


def verify_loops(program: LoopProgram) -> None:
    """Check every step.

    Raises:
        VerifyError: an invariant does not hold.
    """
    for fault in _faults(program):
        raise VerifyError(
            "a legal loop program", fault, f"report this as a defect\n{print_loops(program)}"
        )


def _faults(program: LoopProgram) -> Iterator[str]:
    numbers = {number.name for number in program.numbers}
    filled = {s.name for s in program.storages if s.role.is_given}
    listed = {s.name for s in program.storages}
    for step in program.steps:
        reads, writes = ({storage.name for storage in used} for used in accessed(step))
        if isinstance(step, Nest):
            yield from _nest_faults(step, numbers)
            own = {buffer.name for buffer in (*step.partials, *step.tiles, POSITIONS)}
            writes -= own
            reads -= own
            reads -= writes  # a nest may read what it has written; order is checked by names
        yield from (f"{name} is read before it is written" for name in sorted(reads - filled))
        again = (writes & filled) - program.updated
        yield from (f"{name} is written twice" for name in sorted(again))
        yield from (f"{name} is not listed" for name in sorted((reads | writes) - listed))
        filled |= writes
    for one, later in zip((None, *program.steps), (*program.steps, None), strict=True):
        ahead = one.partials if isinstance(one, Nest) and one.ahead else ()
        chained = (
            later.partials if isinstance(later, Nest) and later.chunk_chain is not None else ()
        )
        if ahead != chained:
            yield "a nest ahead of one without a chain for its partials, or the reverse"
        if isinstance(one, Nest) and one.shared is not None and _kept_by(one) != _kept_by(later):
            yield "a shared nest before what does not give the same"
    if program.costs and len(program.costs) != len(program.steps):
        yield f"{len(program.costs)} costs of {len(program.steps)} steps"
    for view in (*program.results, *(count.view for count in program.counts)):
        if view.storage.name not in filled:
            yield f"result {view.storage.name} is never written"


def _kept_by(step: Nest | LibraryCall | None) -> set[str]:
    """The storages in which a nest leaves something that is not its own; else none."""
    if not isinstance(step, Nest):
        return set()
    own = {buffer.name for buffer in (*step.partials, *step.tiles)}
    return {s.buffer.name for s in statements(step) if isinstance(s, Store)} - own


def _nest_faults(nest: Nest, numbers: set[str]) -> Iterator[str]:
    for part in (nest.body, nest.combine):
        yield from _body_faults(part, set(numbers), {}, set(), chained=nest.chunk_chain is not None)
        yield from _tile_faults(part, None, set())
    if nest.combine and not nest.partials:
        yield "a combine part without partials"
    yield from _partial_faults(nest)
    if nest.chunk_chain is not None and not nest.partials:
        yield "a chain without partials"
    loops = [stmt for stmt in nest.body if isinstance(stmt, For)]
    outer = [loop for loop in loops if loop.kind == "map"]
    if any(isinstance(s, For) and s.poll_every for s in (*outer, *walk(nest.combine))):
        yield "a loop over the caller's range looks, or one of the combine part"
    if nest.combine and not (loops and loops[0].kind == "map"):
        yield "a nest with a combine part needs one outer map loop"
    yield from _scatter_faults(nest)
    grid = any(loop.kind == "map" for loop in loops)
    if grid and len({(s.iterator, s.extent) if isinstance(s, For) else s for s in nest.body}) != 1:
        yield "statements beside the outer map loop"


def _scatter_faults(nest: Nest) -> Iterator[str]:
    """What a scatter writes is used by nothing else in the nest, a partial in the same loop."""
    every = list(statements(nest))
    loops = [list(walk(s.body)) for s in every if isinstance(s, For) and s.kind == "scatter"]
    for buffer in {s.buffer for s in every if isinstance(s, Store) and s.scatters}:
        bodies = loops if buffer.role is ArrayRole.PARTIAL else [every]
        uses = (sum(isinstance(s, Load | Store) and s.buffer is buffer for s in b) for b in bodies)
        if max(uses, default=0) > 1:
            yield f"{buffer.name} is used beside the scatter into it"


def _body_faults(
    body: tuple[Stmt, ...],
    names: set[str],
    loops: dict[str, For],
    states: set[str],
    chained: bool,
) -> Iterator[str]:
    """Names, iterators and states are visible from their statement to the end of its body.

    In a nest with a chain, steps of the outer loops feed folds.
    """
    names, states = set(names), set(states)
    for stmt in body:
        for name in used(stmt):
            if name not in names:
                yield f"{name} is used before it is defined"
        yield from _place_faults(stmt, loops, states, chained=chained)
        match stmt:
            case For():
                if stmt.iterator in loops:
                    yield f"two loops over {stmt.iterator}"
                if stmt.under is not None and [*loops] != [stmt.under]:
                    yield f"{stmt.iterator} is not directly in the first loop, {stmt.under}"
                inner = {**loops, stmt.iterator: stmt}
                yield from _body_faults(stmt.body, names, inner, states, chained)
            case If():
                yield from _body_faults(stmt.body, names, loops, states, chained)
            case Pick():
                for part in stmt.parts:
                    made = names | {s.name for s in part.body if isinstance(s, Let | Load | Pick)}
                    if part.value not in made:
                        yield f"{stmt.name} picks {part.value}, which is not defined"
                    yield from _body_faults(part.body, names, loops, states, chained)
        match stmt:
            case Let() | Load() | Take() | Pick():
                if stmt.name in names:
                    yield f"{stmt.name} is defined twice"
                names.add(stmt.name)
            case Alloc():
                states.add(stmt.state.name)


def _place_faults(
    stmt: Stmt, loops: dict[str, For], states: set[str], *, chained: bool
) -> Iterator[str]:
    match stmt:
        case Load() | Store():
            for name, _ in stmt.index.terms:
                if name not in loops and name not in stmt.index.gathered:
                    yield f"index of {stmt.buffer.name} names {name} outside its loop"
            if isinstance(stmt, Store) and stmt.scatters:
                own = {name for name, _ in stmt.index.terms}
                for name in reversed(loops):  # from the innermost: blocks of blocks too
                    block = loops[name].block
                    own |= {block.outer} if name in own and block is not None else set()
                lengths = *(loop.extent for loop in loops.values()), *stmt.buffer.shape
                empty = any(length.constant == 0 for length in lengths)
                for name, loop in () if empty else loops.items():
                    if loop.kind != "scatter" and name not in own:
                        yield f"the scatter into {stmt.buffer.name} in steps of {name} in any order"
        case Pick():
            named = {bound.iterator for part in stmt.parts for bound in part.bounds}
            for iterator in sorted(named - {None, *loops}, key=str):
                yield f"bounds of {stmt.name} name {iterator} outside its loop"
        case If(limits=limits):
            yield from _limit_faults(limits, loops, set(loops))
        case For(limits=limits) if limits:
            yield from _limit_faults(limits, {**loops, stmt.iterator: stmt}, {stmt.iterator})
            if any(stmt.iterator not in dict(limit.terms) for limit in limits):
                yield f"{stmt.iterator} has the limit of another loop"
        case For(poll_every=every) if every and (stmt.block or stmt.at or stmt.together > 1):
            yield f"{stmt.iterator} looks after {every} steps, but takes others than one by one"
        case For(block=block) if block is not None and block.outer not in loops:
            yield f"block of {stmt.iterator} in the absent loop {block.outer}"
        case For(block=block) if block is not None and (
            block.together != loops[block.outer].together
        ):
            yield f"blocks of {stmt.iterator} are not those of {block.outer}"
        case Fold() | Take():
            lanes = stmt.state.lanes
            if stmt.state.name not in states:
                yield f"state {stmt.state.name} is not open"
            if lanes is not None and lanes not in loops:
                yield f"lane {lanes} of {stmt.state.name} outside its loop"
            inside = chained or any(x.kind == "fold" for x in loops.values())
            if isinstance(stmt, Fold) and not inside:
                yield f"fold of {stmt.state.name} outside a fold loop"
        case Push() | Drain():
            if stmt.state.name not in states:
                yield f"state {stmt.state.name} is not open"


def _limit_faults(
    limits: tuple[Limit, ...], loops: dict[str, For], forward: set[str]
) -> Iterator[str]:
    """Faults of limits, in which the factors of `forward` iterators are positive."""
    for limit in limits:
        for name, factor in limit.terms:
            if name not in loops:
                yield f"a limit names {name} outside its loop"
            if name in forward and factor.constant is not None and factor.constant < 1:
                yield f"a limit with the factor {factor} of {name}"


def _partial_faults(nest: Nest) -> Iterator[str]:
    """What is kept in a partial is loaded later: in the combine part, or in the same body.

    Those of a chain are filled ahead, or by the step before.
    """
    kept = {buffer.name for buffer in nest.partials}
    stored: set[str] = set() if nest.chunk_chain is None else set(kept)
    for part in (nest.body, nest.combine):
        for stmt in walk(part):
            if isinstance(stmt, Store):
                stored.add(stmt.buffer.name)
            elif isinstance(stmt, Load) and stmt.buffer.name in kept - stored:
                yield f"the partial {stmt.buffer.name} is loaded before it is stored"
    loaded = {s.buffer.name for s in statements(nest) if isinstance(s, Load)}
    loaded |= kept if nest.chunk_chain is not None else set()
    yield from (f"the partial {name} is never loaded" for name in sorted(kept - loaded))


def _tile_faults(
    body: tuple[Stmt, ...], loop: For | None, filled: set[tuple[str, For]]
) -> Iterator[str]:
    """A tile is loaded in a loop over a block after an earlier one, of equal head, filled it."""
    stored: set[tuple[str, For]] = set()
    for stmt in body:
        if isinstance(stmt, For):
            head = stmt.replace(kind="map", body=())
            yield from _tile_faults(stmt.body, head, stored)
            stored |= {(s.buffer.name, head) for s in stmt.body if isinstance(s, Store)}
        elif isinstance(stmt, Load | Store) and stmt.buffer.role is ArrayRole.TILE:
            name, block = stmt.buffer.name, None if loop is None else loop.block
            if loop is None or block is None or stmt.index != cell(loop.iterator, block):
                yield f"index of the tile {name} is not the cell of its step"
            elif stmt.buffer.shape != (dim(block.size),):
                yield f"the tile {name} has not one cell for each step"
            elif isinstance(stmt, Load) and (name, loop) not in filled:
                yield f"the tile {name} is read before it is filled"
