"""Estimate the cost of regions, whose serial loops have any number of trips."""

from __future__ import annotations

from typing import Final

from axiomjit.passes.ir.loop_ir import Cost, Fold, For, Let, Load, Stmt, Store, bodies_of
from axiomjit.passes.ir.view_ir import ArrayRole
from axiomjit.symbolic.dims import INDEX, Dim, dim, substitute

ENDLESS: Final = 2**62
"""The extent of a loop that ends only by its condition."""
GUESSED_TRIPS: Final = 1000
"""The number of trips that estimates assume for an endless loop."""
GUESSED_INNER_TRIPS: Final = 8
"""The number of trips that estimates assume for an endless loop inside another loop."""


def serial_cost(body: tuple[Stmt, ...], guess: int = GUESSED_INNER_TRIPS) -> Cost:
    """The cost of running a region's statements once.

    Every access to memory counts, and both sides of a branch. An inner loop has the length of the
    middle trip around it. An endless loop has `guess` trips, or GUESSED_INNER_TRIPS inside another
    loop.
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
    """An amount that depends on the trip of a loop, in the middle trip."""
    index = [s for s in amount.symbols if s.kind == INDEX and s.name == loop.iterator]
    return substitute(amount, {index[0]: loop.extent // 2}) if index else amount
