"""LoopProgram -> LoopProgram: the mean and squared distances of a long row become one fold."""

from __future__ import annotations

from collections.abc import Hashable
from itertools import count
from typing import Final

import numpy as np

from axiomjit.base.dtypes import FLOAT, DType, is_float, state_dtype
from axiomjit.base.records import Record
from axiomjit.graph.nodes import LengthNode, Scalar
from axiomjit.graph.primitives import CAST, PRIMITIVES
from axiomjit.graph.reductions import WelfordFold
from axiomjit.passes.ir.context import Context
from axiomjit.passes.ir.loop_ir import (
    Alloc,
    Defining,
    Fold,
    For,
    Index,
    Let,
    LibraryCall,
    Load,
    LoopProgram,
    Nest,
    ReadState,
    State,
    Stmt,
    Store,
    accessed,
    dtypes_of,
    needed,
    walk,
)
from axiomjit.passes.ir.rewriting import (
    AddedNumbers,
    all_steps,
    chain_of,
    nested,
    rename_iterators,
    share_scalars,
    stride_cost,
    without_unread,
)
from axiomjit.passes.ir.view_ir import Storage
from axiomjit.symbolic.data_dependent import HeuristicScope, data_dependent_in
from axiomjit.symbolic.dims import bound

MAX_CACHED_ROW: Final = 65_536
"""The largest number of elements of a row that stays cached, so that two loops over it are as fast
as one (see `fuse_loops`).
"""


def join_moments(program: LoopProgram, context: Context) -> LoopProgram:
    """Join a nest that computes means with a nest that sums squared distances from the means.

    The second nest has to wait for the mean of the whole row, and reads the row from memory again.
    Moments (mean and squared distances) of parts of a row can be merged, so one nest that folds
    moments reads the row only once. The nests are joined if rows are long, or if all elements are
    one row; loops with large strides are not changed. Comparing the length of rows records a guard
    in the scope.

    Needs: a legal loop program whose loops have no blocks.
    Gives: a legal loop program.
    Keeps: each result up to the order in which its elements are combined.
    """
    joining = _Joining(program)
    with bound(HeuristicScope(context.scope)):
        for step in program.steps:
            joining.add(step)
    return joining.program()


class _Joining:
    """The steps of the resulting program, in which some nests are joined."""

    def __init__(self, program: LoopProgram) -> None:
        self.before = program
        self.steps: list[Nest | LibraryCall] = []
        self.uses: list[tuple[set[Storage], set[Storage]]] = []
        self.writers: dict[Storage, int] = {}
        self.joined = count()
        self.numbers = AddedNumbers(program.numbers)
        self.lengths = {
            number.name: number.origin.length
            for number in program.numbers
            if isinstance(number.origin, LengthNode)
        }

    def program(self) -> LoopProgram:
        """The resulting program, without means that no step reads."""
        if len(self.steps) == len(self.before.steps):
            return self.before
        joined = self.before.replace(steps=tuple(self.steps), numbers=tuple(self.numbers.every))
        return without_unread(joined)

    def add(self, step: Nest | LibraryCall) -> None:
        """Append a step, or join the step with an earlier step."""
        uses = accessed(step)
        rows = _rows_of(step.body) if isinstance(step, Nest) else None
        squares = None if rows is None else _squares(rows)
        earlier = None if squares is None else self.writers.get(squares.mean)
        if rows is not None and earlier is not None and self._may_move(uses, earlier):
            found = self._joined(self.steps[earlier], rows)
            if found is not None:
                self.steps[earlier] = found
                self.uses[earlier] = accessed(found)
                self.writers |= dict.fromkeys(uses[1], earlier)
                return
        self.writers |= dict.fromkeys(uses[1], len(self.steps))
        self.steps.append(step)
        self.uses.append(uses)

    def _may_move(self, uses: tuple[set[Storage], set[Storage]], earlier: int) -> bool:
        """True if a nest that uses these storages may move to the place of an earlier nest."""
        reads, writes = uses
        if any(storage.name in self.before.updated for storage in writes):
            return False
        if not writes.isdisjoint(self.uses[earlier][0]):
            return False
        between = self.uses[earlier + 1 :]
        return all(reads.isdisjoint(w) and writes.isdisjoint(r | w) for r, w in between)

    def _joined(self, first: Nest | LibraryCall, other: _Rows) -> Nest | None:
        """A nest that folds moments in place of both nests; None if the nests do not match."""
        one = _rows_of(first.body) if isinstance(first, Nest) else None
        if one is None or not one.has_same_loops(other) or not one.is_long:
            return None
        number = next(self.joined)
        other = other.renamed(one, f"j{number}")
        squares = _squares(other)
        if squares is None:
            return None
        if any((s.buffer, s.index) != (squares.mean, squares.place) for s in _shared(one, other)):
            return None
        for fold in (s for s in one.inner if isinstance(s, Fold)):
            if self._is_mean(one, fold, squares) and _is_same(one, fold, other, squares):
                return self._with_moments(one, other, fold, squares, number)
        return None

    def _is_mean(self, rows: _Rows, fold: Fold, squares: _Squares) -> bool:
        """True if a nest stores the mean of its folded values, and `squares` subtracts it."""
        lets = {s.name: s for s in rows.after if isinstance(s, Let)}
        reads = {s.name: s for s in rows.after if isinstance(s, ReadState)}
        stores = [s for s in rows.after if isinstance(s, Store) and s.buffer is squares.mean]
        if not _is_sum(fold) or len(stores) != 1 or stores[0].index != squares.place:
            return False
        name = _uncast(stores[0].value, lets, squares.mean.dtype)
        quotient = lets.get(name)
        if quotient is None or quotient.primitive.name != "divide":
            return False
        top, bottom = quotient.operands
        taken = reads.get(_uncast(top, lets, squares.mean.dtype))
        length = self.lengths.get(bottom)
        whole = all_steps(rows.chain)
        return taken is not None and taken.state == fold.state and length is whole

    def _with_moments(
        self, one: _Rows, other: _Rows, fold: Fold, squares: _Squares, number: int
    ) -> Nest | None:
        """The first nest with moments in place of a sum, followed by the end of the second nest."""
        value, name = fold.values[0], f"j{number}"
        begin = needed(one.inner, value)
        dtypes = dtypes_of(begin)
        loops = {loop.iterator for loop in one.chain}
        firsts = {key: f"{key}{name}f" for key in dtypes}
        opening = [_at_first(s, loops) for s in rename_iterators(begin, firsts)]
        start, element, distance = firsts[value], value, f"{name}d"
        steps: list[Stmt] = []
        if dtypes[value] != FLOAT:
            opening.append(Let(f"{name}k", FLOAT, CAST, (start,)))
            steps.append(Let(f"{name}e", FLOAT, CAST, (value,)))
            start, element = f"{name}k", f"{name}e"
        steps.append(Let(distance, FLOAT, PRIMITIVES["subtract"], (element, start)))
        rule = WelfordFold()
        state = State(fold.state.name, rule, state_dtype(rule.parts))
        numbers = (Scalar(FLOAT, np.float64(value), False) for value in (1.0, 0.0))
        ones, zeros = map(self.numbers.named, numbers)
        steps.append(Fold(state, (ones, element, distance, zeros)))
        inner = [s for stmt in one.inner for s in (steps if stmt is fold else (stmt,))]
        before = [Alloc(state) if s == Alloc(fold.state) else s for s in one.before]
        after = [_read_from(s, fold.state, state, 1) for s in one.after]
        begun = [s for s in other.before if s != Alloc(squares.fold.state)]  # it may be the mean
        after += [*begun, *(_read_from(s, squares.fold.state, state, 3) for s in other.after)]
        walked = nested(one.chain, tuple(inner))
        ended = share_scalars(tuple(after))  # the mean may be used again
        return Nest(nested(one.loops, (*before, *opening, *walked, *ended)))


def _read_from(stmt: Stmt, old: State, new: State, part: int) -> Stmt:
    """The statement, in which a read of state `old` becomes a read of a part of state `new`."""
    if isinstance(stmt, ReadState) and stmt.state == old:
        return ReadState(stmt.name, new, part)
    return stmt


def _at_first(stmt: Stmt, loops: set[str]) -> Stmt:
    """The statement with its indices in the first iteration of some loops."""
    if not isinstance(stmt, Load):
        return stmt
    terms = tuple(term for term in stmt.index.terms if term[0] not in loops)
    return stmt.replace(index=stmt.index.replace(terms=terms))


class _Rows(Record):
    """Loops over rows, the fold loops over a row, and statements before and after these."""

    loops: tuple[For, ...]
    before: tuple[Stmt, ...]
    chain: tuple[For, ...]
    inner: tuple[Stmt, ...]
    after: tuple[Stmt, ...]

    def has_same_loops(self, other: _Rows) -> bool:
        """True if the loops have the same extents."""
        pairs = ((self.loops, other.loops), (self.chain, other.chain))
        return all(
            len(own) == len(others)
            and all(a.extent is b.extent for a, b in zip(own, others, strict=True))
            for own, others in pairs
        )

    @property
    def is_long(self) -> bool:
        """True if there is only one row, or if rows are long and have unit stride."""
        whole = all_steps(self.chain)
        loads = [s for s in self.inner if isinstance(s, Load)]
        if data_dependent_in(whole):  # a row may be empty, but its first element is read
            return False
        if not self.loops:
            return whole >= 1
        return whole > MAX_CACHED_ROW and not stride_cost(self.chain[-1], loads)[0]

    def renamed(self, other: _Rows, suffix: str) -> _Rows:
        """These loops with the iterators of `other`, and with names that `other` does not use."""
        names: dict[str, str] = {}
        body = (*self.before, *self.inner, *self.after)
        for stmt in body:
            if isinstance(stmt, Defining):
                names[stmt.name] = f"{stmt.name}{suffix}"
            elif isinstance(stmt, Alloc):
                names[stmt.state.name] = f"{stmt.state.name}{suffix}"
        for own, others in ((self.loops, other.loops), (self.chain, other.chain)):
            names |= {a.iterator: b.iterator for a, b in zip(own, others, strict=True)}
        parts = (self.before, self.inner, self.after)
        before, inner, after = (rename_iterators(part, names) for part in parts)
        return _Rows(other.loops, before, other.chain, inner, after)


def _rows_of(body: tuple[Stmt, ...]) -> _Rows | None:
    """The loops of a nest that folds rows; None for other nests."""
    loops: list[For] = []
    while len(body) == 1 and isinstance(body[0], For) and body[0].kind == "map":
        loops.append(body[0])
        body = body[0].body
    folds = [s for s in body if isinstance(s, For)]
    if len(folds) != 1 or folds[0].kind != "fold":
        return None
    chain, inner = chain_of(folds[0])
    plain = all(loop == For(loop.iterator, loop.extent, loop.kind, loop.body) for loop in chain)
    if not plain or not all(isinstance(s, Let | Load | Fold | Store) for s in inner):
        return None
    at = body.index(folds[0])
    return _Rows(tuple(loops), body[:at], tuple(chain), inner, body[at + 1 :])


class _Squares(Record):
    """A sum of squares of distances between a value and an element of a storage."""

    fold: Fold
    value: str
    mean: Storage
    place: Index


def _squares(rows: _Rows) -> _Squares | None:
    """The sum of squares that a nest computes; None if its fold loops do anything else."""
    folds = [s for s in rows.inner if isinstance(s, Fold)]
    lets = {s.name: s for s in rows.inner if isinstance(s, Let)}
    loads = {s.name: s for s in rows.inner if isinstance(s, Load)}
    if len(folds) != 1 or not _is_sum(folds[0]):
        return None
    others = [s for s in rows.before if s != Alloc(folds[0].state)]
    if not all(isinstance(s, Let | Load) for s in others):
        return None
    if any(isinstance(s, Store) for s in rows.inner):
        return None
    squared = lets.get(folds[0].values[0])
    if squared is None or squared.primitive.name != "multiply":
        return None
    left, right = squared.operands
    distance = lets.get(left)
    if left != right or distance is None or distance.primitive.name != "subtract":
        return None
    within = {loop.iterator for loop in rows.chain}
    for value, other in (distance.operands, distance.operands[::-1]):
        mean = loads.get(other)
        if mean is not None and within.isdisjoint(name for name, _ in mean.index.terms):
            return _Squares(folds[0], value, mean.buffer, mean.index)
    return None


def _is_sum(fold: Fold) -> bool:
    """True if a fold is a sum in float64, in any order of the elements."""
    state = fold.state
    return state.accumulator.name == "sum" and state.dtype == FLOAT and state.lanes is None


def _is_same(one: _Rows, fold: Fold, other: _Rows, squares: _Squares) -> bool:
    """True if the mean is taken of the same values as the squared distances."""
    return _key(one.inner, fold.values[0]) == _key(other.inner, squares.value) is not None


def _key(body: tuple[Stmt, ...], value: str) -> Hashable:
    """A key of a value that does not depend on the names of its operands."""
    keys: dict[str, Hashable] = {}
    for stmt in body:
        match stmt:
            case Load(name=name, buffer=buffer, index=index):
                terms = tuple((keys.get(i, i), stride) for i, stride in index.terms)
                keys[name] = (buffer, index.offset, terms)
            case Let(name=name, operands=operands):
                given = tuple(keys.get(operand, operand) for operand in operands)
                keys[name] = (stmt.primitive, stmt.dtype, given)
    return keys.get(value)


def _uncast(name: str, lets: dict[str, Let], least: DType) -> str:
    """The name of a value before its casts to floats that are at least as large as `least`."""
    while name in lets and lets[name].primitive is CAST and _can_hold(lets[name].dtype, least):
        (name,) = lets[name].operands
    return name


def _can_hold(dtype: DType, least: DType) -> bool:
    return is_float(dtype) and dtype.itemsize >= least.itemsize


def _shared(one: _Rows, other: _Rows) -> list[Load]:
    """The loads of a nest from storages that an earlier nest writes."""
    stored = {s.buffer for s in walk((*one.inner, *one.after)) if isinstance(s, Store)}
    every = walk((*other.before, *other.inner, *other.after))
    return [s for s in every if isinstance(s, Load) and s.buffer in stored]
