"""Rules that spoil programs: what a pass would give if it were wrong."""

from axiomjit.graph.nodes import Op, rewrite
from axiomjit.passes.ir.loop_ir import Nest, rewrite_body


def in_ops(rule):
    """A rule over the ops of a graph."""
    return lambda graph: rewrite(graph, lambda n: rule(n) if isinstance(n, Op) else n)


def in_statements(rule):
    """A rule over the statements of all nests."""

    def spoil(program):
        steps = tuple(
            step.replace(
                body=rewrite_body(step.body, rule), combine=rewrite_body(step.combine, rule)
            )
            if isinstance(step, Nest)
            else step
            for step in program.steps
        )
        return program.replace(steps=steps)

    return spoil


def without(*kinds):
    """A rule that drops statements."""
    return in_statements(lambda s: () if isinstance(s, kinds) else (s,))
