"""LoopProgram -> LoopProgram: each step gets its cost: the bytes moved, and the operations."""

from __future__ import annotations

from collections.abc import Iterator

from axiomjit.passes.ir.context import Context
from axiomjit.passes.ir.loop_ir import (
    Cost,
    Fold,
    For,
    If,
    Index,
    Let,
    LibraryCall,
    Load,
    LoopProgram,
    Nest,
    Select,
    Stmt,
    Store,
)
from axiomjit.passes.ir.view_ir import POSITIONS, Storage, View
from axiomjit.symbolic.dims import Dim, dim, product


def estimate_cost(program: LoopProgram, context: Context) -> LoopProgram:
    """Compute each step's cost: all operations, and the traffic of each distinct element.

    Needs: a legal loop program whose loops have no blocks.
    Gives: one cost per step; the memory of a temporary counts at the first step that writes it.
    Keeps: every step.
    """
    written: set[Storage] = set()
    costs = tuple(
        _library_cost(step) if isinstance(step, LibraryCall) else _nest_cost(step, written)
        for step in program.steps
    )
    return program.replace(costs=costs)


def _elements(index: Index, loops: dict[str, Dim]) -> Dim:
    """The number of elements that an index reaches in loops; a gather reaches one per iteration."""
    named = loops if index.gathered else [name for name, _ in index.terms]
    return product(tuple(loops[name] for name in named))


def _bodies(
    body: tuple[Stmt, ...], loops: dict[str, Dim]
) -> Iterator[tuple[tuple[Stmt, ...], dict[str, Dim]]]:
    """A body and the bodies inside it, each with the loops around it."""
    yield body, loops
    for stmt in body:
        if isinstance(stmt, For):
            yield from _bodies(stmt.body, {**loops, stmt.iterator: stmt.extent})
        elif isinstance(stmt, If):
            yield from _bodies(stmt.body, loops)
        elif isinstance(stmt, Select):
            for part in stmt.parts:
                spans = {b.iterator: b.high - b.low for b in part.bounds if b.iterator is not None}
                yield from _bodies(part.body, {**loops, **spans})


def _nest_cost(nest: Nest, known: set[Storage]) -> Cost:
    """The cost of a nest without blocks; earlier nests have written the storages `known`."""
    read = written = flops = temporary = dim(0)
    loaded: set[object] = set()
    for body, loops in _bodies(nest.body, {}):
        weight = 0
        for stmt in body:
            match stmt:
                case Load(buffer=buffer, index=index):
                    key = (buffer, index.terms)
                    if key not in loaded and buffer is not POSITIONS:
                        loaded.add(key)
                        read += _elements(index, loops) * buffer.dtype.itemsize
                case Store(buffer=buffer, index=index, combine=combine):
                    stored = _elements(index, loops) * buffer.dtype.itemsize
                    written += stored
                    if combine is not None:
                        read += stored
                        weight += combine.weight
                    if buffer.role.is_temporary and buffer not in known:
                        temporary += buffer.size_bytes
                    known.add(buffer)
                case Let(primitive=primitive):
                    weight += primitive.weight
                case Fold(state=state):
                    weight += state.accumulator.weight
        if weight:
            flops += product(tuple(loops.values())) * weight
    return Cost(read, written, flops, temporary, dim(0), 1)


def _library_cost(step: LibraryCall) -> Cost:
    read = dim(0)
    for view in step.operands:
        seen = _walked(view) if step.operation.reads_each_once else view.storage.shape
        read += product(seen) * view.dtype.itemsize
    written = step.target.size_bytes
    temporary = written if step.target.role.is_temporary else dim(0)
    flops = step.operation.cost([view.shape for view in step.operands], step.labels)
    return Cost(read, written, flops, temporary, dim(0), 0)


def _walked(view: View) -> tuple[Dim, ...]:
    """The lengths of the dimensions of a view whose stride is not 0."""
    pairs = zip(view.shape, view.strides, strict=True)
    return tuple(length for length, stride in pairs if stride.constant != 0)
