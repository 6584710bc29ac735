"""Graph -> ViewProgram: storages get layouts, reads become strides, r-tensors get no storage.

`choose_layouts` chooses the order in memory of the dimensions of each value.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from axiomjit.base.locks import lazy_import
from axiomjit.graph.known_strides import strides_of_constant
from axiomjit.graph.nodes import (
    PART_VIEWS,
    Constant,
    Graph,
    Input,
    LengthNode,
    Node,
    Op,
    Scalar,
    Update,
    base_of,
    is_view,
    post_order,
    root_of,
    users,
)
from axiomjit.graph.primitives import GATHER, IMAG_VIEW, MATERIALIZE, PACKS, READ_ONLY, SAVE, VIEW
from axiomjit.passes.graph.choose_storage import Readers, choose_storage, loop_readers
from axiomjit.passes.ir.context import Context, Layouts
from axiomjit.passes.ir.view_ir import (
    ArrayRole,
    Count,
    Definition,
    Library,
    Number,
    ReadOperand,
    Storage,
    Value,
    View,
    ViewProgram,
)
from axiomjit.symbolic.dims import Dim, dim, product
from axiomjit.symbolic.index_maps import IndexMap, identity, magnitude, stride_size, strides_through
from axiomjit.views.dense_layout import ordered_strides


def lower_to_views(graph: Graph, context: Context) -> ViewProgram:
    """Give memory to stored values, and turn every read into strides.

    Outputs, operands and results of library calls, folds that others broadcast, and values too
    expensive to compute twice are stored, in the order of dimensions that `choose_layouts` finds;
    everything else is an r-tensor. A version of a storage overwrites the version before.

    Needs: a legal graph in which only outputs are views, and versions are read before the next one.
    Gives: a legal view program with one result per output.
    Keeps: the value of every output; outputs that are views stay views.
    """
    return _Lowering(graph, context.layouts, choose_storage(graph, context.scope)).program()


class _Lowering:
    """The state of one lowering: the storage, number or value of each node."""

    def __init__(
        self, graph: Graph, layouts: Layouts, stored: Mapping[Node, Library | None]
    ) -> None:
        self.graph = graph
        self.layouts = layouts
        self.stored = stored
        self.storages: dict[Node, Storage] = {}
        self.numbers: dict[Node, Number] = {}
        self.values: dict[Node, str] = {}
        self.definitions: list[Definition] = []
        self.orders = choose_layouts(graph, layouts, stored)
        self.versions: dict[Node, int] = {}
        self.shown = {root_of(base_of(node)) for node in graph.outputs}

    def program(self) -> ViewProgram:
        """Lower all nodes in order."""
        for node in self._nodes():
            if isinstance(node, Update):
                self._update(node)
            elif isinstance(node, Op):
                if not is_view(node):
                    self._define(node)
            else:
                self._leaf(node)
        results = tuple(self._shown(node) for node in self.graph.results)
        pairs = zip(self.graph.data_dependent, self.graph.counts, strict=True)
        counts = tuple(Count(choice, self._shown(node)) for choice, node in pairs)
        return ViewProgram(
            tuple(dict.fromkeys(self.storages.values())),
            tuple(self.numbers.values()),
            tuple(self.definitions),
            results,
            counts,
        )

    def _nodes(self) -> list[Node]:
        """All nodes, operands before users, and readers of a version before the next one."""
        if any(isinstance(node, Update) for node in self.stored):
            late = lazy_import("axiomjit.passes.graph.order_writes")  # few programs write
            order = late.order_writes(self.graph, self.stored)
            assert not order.late, "versions with later readers are saved before"
            return post_order((*order.ops, *self.graph.outputs))
        return post_order((*self.graph.counts, *self.graph.outputs))

    def _update(self, op: Update) -> None:
        """Write the next version of a storage over the one before."""
        old, *read = op.operands
        storage = self.storages[old]
        self.versions[op] = self.versions.get(old, 0) + 1
        operands = tuple(map(self._operand, read, op.maps[1:], (op,) * len(read)))
        name = self.values[op] = f"r{len(self.values)}"
        self.storages[op] = storage
        target = _view(self._whole(op), op.maps[0], op.extents)
        self.definitions.append(
            Definition(
                *(name, op.dtype, VIEW, None, operands, op.extents, op.rank, storage),
                target=target,
                ordered=_ordered(op),
                combine=op.combine,
            )
        )

    def _leaf(self, node: Node) -> None:
        if isinstance(node, Input) and not node.weak:
            strides = self.layouts[node.position]
            name = f"a{len(self.storages)}"
            self.storages[node] = Storage(
                name, ArrayRole.ARGUMENT, node.dtype, node.shape, strides, node
            )
        elif isinstance(node, Constant):
            strides = strides_of_constant(node)
            name = f"a{len(self.storages)}"
            self.storages[node] = Storage(
                name, ArrayRole.HELD, node.dtype, node.shape, strides, node
            )
        else:
            assert isinstance(node, Input | Scalar | LengthNode)
            self.numbers[node] = Number(f"c{len(self.numbers)}", node.dtype, node)

    def _define(self, op: Op) -> None:
        storage = None
        if op in self.stored:
            stays = op.primitive is MATERIALIZE
            kept = ArrayRole.MATERIALIZED if stays else ArrayRole.TEMPORARY
            role = ArrayRole.RESULT if op in self.shown else kept
            storage = self._storage(op, role)
        operands = tuple(
            self._operand(child, index, op)
            for child, index in zip(op.operands, op.maps, strict=True)
        )
        name = f"r{len(self.values)}"
        self.values[op] = name
        self.definitions.append(
            Definition(
                name,
                op.dtype,
                op.primitive,
                op.fold,
                operands,
                op.extents,
                op.rank,
                storage,
                self.stored.get(op),
                op.regions,
                conditions=op.conditions,
            )
        )
        if storage is not None:
            self.storages[op] = storage

    def _storage(self, op: Node, role: ArrayRole) -> Storage:
        letter = "o" if role is ArrayRole.RESULT else "t"
        order = self.orders.get(op, tuple(range(len(op.shape))))
        strides = ordered_strides(op.shape, order)
        return Storage(f"{letter}{len(self.storages)}", role, op.dtype, op.shape, strides)

    def _operand(self, child: Node, index: IndexMap, op: Op) -> ReadOperand:
        if child in self.numbers:
            return self.numbers[child]
        if child in self.storages:
            return _view(self._whole(child), index, op.extents)
        return Value(self.values[child], index)

    def _shown(self, node: Node) -> View:
        """A result as a view, one stride per dimension."""
        if not is_view(node):
            if node in self.numbers:
                self._copy_number(node)
            return self._whole(node)
        assert isinstance(node, Op)
        below = self._shown(node.operands[0])
        if node.primitive.name in PART_VIEWS:
            below = _parts(below, node)
        writable = below.writable and node.primitive is not READ_ONLY
        return _view(below, node.maps[0], node.shape).replace(writable=writable)

    def _whole(self, node: Node) -> View:
        """A view of the whole storage of a node, at the present version."""
        storage = self.storages[node]
        version = self.versions.get(node, 0)
        return View(storage, storage.shape, dim(0), storage.strides, version=version)

    def _copy_number(self, node: Node) -> None:
        """Store a number that is returned unchanged in a storage without dimensions."""
        if node in self.storages:
            return
        storage = self._storage(node, ArrayRole.RESULT)
        self.storages[node] = storage
        name = f"r{len(self.values)}"
        self.values[node] = name
        operands = (self.numbers[node],)
        self.definitions.append(Definition(name, node.dtype, VIEW, None, operands, (), 0, storage))


def _ordered(op: Update) -> frozenset[int]:
    """The iterators along which an update may write one element again.

    An iterator that alone indexes a dimension of the target is none of them.
    """
    if op.walked == op.extents and op.combine is None:
        return frozenset()
    once = {function.terms[0][0] for function in op.maps[0] if len(function.terms) == 1}
    return frozenset(range(op.rank)) - once


def _parts(view: View, part: Op) -> View:
    """The real or imaginary parts of a view's elements; in memory the two are interleaved."""
    offset = view.offset * 2 + int(part.primitive is IMAG_VIEW)
    strides = tuple(stride * 2 for stride in view.strides)
    return view.replace(offset=offset, strides=strides, dtype=part.dtype)


def _view(view: View, index: IndexMap, extents: tuple[Dim, ...]) -> View:
    """A view read through a map: one stride per iterator of the reading op."""
    offset, strides = strides_through(index, view.strides, len(extents), dim)
    return view.replace(shape=extents, offset=view.offset + offset, strides=strides)


Order = tuple[int, ...]
"""Dimensions, outermost first."""
StrideKey = tuple[int, ...] | None
"""The sort key of a value's stride; None without a stride."""
_NEAR: Final[dict[int | None, int]] = {0: 0, 1: 1, -1: 1}
_KEPT: Final = (*PACKS, GATHER, SAVE)
"""Primitives whose results keep NumPy's memory order."""
GAIN: Final = 0.8
"""Another order is chosen if it lowers the cost of loops to this fraction or less."""
LINE: Final = 64
"""Bytes of a cache line."""
TYPICAL: Final = 64
"""The value assumed for an unknown length, so that all lengths get the same choice."""
STORE: Final = 1.5
"""The cost of a store, in loads."""


def choose_layouts(
    graph: Graph,
    layouts: Layouts,
    stored: Mapping[Node, Library | None],
    variables: Collection[Node] = (),
) -> dict[Node, Order]:
    """The dimensions of each op, from the outermost in memory to the innermost.

    Results are stored in the order of their operands (NumPy's K). A temporary that only loops write
    and read is stored in the order that is cheapest for these loops at any lengths; K if the gain
    is small. So are `variables`, inputs whose layout may be chosen; their default is C order.

    Needs: a legal graph in which only outputs are views, and its stored values.
    Gives: an order for every op that is no view, and for variables.
    Keeps: the graph, and the order of arrays that callers see.
    """
    orders, strides = _memory_orders(graph, layouts)
    for node in variables:
        orders[node] = tuple(range(len(strides.pop(node, ()))))
    return _Choice(graph, stored, orders, strides).chosen()


def _memory_orders(
    graph: Graph, layouts: Layouts
) -> tuple[dict[Node, Order], dict[Node, tuple[Dim, ...]]]:
    """NumPy's order for each op, and the strides of arguments and held arrays."""
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
    """Dimensions in the memory order of all operands."""
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
    """Dimensions in the memory order of operands.

    As in NumPy's iterator, each dimension, from the last one on, is inserted as far inside as its
    strides allow; where operands disagree about two dimensions, they are in C order.
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


class _Choice:
    """Chooses the orders of temporaries, the last ones first."""

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
        # the loads in the loops of each op, and the ops whose loops load each value
        self.loads: dict[Op, list[tuple[Node, IndexMap]]] = {}
        self.readers: dict[Node, Readers] = {}

    def chosen(self) -> dict[Node, Order]:
        """The orders of all ops."""
        if self.free:
            self._find_readers()
        for node in reversed(self.free):
            loops = dict.fromkeys((node, *(reader for reader, _ in self.readers[node])))
            if all(self.stored.get(reader) is None for reader in loops):
                self._choose(node, [op for op in loops if isinstance(op, Op)])
        return self.orders

    def _is_free(self, node: Node) -> bool:
        """True if a value is a variable or a temporary, and only loops write it, once."""
        if isinstance(node, Op) and (node not in self.stored or node.primitive in _KEPT):
            return False
        written = any(isinstance(u, Update) and u.operands[0] is node for u in self.users[node])
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
        """Choose the order of a value with which its loops cost least."""
        plain = self.orders[node]
        costs: dict[Order, float] = {}
        for inner in (plain[-1], *plain[:-1]):
            order = (*(d for d in plain if d != inner), inner)
            self.orders[node] = order
            costs[order] = sum(estimate_walk(op.extents, self._walks(op)) for op in loops)
        best = min(costs, key=lambda order: costs[order])
        self.orders[node] = best if costs[best] <= GAIN * costs[plain] else plain

    def _walks(self, op: Op) -> Iterator[Walk]:
        count = len(op.extents)
        for node, index in self.loads.get(op, ()):
            yield Walk(node.dtype.itemsize, self._steps(node, index, count))
        if op in self.stored and op in self.orders:
            steps = self._steps(op, identity(op.rank), count)
            yield Walk(op.dtype.itemsize, steps, STORE)

    def _steps(self, node: Node, index: IndexMap, count: int) -> tuple[int | None, ...]:
        """The stride of each iterator in the memory of a value; None if more than one element."""
        if node in self.strides:
            strides = self.strides[node]
        elif node in self.orders:
            lengths = [length.constant for length in node.shape]
            inner = next((d for d in reversed(self.orders[node]) if lengths[d] != 1), None)
            strides = tuple(dim(1 if d == inner else 2) for d in range(len(lengths)))
        else:  # a version of a storage that is written
            strides = tuple(dim(1 if d + 1 == len(index) else 2) for d in range(len(index)))
        _, moved = strides_through(index, strides, count, dim)
        return tuple(_NEAR.get(stride.constant) for stride in moved)


class Walk(NamedTuple):
    """An access: the bytes of an element, and its step along each loop.

    A step is 0 or 1 elements, or None if larger.
    """

    itemsize: int
    steps: tuple[int | None, ...]
    weight: float = 1.0


def estimate_walk(extents: Sequence[Dim], walks: Iterable[Walk]) -> float:
    """The bytes moved with the cheapest loop innermost.

    A step of one element uses whole cache lines; a larger one takes a line per iteration.

    Needs: one step per extent.
    Gives: a cost to compare with other layouts.
    Keeps: the accesses.
    """
    walks = list(walks)
    loops = [k for k, extent in enumerate(extents) if extent.constant != 1]
    costs = (sum(w.weight * _bytes(w, k) for w in walks) for k in loops)
    return _volume(product(tuple(extents))) * min(costs, default=0.0)


def _bytes(walk: Walk, loop: int) -> int:
    step = walk.steps[loop]
    return max(LINE, walk.itemsize) if step is None else step * walk.itemsize


def _volume(points: Dim) -> int:
    return sum(abs(factor) * TYPICAL ** len(monomial) for monomial, factor in points.terms)
