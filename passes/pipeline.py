"""The pipeline of passes in order; under `config.check` the result of each is verified."""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter_ns
from typing import TYPE_CHECKING, Any, Final

from axiomjit.base.config import config
from axiomjit.base.errors import VerifyError
from axiomjit.base.locks import lazy_import
from axiomjit.base.records import Record
from axiomjit.graph.nodes import Graph, Node, Op, Update, post_order
from axiomjit.graph.primitives import MERGED, PRODUCT, SUM
from axiomjit.graph.reductions import StateFold
from axiomjit.passes.costs.estimate_cost import estimate_cost
from axiomjit.passes.graph.compose_views import compose_views
from axiomjit.passes.graph.simplify_algebra import simplify_algebra
from axiomjit.passes.ir.context import Context
from axiomjit.passes.ir.cost import Cost
from axiomjit.passes.ir.loop_ir import (
    Fold,
    For,
    If,
    LoopProgram,
    Nest,
    ReadState,
    Select,
    Stmt,
    Store,
    statements,
)
from axiomjit.passes.ir.plan_ir import Plan
from axiomjit.passes.ir.view_ir import ViewProgram
from axiomjit.passes.loops.block_folds import block_folds
from axiomjit.passes.loops.collapse_loops import collapse_loops
from axiomjit.passes.loops.flip_loops import flip_loops
from axiomjit.passes.loops.fuse_loops import fuse_loops
from axiomjit.passes.loops.insert_cancellation_checks import insert_cancellation_checks
from axiomjit.passes.loops.lower_to_loops import lower_to_loops
from axiomjit.passes.loops.order_loops import order_loops
from axiomjit.passes.loops.strip_mine import strip_mine
from axiomjit.passes.plan.make_plan import make_plan
from axiomjit.passes.views.lower_to_views import lower_to_views

if TYPE_CHECKING:
    from axiomjit.passes.ir.print_program import AnyProgram


class OptionalPass:
    """A pass that is imported and run only for programs to which its predicate applies."""

    def __init__(self, name: str, applies: Callable[[Any], bool]) -> None:
        """Store a module's name below `passes`, and the predicate `applies` on programs."""
        self.path, self.applies = f"axiomjit.passes.{name}", applies
        self.__name__ = name.rpartition(".")[2]

    def __call__(self, program: Any, context: Context) -> Any:
        """Run the pass if it applies; under `config.check` run it on every program.

        Raises:
            VerifyError: the pass changes a program to which it does not apply.
        """
        applies = self.applies(program)
        if not applies and not config.check:
            return program
        made = self.imported()(program, context)
        if not applies and made != program:
            raise VerifyError(
                f"{self.__name__} of a program",
                "a changed program to which the pass does not apply",
                "report this program as a defect of axiomjit",
            )
        return made

    def imported(self) -> Callable[[Any, Context], Any]:
        """The function of the pass."""
        found: Callable[[Any, Context], Any] = getattr(lazy_import(self.path), self.__name__)
        return found


def has_node(wanted: Callable[[Node], bool]) -> Callable[[Graph], bool]:
    """A predicate: the graph has a node for which `wanted` is True."""
    return lambda graph: any(map(wanted, post_order(graph.outputs)))


def has_op(wanted: Callable[[Op], bool]) -> Callable[[Graph], bool]:
    """A predicate: the graph has an op for which `wanted` is True."""
    return has_node(lambda node: isinstance(node, Op) and wanted(node))


def reads_windows(op: Op) -> bool:
    """True if an operand is indexed by a sum of iterators, as windows are."""
    return any(len(function.terms) > 1 for index in op.maps for function in index)


def has_statement(wanted: Callable[[Stmt], bool]) -> Callable[[LoopProgram], bool]:
    """A predicate: the program has a statement for which `wanted` is True."""
    return lambda program: any(
        any(map(wanted, statements(step))) for step in program.steps if isinstance(step, Nest)
    )


folds_by_graph: Final = has_statement(
    lambda stmt: isinstance(stmt, Fold) and isinstance(stmt.state.accumulator, StateFold)
)
"""True if the program has a fold by a graph of scalars, such as moments or argmin."""
has_fold: Final = has_statement(lambda stmt: isinstance(stmt, For) and stmt.kind == "fold")
"""True if the program has a fold loop."""


Pass = Callable[[Any, Context], Any]
"""A function from a program to an equivalent one, in the next form or in the same form."""
Watcher = Callable[[str, "AnyProgram", "AnyProgram", int], None]
"""A function of a pass's name, the programs before and after it, and its time in nanoseconds."""

PASSES: Final[tuple[Pass, ...]] = (
    compose_views,
    OptionalPass("graph.fold_masks", lambda graph: bool(graph.data_dependent)),
    OptionalPass("graph.order_contractions", has_op(lambda op: op.primitive is PRODUCT)),
    OptionalPass("graph.drop_padding", has_op(lambda op: bool(op.conditions))),
    OptionalPass("graph.elide_copies", has_op(lambda op: op.primitive is MERGED)),
    simplify_algebra,
    OptionalPass(
        "graph.find_convolutions", has_op(lambda op: op.fold is SUM and reads_windows(op))
    ),
    OptionalPass("graph.save_versions", has_node(lambda node: isinstance(node, Update))),
    lower_to_views,
    OptionalPass("views.cut_joins", lambda program: any(d.regions for d in program.definitions)),
    lower_to_loops,
    fuse_loops,
    order_loops,
    flip_loops,
    collapse_loops,
    OptionalPass(
        "loops.join_moments", lambda program: len(program.steps) > 1 and has_fold(program)
    ),
    estimate_cost,
    OptionalPass("loops.cache_rows", has_fold),
    OptionalPass("loops.tile_folds", has_fold),
    block_folds,
    OptionalPass("loops.center_blocks", folds_by_graph),
    OptionalPass("loops.search_blocks", folds_by_graph),
    OptionalPass("loops.interleave_folds", folds_by_graph),
    OptionalPass("loops.buffer_rows", lambda program: bool(program.updated)),
    OptionalPass(
        "loops.split_scans",
        has_statement(lambda stmt: isinstance(stmt, ReadState) and bool(stmt.including)),
    ),
    OptionalPass(
        "loops.privatise_scatters",
        has_statement(lambda stmt: isinstance(stmt, Store) and stmt.combine is not None),
    ),
    OptionalPass("loops.limit_loops", has_statement(lambda stmt: isinstance(stmt, If))),
    OptionalPass("loops.split_regions", has_statement(lambda stmt: isinstance(stmt, Select))),
    strip_mine,
    insert_cancellation_checks,
    make_plan,
)


LOOP_PASSES: Final[dict[str, Pass]] = {
    step.__name__: step
    for step in PASSES[PASSES.index(lower_to_loops) + 1 : PASSES.index(make_plan)]
}
"""The passes that improve loops by name, in order."""

NEEDED: Final = frozenset(
    ("compose_views", "order_contractions", "save_versions", "lower_to_views", "lower_to_loops")
    + ("estimate_cost", "split_regions", "make_plan")
)
"""Passes that later passes or kernels depend on; all others only make programs faster."""


def chosen_passes() -> tuple[Pass, ...]:
    """All passes, or the first `config.passes_until` and all later ones in `NEEDED`."""
    until = config.passes_until
    if until is None:
        return PASSES
    return (*PASSES[:until], *(step for step in PASSES[until:] if step.__name__ in NEEDED))


class Stages(Record):
    """A program in every form: the input graph, and the result of the last pass over each form.

    `context` holds the facts that the passes used.
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

    Under `config.check` the graph and the result of each pass are verified.

    Raises:
        VerifyError: a pass returned an illegal program, which is a defect of that pass.
    """
    program: AnyProgram = graph
    last: dict[type, Any] = {}
    _verify(program)
    for step in chosen_passes():
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
    passes = chosen_passes()
    for step in passes[: passes.index(lower_to_views)]:
        graph = step(graph, context)
    return graph


def _verify(program: AnyProgram) -> None:
    if config.check:
        lazy_import("axiomjit.passes.ir.verify_program").verify_program(program)
