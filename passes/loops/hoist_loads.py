"""LoopProgram -> LoopProgram: elements that no trip of a loop changes are loaded before it."""

from __future__ import annotations

from collections.abc import Sequence

from axiomjit.passes.ir.accesses import Accessed, access_of, accesses_in, is_inside, range_of
from axiomjit.passes.ir.context import Context
from axiomjit.passes.ir.loop_ir import (
    OF_PROGRAM,
    Defining,
    For,
    Leave,
    Let,
    Load,
    LoopProgram,
    Nest,
    Stmt,
    Store,
    When,
    bodies_of,
    map_nests,
    walk,
)
from axiomjit.passes.ir.view_ir import POSITIONS, ArrayRole
from axiomjit.symbolic.dims import Scope
from axiomjit.symbolic.index_ranges import IndexRange, Trips, is_at_least


def hoist_loads(program: LoopProgram, context: Context) -> LoopProgram:
    """Move loads of elements that no trip changes, and scalars computed from them, before the loop.

    A load may move if its position does not depend on the index of the loop, and no trip writes the
    element. If a loop had no trips, a load before it might read beyond the array. So the position
    must be within the array in all trips of the loops around, or the loop must surely have a trip.
    LLVM moves loads only from memory that the loop does not write at all.

    Needs: a legal loop program with lowered regions.
    Gives: a legal loop program.
    Keeps: every result, bit for bit.
    """

    def rule(nest: Nest) -> Nest:
        if not nest.serial_iterators:
            return nest
        body = _body(nest.body, (), context.scope)
        return nest if body == nest.body else nest.replace(body=body)

    return map_nests(program, rule)


def _body(body: Sequence[Stmt], around: tuple[IndexRange, ...], scope: Scope) -> tuple[Stmt, ...]:
    """The statements, with loads moved before those inner loops that need not repeat them."""
    found: list[Stmt] = []
    for stmt in body:
        if isinstance(stmt, When):
            sides = (_body(side, around, scope) for side in bodies_of(stmt))
            found.append(When(stmt.value, *sides))
        elif isinstance(stmt, For) and stmt.kind in (*OF_PROGRAM, "map"):
            inner = _body(stmt.body, (*around, range_of(stmt)), scope)
            stmt = stmt.replace(body=inner)
            moves = stmt.kind != "shared"  # nothing stands beside the loop over the caller's range
            found += _Hoisting(stmt, around, scope).statements() if moves else (stmt,)
        else:
            found.append(stmt)
    return tuple(found)


class _Hoisting:
    """A loop whose statements are moved before the loop if all trips would give the same value."""

    def __init__(self, loop: For, around: tuple[IndexRange, ...], scope: Scope) -> None:
        self.loop, self.around, self.scope = loop, around, scope
        self.symbol, _, last = range_of(loop)
        self.trips = Trips(self.symbol, last + 1, around)
        self.inside = walk(loop.body)
        self.stored = {s.buffer for s in self.inside if isinstance(s, Store)}
        self.has_trips = is_at_least(loop.extent, 1, around)
        self._stores: list[Accessed] | None = None

    @property
    def stores(self) -> list[Accessed]:
        """The stores of the loop."""
        if self._stores is None:
            found = accesses_in(self.loop.body, (*self.around, range_of(self.loop)))
            self._stores = [one for one in found if isinstance(one.stmt, Store)]
        return self._stores

    def statements(self) -> tuple[Stmt, ...]:
        """The statements moved before the loop, and the loop."""
        before, kept, runs = list[Stmt](), list[Stmt](), self.has_trips
        own = {s.name for s in self.inside if isinstance(s, Defining)}
        for stmt in self.loop.body:
            runs = runs and not isinstance(stmt, Leave | When)
            if self.may_move(stmt, own, runs):
                assert isinstance(stmt, Let | Load)
                own.discard(stmt.name)
                before.append(stmt)
            else:
                kept.append(stmt)
        kept_loads = [s for s in before if isinstance(s, Load)]
        if not kept_loads or not kept:
            return (self.loop,)
        return (*before, self.loop.replace(body=tuple(kept)))

    def may_move(self, stmt: Stmt, own: set[str], runs: bool) -> bool:
        """True if a statement gives the same value in all trips.

        `runs` is True if the loop has a trip that surely runs the statement.
        """
        if isinstance(stmt, Let):
            return own.isdisjoint(stmt.operands)
        if not isinstance(stmt, Load):
            return False
        index = stmt.index
        symbols = index.offset.symbols.union(*(stride.symbols for _, stride in index.terms))
        names = {name for name, _ in index.terms}
        if self.symbol in symbols or self.loop.iterator in names or not own.isdisjoint(names):
            return False
        if stmt.buffer is POSITIONS or stmt.buffer.role is ArrayRole.CELLS:
            return stmt.buffer not in self.stored
        access = access_of(stmt, self.around)
        if stmt.buffer in self.stored and any(
            one.stmt.buffer is stmt.buffer and self.trips.may_meet(one.access, access, self.scope)
            for one in self.stores
        ):
            return False
        if runs or access.place is None:
            return runs
        ranges = (*self.around, *access.ranges)
        pairs = zip(access.place, stmt.buffer.shape, strict=True)
        return all(is_inside(position, length, ranges) for position, length in pairs)
