"""LoopProgram -> LoopProgram: long loops within one unit check for cancellation."""

from __future__ import annotations

from typing import Final

from axiomjit.base.locks import lazy_import
from axiomjit.passes.ir.context import Context
from axiomjit.passes.ir.loop_ir import (
    OF_PROGRAM,
    Fold,
    For,
    Let,
    Load,
    LoopProgram,
    Nest,
    Stmt,
    Store,
    When,
    bodies_of,
    map_nests,
)
from axiomjit.symbolic.data_dependent import HeuristicScope
from axiomjit.symbolic.dims import Dim, bound, dim, smaller

MIN_WORK: Final = 2**29
"""The smallest work of a loop that polls, in additions or bytes: about 20 ms."""
MAX_WORK_BETWEEN_CHECKS: Final = 2**25
"""The largest work between two checks, unless one iteration is longer."""
POLL_INTERVALS: Final = (2**20, 2**15, 2**10, 2**5, 1)
"""The possible numbers of iterations between checks; they are few, so that few different kernels
are compiled.
"""


def insert_cancellation_checks(program: LoopProgram, context: Context) -> LoopProgram:
    """Let long loops within one unit of the caller's range poll a cancellation flag.

    The caller of a kernel polls the flag between units, but one unit can take long: it may be a row
    of any length, or a fold of few columns over many rows. The flag decides only whether results
    are discarded, never their values. A cancelled unit may leave any values in its buffers, so
    kernels that write into arguments or variables do not poll. Kernels of regions poll even if they
    write into arguments or variables: a cancelled kernel of a region ends between two trips, after
    all writes of the earlier trips. Estimating the work of a loop with the lengths of this call
    records guards in the scope.

    Needs: a legal loop program; all other passes over loops have run.
    Gives: a legal loop program.
    Keeps: every result, bit for bit, of calls that are not cancelled.
    """
    with bound(HeuristicScope(context.scope)):
        return map_nests(program, _with_checks)


def _with_checks(nest: Nest) -> Nest:
    if nest.serial_iterators:
        return nest.replace(body=_between_trips(nest.body, ()))
    if any(isinstance(s, Store) and s.buffer.role.is_given for s in nest.statements):
        return nest
    if nest.chunk_chain is not None or nest.prepass or nest.parallel_variant is not None:
        return nest  # its units are short: blocks of a long loop
    body = tuple(map(_unit, nest.body))
    return nest if body == nest.body else nest.replace(body=body)


def _between_trips(body: tuple[Stmt, ...], outer: tuple[For, ...]) -> tuple[Stmt, ...]:
    """The statements of a region, in which outermost loops and the loops inside long trips poll.

    A cancelled kernel ends between two trips. After a cancelled kernel, memory holds the values
    that it has in the program between two trips.
    """
    found: list[Stmt] = []
    for stmt in body:
        if isinstance(stmt, When):
            sides = _between_trips(stmt.body, outer), _between_trips(stmt.otherwise, outer)
            stmt = stmt.replace(body=sides[0], otherwise=sides[1])
        elif isinstance(stmt, For) and stmt.kind in OF_PROGRAM:
            stmt = _of_program(stmt, (*outer, stmt))
        found.append(stmt)
    return tuple(found)


def _of_program(loop: For, loops: tuple[For, ...]) -> For:
    """The loop `loop` of a region, the innermost of the nested `loops`, with polling.

    A shared loop itself does not poll, since the caller of the kernel polls between its trips.
    """
    late = lazy_import("axiomjit.passes.ir.costs")
    cost = late.serial_cost(loop.body)
    step = cost.flops + cost.bytes_read + cost.bytes_written
    for around in reversed(loops):
        step = late.in_middle(step, around)
    if step >= MIN_WORK:
        loop = loop.replace(body=_between_trips(loop.body, loops))
    if loop.kind == "shared":
        return loop
    most = MAX_WORK_BETWEEN_CHECKS // max(step.constant or MAX_WORK_BETWEEN_CHECKS, 1)
    return loop.replace(poll_every=next(n for n in POLL_INTERVALS if n <= max(most, 1)))


def _unit(stmt: Stmt) -> Stmt:
    """The statement with polling; of the loop over units, only the loops inside may poll."""
    return _inside(stmt) if isinstance(stmt, For) and stmt.kind == "map" else _polling(stmt)


def _inside(loop: For) -> For:
    body = tuple(map(_polling, loop.body))
    return loop if body == loop.body else loop.replace(body=body)


def _polling(stmt: Stmt) -> Stmt:
    """The statement, in which long loops poll; if an iteration is long, the inner loops poll."""
    if not isinstance(stmt, For):
        return stmt
    step = _work(stmt.body)
    if not step * _trips(stmt) >= MIN_WORK:
        return stmt
    if stmt.block or stmt.at or stmt.unroll > 1 or step >= MIN_WORK:
        return _inside(stmt)
    steps = next(n for n in POLL_INTERVALS if n == 1 or step * n <= MAX_WORK_BETWEEN_CHECKS)
    return stmt.replace(poll_every=steps)


def _trips(loop: For) -> Dim:
    """The largest number of iterations of a loop."""
    if loop.at is not None:
        return dim(1)
    if loop.block is not None:
        return smaller(dim(loop.block.size) * loop.block.unroll, loop.extent)
    return loop.extent if loop.span is None else loop.span[1] - loop.span[0]


def _work(body: tuple[Stmt, ...]) -> Dim:
    """The work of one run of statements: additions, and bytes read and written."""
    total: int | Dim = 0
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
    return dim(total)
