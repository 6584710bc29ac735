"""What a spec computes of operands of every kind: arrays, traced arrays, tensors of both kinds."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from functools import partial
from typing import Any

import numpy as np

from axiomjit.accumulate.arrays import ArrayFunction
from axiomjit.base.bounded_tables import BoundedTable
from axiomjit.base.errors import ShapeError, SpecError
from axiomjit.base.origins import user_location
from axiomjit.base.records import Record
from axiomjit.graph import builder
from axiomjit.graph.contractions import Projections
from axiomjit.graph.describe import describe_shape
from axiomjit.graph.nodes import Node, Op, is_view
from axiomjit.graph.primitives import COPY
from axiomjit.graph.traced_values import NamedValue, NodeValue, ShapedValue, Source
from axiomjit.notation.joins import Joining
from axiomjit.notation.logic import Einsum
from axiomjit.notation.products import Meaning, emit
from axiomjit.notation.projections import labels_of, projections_of
from axiomjit.notation.rows import Solution, in_memory_order, solve_known
from axiomjit.notation.sizes import Size
from axiomjit.notation.specs import EinsumSpec
from axiomjit.notation.templates import SizeOf
from axiomjit.notation.tensors import as_shaped, record
from axiomjit.numpy_table.einsum import SpecReader
from axiomjit.symbolic.dims import Dim, dim


def computed(function: ArrayCall, placed: Sequence[Any]) -> Any:
    """The result, of the kind of the operands."""
    call = function.call
    hosts = [value for value in placed if isinstance(value, NodeValue | NamedValue)]
    if not hosts:
        function.capture(placed)
        return function(*placed)
    if any(isinstance(host, ShapedValue) for host in hosts):
        return _of_tensors(placed, call)
    nodes = [host for host in hosts if isinstance(host, NodeValue)]
    if nodes:
        return _of_values(nodes[0], placed, call)
    (host, *_) = hosts
    assert isinstance(host, NamedValue)
    return host.computed(partial(_of_named, call), placed, function.kept, "spec")


class Call(Record):
    """What is asked for, apart from the operands.

    `parsed` is None for a spec of NumPy's, `meaning` for a concatenation.
    """

    spec: str
    parsed: EinsumSpec | None
    meaning: Meaning | None
    sizes: tuple[tuple[str, SizeOf], ...]
    capture: tuple[Size, ...]
    broadcast: bool
    asked: str

    def build(
        self, nodes: Sequence[Node], captures: bool = False
    ) -> tuple[Node, tuple[tuple[Source, ...], ...], tuple[Dim, ...]]:
        """The node of the result, what dimensions of operands its dimensions are, and lengths.

        These are reduced and may not be 0.
        """
        shapes = [node.shape for node in nodes]
        if self.parsed is None:
            reader = SpecReader(self.spec, shapes)
            where: Projections | Joining = reader.projections()
            names: Sequence[Sequence[Hashable]] = reader.names()
        else:
            solution = self.solved(shapes, captures)
            where, names = self.project(solution), labels_of(self.parsed, solution)
        needed: tuple[Dim, ...] = ()
        if isinstance(where, Projections) and self.meaning and not self.meaning.has_start:
            needed = where.extents[where.rank :]
        return self.emit(where, nodes), _sources(names), needed

    def solved(self, shapes: Sequence[tuple[Dim, ...]], captures: bool) -> Solution:
        """The sizes for operands of these shapes."""
        assert self.parsed is not None
        check_ranks(self.parsed, shapes)
        capture = self.capture if captures else ()
        sizes = dict(self.sizes)
        return solve_known(self.parsed, shapes, sizes, self.asked, capture, self.broadcast)

    def project(self, solution: Solution) -> Projections | Joining:
        """Where operands and result are touched, of shapes that are closed."""
        assert self.parsed is not None
        if self.meaning is None:
            return Joining(self.parsed, solution)
        return projections_of(self.parsed, solution)

    def emit(self, where: Projections | Joining, nodes: Sequence[Node]) -> Node:
        """The node of the result."""
        if isinstance(where, Joining):
            return where.node(nodes, self.asked)
        assert self.meaning is not None
        return emit(where, nodes, self.meaning, self.asked)


def _sources(names: Sequence[Sequence[Hashable]]) -> tuple[tuple[Source, ...], ...]:
    """For each dimension of the result those of operands with its name."""
    written, *read = names
    places: dict[Hashable, list[Source]] = {}
    for k, own in enumerate(read):
        for d, name in enumerate(own):
            places.setdefault(name, []).append((k, d))
    return tuple(() if name is None else tuple(places.get(name, ())) for name in written)


def check_ranks(parsed: EinsumSpec, shapes: Sequence[tuple[Dim, ...]]) -> None:
    """Refuse operands with other than the axes of their slots.

    Raises:
        SpecError: a caret stands below the slot.
    """
    start = 0
    for k, (slot, shape) in enumerate(zip(parsed.operands, shapes, strict=False), 1):
        count = sum(len(row.axes) for _, row in slot.rows)
        several = any(row.variable is not None for _, row in slot.rows)
        rank = len(shape)
        if rank < count or (rank > count and not several):
            at = start + len(parsed.text[start:]) - len(parsed.text[start:].lstrip())
            axes = in_memory_order(slot)
            seen = f"operand {k} of shape {describe_shape(shape)} for axes in memory order {axes}"
            remedy = "write an axis for each dimension, or '...' for any number of them"
            raise SpecError(parsed.text, at, seen, remedy, user_location())
        start = parsed.text.find(";", start) + 1


def fresh(node: Node) -> Node:
    """The node as an array of its own."""
    return node if isinstance(node, Op) and not is_view(node) else builder.elementwise(COPY, node)


def _of_values(host: NodeValue, operands: Sequence[Any], call: Call) -> Any:
    """Traced arrays or axis tensors, whose lengths may not be known yet."""
    placing = host.placing(operands, call.asked)
    try:
        with placing.with_lengths():
            node, sources, needed = call.build(placing.nodes, captures=True)
    except KeyError:
        seen = "an axis whose length is needed and not known"
        remedy = "assign axis.length before"
        raise ShapeError(call.asked, seen, remedy, user_location()) from None
    node = fresh(node)
    if placing.need_elements is not None and call.meaning is not None:
        for length in needed:
            placing.need_elements(str(call.meaning.reduce), node, length)
    return placing.made(node, sources)


def _of_named(call: Call, *tensors: Any) -> Any:
    """Axis tensors in place of named arrays."""
    host = next(value for value in tensors if isinstance(value, NodeValue))
    return _of_values(host, tensors, call)


def _of_tensors(operands: Sequence[Any], call: Call) -> Any:
    if call.parsed is None:
        seen = "a spec of NumPy's for tensors with a shape"
        raise ShapeError(call.asked, seen, "write label notation: 'ij;jk=>ik'", user_location())
    tensors = [as_shaped(value, call.asked, split=False) for value in operands]
    logic = Einsum(call.parsed, call.sizes, call.capture, call.broadcast)
    return record(logic, tensors, call.project, call.emit, call.asked)


class ArrayCall(ArrayFunction):
    """What a spec computes of arrays that are at hand."""

    def __init__(self, call: Call) -> None:
        """Keep what is asked for."""
        super().__init__()
        self.call = call
        self.kept = BoundedTable[Hashable, Any]()  # functions of named arrays

    def nodes(self, arrays: Sequence[Node]) -> tuple[list[Node], bool]:
        """The result for nodes."""
        return [fresh(self.call.build(arrays)[0])], False

    def capture(self, arrays: Sequence[Any]) -> None:
        """Bind the sizes that are to be captured."""
        if self.call.capture:
            shapes = [tuple(map(dim, np.shape(array))) for array in arrays]
            self.call.solved(shapes, captures=True)

    def __repr__(self) -> str:
        return self.call.asked
