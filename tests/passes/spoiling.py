"""Rules that spoil programs: what a pass would give if it were wrong."""

import numpy as np

from axiomjit.graph.nodes import Op, rewrite
from axiomjit.passes.ir.loop_ir import Let, Load, Nest, ReadState, rewrite_body
from axiomjit.passes.ir.rewriting import map_bodies
from axiomjit.symbolic.dims import dim


def in_ops(rule):
    """A rule over the ops of a graph."""
    return lambda graph: rewrite(graph, lambda n: rule(n) if isinstance(n, Op) else n)


def in_statements(rule):
    """A rule over the statements of all nests."""

    def spoil(program):
        steps = tuple(
            map_bodies(step, lambda body: rewrite_body(body, rule))
            if isinstance(step, Nest)
            else step
            for step in program.steps
        )
        return program.replace(steps=steps)

    return spoil


def without(*kinds):
    """A rule that drops statements."""
    return in_statements(lambda s: () if isinstance(s, kinds) else (s,))


def _of_its_own_end(stmt):
    if not isinstance(stmt, Load) or stmt.buffer.role != "partial":
        return (stmt,)
    return (stmt.replace(index=stmt.index.replace(offset=dim(0))),)


def _as_long_as_others(stmt):
    if not isinstance(stmt, Let) or stmt.primitive.name != "minimum":
        return (stmt,)
    return (stmt.replace(operands=stmt.operands[:1] * 2),)


def _from_the_first(stmt):
    if not isinstance(stmt, Load) or stmt.buffer.role != "partial":
        return (stmt,)
    return (stmt.replace(index=stmt.index.replace(offset=dim(0), terms=stmt.index.terms[-1:])),)


def counted(i):
    """How often each number is there."""
    h = i[:7] * 0
    np.add.at(h, i, 1)
    return h


one_copy = in_statements(_from_the_first)
"""The first copy of what a scatter writes is taken for all of them."""
own_states = in_statements(_of_its_own_end)
"""A block of a scan begins with the state at its own end."""
whole_blocks = in_statements(_as_long_as_others)
"""The last block of a fold is taken for as long as the others."""
sum_for_squares = in_statements(
    lambda stmt: (stmt.replace(part=1),) if isinstance(stmt, ReadState) and stmt.part else (stmt,)
)
"""Of moments the sum is taken for the squares of distances."""
