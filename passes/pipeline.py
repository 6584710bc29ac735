"""The compiler on one page: the order of the passes, verified after each when asked."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, TypeVar

from axiomjit.config import config
from axiomjit.dims import Dim, Scope, dim
from axiomjit.graph import Graph
from axiomjit.passes.block_folds import block_folds
from axiomjit.passes.collapse_loops import collapse_loops
from axiomjit.passes.compose_views import compose_views
from axiomjit.passes.drop_packs import drop_packs
from axiomjit.passes.estimate_cost import estimate_cost
from axiomjit.passes.fuse_loops import fuse_loops
from axiomjit.passes.loop_ir import LoopProgram, Nest
from axiomjit.passes.lower_to_loops import lower_to_loops
from axiomjit.passes.lower_to_views import lower_to_views
from axiomjit.passes.make_plan import make_plan
from axiomjit.passes.order_loops import order_loops
from axiomjit.passes.plan_ir import Cost, Plan
from axiomjit.passes.save_versions import save_versions
from axiomjit.passes.simplify_algebra import simplify_algebra
from axiomjit.passes.split_regions import split_regions
from axiomjit.passes.strip_mine import strip_mine
from axiomjit.passes.tile_folds import tile_folds
from axiomjit.passes.verify_loops import verify_loops
from axiomjit.passes.verify_views import verify_views
from axiomjit.passes.view_ir import ViewProgram
from axiomjit.records import Record
from axiomjit.verify_graph import verify_graph

GRAPH_PASSES: Final = (compose_views, drop_packs, simplify_algebra, save_versions)
LOOP_PASSES: Final = (fuse_loops, order_loops, collapse_loops, tile_folds)
PASSES: Final = (
    *GRAPH_PASSES,
    lower_to_views,
    lower_to_loops,
    *LOOP_PASSES,
    block_folds,
    split_regions,
    strip_mine,
    make_plan,
)

IR = TypeVar("IR")


class Stages(Record):
    """Every intermediate form of one program."""

    graph: Graph
    simplified: Graph
    views: ViewProgram
    loops: LoopProgram
    plan: Plan
    cost: Cost


def run_pipeline(graph: Graph, layouts: Mapping[int, tuple[Dim, ...]], scope: Scope) -> Stages:
    """Lower a graph to a plan.

    `layouts` gives the strides (elements) of each array input by position; `scope` the lengths
    at hand, and takes the guards of decisions that looked at them.
    """
    _verified(graph, verify_graph)
    simplified = _verified(compose_views(graph), verify_graph)
    simplified = _verified(drop_packs(simplified, layouts), verify_graph)
    simplified = _verified(simplify_algebra(simplified), verify_graph)
    simplified = _verified(save_versions(simplified), verify_graph)
    views = _verified(lower_to_views(simplified, layouts), verify_views)
    loops = _verified(lower_to_loops(views), verify_loops)
    for loop_pass in LOOP_PASSES[:-1]:
        loops = _verified(loop_pass(loops), verify_loops)
    costs = estimate_cost(loops)
    loops = _verified(tile_folds(loops), verify_loops)
    loops = _verified(block_folds(loops, scope), verify_loops)
    loops = _verified(split_regions(loops, scope), verify_loops)
    loops = _verified(strip_mine(loops, scope), verify_loops)
    plan = make_plan(loops, costs)
    return Stages(graph, simplified, views, loops, plan, _total(costs, loops))


def _verified(program: IR, verifier: Callable[[IR], None]) -> IR:
    if config.check:
        verifier(program)
    return program


def _total(costs: tuple[Cost, ...], loops: LoopProgram) -> Cost:
    scratch = dim(0)
    for step in loops.steps:
        for buffer in step.partials if isinstance(step, Nest) else ():
            scratch += buffer.shape[0] * buffer.dtype.itemsize
    sums = {
        field: sum((getattr(cost, field) for cost in costs), dim(0))
        for field in ("bytes_read", "bytes_written", "flops", "temporary_bytes")
    }
    return Cost(**sums, scratch_bytes=scratch, kernels=sum(cost.kernels for cost in costs))
