"""LoopProgram -> LoopProgram: loops are split at the borders between the parts of selects."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

from axiomjit.passes.ir.context import Context
from axiomjit.passes.ir.loop_ir import (
    Bound,
    For,
    If,
    LoopProgram,
    Nest,
    Select,
    Stmt,
    bounds_of,
    map_nests,
    rewrite_body,
    walk,
)
from axiomjit.passes.ir.rewriting import map_bodies, rename_iterators
from axiomjit.symbolic.dims import Dim, bound, current_scope, dim


def split_regions(program: LoopProgram, context: Context) -> LoopProgram:
    """Split each loop into ranges in which each select has a single part.

    Inner loops that read a padded or concatenated operand by a select then have no conditions
    (ngraph tensors: complex views). Comparing the bounds of ranges, with the lengths of this call,
    records guards in the scope.

    Needs: a legal loop program whose loops have no spans.
    Gives: a legal loop program without selects.
    Keeps: all iterations and their order.
    """
    with bound(context.scope):
        return map_nests(program, _split)


def _split(nest: Nest) -> Nest:
    if not any(isinstance(stmt, Select) for stmt in nest.statements):
        return nest
    return map_bodies(nest, _without_selects)


def _without_selects(body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
    """The statements without selects."""
    known = _decide_bounds(body, lambda b: b.low <= 0 < b.high if b.iterator is None else None)
    return _resolved(_ranges(known))


def _decide_bounds(
    body: tuple[Stmt, ...], verdict: Callable[[Bound], bool | None]
) -> tuple[Stmt, ...]:
    """Drop the bounds that `verdict` finds true, and the parts with a bound that it finds false."""

    def rule(stmt: Stmt) -> tuple[Stmt, ...]:
        if not isinstance(stmt, Select):
            return (stmt,)
        parts = []
        for part in stmt.parts:
            verdicts = {b: verdict(b) for b in part.bounds}
            inner = _reached(part.body)
            if False not in verdicts.values() and not _is_outside_regions(inner):
                bounds = tuple(b for b in verdicts if not verdicts[b])
                parts.append(part.replace(bounds=bounds, body=inner))
        return (stmt.replace(parts=tuple(parts)),)

    return rewrite_body(body, rule)


def _ranges(body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
    """The statements with every loop cut at the bounds of its iterator."""
    result: list[Stmt] = []
    for stmt in body:
        if isinstance(stmt, If):
            stmt = stmt.replace(body=_ranges(stmt.body))
        result += _cut(stmt) if isinstance(stmt, For) else [stmt]
    return tuple(result)


def _cut(loop: For) -> list[For]:
    own = [b for b in bounds_of(loop.body) if b.iterator == loop.iterator]
    if not own:
        return [loop.replace(body=_ranges(loop.body))]
    if loop.extent.constant == 0:  # an empty loop: any part will do
        body = _decide_bounds(loop.body, lambda b: True if b.iterator == loop.iterator else None)
        return [loop.replace(body=_ranges(body))]
    cuts, ranks = _in_order([place for b in own for place in (b.low, b.high)], loop.extent)
    starts = {**ranks, cuts[0]: 0}  # an empty range, whose first and last place are equal
    loops = []
    for k, span in enumerate(pairwise(cuts)):

        def verdict(b: Bound, k: int = k) -> bool | None:
            return starts[b.low] <= k < ranks[b.high] if b.iterator == loop.iterator else None

        inner = _reached(_decide_bounds(loop.body, verdict))
        if not _is_outside_regions(inner):
            loops.append(loop.replace(body=_ranges(inner), span=span))
    return loops


def _reached(body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
    """The statements without branches that read a select without parts, and so never run."""

    def rule(stmt: Stmt) -> tuple[Stmt, ...]:
        if isinstance(stmt, If):
            return () if not stmt.body or _is_outside_regions(stmt.body) else (stmt,)
        return () if isinstance(stmt, For) and not stmt.body else (stmt,)

    return rewrite_body(body, rule)


def _is_outside_regions(body: tuple[Stmt, ...]) -> bool:
    """True if the statements read a select without parts, so that they never run."""
    return any(isinstance(stmt, Select) and not stmt.parts for stmt in walk(body))


def _in_order(places: list[Dim], extent: Dim) -> tuple[list[Dim], dict[Dim, int]]:
    """The places within [0, extent], sorted by their values in this call, and all places' ranks."""
    first = dim(0)
    ranks: dict[Dim, int] = {}
    inner: dict[Dim, None] = {}
    for place in places:
        if place is first or place < 0:
            ranks[place] = 0
        elif place is not extent and place <= extent:
            inner[place] = None
    cuts = [first, *sorted(inner, key=current_scope().value), extent]
    for one, next_one in pairwise(cuts):
        assert one <= next_one  # records a guard
    ranks.update({place: k for k, place in enumerate(cuts)})
    return cuts, {place: ranks.get(place, len(cuts) - 1) for place in places}


def _resolved(body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
    """The statements with each select replaced by the statements of its only part."""
    result: list[Stmt] = []
    names: dict[str, str] = {}
    rest = list(reversed(body))
    while rest:
        (stmt,) = rename_iterators((rest.pop(),), names)
        if isinstance(stmt, Select):
            part = stmt.parts[0]
            assert not part.bounds, f"{stmt.name} is picked outside the loops of its bounds"
            rest += reversed(_ranges(part.body))
            names = {old: part.value if new == stmt.name else new for old, new in names.items()}
            names[stmt.name] = part.value
        else:
            if isinstance(stmt, For | If):
                stmt = stmt.replace(body=_resolved(stmt.body))
            result.append(stmt)
    return tuple(result)
