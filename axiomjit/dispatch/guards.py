"""Builds native guards: the guard table of calls that a compiled call answers."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from axiomjit.base.config import config
from axiomjit.base.dtypes import walkable
from axiomjit.base.locks import why_not_compile
from axiomjit.base.native_callable import NativeCallable, change_tables
from axiomjit.base.tree import LEAF, Leaf, OfArgument
from axiomjit.dispatch.arguments import CallArguments
from axiomjit.dispatch.caches import CompiledCall, run_and_unflatten
from axiomjit.runtime.execution.execute import BoundPlan
from axiomjit.runtime.native_call.guard_tables import Guards, Table, with_table
from axiomjit.runtime.native_call.instructions import NOTHING, SCALARS, TUPLE, NativePlan
from axiomjit.runtime.native_call.native_entry import new_cell, new_entry, refusal
from axiomjit.symbolic.data_dependent import OtherLengthError

Runner = Callable[..., Any]
Vector = Sequence[object]


def is_native() -> bool:
    """True if calls may have native guards; the first use may compile the native entry."""
    return not (config.portable or config.disable or why_not_compile() or refusal())


def add_table(
    function: NativeCallable[Any], table: Table, native: NativePlan | None = None
) -> None:
    """Add a table in front of a callable's others; a native plan's table lists its kernels."""
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
    """For each leaf of a call without containers, the number of its argument."""
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
) -> bool:
    """Guard calls like this one, answered by `compiled`.

    Args:
        function: The callable that gets the table.
        compiled: The compiled call.
        call: Its leaves.
        order: For each leaf the number of its argument.
        args: The positional arguments.
        kwargs: The keyword arguments.
        distinct: True if no two array arguments may be one object.

    Returns:
        True if the call can be guarded.
    """
    vector = (*args, *kwargs.values())
    places, leaves = dict(call.static), call.leaves(call.dynamic)
    if len(leaves) != len(vector) or not isinstance(compiled.runnable, BoundPlan):
        return False
    if any(leaf is not vector[k] for leaf, k in zip(leaves, order, strict=True)):
        return False
    if not _has_kernels(function, compiled.runnable) or (compiled.speculative and kwargs):
        return False
    arrays = [v for v in call.dynamic if isinstance(v, np.ndarray)]
    if (compiled.writes and not compiled.plain) or (distinct and not all(v.size for v in arrays)):
        return False  # empty arrays never share memory, even one with itself
    native = _native(compiled, compiled.runnable, call) if all(map(walkable, arrays)) else None
    guards = _guards(native, compiled, places, leaves, order, distinct)
    if guards is None:
        native, guards = None, _guards(None, compiled, places, leaves, order, distinct)
    if guards is None:
        return False
    runner = None
    if native is None:
        dynamic = [k for place, k in enumerate(order) if place not in places]
        alone = dynamic == list(range(len(vector))) and compiled.plain and not call.static
        runner = _runner(compiled, call, dynamic, alone)
    otherwise = function.slow if compiled.speculative else None
    names, hits = tuple(kwargs), function.hits_natively
    table = guards.table(len(args), names, hits, runner, otherwise, _errors(compiled))
    add_table(function, table, native)
    return True


def guard_graph(
    function: NativeCallable[Any],
    compiled: CompiledCall,
    arguments: Vector,
    in_tuple: bool | None,
    finish: Callable[[Sequence[np.ndarray]], object],
) -> None:
    """Guard calls of a computation like the one with these arguments, answered by `compiled`.

    Results must not share memory with other arrays, otherwise calls are not guarded.
    """
    bound = compiled.runnable
    if not isinstance(bound, BoundPlan) or not bound.form.is_fresh:
        return
    if not _has_kernels(function, bound):
        return
    held = dict(enumerate(compiled.held, len(arguments)))
    native, results = None, bound.plan.results
    if in_tuple is not None and bound.form.is_entire and not bound.form.writes:
        short = not in_tuple and not held and results[0].shape
        form, examples = TUPLE if in_tuple else 0, arguments if short else None
        native = bound.native_plan(len(results), form, examples=examples)
    guards, hits = Guards(native), function.hits_natively
    if not all(guards.add(k, value, k) for k, value in enumerate(arguments)):
        return
    runner = None
    if native is None:
        runner = partial(_run_graph, bound, compiled.held, finish)
    else:
        for position, array in held.items():
            guards.hold_argument(array, position)
    add_table(function, guards.table(len(arguments), (), hits, runner), native)


def _run_graph(
    bound: BoundPlan,
    held: tuple[np.ndarray, ...],
    finish: Callable[[Sequence[np.ndarray]], object],
    *arguments: object,
) -> object:
    return finish(bound.run((*arguments, *held)))


def _has_kernels(function: NativeCallable[Any], bound: BoundPlan) -> bool:
    """True if a plan's kernels are loaded; if not, the call is not counted as a miss."""
    there = all(handle.loaded is not None for handle in bound.handles)
    function.misses -= not there
    return there


def _guards(
    native: NativePlan | None,
    compiled: CompiledCall,
    places: Mapping[int, object],
    leaves: Vector,
    order: Sequence[int],
    distinct: bool,
) -> Guards | None:
    """Guards of all arguments and captured arrays; None if one cannot be guarded."""
    guards, given = Guards(native, compiled.writes), list[tuple[int, object]]()
    for place, (leaf, source) in enumerate(zip(leaves, order, strict=True)):
        dynamic = place not in places
        if not guards.add(source, leaf, len(given) if dynamic else None):
            return None
        given += [(source, leaf)] * dynamic
    apart = range(len(given)) if distinct else compiled.writes
    for array, where in () if compiled.watch is None else compiled.watch.known():
        guards.watch(array, where)
        given.append((-1, array))
    for pair in _apart(given, apart):
        guards.disjoint(*pair)
    return guards


def _apart(
    given: Sequence[tuple[int, object]], writes: Sequence[int]
) -> Iterator[tuple[int, np.ndarray, int, np.ndarray]]:
    """Pairs of a written array and another array, each array preceded by its source."""
    for k in writes:
        source, written = given[k]
        for j, (other_source, other) in enumerate(given):
            once = j > k or (j < k and j not in writes)
            if once and isinstance(written, np.ndarray) and isinstance(other, np.ndarray):
                yield source, written, other_source, other


def _form(compiled: CompiledCall) -> int | None:
    """The native form of a call's results; None if there is none."""
    if compiled.structure is LEAF and all(part is None for part in compiled.leaves[0]):
        return NOTHING
    if [number for number, _ in compiled.leaves] != list(range(len(compiled.leaves))):
        return None
    if not all(value is None or isinstance(value, OfArgument) for _, value in compiled.leaves):
        return None
    if compiled.structure is LEAF:
        return SCALARS
    flat = all(isinstance(part, Leaf) for part in getattr(compiled.structure, "parts", ()))
    return SCALARS | TUPLE if flat and getattr(compiled.structure, "kind", None) is tuple else None


def _gives_results(compiled: CompiledCall) -> bool:
    """True if the leaves of the return value are all results, in order and unconverted."""
    return compiled.leaves == tuple((k, None) for k in range(len(compiled.leaves)))


def _native(compiled: CompiledCall, bound: BoundPlan, call: CallArguments) -> NativePlan | None:
    """The native plan of a call, or None."""
    form = _form(compiled)
    count = 0 if form == NOTHING else len(compiled.leaves)
    given = {k: v for k, v in compiled.leaves if k is not None and isinstance(v, OfArgument)}
    examples = call.dynamic if compiled.plain and _builder(compiled) is not None else None
    kind = getattr(compiled.structure, "kind", None)
    return bound.native_plan(count, form, (), given, examples, kind)


def _runner(
    compiled: CompiledCall, call: CallArguments, dynamic: Sequence[int], alone: bool
) -> Runner:
    """The Python function that answers a guarded call, given all arguments in order.

    `alone`: the arguments are exactly the program's, and need no conversion.
    """
    if not alone:
        return partial(_run, compiled, tuple(dynamic), call.static, call.names)
    build, run = _builder(compiled), compiled.runnable.run
    if build is None:
        return partial(_run_all, compiled)

    def run_all(*args: object) -> object:
        return build(run(args))

    return run_all


def _errors(compiled: CompiledCall) -> type[Exception]:
    """The errors by which a program refuses a call."""
    return Exception if compiled.may_raise else OtherLengthError


def _builder(compiled: CompiledCall) -> Callable[[Sequence[np.ndarray]], object] | None:
    """The function that assembles results into one array, or a tuple of all in order; else None."""
    if not _gives_results(compiled):
        return None
    structure = compiled.structure
    if isinstance(structure, Leaf):
        return lambda results: results[0] if results[0].ndim else results[0][()]
    kind: Any = structure.kind
    make = getattr(kind, "_make", kind)
    if not issubclass(kind, tuple) or make is kind is not tuple or structure.keys:
        return None
    if not all(isinstance(part, Leaf) for part in structure.parts):
        return None
    count = len(compiled.leaves)
    return lambda results: make([one if one.ndim else one[()] for one in results[:count]])


def _run_all(compiled: CompiledCall, *args: object) -> object:
    return run_and_unflatten(compiled, args)


def _run(
    compiled: CompiledCall,
    dynamic: tuple[int, ...],
    static: tuple[tuple[int, object], ...],
    names: Sequence[str],
    *args: object,
) -> object:
    arguments = [args[k] for k in dynamic]
    return run_and_unflatten(compiled, compiled.prepared(arguments, names), static, arguments)
