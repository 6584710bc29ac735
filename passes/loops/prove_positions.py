"""LoopProgram -> LoopProgram: all positions that a loop reads are checked before the loop."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np

from axiomjit.base.dtypes import BOOL
from axiomjit.base.records import Record
from axiomjit.graph.nodes import LengthNode, Scalar
from axiomjit.graph.primitives import PRIMITIVES, WHERE
from axiomjit.passes.ir.context import Context
from axiomjit.passes.ir.loop_ir import (
    OF_PROGRAM,
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
    dtypes_of,
    needed,
    used,
    walk,
)
from axiomjit.passes.ir.rewriting import AddedNumbers, rename_iterators
from axiomjit.passes.ir.view_ir import POSITIONS, ArrayRole, Storage
from axiomjit.symbolic.dims import INDEX, Dim, dim, symbols_in

LEAST_TRIPS: Final = 64
"""The smallest number of trips, in the traced call, of a loop before which positions are
checked.
"""
MAX_STATEMENTS: Final = 80
"""The largest number of statements of a loop before which positions are checked: the loop is
compiled twice.
"""
AND, AT_LEAST, BELOW = (PRIMITIVES[name] for name in ("logical_and", "greater_equal", "less"))


def prove_positions(program: LoopProgram, context: Context) -> LoopProgram:
    """Check all positions that a loop reads from an array before the loop, if it only reads them.

    An additional loop compares all positions with the ends of the indexed array. If no position is
    negative or beyond the end of the array, the loop runs without checks and without wrapping
    positions. If a check fails, the loop runs with checks, as before this pass.

    Needs: a legal loop program with lowered regions.
    Gives: a legal loop program.
    Keeps: every result, bit for bit.
    """
    proving = _Proving(program, context)
    steps = tuple(
        proving.nest(step) if isinstance(step, Nest) and step.serial_iterators else step
        for step in program.steps
    )
    if steps == program.steps:
        return program
    return program.replace(steps=steps, numbers=tuple(proving.numbers.every))


class Check(Record):
    """A computed position with its check; `truth` is the name of the check's outcome.

    `place` is the position from the start of the array, or 0 if the position is not within the
    array.
    """

    position: str
    truth: str
    place: str
    zero: str
    length: str
    needed: tuple[Stmt, ...]


class _Proving:
    """The pass's work on the nests of one program."""

    def __init__(self, program: LoopProgram, context: Context) -> None:
        self.scope = context.scope
        self.numbers = AddedNumbers(program.numbers)
        self.origins = {number.name: number.origin for number in program.numbers}
        self.cells: list[Storage] = []

    def nest(self, nest: Nest) -> Nest:
        """The nest with two versions of its loops over positions."""
        self.cells = []
        body = self.body(nest.body)
        if not self.cells:
            return nest
        return nest.replace(body=body, tiles=(*nest.tiles, *self.cells))

    def body(self, body: Sequence[Stmt]) -> tuple[Stmt, ...]:
        """The statements; before each loop with positions, a new loop checks the positions."""
        found: list[Stmt] = []
        for stmt in body:
            if isinstance(stmt, When):
                found.append(When(stmt.value, *map(self.body, bodies_of(stmt))))
                continue
            checks = self.checks(stmt) if isinstance(stmt, For) else []
            if isinstance(stmt, For) and checks:
                found += self.versions(stmt, checks)
            elif isinstance(stmt, For) and stmt.kind in OF_PROGRAM:
                found.append(stmt.replace(body=self.body(stmt.body)))
            else:
                found.append(stmt)
        return tuple(found)

    def checks(self, loop: For) -> list[Check]:
        """The checks in a loop of the positions that are known before the loop."""
        every = walk(loop.body)
        if loop.kind != "serial" or len(every) > MAX_STATEMENTS or not self.is_long(loop.extent):
            return []
        if any(isinstance(s, Leave) for s in every):
            return []
        stored = {s.buffer for s in every if isinstance(s, Store)}
        lets = {s.name: s for s in loop.body if isinstance(s, Let)}
        found = (self.check(s, loop.body, lets) for s in lets.values())
        return [one for one in found if one is not None and _is_known(one.needed, stored)]

    def is_long(self, trips: Dim) -> bool:
        """True if a loop has many trips for every index of the loops around it."""
        if any(symbol.kind == INDEX for symbol in symbols_in(trips)):
            return False
        return self.scope.value(trips) >= LEAST_TRIPS

    def check(self, place: Let, body: tuple[Stmt, ...], lets: Mapping[str, Let]) -> Check | None:
        """The check of the position that a statement computes; None if it computes no position."""
        if place.primitive is not WHERE:
            return None
        truth, wrapped, zero = place.operands
        both, chosen = lets.get(truth), lets.get(wrapped)
        if both is None or both.primitive is not AND or chosen is None:
            return None
        sides = [lets.get(name) for name in both.operands]
        if chosen.primitive is not WHERE or None in sides:
            return None
        above, below = (side for side in sides if side is not None)
        behind, position = lets.get(chosen.operands[0]), chosen.operands[2]
        wanted = [(above, AT_LEAST), (below, BELOW), (behind, BELOW)]
        if any(let is None or let.primitive is not p for let, p in wanted) or behind is None:
            return None
        if {above.operands[0], below.operands[0], behind.operands[0]} != {position}:
            return None
        low, length = (self.origins.get(let.operands[1]) for let in (above, below))
        if not isinstance(low, LengthNode) or not isinstance(length, LengthNode):
            return None
        if low.length != -length.length or behind.operands[1] != zero or not self.is_zero(zero):
            return None
        found = needed(body, position)
        return Check(position, truth, place.name, zero, below.operands[1], found)

    def is_zero(self, name: str) -> bool:
        """True if a number is the constant 0."""
        origin = self.origins.get(name)
        return isinstance(origin, Scalar) and bool(origin.value == 0)

    def versions(self, loop: For, checks: Sequence[Check]) -> tuple[Stmt, ...]:
        """Statements that check all positions, and a branch between both versions of the loop."""
        cell = Storage(f"y{len(self.cells)}", ArrayRole.CELLS, BOOL, (dim(1),), (dim(1),))
        self.cells.append(cell)
        first = Index(dim(0), ())
        holds = self.numbers.named(Scalar(BOOL, np.bool_(True), False))
        names = [f"{cell.name}{letter}" for letter in "ab"]
        load, body = Load(names[0], cell, first), list[Stmt]()
        known, result = set[str](), names[0]
        for one in checks:
            body += [s for s in one.needed if _name(s) not in known]
            known |= {_name(s) for s in one.needed}
            low, high, both, result_ = (f"{cell.name}{one.place}{letter}" for letter in "abcd")
            body += [
                Let(low, BOOL, AT_LEAST, (one.position, one.zero)),
                Let(high, BOOL, BELOW, (one.position, one.length)),
                Let(both, BOOL, AND, (low, high)),
                Let(result_, BOOL, AND, (result, both)),
            ]
            result = result_
        looking = loop.replace(body=(load, *body, Store(cell, first, result)))
        fast = loop.replace(body=_unchecked(loop.body, checks))
        return (
            Store(cell, first, holds),
            looking,
            Load(names[1], cell, first),
            When(names[1], (fast,), (loop,)),
        )


def _name(stmt: Stmt) -> str:
    assert isinstance(stmt, Let | Load)
    return stmt.name


def _is_known(statements: Sequence[Stmt], stored: set[Storage]) -> bool:
    """True if statements read memory, and none of it in the storages that the loop writes."""
    if not all(isinstance(s, Let | Load) for s in statements):
        return False
    loads = [s.buffer for s in statements if isinstance(s, Load) and s.buffer is not POSITIONS]
    return bool(loads) and stored.isdisjoint(loads)


def _unchecked(body: tuple[Stmt, ...], checks: Sequence[Check]) -> tuple[Stmt, ...]:
    """The statements of a trip without checks, since all positions are within their arrays."""
    truths, names = {one.truth for one in checks}, {one.place: one.position for one in checks}
    dtypes = dtypes_of(body)
    kept: list[Stmt] = []
    for stmt in body:
        if isinstance(stmt, Let) and stmt.primitive is AND:
            others = [names.get(name, name) for name in stmt.operands if name not in truths]
            if len(others) == 1 and dtypes.get(others[0]) == BOOL:
                names[stmt.name] = others[0]
                continue
        if not isinstance(stmt, Let) or stmt.name not in names:
            kept.append(stmt)
    while True:
        read = {name for stmt in walk(tuple(kept)) for name in used(stmt)} | set(names.values())
        fewer = [s for s in kept if not isinstance(s, Let | Load) or s.name in read]
        if len(fewer) == len(kept):
            return rename_iterators(tuple(kept), names)
        kept = fewer
