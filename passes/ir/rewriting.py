"""Rewrites of all statements of programs and nests."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from axiomjit.passes.ir.cost import Cost
from axiomjit.passes.ir.loop_ir import (
    LibraryCall,
    LoopProgram,
    Nest,
    Stmt,
    map_nests,
    rewrite_body,
)


def rewrite_nests(program: LoopProgram, rule: Callable[[Stmt], tuple[Stmt, ...]]) -> LoopProgram:
    """Replace each statement in the bodies of nests by what `rule` gives for it."""

    def rewritten(nest: Nest) -> Nest:
        body = rewrite_body(nest.body, rule)
        return nest if body == nest.body else nest.replace(body=body)

    return map_nests(program, rewritten)


def replace_nests(
    program: LoopProgram, rule: Callable[[Nest, Cost], Sequence[tuple[Nest, Cost]] | None]
) -> LoopProgram:
    """Replace nests by several with their costs, which `rule` gives for a nest and its cost."""
    made: list[tuple[Nest | LibraryCall, Cost]] = []
    for step, cost in zip(program.steps, program.costs, strict=True):
        several = rule(step, cost) if isinstance(step, Nest) else None
        made += [(step, cost)] if several is None else several
    if len(made) == len(program.steps):
        return program
    steps, costs = zip(*made, strict=True)
    return program.replace(steps=steps, costs=costs)


def map_bodies(nest: Nest, rule: Callable[[tuple[Stmt, ...]], tuple[Stmt, ...]]) -> Nest:
    """Replace both parts of a nest by what `rule` gives for them."""
    return nest.replace(body=rule(nest.body), combine=rule(nest.combine))
