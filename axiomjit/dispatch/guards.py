"""Build the native guard table of a compiled call; the table answers later calls like this call."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from types import FunctionType
from typing import Any, Final

import numpy as np

from axiomjit.base.config import config
from axiomjit.base.dtypes import walkable
from axiomjit.base.locks import why_not_compile
from axiomjit.base.native_callable import NativeCallable, change_tables
from axiomjit.base.origins import hide_frames, hides_frames
from axiomjit.base.tree import LEAF, Branch, Leaf, OfArgument
from axiomjit.dispatch.arguments import CallArguments
from axiomjit.dispatch.caches import (
    CompiledCall,
    after_effects,
    finisher,
    run_and_unflatten,
    snapshot,
)
from axiomjit.dispatch.native_effects import KINDS, add_effects, kinds_of, stored, with_returned
from axiomjit.dispatch.source_guards import Numbers, add_sources
from axiomjit.functions.effects import FromSource
from axiomjit.functions.outside import BY_IDENTITY
from axiomjit.functions.sources import Guards as SourceGuards
from axiomjit.functions.sources import Source, is_known_value
from axiomjit.functions.sources import Vector as SourceValues
from axiomjit.runtime.execution.execute import BoundPlan
from axiomjit.runtime.native_call.guard_tables import Guards, Table, with_table
from axiomjit.runtime.native_call.instructions import NOTHING, SCALARS, TUPLE, NativePlan
from axiomjit.runtime.native_call.native_entry import new_cell, new_entry, refusal
from axiomjit.symbolic.data_dependent import OtherLengthError
from axiomjit.symbolic.dims import Dim, Scope, Symbol, bound, substitute
from axiomjit.symbolic.dims import Guard as Comparison

Runner = Callable[..., Any]
Vector = Sequence[object]
_NO_SOURCES: Final = SourceGuards((), (), ())


def is_native() -> bool:
    """True if calls may have native guards; the first call may compile the native entry."""
    return not (config.portable or config.disable or why_not_compile() or refusal())


def add_table(
    function: NativeCallable[Any], table: Table, native: NativePlan | None = None
) -> None:
    """Add a table before a callable's other tables; the table is a user of the plan's kernels."""
    kernels = () if native is None else native.kernels
    for handle, _ in kernels:
        handle.add_user(function)
    cell = getattr(function.func, "__self__", None)
    if not isinstance(cell, list):
        cell = new_cell(function.slow)
        cell[0] = with_table((), table)
        function.enter(new_entry(cell))
    else:
        change_tables(cell, lambda tables: with_table(tables, table))
    for handle, owner in kernels:
        if handle.loaded is not owner:
            function.drop_tables(owner)  # the kernel was dropped meanwhile


def order_of(signature: inspect.Signature, args: Vector, kwargs: Mapping[str, object]) -> list[int]:
    """For each leaf of a call without containers, the position of its argument."""
    numbers = range(len(args) + len(kwargs))
    named = dict(zip(kwargs, numbers[len(args) :], strict=True))
    bound = signature.bind(*numbers[: len(args)], **named)
    return [*bound.args, *bound.kwargs.values()]


def guard_call(
    function: NativeCallable[Any],
    compiled: CompiledCall,
    call: CallArguments,
    order: Sequence[int],
    args: Vector,
    kwargs: Mapping[str, object],
    distinct: bool = False,
    values: SourceValues | None = None,
    any_integers: bool = False,
) -> bool:
    """Add a guard table, so that later calls like this one run `compiled`; True if possible.

    Args:
        function: The callable that gets the table.
        compiled: The compiled call.
        call: The leaves of this call's arguments.
        order: For each leaf, the position of its argument.
        args: The positional arguments of this call.
        kwargs: The keyword arguments of this call.
        distinct: True if all array arguments must be different objects.
        values: The values of the program's outside sources, read before the program ran.
        any_integers: True if the table also answers calls with other integers, which shapes may
            depend on.
    """
    vector = (*args, *kwargs.values())
    places, leaves = dict(call.static), call.leaves(call.dynamic)
    if not isinstance(compiled.runnable, BoundPlan) or not _leaves_are_arguments(
        leaves, vector, order
    ):
        return False
    if not _may_guard(function, compiled, compiled.runnable, kwargs):
        return False
    reads, values = compiled.outside, values or []
    whole = call if reads is None else call.with_inputs(reads.guards.given(values), reads.names)
    arrays = [v for v in whole.dynamic if isinstance(v, np.ndarray)]
    are_read = all(map(walkable, arrays))  # programs get copies of other arrays
    if (compiled.writes and not are_read) or (distinct and not all(v.size for v in arrays)):
        return False  # empty arrays never share memory, even one with itself
    any_integers |= bool(compiled.integers and compiled.integers.leaves)
    varying = _Varying(compiled, compiled.runnable) if any_integers else None
    native = _native(compiled, whole, varying) if are_read else None
    if native is None and any_integers:
        return False
    found = _guards(native, compiled, call, leaves, order, distinct, values, varying)
    if found is None and not any_integers:
        native, found = None, _guards(None, compiled, call, leaves, order, distinct, values)
    if found is None:
        return False
    runner, (guards, numbers) = None, found
    passed: tuple[int, ...] = ()
    if native is None:
        wanted = _sources_read(compiled)
        passed = tuple(map(numbers, wanted))
        runner = _runner_of(compiled, whole, order, places, wanted, len(values))
    facts = runner, function.slow if compiled.speculative else None, _errors(compiled), passed
    hits = function.hits_natively
    add_table(function, guards.table(len(args), tuple(kwargs), hits, *facts), native)
    return True


def _leaves_are_arguments(leaves: Sequence[object], vector: Vector, order: Sequence[int]) -> bool:
    """True if the leaves are the arguments themselves, in the given order."""
    are_as_many = len(leaves) == len(vector)
    return are_as_many and all(v is vector[k] for v, k in zip(leaves, order, strict=True))


def _may_guard(
    function: NativeCallable[Any],
    compiled: CompiledCall,
    plan: BoundPlan,
    kwargs: Mapping[str, object],
) -> bool:
    """True if nothing but the arguments can prevent a native answer of a compiled call."""
    if not _has_kernels(function, plan) or (compiled.speculative and kwargs):
        return False
    effects = () if compiled.outside is None else compiled.outside.effects
    returned = len(compiled.leaves) - sum(effect.count for effect in effects)
    computed = {} if compiled.integers is None else compiled.integers.leaves
    every = {k for k, (_, value) in enumerate(compiled.leaves) if isinstance(value, Dim)}
    if any(k < returned for k in computed) or not every <= computed.keys():
        return False  # integers that are computed in each call
    # after an error, NumPy would repeat the effects; a wrong guess is found before any effect
    return not (effects and compiled.may_raise)


def guard_graph(
    function: NativeCallable[Any],
    compiled: CompiledCall,
    arguments: Vector,
    in_tuple: bool | None,
    finish: Callable[[Sequence[np.ndarray]], object],
) -> None:
    """Add a guard table, so that later calls of a computation like this one run `compiled`.

    No table is added if a result may share memory with another array.
    """
    plan = compiled.runnable
    if not isinstance(plan, BoundPlan) or not plan.form.is_fresh:
        return
    if not _has_kernels(function, plan):
        return
    held = dict(enumerate(compiled.held, len(arguments)))
    native, results = None, plan.plan.results
    if in_tuple is not None and plan.form.is_entire and not plan.form.writes:
        short = not in_tuple and not held and results[0].shape
        form, examples = TUPLE if in_tuple else 0, arguments if short else None
        native = plan.native_plan(len(results), form, examples=examples)
    guards, hits = Guards(native), function.hits_natively
    if not all(guards.add(k, value, k) for k, value in enumerate(arguments)):
        return
    runner = None
    if native is None:
        runner = partial(_run_graph, plan, compiled.held, finish)
    else:
        for position, array in held.items():
            guards.hold_argument(array, position)
    add_table(function, guards.table(len(arguments), (), hits, runner), native)


def _run_graph(
    plan: BoundPlan,
    held: tuple[np.ndarray, ...],
    finish: Callable[[Sequence[np.ndarray]], object],
    *arguments: object,
) -> object:
    return finish(plan.run((*arguments, *held)))


def _has_kernels(function: NativeCallable[Any], plan: BoundPlan) -> bool:
    """True if the kernels of a plan are loaded; if not, the call does not count as a miss."""
    there = all(handle.loaded is not None for handle in plan.handles)
    function.misses -= not there
    return there


def _guards(
    native: NativePlan | None,
    compiled: CompiledCall,
    call: CallArguments,
    leaves: Vector,
    order: Sequence[int],
    distinct: bool,
    values: SourceValues,
    varying: _Varying | None = None,
) -> tuple[Guards, Numbers] | None:
    """The guards of arguments, outside values and captured arrays, and the numbers of sources.

    None if an argument, value or array cannot be guarded.
    """
    symbols = {} if varying is None else varying.symbols
    stores = None if native is None else stored(compiled, _integers_of(varying))
    plan = native if native is None or stores is None else with_returned(native, stores)
    if native is not None and plan is None:
        return None
    guards, given = Guards(plan, compiled.writes), list[tuple[int, object]]()
    places = dict(call.static)
    for place, (leaf, source) in enumerate(zip(leaves, order, strict=True)):
        if place in places:
            if not _add_whole(guards, source, leaf):
                return None
        elif not _add_given(guards, source, leaf, len(given), symbols):
            return None
        else:
            given.append((source, leaf))
    sources = _NO_SOURCES if compiled.outside is None else compiled.outside.guards
    numbers = add_sources(guards, sources, values, order)
    if numbers is None:
        return None
    for one in sources.inputs:
        value = values[one.number]
        if not _add_given(guards, numbers(one), value, len(given), symbols):
            return None
        given.append((numbers(one), value))
    apart = range(len(given)) if distinct else compiled.writes
    for array, where in () if compiled.watch is None else compiled.watch.known():
        given.append((guards.watch(array, where), array))
    for pair in _distinct_pairs(given, apart):
        guards.disjoint(*pair)
    if native is None:
        for one in _sources_read(compiled):
            guards.defined(numbers(one))
    elif stores and not add_effects(guards, stores, native, numbers, values):
        return None
    if varying is not None:
        guards.limit(varying.comparisons())
    return guards, numbers


def _add_given(
    guards: Guards, source: int, value: Any, position: int, symbols: Mapping[int, Symbol]
) -> bool:
    """Guard an argument of the program; an argument with a symbol may be any integer."""
    if position in symbols:
        return type(value) is int and guards.word(source, value, symbols[position])
    return guards.add(source, value, position)


def _integers_of(varying: _Varying | None) -> Mapping[int, Dim]:
    """The leaves of the return value that are integers computed in each call."""
    return {} if varying is None else varying.leaves


class _Varying:
    """The integer arguments of a compiled call whose table answers calls with any integers."""

    def __init__(self, compiled: CompiledCall, plan: BoundPlan) -> None:
        """Store the integer arguments of a compiled call that has integer arguments."""
        assert compiled.integers is not None
        self.symbols, self._guards = compiled.integers.symbols, compiled.integers.guards
        known = plan.lengths
        self._scope = Scope({symbol: known[symbol] for symbol in self.symbols.values()})
        self._fixed = {one: n for one, n in known.items() if one not in self._scope.values}
        computed = compiled.integers.leaves.items()
        self.leaves = {k: substitute(one, self._fixed) for k, one in computed}
        with bound(self._scope):
            self.plan = plan.of_words(self._scope.values)

    def native_plan(self, *facts: Any) -> NativePlan | None:
        """The native plan for any integers; guards of lengths are recorded as comparisons."""
        with bound(self._scope):
            return None if self.plan is None else self.plan.native_plan(*facts)

    def comparisons(self) -> Iterator[Comparison]:
        """Yield the comparisons of lengths that must hold for every call of the table."""
        for one in (*self._guards, *self._scope.guards):
            left, right = (substitute(side, self._fixed) for side in (one.left, one.right))
            yield one.replace(left=left, right=right)


def _add_whole(guards: Guards, source: int, leaf: object) -> bool:
    """Guard the value, identity or class of a static argument; its parts have other guards."""
    if is_known_value(leaf):
        return guards.equals(source, leaf)
    if isinstance(leaf, BY_IDENTITY) and type(leaf) is not FunctionType:
        guards.same(source, leaf)
    else:
        guards.of_class(source, type(leaf))
    return True


def _sources_read(compiled: CompiledCall) -> tuple[Source, ...]:
    """The outside sources that a run in Python reads: inputs, leaves of results, effect targets."""
    if compiled.outside is None:
        return ()
    found = [*compiled.outside.guards.inputs]
    found += [value.source for _, value in compiled.leaves if isinstance(value, FromSource)]
    found += [one.target for one in compiled.outside.effects if one.target is not None]
    return tuple({one.number: one for one in found}.values())


def _distinct_pairs(
    given: Sequence[tuple[int, object]], writes: Sequence[int]
) -> Iterator[tuple[int, np.ndarray, int, np.ndarray]]:
    """Yield each written array with each other array; before each array comes its source."""
    for k in writes:
        source, written = given[k]
        for j, (other_source, other) in enumerate(given):
            once = j > k or (j < k and j not in writes)
            if once and isinstance(written, np.ndarray) and isinstance(other, np.ndarray):
                yield source, written, other_source, other


def _form(compiled: CompiledCall) -> int | None:
    """The native form of the return value; None if native code cannot build it."""
    if compiled.structure is LEAF and all(part is None for part in compiled.leaves[0]):
        return NOTHING
    if [number for number, _ in compiled.leaves] != list(range(len(compiled.leaves))):
        return None
    values = [value for _, value in compiled.leaves if value is not None]
    if not all(isinstance(value, OfArgument) or value in KINDS for value in values):
        return None
    if compiled.structure is LEAF:
        return SCALARS
    flat = all(isinstance(part, Leaf) for part in getattr(compiled.structure, "parts", ()))
    return SCALARS | TUPLE if flat and getattr(compiled.structure, "kind", None) is tuple else None


def _gives_results(compiled: CompiledCall) -> bool:
    """True if the leaves of the return value are all results, in order and unconverted."""
    return compiled.leaves == tuple((k, None) for k in range(len(compiled.leaves)))


def _native(
    compiled: CompiledCall, call: CallArguments, varying: _Varying | None
) -> NativePlan | None:
    """The native plan of a call; None if native code cannot run the call."""
    whole: Any = compiled.runnable if varying is None else varying
    given = {k: v for k, v in compiled.leaves if k is not None and isinstance(v, OfArgument)}
    if compiled.generators:  # only Python restores generators after an error
        return None
    if compiled.outside is not None and compiled.outside.effects:
        stores = stored(compiled, _integers_of(varying))
        if stores is None:
            return None
        facts = stores.count, SCALARS | TUPLE, (), given
        stored_plan: NativePlan | None = whole.native_plan(*facts)
        return stored_plan
    form = _form(compiled)
    finish = finisher(compiled) if form is None else None
    numbers = [-1 if number is None else number for number, _ in compiled.leaves]
    count = 0 if form == NOTHING else 1 + max(numbers, default=-1)
    examples = call.dynamic if compiled.plain and _builder(compiled) is not None else None
    kind = getattr(compiled.structure, "kind", None)
    made: NativePlan | None = whole.native_plan(count, form, (), given, examples, kind, finish)
    return None if made is None else made.with_numbers(kinds_of(compiled.leaves))


def _runner_of(
    compiled: CompiledCall,
    call: CallArguments,
    order: Sequence[int],
    places: Mapping[int, object],
    wanted: tuple[Source, ...],
    sources: int,
) -> Runner:
    """The Python function that answers a guarded call, from its arguments and outside values."""
    dynamic = [k for place, k in enumerate(order) if place not in places]
    inputs = () if compiled.outside is None else compiled.outside.guards.inputs
    dynamic += [len(order) + wanted.index(one) for one in inputs]
    alone = dynamic == list(range(len(order) + len(wanted))) and compiled.plain
    rest = wanted, len(order), sources
    runner = _runner(compiled, call, dynamic, rest, alone)
    return partial(_rolled_back, compiled, runner) if compiled.generators else runner


def _runner(
    compiled: CompiledCall,
    call: CallArguments,
    dynamic: Sequence[int],
    rest: tuple[tuple[Source, ...], int, int],
    alone: bool,
) -> Runner:
    """The Python function that answers a guarded call, without the rollback of generators.

    Args:
        compiled: The compiled call.
        call: The leaves of this call's arguments.
        dynamic: For each argument of the program, its position among the given values.
        rest: The sources whose values are given after the arguments, the number of arguments, and
            the number of all sources.
        alone: True if the given arguments are the program's arguments, and need no conversion.
    """
    if not alone or (compiled.outside and compiled.outside.effects):
        numbers = tuple(one.number for one in rest[0])
        return partial(_run, compiled, tuple(dynamic), call.names, numbers, *rest[1:])
    build, run = _builder(compiled), compiled.runnable.run
    if build is None:
        return partial(_run_all, compiled)

    def run_all(*args: object) -> object:
        try:
            return build(run(args))
        except Exception as error:
            hide_frames(error)
            raise

    return run_all


def _errors(compiled: CompiledCall) -> type[Exception]:
    """The errors which show that a program is not valid for a call."""
    return Exception if compiled.may_raise else OtherLengthError


def _builder(compiled: CompiledCall) -> Callable[[Sequence[np.ndarray]], object] | None:
    """The function that returns the only result or a tuple of all results; None for others."""
    if not _gives_results(compiled):
        return None
    structure = compiled.structure
    if isinstance(structure, Leaf):
        return lambda results: results[0] if results[0].ndim else results[0][()]
    if not isinstance(structure, Branch):
        return None
    kind: Any = structure.kind
    make = getattr(kind, "_make", kind)
    if not issubclass(kind, tuple) or make is kind is not tuple or structure.keys:
        return None
    if not all(isinstance(part, Leaf) for part in structure.parts):
        return None
    count = len(compiled.leaves)
    return lambda results: make([one if one.ndim else one[()] for one in results[:count]])


@hides_frames
def _rolled_back(compiled: CompiledCall, run: Runner, *args: object) -> object:
    """The result of a run; random generators are rolled back if the program refuses the call."""
    put_back = snapshot(compiled, ())
    try:
        return run(*args)
    except _errors(compiled):
        put_back()
        raise


@hides_frames
def _run_all(compiled: CompiledCall, *args: object) -> object:
    return run_and_unflatten(compiled, args)


@hides_frames
def _run(
    compiled: CompiledCall,
    dynamic: tuple[int, ...],
    names: Sequence[str],
    sources: tuple[int, ...],
    count: int,
    size: int,
    *args: object,
) -> object:
    arguments = [args[k] for k in dynamic]
    values: SourceValues = [None] * size
    for number, value in zip(sources, args[count:], strict=True):
        values[number] = value
    prepared = compiled.prepared(arguments, names)
    made = run_and_unflatten(compiled, prepared, arguments, values)
    return after_effects(compiled, made, values)
