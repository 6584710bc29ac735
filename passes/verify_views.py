"""Legality of a view program."""

from __future__ import annotations

from collections.abc import Iterator

from axiomjit.complex_views import partition_fault
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
        if storage.tensor.layout is None:
            yield f"storage {storage.name} has no layout"
        if storage.tensor.read_only:
            yield f"storage {storage.name} is no l-tensor"
    filled = {s.name for s in program.storages if s.role in ("argument", "held")}
    known: dict[str, int] = {}
    for definition in program.definitions:
        yield from _definition_faults(definition, program, filled, known)
        known[definition.name] = definition.rank
        if definition.storage is not None:
            if definition.storage.role not in ("result", "temporary"):
                yield f"{definition.name} writes to {definition.storage.role} storage"
            filled.add(definition.storage.name)
    for view in program.results:
        if view.storage.name not in filled:
            yield f"result {view.storage.name} is never computed"
        yield from _view_faults("the result", view)


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
    unfolded = definition.rank == len(definition.extents)
    if not definition.primitive.whole and (definition.fold is None) != unfolded:
        yield f"{definition.name} folds without an accumulator, or the reverse"
    if definition.primitive.whole and definition.library is None:
        yield f"{definition.name} needs whole operands but no library computes it"
    if definition.regions and len(definition.regions) != len(definition.operands):
        yield f"{definition.name} joins {len(definition.operands)} operands in other regions"
    gap = partition_fault(definition.regions, definition.extents) if definition.regions else None
    if gap is not None:
        yield f"{definition.name} joins {gap}"
    if definition.library is not None and definition.storage is None:
        yield f"{definition.name} is computed by a library but has no storage"


def _view_faults(reader: str, view: View) -> Iterator[str]:
    """Each view names the tensor that it views, and says where its elements are."""
    if view.tensor.base_tensor is not view.storage.tensor:
        yield f"{reader} sees {view.storage.name} as a view of another tensor"
    if view.tensor.layout is None:
        yield f"{reader} sees {view.storage.name} without a layout"
