"""Nests that are loops in each other around scalars, and two of them over the same iterators."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import partial

from axiomjit.base.records import Record
from axiomjit.passes.ir.loop_ir import For, Let, Load, Name, Nest, Stmt, Store, rewrite_body
from axiomjit.passes.ir.loop_orders import all_steps, chain_of, counted_steps, in_loop_order, nested
from axiomjit.passes.ir.renaming import rename_iterators
from axiomjit.passes.ir.view_ir import POSITIONS, Storage
from axiomjit.symbolic.dims import Dim, dim


class PlainWalk(Record):
    """Map loops that take all their steps, the outermost first, and the statements in them."""

    loops: tuple[For, ...]
    body: tuple[Stmt, ...]

    @property
    def reads(self) -> tuple[Load, ...]:
        """The loads from memory."""
        loads = (s for s in self.body if isinstance(s, Load))
        return tuple(s for s in loads if s.buffer is not POSITIONS)

    @property
    def writes(self) -> tuple[Store, ...]:
        """The stores."""
        return tuple(s for s in self.body if isinstance(s, Store))


def plain_walk(nest: Nest) -> PlainWalk | None:
    """The nest as one walk, None where it is something else."""
    outer = nest.body[0]
    if len(nest.body) > 1 or nest.partials or nest.tiles or not isinstance(outer, For):
        return None
    loops, body = chain_of(outer)
    whole = all(s.block is None and s.span is None and not s.limits for s in loops)
    if outer.kind != "map" or not whole or any(s.at or s.together > 1 for s in loops):
        return None
    plain = all(isinstance(s, Let | Load | Store) for s in body)
    plain = plain and not any(isinstance(s, Store) and s.scatters for s in body)
    return PlainWalk(tuple(loops), body) if plain else None


def in_one_walk(
    first: PlainWalk, second: PlainWalk, shared: Collection[Storage]
) -> tuple[PlainWalk, PlainWalk] | None:
    """Both with the iterators of the first, in its order; None where they walk otherwise.

    What the first stores in a `shared` storage the second loads from the same place. Where loops of
    one are collapsed that the other has, both have them.
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


def in_one_nest(pair: tuple[PlainWalk, PlainWalk], shared: Collection[Storage]) -> Nest:
    """Both in one nest, what is stored in a `shared` storage passed on as a value."""
    first, second = pair
    values = {s.buffer: s.value for s in first.writes if s.buffer in shared}
    passed = {s.name: values[s.buffer] for s in second.reads if s.buffer in shared}
    body = tuple(s for s in first.body if not (isinstance(s, Store) and s.buffer in shared))
    rest = tuple(s for s in second.body if not (isinstance(s, Load) and s.name in passed))
    body += rename_iterators(rest, passed)
    return Nest(nested(first.loops, body))


def _other_values(first: PlainWalk, second: PlainWalk) -> dict[str, str]:
    """Names for the values of the second that the first does not have."""
    made = [s.name for walk in (first, second) for s in walk.body if isinstance(s, Let | Load)]
    free = 1 + max((name.number for name in made if isinstance(name, Name)), default=0)
    own = (s.name for s in second.body if isinstance(s, Let | Load))
    return {name: Name("v", k) for k, name in enumerate(own, free)}


def _expanded(walk: PlainWalk, finer: Sequence[For]) -> PlainWalk:
    """The walk with loops that have the extents of `finer`, itself where its loops are no such."""
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
    """The statement with each iterator as steps of the loops that it is split into."""
    if not isinstance(stmt, Load | Store):
        return stmt
    terms: list[tuple[str, Dim]] = []
    for name, stride in stmt.index.terms:
        inside = counted_steps(parts[name]) if name in parts else ((name, dim(1)),)
        terms += ((inner, stride * below) for inner, below in inside)
    return stmt.replace(index=stmt.index.replace(terms=tuple(terms)))
