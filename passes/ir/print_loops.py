"""Stable text of a loop program: reads like the program it is."""

from __future__ import annotations

from collections.abc import Iterator

from axiomjit.algebra.dims import Dim, dim
from axiomjit.algebra.index_maps import show_conditions
from axiomjit.base.dtypes import code, type_name
from axiomjit.passes.ir.loop_ir import (
    Alloc,
    Drain,
    Fold,
    For,
    If,
    Index,
    Let,
    LibraryCall,
    Limit,
    Load,
    LoopProgram,
    Nest,
    Part,
    Pick,
    Push,
    State,
    Stmt,
    Store,
    Take,
)
from axiomjit.passes.ir.print_views import number_text, view_text


def _factor(value: Dim) -> str:
    return str(value) if len(value.terms) == 1 else f"({value})"


def index_text(index: Index) -> str:
    """An index, e.g. `[n1*i0 + i1]`."""
    parts = [n if s.constant == 1 else f"{_factor(s)}*{n}" for n, s in index.terms]
    if index.offset.constant != 0 or not parts:
        parts.append(str(index.offset))
    return "[" + " + ".join(parts) + "]"


def let_text(let: Let) -> str:
    """The right-hand side of a scalar; operators are infix as in Python."""
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
    if loop.together > 1:
        text += f" by {loop.together}"
    if loop.at is not None:
        text += f" at {loop.at}"
    if loop.poll_every:
        text += f" looks after {loop.poll_every}"
    return text + (f" where {_limits_text(loop.limits)}:" if loop.limits else ":")


def _limits_text(limits: tuple[Limit, ...]) -> str:
    sums = [index_text(Index(dim(0), limit.terms))[1:-1] for limit in limits]
    pairs = zip(sums, limits, strict=True)
    return " and ".join(f"{limit.low} <= {total} < {limit.high}" for total, limit in pairs)


def _state_text(state: State) -> str:
    return f"{state.name}[{state.lanes}]" if state.lanes is not None else state.name


def _lines(body: tuple[Stmt, ...], depth: int) -> Iterator[str]:
    for stmt in body:
        yield "  " * depth + _stmt_text(stmt)
        if isinstance(stmt, For | If):
            yield from _lines(stmt.body, depth + 1)
        elif isinstance(stmt, Pick):
            for part in stmt.parts:
                yield "  " * (depth + 1) + _part_text(part)
                yield from _lines(part.body, depth + 2)


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
            return f"{stmt.name} = {let_text(stmt)}: {code(stmt.dtype)}"
        case Load():
            ahead = "" if stmt.ahead is None else f" ahead {stmt.ahead}"
            return f"{stmt.name} = load {stmt.buffer.name}{index_text(stmt.index)}{ahead}"
        case Store():
            by = "" if stmt.combine is None else f" by {stmt.combine}"
            return f"store {stmt.buffer.name}{index_text(stmt.index)} = {stmt.value}{by}"
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
        case Take():
            part = f"{stmt.part} of " if len(stmt.state.parts) > 1 else ""
            ahead = f" with {', '.join(stmt.ahead)}" if stmt.ahead else ""
            return f"{stmt.name} = take {part}{_state_text(stmt.state)}{ahead}"
        case Push():
            return f"push {stmt.state.name}" + (f" {stmt.value}" if stmt.value else "")
        case Drain():
            return f"drain {stmt.state.name}"
        case Pick():
            return f"{stmt.name} = pick: {code(stmt.dtype)}"


def _step_text(step: Nest | LibraryCall) -> Iterator[str]:
    if isinstance(step, LibraryCall):
        operands = "; ".join(view_text(v) for v in step.operands)
        where = show_conditions(step.conditions)
        yield f"  {step.operation} {step.target.name} = ({operands}) by {step.labels}{where}"
        return
    chained = "" if step.chunk_chain is None else f" in chains of {step.chunk_chain}"
    shared = "" if step.shared is None else f" shared unless {step.shared} < 0"
    yield "  nest" + " ahead" * step.ahead + shared + chained
    for buffer in step.tiles:
        yield f"    tile {buffer.name}: {code(buffer.dtype)}[{buffer.shape[0]}]"
    yield from _lines(step.body, 2)
    for buffer in step.partials:
        yield f"    partials {buffer.name}: {code(buffer.dtype)}[{buffer.shape[0]}]"
    if step.combine:
        yield "  combine"
        yield from _lines(step.combine, 2)


def print_loops(program: LoopProgram) -> str:
    """The program as text: numbers, then each step, then the results."""
    lines = ["loops"]
    lines += [f"  number {number_text(number)}" for number in program.numbers]
    for step in program.steps:
        lines += list(_step_text(step))
    lines += [f"  let {c.choice.symbol.name} = {view_text(c.view)}" for c in program.counts]
    lines += [f"  return {view_text(view)}" for view in program.results]
    return "\n".join(lines) + "\n"
