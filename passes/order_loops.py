"""LoopProgram -> LoopProgram: unit stride innermost."""

from __future__ import annotations

from axiomjit.algebra.dims import magnitude
from axiomjit.passes.ir.context import Context
from axiomjit.passes.ir.loop_ir import (
    Fold,
    For,
    Load,
    LoopProgram,
    Nest,
    Stmt,
    Store,
    map_nests,
    statements,
    walk,
)
from axiomjit.passes.ir.loop_orders import chain_of, stride_cost


def order_loops(program: LoopProgram, context: Context) -> LoopProgram:
    """Permute the loops of each chain so that memory is walked in small steps.

    A chain is loops of one kind, each the only statement of the one outside it. The innermost is
    the loop along which the fewest accesses leave a cache line, then most move by one element
    (stores count more than loads); the others are sorted by falling stride; ties keep their order.
    Loops of a fold that does not commute keep theirs.

    Needs: a legal loop program whose loops have no blocks.
    Gives: a legal loop program.
    Keeps: the nests and their data; sums over several loops may be added in another order.
    """
    return map_nests(program, _order)


def _order(nest: Nest) -> Nest:
    accesses = [s for s in statements(nest) if isinstance(s, Load | Store)]
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
        ordered = chain if _keeps_order(stmt) else _sorted(chain, accesses)
        for loop in reversed(ordered):
            inner = (loop.replace(body=inner),)
        result += inner
    return tuple(result)


def _keeps_order(loop: For) -> bool:
    """Whether elements are folded in the order of the loops, which is the one listed."""
    folds = (s.state.accumulator for s in walk((loop,)) if isinstance(s, Fold))
    return loop.kind == "fold" and not all(fold.commutative for fold in folds)


def _sorted(chain: list[For], accesses: list[Load | Store]) -> list[For]:
    if len(chain) == 1:
        return chain
    innermost = min(enumerate(chain), key=lambda kl: (stride_cost(kl[1], accesses), -kl[0]))[1]
    others = [loop for loop in chain if loop is not innermost]
    others.sort(key=lambda loop: -_stride_size(loop, accesses))
    return [*others, innermost]


def _stride_size(loop: For, accesses: list[Load | Store]) -> int:
    return sum(magnitude(s) for a in accesses for n, s in a.index.terms if n == loop.iterator)
