"""LoopProgram -> LoopProgram: threads share the trips of a loop if the trips are independent."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from axiomjit.base.dtypes import BOOL
from axiomjit.base.records import Record
from axiomjit.graph.nodes import Scalar
from axiomjit.graph.primitives import PRIMITIVES
from axiomjit.passes.ir.accesses import accesses_in, range_of
from axiomjit.passes.ir.context import Context
from axiomjit.passes.ir.loop_ir import (
    For,
    Index,
    Leave,
    Let,
    Load,
    LoopProgram,
    Nest,
    Stmt,
    Store,
    When,
    bodies_of,
    used,
    walk,
)
from axiomjit.passes.ir.rewriting import AddedNumbers, rename_iterators
from axiomjit.passes.ir.view_ir import ArrayRole, Storage
from axiomjit.symbolic.dims import Scope
from axiomjit.symbolic.index_ranges import Trips

AND: Final = PRIMITIVES["logical_and"]


def share_trips(program: LoopProgram, context: Context) -> LoopProgram:
    """Let the caller run the trips of an outermost loop in any order if the trips are independent.

    Trips are independent if no trip writes an element that another trip reads or writes, and no
    number is carried from trip to trip. Only one carried number is allowed: the truth value that
    says if all checks hold. A trip in which a check fails stores False as the carried truth value.

    Needs: a legal loop program with lowered regions.
    Gives: a legal loop program.
    Keeps: every result, bit for bit.
    """
    numbers = AddedNumbers(program.numbers)

    def shared(nest: Nest) -> Nest:
        parts = _parts_of(nest)
        if parts is None or not _are_independent(parts.loop, context.scope):
            return nest
        loop = parts.loop
        if parts.truth is not None:
            false = numbers.named(Scalar(BOOL, np.bool_(False), False))
            loop = loop.replace(body=parts.truth.stored(loop.body, false))
        kept = {s.buffer for s in walk(loop.body) if isinstance(s, Load | Store)}
        tiles = tuple(tile for tile in nest.tiles if tile in kept)
        return nest.replace(body=(loop.replace(kind="shared"),), tiles=tiles)

    steps = tuple(shared(s) if isinstance(s, Nest) else s for s in program.steps)
    if steps == program.steps:
        return program
    return program.replace(steps=steps, numbers=tuple(numbers.every))


class _Truth(Record):
    """The truth value that says if all checks hold: its cell in a loop, and its memory after it."""

    cell: Storage
    memory: Storage
    index: Index
    values: frozenset[str]
    """The names that the truth value has before and after each check of a trip."""

    def stored(self, body: Sequence[Stmt], false: str) -> tuple[Stmt, ...]:
        """The statements of a trip, with a store of False where a check fails."""
        names: dict[str, str] = {}
        found: list[Stmt] = []
        for stmt in body:
            if isinstance(stmt, Load) and stmt.buffer is self.cell:
                continue
            if isinstance(stmt, Let) and stmt.name in self.values:
                checks = [names.get(name, name) for name in stmt.operands]
                checks = [one for one in checks if one not in self.values]
                if len(checks) == 1:
                    names[stmt.name] = checks[0]
                    continue
                found.append(stmt.replace(operands=tuple(checks)))
                continue
            if isinstance(stmt, Store) and stmt.buffer is self.cell:
                value = names.get(stmt.value, stmt.value)
                found.append(When(value, (), (Store(self.memory, self.index, false),)))
                continue
            found.append(stmt)
        return rename_iterators(tuple(found), names)


class _Parts(Record):
    loop: For
    truth: _Truth | None


def _parts_of(nest: Nest) -> _Parts | None:
    """The only loop of a nest, if it carries no more than a truth value; else None."""
    loops = [stmt for stmt in nest.body if isinstance(stmt, For)]
    if len(loops) != 1 or loops[0].kind != "serial" or _leaves(loops[0].body):
        return None
    (loop,) = loops
    others = [stmt for stmt in nest.body if stmt is not loop]
    if not others:
        return _Parts(loop, None) if _carried(loop.body, set()) is not None else None
    truth = _truth_of(loop, others)
    if truth is None or _carried(loop.body, {truth.cell}) is None:
        return None
    return _Parts(loop, truth)


def _truth_of(loop: For, others: Sequence[Stmt]) -> _Truth | None:
    """The truth value that is copied into a cell before a loop and out of the cell after it."""
    match others:
        case (Load() as first, Store() as begun, Load() as last, Store() as ended):
            pass
        case _:
            return None
    cell = begun.buffer
    copied = cell.role is ArrayRole.CELLS and cell.dtype == BOOL and begun.value == first.name
    copied = copied and last.buffer is cell and ended.value == last.name
    if not copied or (ended.buffer, ended.index) != (first.buffer, first.index):
        return None
    values: set[str] = set()
    every = walk(loop.body)
    for stmt in every:
        if isinstance(stmt, Load) and stmt.buffer is cell:
            values.add(stmt.name)
        elif isinstance(stmt, Let) and not values.isdisjoint(stmt.operands):
            if stmt.primitive is not AND or values.issuperset(stmt.operands):
                return None
            values.add(stmt.name)
        elif isinstance(stmt, Store) and stmt.buffer is cell:
            if stmt.value not in values:
                return None
        elif not values.isdisjoint(used(stmt)):
            return None
    direct = [s for s in loop.body if isinstance(s, Load | Store) and s.buffer is cell]
    inside = [s for s in every if isinstance(s, Load | Store) and s.buffer is cell]
    if [type(s) for s in direct] != [Load, Store] or len(inside) != 2:
        return None
    return _Truth(cell, first.buffer, first.index, frozenset(values))


def _leaves(body: Sequence[Stmt]) -> bool:
    """True if a statement ends the loop around these statements."""
    return any(
        isinstance(s, Leave) or (not isinstance(s, For) and any(map(_leaves, bodies_of(s))))
        for s in body
    )


def _carried(body: Sequence[Stmt], written: set[Storage]) -> set[Storage] | None:
    """The cells that the statements of a trip write before they read them.

    Returns:
        The cells, or None if a statement reads a cell whose value may come from another trip.
    """
    known = set(written)
    for stmt in body:
        if isinstance(stmt, Load) and stmt.buffer.role is ArrayRole.CELLS:
            if stmt.buffer not in known:
                return None
        elif isinstance(stmt, Store) and stmt.buffer.role is ArrayRole.CELLS:
            if stmt.buffer.shape[0].constant == 1:
                known.add(stmt.buffer)
        elif inner := bodies_of(stmt):
            sides = [_carried(part, known) for part in inner]
            if None in sides:
                return None
            if isinstance(stmt, When):
                known |= set.intersection(*(side for side in sides if side is not None))
    return known


def _are_independent(loop: For, scope: Scope) -> bool:
    """True if no trip writes an element that another trip reads or writes."""
    trips = Trips(range_of(loop)[0], loop.extent)
    found = list(accesses_in(loop.body, (range_of(loop),)))
    stores = [one for one in found if isinstance(one.stmt, Store)]
    for store in stores:
        for other in found:
            if other.stmt.buffer is not store.stmt.buffer:
                continue
            pair = store.access, other.access
            if trips.may_meet_later(*pair, scope) or trips.may_meet_later(*pair[::-1], scope):
                return False
    return bool(stores)
