"""Bodies of regions: what a pass through one has written, the types of carried values, closing.

A body is followed with placeholders for the values of any trip. Closing makes a graph of it, whose
inputs are the placeholders and what the body captures: values that do not depend on the trip, which
are computed once, before the region.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final

import numpy as np

from axiomjit.base.array_values import OPERATOR_UFUNCS
from axiomjit.base.dtypes import BOOL, COMPLEX, FLOAT, INT, DType, is_complex, supported
from axiomjit.base.errors import amount
from axiomjit.base.records import Record
from axiomjit.base.trace_context import Following
from axiomjit.graph.builder import as_node, cast, elementwise, fold, python_number, strong
from axiomjit.graph.external_calls import stored
from axiomjit.graph.indexing_ops import ZERO, lengths_of
from axiomjit.graph.library_operations import AFTER
from axiomjit.graph.nodes import (
    Graph,
    Input,
    LengthNode,
    Node,
    Op,
    Saved,
    Scalar,
    is_view,
    post_order,
    size,
    with_operands,
)
from axiomjit.graph.primitives import ALL_OF, COPY, PRIMITIVES, WHERE
from axiomjit.graph.regions import Loop, Region, overwritten
from axiomjit.numpy_rules.elementwise import UFUNCS
from axiomjit.symbolic.dims import INDEX, Dim, Scope, Symbol
from axiomjit.symbolic.index_maps import fixed, identity
from axiomjit.symbolic.index_ranges import IndexRanges
from axiomjit.tracing.lengths import SymbolicFloat, SymbolicInt, SymbolicNumber
from axiomjit.tracing.operators import TracedStorage
from axiomjit.tracing.tracer import Tracer

MAX_OPERATIONS: Final = 400
"""The most operations of a body; a kernel of more takes long to compile."""
EXACT: Final = 2**53
"""Integers up to this magnitude are floats."""
_LARGEST: Final = Scalar(FLOAT, FLOAT.type(2.0**63 - 2**12), False)
"""A bound of integers of 64 bits that allows for the rounding of floats."""
_DEFAULT: Final = (BOOL, INT, FLOAT, COMPLEX)
"""The dtypes of Python's numbers, in the order of promotion."""


class RegionRefused(Exception):
    """A loop or branch that cannot be a region; `reason` says why. Nothing was recorded."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class RegionBody:
    """One pass through a body: the storages that it writes, and its checks.

    A check is a truth that must hold in each trip; else the call is answered by NumPy.
    """

    __slots__ = ("_before", "checks", "drawn", "failing", "finals", "outer")

    def __init__(self, outer: RegionBody | None) -> None:
        self.outer, self.checks = outer, list[Node]()
        self.failing: list[object] = []
        """The steps that may raise an error."""
        self.drawn: Node | None = None
        """The last random draw."""
        self.finals: dict[TracedStorage, Node] = {}
        self._before: dict[TracedStorage, Any] = {}

    def note_write(self, storage: TracedStorage) -> None:
        """Store the state of a storage before its first write."""
        for one in storage.related():
            self._before.setdefault(one, one.state())

    def owns(self, storage: TracedStorage) -> bool:
        """True if the body has made the storage, perhaps in a region inside it."""
        region = storage.region
        while region is not None and region is not self:
            region = region.outer
        return region is self

    def checked(self, positions: Node, length: Dim) -> Node:
        """Positions in an array, from its start; a check that all are within its length.

        Where the check fails they are 0, so that memory is safe until NumPy answers the call.

        Raises:
            RegionRefused: the array may be empty.
        """
        if not length > 0:
            raise RegionRefused("a computed position in an empty array")
        over = size(length)
        low = elementwise(PRIMITIVES["greater_equal"], positions, size(-length))
        high = elementwise(PRIMITIVES["less"], positions, over)
        within = elementwise(PRIMITIVES["logical_and"], low, high)
        self.check(within)
        negative = elementwise(PRIMITIVES["less"], positions, ZERO)
        behind = elementwise(PRIMITIVES["add"], positions, over)
        found = elementwise(WHERE, negative, behind, positions)
        return elementwise(WHERE, within, found, ZERO)

    def check(self, truth: Node) -> None:
        """Require that a truth holds, or all truths of an array."""
        axes = tuple(range(len(truth.shape)))
        self.checks.append(fold(ALL_OF, truth, axes) if axes else truth)

    def check_arithmetic(self, name: str, operands: Sequence[object], made: Node) -> None:
        """Check that Python raises no error, and that its integer fits 64 bits.

        Args:
            name: The operator.
            operands: The numbers or nodes that it takes.
            made: The node of its result.
        """
        if not made.weak or made.shape:
            return
        nodes = [strong(as_node(one, name)) for one in operands]
        if name in ("truediv", "floordiv", "mod") and not isinstance(nodes[1], Scalar):
            zero = Scalar(nodes[1].dtype, nodes[1].dtype.type(0), False)
            self.check(elementwise(PRIMITIVES["not_equal"], nodes[1], zero))
        if made.dtype == INT and name in ("add", "sub", "mul", "pow", "neg"):
            about = UFUNCS[OPERATOR_UFUNCS[name]](*(cast(node, FLOAT) for node in nodes))
            assert isinstance(about, Node)
            size_ = elementwise(PRIMITIVES["absolute"], about)
            self.check(elementwise(PRIMITIVES["less"], size_, _LARGEST))

    def bits(self, name: str, *operands: object) -> Node:
        """The result of an operator on the bits of Python's integers, which is one.

        Raises:
            RegionRefused: it shifts to the left, where Python's integers grow.
        """
        if name == "lshift":
            raise RegionRefused("a shift of a Python integer to the left")
        nodes = [strong(as_node(one, name)) for one in operands]
        made = UFUNCS[OPERATOR_UFUNCS[name]](*nodes)
        assert isinstance(made, Node)
        return python_number(made)

    def end(self) -> None:
        """Put all storages back as they were; `finals` has their last versions."""
        for storage, state in self._before.items():
            if not self.owns(storage):  # else the body may return it, with what is written
                self.finals[storage] = storage.version
                storage.put_back(state)


@contextmanager
def followed(
    following: Following, given: Mapping[TracedStorage, Node], draws: Node | None = None
) -> Iterator[RegionBody]:
    """Follow a body, with placeholders as the versions of storages, and for the draw before.

    Raises:
        RegionRefused: the body writes into memory that views of the function share.
    """
    region = RegionBody(following.region)
    arguments, failing, last = following.arguments, len(following.may_fail), following.last
    following.last = draws
    for storage, node in given.items():
        region.note_write(storage)
        storage.put_back((node, storage.state()[1]))
    following.region, following.arguments = region, None
    try:
        yield region
    finally:
        following.region, following.arguments = region.outer, arguments
        drawn, following.last = following.last, last
        region.end()
    if isinstance(drawn, Node) and drawn is not draws:
        region.drawn = drawn
    region.failing = following.may_fail[failing:]
    del following.may_fail[failing:]
    for storage in region.finals:
        if len(storage.related()) > 1:
            raise RegionRefused("a write into an array that may share memory with another one")


def after_steps(*steps: object) -> Node:
    """A number that is known once steps are done."""
    found: Node = Scalar(FLOAT, FLOAT.type(0), False)
    for node in (step for step in steps if isinstance(step, Node)):
        rank = len(node.shape)
        if all((n.constant or 0) > 0 for n in node.shape) and not is_complex(node.dtype):
            first = Op(node.dtype, COPY, None, (node,), ((fixed(0),) * rank,), (), 0)
            done: Node = cast(first, FLOAT)
        else:  # it may have no element
            given = (stored(node),), (identity(rank),), node.shape, 0
            done = Op(FLOAT, AFTER.replace(ranks=(rank,)), None, *given)
        found = elementwise(PRIMITIVES["add"], found, done)
    return found


class Kind(Record):
    """The type of a carried value: a number, weak if it is Python's, or an array bound anew."""

    dtype: DType
    weak: bool
    shape: tuple[Dim, ...] = ()
    is_array: bool = False


def kind_of(value: Any) -> Kind | None:
    """The type of a value that may be carried; None for other objects."""
    if issubclass(type(value), Tracer):
        node = value.node
        return Kind(node.dtype, node.weak, node.shape, value.is_array)
    if issubclass(type(value), SymbolicNumber):
        return Kind(INT if isinstance(value, SymbolicInt) else FLOAT, _is_weak(value))
    if type(value) in (bool, int, float, complex):
        kinds = {bool: BOOL, int: INT, float: FLOAT, complex: COMPLEX}
        if type(value) is int and not -(2**63) <= value < 2**63:
            return None
        return Kind(kinds[type(value)], True)
    if isinstance(value, np.generic) and value.dtype.kind in "biufc":
        return Kind(supported(value.dtype, "a carried number", None), False)
    return None


def _is_weak(value: SymbolicNumber) -> bool:
    return not isinstance(value, SymbolicFloat) or value.node.weak


def joined(first: Any, one: Kind, other: Kind) -> Kind:
    """The type of a value that has either type; `first` is the value of the first one, if known.

    Raises:
        RegionRefused: arithmetic in the joined type may differ from that in the first type.
    """
    if one == other:
        return one
    if one.shape != other.shape or one.is_array != other.is_array:
        raise RegionRefused("a carried value of changing shape")
    ranks = [_DEFAULT.index(k.dtype) if k.dtype in _DEFAULT else -1 for k in (one, other)]
    if -1 in ranks or BOOL in (one.dtype, other.dtype):
        raise RegionRefused(f"a carried value that is {one.dtype} and {other.dtype}")
    small = type(first) is not int or abs(first) <= EXACT
    if one.is_array or not small:
        raise RegionRefused("a carried number that may not be exact in the type it gets")
    return Kind(_DEFAULT[max(ranks)], one.weak and other.weak)


class Body(Record):
    """A closed body: graphs over the same inputs, and the operands that they capture."""

    graphs: tuple[Graph, ...]
    captured: tuple[Node, ...]


def close_bodies(
    scope: Scope,
    placeholders: Sequence[Input],
    ends: Sequence[Mapping[int, Node]],
    index: Symbol | None,
    since: int,
    captured: Sequence[Node] = (),
) -> Body:
    """Make a graph of each set of outputs.

    Args:
        scope: The scope of the trace, with the range of the index.
        placeholders: The inputs that represent carried values, by position.
        ends: For each graph its outputs, by the position of the input that each one replaces; a
            result that replaces none has the position -1.
        index: The index of the loop.
        since: The number of regions before; later copies are made in the body.
        captured: Operands behind the carried ones, whatever bodies read.

    Raises:
        RegionRefused: a body has a step that no loop computes.
        UndecidedError: the lengths of a body have no limit known before the loop.
    """
    everything = [node for outputs in ends for node in outputs.values()]
    inner = _inside(everything, placeholders, index, since)
    taken: dict[Node, None] = {}
    chosen = {symbol for key, symbol in scope.data_dependent.items() if key in inner}
    for node in inner:
        _refuse_step(node, scope)
        if chosen and not chosen.isdisjoint(symbols_of(node)):
            raise RegionRefused("a number of elements that a mask chooses in each trip")
        taken |= {child: None for child in node.children if _is_captured(child, inner)}
    taken |= {node: None for node in everything if _is_captured(node, inner)}
    if len(inner) > MAX_OPERATIONS:
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


def _is_captured(node: Node, inner: Mapping[Node, None]) -> bool:
    return node not in inner and not isinstance(node, Scalar | LengthNode)


def _inside(
    outputs: Sequence[Node], placeholders: Sequence[Node], index: Symbol | None, since: int
) -> dict[Node, None]:
    """The nodes that each trip computes: those that depend on it, and memory that it writes."""
    order = post_order(tuple(outputs))
    inner: dict[Node, None] = dict.fromkeys(placeholders)
    for node in order:
        own = index is not None and index in symbols_of(node)
        own = own or (isinstance(node, Saved) and node.number < -since)
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


def symbols_of(node: Node) -> frozenset[Symbol]:
    """The symbols in the lengths of a node, and of the bodies of a region."""
    found = frozenset[Symbol]().union(*(length.symbols for length in lengths_of(node)))
    region = node.primitive if isinstance(node, Op) else None
    if isinstance(region, Region):
        for body in region.bodies:
            found = found.union(*map(symbols_of, body.nodes))
        if isinstance(region, Loop) and region.trips is not None:
            found |= region.trips.symbols
    return found


def _refuse_step(node: Node, scope: Scope) -> None:
    """Refuse a node that no plan of a body computes."""
    if not isinstance(node, Op) or isinstance(node.primitive, Region):
        return
    ranges = scope.indices
    if isinstance(ranges, IndexRanges):
        for extent in node.extents:
            ranges.ends(extent)
    named = {symbol.kind for length in lengths_of(node) for symbol in length.symbols}
    if (node.regions or node.conditions) and INDEX in named:
        raise RegionRefused(f"a {node.primitive} of parts that differ between trips")


def _refuse_other_index(node: Node, scope: Scope) -> None:
    """Refuse the index of a loop that has ended."""
    ranges = scope.indices
    known = {one for one, _, _ in ranges.ranges} if isinstance(ranges, IndexRanges) else set()
    named = (symbol for length in lengths_of(node) for symbol in length.symbols)
    if any(symbol.kind == INDEX and symbol not in known for symbol in named):
        raise RegionRefused("the index of a loop outside of it")
