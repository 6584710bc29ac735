"""The bodies of regions, as closed graphs, and the derivatives that users give in bodies.

A body is traced with placeholders for the values of a trip. Closing turns the body into a graph
whose inputs are the placeholders and the captured values. Captured values do not depend on the trip
and are computed once, before the region.

The node of a result with a given derivative has these operands: the value, a hole that stands for
the cotangent of the result, the inputs of the derivative, and the cotangents of the inputs, which
read the hole. The parts of the derivative are operands, so code that closes a body, instantiates a
body or cuts a body into blocks also rewrites the derivative. No program reads the operands of the
derivative, because `values_alone` removes given derivatives before a program is made.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np

from axiomjit.base.errors import amount
from axiomjit.base.records import Record
from axiomjit.graph import builder
from axiomjit.graph.external_calls import stored
from axiomjit.graph.library_operations import LibraryOperation
from axiomjit.graph.nodes import (
    Graph,
    Input,
    LengthNode,
    Node,
    Op,
    Saved,
    Scalar,
    is_view,
    note,
    post_order,
    with_operands,
)
from axiomjit.graph.primitives import ANY_NUMBER, COPY, Primitive
from axiomjit.graph.regions import Region, has_loops, overwritten, rebuilt, symbols_of
from axiomjit.symbolic.dims import INDEX, Scope, Symbol, dim
from axiomjit.symbolic.index_maps import fixed, identity
from axiomjit.symbolic.index_ranges import IndexRanges, UndecidedError

GIVEN: Final = Primitive("given", ANY_NUMBER, lambda value, *rest: np.array(value), "{0}")
"""The primitive whose result is its first operand; a trace may evaluate the primitive, too."""


class Hole(Op):
    """A placeholder for a cotangent; `Given.pulled` replaces the hole by the cotangent."""

    number: int = 0


class Given(Op):
    """A copy of the first operand, with a given derivative as further operands."""

    @property
    def inputs(self) -> tuple[Node, ...]:
        """The nodes whose cotangents the derivative gives."""
        return self.operands[2 : 2 + (len(self.operands) - 2) // 2]

    def pulled(self, g: Node) -> list[Node]:
        """The cotangents of the inputs, for the cotangent `g` of the result."""
        return rebuilt(self.operands[2 + len(self.inputs) :], {self.operands[1]: g})


def hole_like(node: Node, number: int) -> Hole:
    """A hole with the dtype and shape of a node; the number distinguishes the hole from others."""
    rank = len(node.shape)
    zero = Scalar(node.dtype, node.dtype.type(0), False)
    return Hole(node.dtype, COPY, None, (zero,), ((),), node.shape, rank, number=number)


def given(value: Node, hole: Hole, pairs: Sequence[tuple[Node, Node]]) -> Given:
    """A copy of a value whose derivative is given.

    Args:
        value: The value.
        hole: The node that stands for the cotangent of the value.
        pairs: Pairs of an input and the cotangent of the input.
    """
    inputs, cotangents = [one for one, _ in pairs], [one for _, one in pairs]
    operands = (value, hole, *inputs, *cotangents)
    rank = len(value.shape)
    maps = [tuple(fixed(0) for _ in node.shape) for node in operands[1:]]
    maps = [identity(rank), *maps]
    return note(Given(value.dtype, GIVEN, None, operands, tuple(maps), value.shape, rank))


def values_alone(outputs: Sequence[Node], given: Mapping[Node, Node] | None = None) -> list[Node]:
    """The outputs without given derivatives, which are also removed in the bodies of regions."""
    new = dict(given or {})
    for node in post_order(tuple(outputs), lambda n: () if n in new else _read(n)):
        if node in new:
            continue
        if isinstance(node, Given):
            new[node] = builder.elementwise(COPY, new[node.operands[0]])
            continue
        made = with_operands(node, [new[child] for child in node.children])
        if isinstance(made, Op) and isinstance(made.primitive, Region):
            made = made.replace(primitive=_without(made.primitive))
        new[node] = made
    return [new[node] for node in outputs]


def _read(node: Node) -> tuple[Node, ...]:
    return node.operands[:1] if isinstance(node, Given) else node.children


def _without(region: Region) -> Region:
    bodies = tuple(
        body.replace(outputs=tuple(values_alone(body.outputs))) for body in region.bodies
    )
    same = all(new.outputs == old.outputs for new, old in zip(bodies, region.bodies, strict=True))
    return region if same else region.replace(bodies=bodies)


def graph_of_values(graph: Graph) -> Graph:
    """The graph without given derivatives."""
    return graph.replace(outputs=tuple(values_alone(graph.outputs)))


MAX_OPERATIONS: Final = 400
"""The largest number of operations of a body; a larger kernel takes long to compile."""


class RegionRefused(Exception):
    """Raised if a loop or branch cannot be a region, for a `reason`; nothing was recorded."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class Body(Record):
    """A closed body: graphs with the same inputs, and the operands that the graphs capture."""

    graphs: tuple[Graph, ...]
    captured: tuple[Node, ...]


def close_bodies(
    scope: Scope,
    placeholders: Sequence[Input],
    ends: Sequence[Mapping[int, Node]],
    index: Symbol | None,
    since: int,
    captured: Sequence[Node] = (),
    most: int = MAX_OPERATIONS,
    around: IndexRanges | None = None,
) -> Body:
    """The body with one closed graph for each set of outputs.

    Args:
        scope: The scope of the trace, with the range of the index.
        placeholders: The inputs that represent carried values, by position.
        ends: The outputs of each graph, by the position of the input that an output replaces; a
            result that replaces no input has the position -1.
        index: The index of the loop.
        since: The number of regions before the body; the body makes the copies with larger numbers.
        captured: The operands that follow the carried operands, even if no body reads them.
        most: The largest number of operations of all bodies together.
        around: The ranges of outer loops, if they include trips in which this loop has no trips.
            Values that cannot be computed in trips of outer loops without trips of this loop stay
            in the body.

    Raises:
        RegionRefused: a body has an operation that a loop cannot compute.
        UndecidedError: a length in a body has no limit that is known before the loop.
    """
    everything = [node for outputs in ends for node in outputs.values()]
    inner = _inside(everything, placeholders, index, since, around)
    taken: dict[Node, None] = {}
    chosen = {symbol for key, symbol in scope.data_dependent.items() if key in inner}
    for node in inner:
        _refuse_step(node, scope)
        if chosen and not chosen.isdisjoint(symbols_of(node)):
            raise RegionRefused("a number of elements that a mask chooses in each trip")
        taken |= {child: None for child in node.children if _is_captured(child, inner)}
        if any(_is_captured(child, inner) for child in node.children[: overwritten(node)]):
            raise RegionRefused("a write into memory that the loop does not carry")
    taken |= {node: None for node in everything if _is_captured(node, inner)}
    if len(inner) > most:
        raise RegionRefused(f"{amount(len(inner), 'operation')} in a trip")
    operands = [*map(stored, captured), *map(stored, taken)]
    first = len(placeholders)
    inputs = tuple(
        Input(node.dtype, k, node.shape) for k, node in enumerate((*placeholders, *operands))
    )
    new: dict[Node, Node] = dict(zip(placeholders, inputs[:first], strict=True))
    new |= dict(zip(taken, inputs[first + len(captured) :], strict=True))
    for node in post_order(tuple(everything), lambda n: () if n in new else n.children):
        if node not in new:
            _refuse_other_index(node, scope)
            new[node] = with_operands(node, [new[child] for child in node.children])
    graphs = []
    for outputs in ends:
        writes = tuple(sorted(position for position in outputs if position >= 0))
        order = (*(position for position in outputs if position < 0), *writes)
        graphs.append(Graph(inputs, tuple(new[outputs[k]] for k in order), writes))
    return Body(tuple(graphs), tuple(operands))


def is_elementwise_beyond(body: Graph, scope: Scope, most: float) -> bool:
    """True if a trip calls no library and computes a value with more than `most` elements."""
    order = post_order(body.outputs)
    plain = [n for n in order if isinstance(n, Op) and has_loops(n)]
    if math.isinf(most) or any(isinstance(n.primitive, LibraryOperation) for n in plain):
        return False
    ranges = scope.indices
    for node in plain:
        lengths = node.looped_extents
        ends = [ranges.ends(n) if isinstance(ranges, IndexRanges) else [n] for n in lengths]
        if math.prod(max(map(scope.value, each)) for each in ends) > most:
            return True
    return False


def _is_captured(node: Node, inner: Mapping[Node, None]) -> bool:
    return node not in inner and not isinstance(node, Scalar | LengthNode)


def _inside(
    outputs: Sequence[Node],
    placeholders: Sequence[Node],
    index: Symbol | None,
    since: int,
    around: IndexRanges | None,
) -> dict[Node, None]:
    """The nodes that every trip computes: nodes that depend on the trip, and written memory."""
    order = post_order(tuple(outputs))
    inner: dict[Node, None] = dict.fromkeys(placeholders)
    for node in order:
        own = index is not None and index in symbols_of(node)
        own = own or (isinstance(node, Saved) and node.number < -since) or isinstance(node, Hole)
        own = own or (around is not None and not _is_computed_in(node, around))
        if own or any(child in inner for child in node.children):
            inner[node] = None
    waiting = list(inner)
    while waiting:
        node = waiting.pop()
        for k, child in enumerate(node.children):
            seen = is_view(child) or k < overwritten(node)
            if seen and child not in inner and not isinstance(child, Input):
                inner[child] = None
                waiting.append(child)
    return {node: None for node in (*placeholders, *order) if node in inner}


def _is_computed_in(node: Node, around: IndexRanges) -> bool:
    """True if a value is defined in all trips of ranges: its lengths and reads are valid."""
    if not isinstance(node, Op) or isinstance(node.primitive, LibraryOperation):
        return True
    if overwritten(node) or not around.occur_in(*map(dim, symbols_of(node))):
        return True
    limits = list(node.extents)
    for child, place in zip(node.operands, node.maps, strict=False):
        for position, extent in zip(place, child.shape, strict=True):
            low = high = position.offset
            for k, step in position.terms:
                if step.constant is None:
                    return False
                reach = step * (node.extents[k] - 1)
                low, high = (low + reach, high) if step.constant < 0 else (low, high + reach)
            limits += [low, extent - 1 - high]
    try:
        return all(around.outcome(one, ">=") for one in limits if around.occur_in(one))
    except UndecidedError:
        return False


def _refuse_step(node: Node, scope: Scope) -> None:
    """Refuse a node that the plan of a body cannot compute."""
    if not isinstance(node, Op) or isinstance(node.primitive, Region):
        return
    ranges = scope.indices
    if isinstance(ranges, IndexRanges):
        for extent in node.extents:
            ranges.ends(extent)
    named = {symbol.kind for symbol in node.symbols}
    if (node.regions or node.conditions) and INDEX in named:
        raise RegionRefused(f"a {node.primitive} of parts that differ between trips")


def _refuse_other_index(node: Node, scope: Scope) -> None:
    """Refuse a node that uses the index of a loop that has ended."""
    ranges = scope.indices
    known = {one for one, _, _ in ranges.ranges} if isinstance(ranges, IndexRanges) else set()
    if any(symbol.kind == INDEX and symbol not in known for symbol in node.symbols):
        raise RegionRefused("the index of a loop outside of it")
