"""Other names for the iterators, values and states of a body."""

from __future__ import annotations

from axiomjit.passes.ir.loop_ir import (
    Alloc,
    Bound,
    Drain,
    Fold,
    For,
    If,
    Index,
    Let,
    Limit,
    Load,
    Part,
    Pick,
    Push,
    State,
    Stmt,
    Store,
    Take,
    rewrite_body,
)


def rename_iterators(body: tuple[Stmt, ...], names: dict[str, str]) -> tuple[Stmt, ...]:
    """The statements with iterators, values and states renamed."""

    def get(name: str) -> str:
        return names.get(name, name)

    def index(old: Index) -> Index:
        terms = tuple((get(name), stride) for name, stride in old.terms)
        return Index(old.offset, terms, tuple(map(get, old.gathered)))

    def limits(old: tuple[Limit, ...]) -> tuple[Limit, ...]:
        return tuple(
            Limit(tuple((get(name), factor) for name, factor in limit.terms), limit.low, limit.high)
            for limit in old
        )

    def part(old: Part) -> Part:
        bounds = tuple(
            Bound(None if b.iterator is None else get(b.iterator), b.low, b.high)
            for b in old.bounds
        )
        return Part(bounds, old.body, get(old.value))

    def state(old: State) -> State:
        lanes = None if old.lanes is None else get(old.lanes)
        return old.replace(name=get(old.name), lanes=lanes)

    def rule(stmt: Stmt) -> tuple[Stmt, ...]:
        match stmt:
            case For(iterator=name, block=block):
                new = None if block is None else block.replace(outer=get(block.outer))
                at = None if stmt.at is None else get(stmt.at)
                kept = limits(stmt.limits)
                return (stmt.replace(iterator=get(name), block=new, at=at, limits=kept),)
            case If():
                return (stmt.replace(limits=limits(stmt.limits)),)
            case Let(name=name, operands=operands):
                return (stmt.replace(name=get(name), operands=tuple(map(get, operands))),)
            case Load(name=name):
                return (stmt.replace(name=get(name), index=index(stmt.index)),)
            case Store(value=value):
                return (stmt.replace(value=get(value), index=index(stmt.index)),)
            case Fold(values=values):
                return (stmt.replace(values=tuple(map(get, values)), state=state(stmt.state)),)
            case Take(name=name, ahead=ahead):
                taken = Take(get(name), state(stmt.state), stmt.part, tuple(map(get, ahead)))
                return (taken,)
            case Push(value=value) if value is not None:
                return (stmt.replace(value=get(value), state=state(stmt.state)),)
            case Alloc() | Push() | Drain():
                return (stmt.replace(state=state(stmt.state)),)
            case Pick(name=name):
                return (stmt.replace(name=get(name), parts=tuple(map(part, stmt.parts))),)

    return rewrite_body(body, rule)
