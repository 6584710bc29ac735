"""Plan -> Plan: loops and branches that no kernel runs get plans of their own."""

from __future__ import annotations

from axiomjit.graph.nodes import Graph
from axiomjit.graph.regions import Loop, Region
from axiomjit.passes.ir.context import Context, scope_of_body
from axiomjit.passes.ir.plan_ir import Branch, Call, Plan, Repeat, Step


def repeat_regions(plan: Plan, context: Context) -> Plan:
    """Lower the bodies of each region to plans, and repeat these, or choose one of them.

    A body is lowered once for all trips: its kernels and library calls get the index as a length.

    Needs: a legal plan.
    Gives: a legal plan without calls of regions.
    Keeps: the order of steps.
    """
    if not plan.calls_regions:
        return plan
    steps = tuple(_step(step, context) for step in plan.steps)
    added = [one for step in steps if isinstance(step, Repeat | Branch) for one in step.bodies]
    kernels = plan.cost.kernels + sum(one.cost.kernels for one in added)
    return plan.replace(steps=steps, cost=plan.cost.replace(kernels=kernels))


def _step(step: Step, context: Context) -> Step:
    """The step, or that of the region that it calls."""
    region = step.operation if isinstance(step, Call) else None
    if not isinstance(step, Call) or not isinstance(region, Region):
        return step
    layouts = {k: window.strides for k, window in enumerate(step.operands)}
    inner = context.replace(layouts=layouts, scope=scope_of_body(region, context.scope))
    bodies = tuple(_lowered(body, inner) for body in region.bodies)
    given = bodies, step.operands, region.overwrites, step.target
    return (
        Repeat(*given, region.index, region.trips) if isinstance(region, Loop) else Branch(*given)
    )


def _lowered(body: Graph, context: Context) -> Plan:
    assert context.lower is not None, "the pipeline sets it"
    return context.lower(body, context)
