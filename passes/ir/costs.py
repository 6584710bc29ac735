"""Estimates of cost: the cycles of a loop's statements, and the work of regions.

Cycles are for one vector on a processor with AVX-512. For a serial loop without a known number of
trips, the estimates assume a number.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Final, NamedTuple

from axiomjit.base.dtypes import code
from axiomjit.graph.primitives import Primitive
from axiomjit.passes.ir.loop_ir import Cost, Fold, For, Let, Load, ReadState, Stmt, Store, bodies_of
from axiomjit.passes.ir.view_ir import ArrayRole
from axiomjit.symbolic.dims import INDEX, Dim, dim, substitute


class Time(NamedTuple):
    """The resources of a processor that a vector operation uses."""

    uops: int
    """The number of micro-operations of vector units."""
    latency: int
    """The cycles from the operands to the result."""
    divider: int = 0
    """The cycles for which the operation occupies the divider."""


SUM: Final = Time(1, 4)
DIVISION: Final = {"f4": Time(3, 18, 10), "f8": Time(3, 24, 16)}
ROOT: Final = {"f4": Time(3, 20, 12), "f8": Time(3, 32, 18)}
FUNCTION: Final = {"f4": Time(14, 44), "f8": Time(20, 60)}
"""The time of an elementary function, by dtype; separate times for all functions would change only
one of 33 programs.
"""
LONG_FUNCTION: Final = Time(40, 100)
"""The time of an elementary function of float64 with a weight of `LONG_WEIGHT` or more."""
LONG_WEIGHT: Final = 40
LOAD_LATENCY: Final = 7
"""The cycles from an address to the loaded number."""
PORTS: Final = 2
"""The number of micro-operations on 64-byte vectors that are issued per cycle."""
HIDDEN_STALLS: Final = 250
"""The stall cycles per iteration that out-of-order execution hides."""
MAX_WAITING: Final = 155
"""The number of waiting micro-operations above which the processor stalls."""


def operation_time(primitive: Primitive, code: str) -> Time:
    """The time of an operation with this result dtype, from its class or else from its weight."""
    if primitive.elementary and code in FUNCTION:
        return LONG_FUNCTION if code == "f8" and primitive.weight >= LONG_WEIGHT else FUNCTION[code]
    special = {"divide": DIVISION, "sqrt": ROOT}.get(primitive.name, {})
    weight = primitive.weight
    return special.get(code, Time(weight, SUM.latency if weight == 1 else 3 * weight))


def estimate_time(body: Iterable[Stmt], tiles: Collection[str] = (), kept: int = 0) -> float:
    """Estimate the cycles of one iteration of a vector loop.

    The model: operations are issued in order, one per port and cycle, and wait for their operands;
    only a limited number of operations can wait at the same time. An elementary function counts as
    a chain of dependent operations. The constants are fitted to 14 loops of one to three functions
    (docs/decisions, 48).

    Needs: statements of one innermost loop, in their order.
    Gives: a time that can be compared with the time of another form of the loop.
    Keeps: the statements.

    Args:
        body: The statements that depend on the iteration.
        tiles: The scalars that are loaded from tiles.
        kept: The number of scalars that are stored in tiles.
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


ENDLESS: Final = 2**62
"""The extent of a loop that ends only by its condition."""
GUESSED_TRIPS: Final = 1000
"""The number of trips that estimates assume for an endless loop."""
GUESSED_INNER_TRIPS: Final = 8
"""The number of trips that estimates assume for an endless loop inside another loop."""


def serial_cost(body: tuple[Stmt, ...], guess: int = GUESSED_INNER_TRIPS) -> Cost:
    """The cost of running a region's statements once.

    Every access to memory is counted, and so are both sides of a branch. The length of an inner
    loop is its length in the middle trip of the loop around it. An endless loop has `guess` trips,
    or GUESSED_INNER_TRIPS inside another loop.
    """
    read = written = flops = dim(0)
    for stmt in body:
        match stmt:
            case Load(buffer=buffer):
                read += buffer.dtype.itemsize * (buffer.role is not ArrayRole.CELLS)
            case Store(buffer=buffer, combine=combine):
                written += buffer.dtype.itemsize * (buffer.role is not ArrayRole.CELLS)
                flops += 0 if combine is None else combine.weight
            case Let(primitive=primitive):
                flops += primitive.weight
            case Fold(state=state):
                flops += state.accumulator.weight
            case For():
                inner = serial_cost(stmt.body)
                trips = dim(guess) if stmt.extent.constant == ENDLESS else stmt.extent
                amounts = inner.bytes_read, inner.bytes_written, inner.flops
                found = [in_middle(amount, stmt) * trips for amount in amounts]
                read, written, flops = read + found[0], written + found[1], flops + found[2]
            case _:
                inner = serial_cost(tuple(s for part in bodies_of(stmt) for s in part), guess)
                read, written = read + inner.bytes_read, written + inner.bytes_written
                flops += inner.flops
    return Cost(read, written, flops, dim(0), dim(0), 1)


def in_middle(amount: Dim, loop: For) -> Dim:
    """The value of an amount that may depend on a loop's index, in the loop's middle trip."""
    index = [s for s in amount.symbols if s.kind == INDEX and s.name == loop.iterator]
    return substitute(amount, {index[0]: loop.extent // 2}) if index else amount
