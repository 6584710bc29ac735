"""From a graph to something that runs: the one place that sees passes and runtime together."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final
from weakref import WeakKeyDictionary

import numpy as np

from axiomjit.algebra.chosen import chosen_in
from axiomjit.algebra.dims import Dim, Guard, Scope, Symbol, bound, pinned
from axiomjit.algebra.evaluation import Looks
from axiomjit.algebra.index_maps import Affine, Condition
from axiomjit.algebra.ranges import settled
from axiomjit.algebra.substitution import substitute
from axiomjit.base.config import config
from axiomjit.base.error_states import user_traps_errors
from axiomjit.base.errors import FallbackWarning
from axiomjit.base.guarded_calls import GuardedCall
from axiomjit.base.locks import NotNowError, import_late, new_lock
from axiomjit.base.stage_times import stage
from axiomjit.base.target import chosen_target
from axiomjit.driver.arguments import exact_layout, kind_of, plain_arguments
from axiomjit.driver.call_classes import ArgumentClass, Layouts
from axiomjit.driver.tables import CLASSES, LAYOUTS, ProgramTable, Ready, Table
from axiomjit.graph import execution
from axiomjit.graph.nodes import Graph, Held, Input, LengthNode, Node, Op, Update, post_order
from axiomjit.graph.origins import inherit

if TYPE_CHECKING:  # what lowers and runs is imported by the first call
    from axiomjit.passes.pipeline import Stages, Watcher
    from axiomjit.runtime.execution.execute import BoundPlan, PlanForm
    from axiomjit.show.lowered import Lowered

Array = np.ndarray


_LATE: Final = (
    "axiomjit.passes.pipeline",
    "axiomjit.runtime.execution.execute",
    "axiomjit.runtime.compiling.loaded_kernel",
)
"""What lowers and runs programs; the first program imports it."""


def _watcher() -> Watcher | None:
    """What prints the stages that the settings name; None where they name nothing."""
    if not config.show:
        return None
    import_late("axiomjit.show.live")
    from axiomjit.show.live import watcher

    return watcher()


class LoweredProgram:
    """A graph lowered for one class of arguments; bound to lengths as they come."""

    def __init__(self, graph: Graph, layouts: Layouts, scope: Scope) -> None:
        """Run the passes; guards of their decisions join those already in the scope."""
        import_late(*_LATE)
        from axiomjit.passes.ir.context import Context
        from axiomjit.passes.pipeline import run_pipeline

        context = Context(layouts, scope, chosen_target())
        # A call may be made while another function is followed.
        with bound(None), stage("lowering"):
            self.stages: Stages = run_pipeline(graph, context, _watcher())
        known = (g for g in scope.guards if not chosen_in(g.left, g.right))
        self.guards: tuple[Guard, ...] = tuple(known)
        self.pins = pinned(self.guards)
        self._looks = Looks(self.guards)
        self._form: PlanForm | None = None

    def fits(self, lengths: Mapping[Symbol, int]) -> bool:
        """Whether everything that was looked at looks the same for these lengths."""
        return self._looks.hold(lengths)

    def is_stale(self) -> bool:
        """Whether it fits no call any more."""
        return False

    def bind(self, lengths: Mapping[Symbol, int]) -> BoundPlan | Evaluated:
        """What runs for these lengths: the plan, or the evaluator where nothing is compiled."""
        evaluated = Evaluated(self.stages.graph, lengths)
        if config.disable:
            if config.was_disabled:
                _notice("AXIOMJIT_DISABLE is set", "unset it to compile")
        elif not user_traps_errors():
            if self._form is None:
                import_late(*_LATE)
                from axiomjit.runtime.execution.execute import PlanForm

                self._form = PlanForm(self.stages.plan)
            plan = self._form.bind(lengths, evaluated)
            try:
                plan.load()
            except ImportError as error:
                _notice(str(error), _REMEDY)
                return evaluated
            except NotNowError:  # it runs in NumPy until it can be compiled
                pass
            return plan
        return evaluated


class Evaluated:
    """Runs a graph through the NumPy evaluator."""

    def __init__(self, graph: Graph, lengths: Mapping[Symbol, int]) -> None:
        """Keep the graph and the lengths."""
        self._graph, self._lengths = graph, lengths

    def run(
        self, arguments: Sequence[object], given: Sequence[object] | None = None
    ) -> list[Array]:
        """The results for these arguments; as `BoundPlan.run`."""
        return execution.run_in_numpy(self._graph, arguments, self._lengths, given)


_REMEDY: Final = "install a numba that fits this NumPy, and leave NUMBA_DISABLE_JIT unset"


@lru_cache(maxsize=1)
def _notice(reason: str, remedy: str) -> None:
    """Say once that nothing is compiled, and why."""
    warnings.warn(
        f"axiomjit: nothing is compiled here, every program runs in NumPy ({reason}); {remedy}",
        FallbackWarning,
        stacklevel=8,
    )


_programs: Final = ProgramTable(CLASSES)
_plans: Final[WeakKeyDictionary[Graph, Table[Ready]]] = WeakKeyDictionary()
_plans_lock: Final = new_lock()


def run_graph(
    graph: Graph, arguments: Sequence[object], lengths: Mapping[Symbol, int]
) -> tuple[Array, ...]:
    """Compile and run a graph whose lengths are symbols bound by the caller (axis graph doors).

    Programs are kept per class of arguments, constants being arguments too; ready plans as long
    as the graph. Results never share memory with arguments, constants or earlier results.
    """
    key = _plan_key(arguments, lengths)
    with _plans_lock:
        plans = _plans.get(graph)
        if plans is None:
            plans = _plans[graph] = Table(LAYOUTS)
    ready = plans.get(key)
    if ready is None:
        plain: Sequence[object] = plain_arguments(arguments)
        ready = _prepared(graph, arguments, plain, lengths)
        plans.keep(key, ready)
    else:
        plain = ready.prepared(arguments)
    arrays = (*plain, *ready.held)
    results = ready.runnable.run(arrays, arguments)
    owners = [a for a in arrays if isinstance(a, Array)]
    return tuple(
        r.copy() if not r.flags.writeable or any(np.may_share_memory(r, o) for o in owners) else r
        for r in results
    )


def _plan_key(arguments: Sequence[object], lengths: Mapping[Symbol, int]) -> object:
    """What one ready plan of a graph depends on."""
    settings = config.disable, user_traps_errors()
    return settings, frozenset(lengths.items()), exact_layout(arguments, kind_of)


def shorten_calls(
    function: GuardedCall[Any],
    graph: Graph,
    arguments: Sequence[object],
    lengths: Mapping[Symbol, int],
    in_tuple: bool | None,
    finish: execution.Finish,
) -> None:
    """Guard calls of a computation like one that was just run; as `execution.shorten`."""
    import_late("axiomjit.driver.guards")
    from axiomjit.driver.guards import guard_graph, is_native

    if is_native():
        ready = _plans[graph].get(_plan_key(arguments, lengths))
        if ready is not None and ready.plain:
            guard_graph(function, ready, arguments, in_tuple, finish)


def _prepared(
    graph: Graph,
    arguments: Sequence[object],
    plain: Sequence[object],
    lengths: Mapping[Symbol, int],
) -> Ready:
    """A plan for arguments laid out like these, which are `plain` as kernels take them."""
    program, values, arrays = lowered_for(graph, plain, lengths)
    held = tuple(a for a in arrays[len(plain) :] if isinstance(a, Array))
    as_is = all(new is old for new, old in zip(plain, arguments, strict=True))
    return Ready(program.bind(values), as_is, held)


def lower_graph(
    graph: Graph, arguments: Sequence[object], lengths: Mapping[Symbol, int]
) -> Lowered:
    """The stages of the program that `run_graph` runs."""
    import_late("axiomjit.show.lowered")
    from axiomjit.show.lowered import Lowered

    program, values, arrays = lowered_for(graph, plain_arguments(arguments), lengths)
    return Lowered(program.stages, values, [f"argument {k}" for k in range(len(arrays))])


def chosen_orders(
    graph: Graph, arguments: Sequence[object], lengths: Mapping[Symbol, int], places: Sequence[int]
) -> dict[int, tuple[int, ...]]:
    """The orders with which the program that `run_graph` runs costs least, by position."""
    import_late(*_LATE)
    from axiomjit.passes.choose_layouts import choose_layouts
    from axiomjit.passes.choose_storage import choose_storage
    from axiomjit.passes.ir.context import Context
    from axiomjit.passes.pipeline import simplified

    placed, layouts, values, _ = placed_graph(graph, plain_arguments(arguments), lengths)
    scope = Scope(values)
    with bound(None):
        simple = simplified(placed, Context(layouts, scope, chosen_target()))
    variables = {n: n.position for n in simple.inputs if n.position in places}
    orders = choose_layouts(simple, layouts, choose_storage(simple, scope), tuple(variables))
    return {position: orders[node] for node, position in variables.items()}


def lowered_for(
    graph: Graph, arguments: Sequence[object], lengths: Mapping[Symbol, int]
) -> tuple[LoweredProgram, dict[Symbol, int], list[object]]:
    """The program of a graph for these (plain) arguments, its lengths, and what it takes."""
    placed, layouts, values, arrays = placed_graph(graph, arguments, lengths)
    key = (placed, tuple(layouts.items()))
    program = _programs.find(key, values, lambda: LoweredProgram(placed, layouts, Scope(values)))
    return program, values, arrays


def placed_graph(
    graph: Graph, arguments: Sequence[object], lengths: Mapping[Symbol, int]
) -> tuple[Graph, Layouts, dict[Symbol, int], list[object]]:
    """The graph over the lengths of its arguments' class, their layouts, lengths and arrays.

    The arguments are plain. The graph's constants become arguments after them, so that graphs
    that differ in constants share a program.
    """
    arrays = list(arguments)
    constants: dict[Node, Input] = {}
    for held in post_order(graph.outputs):
        if isinstance(held, Held):
            constants[held] = Input(held.dtype, len(arrays), held.extents)
            arrays.append(held.array)
    classes = ArgumentClass()
    ordered = sorted(lengths.items(), key=lambda item: (len(item[0].name), item[0].name))
    baked = {symbol: classes.shape((n,))[0] for symbol, n in ordered}
    with bound(Scope(classes.values)):
        placed = _substituted(graph, baked, constants)
    layouts: Layouts = {}
    for node in placed.inputs:
        argument = arrays[node.position]
        if isinstance(argument, Array):
            layouts[node.position] = classes.strides(argument, node.shape)
    return placed, layouts, classes.values, arrays


def _substituted(
    graph: Graph, values: Mapping[Symbol, Dim], constants: Mapping[Node, Input]
) -> Graph:
    """The graph with other lengths, and with inputs for its constants.

    Which of two lengths is smaller is decided by those at hand.
    """
    new: dict[Node, Node] = {}

    def place(length: Dim) -> Dim:
        return settled(substitute(length, values))

    def function(old: Affine) -> Affine:
        return Affine(place(old.offset), tuple((k, place(c)) for k, c in old.terms))

    for node in (*graph.inputs, *post_order(graph.outputs)):
        match node:
            case Input() | Held():
                given = constants.get(node, node)
                new[node] = given.replace(extents=tuple(map(place, node.extents)))
            case LengthNode():
                new[node] = node.replace(length=place(node.length))
            case Op():
                new[node] = node.replace(
                    operands=tuple(new[child] for child in node.operands),
                    maps=tuple(tuple(map(function, index)) for index in node.maps),
                    extents=tuple(map(place, node.extents)),
                    regions=tuple(
                        tuple((place(low), place(high)) for low, high in region)
                        for region in node.regions
                    ),
                    conditions=tuple(
                        Condition(function(c.function), place(c.low), place(c.high))
                        for c in node.conditions
                    ),
                )
            case _:
                new[node] = node
        inherit(new[node], node)
        if isinstance(node, Update):
            new[node] = new[node].replace(whole=tuple(map(place, node.whole)))
    inputs = tuple(new[node] for node in (*graph.inputs, *constants))
    outputs = tuple(new[node] for node in graph.outputs)
    return Graph(inputs, outputs, graph.writes)  # type: ignore[arg-type]


execution.install_runner(run_graph)
execution.install_lowerer(lower_graph)
execution.install_orderer(chosen_orders)
execution.install_shortener(shorten_calls)
