"""The scalars of a body: what computes one, which come from outside, and their dtypes."""

from __future__ import annotations

from collections.abc import Sequence

from axiomjit.base.dtypes import DType
from axiomjit.passes.ir.loop_ir import Let, Load, Pick, Stmt, Take, used, walk


def needed(body: tuple[Stmt, ...], value: str) -> tuple[Stmt, ...]:
    """The statements that compute a value; values from outside the body have none."""
    wanted = {value}
    found: list[Stmt] = []
    for stmt in reversed(body):
        if isinstance(stmt, Let | Load | Take | Pick) and stmt.name in wanted:
            wanted |= outer_values(stmt)
            found.append(stmt)
    return tuple(reversed(found))


def outer_values(stmt: Stmt) -> set[str]:
    """The scalars that a statement needs, those of the bodies inside included."""
    every = list(walk((stmt,)))
    made = {s.name for s in every if isinstance(s, Let | Load | Take | Pick)}
    picked = {part.value for s in every if isinstance(s, Pick) for part in s.parts}
    return picked.union(*map(used, every)) - made


def dtypes_of(body: Sequence[Stmt]) -> dict[str, DType]:
    """The dtypes of the scalars that statements give, by name."""
    loaded = {s.name: s.buffer.dtype for s in body if isinstance(s, Load)}
    return loaded | {s.name: s.dtype for s in body if isinstance(s, Let | Take | Pick)}
