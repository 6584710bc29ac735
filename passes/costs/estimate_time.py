"""Statements -> cycles that a vector of their results takes, in a loop of their own."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Final

from axiomjit.base.dtypes import code
from axiomjit.passes.costs.operation_times import operation_time
from axiomjit.passes.ir.loop_ir import Fold, Let, Load, Stmt, Store, Take

LOAD: Final = 7
"""Cycles from an address to the number there."""
PORTS: Final = 2
"""Micro-operations of 64-byte vectors that a cycle begins."""
HIDDEN: Final = 250
"""Cycles of waiting, over all micro-operations of a step, that cost nothing."""
WAITING: Final = 155
"""Micro-operations that may wait at once: those that wait longer hold up what comes next."""


def estimate_time(body: Iterable[Stmt], tiles: Collection[str] = (), kept: int = 0) -> float:
    """Cycles that a step of a vector loop takes.

    Operations come in order, as many per cycle as there are ports, and wait for their operands; a
    processor has room for some that wait. A function is a chain of operations. The numbers are
    fitted to 14 loops of one to three functions (docs/decisions.md).

    Needs: statements of one innermost loop, in their order.
    Gives: a time to compare with that of another form of the loop.
    Keeps: the statements.

    Args:
        body: statements that differ from step to step.
        tiles: scalars that are loaded from tiles.
        kept: how many are stored in tiles.
    """
    known: dict[str, float] = dict.fromkeys(tiles, LOAD)
    accesses, uops, divider, waited = len(known) + kept, 0, 0, 0.0
    for stmt in body:
        here = uops / PORTS
        match stmt:
            case Let(name=name):
                took = operation_time(stmt.primitive, code(stmt.dtype))
                start = max([here, *(known.get(operand, 0) for operand in stmt.operands)])
                known[name] = start + took.latency
                uops, divider = uops + took.uops, divider + took.divider
                further = max(took.uops - 1, 0)
                lag = took.latency / max(took.uops, 1) - 1 / PORTS
                waited += took.uops * (start - here + max(start - here + further * lag, 0)) / 2
            case Load(name=name) | Take(name=name):
                known[name] = here + LOAD
                accesses += 1
            case Store():
                accesses += 1
            case Fold():
                uops += 1
    return max((uops + accesses) / PORTS, divider) + max(waited - HIDDEN, 0) / WAITING
