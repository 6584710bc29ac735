"""LoopProgram -> LoopProgram: each loop or branch of the program becomes one nest."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, TypeGuard

from axiomjit.base.dtypes import INT
from axiomjit.base.records import Record
from axiomjit.graph.library_operations import LibraryOperation
from axiomjit.graph.nodes import Graph, Input, LengthNode, Op, is_scan
from axiomjit.graph.primitives import CAST, PRODUCT, SUM
from axiomjit.graph.regions import Loop, Region, has_loops
from axiomjit.passes.graph.choose_storage import choose_storage
from axiomjit.passes.graph.compose_views import compose_views
from axiomjit.passes.graph.order_contractions import order_contractions
from axiomjit.passes.graph.save_versions import save_versions
from axiomjit.passes.graph.simplify_algebra import simplify_algebra
from axiomjit.passes.ir.context import Context, scope_of_body
from axiomjit.passes.ir.costs import ENDLESS, GUESSED_TRIPS, serial_cost
from axiomjit.passes.ir.loop_ir import (
    For,
    Index,
    Leave,
    Let,
    LibraryCall,
    Load,
    LoopProgram,
    Name,
    Nest,
    Stmt,
    Store,
    When,
    rewrite_body,
)
from axiomjit.passes.ir.rewriting import names_in, rename_iterators
from axiomjit.passes.ir.view_ir import POSITIONS, ArrayRole, Number, Storage, View
from axiomjit.passes.loops.fuse_loops import fuse_loops
from axiomjit.passes.loops.lower_to_loops import lower_to_loops
from axiomjit.passes.loops.order_loops import order_loops
from axiomjit.passes.views.lower_to_views import lower_to_views
from axiomjit.symbolic.data_dependent import HeuristicScope
from axiomjit.symbolic.dims import INDEX, Dim, Scope, dim, largest_of, product, symbols_in
from axiomjit.symbolic.index_ranges import IndexRanges

MAX_CELLS: Final = 64
"""The largest number of elements of a temporary that is put into scratch memory of the kernel."""
MOST_ELEMENTS: Final = 2**16
"""The largest number of elements that one operation in a trip of a serial kernel computes. If an
operation computes more, the trip calls separate kernels: threads share the work of each kernel, and
Ctrl-C is noticed between kernels.
"""
MIN_VECTOR_PRODUCT: Final = 2**16
"""The smallest number of multiplications in a product of a matrix and a vector for which a trip
calls a library.
"""
PASSES: Final[tuple[Callable[[Any, Context], Any], ...]] = (
    *(compose_views, order_contractions, simplify_algebra, save_versions),
    *(lower_to_views, lower_to_loops, fuse_loops, order_loops),
)
"""The passes over the body of a region."""


def lower_regions(program: LoopProgram, context: Context) -> LoopProgram:
    """Lower each body of a region as a separate program, and put these programs into one nest.

    The nests of a body run in order, in a serial loop or in the side of a branch. Carried numbers
    and small temporaries are cells of the kernel; other temporaries are allocated before the kernel
    runs, in the largest size that a trip needs. A region whose body calls a library is not lowered
    here, and remains a call.

    Needs: a legal loop program with costs.
    Gives: a legal loop program.
    Keeps: every result; sums in a body are formed in one block.
    """
    calls = {
        k: step
        for k, step in enumerate(program.steps)
        if _is_region(step) and _is_for_one_kernel(step.operation, context)
    }
    if not calls:
        return program
    lowering = _Lowering(program, context)
    nests = {k: lowering.nest(call) for k, call in calls.items()}
    steps = tuple(nests.get(k, step) for k, step in enumerate(program.steps))
    costs = tuple(
        serial_cost(nests[k].body, GUESSED_TRIPS).replace(temporary_bytes=cost.temporary_bytes)
        if k in nests
        else cost
        for k, cost in enumerate(program.costs)
    )
    unread = {call.target for call in calls.values()}
    unread -= {view.storage for view in program.results}
    kept = tuple(storage for storage in program.storages if storage not in unread)
    storages, numbers = (*kept, *lowering.memories), (*program.numbers, *lowering.numbers)
    made = program.replace(storages=storages, numbers=numbers, steps=steps, costs=costs)
    return made.replace(has_regions=True)


def _is_region(step: Nest | LibraryCall) -> TypeGuard[LibraryCall]:
    return isinstance(step, LibraryCall) and isinstance(step.operation, Region)


def _is_for_one_kernel(region: object, context: Context) -> bool:
    """True if no body has a library call, join or scan, or an operation on too many elements."""
    assert isinstance(region, Region)
    inner = context.replace(scope=scope_of_body(region, context.scope))
    return all(
        all(_is_serial(op, inner) for op in body.ops) and not _has_large_product(body, inner)
        for body in region.bodies
    )


def _is_serial(op: Op, context: Context) -> bool:
    """True if a serial kernel computes an op."""
    if isinstance(op.primitive, Region):
        return _is_for_one_kernel(op.primitive, context)
    if isinstance(op.primitive, LibraryOperation) or op.regions or op.conditions:
        return False
    return not is_scan(op) and not _is_large(op, context.scope)


def _is_large(op: Op, scope: Scope) -> bool:
    """True if the loop of an op has more than MOST_ELEMENTS elements; views have no loop."""
    return has_loops(op) and scope.value(product(op.looped_extents)) > MOST_ELEMENTS


def _has_large_product(body: Graph, context: Context) -> bool:
    """True if a body has a matrix product that a library computes much faster than loops."""
    if not any(op.fold is SUM or op.primitive is PRODUCT for op in body.ops):
        return False
    body = order_contractions(compose_views(body, context), context)
    stored = choose_storage(body, context.scope).stored
    for op, library in stored.items():
        if library is not None and isinstance(op, Op):
            points, shapes = product(op.extents), [len(own) for own in library.labels]
            if min(shapes) > 1 or context.scope.value(points) >= MIN_VECTOR_PRODUCT:
                return True
    return False


class _Memory(Record):
    """The part of a storage that is an operand of a body: the part's first element and strides."""

    storage: Storage
    offset: Dim
    strides: tuple[Dim, ...]


class _Lowering:
    """The nests of the regions of a program, with the memory and numbers that they need."""

    def __init__(self, program: LoopProgram, context: Context) -> None:
        self.context = context
        self.memories: list[Storage] = []
        self.numbers: list[Number] = []
        self.cells: list[Storage] = []
        self.first = len(program.storages), len(program.numbers)
        self.names = 0

    def nest(self, call: LibraryCall) -> Nest:
        """The nest of a region."""
        self.cells, self.names = [], 0
        region, before, after = call.operation, list[Stmt](), list[Stmt]()
        assert isinstance(region, Region)
        operands = []
        for k, view in enumerate(call.operands):
            memory = _memory_of(view, _Memory(view.storage, dim(0), view.strides))
            if k < region.overwrites and not view.shape:
                cell = self.cell(view.storage, 1)
                before += self.copied(memory, cell)
                after += self.copied(cell, memory)
                memory = cell
            operands.append(memory)
        scope = HeuristicScope(self.context.scope)
        body = self.region(region, operands, scope, IndexRanges())
        return Nest((*before, *body, *after), tiles=tuple(self.cells))

    def copied(self, source: _Memory, target: _Memory) -> tuple[Stmt, ...]:
        """The statements that copy a number."""
        name = self.fresh("v")
        load = Load(name, source.storage, Index(source.offset, ()))
        return load, Store(target.storage, Index(target.offset, ()), name)

    def fresh(self, letter: str) -> Name:
        """A name that no other statement of the nest defines."""
        self.names += 1
        return Name(letter, self.names - 1)

    def cell(self, like: Storage, size: int) -> _Memory:
        """Scratch memory of `size` elements."""
        shape, name = (dim(size),), f"x{len(self.cells)}"
        made = Storage(name, ArrayRole.CELLS, like.dtype, shape, (dim(1),))
        self.cells.append(made)
        return _Memory(made, dim(0), like.strides)

    def region(
        self, region: Region, operands: Sequence[_Memory], scope: Scope, ranges: IndexRanges
    ) -> tuple[Stmt, ...]:
        """The statements of a region."""
        if not isinstance(region, Loop):
            truth, name = operands[region.overwrites], self.fresh("v")
            load = Load(name, truth.storage, Index(truth.offset, ()))
            sides = [self.body(body, operands, scope, ranges)[0] for body in region.bodies]
            return load, When(name, *sides)
        if region.index is not None and region.trips is not None:
            scope = scope_of_body(region, scope)
            ranges = ranges.within(region.index, region.trips)
        inner: tuple[Stmt, ...] = ()
        for asked in region.bodies[1:]:
            statements, truth = self.body(asked, operands, scope, ranges)
            name = self.fresh("v")
            load = Load(name, truth.storage, Index(truth.offset, ()))
            inner = (*inner, *statements, load, Leave(name))
        inner += self.body(region.bodies[0], operands, scope, ranges)[0]
        iterator = self.fresh("w") if region.index is None else region.index.name
        trips = dim(ENDLESS) if region.trips is None else region.trips
        return (For(iterator, trips, "serial", inner),)

    def body(
        self, body: Graph, operands: Sequence[_Memory], scope: Scope, ranges: IndexRanges
    ) -> tuple[tuple[Stmt, ...], _Memory]:
        """The statements of a body, and the memory of the result, if the body has a result."""
        layouts = {k: memory.strides for k, memory in enumerate(operands)}
        context = Context(layouts, scope, self.context.target, True, ranges.ranges)
        program: Any = body
        for step in PASSES:
            program = step(program, context)
        memories = {
            storage: operands[storage.origin.position]
            if isinstance(storage.origin, Input)
            else self.temporary(storage, ranges)
            for storage in program.storages
        }
        found: tuple[Stmt, ...] = ()
        for step in program.steps:
            if isinstance(step, Nest):
                found += self.placed(step, memories, program.numbers)
                continue
            operation = step.operation
            assert isinstance(operation, Region), "a call of a library is refused in a trace"
            seen = [_memory_of(view, memories[view.storage]) for view in step.operands]
            found += self.region(operation, seen, scope, ranges)
        return found, memories[program.results[0].storage] if program.results else operands[0]

    def temporary(self, storage: Storage, ranges: IndexRanges) -> _Memory:
        """Memory for a temporary of a body: cells, or a storage with room for every trip."""
        room = product(tuple(largest_of(ranges.ends(length)) for length in storage.shape))
        if room.constant is not None and room.constant <= MAX_CELLS:
            return self.cell(storage, room.constant)
        name = f"w{self.first[0] + len(self.memories)}"
        made = Storage(name, ArrayRole.TEMPORARY, storage.dtype, (room,), (dim(1),))
        self.memories.append(made)
        return _Memory(made, dim(0), storage.strides)

    def placed(
        self, nest: Nest, memories: Mapping[Storage, _Memory], numbers: Sequence[Number]
    ) -> tuple[Stmt, ...]:
        """The statements of a nest in the memory of the program, with new names."""
        assert not nest.combine, "folds of a body have no blocks"
        names: dict[str, str] = {}
        for name in dict.fromkeys(names_in(nest.body)):
            names[name] = self.fresh(name.letter)
        loads: tuple[Stmt, ...] = ()
        for number in numbers:
            length = number.origin.length if isinstance(number.origin, LengthNode) else dim(0)
            if any(symbol.kind == INDEX for symbol in symbols_in(length)):
                name = names[number.name] = self.fresh("v")
                loads += (Load(name, POSITIONS, Index(length, ())),)
                if number.dtype != INT:
                    names[number.name] = self.fresh("v")
                    loads += (Let(names[number.name], number.dtype, CAST, (name,)),)
            else:
                names[number.name] = self.number(number)

        def place(stmt: Stmt) -> tuple[Stmt, ...]:
            if not isinstance(stmt, Load | Store) or stmt.buffer is POSITIONS:
                return (stmt,)
            memory = memories[stmt.buffer]
            index = stmt.index.replace(offset=stmt.index.offset + memory.offset)
            return (stmt.replace(buffer=memory.storage, index=index),)

        return loads + rename_iterators(rewrite_body(nest.body, place), names)

    def number(self, number: Number) -> str:
        """The name, in the program, of a number of a body."""
        for known in self.numbers:
            if known.origin is number.origin:
                return known.name
        made = number.replace(name=f"c{self.first[1] + len(self.numbers)}")
        self.numbers.append(made)
        return made.name


def _memory_of(view: View, memory: _Memory) -> _Memory:
    """The part of a memory that a view shows."""
    return _Memory(memory.storage, memory.offset + view.offset, view.strides)
