"""Graph -> ViewProgram: stored values get memory with strides; reads become offsets and strides."""

from __future__ import annotations

from axiomjit.base.locks import lazy_import
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
)
from axiomjit.graph.primitives import IMAG_VIEW, MATERIALIZE, READ_ONLY, VIEW
from axiomjit.graph.regions import Written
from axiomjit.graph.storages import strides_of_constant
from axiomjit.passes.graph.choose_storage import Choice, choose_storage
from axiomjit.passes.ir.context import Context, Layouts
from axiomjit.passes.ir.view_ir import (
    ArrayRole,
    Count,
    Definition,
    Number,
    ReadOperand,
    Storage,
    Value,
    View,
    ViewProgram,
)
from axiomjit.passes.views.choose_layouts import choose_layouts
from axiomjit.symbolic.dims import Dim, dim
from axiomjit.symbolic.index_maps import IndexMap, strides_through
from axiomjit.views.descriptions import ordered_strides


def lower_to_views(graph: Graph, context: Context) -> ViewProgram:
    """Give memory to stored values, and turn every read into an offset and strides.

    Values selected by `choose_storage` are stored, in the order of dimensions that `choose_layouts`
    finds; all other values are r-tensors. A version of a storage overwrites the version before it.

    Needs: a legal graph in which only outputs are views, and each version is read before the next
    one is written.
    Gives: a legal view program with one result per output.
    Keeps: the value of every output; outputs that are views stay views.
    """
    choice = choose_storage(graph, context.scope, calls=not context.serial)
    return _Lowering(graph, context.layouts, choice).program()


class _Lowering:
    """Lowers one graph; has the storage, number or r-tensor of each node that it has lowered."""

    def __init__(self, graph: Graph, layouts: Layouts, choice: Choice) -> None:
        self.graph = graph
        self.layouts = layouts
        self.stored, self.unrolled = choice.stored, choice.unrolled
        self.storages: dict[Node, Storage] = {}
        self.numbers: dict[Node, Number] = {}
        self.values: dict[Node, str] = {}
        self.definitions: list[Definition] = []
        self.orders = choose_layouts(graph, layouts, choice.stored)
        self.versions: dict[Node, int] = {}
        self.shown = {root_of(base_of(node)) for node in graph.outputs}

    def program(self) -> ViewProgram:
        """Lower all nodes in order, and return the program."""
        for node in self._nodes():
            if isinstance(node, Update):
                self._update(node)
            elif isinstance(node, Op):
                if not is_view(node):
                    self._define(node)
            else:
                self._leaf(node)
        results = tuple(self._result_view(node) for node in self.graph.results)
        pairs = zip(self.graph.data_dependent, self.graph.counts, strict=True)
        counts = tuple(Count(choice, self._result_view(node)) for choice, node in pairs)
        return ViewProgram(
            tuple(dict.fromkeys(self.storages.values())),
            tuple(self.numbers.values()),
            tuple(self.definitions),
            results,
            counts,
        )

    def _nodes(self) -> list[Node]:
        """All nodes; operands come before users, and readers of a version before the next write."""
        if any(isinstance(node, Update) for node in self.stored):
            late = lazy_import(
                "axiomjit.passes.graph.order_writes"
            )  # only programs with writes need this order
            order = late.order_writes(self.graph, self.stored)
            assert not order.late, "versions with later readers are saved before"
            return post_order((*order.ops, *self.graph.outputs))
        return post_order((*self.graph.counts, *self.graph.outputs))

    def _update(self, op: Update) -> None:
        """Add a definition that overwrites a storage with its next version."""
        old, *read = op.operands
        storage = self.storages[old]
        self.versions[op] = self.versions.get(old, 0) + 1
        if isinstance(op, Written):  # the region has written it
            self.storages[op], self.values[op] = storage, f"r{len(self.values)}"
            return
        operands = tuple(map(self._operand, read, op.maps[1:], (op,) * len(read)))
        name = self.values[op] = f"r{len(self.values)}"
        self.storages[op] = storage
        target = _view(self._whole_view(op), op.maps[0], op.extents)
        self.definitions.append(
            Definition(
                *(name, op.dtype, VIEW, None, operands, op.extents, op.rank, storage),
                target=target,
                ordered=_ordered(op),
                combine=op.combine,
                unrolled=self.unrolled.get(op, frozenset()),
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
                unrolled=self.unrolled.get(op, frozenset()),
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
            return _view(self._whole_view(child), index, op.extents)
        return Value(self.values[child], index)

    def _result_view(self, node: Node) -> View:
        """A result as a view with one stride per dimension."""
        if not is_view(node):
            if node in self.numbers:
                self._copy_number(node)
            return self._whole_view(node)
        assert isinstance(node, Op)
        below = self._result_view(node.operands[0])
        if node.primitive.name in PART_VIEWS:
            below = _parts(below, node)
        below = below.replace(dtype=node.dtype)
        writable = below.writable and node.primitive is not READ_ONLY
        return _view(below, node.maps[0], node.shape).replace(writable=writable)

    def _whole_view(self, node: Node) -> View:
        """A view of the whole storage of a node, at its current version."""
        storage = self.storages[node]
        version = self.versions.get(node, 0)
        return View(storage, storage.shape, dim(0), storage.strides, version=version)

    def _copy_number(self, node: Node) -> None:
        """Add a definition that copies a returned number into a storage without dimensions."""
        if node in self.storages:
            return
        storage = self._storage(node, ArrayRole.RESULT)
        self.storages[node] = storage
        name = f"r{len(self.values)}"
        self.values[node] = name
        operands = (self.numbers[node],)
        self.definitions.append(Definition(name, node.dtype, VIEW, None, operands, (), 0, storage))


def _ordered(op: Update) -> frozenset[int]:
    """The iterators along which an update may write the same element again.

    If an iterator is the only one in the index of a dimension of the target, it never writes an
    element again.
    """
    if op.looped_extents == op.extents and op.combine is None:
        return frozenset()
    once = {function.terms[0][0] for function in op.maps[0] if len(function.terms) == 1}
    return frozenset(range(op.rank)) - once


def _parts(view: View, part: Op) -> View:
    """The view of the real or imaginary parts of a view's elements; they alternate in memory."""
    offset = view.offset * 2 + int(part.primitive is IMAG_VIEW)
    strides = tuple(stride * 2 for stride in view.strides)
    return view.replace(offset=offset, strides=strides)


def _view(view: View, index: IndexMap, extents: tuple[Dim, ...]) -> View:
    """The view that an op reads through an index map, with one stride per iterator of the op."""
    offset, strides = strides_through(index, view.strides, len(extents), dim)
    return view.replace(shape=extents, offset=view.offset + offset, strides=strides)
