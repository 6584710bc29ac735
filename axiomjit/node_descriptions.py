"""What the tensor of a node is: its description, computed from those of its operands."""

from __future__ import annotations

from axiomjit.axes import Axes
from axiomjit.complex_views import ComplexTensorViewDescription
from axiomjit.dense_layout import Layout, Length
from axiomjit.descriptions import TensorDescription, View
from axiomjit.effects import memory_of, place_of, root_of
from axiomjit.graph import Held, Node, Op, is_view
from axiomjit.index_maps import IndexMap
from axiomjit.placed_arrays import layout_of
from axiomjit.primitives import JOIN
from axiomjit.view_descriptions import (
    BasicTensorDescription,
    PermuteTensorDescription,
    SimpleTensorViewDescription,
    known,
)


def describe(node: Node, axes: Axes) -> TensorDescription:
    """The description of a node whose dimensions have these axes."""
    plain = by_shape(node)
    view: View | None = None
    if isinstance(plain, SimpleTensorViewDescription | ComplexTensorViewDescription):
        view = plain
    return TensorDescription(axes, node.dtype, plain.read_only, plain.layout, view)


def by_shape(node: Node) -> BasicTensorDescription:
    """The description of a node: of a view with its `base_tensor`, of a join with its parts."""
    views: list[Op] = []
    while is_view(node):
        assert isinstance(node, Op)
        views.append(node)
        node = node.operands[0]
    tensor = _of_base(node)
    for view in reversed(views):
        tensor = _seen(view, tensor)
    return tensor


def _lengths(node: Node) -> tuple[Length, ...]:
    return tuple(n if n.constant is None else n.constant for n in node.shape)


def _of_base(node: Node) -> BasicTensorDescription:
    lengths = _lengths(node)
    root = root_of(node)
    if root is not None:
        layout = layout_of(memory_of(root).layout, lengths)
        return BasicTensorDescription(lengths, node.dtype, False, layout)
    if isinstance(node, Held):
        strides = [step // node.array.itemsize for step in node.array.strides]
        return BasicTensorDescription(lengths, node.dtype, True, Layout(strides))
    if isinstance(node, Op) and node.primitive is JOIN:
        parts = [BasicTensorDescription(_lengths(n), n.dtype) for n in node.operands]
        return ComplexTensorViewDescription(parts, node.regions, node.maps)
    return BasicTensorDescription(lengths, node.dtype)


def _seen(view: Op, base: BasicTensorDescription) -> SimpleTensorViewDescription:
    """A view of a tensor; it may be assigned to where it shows each element once."""
    (index,) = view.maps
    if view.primitive.name == "view" and _is_permutation(index, view, base):
        order = [0] * view.rank
        for d, function in enumerate(index):
            order[function.terms[0][0]] = d
        return PermuteTensorDescription(base, order)
    layout = None if base.layout is None else _layout(index, view.rank, base.layout)
    if view.dtype != base.dtype:
        layout = None
    return SimpleTensorViewDescription(
        base, _lengths(view), layout, place_of(view) is None, view.dtype
    )


def _is_permutation(index: IndexMap, view: Op, base: BasicTensorDescription) -> bool:
    """Whether each dimension of the base is one of the view, whole."""
    own = [f.terms[0][0] for f in index if len(f.terms) == 1 and f.terms[0][1].constant == 1]
    if sorted(own) != list(range(view.rank)) or len(own) != base.rank:
        return False
    starts = all(function.offset.constant == 0 for function in index)
    lengths = zip(own, base.lengths, strict=True)
    return starts and all(known(view.extents[k] - n) == 0 for k, n in lengths)


def _layout(index: IndexMap, rank: int, base: Layout) -> Layout:
    """How a view lies, given how its base does."""
    offset = base.offset
    strides: list[Length] = [0] * rank
    for function, stride in zip(index, base.strides, strict=True):
        offset = offset + function.offset * stride
        for k, factor in function.terms:
            strides[k] = strides[k] + factor * stride
    return Layout(strides, offset)
