"""Rewrite loop programs: reorder loops, replace and rename statements, share values, join nests."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import permutations
from typing import Final

from axiomjit.base.records import Record
from axiomjit.graph.nodes import LengthNode, Scalar
from axiomjit.passes.ir.loop_ir import (
    Alloc,
    Bound,
    Cost,
    Defining,
    Drain,
    Fold,
    For,
    If,
    Index,
    Leave,
    Let,
    LibraryCall,
    Limit,
    Load,
    LoopProgram,
    Name,
    Nest,
    Part,
    Push,
    ReadState,
    Select,
    State,
    Stmt,
    Store,
    When,
    accessed,
    map_nests,
    rewrite_body,
    walk,
)
from axiomjit.passes.ir.view_ir import POSITIONS, ArrayRole, Number, Storage
from axiomjit.symbolic.dims import Dim, dim, product
from axiomjit.views.descriptions import row_major_strides

MAX_PERMUTED: Final = 4
"""The largest number of nested loops of which all orders are tried."""
Body = tuple[Stmt, ...]


def in_one_order(first: Body, second: Body) -> Iterator[tuple[Body, Body]]:
    """Yield both bodies; if one has no folds, its loops get the order of the other's loops."""
    folded = [any(isinstance(stmt, Fold) for stmt in walk(body)) for body in (first, second)]
    if folded[0] == folded[1]:
        return
    plain, other = (second, first) if folded[0] else (first, second)
    if len(plain) != 1 or not isinstance(plain[0], For):
        return
    chain, inner = chain_of(plain[0])
    if keeps_order(plain[0]):
        return
    wanted = extents_of(other)
    extents = [loop.extent for loop in chain]
    if sorted(map(id, extents)) != sorted(map(id, wanted)) or len(chain) > MAX_PERMUTED:
        return
    for order in permutations(chain):
        if list(order) != chain and [loop.extent for loop in order] == wanted:
            body = nested(order, rewrite_body(inner, partial(in_loop_order, loops=order)))
            yield (first, body) if plain is second else (body, second)


def extents_of(body: Body) -> list[Dim]:
    """The extents of the first loop in a body, of the first loop inside that loop, and so on."""
    found = []
    loop = next((stmt for stmt in body if isinstance(stmt, For)), None)
    while loop is not None:
        found.append(loop.extent)
        loop = next((stmt for stmt in loop.body if isinstance(stmt, For)), None)
    return found


def in_loop_order(stmt: Stmt, loops: Sequence[For]) -> Body:
    """The statement with its index's terms in loop order, after gathered values."""
    if not isinstance(stmt, Load | Store):
        return (stmt,)
    places = {loop.iterator: k for k, loop in enumerate(loops)}
    terms = sorted(stmt.index.terms, key=lambda term: places.get(term[0], -1))
    return (stmt.replace(index=stmt.index.replace(terms=tuple(terms))),)


def chain_of(loop: For) -> tuple[list[For], tuple[Stmt, ...]]:
    """The loops of a perfect nest down to the first loop of another kind, and the body inside."""
    chain = [loop]
    body = loop.body
    while len(body) == 1 and isinstance(body[0], For) and body[0].kind == loop.kind:
        chain.append(body[0])
        body = body[0].body
    return chain, body


def nested(loops: Sequence[For], body: Body) -> Body:
    """The statements inside nested loops; the first of `loops` becomes the outermost loop."""
    for loop in reversed(loops):
        body = (loop.replace(body=body),)
    return body


def all_steps(loops: Iterable[For]) -> Dim:
    """The total number of iterations of nested loops."""
    return product(tuple(loop.extent for loop in loops))


def row_major_terms(loops: Sequence[For]) -> tuple[tuple[str, Dim], ...]:
    """The terms of the row-major index over nested loops: iterators with their strides."""
    strides = row_major_strides(tuple(loop.extent for loop in loops))
    return tuple((loop.iterator, stride) for loop, stride in zip(loops, strides, strict=True))


def keeps_order(loop: For) -> bool:
    """True if results depend on the order of a loop's iterations."""
    folds = (s.state.accumulator for s in walk((loop,)) if isinstance(s, Fold))
    if loop.kind == "fold":
        return not all(fold.commutative for fold in folds)
    return loop.kind == "scatter"


def flipped(loop: For) -> For:
    """The loop with its iterations in the opposite order."""
    name, last = loop.iterator, loop.extent - 1
    return loop.replace(body=rewrite_body(loop.body, lambda s: (_from_end(s, name, last),)))


def read_forward(host: Body, guest: Body) -> Iterator[Body]:
    """Yield `guest` with those loops flipped that read elements stored by `host` backward."""
    stored: dict[Storage, set[Dim]] = {}
    for stmt in walk(host):
        if isinstance(stmt, Store):
            stored.setdefault(stmt.buffer, set()).update(stride for _, stride in stmt.index.terms)
    loads = [s for s in walk(guest) if isinstance(s, Load) and s.buffer in stored]

    def is_backward(loop: For) -> bool:
        steps = [(stored[s.buffer], dict(s.index.terms).get(loop.iterator)) for s in loads]
        return all(s is not None and s not in known and s * -1 in known for known, s in steps)

    def rule(stmt: Stmt) -> Body:
        return (flipped(stmt) if isinstance(stmt, For) and is_backward(stmt) else stmt,)

    turned = rewrite_body(guest, rule) if loads else guest
    if turned != guest:
        yield turned


def _from_end(stmt: Stmt, iterator: str, last: Dim) -> Stmt:
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


def walks_as_one(index: Index, outer: For, inner: For) -> bool:
    """True if one iteration of `outer` moves the index as far as all iterations of `inner`."""
    strides = dict(index.terms)
    zero = dim(0)
    step = strides.get(inner.iterator, zero)
    return strides.get(outer.iterator, zero) is step * inner.extent


def stride_cost(loop: For, accesses: Sequence[Load | Store]) -> tuple[float, float]:
    """The cost of a loop order with this loop innermost, as a pair to compare.

    The first number counts accesses with a stride of more than one element. The second number is
    minus the count of accesses with a stride of one element. A store counts as 1.5 accesses.
    """
    jumps = units = 0.0
    for access in accesses:
        weight = 1.5 if isinstance(access, Store) else float(access.buffer is not POSITIONS)
        for name, stride in access.index.terms:
            if name == loop.iterator:
                near = stride.constant in (1, -1)
                jumps, units = jumps + weight * (not near), units + weight * near
    return jumps, -units


def rewrite_nests(program: LoopProgram, rule: Callable[[Stmt], tuple[Stmt, ...]]) -> LoopProgram:
    """Replace each statement in the bodies of nests by the statements that `rule` returns."""

    def rewritten(nest: Nest) -> Nest:
        body = rewrite_body(nest.body, rule)
        return nest if body == nest.body else nest.replace(body=body)

    return map_nests(program, rewritten)


def replace_nests(
    program: LoopProgram, rule: Callable[[Nest, Cost], Sequence[tuple[Nest, Cost]] | None]
) -> LoopProgram:
    """Replace each nest by the nests and costs that `rule` returns; for None, keep the nest."""
    made: list[tuple[Nest | LibraryCall, Cost]] = []
    for step, cost in zip(program.steps, program.costs, strict=True):
        several = rule(step, cost) if isinstance(step, Nest) else None
        made += [(step, cost)] if several is None else several
    if len(made) == len(program.steps):
        return program
    steps, costs = zip(*made, strict=True)
    return program.replace(steps=steps, costs=costs)


def without_unread(program: LoopProgram) -> LoopProgram:
    """The program without unread temporaries, and without statements that only those need."""
    needed = {view.storage for view in program.results}
    needed |= {count.view.storage for count in program.counts}
    for step in program.steps:
        reads, writes = accessed(step)
        needed |= reads | (writes if isinstance(step, LibraryCall) else set())
    dead = {s for s in program.storages if s.role is ArrayRole.TEMPORARY and s not in needed}
    if not dead:
        return program

    def rule(stmt: Stmt) -> tuple[Stmt, ...]:
        if isinstance(stmt, Store) and stmt.buffer in dead:
            return ()
        return () if isinstance(stmt, For | If) and _only_defines(stmt.body) else (stmt,)

    steps: list[Nest | LibraryCall] = []
    for step in program.steps:
        if isinstance(step, Nest) and not dead.isdisjoint(accessed(step)[1]):
            step = step.replace(body=rewrite_body(step.body, rule))
            if _only_defines(step.body):
                continue
        steps.append(step)
    storages = tuple(s for s in program.storages if s not in dead)
    return program.replace(storages=storages, steps=tuple(steps))


def _only_defines(body: Body) -> bool:
    """True if statements only define scalars, which no statement outside the body can use."""
    return all(isinstance(stmt, Defining) for stmt in body)


def map_bodies(nest: Nest, rule: Callable[[tuple[Stmt, ...]], tuple[Stmt, ...]]) -> Nest:
    """Apply `rule` to the body and the combine part of a nest."""
    return nest.replace(body=rule(nest.body), combine=rule(nest.combine))


def rename_iterators(body: tuple[Stmt, ...], names: dict[str, str]) -> tuple[Stmt, ...]:
    """The statements with iterators, values and states renamed by `names`."""

    def get(name: str) -> str:
        return names.get(name, name)

    def index(old: Index) -> Index:
        terms = tuple((get(name), stride) for name, stride in old.terms)
        return Index(old.offset, terms, tuple(map(get, old.gathered)))

    def limits(old: tuple[Limit, ...]) -> tuple[Limit, ...]:
        return tuple(
            Limit(tuple((get(name), factor) for name, factor in limit.terms), limit.low, limit.high)
            for limit in old
        )

    def part(old: Part) -> Part:
        bounds = tuple(
            Bound(None if b.iterator is None else get(b.iterator), b.low, b.high)
            for b in old.bounds
        )
        return Part(bounds, old.body, get(old.value))

    def state(old: State) -> State:
        lanes = None if old.lanes is None else get(old.lanes)
        return old.replace(name=get(old.name), lanes=lanes)

    def rule(stmt: Stmt) -> tuple[Stmt, ...]:
        match stmt:
            case For(iterator=name, block=block):
                new = None if block is None else block.replace(outer=get(block.outer))
                at = None if stmt.at is None else get(stmt.at)
                kept = limits(stmt.limits)
                return (stmt.replace(iterator=get(name), block=new, at=at, limits=kept),)
            case If():
                return (stmt.replace(limits=limits(stmt.limits)),)
            case Let(name=name, operands=operands):
                return (stmt.replace(name=get(name), operands=tuple(map(get, operands))),)
            case Load(name=name):
                return (stmt.replace(name=get(name), index=index(stmt.index)),)
            case Store(value=value):
                return (stmt.replace(value=get(value), index=index(stmt.index)),)
            case Fold(values=values):
                return (stmt.replace(values=tuple(map(get, values)), state=state(stmt.state)),)
            case ReadState(name=name, including=including):
                values = tuple(map(get, including))
                return (stmt.replace(name=get(name), state=state(stmt.state), including=values),)
            case Push(value=value) if value is not None:
                return (stmt.replace(value=get(value), state=state(stmt.state)),)
            case Alloc() | Push() | Drain():
                return (stmt.replace(state=state(stmt.state)),)
            case Select(name=name):
                return (stmt.replace(name=get(name), parts=tuple(map(part, stmt.parts))),)
            case When(value=value) | Leave(value=value):
                return (stmt.replace(value=get(value)),)

    return rewrite_body(body, rule)


def names_in(body: tuple[Stmt, ...]) -> Iterator[Name]:
    """The names in a body that `lower_to_loops` made: iterators, values and states."""
    for stmt in walk(body):
        match stmt:
            case For(iterator=Name() as name):
                yield name
            case Let(name=Name() as name) | Load(name=Name() as name):
                yield name
            case ReadState(name=Name() as name) | Select(name=Name() as name):
                yield name
            case Alloc(state=State(name=Name() as name)):
                yield name
            case For() | Let() | Load() | ReadState() | Select() | Alloc():
                raise TypeError(f"{type(stmt).__name__} has a name without a number")


class SharedScalars:
    """The loads and scalars of the statements added so far, and the values that they store.

    `names` maps each scalar that was left out to the scalar that replaces it.
    """

    def __init__(self) -> None:
        self.names: dict[str, str] = {}
        self._known: dict[object, str] = {}
        self._stored: dict[tuple[Storage, Index], str] = {}

    def copied(self) -> SharedScalars:
        """A copy; statements that are added to the copy do not change this object."""
        copy = SharedScalars()
        copy._known, copy._stored = {**self._known}, {**self._stored}
        return copy

    def add(self, body: Iterable[Stmt]) -> list[Stmt]:
        """The statements that are not yet in the body, with operands replaced by shared scalars."""
        kept: list[Stmt] = []
        for original in body:
            stmt = rename_iterators((original,), self.names)[0] if self.names else original
            key: object = None
            match stmt:
                case Load(buffer=buffer, index=index):
                    key = (buffer, index)
                    if key in self._stored:
                        self._known[key] = self._stored[(buffer, index)]
                case Let(dtype=dtype, primitive=primitive, operands=operands):
                    key = (dtype, primitive, operands)
                case ReadState(state=state, part=at, including=including):
                    key = (state, at, including)
                case Store(buffer=buffer, index=index, value=value) if not stmt.scatters:
                    self._stored[(buffer, index)] = value
            if key is not None and isinstance(stmt, Load | Let | ReadState):
                if key in self._known:
                    self.names[stmt.name] = self._known[key]
                    continue
                self._known[key] = stmt.name
            kept.append(stmt)
        return kept


def share_scalars(body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
    """Compute equal loads and scalars of a body once, and use stored values instead of loads."""
    if len(body) < 2:
        return body
    shared = SharedScalars()
    result = shared.add(body)
    return tuple(result) if shared.names else body


def share_states(body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
    """Replace states that fold the same value in the same loop by one state."""
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


class AddedNumbers:
    """The numbers of a program, with the numbers that a pass adds."""

    def __init__(self, numbers: Sequence[Number]) -> None:
        self.every = list(numbers)
        self._names = {number.origin: number.name for number in numbers}

    def named(self, origin: Scalar | LengthNode) -> str:
        """The name of a number, which is added to the program if it is missing."""
        if origin not in self._names:
            number = Number(f"c{len(self.every)}", origin.dtype, origin)
            self.every.append(number)
            self._names[origin] = number.name
        return self._names[origin]


class PlainWalk(Record):
    """A perfect nest of `map` loops that run all iterations, outermost first, and its body."""

    loops: tuple[For, ...]
    body: tuple[Stmt, ...]

    @property
    def reads(self) -> tuple[Load, ...]:
        """The loads in the body, except the loads of positions."""
        loads = (s for s in self.body if isinstance(s, Load))
        return tuple(s for s in loads if s.buffer is not POSITIONS)

    @property
    def writes(self) -> tuple[Store, ...]:
        """The stores in the body."""
        return tuple(s for s in self.body if isinstance(s, Store))


def plain_walk(nest: Nest) -> PlainWalk | None:
    """The nest as a perfect nest of `map` loops over all iterations; None for other nests."""
    outer = nest.body[0]
    if len(nest.body) > 1 or nest.partials or nest.tiles or not isinstance(outer, For):
        return None
    loops, body = chain_of(outer)
    whole = all(s.block is None and s.span is None and not s.limits for s in loops)
    if outer.kind != "map" or not whole or any(s.at or s.unroll > 1 for s in loops):
        return None
    plain = all(isinstance(s, Let | Load | Store) for s in body)
    plain = plain and not any(isinstance(s, Store) and s.scatters for s in body)
    return PlainWalk(tuple(loops), body) if plain else None


def with_common_iterators(
    first: PlainWalk, second: PlainWalk, shared: Collection[Storage]
) -> tuple[PlainWalk, PlainWalk] | None:
    """Both loop nests with the iterators of the first one; None if iteration spaces differ.

    In the results, the second loop nest loads each element of a `shared` storage in the iteration
    in which the first one stores it. A collapsed loop is split if the other loop nest has its parts
    as separate loops.
    """
    if len(first.loops) < len(second.loops):
        first = _expanded(first, second.loops)
    elif len(first.loops) > len(second.loops):
        second = _expanded(second, first.loops)
    names: dict[str, str] = {}
    places = {s.buffer: s.index for s in first.writes if s.buffer in shared}
    extents = {loop.iterator: loop.extent for loop in (*first.loops, *second.loops)}
    for load in (s for s in second.reads if s.buffer in shared):
        if load.index.gathered:
            return None
        own = {stride: name for name, stride in places[load.buffer].terms}
        for name, stride in load.index.terms:
            here = own.get(stride, "")
            if names.setdefault(name, here) != here or extents.get(here) is not extents[name]:
                return None
        if load.index.offset is not places[load.buffer].offset:
            return None
    if len(set(names.values())) != len(first.loops) or len(names) != len(second.loops):
        return None
    names |= _other_values(first, second)
    renamed = rename_iterators(second.body, names)
    body = rewrite_body(renamed, partial(in_loop_order, loops=first.loops))
    return first, second.replace(loops=first.loops, body=body)


def joined_nest(pair: tuple[PlainWalk, PlainWalk], shared: Collection[Storage]) -> Nest:
    """Join both loop nests; values replace the stores and loads of `shared` storages."""
    first, second = pair
    values = {s.buffer: s.value for s in first.writes if s.buffer in shared}
    passed = {s.name: values[s.buffer] for s in second.reads if s.buffer in shared}
    body = tuple(s for s in first.body if not (isinstance(s, Store) and s.buffer in shared))
    rest = tuple(s for s in second.body if not (isinstance(s, Load) and s.name in passed))
    body += rename_iterators(rest, passed)
    return Nest(nested(first.loops, body))


def _other_values(first: PlainWalk, second: PlainWalk) -> dict[str, str]:
    """New names for the values of the second loop nest; the first one uses none of these names."""
    made = [s.name for walk in (first, second) for s in walk.body if isinstance(s, Let | Load)]
    free = 1 + max((name.number for name in made if isinstance(name, Name)), default=0)
    own = (s.name for s in second.body if isinstance(s, Let | Load))
    return {name: Name("v", k) for k, name in enumerate(own, free)}


def _expanded(walk: PlainWalk, finer: Sequence[For]) -> PlainWalk:
    """The loop nest with loops split to the extents of `finer`; unchanged if these do not match."""
    rest = list(finer)
    loops: list[For] = []
    parts: dict[str, list[For]] = {}
    for loop in walk.loops:
        taken: list[For] = []
        while rest and all_steps(taken) is not loop.extent:
            taken.append(rest.pop(0))
        parts[loop.iterator] = [
            s.replace(iterator=f"{loop.iterator}x{k}", body=()) for k, s in enumerate(taken)
        ]
        loops += parts[loop.iterator]
    whole = (all_steps(parts[loop.iterator]) for loop in walk.loops)
    if rest or any(one is not s.extent for one, s in zip(whole, walk.loops, strict=True)):
        return walk
    body = tuple(_split(stmt, parts) for stmt in walk.body)
    return walk.replace(loops=tuple(loops), body=body)


def _split(stmt: Stmt, parts: Mapping[str, Sequence[For]]) -> Stmt:
    """The statement with each split iterator replaced by the iterators of the new loops."""
    if not isinstance(stmt, Load | Store):
        return stmt
    terms: list[tuple[str, Dim]] = []
    for name, stride in stmt.index.terms:
        inside = row_major_terms(parts[name]) if name in parts else ((name, dim(1)),)
        terms += ((inner, stride * below) for inner, below in inside)
    return stmt.replace(index=stmt.index.replace(terms=tuple(terms)))
