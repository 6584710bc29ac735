"""LoopProgram -> LoopProgram: split a loop into strips, each run by several faster loops."""

from __future__ import annotations

import math
from collections.abc import Iterator, Set
from itertools import count
from typing import Final

from axiomjit.base.dtypes import DType, code
from axiomjit.base.records import cached_property
from axiomjit.base.target import ChosenTarget
from axiomjit.passes.ir.context import Context
from axiomjit.passes.ir.costs import estimate_time, operation_time
from axiomjit.passes.ir.loop_ir import (
    Block,
    Fold,
    For,
    Index,
    Let,
    Load,
    LoopProgram,
    Nest,
    ReadState,
    State,
    Stmt,
    Store,
    cell,
    map_nests,
    rewrite_body,
    used,
)
from axiomjit.passes.ir.view_ir import ArrayRole, Storage
from axiomjit.symbolic.data_dependent import HeuristicScope
from axiomjit.symbolic.dims import bound, dim

STRIP: Final = 512
"""The number of iterations of a strip: large enough that entering a vector loop is cheap, and small
enough that data which is read twice stays in the first-level cache.
"""
MIN_STRIP: Final = 64
"""The smallest number of iterations of a strip; with fewer, entering the loops costs too much."""
MAX_WHOLE_BLOCK: Final = 1024
"""The largest number of iterations of a block that is one strip as a whole."""
MAX_TILE_BYTES: Final = 16_384
"""The largest number of bytes of all tiles of a loop; tiles and the data of the loop share the
first-level cache.
"""
MIN_ITERATIONS: Final = 32
"""The smallest number of iterations of a loop that is split."""
HIDDEN_ADDITIONS: Final = 10
"""The number of additions per iteration that a processor can do during a scalar division."""
MAX_LOOPS: Final = 3
"""The largest number of loops into which a chain of elementary functions is cut, since each loop is
compiled.
"""
CHAIN_SHARES: Final = (0.75, 0.6, 0.5, 0.44, 0.38, 0.32)
"""The candidate splits: the share of the longest chain of operations that each loop may have."""
MAX_TIME_RATIO: Final = 0.97
"""The share of the unsplit loop's time that a split may take at most."""
ENTRY_CYCLES: Final = 1.0
"""The number of cycles per vector that entering and leaving one more loop takes."""
TILE_COST: Final = 2
"""The cost of storing a value in a tile and loading it again, as a number of additions."""


def strip_mine(program: LoopProgram, context: Context) -> LoopProgram:
    """Split innermost loops that run faster as several loops.

    LLVM makes the whole loop scalar code if it has one scalar operation or a running fold. Several
    elementary functions in sequence form a chain of dependent instructions so long that a processor
    cannot start the next iteration before the chain ends. A loop with one of these problems is cut
    into strips, and a strip runs as several loops in turn: vector code, scalar operations, vector
    code; or the parts of each chain in sequence, if `estimate_time` says that this is faster.
    Values that a later loop needs are stored in tiles, with a cell per iteration of the strip,
    unless loading or computing these values again is cheaper. A loop over a short block is not cut:
    the block is one strip. A loop is not changed if it runs over part of its extent, loads from a
    buffer into which it stores, or stores or folds twice into one place. Comparing the length of a
    loop records a guard in the scope.

    Needs: blocked nests.
    Gives: a legal loop program.
    Keeps: every scalar, bit for bit, and the blocks of folds.
    """
    numbers = count()

    def mined(nest: Nest) -> Nest:
        tiles: list[Storage] = []

        def rule(stmt: Stmt) -> tuple[Stmt, ...]:
            return (
                _strips(stmt, tiles, numbers, context.target) if isinstance(stmt, For) else (stmt,)
            )

        body = rewrite_body(nest.body, rule)
        return nest if body == nest.body else nest.replace(body=body, tiles=(*nest.tiles, *tiles))

    with bound(HeuristicScope(context.scope)):
        return map_nests(program, mined)


def _strips(
    loop: For, tiles: list[Storage], numbers: Iterator[int], target: ChosenTarget
) -> tuple[Stmt, ...]:
    """The loop as several loops over strips if this is legal and faster; else the loop itself."""
    scalar = frozenset(let.name for let in _lets(loop) if _is_scalar(let, target))
    scalar |= {s.name for s in loop.body if isinstance(s, ReadState) and s.state in _running(loop)}
    if not _may_split(loop, scalar):
        return (loop,)
    split = _best_split(loop, scalar)
    if split is None:
        return (loop,)
    size = _strip(loop, sum(dtype.itemsize for dtype in split.tiles.values()))
    if size is None or loop.extent < MIN_ITERATIONS:
        return (loop,)
    strip, inside = Block(f"{loop.iterator}s", size), loop.block
    if inside is not None and inside.size == size:
        strip = inside
    here = cell(loop.iterator, strip)
    kept = {
        name: Storage(f"x{next(numbers)}", ArrayRole.TILE, dtype, (dim(size),), (dim(1),))
        for name, dtype in split.tiles.items()
    }
    tiles += kept.values()
    parts = tuple(
        For(loop.iterator, loop.extent, _kind(loop, body), body, strip)
        for body in split.bodies({name: (tile, here) for name, tile in kept.items()})
    )
    if strip is inside:
        return parts
    within = None if inside is None else Block(inside.outer, inside.size // size)
    strips = (loop.extent + (size - 1)) // size
    return (For(strip.outer, strips, loop.kind, parts, within),)


def _best_split(loop: For, scalar: Set[str]) -> _Split | None:
    """The cheapest split of a loop: scalar operations have separate loops, long chains are cut."""
    plain = _Split(loop, scalar, math.inf)
    if plain.has_scalars and not plain.has_much_vector_code:
        return None
    shares = CHAIN_SHARES if sum(map(_is_function, _lets(loop))) > 1 else ()
    splits = [_Split(loop, scalar, share * plain.longest) for share in shares]
    cuts = [s for s in splits if 0 < s.vector_loops - plain.vector_loops < MAX_LOOPS]
    best = min(cuts, key=lambda cut: cut.time, default=None)
    if best is not None and best.time < MAX_TIME_RATIO * plain.time:
        return best
    return plain if plain.has_scalars else None


def _kind(loop: For, body: tuple[Stmt, ...]) -> str:
    kept = any(isinstance(s, Fold) or (isinstance(s, Store) and s.scatters) for s in body)
    return loop.kind if kept else "map"


def _may_split(loop: For, scalar: Set[str]) -> bool:
    """True if a split may be faster, and if the statements may run in sequence."""
    hinder = bool(scalar) or sum(map(_is_function, _lets(loop))) > 1
    if loop.span is not None or loop.limits or not hinder:
        return False
    if not all(isinstance(s, Let | Load | Store | Fold | ReadState) for s in loop.body):
        return False
    written = [s.buffer for s in loop.body if isinstance(s, Store)]
    read = {s.buffer for s in loop.body if isinstance(s, Load)}
    folded = [s.state for s in loop.body if isinstance(s, Fold)]
    once = len(set(written)) == len(written) and len(set(folded)) == len(folded)
    lanes = any(state.lanes is not None for state in _running(loop))
    return once and read.isdisjoint(written) and not lanes


def _running(loop: For) -> dict[State, Fold]:
    """The states that a loop folds and reads in each iteration, with the folds."""
    taken = {s.state for s in loop.body if isinstance(s, ReadState)}
    return {s.state: s for s in loop.body if isinstance(s, Fold) and s.state in taken}


def _lets(loop: For) -> list[Let]:
    return [s for s in loop.body if isinstance(s, Let)]


def _is_scalar(let: Let, target: ChosenTarget) -> bool:
    """True if an operation makes the loop around it scalar code on the target."""
    return bool(let.primitive.scalar) and let.primitive.is_scalar(code(let.dtype), target.record)


def _is_function(let: Let) -> bool:
    """True for an elementary function; only results of such functions may differ from NumPy's."""
    return let.primitive.elementary


def _strip(loop: For, bytes_per_step: int) -> int | None:
    """The iterations of a strip, a whole block for lanes and tiles; None if a cut is impossible."""
    block = None if loop.block is None else dim(loop.block.size).constant
    if loop.block is not None and loop.block.unroll > 1:
        return None
    if block is not None and block <= MAX_WHOLE_BLOCK and block * bytes_per_step <= MAX_TILE_BYTES:
        return block
    if any(isinstance(s, Fold | ReadState) and s.state.lanes is not None for s in loop.body):
        return None
    if any(isinstance(s, Load | Store) and s.buffer.role is ArrayRole.TILE for s in loop.body):
        return None
    size = STRIP
    while size * bytes_per_step > MAX_TILE_BYTES:
        size //= 2
    aligned = loop.block is None or (block is not None and block % size == 0)
    return size if aligned and size >= MIN_STRIP else None


class _Split:
    """The statements of a loop in groups that run in sequence.

    Groups with odd numbers are scalar operations, each in the first group in which its operands are
    known. Groups with even numbers are vector code; statements that no scalar operation needs are
    in the last group. With a budget of cycles, no chain of operations in a group takes more cycles
    than the budget. With a budget, each operand of an elementary function is also in the first
    group that can compute it. `tiles` are the values that a later group needs, with their dtypes.
    """

    def __init__(self, loop: For, scalar: Set[str], budget: float) -> None:
        self.loop, self.scalar, self.budget = loop, scalar, budget
        self.made = {s.name: s for s in loop.body if isinstance(s, Let | Load | ReadState)}
        self.running = _running(loop)
        self.varying = self._varying()
        self.has_scalars = any(map(self._is_scalar, self.made))
        self.longest = 0
        """The number of cycles of the longest chain of operations in a group."""
        self.level, groups = self._levels()
        self.tiles: dict[str, DType] = {}
        self.groups: list[set[Stmt]] = [set() for _ in range(groups)]
        self.crossing: list[set[str]] = [set() for _ in range(groups)]
        for group in reversed(range(groups)):
            self._fill(group)

    @property
    def has_much_vector_code(self) -> bool:
        """True if there is more vector code than scalar operations can hide."""
        work = 0
        for stmt in (s for group in self.groups[::2] for s in group):
            if isinstance(stmt, Let) and stmt.name in self.varying:
                work += stmt.primitive.weight
            work += isinstance(stmt, Fold)
        return work > HIDDEN_ADDITIONS

    @property
    def vector_loops(self) -> int:
        """The number of groups of vector code."""
        return sum(map(bool, self.groups[::2]))

    @cached_property
    def time(self) -> float:
        """The number of cycles per vector of results, without scalar operations."""
        total = 0.0
        for level in range(0, len(self.groups), 2):
            group = self.groups[level]
            body = [s for s in self.loop.body if s in group and self._varies(s)]
            kept = sum(self.level.get(name) == level for name in self.tiles)
            total += (
                (estimate_time(body, self.crossing[level], kept) + ENTRY_CYCLES) if group else 0.0
            )
        return total

    def bodies(self, kept: dict[str, tuple[Storage, Index]]) -> Iterator[tuple[Stmt, ...]]:
        """The statements of each nonempty group, with loads from tiles and stores into them."""
        for level, (group, crossing) in enumerate(zip(self.groups, self.crossing, strict=True)):
            body: list[Stmt] = [Load(n, *kept[n]) for n in kept if n in crossing]
            for stmt in self.loop.body:
                if stmt not in group:
                    continue
                body.append(stmt)
                made = stmt.name if isinstance(stmt, Let | ReadState) else ""
                if made in kept and self.level[made] == level:
                    body.append(Store(*kept[made], made))
            if body:
                yield tuple(body)

    def _varying(self) -> set[str]:
        """The values that differ between iterations; LLVM moves other values out of the loop."""
        names: set[str] = set()
        for name, stmt in self.made.items():
            match stmt:
                case Load(index=index):
                    varies = any(n == self.loop.iterator for n, _ in index.terms)
                    varies = varies or not names.isdisjoint(index.gathered)
                case ReadState(state=state, including=including):
                    varies = state.lanes is not None or state in self.running
                    varies = varies or not names.isdisjoint(including)
                case Let(operands=operands):
                    varies = not names.isdisjoint(operands)
            if varies:
                names.add(name)
        return names

    def _needed(self, stmt: Stmt) -> tuple[str, ...]:
        """The scalars that a statement uses; a read of a running state uses the folded values."""
        if isinstance(stmt, ReadState) and stmt.state in self.running:
            return self.running[stmt.state].values
        return used(stmt)

    def _varies(self, stmt: Stmt) -> bool:
        return not isinstance(stmt, Let | Load | ReadState) or stmt.name in self.varying

    def _levels(self) -> tuple[dict[str, int], int]:
        """The number of the group of each varying value, and the number of groups.

        A value has a group only if it is a separated operation or an operand of such an operation.
        """
        first = self._first_groups()
        early: set[str] = set()
        for name, stmt in reversed(self.made.items()):
            chained = self.budget < math.inf and self._is_function(name)
            if name in early or self._is_scalar(name) or chained:
                early |= {name, *self._needed(stmt)} & self.varying
        last = max(first.values(), default=0)
        return {n: level for n, level in first.items() if n in early}, 1 + last + last % 2

    def _first_groups(self) -> dict[str, int]:
        """The first possible group of each varying value."""
        first: dict[str, int] = {}
        chain: dict[str, int] = {}
        for name in (n for n in self.made if n in self.varying):
            needed = [o for o in self._needed(self.made[name]) if o in self.varying]
            group = max((first[o] for o in needed), default=0)
            group += group % 2 != self._is_scalar(name)
            before = max((chain[o] for o in needed if first[o] == group), default=0)
            took = self._latency(name)
            if before and before + took > self.budget:
                group, before = group + 2, 0
            first[name], chain[name] = group, before + took
        self.longest = max(chain.values(), default=0)
        return first

    def _latency(self, name: str) -> int:
        stmt = self.made[name]
        if not isinstance(stmt, Let):
            return 0
        return operation_time(stmt.primitive, code(stmt.dtype)).latency

    def _is_scalar(self, name: str) -> bool:
        return name in self.scalar and name in self.varying

    def _is_function(self, name: str) -> bool:
        stmt = self.made[name]
        return isinstance(stmt, Let) and _is_function(stmt)

    def _fill(self, group: int) -> None:
        """Add the statements of a group, with the statements on which they depend."""
        last = len(self.groups) - 1
        for stmt in self.loop.body:
            match stmt:
                case Let(name=name) | ReadState(name=name) if self.level.get(name) == group:
                    wanted = name in self.tiles or self._is_scalar(name)
                case Store(value=value):  # in the group of its value, if that has an early group
                    early = isinstance(self.made.get(value), Let) or self._is_scalar(value)
                    wanted = group == (self.level.get(value, last) if early else last)
                case Fold(state=state):
                    wanted = group == last and state not in self.running
                case _:
                    wanted = False
            if wanted:
                self._add(stmt, group)

    def _add(self, stmt: Stmt, group: int) -> None:
        self.groups[group].add(stmt)
        if isinstance(stmt, ReadState) and stmt.state in self.running:
            self.groups[group].add(self.running[stmt.state])
        for operand in self._needed(stmt):
            self._supply(operand, group)

    def _supply(self, name: str, group: int) -> None:
        """Provide a value in a group: load it from a tile or from memory, or compute it again."""
        stmt = self.made.get(name)
        if stmt is None or stmt in self.groups[group] or name in self.crossing[group]:
            return
        if isinstance(stmt, Let | ReadState) and self.level.get(name, group) < group:
            price = self._tile_price(name)
            if self._is_scalar(name) or self._price(name, group, price) > price:
                self.tiles[name] = stmt.dtype
                self.crossing[group].add(name)
                return
        self._add(stmt, group)

    def _tile_price(self, name: str) -> int:
        return TILE_COST - 1 if name in self.tiles else TILE_COST

    def _price(self, name: str, group: int, limit: int) -> int:
        """The cost of providing a value in a group without a tile, counted up to `limit`."""
        stmt = self.made.get(name)
        if name not in self.varying or stmt in self.groups[group] or name in self.crossing[group]:
            return 0
        if self._is_scalar(name):
            return self._tile_price(name)
        if not isinstance(stmt, Let):
            return 1
        price = stmt.primitive.weight
        for operand in dict.fromkeys(stmt.operands):
            if price <= limit:
                price += self._price(operand, group, limit - price)
        return price
