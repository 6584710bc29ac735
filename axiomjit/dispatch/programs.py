"""Make programs of graphs and of traced functions, with the passes and the runtime."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, TypeVar
from weakref import WeakKeyDictionary

import numpy as np

from axiomjit.base.config import config
from axiomjit.base.counters import stage
from axiomjit.base.error_states import user_traps_errors
from axiomjit.base.errors import FallbackWarning
from axiomjit.base.locks import NotNowError, lazy_import, new_lock
from axiomjit.base.native_callable import NativeCallable
from axiomjit.base.target import chosen_target
from axiomjit.dispatch.arguments import graph_key, plain_arguments
from axiomjit.dispatch.caches import (
    MAX_LAYOUTS,
    MAX_SIGNATURES,
    CompiledCall,
    Integers,
    ProgramTable,
    Reads,
    Table,
)
from axiomjit.dispatch.signature import ArgumentCode, ClassSymbols, Layouts
from axiomjit.graph import execution
from axiomjit.graph.indexing_ops import size_estimate
from axiomjit.graph.nodes import Constant, Graph, Input, Node, map_fields, rebuild
from axiomjit.graph.regions import with_lengths_inside
from axiomjit.symbolic.data_dependent import PLACE, data_dependent_in
from axiomjit.symbolic.dims import (
    DECLARED,
    INDEX,
    Dim,
    Guards,
    Scope,
    Symbol,
    bound,
    evaluate,
    pinned,
    substitute,
    symbol_of,
    symbols_in,
)
from axiomjit.symbolic.index_maps import resolved

if TYPE_CHECKING:
    from axiomjit.debug.lowered import Lowered
    from axiomjit.dispatch.tracing_calls import TracedFunction
    from axiomjit.passes.pipeline import Stages, Watcher
    from axiomjit.runtime.execution.execute import BoundPlan, PlanForm

POOL_SHARE: Final = 0.05
"""The share of a Dask worker's memory limit that the buffer pool of its process may keep."""


Array = np.ndarray


_LAZY_MODULES: Final = (
    "axiomjit.passes.pipeline",
    "axiomjit.runtime.execution.execute",
    "axiomjit.runtime.codegen.kernel_cache",
)
"""The modules that lower and run programs, imported by the first program."""


def _watcher() -> Watcher | None:
    """The function that prints the stages named in the settings; None if they name no stage."""
    if not config.show:
        return None
    lazy_import("axiomjit.debug.lowered")
    from axiomjit.debug.lowered import watcher

    return watcher()


class LoweredProgram:
    """A graph that was lowered for a signature; it can be bound to lengths."""

    def __init__(self, graph: Graph, layouts: Layouts, scope: Scope) -> None:
        """Run the passes, which record their guards in the scope."""
        lazy_import(*_LAZY_MODULES)
        from axiomjit.passes.ir.context import Context
        from axiomjit.passes.pipeline import run_pipeline

        context = Context(layouts, scope, chosen_target())
        # A call may happen while another function is traced.
        with bound(None), stage("lowering"):
            self.stages: Stages = run_pipeline(graph, context, _watcher())
        self.guards = Guards([g for g in scope.guards if not data_dependent_in(g.left, g.right)])
        self.pins = pinned(self.guards)
        self._form: PlanForm | None = None

    def fits(self, lengths: Mapping[Symbol, int]) -> bool:
        """True if all guards hold for these lengths."""
        return self.guards.hold(lengths)

    def is_stale(self) -> bool:
        """True if the program is no longer valid for any call."""
        return False

    def bind(self, lengths: Mapping[Symbol, int]) -> BoundPlan | Evaluated:
        """Bind the program to lengths: make a plan, or an evaluator if nothing is compiled."""
        evaluated = Evaluated(self.stages.graph, lengths)
        if config.disable:
            if config.was_disabled:
                _warn_not_compiled("AXIOMJIT_DISABLE is set", "unset it to compile")
        elif not user_traps_errors():
            if self._form is None:
                lazy_import(*_LAZY_MODULES)
                from axiomjit.runtime.execution.execute import PlanForm

                self._form = PlanForm(self.stages.plan)
            plan = self._form.bind(lengths, evaluated)
            try:
                plan.load()
            except ImportError as error:
                _warn_not_compiled(str(error), _REMEDY)
                return evaluated
            except NotNowError:  # NumPy runs the graph until it can be compiled
                pass
            return plan
        return evaluated


class Evaluated:
    """A graph, bound to lengths, that the NumPy evaluator runs."""

    def __init__(self, graph: Graph, lengths: Mapping[Symbol, int]) -> None:
        self._graph, self._lengths = graph, lengths

    def run(
        self, arguments: Sequence[object], given: Sequence[object] | None = None
    ) -> list[Array]:
        """The results for these arguments, in the form that `BoundPlan.run` returns."""
        return execution.run_in_numpy(self._graph, arguments, self._lengths, given)


_REMEDY: Final = "install a numba that fits this NumPy, and leave NUMBA_DISABLE_JIT unset"


@lru_cache(maxsize=1)
def _warn_not_compiled(reason: str, remedy: str) -> None:
    """Warn once that nothing is compiled, with the reason."""
    warnings.warn(
        f"axiomjit: nothing is compiled here, every program runs in NumPy ({reason}); {remedy}",
        FallbackWarning,
        stacklevel=8,
    )


Result = TypeVar("Result")
_programs: Final = ProgramTable(MAX_SIGNATURES)
_plans: Final[WeakKeyDictionary[Graph, Table[CompiledCall]]] = WeakKeyDictionary()
_plans_lock: Final = new_lock()


def run_graph(
    graph: Graph, arguments: Sequence[object], lengths: Mapping[Symbol, int]
) -> tuple[Array, ...]:
    """Compile and run a graph of the axis language, for lengths that the caller gives.

    Programs are cached per signature, and constants are arguments of the program. Compiled calls
    live as long as the graph. Results never share memory with arguments, constants or earlier
    results.
    """
    key = graph_key(arguments, lengths)
    with _plans_lock:
        plans = _plans.get(graph)
        if plans is None:
            plans = _plans[graph] = Table(MAX_LAYOUTS)
    compiled = plans.get(key)
    if compiled is None:
        plain: Sequence[object] = plain_arguments(arguments)
        compiled = _prepared(graph, arguments, plain, lengths)
        plans.keep(key, compiled)
    else:
        plain = compiled.prepared(arguments)
    arrays = (*plain, *compiled.held)
    results = compiled.runnable.run(arrays, arguments)
    owners = [a for a in arrays if isinstance(a, Array)]
    return tuple(
        r.copy() if not r.flags.writeable or any(np.may_share_memory(r, o) for o in owners) else r
        for r in results
    )


def add_native_entry(
    function: NativeCallable[Any],
    graph: Graph,
    arguments: Sequence[object],
    lengths: Mapping[Symbol, int],
    in_tuple: bool | None,
    finish: execution.Finish,
) -> None:
    """Answer later calls of a computation natively; see `execution.add_native_entry`."""
    lazy_import("axiomjit.dispatch.guards")
    from axiomjit.dispatch.guards import guard_graph, is_native

    if is_native():
        compiled = _plans[graph].get(graph_key(arguments, lengths))
        if compiled is not None and compiled.plain:
            guard_graph(function, compiled, arguments, in_tuple, finish)


def _prepared(
    graph: Graph,
    arguments: Sequence[object],
    plain: Sequence[object],
    lengths: Mapping[Symbol, int],
) -> CompiledCall:
    """The compiled call for arguments with this layout; `plain` are the converted arguments."""
    program, values, arrays = lowered_for(graph, plain, lengths)
    held = tuple(a for a in arrays[len(plain) :] if isinstance(a, Array))
    as_is = all(new is old for new, old in zip(plain, arguments, strict=True))
    return CompiledCall(program.bind(values), as_is, held)


def lower_graph(
    graph: Graph, arguments: Sequence[object], lengths: Mapping[Symbol, int]
) -> Lowered:
    """The stages of the program that `run_graph` runs."""
    lazy_import("axiomjit.debug.lowered")
    from axiomjit.debug.lowered import Lowered

    program, values, arrays = lowered_for(graph, plain_arguments(arguments), lengths)
    return Lowered(program.stages, values, [f"argument {k}" for k in range(len(arrays))])


def chosen_orders(
    graph: Graph, arguments: Sequence[object], lengths: Mapping[Symbol, int], places: Sequence[int]
) -> dict[int, tuple[int, ...]]:
    """For each argument at `places`, the cheapest memory order for the program of a graph."""
    lazy_import(*_LAZY_MODULES)
    from axiomjit.passes.graph.choose_storage import choose_storage
    from axiomjit.passes.ir.context import Context
    from axiomjit.passes.pipeline import simplified
    from axiomjit.passes.views.choose_layouts import choose_layouts

    placed, layouts, values, _ = placed_graph(graph, plain_arguments(arguments), lengths)
    scope = Scope(values)
    with bound(None):
        simple = simplified(placed, Context(layouts, scope, chosen_target()))
    variables = {n: n.position for n in simple.inputs if n.position in places}
    orders = choose_layouts(simple, layouts, choose_storage(simple, scope).stored, tuple(variables))
    return {position: orders[node] for node, position in variables.items()}


def lowered_for(
    graph: Graph, arguments: Sequence[object], lengths: Mapping[Symbol, int]
) -> tuple[LoweredProgram, dict[Symbol, int], list[object]]:
    """The program of a graph, and the lengths and arguments with which to run the program."""
    placed, layouts, values, arrays = placed_graph(graph, arguments, lengths)
    key = (placed, tuple(layouts.items()))
    program = _programs.find(key, values, lambda: LoweredProgram(placed, layouts, Scope(values)))
    return program, values, arrays


def placed_graph(
    graph: Graph, arguments: Sequence[object], lengths: Mapping[Symbol, int]
) -> tuple[Graph, Layouts, dict[Symbol, int], list[object]]:
    """The graph with the symbols of a signature, and the layouts, values and arrays of arguments.

    The arguments need no conversion. Constants of the graph become further arguments, so that
    graphs that differ only in constants share a program.
    """
    arrays = list(arguments)
    constants: dict[Node, Input] = {}
    for held in graph.nodes:
        if isinstance(held, Constant):
            constants[held] = Input(held.dtype, len(arrays), held.extents)
            arrays.append(held.array)
    code, symbols = ArgumentCode(), ClassSymbols()
    ordered = sorted(lengths.items(), key=lambda item: (len(item[0].name), item[0].name))
    baked = {symbol: _placed_symbol(symbol, n, code, symbols) for symbol, n in ordered}
    with bound(Scope(dict(zip(symbols.symbols, code.numbers, strict=True)))):
        placed = _substituted(graph, baked, constants)
    layouts: Layouts = {}
    for node in placed.inputs:
        argument = arrays[node.position]
        if isinstance(argument, Array):
            layouts[node.position] = symbols.strides(code.strides(argument), node.shape)
    return placed, layouts, dict(zip(symbols.symbols, code.numbers, strict=True)), arrays


def _placed_symbol(symbol: Symbol, n: int, code: ArgumentCode, symbols: ClassSymbols) -> Dim:
    """The length that a signature has for a symbol; positions in a block may have any value."""
    if symbol.kind == PLACE or n < 0:
        code.numbers.append(n)
        return symbols.symbol(symbol.name, PLACE)
    if symbol.kind == DECLARED:
        names = (symbol.name,)
        return symbols.shape(code.declared((n,), names))[0]
    return symbols.shape(code.shape((n,)))[0]


def _substituted(
    graph: Graph, values: Mapping[Symbol, Dim], constants: Mapping[Node, Input]
) -> Graph:
    """The graph with lengths replaced by `values`, and with constants replaced by inputs.

    The minimum or maximum of two lengths becomes one of these lengths, by the values in the scope.
    """
    inside = {symbol: length for symbol, length in values.items() if symbol.kind != INDEX}

    def place(length: Dim) -> Dim:
        return resolved(substitute(length, values))

    def rule(node: Node, new: Mapping[Node, Node]) -> Node:
        made = map_fields(constants.get(node, node), new.__getitem__, place)
        return with_lengths_inside(made, inside)

    inputs = tuple(node.map(Dim, place) for node in (*graph.inputs, *constants.values()))
    return rebuild(graph.replace(inputs=inputs), rule)


class TracedProgram(LoweredProgram):
    """The program of a traced function, and the structure of its return value."""

    def __init__(self, traced: TracedFunction, scope: Scope, known: Iterable[Symbol]) -> None:
        """Lower the traced graph; `known` are the symbols of the call's own arguments."""
        super().__init__(traced.trace.graph, traced.signature.layouts, scope)
        self.trace, self.watch, self.loops = traced.trace, traced.watch, traced.loops
        self._handles, self.key = traced.handles, traced.signature.key
        self.reads = Reads(traced.guards, traced.effects, None, traced.outside_names)
        self.decisions = traced.trace.decisions
        own = frozenset(known)
        self.pins = {length: n for length, n in self.pins.items() if symbols_in(length) <= own}
        numbers = [(k, one) for k, one in enumerate(traced.signature.given) if isinstance(one, Dim)]
        self.counters: tuple[tuple[int, Symbol], ...] = ()
        self._integers: Integers | None = None
        if numbers:
            self.counters = self._counters(numbers, len(traced.signature.given))
            self._integers = self._varying(numbers)

    def _counters(
        self, numbers: Sequence[tuple[int, Dim]], count: int
    ) -> tuple[tuple[int, Symbol], ...]:
        """The positions and symbols of outside integers on which only results and effects depend.

        The outside inputs are the last of the `count` arguments.
        """
        first = count - len(self.reads.names)
        found = [(k, symbol) for k, one in numbers if k >= first for symbol in one.symbols]
        if not found:
            return ()
        used = {s for guard in self.guards for s in symbols_in(guard.left, guard.right)}

        def note(length: Dim) -> Dim:
            used.update(symbols_in(length))
            return length

        for node in (*self.trace.graph.inputs, *self.trace.graph.nodes):
            map_fields(node, lambda child: child, note)
        return tuple((k, one) for k, one in found if one not in used)

    def _varying(self, numbers: Sequence[tuple[int, Dim]]) -> Integers | None:
        """The integer arguments of the program, as symbols; None if there are none."""
        symbols = {k: symbol for k, one in numbers if (symbol := symbol_of(one))}
        given = frozenset(symbols.values())
        every = ((k, one) for k, (_, one) in enumerate(self.trace.leaves) if isinstance(one, Dim))
        leaves = {k: one for k, one in every if not symbols_in(one).isdisjoint(given)}
        return Integers(symbols, self.guards, leaves) if symbols else None

    def is_stale(self) -> bool:
        """True if a captured array was replaced, or its layout changed, since tracing."""
        return not self.watch.holds()

    def lengths(self, given: Mapping[Symbol, int]) -> dict[Symbol, int]:
        """All lengths: the call's lengths, and the size estimate of each data-dependent length."""
        found = dict(given)
        for mask, symbol in self.stages.context.scope.data_dependent.items():
            assert isinstance(mask, Node)
            found[symbol] = evaluate(size_estimate(mask), found)
        return found

    def compiled_call(
        self, lengths: Mapping[Symbol, int], plain: bool, reads: Reads
    ) -> CompiledCall:
        """Bind the program to lengths; with `plain`, arguments need no conversion."""
        values = dict(lengths)
        for _, symbol in self.counters:
            values.pop(symbol)
        leaves = tuple(
            (number, _known_length(value, values) if isinstance(value, Dim) else value)
            for number, value in self.trace.leaves
        )
        graph, plan = self.trace.graph, self.stages.plan
        changes = graph.writes or reads.effects or self._handles
        may_raise = plan.may_raise and bool(changes or plan.generators or self.decisions)
        speculative = bool(graph.data_dependent) or plan.is_speculative or may_raise
        return CompiledCall(
            self.bind(lengths),
            plain,
            watch=self.watch or None,
            structure=self.trace.structure,
            leaves=leaves,
            writes=graph.writes,
            speculative=speculative,
            early=plan.early,
            generators=plan.generators if speculative else (),
            may_raise=may_raise,
            outside=reads,
            counters=self.counters,
            integers=self._integers,
            decisions=self.decisions,
        )


def _known_length(length: Dim, values: Mapping[Symbol, int]) -> int | Dim:
    """The value of a length, or a `Dim` if the length depends on symbols without a value."""
    found = substitute(length, values)
    return found if found.constant is None else found.constant


def in_block(function: Callable[[], Result]) -> Result:
    """The result of a task of another scheduler, which uses `config.worker_threads` threads.

    On a Dask worker with a memory limit, the pool keeps at most `POOL_SHARE` of this limit.
    """
    lazy_import("axiomjit.runtime.memory.allocation")
    lazy_import("axiomjit.runtime.execution.workers")
    from axiomjit.runtime.execution.workers import threads
    from axiomjit.runtime.memory.allocation import keep_at_most, with_recycling

    limit = _worker_memory()
    if limit:
        keep_at_most(int(limit * POOL_SHARE))
    with threads(config.worker_threads):
        return with_recycling(function)


def _worker_memory() -> float:
    """The memory limit of the Dask worker that runs this thread's task; 0 without a limit."""
    distributed = sys.modules.get("distributed")
    try:
        worker = None if distributed is None else distributed.get_worker()
    except ValueError:  # another scheduler's task
        return 0
    return getattr(getattr(worker, "memory_manager", None), "memory_limit", None) or 0


execution.install(
    run=run_graph,
    lower=lower_graph,
    chosen_orders=chosen_orders,
    add_native_entry=add_native_entry,
    in_block=in_block,
)
