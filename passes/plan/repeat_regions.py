"""Plan -> Plan: the bodies of loops and branches that are not kernels become plans."""

from __future__ import annotations

from collections.abc import Sequence
from operator import is_
from typing import Final, TypeGuard

from axiomjit.graph.library_operations import LibraryOperation
from axiomjit.graph.nodes import Graph, Input, Node, Op, Update, root_of
from axiomjit.graph.regions import Loop, Region
from axiomjit.passes.ir.context import Context, scope_of_body
from axiomjit.passes.ir.plan_ir import Branch, Call, Plan, Repeat, Step, Window
from axiomjit.symbolic.dims import Scope, product
from axiomjit.symbolic.index_maps import identity

MIN_ELEMENTS: Final = 4096
"""The smallest number of elements of an array for which new memory in each trip is faster than a
copy.
"""


def repeat_regions(plan: Plan, context: Context) -> Plan:
    """Replace each call of a region by a step that repeats the plan of its body or selects a plan.

    A body is lowered once for all trips; its kernels and library calls get the loop's index as a
    length. If a new value of an array depends on other elements of the old value, it is made in new
    memory, which replaces the old memory in the next trip.

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
    """The step itself, or the Repeat or Branch for the region that it calls."""
    region = step.operation if isinstance(step, Call) else None
    if not isinstance(step, Call) or not isinstance(region, Region):
        return step
    layouts = {k: window.strides for k, window in enumerate(step.operands)}
    inner = context.replace(layouts=layouts, scope=scope_of_body(region, context.scope))
    given = step.operands, region.overwrites, step.target
    if not isinstance(region, Loop):
        return Branch(tuple(_lowered(body, inner) for body in region.bodies), *given)
    first, renewed = _plan_of_body(region.bodies[0], step.operands, inner)
    bodies = first, *(_lowered(body, inner) for body in region.bodies[1:])
    return Repeat(bodies, *given, region.index, region.trips, renewed)


def _plan_of_body(
    body: Graph, operands: Sequence[Window], context: Context
) -> tuple[Plan, tuple[int, ...]]:
    """The plan of a loop's body, and the positions of operands that its results replace."""
    pairs = list(zip(body.writes, body.final_values, strict=True))
    read = {child for op in body.ops for child in op.children}
    unread = ((k, last) for k, last in pairs if last not in read)
    new = {k: last.children[1] for k, last in unread if _needs_a_copy(last, context.scope)}
    if new:
        kept = [(k, last) for k, last in pairs if k not in new]
        outputs = *new.values(), *(last for _, last in kept)
        plan = _lowered(body.replace(outputs=outputs, writes=tuple(k for k, _ in kept)), context)
        places = zip(plan.results, new, strict=True)
        if all(one.strides == operands[k].strides and not one.offset.terms for one, k in places):
            return plan, tuple(new)
    return _lowered(body, context), ()


def _needs_a_copy(last: Node, scope: Scope) -> bool:
    """True if a write replaces a large array by a value that must be computed in other memory."""
    if type(last) is not Update or not isinstance(last.operands[0], Input):
        return False
    old, value, *positions = last.operands
    everywhere = identity(len(old.shape))
    if positions or last.combine or last.maps != (everywhere, everywhere):
        return False
    if not all(map(is_, last.extents, old.shape)):
        return False
    if scope.value(product(old.shape)) < MIN_ELEMENTS or not isinstance(value, Op):
        return False
    return isinstance(root_of(value), Op) and (
        not _is_simple(value) or _reads_elsewhere(value, old, True)
    )


def _is_simple(node: Node) -> TypeGuard[Op]:
    """True for an op that readers can compute element by element."""
    if not isinstance(node, Op) or isinstance(node, Update) or node.fold is not None:
        return False
    return not isinstance(node.primitive, LibraryOperation)


def _reads_elsewhere(op: Op, old: Node, same: bool) -> bool:
    """True if an op reads a storage at other positions than that of the element it computes."""
    for child, index in zip(op.operands, op.maps, strict=True):
        here = same and not op.regions and index == identity(op.rank)
        if child is old and not here:
            return True
        if _is_simple(child) and _reads_elsewhere(child, old, here):
            return True
    return False


def _lowered(body: Graph, context: Context) -> Plan:
    assert context.lower is not None, "the pipeline sets it"
    return context.lower(body, context)
