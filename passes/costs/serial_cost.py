"""The cost of regions: of the trips of serial loops, apart from the sizes of their arrays."""

from __future__ import annotations

from typing import Final

from axiomjit.passes.ir.loop_ir import Cost, Fold, For, Let, Load, Stmt, Store, bodies_of
from axiomjit.passes.ir.view_ir import ArrayRole
from axiomjit.symbolic.dims import INDEX, Dim, dim, substitute

ENDLESS: Final = 2**62
"""The number of trips of a loop that only its condition ends."""
GUESSED_TRIPS: Final = 1000
"""The number of trips of such a loop in estimates."""
GUESSED_INNER_TRIPS: Final = 8
"""The number of trips of such a loop inside another one, as over the elements of a sparse row."""


def serial_cost(body: tuple[Stmt, ...], guess: int = GUESSED_INNER_TRIPS) -> Cost:
    """The cost of one run of statements of a region: an inner loop as in the middle trip around it.

    Every access to memory counts, of a branch both sides, and of a loop without a known number of
    trips `guess`, if that is no inner one.
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
    """An amount of each trip of a loop in the middle one."""
    index = [s for s in amount.symbols if s.kind == INDEX and s.name == loop.iterator]
    return substitute(amount, {index[0]: loop.extent // 2}) if index else amount
