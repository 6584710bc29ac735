"""The compiler on one page: the passes in order, each verified when asked."""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter_ns
from typing import TYPE_CHECKING, Any, Final

from axiomjit.base.config import config
from axiomjit.base.records import Record
from axiomjit.graph.nodes import Graph
from axiomjit.passes.block_folds import block_folds
from axiomjit.passes.collapse_loops import collapse_loops
from axiomjit.passes.compose_views import compose_views
from axiomjit.passes.costs.estimate_cost import estimate_cost
from axiomjit.passes.cut_joins import cut_joins
from axiomjit.passes.drop_packs import drop_packs
from axiomjit.passes.drop_padding import drop_padding
from axiomjit.passes.find_convolutions import find_convolutions
from axiomjit.passes.flip_loops import flip_loops
from axiomjit.passes.fold_masks import fold_masks
from axiomjit.passes.fuse_loops import fuse_loops
from axiomjit.passes.interleave_folds import interleave_folds
from axiomjit.passes.ir.context import Context
from axiomjit.passes.ir.loop_ir import Cost, LoopProgram
from axiomjit.passes.ir.plan_ir import Plan
from axiomjit.passes.ir.view_ir import ViewProgram
from axiomjit.passes.keep_rows import keep_rows
from axiomjit.passes.limit_loops import limit_loops
from axiomjit.passes.lower_to_loops import lower_to_loops
from axiomjit.passes.lower_to_views import lower_to_views
from axiomjit.passes.make_plan import make_plan
from axiomjit.passes.order_contractions import order_contractions
from axiomjit.passes.order_loops import order_loops
from axiomjit.passes.save_versions import save_versions
from axiomjit.passes.search_blocks import search_blocks
from axiomjit.passes.simplify_algebra import simplify_algebra
from axiomjit.passes.split_regions import split_regions
from axiomjit.passes.strip_mine import strip_mine
from axiomjit.passes.tile_folds import tile_folds

if TYPE_CHECKING:
    from axiomjit.passes.ir.forms import AnyProgram

Pass = Callable[[Any, Context], Any]
"""Takes a program and returns an equivalent one, in the next form or improved in the same one."""
Watcher = Callable[[str, "AnyProgram", "AnyProgram", int], None]
"""Called after each pass: with its name, the program before and after, and nanoseconds."""

PASSES: Final[tuple[Pass, ...]] = (
    compose_views,
    fold_masks,
    order_contractions,
    drop_padding,
    drop_packs,
    simplify_algebra,
    find_convolutions,
    save_versions,
    lower_to_views,
    cut_joins,
    lower_to_loops,
    fuse_loops,
    order_loops,
    flip_loops,
    collapse_loops,
    estimate_cost,
    keep_rows,
    tile_folds,
    block_folds,
    search_blocks,
    interleave_folds,
    limit_loops,
    split_regions,
    strip_mine,
    make_plan,
)


class Stages(Record):
    """A program in every form: the input, and the result of the last pass over each form.

    `context` has the facts that the passes knew beside it.
    """

    context: Context
    graph: Graph
    simplified: Graph
    views: ViewProgram
    loops: LoopProgram
    plan: Plan

    @property
    def cost(self) -> Cost:
        """The cost of all steps of the plan."""
        return self.plan.cost


def run_pipeline(graph: Graph, context: Context, watch: Watcher | None = None) -> Stages:
    """Lower a graph to a plan.

    Under `config.check` the graph is verified, and what each pass gives.

    Raises:
        VerifyError: a pass gave a program that is not legal: a defect of that pass.
    """
    program: AnyProgram = graph
    last: dict[type, Any] = {}
    _verify(program)
    for step in PASSES:
        before, started = program, perf_counter_ns()
        program = step(before, context)
        took = perf_counter_ns() - started
        _verify(program)
        last[type(program)] = program
        if watch is not None:
            watch(step.__name__, before, program, took)
    forms = (last[Graph], last[ViewProgram], last[LoopProgram], last[Plan])
    return Stages(context, graph, *forms)


def simplified(graph: Graph, context: Context) -> Graph:
    """The graph after the passes over graphs."""
    for step in PASSES[: PASSES.index(lower_to_views)]:
        graph = step(graph, context)
    return graph


def _verify(program: AnyProgram) -> None:
    if config.check:
        from axiomjit.passes.ir.forms import FORMS  # here, since other programs do not need it

        FORMS[type(program)].verify(program)
