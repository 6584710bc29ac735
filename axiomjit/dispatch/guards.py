"""Puts native guards in front of calls that were answered: from what was prepared to a table."""

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
    """Whether calls may have native guards now; the first of a process may compile the entry."""
    return not (config.portable or config.disable or why_not_compile() or refusal())


def add_table(
    function: NativeCallable[Any], table: Table, native: NativePlan | None = None
) -> None:
    """Put a table in front of the others of a callable; that of a native plan names its kernels."""
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
            function.drop_tables(owner)  # it was dropped meanwhile


def order_of(signature: inspect.Signature, args: Vector, kwargs: Mapping[str, object]) -> list[int]:
    """For each leaf of a call without containers the number of its argument."""
    numbers = range(len(args) + len(kwargs))
    named = dict(zip(kwargs, numbers[len(args) :], strict=True))
    bound = signature.bind(*numbers[: len(args)], **named)
    return [*bound.args, *bound.kwargs.values()]


def guard_call(
    function: NativeCallable[Any],
    ready: CompiledCall,
    call: CallArguments,
    order: Sequence[int],
    args: Vector,
    kwargs: Mapping[str, object],
    distinct: bool = False,
) -> bool:
    """Guard calls like this one, which `ready` has answered.

    Args:
        function: Gets the table.
        ready: What was prepared for the call.
        call: Its leaves.
        order: For each leaf the number of the argument that it should be.
        args: The arguments of the call.
        kwargs: Those by name.
        distinct: Whether no two array arguments may be one object.

    Returns:
        Whether the call can be guarded.
    """
    vector = (*args, *kwargs.values())
    places, leaves = dict(call.static), call.leaves(call.dynamic)
    if len(leaves) != len(vector) or not isinstance(ready.runnable, BoundPlan):
        return False
    if any(leaf is not vector[k] for leaf, k in zip(leaves, order, strict=True)):
        return False
    if not _has_kernels(function, ready.runnable) or (ready.speculative and kwargs):
        return False
    arrays = [v for v in call.dynamic if isinstance(v, np.ndarray)]
    if (ready.writes and not ready.plain) or (distinct and not all(v.size for v in arrays)):
        return False  # that empty arrays share no memory does not tell them apart
    native = _native(ready, ready.runnable, call) if all(map(walkable, arrays)) else None
    guards = _guards(native, ready, places, leaves, order, distinct)
    if guards is None:
        native, guards = None, _guards(None, ready, places, leaves, order, distinct)
    if guards is None:
        return False
    runner = None
    if native is None:
        dynamic = [k for place, k in enumerate(order) if place not in places]
        alone = dynamic == list(range(len(vector))) and ready.plain and not call.static
        runner = _runner(ready, call, dynamic, alone)
    otherwise = function.slow if ready.speculative else None
    names, hits = tuple(kwargs), function.hits_natively
    table = guards.table(len(args), names, hits, runner, otherwise, _errors(ready))
    add_table(function, table, native)
    return True


def guard_graph(
    function: NativeCallable[Any],
    ready: CompiledCall,
    arguments: Vector,
    in_tuple: bool | None,
    finish: Callable[[Sequence[np.ndarray]], object],
) -> None:
    """Guard calls of a computation like the one with these arguments, which `ready` has answered.

    Results share no memory with anything: plans of which that is not known are not guarded.
    """
    bound = ready.runnable
    if not isinstance(bound, BoundPlan) or not bound.form.is_fresh:
        return
    if not _has_kernels(function, bound):
        return
    held = dict(enumerate(ready.held, len(arguments)))
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
        runner = partial(_run_graph, bound, ready.held, finish)
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
    """Whether the kernels of a plan are there; a call that was answered in NumPy is not counted."""
    there = all(handle.loaded is not None for handle in bound.handles)
    function.misses -= not there
    return there


def _guards(
    native: NativePlan | None,
    ready: CompiledCall,
    places: Mapping[int, object],
    leaves: Vector,
    order: Sequence[int],
    distinct: bool,
) -> Guards | None:
    """Guards of all arguments and of the arrays from elsewhere; None where one cannot be had."""
    guards, given = Guards(native, ready.writes), list[tuple[int, object]]()
    for place, (leaf, source) in enumerate(zip(leaves, order, strict=True)):
        dynamic = place not in places
        if not guards.add(source, leaf, len(given) if dynamic else None):
            return None
        given += [(source, leaf)] * dynamic
    apart = range(len(given)) if distinct else ready.writes
    for array, where in () if ready.watch is None else ready.watch.known():
        guards.watch(array, where)
        given.append((-1, array))
    for pair in _apart(given, apart):
        guards.disjoint(*pair)
    return guards


def _apart(
    given: Sequence[tuple[int, object]], writes: Sequence[int]
) -> Iterator[tuple[int, np.ndarray, int, np.ndarray]]:
    """Each written array with each other array, both behind their sources."""
    for k in writes:
        source, written = given[k]
        for j, (other_source, other) in enumerate(given):
            once = j > k or (j < k and j not in writes)
            if once and isinstance(written, np.ndarray) and isinstance(other, np.ndarray):
                yield source, written, other_source, other


def _form(ready: CompiledCall) -> int | None:
    """How a native call puts its results together; None where it cannot."""
    if ready.structure is LEAF and all(part is None for part in ready.leaves[0]):
        return NOTHING
    if [number for number, _ in ready.leaves] != list(range(len(ready.leaves))):
        return None
    if not all(value is None or isinstance(value, OfArgument) for _, value in ready.leaves):
        return None
    if ready.structure is LEAF:
        return SCALARS
    flat = all(isinstance(part, Leaf) for part in getattr(ready.structure, "parts", ()))
    return SCALARS | TUPLE if flat and getattr(ready.structure, "kind", None) is tuple else None


def _gives_results(ready: CompiledCall) -> bool:
    """Whether the leaves of what a call gives are all results, in order and as they are."""
    return ready.leaves == tuple((k, None) for k in range(len(ready.leaves)))


def _native(ready: CompiledCall, bound: BoundPlan, call: CallArguments) -> NativePlan | None:
    """What a native call does for a call; None where it cannot."""
    form = _form(ready)
    count = 0 if form == NOTHING else len(ready.leaves)
    given = {k: v for k, v in ready.leaves if k is not None and isinstance(v, OfArgument)}
    examples = call.dynamic if ready.plain and _builder(ready) is not None else None
    kind = getattr(ready.structure, "kind", None)
    return bound.native_plan(count, form, (), given, examples, kind)


def _runner(
    ready: CompiledCall, call: CallArguments, dynamic: Sequence[int], alone: bool
) -> Runner:
    """What answers a guarded call in Python, given all arguments in order.

    They are `alone` where they are those of the program, and can be used as they are.
    """
    if not alone:
        return partial(_run, ready, tuple(dynamic), call.static, call.names)
    build, run = _builder(ready), ready.runnable.run
    if build is None:
        return partial(_run_all, ready)

    def run_all(*args: object) -> object:
        return build(run(args))

    return run_all


def _errors(ready: CompiledCall) -> type[Exception]:
    """The errors by which a program says that it does not answer a call."""
    return Exception if ready.fails else OtherLengthError


def _builder(ready: CompiledCall) -> Callable[[Sequence[np.ndarray]], object] | None:
    """What puts results together that are one array, or a tuple of all of them in order."""
    if not _gives_results(ready):
        return None
    structure = ready.structure
    if isinstance(structure, Leaf):
        return lambda results: results[0] if results[0].ndim else results[0][()]
    kind: Any = structure.kind
    make = getattr(kind, "_make", kind)
    if not issubclass(kind, tuple) or make is kind is not tuple or structure.keys:
        return None
    if not all(isinstance(part, Leaf) for part in structure.parts):
        return None
    count = len(ready.leaves)
    return lambda results: make([one if one.ndim else one[()] for one in results[:count]])


def _run_all(ready: CompiledCall, *args: object) -> object:
    return run_and_unflatten(ready, args)


def _run(
    ready: CompiledCall,
    dynamic: tuple[int, ...],
    static: tuple[tuple[int, object], ...],
    names: Sequence[str],
    *args: object,
) -> object:
    arguments = [args[k] for k in dynamic]
    return run_and_unflatten(ready, ready.prepared(arguments, names), static, arguments)
