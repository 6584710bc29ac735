"""LoopProgram -> LoopProgram: nests over the same iteration space become one nest."""

from __future__ import annotations

import math
from bisect import insort
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from heapq import merge
from itertools import groupby, takewhile
from typing import Final

from axiomjit.base.records import Record
from axiomjit.passes.graph.choose_storage import MAX_SPLIT_STATEMENTS
from axiomjit.passes.ir.context import Context
from axiomjit.passes.ir.loop_ir import (
    Alloc,
    Defining,
    Fold,
    For,
    If,
    Index,
    Let,
    LibraryCall,
    Load,
    LoopProgram,
    Nest,
    Select,
    Stmt,
    Store,
    accessed,
    bounds_of,
    outer_values,
    walk,
)
from axiomjit.passes.ir.rewriting import (
    SharedScalars,
    chain_of,
    extents_of,
    in_one_order,
    names_in,
    nested,
    read_forward,
    rename_iterators,
    share_scalars,
    share_states,
    stride_cost,
    walks_as_one,
    without_unread,
)
from axiomjit.passes.ir.view_ir import ArrayRole, Storage
from axiomjit.symbolic.data_dependent import HeuristicScope, data_dependent_in
from axiomjit.symbolic.dims import Dim, Symbol, bound

MAX_CACHED_ROW: Final = 65_536
"""The largest number of elements of a row that stays in the cache while several loops walk it."""
MIN_BLOCK_STEPS: Final = 64
"""The smallest number of steps of an inner fold loop whose runs may be blocks of the outer fold.
"""
MAX_SHORT: Final = 8
"""The largest number of elements of a row too short for vectors: the number of lanes of a vector of
most dtypes.
"""
MAX_STATEMENTS: Final = 200
"""The largest number of statements in one nest; with more, compilation costs more time than fusion
saves.
"""

Stored = dict[Storage, tuple[Index, str]]
"""For each storage, the index and the name of the value of the last store into it."""


def fuse_loops(program: LoopProgram, context: Context) -> LoopProgram:
    """Join nests, and sibling loops inside a nest, whose loops have the same extents.

    A value that one nest stores and the next loads at the same index is passed on as a scalar; a
    temporary that is no longer loaded is dropped. Loops with different extents stay separate. Two
    nests stay separate if one reads elements that the other stores at another index, or if the
    nests walk memory in different directions. A nest of elementary functions of short rows stays
    separate from a nest that needs a loop over these rows. If loops along a row cannot be merged
    and rows are short, they run in sequence inside one loop over the rows, so that data is still in
    the cache when the next loop reads it. Tests for short rows record guards in the scope. The
    loops of a nest without folds take the order of a nest with folds that uses the same memory.

    Needs: a legal loop program whose loops have no blocks.
    Gives: a legal loop program.
    Keeps: every result, bit for bit.
    """
    with bound(HeuristicScope(context.scope)):
        steps = _joined_steps(program) if len(program.steps) > 1 else [*map(_tidy, program.steps)]
    if program.updated:
        steps = [_stored_once(step) if isinstance(step, Nest) else step for step in steps]
    if tuple(steps) == program.steps:
        return without_unread(program)
    return without_unread(program.replace(steps=tuple(steps)))


def _joined_steps(program: LoopProgram) -> list[Nest | LibraryCall]:
    counts = {count.choice.symbol: count.view.storage for count in program.counts}
    checked = [count.view.storage for count in program.counts if count.choice.guards]
    joined = _Joined(counts, checked)
    for step in program.steps:
        joined.take(step)
    return joined.every


def _tidy(step: Nest | LibraryCall) -> Nest | LibraryCall:
    if isinstance(step, LibraryCall):
        return step
    body = _merge(step.body)
    return step if body == step.body else Nest(body)


class _Facts(Record):
    """Facts that may forbid joining a step; `counts` are the step's data-dependent lengths."""

    reads: frozenset[Storage]
    writes: frozenset[Storage]
    size: int  # statements of the step
    extents: tuple[Dim, ...]
    """The extents of the nested loops of the step; empty unless there is exactly one outer loop."""
    limited: bool = False
    """True if some statements run only in some iterations."""
    scattered: frozenset[Storage] = frozenset()
    """The storages written by scatters; a step that uses these storages must not be joined."""
    may_fail: bool = False
    """True if the step may raise an error, or find that the program is invalid for the call; only
    later steps may write arguments."""
    counts: frozenset[Storage] = frozenset()

    @property
    def storages(self) -> frozenset[Storage]:
        """The storages that the step reads or writes."""
        return self.reads | self.writes

    def may_join(self, other: _Facts) -> bool:
        """True if the outer loops of both steps may become one loop, perhaps in another order."""
        if self.scattered & other.storages or other.scattered & self.storages:
            return False
        if not self.extents or not other.extents or self.extents[0] is other.extents[0]:
            return True
        return set(map(id, self.extents)) == set(map(id, other.extents))


def _facts(
    step: Nest | LibraryCall, counts: Mapping[Symbol, Storage], checked: Sequence[Storage]
) -> _Facts:
    """The facts about a step; the reads include the counts of data-dependent lengths.

    `checked` are the storages of the numbers that decide if the program is valid for the call.
    """
    reads, writes = map(frozenset, accessed(step))
    if isinstance(step, LibraryCall):
        return _Facts(reads, writes, 0, (), may_fail=step.operation.may_raise)
    every = step.statements
    loops = [s for s in step.body if isinstance(s, For)]
    lengths = _data_dependent_lengths(every, reads | writes) if counts else ()
    known = frozenset(counts[symbol] for symbol in lengths)
    return _Facts(
        known | reads,
        writes,
        len(every),
        tuple(extents_of(step.body)) if len(loops) == 1 else (),
        any(isinstance(s, If) for s in every),
        frozenset(s.buffer for s in every if isinstance(s, Store) and s.scatters),
        any(storage in writes for storage in checked),
        known,
    )


def _data_dependent_lengths(every: Sequence[Stmt], used: Iterable[Storage]) -> frozenset[Symbol]:
    """The data-dependent lengths in statements, and in the shapes and strides of used storages."""
    extents = [s.extent for s in every if isinstance(s, For)]
    indices = [s.index for s in every if isinstance(s, Load | Store)]
    named = [d for i in indices for d in (i.offset, *(stride for _, stride in i.terms))]
    shapes = [d for storage in used for d in (*storage.shape, *storage.strides)]
    return data_dependent_in(*extents, *named, *shapes)


class _Joined:
    """The steps that were added so far; nests have joined earlier nests where possible.

    Tables hold the dependences between nests, and the nests that can still take more statements. So
    the time for a long program is proportional to its length.
    """

    def __init__(self, counts: Mapping[Symbol, Storage], checked: Sequence[Storage]) -> None:
        self._counts, self._checked = counts, checked
        self._steps: list[Nest | LibraryCall] = []
        self._facts: list[_Facts] = []
        self._plain: dict[int, _PlainHost | None] = {}
        self._written: dict[Storage, int] = {}
        self._used: dict[Storage, int] = {}
        self._may_fail = -1
        # for each key, the nests that take more statements, in order
        self._open: dict[object, list[int]] = {}

    @property
    def every(self) -> list[Nest | LibraryCall]:
        """All steps added so far; a nest that joined an earlier nest is a part of that nest."""
        for k, host in self._plain.items():
            if host is not None:
                self._steps[k] = host.nest
        return self._steps

    def take(self, step: Nest | LibraryCall) -> None:
        """Add a step, or join the step to the latest earlier nest that it can join."""
        facts = _facts(step, self._counts, self._checked)
        if isinstance(step, Nest) and self._joins(step, facts):
            return
        self._steps.append(_tidy(step))
        self._facts.append(facts)
        self._note(len(self._facts) - 1, None)

    def _joins(self, nest: Nest, own: _Facts) -> bool:
        """Join the nest to an earlier nest; False if there is no earlier nest that it can join."""
        writes_argument = any(storage.role is ArrayRole.ARGUMENT for storage in own.writes)
        after = [self._may_fail] if writes_argument else []
        after += [self._written.get(storage, -1) for storage in own.counts]
        least = [1 + max(after, default=-1)]
        least += [self._written.get(storage, 0) for storage in own.reads]
        least += [self._used.get(storage, 0) for storage in own.writes]
        plain = _plain_part(nest)
        return not own.limited and any(
            self._joins_at(k, nest, plain, own) for k in self._candidates(own, max(least))
        )

    def _candidates(self, own: _Facts, least: int) -> Iterator[int]:
        """The nests, from place `least` on, that a nest may join; the latest comes first."""
        rows = [self._open.get(key, []) for key in _keys(own)]
        late = (takewhile(lambda k: k >= least, reversed(row)) for row in rows)
        return (k for k, _ in groupby(merge(*late, reverse=True)))

    def _joins_at(self, k: int, nest: Nest, plain: _Plain | None, own: _Facts) -> bool:
        facts = self._facts[k]
        if facts.size + len(own.writes) > MAX_STATEMENTS or not facts.may_join(own):
            return False
        host = self._plain_host(k)
        if host is not None and plain is not None and host.fits(plain):
            grown = host.joined(plain, facts, own)
            if grown is None:
                return False
            self._facts[k] = grown
        else:
            first = self._steps[k] if host is None else host.nest
            assert isinstance(first, Nest)
            fused = _join(first, nest, bool(facts.storages & own.storages))
            if fused is None:
                return False
            self._steps[k] = fused
            self._plain.pop(k, None)
            self._facts[k] = _facts(fused, self._counts, self._checked)
        self._note(k, facts)
        return True

    def _plain_host(self, k: int) -> _PlainHost | None:
        if k not in self._plain:
            step = self._steps[k]
            plain = _plain_part(step) if isinstance(step, Nest) else None
            self._plain[k] = None if plain is None else _PlainHost(plain)
        return self._plain[k]

    def _note(self, k: int, before: _Facts | None) -> None:
        """Update the tables by the facts about step `k`; `before` are the step's earlier facts."""
        facts = self._facts[k]
        for storage in facts.writes:
            self._written[storage] = max(k, self._written.get(storage, k))
        for storage in facts.storages:
            self._used[storage] = max(k, self._used.get(storage, k))
        if facts.may_fail:
            self._may_fail = max(k, self._may_fail)
        old = () if before is None else _own_keys(before)
        new = _own_keys(facts) if isinstance(self._steps[k], Nest) else ()
        if old != new:
            for key in old:
                self._open[key].remove(k)
            for key in new:
                insort(self._open.setdefault(key, []), k)


def _own_keys(facts: _Facts) -> tuple[object, ...]:
    """The keys under which later nests find this nest; empty if it can take no more statements."""
    if facts.size >= MAX_STATEMENTS or facts.limited:
        return ()
    if not facts.extents:
        return ("any", "none")
    return ("any", id(facts.extents[0]), frozenset(map(id, facts.extents)))


def _keys(facts: _Facts) -> tuple[object, ...]:
    """The keys under which a nest finds the nests that it may join."""
    if not facts.extents:
        return ("any",)
    return ("none", id(facts.extents[0]), frozenset(map(id, facts.extents)))


class _Plain(Record):
    """Perfectly nested map loops, or no loop, around loads, scalars and stores."""

    loops: tuple[For, ...]
    body: tuple[Stmt, ...]


def _plain_part(nest: Nest) -> _Plain | None:
    """The loops and statements of a nest; None if the nest has other loops or statements."""
    body, loops = nest.body, list[For]()
    while len(body) == 1 and isinstance(body[0], For):
        loops.append(body[0])
        body = body[0].body
    plain = all(
        isinstance(s, Let | Load) or (isinstance(s, Store) and not s.scatters) for s in body
    )
    mapped = all(loop.kind == "map" and loop.block is None and not loop.limits for loop in loops)
    return _Plain(tuple(loops), body) if plain and mapped else None


class _Accesses:
    """Facts about plain statements in loops that decide whether other statements may join these."""

    def __init__(self, loops: Sequence[For], body: Iterable[Stmt]) -> None:
        self.loops = loops
        self.elementary = self.reads_stored = False
        self.places: dict[Storage, set[Index]] = {}
        self.stored: set[Storage] = set()
        self.loaded: set[Storage] = set()
        accesses = []
        for stmt in body:
            if isinstance(stmt, Load | Store):
                accesses.append(stmt)
                self.places.setdefault(stmt.buffer, set()).add(stmt.index)
            if isinstance(stmt, Store):
                self.stored.add(stmt.buffer)
            elif isinstance(stmt, Load):
                self.reads_stored = self.reads_stored or stmt.buffer in self.stored
                self.loaded.add(stmt.buffer)
            elif isinstance(stmt, Let):
                self.elementary = self.elementary or stmt.primitive.elementary
        self.jumps = [stride_cost(loop, accesses)[0] for loop in loops]
        self.flat = len(loops) > 1 and all(walks_as_one(s.index, *loops[-2:]) for s in accesses)

    def extend(self, behind: _Accesses) -> None:
        """Add the facts about statements `behind` these statements in the same loops."""
        for buffer, places in behind.places.items():
            self.places.setdefault(buffer, set()).update(places)
        self.stored |= behind.stored
        self.loaded |= behind.loaded
        self.jumps = [old + new for old, new in zip(self.jumps, behind.jumps, strict=True)]
        self.elementary = self.elementary or behind.elementary
        self.flat = self.flat and behind.flat

    @property
    def large_strides(self) -> float:
        """The result of `_large_strides` for the nest."""
        return min(self.jumps, default=0.0)

    @property
    def has_functions(self) -> bool:
        """The result of `_has_functions` for the nest."""
        return self.elementary and self.flat and self.loops[-1].extent <= MAX_SHORT

    def reads_other_place(self, behind: _Accesses) -> bool:
        """The result of `_reads_other_place` for these statements, followed by `behind`."""
        stored = self.stored | behind.stored
        return behind.reads_stored or any(
            (buffer in self.stored and buffer in behind.loaded)
            or (buffer in stored and len(places | self.places.get(buffer, places)) > 1)
            for buffer, places in behind.places.items()
        )

    def adds_strides(self, behind: _Accesses, alone: float) -> bool:
        """True if the other statements have more large strides in these loops than `alone`."""
        both = [old + new for old, new in zip(self.jumps, behind.jumps, strict=True)]
        return min(both, default=0.0) > self.large_strides + alone


class _PlainHost:
    """A nest of map loops that is joined with nests that have the same loops, as by `_join`.

    Only the statements of the new nest are renamed and compared; tables hold the earlier
    statements.
    """

    def __init__(self, plain: _Plain) -> None:
        self._loops, self._body = plain.loops, list(plain.body)
        self._shared = SharedScalars()
        self._shared.add(self._body)
        self._accesses = _Accesses(plain.loops, plain.body)
        self._number = max((n.number for n in names_in(self.nest.body)), default=0)

    @property
    def nest(self) -> Nest:
        """The nest, with all nests that have joined it."""
        return Nest(nested(self._loops, tuple(self._body)))

    def fits(self, guest: _Plain) -> bool:
        """True if a nest has the same loops in the same order."""
        pairs = zip(self._loops, guest.loops, strict=False)
        return len(guest.loops) == len(self._loops) and all(a.extent is b.extent for a, b in pairs)

    def joined(self, guest: _Plain, facts: _Facts, own: _Facts) -> _Facts | None:
        """Join a nest with the same loops; return the facts about both, or None if impossible."""
        here, there = self._accesses, _Accesses(guest.loops, guest.body)
        if (here.has_functions and not there.flat) or (there.has_functions and not here.flat):
            return None
        names: dict[str, str] = {n: n.moved(1 + self._number) for n in names_in(guest.body)}
        pairs = zip(guest.loops, self._loops, strict=True)
        names |= {loop.iterator: mine.iterator for loop, mine in pairs}
        shared = self._shared.copied()
        kept = shared.add(rename_iterators(guest.body, names))
        size = len(self._loops) + len(self._body) + len(kept)
        behind = _Accesses(self._loops, kept)
        if size > MAX_STATEMENTS or here.reads_other_place(behind):
            return None
        if here.adds_strides(behind, there.large_strides):
            return None
        here.extend(behind)
        self._shared = shared
        self._body += kept
        self._number = max([self._number, *(n.number for n in names_in(tuple(kept)))])
        return facts.replace(
            reads=facts.reads | behind.loaded | own.counts,
            writes=facts.writes | own.writes,
            size=size,
            may_fail=facts.may_fail or own.may_fail,
            counts=facts.counts | own.counts,
        )


def _join(first: Nest, second: Nest, shared: bool) -> Nest | None:
    """Two nests as one nest; None if the loops or the data of the nests do not allow this.

    If both nests use some storages (`shared`), one nest may get the loop order of the other.
    """
    if any(
        _has_functions(one) and not _is_flat(other)
        for one, other in ((first, second), (second, first))
    ):
        return None
    taken = 1 + max((name.number for name in names_in(first.body)), default=0)
    moved = rename_iterators(second.body, {n: n.moved(taken) for n in names_in(second.body)})
    fused = _joined(first.body, moved)
    if fused is None and shared:
        for host, guest in in_one_order(first.body, moved):
            fused = fused or _joined(host, guest)
    if fused is None and shared and _plain_part(second) and not _plain_part(first):
        for host, guest in ((first.body, moved), *in_one_order(first.body, moved)):
            for turned in read_forward(host, guest):
                fused = fused or _joined(host, turned)
    return fused


def _is_flat(nest: Nest) -> bool:
    """True if the rows of a nest of map loops follow each other in memory without gaps."""
    if len(nest.body) != 1 or not isinstance(nest.body[0], For):
        return False
    loops, body = chain_of(nest.body[0])
    if len(loops) < 2 or loops[-1].kind != "map" or any(isinstance(s, For) for s in body):
        return False
    accesses = [s.index for s in body if isinstance(s, Load | Store)]
    return all(walks_as_one(index, *loops[-2:]) for index in accesses)


def _has_functions(nest: Nest) -> bool:
    """True if a flat nest computes elementary functions over short rows.

    If a nest of this kind is not joined, it becomes one loop of vector code, although the rows are
    short.
    """
    functions = any(isinstance(s, Let) and s.primitive.elementary for s in nest.statements)
    if not functions or not _is_flat(nest):
        return False
    assert isinstance(nest.body[0], For)
    return chain_of(nest.body[0])[0][-1].extent <= MAX_SHORT


def _joined(first: tuple[Stmt, ...], second: tuple[Stmt, ...]) -> Nest | None:
    body = _forward(_merge(first + second), {})
    loops = [stmt for stmt in body if isinstance(stmt, For)]
    mapped = any(loop.kind == "map" for loop in loops)
    if len(loops) > 1 or (mapped and len(body) > 1):
        return None
    if _inner_loops(body) > 1 and not all(map(_is_row_walk, loops)):
        return None
    if sum(1 for _ in walk(body)) > MAX_STATEMENTS or _split_count(body) > MAX_SPLIT_STATEMENTS:
        return None
    if _reads_other_place(body):
        return None
    if _large_strides(body) > _large_strides(first) + _large_strides(second):
        return None
    return Nest(body)


def _split_count(body: tuple[Stmt, ...]) -> int:
    """The number of statements of a body after loops are split between parts of selects."""
    every = list(walk(body))
    selects = [s for s in every if isinstance(s, Select)]
    if not selects:
        return len(every)
    extents = {s.iterator: s.extent for s in every if isinstance(s, For)}
    cuts = {
        (bound.iterator, place)
        for bound in bounds_of(body)
        for place in (bound.low, bound.high)
        if bound.iterator is not None
        and place.constant != 0
        and place is not extents.get(bound.iterator)
    }
    pieces = math.prod(1 + n for n in Counter(iterator for iterator, _ in cuts).values())
    parts = [
        part for stmt in _outside_selects(body) if isinstance(stmt, Select) for part in stmt.parts
    ]
    once = sum(1 for part in parts for _ in walk(part.body))
    return (len(every) - once) * pieces + once


def _outside_selects(body: tuple[Stmt, ...]) -> Iterator[Stmt]:
    """Every statement outside of the parts of selects."""
    for stmt in body:
        yield stmt
        if isinstance(stmt, For):
            yield from _outside_selects(stmt.body)


def _is_row_walk(loop: For) -> bool:
    """True if sibling loops in a loop walk the same short rows, which stay in the cache."""
    inner = [stmt for stmt in loop.body if isinstance(stmt, For)]
    if len(inner) == 1:
        return _is_row_walk(inner[0])
    if loop.kind != "map" or any(s.extent is not inner[0].extent for s in inner):
        return False
    for each in inner:
        accesses = [s for s in walk(each.body) if isinstance(s, Load | Store)]
        if any(isinstance(s, For) for s in each.body) or stride_cost(each, accesses)[0]:
            return False
    return inner[0].extent <= MAX_CACHED_ROW


def _large_strides(body: tuple[Stmt, ...]) -> float:
    """The number of accesses with large strides, with the best choice of an innermost loop."""
    accesses = [s for s in walk(body) if isinstance(s, Load | Store)]
    return min((stride_cost(s, accesses)[0] for s in walk(body) if isinstance(s, For)), default=0.0)


def _inner_loops(body: tuple[Stmt, ...]) -> int:
    """The largest number of sibling loops inside of the outermost loops."""
    counts = [
        max(len([s for s in stmt.body if isinstance(s, For)]), _inner_loops(stmt.body))
        for stmt in body
        if isinstance(stmt, For)
    ]
    return max(counts, default=0)


def _reads_other_place(body: tuple[Stmt, ...]) -> bool:
    """True if the body loads from a buffer after storing into it, or at another index.

    A load before the store is allowed if all accesses have the same index: this is an update in
    place.
    """
    accesses = [s for s in walk(body) if isinstance(s, Load | Store)]
    stored: set[Storage] = set()
    for access in accesses:
        if isinstance(access, Store):
            stored.add(access.buffer)
        elif access.buffer in stored:
            return True
    places: dict[Storage, set[Index]] = {}
    for access in accesses:
        places.setdefault(access.buffer, set()).add(access.index)
    return any(len(places[buffer]) > 1 for buffer in stored)


def _merge(body: tuple[Stmt, ...], within: bool = False) -> tuple[Stmt, ...]:
    """Join sibling loops of equal extents, level by level, and share equal scalars.

    The body is that of a nest or, if `within`, of a loop.
    """
    result: list[Stmt] = []
    last = -1  # the position of the last loop
    for stmt in body:
        if not isinstance(stmt, For):
            result.append(stmt)
            continue
        host = result[last] if last >= 0 else None
        between = result[last + 1 :]
        if (
            not isinstance(host, For)
            or not _may_merge(host, stmt, within)
            or _depends(stmt, between)
        ):
            last = len(result)
            result.append(stmt)
            continue
        guest = rename_iterators(stmt.body, {stmt.iterator: host.iterator})
        kind = host.kind if host.kind == stmt.kind else "fold"
        joined = host.replace(kind=kind, body=host.body + guest)
        opened: list[Stmt] = [s for s in between if isinstance(s, Alloc)]
        rest = [s for s in between if not isinstance(s, Alloc)]
        result[last:] = [*opened, joined, *rest]
        last += len(opened)
    inner = tuple(s.replace(body=_merge(s.body, True)) if isinstance(s, For) else s for s in result)
    return share_scalars(share_states(inner))


def _may_merge(host: For, guest: For, within: bool) -> bool:
    """True if two loops can be merged; a fold loop also merges into a map loop without folds.

    If both loops are `within` another loop, the map loop may contain a long fold; accumulators over
    values of different ranks need this.
    """
    if host.extent is not guest.extent or host.block is not None or guest.block is not None:
        return False
    if host.kind != guest.kind and "scatter" in (host.kind, guest.kind):
        return False
    mapped = [loop for loop in (host, guest) if loop.kind == "map"]
    if len(mapped) != 1 or not any(isinstance(s, Fold) for s in walk(mapped[0].body)):
        return True
    folds = [s for s in mapped[0].body if isinstance(s, For)]
    other = guest if mapped[0] is host else host
    inner = [s for s in other.body if isinstance(s, For)]
    alone = len(folds) == len(inner) == 1
    return (
        within
        and alone
        and folds[0].extent is inner[0].extent
        and folds[0].extent >= MIN_BLOCK_STEPS
    )


def _depends(loop: For, between: list[Stmt]) -> bool:
    """True if a loop uses results of the statements between the host loop and this loop."""
    made = {s.name for s in between if isinstance(s, Defining)}
    written = {s.buffer for s in between if isinstance(s, Store)}
    loads = (s for s in walk((loop,)) if isinstance(s, Load))
    return any(s.buffer in written for s in loads) or not made.isdisjoint(outer_values(loop))


def _forward(body: tuple[Stmt, ...], known: Stored) -> tuple[Stmt, ...]:
    """Replace loads of elements stored earlier, in inner loops too, by the stored values."""
    stored = dict(known)
    names: dict[str, str] = {}
    result: list[Stmt] = []
    for original in body:
        stmt = rename_iterators((original,), names)[0] if names else original
        if isinstance(stmt, Load) and stmt.buffer in known:
            place, value = known[stmt.buffer]
            if place == stmt.index:
                names[stmt.name] = value
                continue
        if isinstance(stmt, For):
            written = {s.buffer for s in walk(stmt.body) if isinstance(s, Store)}
            stored = {buffer: at for buffer, at in stored.items() if buffer not in written}
            inner = _forward(stmt.body, stored)
            stmt = stmt if inner == stmt.body else stmt.replace(body=inner)
        elif isinstance(stmt, Store):
            stored[stmt.buffer] = stmt.index, stmt.value
        result.append(stmt)
    return body if tuple(result) == body else tuple(result)


def _stored_once(nest: Nest) -> Nest:
    """The nest without stores of elements that the same iteration stores again."""
    body = _without_overwritten(nest.body)
    return nest if body == nest.body else Nest(body)


def _without_overwritten(body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
    """The statements without stores of elements that are stored again before any read."""
    later: set[tuple[Storage, Index]] = set()
    result: list[Stmt] = []
    for stmt in reversed(body):
        read = {s.buffer for s in walk((stmt,)) if isinstance(s, Load)} if later else ()
        later = {place for place in later if place[0] not in read}
        if isinstance(stmt, For):
            stmt = stmt.replace(body=_without_overwritten(stmt.body))
        elif isinstance(stmt, Store) and not stmt.scatters:
            if (stmt.buffer, stmt.index) in later:
                continue
            later.add((stmt.buffer, stmt.index))
        elif isinstance(stmt, Store):
            later = {place for place in later if place[0] is not stmt.buffer}
        result.append(stmt)
    return tuple(reversed(result))
