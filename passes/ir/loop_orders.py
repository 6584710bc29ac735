"""Orders of the loops of a nest."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from itertools import permutations
from typing import Final

from axiomjit.passes.ir.loop_ir import (
    Fold,
    For,
    Load,
    Stmt,
    Store,
    rewrite_body,
    walk,
)
from axiomjit.passes.ir.view_ir import POSITIONS
from axiomjit.symbolic.dims import Dim, product
from axiomjit.views.dense_layout import row_major_strides

MAX_PERMUTED: Final = 4
"""Most loops for which all orders are tried."""
Body = tuple[Stmt, ...]


def in_one_order(first: Body, second: Body) -> Iterator[tuple[Body, Body]]:
    """Both bodies with equal loop order: loops without folds take the order of the other body."""
    folded = [any(isinstance(stmt, Fold) for stmt in walk(body)) for body in (first, second)]
    if folded[0] == folded[1]:
        return
    plain, other = (second, first) if folded[0] else (first, second)
    if len(plain) != 1 or not isinstance(plain[0], For):
        return
    chain, inner = chain_of(plain[0])
    if keeps_order(plain[0]):
        return
    wanted = extents_of(other)
    extents = [loop.extent for loop in chain]
    if sorted(map(id, extents)) != sorted(map(id, wanted)) or len(chain) > MAX_PERMUTED:
        return
    for order in permutations(chain):
        if list(order) != chain and [loop.extent for loop in order] == wanted:
            body = nested(order, rewrite_body(inner, partial(in_loop_order, loops=order)))
            yield (first, body) if plain is second else (body, second)


def extents_of(body: Body) -> list[Dim]:
    """The extents of nested loops, by the first loop of each body."""
    found = []
    loop = next((stmt for stmt in body if isinstance(stmt, For)), None)
    while loop is not None:
        found.append(loop.extent)
        loop = next((stmt for stmt in loop.body if isinstance(stmt, For)), None)
    return found


def in_loop_order(stmt: Stmt, loops: Sequence[For]) -> Body:
    """The statement with the terms of its index in loop order, after gathered values."""
    if not isinstance(stmt, Load | Store):
        return (stmt,)
    places = {loop.iterator: k for k, loop in enumerate(loops)}
    terms = sorted(stmt.index.terms, key=lambda term: places.get(term[0], -1))
    return (stmt.replace(index=stmt.index.replace(terms=tuple(terms))),)


def chain_of(loop: For) -> tuple[list[For], tuple[Stmt, ...]]:
    """A perfect nest of loops of one kind, and its innermost body."""
    chain = [loop]
    body = loop.body
    while len(body) == 1 and isinstance(body[0], For) and body[0].kind == loop.kind:
        chain.append(body[0])
        body = body[0].body
    return chain, body


def nested(loops: Sequence[For], body: Body) -> Body:
    """Nested loops around statements, the first loop outermost."""
    for loop in reversed(loops):
        body = (loop.replace(body=body),)
    return body


def all_steps(loops: Iterable[For]) -> Dim:
    """The number of iterations of nested loops."""
    return product(tuple(loop.extent for loop in loops))


def counted_steps(loops: Sequence[For]) -> tuple[tuple[str, Dim], ...]:
    """The terms of a linear index over nested loops."""
    strides = row_major_strides(tuple(loop.extent for loop in loops))
    return tuple((loop.iterator, stride) for loop, stride in zip(loops, strides, strict=True))


def keeps_order(loop: For) -> bool:
    """True if the results depend on the order of the iterations."""
    folds = (s.state.accumulator for s in walk((loop,)) if isinstance(s, Fold))
    if loop.kind == "fold":
        return not all(fold.commutative for fold in folds)
    return loop.kind == "scatter"


def stride_cost(loop: For, accesses: Sequence[Load | Store]) -> tuple[float, float]:
    """The cost of putting a loop innermost, a pair that is compared in order.

    The first number counts accesses with a stride of more than one element, the second one,
    negated, those with a stride of one element. A store counts one and a half.
    """
    jumps = units = 0.0
    for access in accesses:
        weight = 1.5 if isinstance(access, Store) else float(access.buffer is not POSITIONS)
        for name, stride in access.index.terms:
            if name == loop.iterator:
                near = stride.constant in (1, -1)
                jumps, units = jumps + weight * (not near), units + weight * near
    return jumps, -units
