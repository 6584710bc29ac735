"""The pipeline of passes in order; under `config.check` the result of each is verified."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from operator import attrgetter
from time import perf_counter_ns
from typing import TYPE_CHECKING, Any, Final

from axiomjit.base.config import config
from axiomjit.base.errors import VerifyError
from axiomjit.base.locks import lazy_import
from axiomjit.base.records import Record
from axiomjit.graph.nodes import Graph, Op, Update, is_view
from axiomjit.graph.primitives import MERGED, PRODUCT, SUM
from axiomjit.graph.reductions import StateFold
from axiomjit.graph.regions import Region
from axiomjit.passes.ir.context import Context
from axiomjit.passes.ir.loop_ir import (
    Cost,
    Fold,
    For,
    If,
    Let,
    LibraryCall,
    Load,
    LoopProgram,
    ReadState,
    Select,
    Stmt,
    Store,
)
from axiomjit.passes.ir.plan_ir import Plan
from axiomjit.passes.ir.view_ir import ArrayRole, ViewProgram
from axiomjit.passes.loops.block_folds import block_folds
from axiomjit.passes.loops.estimate_cost import estimate_cost
from axiomjit.passes.loops.fuse_loops import fuse_loops
from axiomjit.passes.loops.insert_cancellation_checks import insert_cancellation_checks
from axiomjit.passes.loops.lower_to_loops import lower_to_loops
from axiomjit.passes.plan.make_plan import make_plan
from axiomjit.passes.views.lower_to_views import lower_to_views
from axiomjit.symbolic.index_maps import IndexMap, is_backward

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


BYPASSED: Final = ("cast", "negative")
"""The primitives of operands that some rule of `simplify_algebra` replaces."""


def has_op(wanted: Callable[[Op], bool]) -> Callable[[Graph], bool]:
    """A predicate that is True if the graph has an op for which `wanted` is True."""
    return lambda graph: any(map(wanted, graph.ops))


def reads_windows(op: Op) -> bool:
    """True if an operand is indexed by a sum of iterators, as windows are."""
    return any(len(function.terms) > 1 for index in op.maps for function in index)


def may_simplify(op: Op) -> bool:
    """True if readers of the op, or the op as a reader of a transpose, may be simplified."""
    if op.primitive.name in BYPASSED:
        return True
    for child, index in zip(op.operands, op.maps, strict=True):
        if len(index) > 1 and isinstance(child, Op) and is_transposed(index):
            return True
    return False


def is_transposed(index: IndexMap) -> bool:
    """True if a map does not name iterators in ascending order."""
    first = [function.terms[0][0] for function in index if function.terms]
    return any(a > b for a, b in pairwise(first))


def has_statement(
    kind: type[Stmt], wanted: Callable[[Any], bool] = lambda stmt: True
) -> Callable[[LoopProgram], bool]:
    """A predicate that is True if a nest has a statement of a type for which `wanted` is True."""
    return lambda program: any(map(wanted, program.statements.get(kind, ())))


def goes_backward(access: Load | Store) -> bool:
    """True if a step along some loop goes back in memory."""
    return any(is_backward(stride) for _, stride in access.index.terms)


def reads_running(loop: For) -> bool:
    """True if a loop reads a state after each of its iterations."""
    kinds = set(map(type, loop.body))
    return Fold in kinds and ReadState in kinds


def either(*predicates: Callable[[Any], bool]) -> Callable[[Any], bool]:
    """A predicate that is True if one of the given predicates is True."""
    return lambda program: any(applies(program) for applies in predicates)


walks_backward: Final = either(
    has_statement(Load, goes_backward), has_statement(Store, goes_backward)
)
"""True if an access goes back in memory along some loop."""
nests_loops: Final = has_statement(
    For, lambda loop: len(loop.body) == 1 and isinstance(loop.body[0], For)
)
"""True if there is a loop in which only another loop runs."""
has_fold: Final = has_statement(For, lambda loop: loop.kind == "fold")
"""True if the program has a fold loop."""
folds_rows: Final = has_statement(
    For,
    lambda loop: (
        loop.kind == "map"
        and any(isinstance(stmt, For) and stmt.kind == "fold" for stmt in loop.body)
    ),
)
"""True if a loop over results has a reduction loop for each result."""
folds_by_graph: Final = has_statement(
    Fold, lambda fold: isinstance(fold.state.accumulator, StateFold)
)
"""True if the program has a fold that a graph of scalars defines, such as moments or argmin."""
has_long_operations: Final = either(
    has_statement(Let, lambda let: bool(let.primitive.scalar) or let.primitive.elementary),
    has_statement(For, reads_running),
)
"""True if a loop has elementary functions, or operations that make the whole loop scalar code."""


def has_temporaries(program: LoopProgram) -> bool:
    """True if some steps store temporaries, which later steps read."""
    return any(storage.role is ArrayRole.TEMPORARY for storage in program.storages)


def calls_region(program: LoopProgram) -> bool:
    """True if a step is a loop or branch of the user's program."""
    calls = (step.operation for step in program.steps if isinstance(step, LibraryCall))
    return any(isinstance(operation, Region) for operation in calls)


Pass = Callable[[Any, Context], Any]
"""A function from a program to an equivalent one, in the next form or in the same form."""
Watcher = Callable[[str, "AnyProgram", "AnyProgram", int], None]
"""A function of a pass's name, the programs before and after it, and its time in nanoseconds."""

PASSES: Final[tuple[Pass, ...]] = (
    OptionalPass("graph.compose_views", has_op(is_view)),
    OptionalPass("graph.fold_masks", attrgetter("data_dependent")),
    OptionalPass("graph.order_contractions", has_op(lambda op: op.primitive is PRODUCT)),
    OptionalPass("graph.drop_padding", has_op(lambda op: bool(op.conditions))),
    OptionalPass("graph.elide_copies", has_op(lambda op: op.primitive is MERGED)),
    OptionalPass("graph.simplify_algebra", has_op(may_simplify)),
    OptionalPass(
        "graph.find_convolutions", has_op(lambda op: op.fold is SUM and reads_windows(op))
    ),
    OptionalPass("graph.save_versions", has_op(lambda op: isinstance(op, Update))),
    lower_to_views,
    OptionalPass("views.cut_joins", lambda program: any(d.regions for d in program.definitions)),
    lower_to_loops,
    fuse_loops,
    OptionalPass("loops.order_loops", nests_loops),
    OptionalPass("loops.flip_loops", walks_backward),
    OptionalPass("loops.collapse_loops", nests_loops),
    OptionalPass(
        "loops.join_moments", lambda program: len(program.steps) > 1 and has_fold(program)
    ),
    OptionalPass("loops.reuse_storages", has_temporaries),
    estimate_cost,
    OptionalPass("loops.cache_rows", folds_rows),
    OptionalPass("loops.tile_folds", folds_rows),
    block_folds,
    OptionalPass("loops.center_blocks", folds_by_graph),
    OptionalPass("loops.search_blocks", folds_by_graph),
    OptionalPass("loops.interleave_folds", folds_by_graph),
    OptionalPass("loops.buffer_rows", attrgetter("updated")),
    OptionalPass(
        "loops.split_scans",
        has_statement(ReadState, lambda read: bool(read.including)),
    ),
    OptionalPass(
        "loops.privatise_scatters",
        has_statement(Store, lambda store: store.combine is not None),
    ),
    OptionalPass("loops.limit_loops", has_statement(If)),
    OptionalPass("loops.split_regions", has_statement(Select)),
    OptionalPass("loops.strip_mine", has_long_operations),
    OptionalPass("loops.lower_regions", calls_region),
    OptionalPass("loops.share_trips", attrgetter("has_regions")),
    OptionalPass("loops.hoist_loads", attrgetter("has_regions")),
    OptionalPass("loops.prove_positions", attrgetter("has_regions")),
    insert_cancellation_checks,
    make_plan,
    OptionalPass("plan.repeat_regions", attrgetter("calls_regions")),
)


LOOP_PASSES: Final[dict[str, Pass]] = {
    step.__name__: step
    for step in PASSES[PASSES.index(lower_to_loops) + 1 : PASSES.index(make_plan)]
}
"""The passes that improve loops, by name, in order."""

NEEDED: Final = frozenset(
    ("compose_views", "order_contractions", "save_versions", "lower_to_views", "lower_to_loops")
    + ("estimate_cost", "split_regions", "lower_regions", "make_plan")
    + ("repeat_regions",)
)
"""Passes that later passes or kernels depend on; all others only make programs faster."""


def chosen_passes() -> tuple[Pass, ...]:
    """All passes, or the first `config.passes_until` passes and all later passes in `NEEDED`."""
    until = config.passes_until
    if until is None:
        return PASSES
    return (*PASSES[:until], *(step for step in PASSES[until:] if step.__name__ in NEEDED))


class Stages(Record):
    """A program in every form: the input graph, and the last program of each other form.

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
    """Run the passes that lower a graph to a plan; return the program at each stage.

    With `config.check`, the graph and the result of each pass that changes it are verified.

    Raises:
        VerifyError: a pass returned an illegal program, which is a defect of that pass.
    """
    program: AnyProgram = graph
    context = context.replace(lower=_lowered)
    last: dict[type, Any] = {}
    checked = config.check
    if checked:
        _verify(program)
    for step in chosen_passes():
        before, started = program, perf_counter_ns()
        program = step(before, context)
        took = perf_counter_ns() - started
        if checked and program is not before:
            _verify(program)
        last[type(program)] = program
        if watch is not None:
            watch(step.__name__, before, program, took)
    forms = (last[Graph], last[ViewProgram], last[LoopProgram], last[Plan])
    return Stages(context, graph, *forms)


def _lowered(graph: Graph, context: Context) -> Plan:
    """The plan of the body of a region."""
    return run_pipeline(graph, context).plan


def simplified(graph: Graph, context: Context) -> Graph:
    """The graph after the passes over graphs."""
    passes = chosen_passes()
    for step in passes[: passes.index(lower_to_views)]:
        graph = step(graph, context)
    return graph


def _verify(program: AnyProgram) -> None:
    lazy_import("axiomjit.passes.ir.verify_program").verify_program(program)
