"""LoopProgram -> LoopProgram: positions are checked before a loop, or a failed check ends it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

import numpy as np

from axiomjit.base.dtypes import BOOL, INT, UNSIGNED, DType
from axiomjit.base.records import Record
from axiomjit.graph.nodes import LengthNode, Scalar
from axiomjit.graph.primitives import CAST, PRIMITIVES, WHERE
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
FIRST: Final = Index(dim(0), ())
MAX_STATEMENTS: Final = 80
"""The largest number of statements of a loop before which positions are checked: the loop is
compiled twice.
"""
AND, BELOW = PRIMITIVES["logical_and"], PRIMITIVES["less"]


def prove_positions(program: LoopProgram, context: Context) -> LoopProgram:
    """Before a loop, check all positions that it reads from an array and does not write.

    An additional loop looks at all positions. If no position is negative or beyond the end of the
    array, the loop runs without checks and without wrapping positions. If a position fails, the
    loop runs as before. A loop that cannot become vector code checks each position in the trip that
    reads it, and ends where a check fails, since a branch that is never taken costs less than
    another loop.

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

    `wrapped` is the position from the start of the array; `place` is equal to it, or 0 if the
    position is not within the array. `length` is unsigned, and the position is compared as an
    unsigned number, so that a negative position is beyond every length.
    """

    position: str
    wrapped: str
    truth: str
    place: str
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
        """The nest, with two versions of loops over positions or loops that end at a check."""
        self.cells = []
        body = self.body(nest.body)
        if body == nest.body:
            return nest
        return nest.replace(body=body, tiles=(*nest.tiles, *self.cells))

    def body(self, body: Sequence[Stmt], ends: bool = False) -> tuple[Stmt, ...]:
        """The statements, with a loop that checks positions before each loop that has positions.

        `ends` is True if the loop around the statements ends where a check fails.
        """
        found: list[Stmt] = []
        for stmt in self.ended(tuple(body)) if ends else body:
            if isinstance(stmt, When):
                found.append(When(stmt.value, *(self.body(part, ends) for part in bodies_of(stmt))))
                continue
            scalar = isinstance(stmt, For) and _is_scalar(stmt)
            checks = self.checks(stmt) if isinstance(stmt, For) and not scalar else []
            if isinstance(stmt, For) and checks:
                found += self.versions(stmt, checks)
            elif isinstance(stmt, For) and stmt.kind in OF_PROGRAM:
                found.append(stmt.replace(body=self.body(stmt.body, scalar)))
            else:
                found.append(stmt)
        return tuple(found)

    def ended(self, body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
        """The statements of a trip, which ends the loop where a check fails.

        The cell that says if all checks hold is then False. The statements after a check need no
        replacement for a position that fails.
        """
        body = _once(body)
        cells, lets = _truths(body), {s.name: s for s in body if isinstance(s, Let)}
        every = (self.check(s, body, lets) for s in lets.values())
        checks = {one.place: one for one in every if one is not None and one.truth in cells}
        if not checks:
            return body
        found: list[Stmt] = []
        for stmt in body:
            one = checks.get(stmt.name) if isinstance(stmt, Let) else None
            found += [stmt] if one is None else self.wrapped(one, body, cells[one.truth])
        return _unchecked(found, checks.values(), {})

    def wrapped(self, one: Check, body: tuple[Stmt, ...], truths: Storage) -> tuple[Stmt, ...]:
        """Statements that compute a place: a position, which a branch wraps if it is negative.

        A branch that is rarely taken costs less than a choice of two positions.
        """
        cell = self.cell(INT)
        unsigned, within = (f"{cell.name}{letter}" for letter in "ab")
        slow = tuple(s for s in needed(body, one.truth) if s not in one.needed)
        names = {_name(s): f"{cell.name}{_name(s)}" for s in slow}
        truth = names[one.truth]
        false = self.numbers.named(Scalar(BOOL, np.bool_(False), False))
        otherwise = (
            *rename_iterators(slow, names),
            When(truth, (), (Store(truths, FIRST, false),)),
            Leave(truth),
            Store(cell, FIRST, names[one.wrapped]),
        )
        return (
            Let(unsigned, UNSIGNED, CAST, (one.position,)),
            Let(within, BOOL, BELOW, (unsigned, one.length)),
            Store(cell, FIRST, one.position),
            When(within, (), otherwise),
            Load(one.place, cell, FIRST),
        )

    def cell(self, dtype: DType) -> Storage:
        """Scratch memory of one element."""
        made = Storage(f"y{len(self.cells)}", ArrayRole.CELLS, dtype, (dim(1),), (dim(1),))
        self.cells.append(made)
        return made

    def checks(self, loop: For) -> list[Check]:
        """The checks in a loop of the positions that are known before the loop."""
        every = walk(loop.body)
        if loop.kind != "serial" or len(every) > MAX_STATEMENTS or not self.is_long(loop.extent):
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
        within, chosen = lets.get(truth), lets.get(wrapped)
        if within is None or chosen is None or not self.is_zero(zero):
            return None
        if within.primitive is not BELOW or chosen.primitive is not WHERE:
            return None
        negative, unsigned = lets.get(chosen.operands[0]), lets.get(within.operands[0])
        position, length = chosen.operands[2], within.operands[1]
        if negative is None or (negative.primitive, negative.operands) != (BELOW, (position, zero)):
            return None
        if unsigned is None or (unsigned.dtype, unsigned.operands) != (UNSIGNED, (wrapped,)):
            return None
        if not isinstance(self.origins.get(length), LengthNode):
            return None
        return Check(position, wrapped, truth, place.name, length, needed(body, position))

    def is_zero(self, name: str) -> bool:
        """True if a number is the constant 0."""
        origin = self.origins.get(name)
        return isinstance(origin, Scalar) and bool(origin.value == 0)

    def versions(self, loop: For, checks: Sequence[Check]) -> tuple[Stmt, ...]:
        """Statements that look at all positions, and a branch between both versions of the loop."""
        cell = self.cell(BOOL)
        holds = self.numbers.named(Scalar(BOOL, np.bool_(True), False))
        names = [f"{cell.name}{letter}" for letter in "ab"]
        load, body = Load(names[0], cell, FIRST), list[Stmt]()
        known, result = set[str](), names[0]
        for one in checks:
            body += [s for s in one.needed if _name(s) not in known]
            known |= {_name(s) for s in one.needed}
            unsigned, within, both = (f"{cell.name}{one.place}{letter}" for letter in "abc")
            body += [
                Let(unsigned, UNSIGNED, CAST, (one.position,)),
                Let(within, BOOL, BELOW, (unsigned, one.length)),
                Let(both, BOOL, AND, (result, within)),
            ]
            result = both
        looking = loop.replace(body=(load, *body, Store(cell, FIRST, result)))
        places = {one.place: one.position for one in checks}
        fast = loop.replace(body=_unchecked(loop.body, checks, places))
        return (
            Store(cell, FIRST, holds),
            looking,
            Load(names[1], cell, FIRST),
            When(names[1], (fast,), (loop,)),
        )


def _name(stmt: Stmt) -> str:
    assert isinstance(stmt, Let | Load)
    return stmt.name


def _is_known(statements: Sequence[Stmt], stored: set[Storage]) -> bool:
    """True if statements read memory, but no storage that the loop writes."""
    if not all(isinstance(s, Let | Load) for s in statements):
        return False
    loads = [s.buffer for s in statements if isinstance(s, Load) and s.buffer is not POSITIONS]
    return bool(loads) and stored.isdisjoint(loads)


def _is_scalar(loop: For) -> bool:
    """True if a serial loop ends early, has loops inside or writes at computed positions."""
    every = walk(loop.body)
    return loop.kind == "serial" and any(
        isinstance(s, Leave)
        or (isinstance(s, For) and s.kind in OF_PROGRAM)
        or (isinstance(s, Store) and bool(s.index.gathered))
        for s in every
    )


def _once(body: Sequence[Stmt]) -> tuple[Stmt, ...]:
    """The statements, which compute or load equal scalars only once."""
    stored = {s.buffer for s in walk(tuple(body)) if isinstance(s, Store)}
    names: dict[str, str] = {}
    known: dict[Stmt, str] = {}
    found: list[Stmt] = []
    for old in body:
        (stmt,) = rename_iterators((old,), names)
        if isinstance(stmt, Let) or (isinstance(stmt, Load) and stmt.buffer not in stored):
            first = known.setdefault(stmt.replace(name=""), stmt.name)
            if first != stmt.name:
                names[stmt.name] = first
                continue
        found.append(stmt)
    return tuple(found)


def _truths(body: Sequence[Stmt]) -> dict[str, Storage]:
    """The checks of a trip, each with the cell that says if all checks hold."""
    named = {s.name: s for s in body if isinstance(s, Let | Load)}
    found: dict[str, Storage] = {}
    for stmt in body:
        if not isinstance(stmt, Store) or stmt.buffer.role is not ArrayRole.CELLS:
            continue
        waiting, checks, kept = [stmt.value], list[str](), False
        while waiting:
            made = named.get(waiting.pop())
            if isinstance(made, Let) and made.primitive is AND:
                waiting += made.operands
            elif isinstance(made, Let):
                checks.append(made.name)
            kept |= isinstance(made, Load) and made.buffer is stmt.buffer
        found |= dict.fromkeys(checks if kept else (), stmt.buffer)
    return found


def _unchecked(
    body: Sequence[Stmt], checks: Iterable[Check], places: Mapping[str, str]
) -> tuple[Stmt, ...]:
    """The statements of a trip without checks; `places` maps checked to unchecked positions."""
    truths, names = {one.truth for one in checks}, dict(places)
    dtypes = dtypes_of(tuple(body))
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
