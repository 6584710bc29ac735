"""Print programs of any form as stable text: a line per node, definition, statement or step.

`FORMS` has the name of each form of program and the function that yields its lines. The nodes of a
graph are numbered in post-order, without names or addresses.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from typing import Any, Final, NamedTuple

from axiomjit.base.dtypes import code, type_name
from axiomjit.graph.nodes import Constant, Graph, Input, LengthNode, Node, Op, Scalar, Update
from axiomjit.graph.regions import Loop, Region, Written
from axiomjit.passes.ir.loop_ir import (
    Alloc,
    Drain,
    Fold,
    For,
    If,
    Index,
    Leave,
    Let,
    LibraryCall,
    Limit,
    Load,
    LoopProgram,
    Nest,
    Part,
    Push,
    ReadState,
    Select,
    State,
    Stmt,
    Store,
    When,
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
    Step,
    Window,
    WriteBack,
)
from axiomjit.passes.ir.view_ir import (
    Definition,
    Number,
    ReadOperand,
    Storage,
    Value,
    View,
    ViewProgram,
)
from axiomjit.symbolic.dims import Dim, dim
from axiomjit.symbolic.index_maps import show, show_conditions, show_region


def _shape_text(shape: tuple[Dim, ...]) -> str:
    return "[" + ", ".join(str(length) for length in shape) + "]"


def type_text(node: Node) -> str:
    """The text of a node's dtype and shape, such as `f8[n0]`; a weak number starts with `~`."""
    return f"{'~' if node.weak else ''}{type_name(node.dtype)}{_shape_text(node.shape)}"


def _op_text(op: Op, numbers: dict[Node, int]) -> str:
    reads = [
        f"%{numbers[child]}{show(index)}"
        for child, index in zip(op.operands, op.maps, strict=False)
    ]
    for k, region in enumerate(op.regions):
        reads[k] += f" where {show_region(region, op.extents) or 'always'}"
    name = f"part {op.primitive.source} of " if op.primitive.name == "part" else op.primitive
    if isinstance(op, Update) and op.combine is not None:
        name = f"{op.combine} {name}"
    if isinstance(op, Written):
        return f"%{numbers[op.operands[0]]} after %{numbers[op.operands[1]]}"
    if isinstance(op.primitive, Region):
        return _region_text(op.primitive, [f"%{numbers[child]}" for child in op.operands])
    text = f"{name}({', '.join(reads)})"
    if op.fold is not None:
        folded = ", ".join(
            f"i{k} < {length}" for k, length in enumerate(op.extents) if k >= op.rank
        )
        text = f"{op.fold} {text} over {folded}" if folded else f"running {op.fold} {text}"
    return text + show_conditions(op.conditions)


def _region_text(region: Region, names: list[str]) -> str:
    """The first line of a region: its range, overwritten storages and captured values."""
    text = region.name
    if isinstance(region, Loop) and region.trips is not None:
        text += f" {region.index.name if region.index else '_'} < {region.trips}"
    written, captured = names[: region.overwrites], names[region.overwrites :]
    text += f" over {', '.join(written)}" if written else ""
    return text + (f" with {', '.join(captured)}" if captured else "")


_HEADS = {True: ("do", "while"), False: ("then", "else")}
"""The words before the bodies of a loop (True), and of a branch (False)."""


def _node_text(node: Node, numbers: dict[Node, int]) -> str:
    """The text of a node, without its number and type."""
    match node:
        case Input():
            return f"input {node.position}"
        case Scalar():
            return f"scalar {node.value.item()!r}"
        case Constant():
            return "held array"
        case LengthNode():
            return f"length {node.length}"
        case Op():
            return _op_text(node, numbers)
    raise TypeError(f"no text for {type(node).__name__}")


def graph_lines(graph: Graph) -> Iterator[str]:
    """Yield the lines of a graph, one per node, operands before users."""
    numbers: dict[Node, int] = {}
    for node in (*graph.inputs, *graph.nodes):
        if node in numbers:
            continue
        numbers[node] = len(numbers)
        yield f"%{numbers[node]} = {_node_text(node, numbers)}: {type_text(node)}"
        if isinstance(node, Op) and isinstance(node.primitive, Region):
            heads = _HEADS[isinstance(node.primitive, Loop)]
            for head, body in zip(heads, node.primitive.bodies, strict=False):
                yield f"  {head}:"
                yield from (f"    {line}" for line in graph_lines(body))
    yield "return " + ", ".join(f"%{numbers[node]}" for node in graph.results)
    for length, node in zip(graph.data_dependent, graph.counts, strict=True):
        asked = [f"{g.left} {g.sign} {g.right} is {g.outcome}" for g in length.guards]
        yield f"let {length.symbol.name} = %{numbers[node]}" + "".join(f", {a}" for a in asked)
    for node, position in zip(graph.final_values, graph.writes, strict=False):
        yield f"write %{numbers[node]} to input {position}"


AnyProgram = Graph | ViewProgram | LoopProgram | Plan


class Form(NamedTuple):
    """A form of programs: its name, and the function that yields the lines of a program."""

    name: str
    lines: Callable[[Any], Iterable[str]]


def print_program(program: AnyProgram) -> str:
    """The text of a program: the name of its form, followed by its lines."""
    form = FORMS[type(program)]
    return "\n".join([form.name, *(f"  {line}" for line in form.lines(program))]) + "\n"


def _view_program_lines(program: ViewProgram) -> Iterator[str]:
    """The lines of storages, numbers, definitions, data-dependent lengths and results."""
    yield from map(_storage_text, program.storages)
    yield from map(_number_text, program.numbers)
    yield from map(_definition_text, program.definitions)
    yield from _count_lines(program)
    yield from (f"return {_view_text(view)} [{_list(view.shape)}]" for view in program.results)


def _loop_program_lines(program: LoopProgram) -> Iterator[str]:
    """The lines of numbers, steps, data-dependent lengths and results."""
    yield from map(_number_text, program.numbers)
    yield from chain.from_iterable(map(_loop_step_lines, program.steps))
    yield from _count_lines(program)
    yield from (f"return {_view_text(view)}" for view in program.results)


def _plan_lines(plan: Plan) -> Iterator[str]:
    """The lines of steps and results; the source of a kernel follows its launch."""
    yield from map(_plan_step_text, plan.steps)
    yield from (f"return {_window_text(window)}" for window in plan.results)


def _count_lines(program: ViewProgram | LoopProgram) -> Iterator[str]:
    return (f"let {c.choice.symbol.name} = {_view_text(c.view)}" for c in program.counts)


def _list(dims: tuple[Dim, ...]) -> str:
    return ", ".join(map(str, dims))


def _number_text(number: Number) -> str:
    """The line that declares a number and its origin, such as `number c0: f8 = scalar 2.0`."""
    match number.origin:
        case Input():
            source = f"input {number.origin.position}"
        case Scalar():
            source = f"scalar {number.origin.value.item()!r}"
        case LengthNode():
            source = f"length {number.origin.length}"
    return f"number {number.name}: {code(number.dtype)} = {source}"


def _storage_text(storage: Storage) -> str:
    return (
        f"{storage.role} {storage.name}: {code(storage.dtype)}[{_list(storage.shape)}]"
        f" strides ({_list(storage.strides)})"
    )


def _view_text(view: View) -> str:
    """The text of a view: `a0 at 0 + (n1, 1)`, or for imaginary parts `a0 at 1 + (2) in f8`."""
    parts = "" if view.dtype == view.storage.dtype else f" in {code(view.dtype)}"
    version = f"'{view.version}" if view.version else ""
    return f"{view.storage.name}{version} at {view.offset} + ({_list(view.strides)}){parts}"


def _operand_text(operand: ReadOperand) -> str:
    match operand:
        case View():
            return _view_text(operand)
        case Value():
            return operand.name + show(operand.index)
        case Number():
            return operand.name


def _definition_text(definition: Definition) -> str:
    target = definition.name if definition.storage is None else definition.storage.name
    if definition.target is not None:
        target = f"({_view_text(definition.target)})"
    kind = "r-tensor" if definition.storage is None else "l-tensor"
    operands = [_operand_text(o) for o in definition.operands]
    for k, region in enumerate(definition.regions):
        operands[k] += f" where {show_region(region, definition.extents) or 'always'}"
    reads = "; ".join(operands)
    name = definition.primitive.name
    part = f"part {definition.primitive.source} of " if name == "part" else name
    fold = f"{definition.fold} " if definition.fold is not None else ""
    kept = _list(definition.extents[: definition.rank])
    text = f"{kind} {target}[{kept}] = {fold}{part}({reads})"
    if definition.combine is not None:
        text += f" by {definition.combine}"
    if definition.ordered:
        text += f" in order of {', '.join(f'i{k}' for k in sorted(definition.ordered))}"
    if definition.fold is not None:
        folded = _list(definition.extents[definition.rank :])
        text += f" over [{folded}]" if folded else " running"
    text += show_conditions(definition.conditions)
    if definition.unrolled:
        text += f" without loop of {', '.join(f'i{k}' for k in sorted(definition.unrolled))}"
    if definition.library is not None:
        text += f" by {definition.library.operation}"
    return text


def _factor(value: Dim) -> str:
    return str(value) if len(value.terms) == 1 else f"({value})"


def _index_text(index: Index) -> str:
    """The text of an index, such as `[n1*i0 + i1]`."""
    parts = [n if s.constant == 1 else f"{_factor(s)}*{n}" for n, s in index.terms]
    if index.offset.constant != 0 or not parts:
        parts.append(str(index.offset))
    return "[" + " + ".join(parts) + "]"


def _let_text(let: Let) -> str:
    """The text of the primitive that computes a scalar; operators are infix, as in Python."""
    if let.primitive.sign is None:
        name = code(let.dtype) if let.primitive.name == "cast" else let.primitive.name
        return f"{name}({', '.join(let.operands)})"
    if len(let.operands) == 1:
        return f"{let.primitive.sign}{let.operands[0]}"
    return f"{let.operands[0]} {let.primitive.sign} {let.operands[1]}"


def _for_text(loop: For) -> str:
    text = f"for {loop.iterator} < {loop.extent} {loop.kind}"
    if loop.span is not None:
        text += " from {} to {}".format(*loop.span)
    if loop.under is not None:
        text += f" under {loop.under}"
    if loop.block is not None:
        text += f" in block {loop.block.outer} of {loop.block.size}"
    if loop.unroll > 1:
        text += f" by {loop.unroll}"
    if loop.at is not None:
        text += f" at {loop.at}"
    if loop.poll_every:
        text += f" looks after {loop.poll_every}"
    return text + (f" where {_limits_text(loop.limits)}:" if loop.limits else ":")


def _limits_text(limits: tuple[Limit, ...]) -> str:
    sums = [_index_text(Index(dim(0), limit.terms))[1:-1] for limit in limits]
    pairs = zip(sums, limits, strict=True)
    return " and ".join(f"{limit.low} <= {total} < {limit.high}" for total, limit in pairs)


def _state_text(state: State) -> str:
    return f"{state.name}[{state.lanes}]" if state.lanes is not None else state.name


def _body_lines(body: tuple[Stmt, ...], depth: int) -> Iterator[str]:
    for stmt in body:
        yield "  " * depth + _stmt_text(stmt)
        if isinstance(stmt, For | If | When):
            yield from _body_lines(stmt.body, depth + 1)
        if isinstance(stmt, When) and stmt.otherwise:
            yield "  " * depth + "else:"
            yield from _body_lines(stmt.otherwise, depth + 1)
        if isinstance(stmt, Select):
            for part in stmt.parts:
                yield "  " * (depth + 1) + _part_text(part)
                yield from _body_lines(part.body, depth + 2)


def _part_text(part: Part) -> str:
    bounds = [f"{b.low} <= {b.iterator or 0} < {b.high}" for b in part.bounds]
    return f"{part.value} where {' and '.join(bounds) or 'always'}:"


def _stmt_text(stmt: Stmt) -> str:
    match stmt:
        case For():
            return _for_text(stmt)
        case If():
            return f"if {_limits_text(stmt.limits)}:"
        case Let():
            return f"{stmt.name} = {_let_text(stmt)}: {code(stmt.dtype)}"
        case Load():
            ahead = "" if stmt.prefetch is None else f" ahead {stmt.prefetch}"
            return f"{stmt.name} = load {stmt.buffer.name}{_index_text(stmt.index)}{ahead}"
        case Store():
            by = "" if stmt.combine is None else f" by {stmt.combine}"
            return f"store {stmt.buffer.name}{_index_text(stmt.index)} = {stmt.value}{by}"
        case Alloc(state=state):
            cells = f" x {state.cells}" if state.cells > 1 else ""
            tree = " tree of" if stmt.scope == "tree" else ""
            kind = f"{type_name(state.dtype)}{cells} {state.accumulator}"
            kind += "" if state.signs else ", zeros of any sign"
            return f"alloc{tree} {state.name}: {kind}"
        case Fold():
            name = stmt.state.accumulator.name
            name = "again" if stmt.kept else name
            return f"fold {_state_text(stmt.state)} {name} {', '.join(stmt.values)}"
        case ReadState():
            part = f"{stmt.part} of " if len(stmt.state.parts) > 1 else ""
            more = f" with {', '.join(stmt.including)}" if stmt.including else ""
            return f"{stmt.name} = take {part}{_state_text(stmt.state)}{more}"
        case When():
            return f"when {stmt.value}:"
        case Leave():
            return f"leave unless {stmt.value}"
        case Push():
            return f"push {stmt.state.name}" + (f" {stmt.value}" if stmt.value else "")
        case Drain():
            return f"drain {stmt.state.name}"
        case Select():
            return f"{stmt.name} = pick: {code(stmt.dtype)}"


def _loop_step_lines(step: Nest | LibraryCall) -> Iterator[str]:
    if isinstance(step, LibraryCall):
        operands = "; ".join(_view_text(v) for v in step.operands)
        where = show_conditions(step.conditions)
        yield f"{step.operation} {step.target.name} = ({operands}) by {step.labels}{where}"
        return
    yield "nest" + _order_text(step)
    for buffer in step.tiles:
        yield f"  tile {buffer.name}: {code(buffer.dtype)}[{buffer.shape[0]}]"
    yield from _body_lines(step.body, 1)
    for buffer in step.partials:
        yield f"  partials {buffer.name}: {code(buffer.dtype)}[{buffer.shape[0]}]"
    if step.combine:
        yield "combine"
        yield from _body_lines(step.combine, 1)


def _order_text(step: Nest | Launch) -> str:
    """The text of the fields `prepass`, `chunk_chain` and `parallel_variant` of a step."""
    variant, chain = step.parallel_variant, step.chunk_chain
    text = " ahead" * step.prepass + ("" if variant is None else f" shared unless {variant} < 0")
    return text + ("" if chain is None else f" in chains of {chain}")


def _window_text(window: Window) -> str:
    strides, shape = (", ".join(map(str, dims)) for dims in (window.strides, window.shape))
    return f"{window.buffer}[{shape}] at {window.offset} + ({strides})"


def _plan_step_text(step: Step) -> str:
    match step:
        case WriteBack():
            return f"write back {step.buffer} to argument {step.position}"
        case Choose():
            return f"let {step.choice.symbol.name} = {_window_text(step.count)}"
        case Check():
            return f"check {step.choice.symbol.name} = {_window_text(step.count)}"
        case Reuse():
            return f"{step.buffer} takes the memory of {step.source}"
        case Allocate() | Release():
            return f"{type(step).__name__.lower()} {step.buffer}"
        case Call():
            operands = "; ".join(map(_window_text, step.operands))
            called = f"{step.operation}({operands}) by {step.labels}"
            more = "".join(
                f"; {_window_text(window)} = {one}" for one, window in step.other_results
            )
            made = "make " if step.allocates_targets else ""
            text = f"{_window_text(step.target)} = {called}{show_conditions(step.conditions)}"
            return f"{made}{text}{more}"
        case Repeat() | Branch():
            return "\n".join(_region_lines(step))
    words = [*step.buffers, *map(repr, step.numbers), *map(str, step.lengths)]
    source = step.kernel.source.replace("\n", "\n    ").rstrip()
    order = _order_text(step)
    return f"launch{order} over {step.grid}, {step.work} of work: {', '.join(words)}\n    {source}"


def _region_lines(step: Repeat | Branch) -> Iterator[str]:
    """The first line of a step of a region, and the lines of the plan of each body."""
    operands = [_window_text(window) for window in step.operands]
    words = ("do", "while") if isinstance(step, Repeat) else ("then", "else")
    head = "branch"
    if isinstance(step, Repeat):
        name = "_" if step.index is None else step.index.name
        head = "repeat" if step.trips is None else f"repeat {name} < {step.trips}"
        head += "".join(f" renewing {place}" for place in step.renewed)
    over, given = "; ".join(operands[: step.written]), "; ".join(operands[step.written :])
    yield f"{_window_text(step.target)} = {head} over {over}" + (f" with {given}" if given else "")
    for word, body in zip(words, step.bodies, strict=False):
        yield f"  {word}"
        yield from (f"    {line}" for text in _plan_lines(body) for line in text.split("\n"))


FORMS: Final[dict[type, Form]] = {
    Graph: Form("graph", graph_lines),
    ViewProgram: Form("views", _view_program_lines),
    LoopProgram: Form("loops", _loop_program_lines),
    Plan: Form("plan", _plan_lines),
}
