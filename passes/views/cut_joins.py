"""ViewProgram -> ViewProgram: several nests write the pieces of a join of many parts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from axiomjit.graph.primitives import VIEW
from axiomjit.passes.graph.choose_storage import MAX_PARTS
from axiomjit.passes.ir.context import Context
from axiomjit.passes.ir.view_ir import (
    Definition,
    ReadOperand,
    Storage,
    Value,
    View,
    ViewProgram,
)
from axiomjit.symbolic.dims import Dim, dim
from axiomjit.symbolic.index_maps import Region, shift

Part = tuple[ReadOperand, Region]
MAX_PIECE: Final = 8
"""The largest number of parts of a piece of a join; up to this number the compile time per part
does not grow.
"""


def cut_joins(program: ViewProgram, context: Context) -> ViewProgram:
    """Split stored joins of more than `MAX_PARTS` parts into pieces, each of which fills a box.

    Each part becomes a loop, and compile time grows faster than the number of loops. Pieces with
    the same computation have equal source, so that their kernel is compiled once.

    Needs: a legal view program.
    Gives: a legal view program, in which several definitions write the storage of a split join;
    each has at most `MAX_PIECE` parts unless a single operand has more.
    Keeps: every value, bit for bit, and the memory in which it is stored.
    """
    counts = _part_counts(program)
    definitions: list[Definition] = []
    later: dict[Storage, int] = {}
    for definition in program.definitions:
        definition = _renumbered(definition, later)
        pieces = list(_pieces(definition, counts))
        if len(pieces) > 1 and definition.storage is not None:
            later[definition.storage] = len(pieces) - 1
        definitions += pieces
    if not later:
        return program
    results = tuple(_advanced(view, later) for view in program.results)
    return program.replace(definitions=tuple(definitions), results=results)


def _part_counts(program: ViewProgram) -> dict[str, int]:
    """For each r-tensor, the number of parts in the loops that compute it; 1 if it has no join."""
    counts: dict[str, int] = {}
    for definition in program.definitions:
        if definition.storage is None:
            own = [_part_count(operand, counts) for operand in definition.operands]
            counts[definition.name] = (
                sum(own) if definition.regions else 1 + sum(count - 1 for count in own)
            )
    return counts


def _part_count(operand: ReadOperand, counts: Mapping[str, int]) -> int:
    return counts.get(operand.name, 1) if isinstance(operand, Value) else 1


def _pieces(definition: Definition, counts: Mapping[str, int]) -> Iterator[Definition]:
    """The pieces of a definition; the definition itself unless it is a join of many parts."""
    storage, regions = definition.storage, definition.regions
    total = sum(_part_count(operand, counts) for operand in definition.operands)
    if not regions or storage is None or definition.target is not None or total <= MAX_PARTS:
        yield definition
        return
    for number, (box, parts) in enumerate(_boxes(definition, counts)):
        starts = tuple(low for low, _ in box)
        extents = tuple(high - low for low, high in box)
        within = tuple(
            tuple((low - start, high - start) for (low, high), start in zip(r, starts, strict=True))
            for _, r in parts
        )
        offset = _offset_of(starts, storage.strides)
        yield definition.replace(
            name=f"{definition.name}p{number}",
            primitive=definition.primitive if len(parts) > 1 else VIEW,
            operands=tuple(_shifted_operand(operand, starts, extents) for operand, _ in parts),
            extents=extents,
            regions=within if len(parts) > 1 else (),
            target=View(storage, extents, offset, storage.strides, version=number),
        )


def _boxes(
    definition: Definition, counts: Mapping[str, int]
) -> Iterator[tuple[Region, list[Part]]]:
    """Yield the boxes of the pieces of a join, each with the consecutive operands that fill it."""
    box: Region | None = None
    group: list[Part] = []
    size = 0
    for operand, region in zip(definition.operands, definition.regions, strict=True):
        count = _part_count(operand, counts)
        larger = None if box is None or size + count > MAX_PIECE else _union(box, region)
        if larger is None and box is not None:
            yield box, group
            group, size = [], 0
        box = larger or region
        group.append((operand, region))
        size += count
    assert box is not None, "a join has parts"
    yield box, group


def _union(first: Region, second: Region) -> Region | None:
    """The union of two boxes that are adjacent along one dimension; None for two other boxes."""
    differ = [d for d, (one, other) in enumerate(zip(first, second, strict=True)) if one != other]
    if len(differ) != 1 or first[differ[0]][1] is not second[differ[0]][0]:
        return None
    (d,) = differ
    return (*first[:d], (first[d][0], second[d][1]), *first[d + 1 :])


def _shifted_operand(
    operand: ReadOperand, starts: tuple[Dim, ...], extents: tuple[Dim, ...]
) -> ReadOperand:
    """The operand, shifted so that iterators from 0 read it from the positions `starts` on."""
    moved: ReadOperand = operand
    if isinstance(operand, Value):
        moved = Value(operand.name, shift(operand.index, starts))
    elif isinstance(operand, View):
        offset = operand.offset + _offset_of(starts, operand.strides)
        moved = operand.replace(shape=extents, offset=offset)
    return moved


def _offset_of(index: tuple[Dim, ...], strides: tuple[Dim, ...]) -> Dim:
    """The offset in memory of the element at an index."""
    return sum((k * stride for k, stride in zip(index, strides, strict=True)), start=dim(0))


def _renumbered(definition: Definition, later: Mapping[Storage, int]) -> Definition:
    """The definition with versions increased by the pieces that were added before it."""
    if not later:
        return definition
    operands = tuple(_advanced(o, later) if isinstance(o, View) else o for o in definition.operands)
    target = None if definition.target is None else _advanced(definition.target, later)
    return definition.replace(operands=operands, target=target)


def _advanced(view: View, later: Mapping[Storage, int]) -> View:
    """The view with its version increased by the number of pieces added to its storage."""
    extra = later.get(view.storage, 0)
    return view.replace(version=view.version + extra) if extra else view
