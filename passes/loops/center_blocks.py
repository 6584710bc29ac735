"""LoopProgram -> LoopProgram: compute the mean and squared distances of a block in two loops."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from typing import Final

from axiomjit.base.dtypes import FLOAT, INT
from axiomjit.graph.primitives import ACCUMULATORS, CAST, PRIMITIVES, UfuncFold
from axiomjit.graph.reductions import WelfordFold
from axiomjit.passes.ir.context import Context
from axiomjit.passes.ir.loop_ir import (
    Alloc,
    Fold,
    For,
    If,
    Index,
    Let,
    Load,
    LoopProgram,
    Nest,
    ReadState,
    State,
    Stmt,
    map_nests,
    needed,
    walk,
)
from axiomjit.passes.ir.rewriting import all_steps, chain_of, nested
from axiomjit.passes.ir.view_ir import POSITIONS
from axiomjit.symbolic.dims import Dim, dim

SUM: Final = ACCUMULATORS["sum"]


def center_blocks(program: LoopProgram, context: Context) -> LoopProgram:
    """Compute the sum of a block, then the sum of squared distances from the block's mean.

    Welford's update needs three divisions per element. With this pass, both loops are vector code,
    the block is still in the cache when the second loop reads it, and moments are merged only block
    by block.

    Needs: blocked nests.
    Gives: a legal loop program.
    Keeps: each result up to the order in which its elements are combined.
    """
    numbers = count()

    def centered(nest: Nest) -> Nest:
        if not any(isinstance(s, Fold) and _is_moment(s) for s in walk(nest.body)):
            return nest
        return nest.replace(body=_centered(nest.body, numbers))

    return map_nests(program, centered)


def _is_moment(fold: Fold) -> bool:
    return isinstance(fold.state.accumulator, WelfordFold)


def _centered(
    body: tuple[Stmt, ...], numbers: Iterator[int], in_fold: bool = False
) -> tuple[Stmt, ...]:
    """The statements, with two loops in place of each loop that folds moments of elements.

    The pass replaces only a loop over a block, inside the fold loop that joins the results of
    blocks.
    """
    result: list[Stmt] = []
    for stmt in body:
        if isinstance(stmt, For):
            inner = chain_of(stmt)[1]
            folds = [s for s in inner if isinstance(s, Fold) and _is_moment(s)]
            plain = stmt.kind == "fold" and not any(isinstance(s, For | If) for s in inner)
            if plain and in_fold and len(folds) == 1:
                result += _Block(stmt, folds[0], f"m{next(numbers)}").statements()
                continue
            within = in_fold or stmt.kind == "fold"
            stmt = stmt.replace(body=_centered(stmt.body, numbers, within))
        result.append(stmt)
    return tuple(result)


class _Block:
    """A loop over a block, its fold of moments, and a prefix for new names."""

    def __init__(self, loop: For, fold: Fold, name: str) -> None:
        self.chain, self.inner = chain_of(loop)
        self.fold, self.name = fold, name
        assert isinstance(SUM, UfuncFold)
        self.total, self.shifted, self.square = (
            State(f"{name}{letter}", SUM, FLOAT) for letter in "sdq"
        )

    def statements(self) -> Iterator[Stmt]:
        """The loop for the mean, the loop for squared distances, and the fold of their results."""
        name, (_, value, shifted, _) = self.name, self.fold.values
        yield from (Alloc(self.total), Alloc(self.shifted))
        sums = Fold(self.total, (value,)), Fold(self.shifted, (shifted,))
        plain = (sums if s is self.fold else (s,) for s in self.inner)
        yield from nested(self.chain, tuple(s for part in plain for s in part))
        yield from (ReadState(f"{name}t", self.total), ReadState(f"{name}r", self.shifted))
        yield from self._count()
        yield Let(f"{name}m", FLOAT, PRIMITIVES["divide"], (f"{name}r", f"{name}n"))
        yield Alloc(self.square)
        distance, squared = f"{name}a", f"{name}e"
        again: tuple[Stmt, ...] = (
            *needed(self.inner, shifted),
            Let(distance, FLOAT, PRIMITIVES["subtract"], (shifted, f"{name}m")),
            Let(squared, FLOAT, PRIMITIVES["multiply"], (distance, distance)),
            Fold(self.square, (squared,)),
        )
        yield from nested(self.chain, again)
        yield ReadState(f"{name}u", self.square)
        values = tuple(f"{name}{letter}" for letter in "ntru")
        yield self.fold.replace(values=values)

    def _count(self) -> Iterator[Stmt]:
        """The number of elements of the block; the last block may have fewer elements."""
        name, cut = self.name, next((s for s in self.chain if s.block is not None), None)
        runs = all_steps(s for s in self.chain if s is not cut)
        if cut is None or cut.block is None:
            yield Load(f"{name}i", POSITIONS, Index(runs, ()))
        else:
            size: Dim = dim(cut.block.size) * runs
            left = Index(cut.extent * runs, ((cut.block.outer, size * -1),))
            yield Load(f"{name}w", POSITIONS, Index(size, ()))
            yield Load(f"{name}l", POSITIONS, left)
            yield Let(f"{name}i", INT, PRIMITIVES["minimum"], (f"{name}w", f"{name}l"))
        yield Let(f"{name}n", FLOAT, CAST, (f"{name}i",))
