"""The errors for calls with arrays in blocks that no stage can answer."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from axiomjit.base.errors import AxiomError, GraphTypeError, GraphValueError, amount
from axiomjit.base.records import Record
from axiomjit.graph.nodes import Input, Node, Op, origin
from axiomjit.scale.partitions import Partition


class Blocks(Record):
    """An argument in blocks: its name, dtype size in bytes, and the partition of each dimension.

    In `partitions`, None stands for a dimension of one block. `shape` has the lengths of the
    dimensions; None stands for a length that is not known.
    """

    name: str
    itemsize: int
    shape: tuple[int | None, ...]
    partitions: tuple[Partition | None, ...]

    def bytes_if_whole(self, axes: Sequence[int]) -> int | None:
        """The bytes of the largest block if `axes` were not cut; None if a length is unknown."""
        lengths = [
            n if d in axes or cut is None else _largest(cut)
            for d, (n, cut) in enumerate(zip(self.shape, self.partitions, strict=True))
        ]
        known = [n for n in lengths if n is not None]
        return math.prod(known) * self.itemsize if len(known) == len(lengths) else None


def _largest(partition: Partition) -> int | None:
    return max(partition.known) if partition.is_known else None


Arguments = Mapping[int, Blocks]
"""The arguments in blocks, by position."""


def source_of(node: Node, axis: int, arguments: Arguments) -> tuple[Blocks, int] | None:
    """The argument and the argument's axis from which a dimension of a value comes, or None."""
    for _ in range(10_000):
        if isinstance(node, Input):
            found = arguments.get(node.position)
            return None if found is None else (found, axis)
        if not isinstance(node, Op):
            return None
        step = _below(node, axis)
        if step is None:
            return None
        node, axis = step
    return None


def _below(op: Op, axis: int) -> tuple[Node, int] | None:
    for child, index in zip(op.operands, op.maps, strict=True):
        for d, function in enumerate(index):
            if any(k == axis for k, _ in function.terms) and isinstance(child, Op | Input):
                return child, d
    return None


def operation_of(node: Node) -> str:
    """The name of an operation in messages."""
    if not isinstance(node, Op):
        return "the call"
    if node.fold is not None and node.primitive.name in ("view", "state"):
        return str(node.fold)
    return f"{node.fold} of {node.primitive}" if node.fold is not None else str(node.primitive)


def in_bytes(count: int | None) -> str:
    """A number of bytes for messages."""
    if count is None:
        return "a number of bytes that is not known"
    for unit, size in (("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        if count >= size:
            return f"{count / size:.3g} {unit}"
    return amount(count, "byte")


def needs_whole(
    op: Node, operand: Node, axis: int, arguments: Arguments, why: str, every: bool = False
) -> AxiomError:
    """The error for an operation that needs an axis in one block; with `every`, all axes."""
    asked = f"{operation_of(op)} {why}"
    source = source_of(operand, axis, arguments)
    if source is None:
        seen = f"axis {axis} of a value that other blocks of the call have made"
        fix = "call one compiled function up to this value, rechunk its result, call another one"
        return GraphValueError(asked, seen, fix, origin(op))
    blocks, own = source
    cut = blocks.partitions[own]
    count = 1 if cut is None else cut.count
    seen = f"axis {own} of {blocks.name} in {amount(count, 'block')}"
    if cut is not None:
        seen += f" of lengths {cut}"
    axes = [d for d, one in enumerate(blocks.partitions) if d == own or (every and one)]
    size = in_bytes(blocks.bytes_if_whole(axes))
    chunks = dict.fromkeys(axes, -1)
    fix = f"{blocks.name}.rechunk({chunks}) before the call; its blocks then have {size}"
    return GraphValueError(asked, seen, fix, origin(op))


def other_blocks(
    op: Node, first: tuple[Node, int], second: tuple[Node, int], cuts: Sequence[Partition],
    arguments: Arguments,
) -> AxiomError:  # fmt: skip
    """The error for operands that are cut into different blocks along one axis."""
    asked = f"{operation_of(op)} of operands in blocks"
    one, two = (source_of(node, d, arguments) for node, d in (first, second))
    shown = [
        f"axis {axis} of a value" if source is None else f"axis {source[1]} of {source[0].name}"
        for source, (_, axis) in ((one, first), (two, second))
    ]
    seen = f"{shown[0]} in blocks of lengths {cuts[0]}, {shown[1]} in {cuts[1]}"
    fix = "rechunk one before the call, so that both have the same blocks"
    if one is not None and one == two:
        name, axis = one[0].name, one[1]
        fix = (
            f"{name}.rechunk({{{axis}: n}}) before the call, with n above the distance of the "
            f"parts that meet, or {name}.rechunk({{{axis}: -1}})"
        )
    elif two is not None and cuts[0].is_known:
        fix = f"{two[0].name}.rechunk({{{two[1]}: {_chunks(cuts[0])}}}) before the call"
    return GraphValueError(asked, seen, fix, origin(op))


def _chunks(partition: Partition) -> str:
    known = partition.known
    if len(set(known[:-1])) <= 1 and known[-1] <= known[0]:
        return str(known[0])
    return str(known) if len(known) <= 6 else "the chunks of the other"


def unknown_lengths(op: Node, operand: Node, axis: int, arguments: Arguments) -> AxiomError:
    """The error for an operation that needs unknown lengths of blocks."""
    source = source_of(operand, axis, arguments)
    name, own = ("the value", axis) if source is None else (source[0].name, source[1])
    return GraphValueError(
        f"{operation_of(op)}, for which positions along axis {own} of {name} count",
        "blocks whose lengths are not known before they are computed",
        f"{name}.compute_chunk_sizes() before the call",
        origin(op),
    )


def too_thin(name: str, axis: int, depth: int, cut: Partition) -> AxiomError:
    """The error for a stencil that reaches beyond the next block; `name` may be empty."""
    fix = f"{name}.rechunk({{{axis}: n}}) before the call, with n of at least {depth}"
    if not name:
        fix = "rechunk the arguments before the call, so that no block is shorter than that"
    return GraphValueError(
        f"elements up to {depth} places away along axis {axis} of {name or 'a value'}",
        f"blocks of lengths {cut}, the shortest of {min(cut.known)}",
        fix,
    )


def refused(asked: str, seen: str, instead: str, node: Node | None = None) -> AxiomError:
    """The error for an operation that no stage can run."""
    return GraphTypeError(asked, seen, instead, None if node is None else origin(node))
