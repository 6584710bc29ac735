"""LoopProgram -> LoopProgram: long loops within one unit look whether the call was given up."""

from __future__ import annotations

from typing import Final

from axiomjit.algebra.chosen import Advice
from axiomjit.algebra.dims import Dim, bound, dim
from axiomjit.algebra.extremes import smaller
from axiomjit.passes.ir.context import Context
from axiomjit.passes.ir.loop_ir import (
    Fold,
    For,
    Let,
    Load,
    LoopProgram,
    Nest,
    Stmt,
    Store,
    bodies_of,
    map_nests,
    statements,
)

LONG: Final = 2**29
"""Additions, or bytes, from which on a loop looks: some 20 ms."""
SHORT: Final = 2**25
"""So much work is done between two looks, where steps are not longer."""
STEPS: Final = (2**20, 2**15, 2**10, 2**5, 1)
"""After how many steps a loop may look: few numbers, so that few kernels differ in them."""


def watch_loops(program: LoopProgram, context: Context) -> LoopProgram:
    """Let long loops within one unit of the caller's range look at a flag now and then.

    The caller of a kernel is heard between units; a unit may be a row of any length, or a fold of
    few columns over many rows. What the flag says decides whether results are given up, never
    what they are. A unit that was given up may leave anything in what it writes, so kernels that
    write into arguments or variables do not look. How much work a loop is, at hand, leaves guards
    in the scope.

    Needs: a legal loop program; all other passes over loops have run.
    Gives: a legal loop program.
    Keeps: every result, bit for bit, of calls that are not given up.
    """
    with bound(Advice(context.scope)):
        return map_nests(program, _watched)


def _watched(nest: Nest) -> Nest:
    if any(isinstance(s, Store) and s.buffer.role.is_given for s in statements(nest)):
        return nest
    if nest.chunk_chain is not None or nest.ahead or nest.shared is not None:
        return nest  # a unit is a block of a long loop
    body = tuple(map(_unit, nest.body))
    return nest if body == nest.body else nest.replace(body=body)


def _unit(stmt: Stmt) -> Stmt:
    """The loop over the caller's range with inner loops that look; another statement may itself."""
    return _inside(stmt) if isinstance(stmt, For) and stmt.kind == "map" else _looking(stmt)


def _inside(loop: For) -> For:
    """The loop with long loops inside it that look."""
    body = tuple(map(_looking, loop.body))
    return loop if body == loop.body else loop.replace(body=body)


def _looking(stmt: Stmt) -> Stmt:
    """A long loop that looks; where one of its steps is long, loops inside it do."""
    if not isinstance(stmt, For):
        return stmt
    step = _work(stmt.body)
    if not step * _trips(stmt) >= LONG:
        return stmt
    if stmt.block or stmt.at or stmt.together > 1 or step >= LONG:
        return _inside(stmt)
    steps = next(n for n in STEPS if n == 1 or step * n <= SHORT)
    return stmt.replace(poll_every=steps)


def _trips(loop: For) -> Dim:
    """How many steps a loop takes at most."""
    if loop.at is not None:
        return dim(1)
    if loop.block is not None:
        return smaller(dim(loop.block.size) * loop.block.together, loop.extent)
    return loop.extent if loop.span is None else loop.span[1] - loop.span[0]


def _work(body: tuple[Stmt, ...]) -> Dim:
    """Additions, and bytes that are read and written, of statements once."""
    total = dim(0)
    for stmt in body:
        match stmt:
            case Load() | Store():
                total += stmt.buffer.dtype.itemsize
            case Let():
                total += stmt.primitive.weight
            case Fold():
                total += len(stmt.values)
            case For():
                total += _trips(stmt) * _work(stmt.body)
            case _:
                for inner in bodies_of(stmt):
                    total += _work(inner)
    return total
