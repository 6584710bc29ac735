"""Rewrites of all statements of programs and nests."""

from __future__ import annotations

from collections.abc import Callable

from axiomjit.passes.ir.loop_ir import LoopProgram, Nest, Stmt, map_nests, rewrite_body


def rewrite_nests(program: LoopProgram, rule: Callable[[Stmt], tuple[Stmt, ...]]) -> LoopProgram:
    """Replace each statement in the bodies of nests by what `rule` gives for it."""

    def rewritten(nest: Nest) -> Nest:
        body = rewrite_body(nest.body, rule)
        return nest if body == nest.body else nest.replace(body=body)

    return map_nests(program, rewritten)


def map_bodies(nest: Nest, rule: Callable[[tuple[Stmt, ...]], tuple[Stmt, ...]]) -> Nest:
    """Replace both parts of a nest by what `rule` gives for them."""
    changed: Nest = nest.replace(body=rule(nest.body), combine=rule(nest.combine))
    return changed
