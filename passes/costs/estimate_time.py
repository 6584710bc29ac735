"""Cycles of the statements of a loop, for one vector of results on a processor with AVX-512."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Final, NamedTuple

from axiomjit.base.dtypes import code
from axiomjit.graph.primitives import Primitive
from axiomjit.passes.ir.loop_ir import Fold, Let, Load, ReadState, Stmt, Store


class Time(NamedTuple):
    """The resources of a processor that a vector operation takes."""

    uops: int
    """Micro-operations of vector units."""
    latency: int
    """Cycles from the operands to the result."""
    divider: int = 0
    """Cycles for which the divider is occupied."""


SUM: Final = Time(1, 4)
DIVISION: Final = {"f4": Time(3, 18, 10), "f8": Time(3, 24, 16)}
ROOT: Final = {"f4": Time(3, 20, 12), "f8": Time(3, 32, 18)}
FUNCTION: Final = {"f4": Time(14, 44), "f8": Time(20, 60)}
"""The time of any elementary function; a time per function would change one of 33 programs."""
LONG_FUNCTION: Final = Time(40, 100)
"""An elementary function of float64 with a weight of `LONG` or more."""
LONG: Final = 40
LOAD_LATENCY: Final = 7
"""Cycles from an address to the loaded number."""
PORTS: Final = 2
"""Micro-operations of 64-byte vectors issued per cycle."""
HIDDEN_STALLS: Final = 250
"""Stall cycles per iteration that out-of-order execution hides."""
MAX_WAITING: Final = 155
"""The number of waiting micro-operations above which the processor stalls."""


def operation_time(primitive: Primitive, code: str) -> Time:
    """The time of an operation with this result dtype: that of its class, or one by its weight."""
    if primitive.elementary and code in FUNCTION:
        return LONG_FUNCTION if code == "f8" and primitive.weight >= LONG else FUNCTION[code]
    special = {"divide": DIVISION, "sqrt": ROOT}.get(primitive.name, {})
    weight = primitive.weight
    return special.get(code, Time(weight, SUM.latency if weight == 1 else 3 * weight))


def estimate_time(body: Iterable[Stmt], tiles: Collection[str] = (), kept: int = 0) -> float:
    """Cycles of one iteration of a vector loop.

    Operations issue in order, one per port and cycle, and wait for their operands; a limited number
    may wait. A function is a chain of operations. The numbers are fitted to 14 loops of one to
    three functions (docs/decisions, 48).

    Needs: statements of one innermost loop, in their order.
    Gives: a time to compare with another form of the loop.
    Keeps: the statements.

    Args:
        body: statements that depend on the iteration.
        tiles: scalars that are loaded from tiles.
        kept: the number of scalars stored in tiles.
    """
    known: dict[str, float] = dict.fromkeys(tiles, LOAD_LATENCY)
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
            case Load(name=name) | ReadState(name=name):
                known[name] = here + LOAD_LATENCY
                accesses += 1
            case Store():
                accesses += 1
            case Fold():
                uops += 1
    return max((uops + accesses) / PORTS, divider) + max(waited - HIDDEN_STALLS, 0) / MAX_WAITING
