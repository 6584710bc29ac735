"""Legality of a view program."""

from __future__ import annotations

from collections.abc import Iterator

from axiomjit.errors import VerifyError
from axiomjit.passes.print_views import print_views
from axiomjit.passes.view_ir import Definition, Number, Value, View, ViewProgram


def verify_views(program: ViewProgram) -> None:
    """Check storages, reads and results.

    Raises:
        VerifyError: an invariant does not hold.
    """
    for fault in _faults(program):
        raise VerifyError(
            "a legal view program", fault, f"report this as a defect\n{print_views(program)}"
        )


def _faults(program: ViewProgram) -> Iterator[str]:
    names = [storage.name for storage in program.storages]
    if len(set(names)) != len(names):
        yield f"two storages of one name among {names}"
    for storage in program.storages:
        if len(storage.shape) != len(storage.strides):
            yield f"storage {storage.name} has no layout"
    filled = {s.name for s in program.storages if s.role in ("argument", "held")}
    known: dict[str, int] = {}
    for definition in program.definitions:
        yield from _definition_faults(definition, program, filled, known)
        known[definition.name] = definition.rank
        if definition.storage is not None:
            if definition.storage.role not in ("result", "temporary"):
                yield f"{definition.name} writes to {definition.storage.role} storage"
            filled.add(definition.storage.name)
    for view, shape in program.results:
        if view.storage.name not in filled:
            yield f"result {view.storage.name} is never computed"
        if len(view.strides) != len(shape):
            yield f"result {view.storage.name} has {len(view.strides)} strides"


def _definition_faults(
    definition: Definition, program: ViewProgram, filled: set[str], known: dict[str, int]
) -> Iterator[str]:
    for operand in definition.operands:
        match operand:
            case View():
                if operand.storage not in program.storages:
                    yield f"{definition.name} reads the unlisted storage {operand.storage.name}"
                if operand.storage.name not in filled:
                    yield f"{definition.name} reads {operand.storage.name} before it is computed"
                if len(operand.strides) != len(definition.extents):
                    yield f"{definition.name} reads with {len(operand.strides)} strides"
            case Value():
                if operand.name not in known:
                    yield f"{definition.name} reads {operand.name} before it is defined"
                elif len(operand.index) != known[operand.name]:
                    yield f"{definition.name} reads {operand.name} with {len(operand.index)} dims"
            case Number():
                if operand not in program.numbers:
                    yield f"{definition.name} reads the unlisted number {operand.name}"
    unfolded = definition.rank == len(definition.extents)
    if not definition.primitive.whole and (definition.fold is None) != unfolded:
        yield f"{definition.name} folds without an accumulator, or the reverse"
    if definition.primitive.whole and definition.library is None:
        yield f"{definition.name} needs whole operands but no library computes it"
    if definition.regions and len(definition.regions) != len(definition.operands):
        yield f"{definition.name} joins {len(definition.operands)} operands in other regions"
    if definition.library is not None and definition.storage is None:
        yield f"{definition.name} is computed by a library but has no storage"
