"""The storages that a step of a loop program uses."""

from __future__ import annotations

from axiomjit.passes.ir.loop_ir import LibraryCall, Load, Nest, Store, statements
from axiomjit.passes.ir.view_ir import Storage


def accessed(step: Nest | LibraryCall) -> tuple[set[Storage], set[Storage]]:
    """The storages that a step reads, and those that it writes."""
    if isinstance(step, LibraryCall):
        return {view.storage for view in step.operands}, {step.target}
    every = list(statements(step))
    reads = {s.buffer for s in every if isinstance(s, Load)}
    return reads, {s.buffer for s in every if isinstance(s, Store)}
