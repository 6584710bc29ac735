"""Check programs of any form by the rules that each pass may rely on and must keep.

`RULES` has the name of each form of program and the function that yields a program's faults.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from typing import Any, Final

from axiomjit.base.errors import VerifyError
from axiomjit.graph.external_calls import call_key
from axiomjit.graph.library_operations import LibraryOperation
from axiomjit.graph.nodes import Graph
from axiomjit.graph.primitives import GATHER
from axiomjit.graph.verify_graph import graph_faults
from axiomjit.passes.ir.loop_ir import (
    OF_PROGRAM,
    OVER_RANGE,
    Alloc,
    Drain,
    Fold,
    For,
    If,
    Let,
    LibraryCall,
    Limit,
    Load,
    LoopProgram,
    Nest,
    Push,
    ReadState,
    Select,
    Stmt,
    Store,
    When,
    accessed,
    cell,
    used,
    walk,
)
from axiomjit.passes.ir.plan_ir import (
    Allocate,
    Branch,
    Call,
    Check,
    Choose,
    Launch,
    Plan,
    Release,
    Repeat,
    Reuse,
    Window,
    WriteBack,
)
from axiomjit.passes.ir.print_program import AnyProgram, print_program
from axiomjit.passes.ir.view_ir import (
    POSITIONS,
    ArrayRole,
    Definition,
    Number,
    Storage,
    Value,
    View,
    ViewProgram,
)
from axiomjit.symbolic.dims import Dim, dim, product
from axiomjit.views.descriptions import partition_fault

NO_ELEMENTS: Final = dim(0)
Rule = Callable[[Any], Iterator[tuple[str, AnyProgram]]]
"""A function that yields the faults of a program, each with the program to show."""


def verify_program(program: AnyProgram) -> None:
    """Check a program by all rules of its form.

    Raises:
        VerifyError: a rule does not hold; the message shows the program.
    """
    form, faults = RULES[type(program)]
    for fault, shown in faults(program):
        text = print_program(shown)
        raise VerifyError(f"a legal {form}", fault, f"report this as a defect\n{text}")


def _showing_program(rule: Callable[[Any], Iterator[str]]) -> Rule:
    """A `Rule` that shows the whole program with each fault that `rule` yields."""
    return lambda program: ((fault, program) for fault in rule(program))


def _views_faults(program: ViewProgram) -> Iterator[str]:
    names = [storage.name for storage in program.storages]
    if len(set(names)) != len(names):
        yield f"two storages of one name among {names}"
    for storage in program.storages:
        if storage.tensor.layout is None:
            yield f"storage {storage.name} has no layout"
        if storage.tensor.read_only:
            yield f"storage {storage.name} is no l-tensor"
        if not storage.role.is_given and not _is_dense(storage):
            yield f"elements of {storage.name} share memory, or have gaps between them"
    versions = {s.name: 0 for s in program.storages if s.role.is_given}
    known: dict[str, int] = {}
    pieces: dict[str, Dim] = {}
    cones: dict[str, set[tuple[str, int]]] = {}
    for definition in program.definitions:
        yield from _definition_faults(definition, program, versions, known)
        known[definition.name] = definition.rank
        read = cones[definition.name] = _read(definition, cones)
        if definition.storage is not None:
            yield from _version_faults(definition.name, read, versions)
            yield from _write_faults(definition, versions)
            yield from _unfilled_faults(definition, read, versions, pieces)
            versions[definition.storage.name] = versions.get(definition.storage.name, -1) + 1
        for name in definition.overwritten:
            versions[name] = versions.get(name, -1) + 1
    for view in (*program.results, *(count.view for count in program.counts)):
        left = pieces.get(view.storage.name, NO_ELEMENTS)
        if _is_positive(left):
            yield f"result {view.storage.name} has {left} elements that are never written"
        if view.storage.name not in versions:
            yield f"result {view.storage.name} is never computed"
        yield from _version_faults("the result", {(view.storage.name, view.version)}, versions)
        yield from _view_faults("the result", view)


def _is_dense(storage: Storage) -> bool:
    """True if the memory of a storage is dense in some order of the dimensions."""
    left = [d for d, length in enumerate(storage.shape) if length.constant != 1]
    step = dim(1)
    while left:
        inner = next((d for d in left if storage.strides[d] is step), None)
        if inner is None:
            return False
        left.remove(inner)
        step = step * storage.shape[inner]
    return True


def _read(definition: Definition, cones: dict[str, set[tuple[str, int]]]) -> set[tuple[str, int]]:
    """The storages that the loops of a definition read, with their versions."""
    read: set[tuple[str, int]] = set()
    for operand in definition.operands:
        if isinstance(operand, View):
            read.add((operand.storage.name, operand.version))
        elif isinstance(operand, Value):
            read |= cones.get(operand.name, set())
    return read


def _version_faults(
    reader: str, read: set[tuple[str, int]], versions: dict[str, int]
) -> Iterator[str]:
    for name, version in sorted(read):
        if name in versions and versions[name] != version:
            yield f"{reader} reads version {version} of {name}, which has {versions[name]}"


def _write_faults(definition: Definition, versions: dict[str, int]) -> Iterator[str]:
    """Check that a storage is written once, or that its versions are written in order."""
    storage, target = definition.storage, definition.target
    assert storage is not None
    if storage.role is ArrayRole.HELD or (storage.role is ArrayRole.ARGUMENT and target is None):
        yield f"{definition.name} writes to {storage.role} storage"
    elif target is None and storage.name in versions:
        yield f"{definition.name} writes {storage.name} again"
    elif target is not None:
        if target.storage is not storage or versions.get(storage.name, -1) + 1 != target.version:
            yield f"{definition.name} writes version {target.version} of {target.storage.name}"
        yield from _view_faults(definition.name, target)


def _unfilled_faults(
    definition: Definition,
    read: set[tuple[str, int]],
    versions: Collection[str],
    pieces: dict[str, Dim],
) -> Iterator[str]:
    """Check that a storage written in pieces is read only after all its pieces are written.

    `pieces` has for each storage that is written in pieces the number of its elements that are not
    yet written.
    """
    storage = definition.storage
    assert storage is not None
    for name in sorted({name for name, _ in read} & set(pieces)):
        if _is_positive(pieces[name]):
            yield f"{definition.name} reads {name} before {pieces[name]} elements are written"
    first = definition.target is not None and storage.name not in versions
    if first or storage.name in pieces:
        left = pieces.get(storage.name, product(storage.shape)) - product(definition.extents)
        pieces[storage.name] = left
        if left is NO_ELEMENTS:
            del pieces[storage.name]


def _is_positive(count: Dim) -> bool:
    """True if a count is positive for all positive lengths."""
    return bool(count.terms) and all(factor > 0 for _, factor in count.terms)


def _definition_faults(
    definition: Definition, program: ViewProgram, filled: Collection[str], known: dict[str, int]
) -> Iterator[str]:
    for operand in definition.operands:
        match operand:
            case View():
                if operand.storage not in program.storages:
                    yield f"{definition.name} reads the unlisted storage {operand.storage.name}"
                if operand.storage.name not in filled:
                    yield f"{definition.name} reads {operand.storage.name} before it is computed"
                if operand.shape != definition.extents:
                    yield f"{definition.name} reads a view of {len(operand.shape)} dimensions"
                yield from _view_faults(definition.name, operand)
            case Value():
                if operand.name not in known:
                    yield f"{definition.name} reads {operand.name} before it is defined"
                elif len(operand.index) != known[operand.name]:
                    yield f"{definition.name} reads {operand.name} with {len(operand.index)} dims"
            case Number():
                if operand not in program.numbers:
                    yield f"{definition.name} reads the unlisted number {operand.name}"
    folded = range(definition.rank, len(definition.extents))
    unfolded = not folded
    whole = isinstance(definition.primitive, LibraryOperation)
    fold = definition.fold
    runs = fold is not None and fold.may_scan and unfolded and bool(definition.extents)
    if definition.primitive is GATHER or (definition.target is not None and not definition.regions):
        if len(definition.extents) - definition.rank != len(definition.operands) - 1:
            yield f"{definition.name} gathers by {len(definition.operands) - 1} positions"
        distinct = _distinct(definition)
        walked = definition.extents[: definition.rank]
        again = any(k not in distinct and n.constant != 1 for k, n in enumerate(walked))
        target = definition.target
        written = walked if target is None else (*walked, *target.storage.shape)
        if again and all(n.constant != 0 for n in written):
            yield f"{definition.name} may write one element again, out of order"
    elif not whole and not runs and (definition.fold is None) != unfolded:
        yield f"{definition.name} folds without an accumulator, or the reverse"
    if any(definition.extents[k].constant is None for k in definition.unrolled):
        yield f"{definition.name} has an iterator of unknown length without a loop"
    if definition.unrolled & set(folded) not in (set(), set(folded)):
        yield f"{definition.name} has some of its folded iterators without a loop"
    if whole and definition.library is None:
        yield f"{definition.name} needs whole operands but no library computes it"
    if definition.regions and len(definition.regions) != len(definition.operands):
        yield f"{definition.name} joins {len(definition.operands)} operands in other regions"
    gap = partition_fault(definition.regions, definition.extents) if definition.regions else None
    if gap is not None:
        yield f"{definition.name} joins {gap}"
    if definition.library is not None and definition.storage is None:
        yield f"{definition.name} is computed by a library but has no storage"


def _distinct(definition: Definition) -> frozenset[int]:
    """The iterators along which a definition writes each element once, or repeatedly in order."""
    if definition.target is None or not (definition.combine or len(definition.operands) > 1):
        return frozenset(range(definition.rank))
    strides = enumerate(definition.target.strides)
    return definition.ordered | {k for k, stride in strides if stride.constant != 0}


def _view_faults(reader: str, view: View) -> Iterator[str]:
    """Check that a view refers to the tensor of its storage, and has a layout."""
    if view.tensor.base_tensor is not view.storage.tensor:
        yield f"{reader} sees {view.storage.name} as a view of another tensor"
    if view.tensor.layout is None:
        yield f"{reader} sees {view.storage.name} without a layout"


def _loops_faults(program: LoopProgram) -> Iterator[str]:
    numbers = {number.name for number in program.numbers}
    filled = {s.name for s in program.storages if s.role.is_given}
    listed = {s.name for s in program.storages}
    for step in program.steps:
        reads, writes = ({storage.name for storage in used} for used in accessed(step))
        if isinstance(step, Nest):
            yield from _nest_faults(step, numbers)
            own = {buffer.name for buffer in (*step.partials, *step.tiles, POSITIONS)}
            writes -= own
            reads -= own
            reads -= writes  # a nest may read its own writes; names decide the order
        yield from (f"{name} is read before it is written" for name in sorted(reads - filled))
        again = (writes & filled) - program.updated
        yield from (f"{name} is written twice" for name in sorted(again))
        yield from (f"{name} is not listed" for name in sorted((reads | writes) - listed))
        filled |= writes
    for one, later in zip((None, *program.steps), (*program.steps, None), strict=True):
        ahead = one.partials if isinstance(one, Nest) and one.prepass else ()
        chained = (
            later.partials if isinstance(later, Nest) and later.chunk_chain is not None else ()
        )
        if ahead != chained:
            yield "a nest ahead of one without a chain for its partials, or the reverse"
        if (
            isinstance(one, Nest)
            and one.parallel_variant is not None
            and _outputs_of(one) != _outputs_of(later)
        ):
            yield "a shared nest before what does not give the same"
    if program.costs and len(program.costs) != len(program.steps):
        yield f"{len(program.costs)} costs of {len(program.steps)} steps"
    for view in (*program.results, *(count.view for count in program.counts)):
        if view.storage.name not in filled:
            yield f"result {view.storage.name} is never written"


def _outputs_of(step: Nest | LibraryCall | None) -> set[str]:
    """The storages that a nest writes, without its partials and tiles."""
    if not isinstance(step, Nest):
        return set()
    own = {buffer.name for buffer in (*step.partials, *step.tiles)}
    return {s.buffer.name for s in step.statements if isinstance(s, Store)} - own


def _nest_faults(nest: Nest, numbers: set[str]) -> Iterator[str]:
    for part in (nest.body, nest.combine):
        yield from _body_faults(part, set(numbers), {}, set(), chained=nest.chunk_chain is not None)
        yield from _tile_faults(part, None, set())
    if nest.combine and not nest.partials:
        yield "a combine part without partials"
    yield from _partial_faults(nest)
    if nest.chunk_chain is not None and not nest.partials:
        yield "a chain without partials"
    loops = [stmt for stmt in nest.body if isinstance(stmt, For)]
    outer = [loop for loop in loops if loop.kind in OVER_RANGE]
    if any(isinstance(s, For) and s.poll_every for s in (*outer, *walk(nest.combine))):
        yield "a loop over the caller's range polls, or one of the combine part"
    if nest.combine and not (loops and loops[0].kind == "map"):
        yield "a nest with a combine part needs one outer map loop"
    yield from _scatter_faults(nest)
    grid = any(loop.kind in OVER_RANGE for loop in loops)
    if grid and len({(s.iterator, s.extent) if isinstance(s, For) else s for s in nest.body}) != 1:
        yield "statements beside the outer map loop"


def _scatter_faults(nest: Nest) -> Iterator[str]:
    """Check that a nest uses a scatter's target once; for a partial, that the loop does."""
    every = nest.statements
    if any(isinstance(s, When) or (isinstance(s, For) and s.kind in OF_PROGRAM) for s in every):
        return  # a region: its statements run in the order of the program
    loops = [list(walk(s.body)) for s in every if isinstance(s, For) and s.kind == "scatter"]
    for buffer in {s.buffer for s in every if isinstance(s, Store) and s.scatters}:
        bodies = loops if buffer.role is ArrayRole.PARTIAL else [every]
        uses = (sum(isinstance(s, Load | Store) and s.buffer is buffer for s in b) for b in bodies)
        if max(uses, default=0) > 1:
            yield f"{buffer.name} is used beside the scatter into it"


def _body_faults(
    body: tuple[Stmt, ...],
    names: set[str],
    loops: dict[str, For],
    states: set[str],
    chained: bool,
) -> Iterator[str]:
    """Check that names are used only in scope: from their definition to the end of its body.

    In a nest with a chunk chain (`chained`), iterations of outer loops may feed folds.
    """
    names, states = set(names), set(states)
    for stmt in body:
        for name in used(stmt):
            if name not in names:
                yield f"{name} is used before it is defined"
        yield from _place_faults(stmt, loops, states, chained=chained)
        match stmt:
            case For():
                if stmt.iterator in loops:
                    yield f"two loops over {stmt.iterator}"
                if stmt.under is not None and [*loops] != [stmt.under]:
                    yield f"{stmt.iterator} is not directly in the first loop, {stmt.under}"
                inner = {**loops, stmt.iterator: stmt}
                yield from _body_faults(stmt.body, names, inner, states, chained)
            case If():
                yield from _body_faults(stmt.body, names, loops, states, chained)
            case Select():
                for part in stmt.parts:
                    made = names | {s.name for s in part.body if isinstance(s, Let | Load | Select)}
                    if part.value not in made:
                        yield f"{stmt.name} selects {part.value}, which is not defined"
                    yield from _body_faults(part.body, names, loops, states, chained)
        match stmt:
            case Let() | Load() | ReadState() | Select():
                if stmt.name in names:
                    yield f"{stmt.name} is defined twice"
                names.add(stmt.name)
            case Alloc():
                states.add(stmt.state.name)


def _place_faults(
    stmt: Stmt, loops: dict[str, For], states: set[str], *, chained: bool
) -> Iterator[str]:
    match stmt:
        case Load() | Store():
            for name, _ in stmt.index.terms:
                if name not in loops and name not in stmt.index.gathered:
                    yield f"index of {stmt.buffer.name} names {name} outside its loop"
            if isinstance(stmt, Store) and stmt.scatters:
                own = {name for name, _ in stmt.index.terms}
                for name in reversed(
                    loops
                ):  # from the innermost loop, as a block may contain blocks
                    block = loops[name].block
                    own |= {block.outer} if name in own and block is not None else set()
                lengths = *(loop.extent for loop in loops.values()), *stmt.buffer.shape
                empty = any(length.constant == 0 for length in lengths)
                for name, loop in () if empty else loops.items():
                    if loop.kind not in ("scatter", *OF_PROGRAM) and name not in own:
                        yield f"the scatter into {stmt.buffer.name} in steps of {name} in any order"
        case Select():
            named = {bound.iterator for part in stmt.parts for bound in part.bounds}
            for iterator in sorted(named - {None, *loops}, key=str):
                yield f"bounds of {stmt.name} name {iterator} outside its loop"
        case If(limits=limits):
            yield from _limit_faults(limits, loops, set(loops))
        case For(limits=limits) if limits:
            yield from _limit_faults(limits, {**loops, stmt.iterator: stmt}, {stmt.iterator})
            if any(stmt.iterator not in dict(limit.terms) for limit in limits):
                yield f"{stmt.iterator} has the limit of another loop"
        case For(poll_every=steps) if steps and (stmt.block or stmt.at or stmt.unroll > 1):
            yield f"{stmt.iterator} polls after {steps} steps, but takes others than one by one"
        case For(block=block) if block is not None and block.outer not in loops:
            yield f"block of {stmt.iterator} in the absent loop {block.outer}"
        case For(block=block) if block is not None and (block.unroll != loops[block.outer].unroll):
            yield f"blocks of {stmt.iterator} are not those of {block.outer}"
        case Fold() | ReadState():
            lanes = stmt.state.lanes
            if stmt.state.name not in states:
                yield f"state {stmt.state.name} is not open"
            if lanes is not None and lanes not in loops:
                yield f"lane {lanes} of {stmt.state.name} outside its loop"
            inside = chained or any(x.kind == "fold" for x in loops.values())
            if isinstance(stmt, Fold) and not inside:
                yield f"fold of {stmt.state.name} outside a fold loop"
        case Push() | Drain():
            if stmt.state.name not in states:
                yield f"state {stmt.state.name} is not open"


def _limit_faults(
    limits: tuple[Limit, ...], loops: dict[str, For], forward: set[str]
) -> Iterator[str]:
    """Check limits; the factors of iterators in `forward` must be positive."""
    for limit in limits:
        for name, factor in limit.terms:
            if name not in loops:
                yield f"a limit names {name} outside its loop"
            if name in forward and factor.constant is not None and factor.constant < 1:
                yield f"a limit with the factor {factor} of {name}"


def _partial_faults(nest: Nest) -> Iterator[str]:
    """Check that each partial is stored before it is loaded, and is loaded at all.

    The prepass or the previous chunk fills the partials of a chunk chain.
    """
    kept = {buffer.name for buffer in nest.partials}
    stored: set[str] = set() if nest.chunk_chain is None else set(kept)
    for part in (nest.body, nest.combine):
        for stmt in walk(part):
            if isinstance(stmt, Store):
                stored.add(stmt.buffer.name)
            elif isinstance(stmt, Load) and stmt.buffer.name in kept - stored:
                yield f"the partial {stmt.buffer.name} is loaded before it is stored"
    loaded = {s.buffer.name for s in nest.statements if isinstance(s, Load)}
    loaded |= kept if nest.chunk_chain is not None else set()
    yield from (f"the partial {name} is never loaded" for name in sorted(kept - loaded))


def _tile_faults(
    body: tuple[Stmt, ...], loop: For | None, filled: set[tuple[str, For]]
) -> Iterator[str]:
    """Check that a loop over a block loads a tile only after an equal loop filled the tile."""
    stored: set[tuple[str, For]] = set()
    for stmt in body:
        if isinstance(stmt, For):
            head = stmt.replace(kind="map", body=())
            yield from _tile_faults(stmt.body, head, stored)
            stored |= {(s.buffer.name, head) for s in stmt.body if isinstance(s, Store)}
        elif isinstance(stmt, Load | Store) and stmt.buffer.role is ArrayRole.TILE:
            name, block = stmt.buffer.name, None if loop is None else loop.block
            if loop is None or block is None or stmt.index != cell(loop.iterator, block):
                yield f"index of the tile {name} is not the cell of its step"
            elif stmt.buffer.shape != (dim(block.size),):
                yield f"the tile {name} has not one cell for each step"
            elif isinstance(stmt, Load) and (name, loop) not in filled:
                yield f"the tile {name} is read before it is filled"


def _plan_faults(plan: Plan) -> Iterator[str]:
    names = [buffer.name for buffer in plan.buffers]
    if len(set(names)) != len(names):
        yield f"two buffers of one name among {names}"
    given = {b.name for b in plan.buffers if b.role.is_given}
    positions = {b.name: b.position for b in plan.buffers if b.position is not None}
    sizes = {b.name: product(b.shape) * b.dtype.itemsize for b in plan.buffers}
    present, launched = set(given), False
    for step in plan.steps:
        match step:
            case Allocate(buffer=name):
                if name in present or name not in names:
                    yield f"{name} is allocated, which is no buffer or has memory already"
                if launched:
                    yield f"{name} is allocated after something was written"
                present.add(name)
            case Release(buffer=name):
                if name not in present - given:
                    yield f"{name} is released, which was not allocated"
                present.discard(name)
            case Reuse(buffer=name, source=source):
                if source not in present - given:
                    yield f"{name} takes the memory of {source}, which has none to give"
                if name in present or name not in names:
                    yield f"{name} takes memory, which is no buffer or has memory already"
                elif source in names and sizes[name] != sizes[source]:
                    yield f"{name} of {sizes[name]} bytes takes {sizes[source]} of {source}"
                present = present - {source} | {name}
            case Launch():
                launched = True
                yield from _absent(step.buffers, present, "a launch")
                yield from _word_faults(step)
            case Call():
                launched = True
                user = str(step.operation)
                targets = step.targets if step.allocates_targets else ()
                made = {window.buffer for window in targets}
                for name in made & present:
                    yield f"{user} makes {name}, which has memory already"
                present |= made
                yield from _window_faults((*step.operands, *step.targets), present, user)
                yield from _sharing_faults(step)
                if len(step.labels) != len(step.operands):
                    yield f"{user} has labels for {len(step.labels)} operands"
            case Repeat() | Branch():
                launched = True
                yield from _window_faults((*step.operands, step.target), present, "a region")
                yield from _region_faults(step)
            case Choose() | Check():
                launched &= isinstance(step, Check)  # arrays of a length are allocated later
                yield from _window_faults((step.count,), present, "a computed number")
            case WriteBack(buffer=name, position=position):
                if positions.get(name) != position:
                    yield f"{name} is written back to argument {position}, which it is not"
    yield from _window_faults(plan.results, present, "a result")
    yield from _pair_faults(plan)


def _pair_faults(plan: Plan) -> Iterator[str]:
    """Check that a prepass or a parallel variant is followed by the launch to which it belongs."""
    launches = [step for step in plan.steps if isinstance(step, Launch)]
    for one, later in zip([None, *launches], [*launches, None], strict=True):
        if (one is not None and one.prepass) != (
            later is not None and later.chunk_chain is not None
        ):
            yield "a launch ahead of one without a chain, or the reverse"
        used = set() if one is None or one.parallel_variant is None else {*one.buffers}
        if used and not (later is not None and {*later.buffers} <= used):
            yield "a shared launch before one that uses other memory, or none"


def _region_faults(step: Repeat | Branch) -> Iterator[str]:
    """Check that the plans of a region's bodies are legal and fit the windows of the region."""
    kinds = [(window.dtype, window.shape, window.strides) for window in step.operands]
    asks = isinstance(step, Repeat)
    if len(step.bodies) not in ((1, 2) if asks else (2,)):
        yield f"a region of {len(step.bodies)} bodies"
    for number, body in enumerate(step.bodies):
        yield from _plan_faults(body)
        for buffer in body.buffers:
            at = buffer.position
            if at is not None and (buffer.dtype, buffer.shape, buffer.strides) != kinds[at]:
                yield f"{buffer.name} of a body is not like its window"
        back = {one.position for one in body.steps if isinstance(one, WriteBack)}
        if any(position >= step.written for position in back):
            yield f"a body writes the windows {sorted(back)}"
        renewed = step.renewed if isinstance(step, Repeat) and number == 0 else ()
        if len(body.results) != (len(renewed) or int(asks and number == 1)):
            yield f"a body returns {len(body.results)} results"
        for window, place in zip(body.results, renewed, strict=False):
            if (window.dtype, window.shape, window.strides) != kinds[place] or place in back:
                yield f"{window.buffer} cannot take the place of window {place}"
    if isinstance(step, Repeat) and step.trips is None and len(step.bodies) < 2:
        yield "a region without an end"


def _absent(names: tuple[str, ...], present: set[str], user: str) -> Iterator[str]:
    yield from (f"{user} uses {name}, which has no memory" for name in names if name not in present)


def _window_faults(windows: tuple[Window, ...], present: set[str], user: str) -> Iterator[str]:
    yield from _absent(tuple(window.buffer for window in windows), present, user)
    for window in windows:
        if len(window.shape) != len(window.strides):
            yield f"{user} has a window of {len(window.shape)} lengths, {len(window.strides)} steps"


def _sharing_faults(step: Call) -> Iterator[str]:
    """Check that the results of a call are those of one function, each in separate memory."""
    operations = [step.operation, *(operation for operation, _ in step.other_results)]
    if step.other_results and len({call_key(operation) for operation in operations} | {None}) != 2:
        yield f"one call for {', '.join(map(str, operations))}"
    if len({window.buffer for window in step.targets}) < len(operations):
        yield f"two results of {step.operation} in one buffer"


def _word_faults(step: Launch) -> Iterator[str]:
    """Check that a launch has its kernel's words; a polling kernel's last word is a flag of 0."""
    kinds = [parameter.kind for parameter in step.kernel.parameters]
    if step.kernel.polls:
        if kinds.pop() != "flag" or not step.lengths or step.lengths[-1].constant != 0:
            yield "a flag that is not the last word, or not 0"
        kinds.append("length")
    counts = {"buffer": step.buffers, "scalar": step.numbers, "length": step.lengths}
    given = [kind for kind, words in counts.items() for _ in words]
    if kinds != given:
        yield f"a kernel of words {kinds} is launched with {given}"


RULES: Final[dict[type, tuple[str, Rule]]] = {
    Graph: ("graph", graph_faults),
    ViewProgram: ("view program", _showing_program(_views_faults)),
    LoopProgram: ("loop program", _showing_program(_loops_faults)),
    Plan: ("plan", _showing_program(_plan_faults)),
}
