"""LoopProgram -> Plan: kernel launches with their words, allocations of buffers, and results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from axiomjit.base.dtypes import code
from axiomjit.base.locks import lazy_import
from axiomjit.graph.nodes import Constant, Input, LengthNode, Scalar
from axiomjit.passes.ir.context import Context
from axiomjit.passes.ir.loop_ir import (
    OVER_RANGE,
    Cost,
    For,
    LibraryCall,
    LoopProgram,
    Nest,
    accessed,
)
from axiomjit.passes.ir.plan_ir import (
    Allocate,
    Buffer,
    Call,
    Check,
    Choose,
    Launch,
    NumberSource,
    Plan,
    Release,
    Reuse,
    Step,
    Window,
    WriteBack,
)
from axiomjit.passes.ir.view_ir import ArrayRole, Number, Storage, View
from axiomjit.passes.plan.render_source import Rendered, render_source
from axiomjit.symbolic.data_dependent import DataDependent, data_dependent_in
from axiomjit.symbolic.dims import Dim, Guard, Symbol, dim, product
from axiomjit.views.descriptions import row_major_strides

Steps = Sequence[Nest | LibraryCall]
"""The nests and library calls of a loop program, in order."""


def make_plan(program: LoopProgram, context: Context) -> Plan:
    """Render each nest and put the steps in order.

    Library calls for several results of one function, with the same operands, become one call.

    All memory is allocated before the first kernel runs, so that a failed allocation leaves nothing
    half-written. After the last reader of a temporary, its memory is released or reused by a later
    temporary of the same size.

    Needs: a legal loop program of blocked nests with a cost per step.
    Gives: a plan with one window per result, and a write-back for each argument that changes.
    Keeps: the order of steps.
    """
    rendered = {
        k: render_source(step, program.numbers, context.target)
        for k, step in enumerate(program.steps)
        if isinstance(step, Nest)
    }
    storages = [*program.storages, *_partials(program.steps)]
    groups = _groups(program.steps)
    made = {target for k in groups for target in _allocated_targets(program.steps[k], groups[k])}
    allocated = [s for s in storages if not s.role.is_given and s not in made]
    first, last = _first_and_last_use(program, rendered, groups)
    written = _last_writes(program)
    scratch = [s for s in storages if s.role.is_temporary or s.role is ArrayRole.PARTIAL]
    plain = [s for s in scratch if s not in made]
    heirs = _reused_memory(plain, first, last)
    choices = _choose_steps(program, context)
    own = {choose.choice.symbol for choose in choices}  # all others are known before the run
    late = {s: data_dependent_in(*s.shape, *s.strides) & own for s in allocated}
    late = {s: symbols for s, symbols in late.items() if s.name not in heirs}
    steps: list[Step] = [Allocate(s.name) for s, symbols in late.items() if not symbols]
    begun, ended = _names_by(first, scratch), _names_by(last, scratch)
    passed_on = frozenset(heirs.values())
    known: set[Symbol] = set()
    for k, step in enumerate(program.steps):
        steps += [Reuse(name, heirs[name]) for name in begun.get(k, ()) if name in heirs]
        if isinstance(step, LibraryCall):
            steps += [_call(step, groups[k])] if k in groups else []
        else:
            steps.append(_launch(step, rendered[k], program.costs[k]))
        for choose in (c for c in choices if written[c.count.buffer] == k):
            known.add(choose.choice.symbol)
            steps.append(choose)
            now = [s for s, symbols in late.items() if choose.choice.symbol in symbols <= known]
            steps += [Allocate(s.name) for s in now]
        steps += [Release(name) for name in ended.get(k, ()) if name not in passed_on]
    for storage in program.storages:
        if storage.name in program.updated and isinstance(storage.origin, Input):
            steps.append(WriteBack(storage.name, storage.origin.position))
    results = tuple(map(_window, program.results))
    early = _written_early(program, choices)
    cost = _total(program, early)
    return Plan(tuple(map(_buffer, storages)), tuple(steps), results, cost, early)


def _names_by(place: Mapping[str, int], storages: Sequence[Storage]) -> dict[int, list[str]]:
    """For each index in `place`, the names of the storages that have this index."""
    found: dict[int, list[str]] = {}
    for storage in storages:
        found.setdefault(place[storage.name], []).append(storage.name)
    return found


def _partials(steps: Steps) -> list[Storage]:
    """The buffers of partial results; a nest with a chunk chain uses those of an earlier nest."""
    nests = (step for step in steps if isinstance(step, Nest) and step.chunk_chain is None)
    return [buffer for nest in nests for buffer in nest.partials]


def _groups(steps: Steps) -> dict[int, tuple[LibraryCall, ...]]:
    """For the index of each library call, the later calls for other results of the same function.

    A later call runs together with the first call, so it is only in the entry of the first call. A
    write into an operand ends a group.
    """
    found: dict[int, tuple[LibraryCall, ...]] = {}
    known: dict[tuple[object, tuple[View, ...]], int] = {}
    for k, step in enumerate(steps):
        if isinstance(step, LibraryCall):
            same = _function_key(step)
            at = k if same is None else known.setdefault((same, step.operands), k)
            found[at] = (*found[at], step) if at in found else ()
        written = accessed(step)[1] if known else ()
        known = {
            key: at
            for key, at in known.items()
            if not any(view.storage in written for view in key[1])
        }
    return found


def _function_key(call: LibraryCall) -> object:
    """A key shared by the calls for all results of one function; None for a single result."""
    found: object = lazy_import("axiomjit.graph.external_calls").call_key(call.operation)
    return found


def _allocated_targets(step: Nest | LibraryCall, others: Sequence[LibraryCall]) -> list[Storage]:
    """The targets that a NumPy function allocates: all, or none if one is not in C order."""
    if not isinstance(step, LibraryCall) or _function_key(step) is None:
        return []
    targets = [step.target, *(other.target for other in others)]
    plain = all(target.strides == row_major_strides(target.shape) for target in targets)
    return targets if plain else []


def _choose_steps(program: LoopProgram, context: Context) -> list[Choose | Check]:
    """The data-dependent lengths and truth values, in the order in which steps compute them.

    The step of a length or truth value has the guards, from tracing and passes, that can be checked
    once its value is known.
    """
    written = _last_writes(program)
    counts = sorted(program.counts, key=lambda count: written[count.view.storage.name])
    order = [count.choice.symbol for count in counts]
    asked: dict[Symbol, dict[Guard, None]] = {symbol: {} for symbol in order}
    followed = (guard for count in program.counts for guard in count.choice.guards)
    for guard in (*followed, *context.scope.guards):
        named = data_dependent_in(guard.left, guard.right)
        if named:
            asked[max(named, key=order.index)][guard] = None
    choices = [_guarded(count.choice, asked) for count in counts]
    return [
        (Choose if choice.is_length else Check)(choice, _window(count.view))
        for choice, count in zip(choices, counts, strict=True)
    ]


def _guarded(choice: DataDependent, asked: Mapping[Symbol, Mapping[Guard, None]]) -> DataDependent:
    """A data-dependent length with all guards that can be checked as soon as it is known.

    A truth value that other guards compare is treated as a length.
    """
    guards = tuple(asked[choice.symbol])
    alone = not choice.is_length and set(guards) == set(choice.guards)
    others = (g for symbol, found in asked.items() if symbol != choice.symbol for g in found)
    named = data_dependent_in(*(side for g in others for side in (g.left, g.right)))
    return DataDependent(choice.symbol, guards, not alone or choice.symbol in named)


def _last_writes(program: LoopProgram) -> dict[str, int]:
    """For each storage, the index of the last step that writes it."""
    return {s.name: k for k, step in enumerate(program.steps) for s in accessed(step)[1]}


def _written_early(program: LoopProgram, choices: Sequence[Choose | Check]) -> tuple[int, ...]:
    """The positions of arguments written by the last step that may fail, or by an earlier step."""
    written = _last_writes(program)
    asked = [written[c.count.buffer] for c in choices if c.choice.guards]
    calls = ((k, s.operation) for k, s in enumerate(program.steps) if isinstance(s, LibraryCall))
    asked += [k for k, operation in calls if operation.may_raise or operation.is_speculative]
    before = program.steps[: max(asked, default=-1) + 1]
    origins = {storage.origin for step in before for storage in accessed(step)[1]}
    return tuple(sorted(origin.position for origin in origins if isinstance(origin, Input)))


def _total(program: LoopProgram, early: Sequence[int]) -> Cost:
    """The total cost of all steps, with the memory of partial results and of saved arguments.

    For a parallel variant, only the memory is counted: either the variant or the next step runs,
    and the operations of the next step are counted.
    """
    scratch = sum((buffer.size_bytes for buffer in _partials(program.steps)), dim(0))
    pairs = zip(program.steps, program.costs, strict=True)
    costs = [cost for step, cost in pairs if not _is_parallel_variant(step)]
    sums = {
        field: sum((getattr(cost, field) for cost in costs), dim(0))
        for field in ("bytes_read", "bytes_written", "flops", "temporary_bytes")
    }
    for storage in program.storages:
        if isinstance(storage.origin, Input) and storage.origin.position in early:
            sums["temporary_bytes"] += storage.size_bytes
    return Cost(**sums, scratch_bytes=scratch, kernels=sum(cost.kernels for cost in costs))


def _first_and_last_use(
    program: LoopProgram,
    rendered: dict[int, Rendered],
    groups: Mapping[int, tuple[LibraryCall, ...]],
) -> tuple[dict[str, int], dict[str, int]]:
    """The indices of the first and the last step that use each storage."""
    places = {more.target.name: k for k, calls in groups.items() for more in calls}
    first: dict[str, int] = {}
    last: dict[str, int] = {}
    for k, step in enumerate(program.steps):
        if isinstance(step, LibraryCall):
            read = [view.storage for view in step.operands] if k in groups else []
            used = [*read, step.target]
        else:
            used = list(rendered[k].buffers)
        last.update({storage.name: k + _is_parallel_variant(step) for storage in used})
        first = {storage.name: k for storage in used} | first
    return first | places, last


def _is_parallel_variant(step: Nest | LibraryCall) -> bool:
    """True if a step is a parallel variant of the next step."""
    return isinstance(step, Nest) and step.parallel_variant is not None


def _reused_memory(
    scratch: Sequence[Storage], first: Mapping[str, int], last: Mapping[str, int]
) -> dict[str, str]:
    """For each temporary that reuses memory, the earlier temporary of equal size in that memory."""
    heirs: dict[str, str] = {}
    dead: dict[Dim, list[Storage]] = {}
    ends = sorted(scratch, key=lambda s: last[s.name], reverse=True)
    for storage in sorted(scratch, key=lambda s: first[s.name]):
        while ends and last[ends[-1].name] < first[storage.name]:
            ended = ends.pop()
            dead.setdefault(ended.size_bytes, []).append(ended)
        if dead.get(storage.size_bytes):
            heirs[storage.name] = dead[storage.size_bytes].pop().name
    return heirs


def _buffer(storage: Storage) -> Buffer:
    origin = storage.origin
    return Buffer(
        storage.name,
        storage.role,
        storage.dtype,
        storage.shape,
        storage.strides,
        origin.position if isinstance(origin, Input) else None,
        origin.array if isinstance(origin, Constant) else None,
    )


def _number(number: Number) -> NumberSource:
    match number.origin:
        case Input():
            return NumberSource(code(number.dtype), position=number.origin.position)
        case Scalar():
            return NumberSource(code(number.dtype), literal=number.origin.value)
        case LengthNode():
            return NumberSource(code(number.dtype), length=number.origin.length)


def _launch(nest: Nest, rendered: Rendered, cost: Cost) -> Launch:
    loops = (stmt for stmt in nest.body if isinstance(stmt, For) and stmt.kind in OVER_RANGE)
    loop = next(loops, None)
    under = () if loop is None else (s for s in loop.body if isinstance(s, For) and s.under)
    grid = dim(1) if loop is None else product((loop.extent, *(inner.extent for inner in under)))
    work = cost.flops + cost.bytes_read + cost.bytes_written
    return Launch(
        rendered.kernel,
        tuple(storage.name for storage in rendered.buffers),
        tuple(_number(number) for number in rendered.numbers),
        rendered.lengths,
        grid,
        work,
        nest.prepass,
        nest.chunk_chain,
        nest.parallel_variant,
    )


def _call(step: LibraryCall, others: Sequence[LibraryCall]) -> Call:
    operands = tuple(map(_window, step.operands))
    more = tuple((other.operation, _whole_window(other.target)) for other in others)
    given = step.operation, operands, step.labels, _whole_window(step.target)
    return Call(*given, step.where, step.conditions, more, bool(_allocated_targets(step, others)))


def _whole_window(storage: Storage) -> Window:
    return _window(View(storage, storage.shape, dim(0), storage.strides))


def _window(view: View) -> Window:
    return Window(
        view.storage.name, view.offset, view.shape, view.strides, view.dtype, view.writable
    )
