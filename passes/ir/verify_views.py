"""Legality of a view program."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Final

from axiomjit.base.errors import VerifyError
from axiomjit.graph.library_operations import LibraryOperation
from axiomjit.graph.primitives import GATHER
from axiomjit.passes.ir.print_views import print_views
from axiomjit.passes.ir.view_ir import (
    ArrayRole,
    Definition,
    Number,
    Storage,
    Value,
    View,
    ViewProgram,
)
from axiomjit.symbolic.dims import Dim, dim, product
from axiomjit.views.complex_views import partition_fault

NOTHING: Final = dim(0)


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
            yield from _piece_faults(definition, read, versions, pieces)
            versions[definition.storage.name] = versions.get(definition.storage.name, -1) + 1
    for view in (*program.results, *(count.view for count in program.counts)):
        left = pieces.get(view.storage.name, NOTHING)
        if _is_some(left):
            yield f"result {view.storage.name} has {left} elements that are never written"
        if view.storage.name not in versions:
            yield f"result {view.storage.name} is never computed"
        yield from _version_faults("the result", {(view.storage.name, view.version)}, versions)
        yield from _view_faults("the result", view)


def _is_dense(storage: Storage) -> bool:
    """Whether strides are those of dense memory, in some order of the dimensions."""
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
    """Which versions of storages are read where a definition is computed."""
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
    """A storage is written once, or its versions in order by who says so."""
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


def _piece_faults(
    definition: Definition,
    read: set[tuple[str, int]],
    versions: Collection[str],
    pieces: dict[str, Dim],
) -> Iterator[str]:
    """A storage that is first written in pieces is read when they have filled it.

    `pieces` are the elements that are still to be written of each.
    """
    storage = definition.storage
    assert storage is not None
    for name in sorted({name for name, _ in read} & set(pieces)):
        if _is_some(pieces[name]):
            yield f"{definition.name} reads {name} before {pieces[name]} elements are written"
    first = definition.target is not None and storage.name not in versions
    if first or storage.name in pieces:
        left = pieces.get(storage.name, product(storage.shape)) - product(definition.extents)
        pieces[storage.name] = left
        if left is NOTHING:
            del pieces[storage.name]


def _is_some(count: Dim) -> bool:
    """Whether a number of elements is more than none in general; no sum of lengths is none."""
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
    unfolded = definition.rank == len(definition.extents)
    whole = isinstance(definition.primitive, LibraryOperation)
    fold = definition.fold
    runs = fold is not None and fold.may_run and unfolded and bool(definition.extents)
    if definition.primitive is GATHER or (definition.target is not None and not definition.regions):
        if len(definition.extents) - definition.rank != len(definition.operands) - 1:
            yield f"{definition.name} gathers by {len(definition.operands) - 1} positions"
        apart = _apart(definition)
        walked = definition.extents[: definition.rank]
        again = any(k not in apart and n.constant != 1 for k, n in enumerate(walked))
        target = definition.target
        written = walked if target is None else (*walked, *target.storage.shape)
        if again and all(n.constant != 0 for n in written):
            yield f"{definition.name} may write one element again, out of order"
    elif not whole and not runs and (definition.fold is None) != unfolded:
        yield f"{definition.name} folds without an accumulator, or the reverse"
    if whole and definition.library is None:
        yield f"{definition.name} needs whole operands but no library computes it"
    if definition.regions and len(definition.regions) != len(definition.operands):
        yield f"{definition.name} joins {len(definition.operands)} operands in other regions"
    gap = partition_fault(definition.regions, definition.extents) if definition.regions else None
    if gap is not None:
        yield f"{definition.name} joins {gap}"
    if definition.library is not None and definition.storage is None:
        yield f"{definition.name} is computed by a library but has no storage"


def _apart(definition: Definition) -> frozenset[int]:
    """The iterators along which a definition writes other elements, or the same in order."""
    if definition.target is None or not (definition.combine or len(definition.operands) > 1):
        return frozenset(range(definition.rank))
    strides = enumerate(definition.target.strides)
    return definition.ordered | {k for k, stride in strides if stride.constant != 0}


def _view_faults(reader: str, view: View) -> Iterator[str]:
    """Each view names the tensor that it views, and says where its elements are."""
    if view.tensor.base_tensor is not view.storage.tensor:
        yield f"{reader} sees {view.storage.name} as a view of another tensor"
    if view.tensor.layout is None:
        yield f"{reader} sees {view.storage.name} without a layout"
