"""LoopProgram -> LoopProgram: loops whose parts hinder each other become several, by strips."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from typing import Final

from axiomjit.dims import Scope, bound, dim
from axiomjit.dtypes import DType, code
from axiomjit.passes.loop_ir import (
    Block,
    Fold,
    For,
    Index,
    Let,
    Load,
    LoopProgram,
    Nest,
    Stmt,
    Store,
    Take,
    cell,
    map_nests,
    rewrite_body,
    used,
)
from axiomjit.passes.view_ir import Storage

STRIP: Final = 256
"""Steps of a strip: so many that entering a vector loop costs little, so few that what a strip
reads twice is still in the first-level cache."""
LEAST: Final = 64
"""Steps of a strip below which entering loops costs too much."""
WHOLE: Final = 1024
"""Steps of a block up to which it is its own strip."""
SCRATCH: Final = 16_384
"""Bytes of all tiles of a loop: they share the first-level cache with what the loop reads."""
SHORT: Final = 32
"""A loop of fewer steps is left alone."""
HIDDEN: Final = 10
"""Additions per step that scalar code does while it waits for a division."""
LOOPS: Final = 3
"""Loops that a chain of elementary functions is cut into at most: each takes time to compile."""
WORK: Final = 50
"""Additions per step from which on it pays to cut such a chain."""
CROSSING: Final = 2
"""What it costs to store a value in a tile and load it from there, in additions."""


def strip_mine(program: LoopProgram, scope: Scope) -> LoopProgram:
    """Split innermost loops that run faster as several loops.

    One scalar operation makes scalar code of the whole loop. Elementary functions one after the
    other are so many dependent instructions that a processor, which looks some hundred of them
    ahead, does not see the next step. Such a loop is cut into strips, and a strip runs as several
    loops in turn: vector code, scalar operations, vector code; or one function of each chain after
    the other. What crosses from one to the next is kept in tiles, a cell per step of the strip,
    unless it is cheaper to load or to compute it again. A loop over a short block is a strip as it
    is. Loops over part of their extent, and loops that store what they load, or store or fold twice
    into one place, are left alone; whether a loop is long enough leaves a guard in `scope`.

    Needs: blocked nests.
    Gives: a legal loop program.
    Keeps: every scalar, bit for bit, and the blocks of folds.
    """
    numbers = count()

    def mined(nest: Nest) -> Nest:
        tiles: list[Storage] = []

        def rule(stmt: Stmt) -> tuple[Stmt, ...]:
            return _strips(stmt, tiles, numbers) if isinstance(stmt, For) else (stmt,)

        body = rewrite_body(nest.body, rule)
        return nest if body == nest.body else nest.replace(body=body, tiles=tuple(tiles))

    with bound(scope):
        return map_nests(program, mined)


def _strips(loop: For, tiles: list[Storage], numbers: Iterator[int]) -> tuple[Stmt, ...]:
    """The loop split, where that is allowed and pays."""
    if not _may_split(loop):
        return (loop,)
    split = _Split(loop)
    size = _strip(loop, sum(dtype.itemsize for dtype in split.tiles.values()))
    if not split.pays or size is None or loop.extent < SHORT:
        return (loop,)
    strip, inside = Block(f"{loop.iterator}s", size), loop.block
    if inside is not None and inside.size == size:
        strip = inside
    here = cell(loop.iterator, strip)
    kept = {
        name: Storage(f"x{next(numbers)}", "tile", dtype, (dim(size),), (dim(1),))
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


def _kind(loop: For, body: tuple[Stmt, ...]) -> str:
    return loop.kind if any(isinstance(s, Fold) for s in body) else "map"


def _may_split(loop: For) -> bool:
    """Whether there may be reason to split, and the statements may run one after the other."""
    lets = [s for s in loop.body if isinstance(s, Let)]
    hinder = any(map(_is_scalar, lets)) or sum(map(_is_function, lets)) > 1
    if loop.span is not None or not hinder:
        return False
    if not all(isinstance(s, Let | Load | Store | Fold | Take) for s in loop.body):
        return False
    written = [s.buffer for s in loop.body if isinstance(s, Store)]
    read = {s.buffer for s in loop.body if isinstance(s, Load)}
    folded = [s.state for s in loop.body if isinstance(s, Fold)]
    taken = {s.state for s in loop.body if isinstance(s, Take)}
    once = len(set(written)) == len(written) and len(set(folded)) == len(folded)
    return once and read.isdisjoint(written) and taken.isdisjoint(folded)


def _is_scalar(let: Let) -> bool:
    return let.primitive.is_scalar(code(let.dtype))


def _is_function(let: Let) -> bool:
    """Whether this is an elementary function: the only results that may differ from NumPy's."""
    return let.primitive.ulps > 0


def _strip(loop: For, bytes_per_step: int) -> int | None:
    """How many steps a strip has, or None where none fits; lanes need all of their block."""
    block = None if loop.block is None else dim(loop.block.size).constant
    if block is not None and block <= WHOLE and block * bytes_per_step <= SCRATCH:
        return block
    if any(isinstance(s, Fold | Take) and s.state.lanes is not None for s in loop.body):
        return None
    size = STRIP
    while size * bytes_per_step > SCRATCH:
        size //= 2
    aligned = loop.block is None or (block is not None and block % size == 0)
    return size if aligned and size >= LEAST else None


class _Split:
    """The statements of a loop in groups that run one after the other.

    Odd groups are scalar operations, each in the first group that has its operands; even groups
    are vector code, what no scalar operation needs in the last one. Where a chain of elementary
    functions is cut, these too are in the first group that may have them. `tiles` are the values
    that cross, with their dtypes.
    """

    def __init__(self, loop: For) -> None:
        self.loop = loop
        self.made = {s.name: s for s in loop.body if isinstance(s, Let | Load | Take)}
        self.varying = self._varying()
        self.level, groups = self._levels()
        self.tiles: dict[str, DType] = {}
        self.groups: list[set[Stmt]] = [set() for _ in range(groups)]
        self.crossing: list[set[str]] = [set() for _ in range(groups)]
        for group in reversed(range(groups)):
            self._fill(group)

    @property
    def pays(self) -> bool:
        """Whether there are several groups, and enough vector code in them."""
        work = 0
        for stmt in (s for group in self.groups[::2] for s in group):
            if isinstance(stmt, Let) and stmt.name in self.varying:
                work += stmt.primitive.weight
            work += isinstance(stmt, Fold)
        enough = HIDDEN if any(map(self._is_scalar, self.made)) else WORK
        return len(self.groups) > 1 and work > enough

    def bodies(self, kept: dict[str, tuple[Storage, Index]]) -> Iterator[tuple[Stmt, ...]]:
        """The statements of each group that has any, tiles loaded first and stored when known."""
        for level, (group, crossing) in enumerate(zip(self.groups, self.crossing, strict=True)):
            body: list[Stmt] = [Load(n, *kept[n]) for n in kept if n in crossing]
            for stmt in self.loop.body:
                if stmt not in group:
                    continue
                body.append(stmt)
                if isinstance(stmt, Let) and stmt.name in kept and self.level[stmt.name] == level:
                    body.append(Store(*kept[stmt.name], stmt.name))
            if body:
                yield tuple(body)

    def _varying(self) -> set[str]:
        """The values that differ from step to step; LLVM takes the others out of the loop."""
        names: set[str] = set()
        for name, stmt in self.made.items():
            match stmt:
                case Load(index=index):
                    varies = any(n == self.loop.iterator for n, _ in index.terms)
                case Take(state=state):
                    varies = state.lanes is not None
                case Let(operands=operands):
                    varies = not names.isdisjoint(operands)
            if varies:
                names.add(name)
        return names

    def _levels(self) -> tuple[dict[str, int], int]:
        """The group of each varying value that is an operation to be set apart or needed by one.

        And how many groups there are.
        """
        _, longest = self._first_groups(len(self.made))
        first, chain = self._first_groups(-(-max(longest.values(), default=0) // LOOPS))
        cut = chain != longest
        early: set[str] = set()
        for name, stmt in reversed(self.made.items()):
            if name in early or self._is_scalar(name) or (cut and self._is_function(name)):
                early |= {name, *used(stmt)} & self.varying
        last = max(first.values(), default=0)
        return {n: level for n, level in first.items() if n in early}, 1 + last + last % 2

    def _first_groups(self, most: int) -> tuple[dict[str, int], dict[str, int]]:
        """The first group that may have each varying value, and in it the functions up to there.

        No more than `most` functions are one after the other in a group.
        """
        first: dict[str, int] = {}
        chain: dict[str, int] = {}
        for name in (n for n in self.made if n in self.varying):
            needed = [o for o in used(self.made[name]) if o in self.varying]
            group = max((first[o] for o in needed), default=0)
            group += group % 2 != self._is_scalar(name)
            before = max((chain[o] for o in needed if first[o] == group), default=0)
            length = before + self._is_function(name)
            if length > most:
                group, length = group + 2, 1
            first[name], chain[name] = group, length
        return first, chain

    def _is_scalar(self, name: str) -> bool:
        stmt = self.made[name]
        return isinstance(stmt, Let) and name in self.varying and _is_scalar(stmt)

    def _is_function(self, name: str) -> bool:
        stmt = self.made[name]
        return isinstance(stmt, Let) and _is_function(stmt)

    def _fill(self, group: int) -> None:
        """Put into a group what has to be done there, with what that needs."""
        last = len(self.groups) - 1
        for stmt in self.loop.body:
            match stmt:
                case Let(name=name) if self.level.get(name) == group:
                    wanted = name in self.tiles or self._is_scalar(name)
                case Store(value=value):  # beside its value where that is computed early
                    early = isinstance(self.made.get(value), Let)
                    wanted = group == (self.level.get(value, last) if early else last)
                case Fold():
                    wanted = group == last
                case _:
                    wanted = False
            if wanted:
                self._add(stmt, group)

    def _add(self, stmt: Stmt, group: int) -> None:
        self.groups[group].add(stmt)
        for operand in used(stmt):
            self._supply(operand, group)

    def _supply(self, name: str, group: int) -> None:
        """Have a value at hand in a group: from its tile, or loaded or computed there."""
        stmt = self.made.get(name)
        if stmt is None or stmt in self.groups[group] or name in self.crossing[group]:
            return
        if isinstance(stmt, Let) and self.level.get(name, group) < group:
            price = self._tile_price(name)
            if self._is_scalar(name) or self._price(name, group, price) > price:
                self.tiles[name] = stmt.dtype
                self.crossing[group].add(name)
                return
        self._add(stmt, group)

    def _tile_price(self, name: str) -> int:
        return CROSSING - 1 if name in self.tiles else CROSSING

    def _price(self, name: str, group: int, limit: int) -> int:
        """What it costs to have a value in a group without a tile for it, looked at up to limit."""
        stmt = self.made.get(name)
        if name not in self.varying or stmt in self.groups[group] or name in self.crossing[group]:
            return 0
        if not isinstance(stmt, Let):
            return 1
        if self._is_scalar(name):
            return self._tile_price(name)
        price = stmt.primitive.weight
        for operand in dict.fromkeys(stmt.operands):
            if price <= limit:
                price += self._price(operand, group, limit - price)
        return price
