"""Choose the order in which the dimensions of each value are stored in memory."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from axiomjit.graph.nodes import (
    Constant,
    Graph,
    Input,
    Node,
    Op,
    Readers,
    Update,
    base_of,
    is_view,
    loop_readers,
    root_of,
    users,
)
from axiomjit.graph.primitives import GATHER, PACKS, SAVE
from axiomjit.graph.regions import overwritten
from axiomjit.graph.storages import strides_of_constant
from axiomjit.passes.ir.context import Layouts
from axiomjit.passes.ir.view_ir import Library
from axiomjit.symbolic.dims import Dim, dim, product
from axiomjit.symbolic.index_maps import IndexMap, identity, magnitude, stride_size, strides_through

Order = tuple[int, ...]
"""An order of dimensions in memory, outermost first."""
StrideKey = tuple[int, ...] | None
"""A key by which dimensions are sorted by their strides; None for a broadcast dimension."""
_STEP_OF_STRIDE: Final[dict[int | None, int]] = {0: 0, 1: 1, -1: 1}
_KEEP_ORDER: Final = (*PACKS, GATHER, SAVE)
"""Primitives whose results keep NumPy's memory order."""
MAX_COST_RATIO: Final = 0.8
"""Another order is chosen only if it reduces the cost of the loops to this fraction or less."""
LINE_BYTES: Final = 64
"""The number of bytes of a cache line."""
TYPICAL_LENGTH: Final = 64
"""The value assumed for an unknown length, so that the choice does not depend on it."""
STORE_COST: Final = 1.5
"""The cost of a store, in loads."""


def choose_layouts(
    graph: Graph,
    layouts: Layouts,
    stored: Mapping[Node, Library | None],
    variables: Collection[Node] = (),
) -> dict[Node, Order]:
    """Choose for each op the order of its dimensions in memory, the outermost first.

    Results are stored in the order of their operands (NumPy's K). A temporary that only loops write
    and read is stored in the order that is cheapest for these loops at any lengths, or in K order
    if the gain is small. The layout of the inputs in `variables` is chosen likewise, with C order
    as the default.

    Needs: a legal graph in which only outputs are views, and its stored values.
    Gives: an order of dimensions for every op that is no view, and for every variable.
    Keeps: the graph, and the order of arrays that callers see.
    """
    orders, strides = _memory_orders(graph, layouts)
    for node in variables:
        orders[node] = tuple(range(len(strides.pop(node, ()))))
    return _LayoutChoice(graph, stored, orders, strides).chosen()


def _memory_orders(
    graph: Graph, layouts: Layouts
) -> tuple[dict[Node, Order], dict[Node, tuple[Dim, ...]]]:
    """NumPy's memory order for the results of ops, and the strides of arguments and constants."""
    orders: dict[Node, Order] = {}
    strides: dict[Node, tuple[Dim, ...]] = {}
    keys: dict[Node, tuple[StrideKey, ...]] = {}
    for node in graph.nodes:
        if isinstance(node, Update):
            keys[node] = keys[node.operands[0]]
        elif isinstance(node, Input | Constant) and not (isinstance(node, Input) and node.weak):
            given = (
                strides_of_constant(node) if isinstance(node, Constant) else layouts[node.position]
            )
            strides[node], keys[node] = given, _stride_keys(given, node.shape)
        elif isinstance(node, Op) and not is_view(node):
            order = orders[node] = _order(node, keys)
            keys[node] = tuple(
                None if length.constant == 1 else (-order.index(d),)
                for d, length in enumerate(node.shape)
            )
    return orders, strides


def _stride_keys(strides: tuple[Dim, ...], shape: tuple[Dim, ...]) -> tuple[StrideKey, ...]:
    """The sort keys of strides; None for broadcast dimensions and dimensions of length 1."""
    return tuple(
        None if stride.constant == 0 or length.constant == 1 else stride_size(stride)
        for stride, length in zip(strides, shape, strict=True)
    )


def _order(op: Op, keys: Mapping[Node, tuple[StrideKey, ...]]) -> Order:
    """The order of an op's dimensions that fits the memory orders of its operands."""
    if op.primitive in (*PACKS, GATHER):  # C order; a SAVE has its operand's order
        return tuple(range(op.rank))
    found = []
    for child, index in zip(op.operands, op.maps, strict=True):
        along: list[StrideKey] = [None] * op.rank
        for key, function in zip(keys.get(child, ()), index, strict=False):
            for k, factor in function.terms:
                if k < op.rank and key is not None and op.extents[k].constant != 1:
                    along[k] = max(along[k] or (), (*key, magnitude(factor)))
        found.append(along)
    return _memory_order(op.rank, found)


def _memory_order(rank: int, operands: Sequence[Sequence[StrideKey]]) -> Order:
    """The order of dimensions that fits the memory orders of operands.

    As in NumPy's iterator, each dimension, starting from the last one, is inserted as far inside as
    its strides allow. Two dimensions about which operands disagree are in C order.
    """
    order: list[int] = []  # innermost first
    for d in reversed(range(rank)):
        place = len(order)
        for at in reversed(range(len(order))):
            known = [s for s in operands if s[d] is not None and s[order[at]] is not None]
            if not known:
                continue
            if any(s[order[at]] <= s[d] for s in known):  # type: ignore[operator]
                break
            place = at
        order.insert(place, d)
    return tuple(reversed(order))


class _LayoutChoice:
    """Chooses the orders of temporaries, from the last temporary to the first."""

    def __init__(
        self,
        graph: Graph,
        stored: Mapping[Node, Library | None],
        orders: dict[Node, Order],
        strides: Mapping[Node, tuple[Dim, ...]],
    ) -> None:
        self.stored, self.orders, self.strides = stored, orders, strides
        self.users = users(graph)
        self.shown = {root_of(base_of(node)) for node in graph.outputs}
        self.nodes = graph.nodes
        self.free = [node for node in self.nodes if node in orders and self._is_free(node)]
        # the loads in the loops of each op; the ops whose loops load each value
        self.loads: dict[Op, list[tuple[Node, IndexMap]]] = {}
        self.readers: dict[Node, Readers] = {}

    def chosen(self) -> dict[Node, Order]:
        """The chosen orders of all ops."""
        if self.free:
            self._find_readers()
        for node in reversed(self.free):
            loops = dict.fromkeys((node, *(reader for reader, _ in self.readers[node])))
            if all(self.stored.get(reader) is None for reader in loops):
                self._choose(node, [op for op in loops if isinstance(op, Op)])
        return self.orders

    def _is_free(self, node: Node) -> bool:
        """True if a value is a variable, or a temporary that is written once and by loops only."""
        if isinstance(node, Op) and (node not in self.stored or node.primitive in _KEEP_ORDER):
            return False
        written = any(node in u.operands[: overwritten(u)] for u in self.users[node])
        long = sum(length.constant != 1 for length in node.shape)
        return long > 1 and not written and node not in self.shown and self.stored.get(node) is None

    def _find_readers(self) -> None:
        for node in reversed(self.nodes):
            if isinstance(node, Op) and is_view(node):
                continue
            found = loop_readers(node, self.users, self.stored, self.readers)
            self.readers[node] = found
            if node in self.strides or node in self.stored or not isinstance(node, Op):
                for reader, index in found:
                    self.loads.setdefault(reader, []).append((node, index))

    def _choose(self, node: Node, loops: list[Op]) -> None:
        """Choose the order of a value for which the loops that write and read it cost least."""
        plain = self.orders[node]
        costs: dict[Order, float] = {}
        for inner in (plain[-1], *plain[:-1]):
            order = (*(d for d in plain if d != inner), inner)
            self.orders[node] = order
            costs[order] = sum(_moved_bytes(op.extents, self._accesses(op)) for op in loops)
        best = min(costs, key=lambda order: costs[order])
        self.orders[node] = best if costs[best] <= MAX_COST_RATIO * costs[plain] else plain

    def _accesses(self, op: Op) -> Iterator[_Access]:
        count = len(op.extents)
        for node, index in self.loads.get(op, ()):
            yield _Access(node.dtype.itemsize, self._steps(node, index, count))
        if op in self.stored and op in self.orders:
            steps = self._steps(op, identity(op.rank), count)
            yield _Access(op.dtype.itemsize, steps, STORE_COST)

    def _steps(self, node: Node, index: IndexMap, count: int) -> tuple[int | None, ...]:
        """The stride of each iterator in a value's memory: 0 or 1 elements, None for others."""
        if node in self.strides:
            strides = self.strides[node]
        elif node in self.orders:
            lengths = [length.constant for length in node.shape]
            inner = next((d for d in reversed(self.orders[node]) if lengths[d] != 1), None)
            strides = tuple(dim(1 if d == inner else 2) for d in range(len(lengths)))
        else:  # a version of a storage that is written
            strides = tuple(dim(1 if d + 1 == len(index) else 2) for d in range(len(index)))
        _, moved = strides_through(index, strides, count, dim)
        return tuple(_STEP_OF_STRIDE.get(stride.constant) for stride in moved)


class _Access(NamedTuple):
    """A memory access in loops: the bytes of an element, and the step along each loop.

    A step is 0 or 1 elements; None stands for a larger step.
    """

    itemsize: int
    steps: tuple[int | None, ...]
    weight: float = 1.0


def _moved_bytes(extents: Sequence[Dim], walks: Iterable[_Access]) -> float:
    """The number of bytes that loops move if the loop with the lowest cost is innermost.

    With a step of one element, all bytes of a cache line are used; a larger step moves a line per
    iteration.
    """
    walks = list(walks)
    loops = [k for k, extent in enumerate(extents) if extent.constant != 1]
    costs = (sum(w.weight * _bytes(w, k) for w in walks) for k in loops)
    return _volume(product(tuple(extents))) * min(costs, default=0.0)


def _bytes(walk: _Access, loop: int) -> int:
    step = walk.steps[loop]
    return max(LINE_BYTES, walk.itemsize) if step is None else step * walk.itemsize


def _volume(points: Dim) -> int:
    return sum(abs(factor) * TYPICAL_LENGTH ** len(monomial) for monomial, factor in points.terms)
