"""Windows that slide along dimensions, as views (ngraph tensors, "Axes").

Along a sliding dimension element k of the window at place i is element `stride * i + dilation * k`
of the padded node. A fold over windows stores none of them, and with conditions it takes in
no filler.
"""

from __future__ import annotations

from collections.abc import Sequence

from axiomjit.algebra.dims import Dim, dim
from axiomjit.algebra.index_maps import Conditions, affine, condition, iterator
from axiomjit.base.records import Record
from axiomjit.graph import builder
from axiomjit.graph.nodes import Node, Scalar
from axiomjit.graph.padding import padded


class SlidingWindow(Record):
    """How a window moves along a dimension; `padding` counts the fillers before and after it."""

    length: Dim
    window: Dim
    stride: Dim
    dilation: int
    padding: tuple[int, int]

    @property
    def span(self) -> Dim:
        """The number of elements from the first of a window to its last."""
        return (self.window - 1) * self.dilation + 1

    @property
    def padded(self) -> Dim:
        """The number of elements with the fillers."""
        return self.length + (self.padding[0] + self.padding[1])

    @property
    def places(self) -> Dim:
        """The number of places of the window."""
        return (self.padded - self.span) // self.stride + 1


def slide(
    node: Node, axes: Sequence[int], windows: Sequence[SlidingWindow], filler: Scalar
) -> Node:
    """A view of the windows of a node that slide along these dimensions; they must fit into it.

    The places of a window replace its dimension; the dimensions within windows come last.
    """
    rank = len(node.shape)
    functions = [iterator(d) for d in range(rank)]
    extents = list(node.shape)
    for k, (d, one) in enumerate(zip(axes, windows, strict=True)):
        if any(one.padding):
            before, after = map(dim, one.padding)
            node = padded(node, d, (before, after), filler)
        functions[d] = affine({d: one.stride, rank + k: dim(one.dilation)})
        extents[d] = one.places
    within = (one.window for one in windows)
    return builder.view(node, tuple(functions), (*extents, *within))


def kept(axes: Sequence[int], windows: Sequence[SlidingWindow], rank: int) -> Conditions:
    """The conditions that leave out fillers, over the dimensions of windows of a node of a rank."""
    return tuple(
        condition(
            affine({d: one.stride, rank + k: dim(one.dilation)}),
            dim(one.padding[0]),
            one.length + one.padding[0],
        )
        for k, (d, one) in enumerate(zip(axes, windows, strict=True))
        if any(one.padding)
    )
