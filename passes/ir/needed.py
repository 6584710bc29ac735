"""What computes a value of a body."""

from __future__ import annotations

from axiomjit.passes.ir.loop_ir import Let, Load, Stmt, used


def needed(body: tuple[Stmt, ...], value: str) -> tuple[Let | Load, ...] | None:
    """The statements that compute a value; None where others than loads and operations do."""
    wanted = {value}
    found: list[Let | Load] = []
    for stmt in reversed(body):
        name = getattr(stmt, "name", None)
        if name not in wanted:
            continue
        if not isinstance(stmt, Let | Load):
            return None
        wanted |= {*used(stmt)}
        found.append(stmt)
    return tuple(reversed(found))
