"""LoopProgram -> LoopProgram: loops are permuted so that memory is walked in small steps."""

from __future__ import annotations

from axiomjit.passes.ir.context import Context
from axiomjit.passes.ir.loop_ir import (
    For,
    Load,
    LoopProgram,
    Nest,
    Stmt,
    Store,
    map_nests,
)
from axiomjit.passes.ir.rewriting import chain_of, keeps_order, nested, stride_cost
from axiomjit.symbolic.index_maps import stride_size


def order_loops(program: LoopProgram, context: Context) -> LoopProgram:
    """Permute the loops of each chain so that memory is walked in small steps.

    A chain is a perfect nest of loops of one kind. The loop with the fewest accesses of large
    stride becomes the innermost loop; among loops with equally few, the loop with the most accesses
    of unit stride (stores count more than loads). All loops except the innermost loop are sorted by
    descending stride; loops with equal strides keep their order. Loops of a noncommutative fold
    keep their order.

    Needs: a legal loop program whose loops have no blocks.
    Gives: a legal loop program.
    Keeps: the nests and their data; sums over several loops may be added in another order.
    """
    return map_nests(program, _order)


def _order(nest: Nest) -> Nest:
    accesses = [s for s in nest.statements if isinstance(s, Load | Store)]
    body = _permute(nest.body, accesses)
    return nest if body == nest.body else Nest(body)


def _permute(body: tuple[Stmt, ...], accesses: list[Load | Store]) -> tuple[Stmt, ...]:
    result: list[Stmt] = []
    for stmt in body:
        if not isinstance(stmt, For):
            result.append(stmt)
            continue
        chain, inner = chain_of(stmt)
        inner = _permute(inner, accesses)
        ordered = chain if keeps_order(stmt) else _sorted(chain, accesses)
        result += nested(ordered, inner)
    return tuple(result)


def _sorted(chain: list[For], accesses: list[Load | Store]) -> list[For]:
    if len(chain) == 1:
        return chain
    by_size = sorted(chain, key=lambda loop: _stride_size(loop, accesses), reverse=True)
    innermost = min(reversed(by_size), key=lambda loop: stride_cost(loop, accesses))
    return [*(loop for loop in by_size if loop is not innermost), innermost]


def _stride_size(loop: For, accesses: list[Load | Store]) -> int:
    strides = (s for a in accesses for name, s in a.index.terms if name == loop.iterator)
    return sum((rank << 50) + size for rank, size in map(stride_size, strides))
