"""Graphs from NumPy functions, lowered pass by pass, and plans run in plain Python."""

import inspect
import math
import warnings
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import contextmanager
from itertools import takewhile
from typing import NamedTuple
from unittest.mock import patch

import numpy as np
from numpy.exceptions import ComplexWarning

from axiomjit.axis.axes import Axes, known_lengths
from axiomjit.axis.declarations import starting_values
from axiomjit.axis.tensors import used_axes
from axiomjit.base.config import config
from axiomjit.base.target import ChosenTarget, chosen_target, target
from axiomjit.base.trace_context import Following
from axiomjit.dispatch.arguments import plain_arguments, take_apart
from axiomjit.dispatch.fresh import Recipe
from axiomjit.dispatch.jit import Jitted
from axiomjit.dispatch.programs import placed_graph
from axiomjit.dispatch.signature import classify
from axiomjit.dispatch.tracing_calls import trace_function
from axiomjit.functions.outside import Wanted
from axiomjit.graph.evaluate_graph import evaluate_graph
from axiomjit.graph.nodes import Constant, Graph, Op, post_order
from axiomjit.graph.storages import with_versions
from axiomjit.passes.ir.context import Context
from axiomjit.passes.ir.loop_ir import LoopProgram, Nest, ReadState, Select
from axiomjit.passes.ir.parse_loops import BoundProgram, parse_loops, print_loops
from axiomjit.passes.ir.plan_ir import (
    Allocate,
    Branch,
    Call,
    Check,
    Choose,
    Launch,
    NumberSource,
    Plan,
    Release,
    Repeat,
    Reuse,
    WriteBack,
)
from axiomjit.passes.ir.print_program import print_program
from axiomjit.passes.ir.view_ir import ViewProgram
from axiomjit.passes.pipeline import LOOP_PASSES, PASSES, Stages, run_pipeline
from axiomjit.runtime.codegen.plain_builtins import run_plain
from axiomjit.runtime.execution.windows import BoundWindow
from axiomjit.runtime.memory.allocation import allocate, span
from axiomjit.symbolic.data_dependent import data_dependent_in
from axiomjit.symbolic.dims import Dim, Scope, Symbol, evaluate
from axiomjit.symbolic.index_maps import at_lengths
from axiomjit.tracing.trace import trace
from tests.passes.plan_steps import steps_run

GRAPH_PASSES = tuple(takewhile(lambda step: step.__name__ != "lower_to_views", PASSES))
"""The passes from graph to graph."""


class Case(NamedTuple):
    """A function followed for example arguments: what run_pipeline takes."""

    graph: Graph
    layouts: dict[int, tuple[Dim, ...]]
    scope: Scope
    arguments: tuple[object, ...]
    key: object
    leaves: tuple[tuple[int | None, object], ...]

    @property
    def context(self) -> Context:
        """What the passes know beside the graph."""
        return Context(self.layouts, self.scope, chosen_target())

    @property
    def values(self) -> dict[Symbol, int]:
        """The lengths at hand."""
        return self.scope.values

    def returned(
        self, outputs: Sequence[np.ndarray], lengths: dict[Symbol, int] | None = None
    ) -> tuple[np.ndarray, ...]:
        """What the function returns, given the outputs of its graph; equal ones are one output.

        What depends on lengths and integers alone is no output of the graph; other lengths than
        those at hand may be given.
        """
        lengths = self.values if lengths is None else lengths
        return tuple(
            np.asarray(_value(value, lengths)) if number is None else outputs[number]
            for number, value in self.leaves
        )


CONTEXT = Context({}, Scope({}), chosen_target())
"""For passes that look at neither lengths nor layouts."""


def signature_of(function: Callable[..., object], arguments: Sequence[object]):
    """The class of a call and its arguments as kernels take them."""
    call = take_apart(inspect.signature(function), frozenset(), tuple(arguments), {})
    plain = plain_arguments(call.dynamic, call.names)
    return classify(call, plain), plain


def follow(function: Callable[..., object], *arguments: object) -> Case:
    """The case of a function whose arguments are arrays and numbers, traced as under `jit`."""
    call = take_apart(inspect.signature(function), frozenset(), tuple(arguments), {})
    signature = classify(call, plain_arguments(call.dynamic, call.names))
    scope = Scope(signature.values)
    with quiet():  # of integers alone NumPy makes a number at once, and may warn
        made = trace_function(function, call, signature, scope, Wanted())
    plain, key = plain_arguments(made.call.dynamic, made.call.names), made.signature.key
    return Case(made.trace.graph, made.signature.layouts, scope, plain, key, made.trace.leaves)


def answered(jitted: Jitted, *arguments: object) -> tuple[Case, Stages]:
    """The case of a call that was answered, and the stages of its program."""
    match = jitted._match(jitted._apart(arguments, {}))
    stages, signature = match.program.stages, match.signature
    scope, leaves = stages.context.scope, match.program.trace.leaves
    case = Case(stages.graph, signature.layouts, scope, match.plain, signature.key, leaves)
    return case, stages


def follow_plainly(function: Callable[..., object], *arguments: object) -> Case:
    """As `follow`, of the function itself: what it does with traced values outside is done."""
    signature, plain = signature_of(function, arguments)
    scope = Scope(signature.values)
    following = Following(function.__qualname__, signature.scalars)
    following.arguments = lambda: plain
    with quiet():
        given = signature.given
        made = trace(lambda ts: function(*ts), given, scope, signature.layouts, following)
    return Case(made.graph, signature.layouts, scope, plain, signature.key, made.leaves)


def _value(value: object, lengths: dict[Symbol, int]) -> object:
    if isinstance(value, Recipe):
        return value.now({})
    return evaluate(value, lengths) if isinstance(value, Dim) else value


def evaluated(graph: Graph, case: Case) -> tuple[np.ndarray, ...]:
    """What the function of a case returns, its graph evaluated."""
    with np.errstate(all="ignore"):
        return case.returned(evaluate_graph(graph, case.arguments, case.values))


@contextmanager
def quiet():
    """No warnings of NumPy, those of empty means and of dropped imaginary parts included."""
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.filterwarnings(
            "ignore", "(Mean of empty|Degrees of freedom|All-NaN|invalid value)", RuntimeWarning
        )
        warnings.filterwarnings("ignore", "Casting complex", ComplexWarning)
        yield


@contextmanager
def checked():
    """Every pass is followed by its verifier."""
    with patch.object(config, "check", True):
        yield


@contextmanager
def small_forms():
    """Blocks, groups, tiles and strips so small that a few elements fill several of each.

    Short loops count as long, and poll for cancellation.
    Joins of more than two parts are written by several nests.
    Loops with a sum, a product or a cast are split: many more than on any CPU. Differences,
    quotients and the like count as elementary functions, whose chains are cut.
    """
    scalar = ("add", "multiply", "negative", "cast", "floor_divide", "remainder", "fmod")
    functions = ("subtract", "divide", "maximum", "minimum", "absolute", "sqrt", "where")
    sizes = {"STRIP": 2, "MIN_STRIP": 1, "MAX_WHOLE_BLOCK": 4, "MIN_ITERATIONS": 2}
    strips = sizes | {"HIDDEN_ADDITIONS": 0, "MAX_TIME_RATIO": math.inf}
    rows = {"MIN_ROW": 3, "ROWS_PER_GROUP": 2, "MAX_BUFFERS": 1, "MAX_CACHED_ROW": 6}
    scatters = {"MIN_POSITIONS": 4, "BLOCKS": 2, "MIN_POSITIONS_PER_CELL": 1}
    with (
        patch.multiple(
            "axiomjit.passes.loops.block_folds", BLOCK=8, MIN_STEPS=4, BLOCKS_PER_UNIT=2
        ),
        patch.multiple("axiomjit.passes.loops.tile_folds", LANES=4, UNROLL=2),
        patch.multiple("axiomjit.passes.loops.search_blocks", BLOCK=4, MIN_ITERATIONS=2),
        patch.multiple("axiomjit.passes.loops.interleave_folds", LANES=2, MIN_STEPS=3),
        patch.multiple("axiomjit.passes.loops.buffer_rows", **rows),
        patch.multiple("axiomjit.passes.loops.split_scans", MIN_ELEMENTS=16, MIN_UNSPLIT_ROWS=4),
        patch.multiple("axiomjit.passes.loops.privatise_scatters", **scatters),
        patch("axiomjit.passes.loops.join_moments.MAX_CACHED_ROW", 4),
        patch("axiomjit.passes.graph.choose_storage.MAX_PARTS", 2),
        patch.multiple("axiomjit.passes.views.cut_joins", MAX_PARTS=2, MAX_PIECE=2),
        patch.multiple("axiomjit.passes.loops.strip_mine", **strips),
        patch.object(LOOP_PASSES["strip_mine"], "applies", lambda program: True),
        patch.multiple(
            "axiomjit.passes.loops.insert_cancellation_checks",
            MIN_WORK=1000,
            MAX_WORK_BETWEEN_CHECKS=200,
            POLL_INTERVALS=(16, 4, 1),
        ),
        patch(
            "axiomjit.passes.loops.strip_mine._is_function",
            lambda let: let.primitive.name in functions,
        ),
        patch(
            "axiomjit.passes.loops.strip_mine._is_scalar",
            lambda let, target: let.primitive.name in scalar,
        ),
    ):
        yield


def target_with(**changes):
    """The process compiles for another target, whose instructions this CPU still has to have."""
    chosen = ChosenTarget(f"{target().name} with {changes}", target().replace(**changes))
    return patch("axiomjit.base.target._Process.chosen", chosen)


def plain_division():
    """The process compiles for a CPU that does not divide vectors of 64-bit integers."""
    return target_with(divides_long_vectors=False)


def run_plain_case(
    case: Case, plan: Plan, chunks: int = 1, chained: bool = False
) -> tuple[np.ndarray, ...]:
    """What the function of a case returns, its plan run in plain Python."""
    outputs = run_plan_plain(plan, case.arguments, case.values, chunks, chained=chained)
    return case.returned(outputs)


def stored(outputs, placeholders=(), arguments=()) -> Case:
    """The case of an axis program that may assign; what it assigns to is returned, too.

    The values of variables are arguments after those of the placeholders.
    """
    inputs = [tensor.node for tensor in placeholders]
    graph, variables = with_versions([tensor.node for tensor in outputs], inputs)
    arrays = [*arguments, *map(starting_values, variables)]
    lengths = known_lengths(used_axes((*outputs, *placeholders), Axes()))
    placed, layouts, values, plain = placed_graph(graph, plain_arguments(arrays), lengths)
    placed = placed.replace(outputs=(*placed.outputs, *placed.outputs[len(placed.results) :]))
    leaves = tuple((k, None) for k in range(len(placed.results)))
    return Case(placed, layouts, Scope(values), tuple(plain), None, leaves)


def kept(array: np.ndarray) -> np.ndarray:
    """A copy of an array with its strides."""
    low, high = span(array.shape, array.strides, array.itemsize)
    memory = np.zeros((high - low) // array.itemsize, array.dtype)
    copy = np.ndarray(array.shape, array.dtype, memory, -low, array.strides)
    copy[...] = array
    return copy


def lowered(case: Case) -> Stages:
    """The stages of a case, verified after each pass."""
    with checked():
        return run_pipeline(case.graph, case.context)


def apply_pass(function: Callable[..., object], before: object, case: Case) -> object:
    """One pass of the pipeline over a program of a case."""
    return function(before, case.context)


def lower_until(name: str, case: Case) -> object:
    """What the pass called `name` is given."""
    program: object = case.graph
    for function in PASSES:
        if function.__name__ == name:
            return program
        program = apply_pass(function, program, case)
    raise KeyError(name)


def fresh(buffer, lengths) -> np.ndarray:
    """Poisoned memory whose dimensions lie in the order of the buffer's strides."""
    shape = [evaluate(d, lengths) for d in buffer.shape]
    strides = [evaluate(d, lengths) for d in buffer.strides]
    order = sorted(range(len(shape)), key=lambda d: (-strides[d], d))
    with checked():
        laid_out = allocate([shape[d] for d in order], buffer.dtype)
    return laid_out.transpose([order.index(d) for d in range(len(order))])


def _number(source: NumberSource, arguments, lengths) -> object:
    if source.position is not None:
        return arguments[source.position]
    return source.literal if source.length is None else evaluate(source.length, lengths)


def _launch(
    step: Launch, arrays, arguments, lengths, chunks: int, *, in_order: bool = False
) -> None:
    words = [arrays[name] for name in step.buffers]
    words += [_number(source, arguments, lengths) for source in step.numbers]
    words += [evaluate(length, lengths) for length in step.lengths]
    grid = evaluate(step.grid, lengths)
    cuts = sorted({grid * k // chunks for k in range(chunks + 1)})
    kernel = step.kernel
    # The last chunk first: no chunk may rely on an earlier one.
    for lo, hi in list(zip(cuts, cuts[1:], strict=False))[:: 1 if in_order else -1]:
        run_plain(kernel.source, kernel.parameters, words, lo, hi)
    if kernel.combines:
        run_plain(kernel.source, kernel.parameters, words, 0, 0)


def _region(step: Repeat | Branch, windows, lengths, run: Callable[[int, int], object]) -> None:
    """Run the bodies of a loop or branch."""
    if isinstance(step, Branch):
        run(0 if windows[step.written] else 1, 0)
        return
    trips = math.inf if step.trips is None else evaluate(step.trips, lengths)
    trip, old = 0, [windows[place] for place in step.renewed]
    while trip < trips and all(run(k, trip)[0] for k in range(1, len(step.bodies))):
        for place, new in zip(step.renewed, run(0, trip), strict=True):
            windows[place] = new
        trip += 1
    for window, place in zip(old, step.renewed, strict=True):
        window[...] = windows[place]


def run_plan_plain(
    plan: Plan,
    arguments: Sequence[object],
    lengths: dict[Symbol, int],
    chunks: int = 1,
    in_place: bool = False,
    chained: bool = False,
) -> tuple[np.ndarray, ...]:
    """The results of a plan, its kernels in plain Python, each grid cut into so many chunks.

    Arguments are written only `in_place`; else copies of them are. Where `chained`, it is done as
    one thread does it: units with chains in order, without what is ahead, and nothing is shared.
    """
    buffers, lengths = {buffer.name: buffer for buffer in plan.buffers}, dict(lengths)
    arrays = {b.name: b.array for b in plan.buffers if b.role == "held"}
    arrays |= {b.name: arguments[b.position] for b in plan.buffers if b.role == "argument"}
    for step in plan.steps:
        if isinstance(step, WriteBack) and not in_place:  # a case is run several times
            arrays[step.buffer] = kept(arrays[step.buffer])

    def seen(window) -> np.ndarray:
        return BoundWindow(window, buffers, lengths).of(arrays)

    for step in steps_run(plan.steps, lengths, alone=chained):
        match step:
            case Allocate():
                arrays[step.buffer] = fresh(buffers[step.buffer], lengths)
            case Launch():
                in_order = chained and step.chunk_chain is not None
                _launch(step, arrays, arguments, lengths, chunks, in_order=in_order)
            case Call():
                bounds = at_lengths(step.conditions, lengths)
                operands = [
                    BoundWindow(window, buffers, lengths).of(arrays, beyond=bool(bounds))
                    for window in step.operands
                ]
                for operation, target in ((step.operation, step.target), *step.other_results):
                    if not step.allocates_targets:
                        operation.run(operands, step.labels, seen(target), bounds)
                        continue
                    shape = tuple(
                        None if data_dependent_in(n) else evaluate(n, lengths) for n in target.shape
                    )
                    made = operation.evaluate.bound(shape)(*operands)
                    arrays[target.buffer] = operation.evaluate.selected_copy(
                        made, target.dtype, shape
                    )
            case Repeat() | Branch():
                windows = [seen(window) for window in step.operands]

                def run(number, trip, step=step, windows=windows):
                    index = getattr(step, "index", None)
                    known = lengths if index is None else {**lengths, index: trip}
                    return run_plan_plain(
                        step.bodies[number], windows, known, chunks, in_place=True, chained=chained
                    )

                _region(step, windows, lengths, run)
            case Choose() | Check():
                lengths[step.choice.symbol] = int(seen(step.count))
                step.choice.check(lengths)
            case Release():
                del arrays[step.buffer]
            case Reuse():
                del arrays[step.source]
                arrays[step.buffer] = fresh(buffers[step.buffer], lengths)
    return tuple(seen(window) for window in plan.results)


def as_tuple(value: object) -> tuple[np.ndarray, ...]:
    """What a function returned, as a tuple of arrays."""
    return tuple(map(np.asarray, value if isinstance(value, tuple) else (value,)))


def in_numpy(function: Callable[..., object], arguments: Sequence[object]) -> tuple:
    """What NumPy itself makes of a function, without warnings."""
    with quiet():
        return as_tuple(function(*arguments))


COUNTED = {ReadState: "Take", Select: "Pick"}
"""Statements that are counted by the word that their text has."""


def census(program: object) -> Counter[str]:
    """How many of each kind of thing a program has."""
    match program:
        case Graph():
            nodes = post_order(program.outputs)
            return Counter(
                n.primitive.name if isinstance(n, Op) else type(n).__name__ for n in nodes
            )
        case ViewProgram():
            kinds = [storage.role for storage in program.storages]
            kinds += ["number"] * len(program.numbers)
            kinds += ["r-tensor" if d.storage is None else "l-tensor" for d in program.definitions]
            return Counter(kinds)
        case LoopProgram():
            nests = [step for step in program.steps if isinstance(step, Nest)]
            kinds = [
                COUNTED.get(type(s), type(s).__name__) for nest in nests for s in nest.statements
            ]
            return Counter(kinds + [type(step).__name__ for step in program.steps])
        case Plan():
            return Counter(type(step).__name__ for step in program.steps)
    raise TypeError(type(program).__name__)


def without_arrays(program: LoopProgram) -> LoopProgram:
    """The program with the dtypes and lengths of held arrays instead of their nodes."""
    return program.map(Constant, lambda node: (node.dtype, node.extents))


def read_back(program: LoopProgram, case: Case) -> BoundProgram:
    """What is read from the full text of a program, which has to be that program."""
    text = print_loops(BoundProgram(program, tuple(case.values.items())))
    found = parse_loops(text)
    assert without_arrays(found.program) == without_arrays(program)
    assert dict(found.lengths) == case.values
    return found


def before_and_after(name: str, case: Case) -> str:
    """What a pass makes of a case: both texts, and the counts that changed.

    Of loops it has to make the same when they are read from their full text.
    """
    function = next(f for f in PASSES if f.__name__ == name)
    before = lower_until(name, case)
    after = apply_pass(function, before, case)
    if isinstance(before, LoopProgram) and isinstance(after, LoopProgram):
        found = read_back(before, case)
        context = Context({}, Scope(dict(found.lengths)), chosen_target())
        assert without_arrays(function(found.program, context)) == without_arrays(after)
    old, new = census(before), census(after)
    changed = [f"{k}: {old[k]} -> {new[k]}" for k in sorted({*old, *new}) if old[k] != new[k]]
    shown = print_program(after) if before is not after else "the same object\n"
    shown = shown.rstrip("\n") if isinstance(after, Plan) else shown  # as its golden files have it
    return f"{print_program(before)}-- {name} --\n{shown}-- counts --\n" + (
        "\n".join(changed) or "as before"
    )
