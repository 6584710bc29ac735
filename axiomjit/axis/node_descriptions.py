"""The description of a node's tensor, computed from those of its operands."""

from __future__ import annotations

from collections.abc import Mapping

from axiomjit.axis.axes import Axes
from axiomjit.axis.declarations import layout_of_storage
from axiomjit.axis.descriptions import TensorDescription, ViewDescription
from axiomjit.axis.placed_arrays import layout_of
from axiomjit.graph.known_strides import strides_of_constant
from axiomjit.graph.nodes import Constant, Node, Op, views_on
from axiomjit.graph.primitives import JOIN, VIEW
from axiomjit.graph.storages import place_of, storage_root
from axiomjit.symbolic.dims import Dim, Symbol, dim, substitute
from axiomjit.symbolic.index_maps import IndexMap, strides_through
from axiomjit.views.complex_views import ComplexTensorViewDescription
from axiomjit.views.dense_layout import Layout, LengthLike
from axiomjit.views.descriptions import (
    BasicTensorDescription,
    PermuteTensorDescription,
    SimpleTensorViewDescription,
    known,
)


def describe(node: Node, axes: Axes, lengths: Mapping[Symbol, int]) -> TensorDescription:
    """The description of a node whose dimensions have these axes; `lengths` are known ones."""
    plain = _Known(lengths).by_shape(node)
    view: ViewDescription | None = None
    if isinstance(plain, SimpleTensorViewDescription | ComplexTensorViewDescription):
        view = plain
    return TensorDescription(axes, node.dtype, plain.read_only, plain.layout, view)


class _Known:
    """Descriptions of nodes by shape, where the lengths of some symbols are known."""

    def __init__(self, lengths: Mapping[Symbol, int]) -> None:
        self.symbols = lengths

    def by_shape(self, node: Node) -> BasicTensorDescription:
        """The description of a node: of a view with its `base_tensor`, of a join with its parts."""
        node, views = views_on(node)
        tensor = self.of_base(node)
        for view in views:
            tensor = self.seen(view, tensor)
        return tensor

    def length(self, length: Dim) -> LengthLike:
        """A length as an integer if it is known."""
        now = substitute(length, self.symbols)
        return now if now.constant is None else now.constant

    def lengths(self, node: Node) -> tuple[LengthLike, ...]:
        """The shape of a node."""
        return tuple(map(self.length, node.shape))

    def of_base(self, node: Node) -> BasicTensorDescription:
        """The description of a node that is not a view."""
        lengths = self.lengths(node)
        root = storage_root(node)
        if root is not None:
            layout = layout_of(layout_of_storage(root), lengths)
            return BasicTensorDescription(lengths, node.dtype, False, layout)
        if isinstance(node, Constant):
            strides = map(_plain, strides_of_constant(node))
            return BasicTensorDescription(lengths, node.dtype, True, Layout(strides))
        if isinstance(node, Op) and node.primitive is JOIN:
            parts = [BasicTensorDescription(self.lengths(n), n.dtype) for n in node.operands]
            regions = [
                [(self.length(low), self.length(high)) for low, high in region]
                for region in node.regions
            ]
            return ComplexTensorViewDescription(parts, regions, map(self.index, node.maps))
        return BasicTensorDescription(lengths, node.dtype)

    def index(self, index: IndexMap) -> IndexMap:
        """A map with its known lengths as integers."""
        return tuple(f.map(Dim, lambda length: substitute(length, self.symbols)) for f in index)

    def seen(self, view: Op, base: BasicTensorDescription) -> SimpleTensorViewDescription:
        """A view of a tensor; it can be assigned to if it shows each element once."""
        index = self.index(view.maps[0])
        lengths = self.lengths(view)
        if view.primitive is VIEW and _is_permutation(index, lengths, base):
            order = [0] * view.rank
            for d, function in enumerate(index):
                order[function.terms[0][0]] = d
            return PermuteTensorDescription(base, order)
        layout = None
        if base.layout is not None and view.dtype == base.dtype:
            layout = _layout(index, view.rank, base.layout)
        return SimpleTensorViewDescription(
            base, lengths, layout, place_of(view) is None, view.dtype
        )


def _is_permutation(
    index: IndexMap, lengths: tuple[LengthLike, ...], base: BasicTensorDescription
) -> bool:
    """Whether each dimension of the base is one of the view, whole."""
    own = [f.terms[0][0] for f in index if len(f.terms) == 1 and f.terms[0][1].constant == 1]
    if sorted(own) != list(range(len(lengths))) or len(own) != base.rank:
        return False
    starts = all(function.offset.constant == 0 for function in index)
    pairs = zip(own, base.lengths, strict=True)
    return starts and all(known(lengths[k] - n) == 0 for k, n in pairs)


def _layout(index: IndexMap, rank: int, base: Layout) -> Layout:
    """The layout of a view, from that of its base."""
    offset, strides = strides_through(index, [dim(step) for step in base.strides], rank, dim)
    return Layout(map(_plain, strides), _plain(base.offset + offset))


def _plain(length: Dim) -> LengthLike:
    return length if length.constant is None else length.constant
