"""The compiler on one page: the passes in order, each verified when asked."""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter_ns
from typing import TYPE_CHECKING, Any, Final

from axiomjit.base.config import config
from axiomjit.base.errors import VerifyError
from axiomjit.base.locks import import_late
from axiomjit.base.records import Record
from axiomjit.graph.nodes import Graph, Node, Op, Update, post_order
from axiomjit.graph.primitives import MERGED, PRODUCT, SUM
from axiomjit.graph.state_folds import StateFold
from axiomjit.passes.block_folds import block_folds
from axiomjit.passes.collapse_loops import collapse_loops
from axiomjit.passes.compose_views import compose_views
from axiomjit.passes.costs.estimate_cost import estimate_cost
from axiomjit.passes.flip_loops import flip_loops
from axiomjit.passes.fuse_loops import fuse_loops
from axiomjit.passes.ir.context import Context
from axiomjit.passes.ir.cost import Cost
from axiomjit.passes.ir.loop_ir import (
    Fold,
    For,
    If,
    LoopProgram,
    Nest,
    Pick,
    Stmt,
    Store,
    Take,
    statements,
)
from axiomjit.passes.ir.plan_ir import Plan
from axiomjit.passes.ir.view_ir import ViewProgram
from axiomjit.passes.lower_to_loops import lower_to_loops
from axiomjit.passes.lower_to_views import lower_to_views
from axiomjit.passes.make_plan import make_plan
from axiomjit.passes.order_loops import order_loops
from axiomjit.passes.simplify_algebra import simplify_algebra
from axiomjit.passes.strip_mine import strip_mine
from axiomjit.passes.watch_loops import watch_loops

if TYPE_CHECKING:
    from axiomjit.passes.ir.print_program import AnyProgram


class LatePass:
    """A pass that many programs do without; those that it does not concern stay as they are."""

    def __init__(self, name: str, concerns: Callable[[Any], bool]) -> None:
        """Name a module of `passes`, and say which programs its pass may change."""
        self.__name__, self.concerns = name, concerns

    def __call__(self, program: Any, context: Context) -> Any:
        """Do what the pass does; under `config.check` it is also asked about other programs.

        Raises:
            VerifyError: it changes a program that it does not concern.
        """
        concerned = self.concerns(program)
        if not concerned and not config.check:
            return program
        made = self.imported()(program, context)
        if not concerned and made != program:
            raise VerifyError(
                f"{self.__name__} of a program",
                "a program that it changes and does not concern",
                "report this program as a defect of axiomjit",
            )
        return made

    def imported(self) -> Callable[[Any, Context], Any]:
        """The pass itself."""
        module = import_late(f"axiomjit.passes.{self.__name__}")
        found: Callable[[Any, Context], Any] = getattr(module, self.__name__)
        return found


def has_node(wanted: Callable[[Node], bool]) -> Callable[[Graph], bool]:
    """Whether there is such a node."""
    return lambda graph: any(map(wanted, post_order(graph.outputs)))


def has_op(wanted: Callable[[Op], bool]) -> Callable[[Graph], bool]:
    """Whether there is such an op."""
    return has_node(lambda node: isinstance(node, Op) and wanted(node))


def reads_windows(op: Op) -> bool:
    """Whether elements along two dimensions of an op are neighbours in an operand."""
    return any(len(function.terms) > 1 for index in op.maps for function in index)


def has_statement(wanted: Callable[[Stmt], bool]) -> Callable[[LoopProgram], bool]:
    """Whether there is such a statement in a nest."""
    return lambda program: any(
        any(map(wanted, statements(step))) for step in program.steps if isinstance(step, Nest)
    )


folds_by_graph: Final = has_statement(
    lambda stmt: isinstance(stmt, Fold) and isinstance(stmt.state.accumulator, StateFold)
)
"""Whether states are folded that a graph of scalars combines: moments and places are, too."""
has_fold: Final = has_statement(lambda stmt: isinstance(stmt, For) and stmt.kind == "fold")
"""Whether there is a loop that feeds a fold."""


Pass = Callable[[Any, Context], Any]
"""Takes a program and returns an equivalent one, in the next form or improved in the same one."""
Watcher = Callable[[str, "AnyProgram", "AnyProgram", int], None]
"""Called after each pass: with its name, the program before and after, and nanoseconds."""

PASSES: Final[tuple[Pass, ...]] = (
    compose_views,
    LatePass("fold_masks", lambda graph: bool(graph.chosen)),
    LatePass("order_contractions", has_op(lambda op: op.primitive is PRODUCT)),
    LatePass("drop_padding", has_op(lambda op: bool(op.conditions))),
    LatePass("drop_packs", has_op(lambda op: op.primitive is MERGED)),
    simplify_algebra,
    LatePass("find_convolutions", has_op(lambda op: op.fold is SUM and reads_windows(op))),
    LatePass("save_versions", has_node(lambda node: isinstance(node, Update))),
    lower_to_views,
    LatePass("cut_joins", lambda program: any(d.regions for d in program.definitions)),
    lower_to_loops,
    fuse_loops,
    order_loops,
    flip_loops,
    collapse_loops,
    LatePass("join_moments", lambda program: len(program.steps) > 1 and has_fold(program)),
    estimate_cost,
    LatePass("keep_rows", has_fold),
    LatePass("tile_folds", has_fold),
    block_folds,
    LatePass("center_blocks", folds_by_graph),
    LatePass("search_blocks", folds_by_graph),
    LatePass("interleave_folds", folds_by_graph),
    LatePass("buffer_rows", lambda program: bool(program.updated)),
    LatePass(
        "split_scans", has_statement(lambda stmt: isinstance(stmt, Take) and bool(stmt.ahead))
    ),
    LatePass(
        "privatise_scatters",
        has_statement(lambda stmt: isinstance(stmt, Store) and stmt.combine is not None),
    ),
    LatePass("limit_loops", has_statement(lambda stmt: isinstance(stmt, If))),
    LatePass("split_regions", has_statement(lambda stmt: isinstance(stmt, Pick))),
    strip_mine,
    watch_loops,
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
        import_late("axiomjit.passes.ir.verify_program").verify_program(program)
