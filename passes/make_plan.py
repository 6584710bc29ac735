"""LoopProgram -> Plan: kernels with their words, allocation and release, results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from axiomjit.algebra.chosen import Choice, chosen_in
from axiomjit.algebra.dims import Dim, Symbol, dim, product
from axiomjit.base.dtypes import code
from axiomjit.graph.nodes import Held, Input, LengthNode, Scalar
from axiomjit.passes.ir.context import Context
from axiomjit.passes.ir.loop_ir import (
    Cost,
    For,
    LibraryCall,
    LoopProgram,
    Nest,
    Store,
    statements,
)
from axiomjit.passes.ir.plan_ir import (
    Allocate,
    Buffer,
    Call,
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
from axiomjit.passes.ir.view_ir import Number, Storage, View
from axiomjit.passes.render_source import Rendered, render_source

SCRATCH: Final = ("temporary", "materialized", "partial")
"""Roles of storages that are given back after their last reader."""


def make_plan(program: LoopProgram, context: Context) -> Plan:
    """Render each nest and put the steps in order.

    All memory is allocated before the first kernel runs, so that a failure leaves nothing
    half-written; a temporary is released after its last reader, or a later one of as many bytes
    takes its memory.

    Needs: a legal loop program of blocked nests with a cost per step.
    Gives: a plan with one window per result, and a write-back for each argument that changes.
    Keeps: the order of steps.
    """
    rendered = {
        k: render_source(step, program.numbers, context.target)
        for k, step in enumerate(program.steps)
        if isinstance(step, Nest)
    }
    storages = list(program.storages)
    for step in program.steps:
        storages += step.partials if isinstance(step, Nest) else ()
    allocated = [s for s in storages if s.role not in ("argument", "held")]
    first, last = _uses(program, rendered)
    written = _written(program)
    scratch = [s for s in allocated if s.role in SCRATCH]
    heirs = _heirs([s for s in scratch if s.role != "partial"], first, last)
    choices = _choices(program, context)
    late = {s: chosen_in(*s.shape, *s.strides) for s in allocated if s.name not in heirs}
    steps: list[Step] = [Allocate(s.name) for s, symbols in late.items() if not symbols]
    known: set[Symbol] = set()
    for k, step in enumerate(program.steps):
        begun = [s.name for s in scratch if first[s.name] == k]
        steps += [Reuse(name, heirs[name]) for name in begun if name in heirs]
        if isinstance(step, LibraryCall):
            steps.append(_call(step))
        else:
            steps.append(_launch(step, rendered[k], program.costs[k]))
        for choose in (c for c in choices if written[c.count.buffer] == k):
            known.add(choose.choice.symbol)
            steps.append(choose)
            now = [s for s, symbols in late.items() if choose.choice.symbol in symbols <= known]
            steps += [Allocate(s.name) for s in now]
        ended = [s for s in scratch if last[s.name] == k and s.name not in heirs.values()]
        steps += [Release(s.name) for s in ended]
    for storage in program.storages:
        if storage.name in program.updated and isinstance(storage.origin, Input):
            steps.append(WriteBack(storage.name, storage.origin.position))
    results = tuple(map(_window, program.results))
    return Plan(tuple(map(_buffer, storages)), tuple(steps), results, _total(program))


def _choices(program: LoopProgram, context: Context) -> list[Choose]:
    """The lengths that only the running program knows, each with what was looked at of it."""
    order = [count.choice.symbol for count in program.counts]
    found = []
    for count in program.counts:
        symbol, guards = count.choice.symbol, count.choice.guards
        for guard in context.scope.guards:  # of the passes
            named = chosen_in(guard.left, guard.right)
            if named and max(named, key=order.index) == symbol:
                guards += (guard,)
        found.append(Choose(Choice(symbol, guards), _window(count.view)))
    return found


def _written(program: LoopProgram) -> dict[str, int]:
    """The last step that writes each storage."""
    last: dict[str, int] = {}
    for k, step in enumerate(program.steps):
        if isinstance(step, LibraryCall):
            last[step.target.name] = k
        else:
            last.update({s.buffer.name: k for s in statements(step) if isinstance(s, Store)})
    return last


def _total(program: LoopProgram) -> Cost:
    """The cost of all steps, and the memory of their partial results."""
    scratch = dim(0)
    for step in program.steps:
        for buffer in step.partials if isinstance(step, Nest) else ():
            scratch += buffer.shape[0] * buffer.dtype.itemsize
    sums = {
        field: sum((getattr(cost, field) for cost in program.costs), dim(0))
        for field in ("bytes_read", "bytes_written", "flops", "temporary_bytes")
    }
    return Cost(**sums, scratch_bytes=scratch, kernels=sum(cost.kernels for cost in program.costs))


def _uses(
    program: LoopProgram, rendered: dict[int, Rendered]
) -> tuple[dict[str, int], dict[str, int]]:
    """The first and the last step that uses each storage."""
    first: dict[str, int] = {}
    last: dict[str, int] = {}
    for k, step in enumerate(program.steps):
        if isinstance(step, LibraryCall):
            used = [view.storage for view in step.operands] + [step.target]
        else:
            used = list(rendered[k].buffers)
        last.update({storage.name: k for storage in used})
        first = {storage.name: k for storage in used} | first
    return first, last


def _heirs(
    scratch: Sequence[Storage], first: Mapping[str, int], last: Mapping[str, int]
) -> dict[str, str]:
    """By temporary, the one whose memory it takes: of as many bytes, and not used any more."""
    heirs: dict[str, str] = {}
    dead: dict[Dim, list[Storage]] = {}
    ends = sorted(scratch, key=lambda s: last[s.name], reverse=True)
    for storage in sorted(scratch, key=lambda s: first[s.name]):
        while ends and last[ends[-1].name] < first[storage.name]:
            ended = ends.pop()
            dead.setdefault(_size(ended), []).append(ended)
        if dead.get(_size(storage)):
            heirs[storage.name] = dead[_size(storage)].pop().name
    return heirs


def _size(storage: Storage) -> Dim:
    """In bytes."""
    return product(storage.shape) * storage.dtype.itemsize


def _buffer(storage: Storage) -> Buffer:
    origin = storage.origin
    return Buffer(
        storage.name,
        storage.role,
        storage.dtype,
        storage.shape,
        storage.strides,
        origin.position if isinstance(origin, Input) else None,
        origin.array if isinstance(origin, Held) else None,
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
    loops = (stmt for stmt in nest.body if isinstance(stmt, For) and stmt.kind == "map")
    loop = next(loops, None)
    work = cost.flops + cost.bytes_read + cost.bytes_written
    return Launch(
        rendered.kernel,
        tuple(storage.name for storage in rendered.buffers),
        tuple(_number(number) for number in rendered.numbers),
        rendered.lengths,
        dim(1) if loop is None else loop.extent,
        work,
    )


def _call(step: LibraryCall) -> Call:
    whole = View(step.target, step.target.shape, dim(0), step.target.strides)
    operands = tuple(map(_window, step.operands))
    given = step.operation, operands, step.labels, _window(whole)
    return Call(*given, step.where, step.conditions)


def _window(view: View) -> Window:
    return Window(
        view.storage.name, view.offset, view.shape, view.strides, view.dtype, view.writable
    )
