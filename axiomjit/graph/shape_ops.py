"""Operations that merge, split, slice, flip and pad dimensions, and windows that slide along them.

If neighbouring dimensions are contiguous in memory, the stride of the last dimension visits the
elements of all these dimensions. So the map of a merged dimension gives the last of the merged
dimensions an index that may exceed its length, and the other dimensions the index 0. Splitting a
dimension needs only an affine map. `merge` first copies in C order; a pass drops the copy if its
operand is already stored in C order, or if the merged dimension is only split again. `reshaped`
copies where NumPy does: arrays whose merged dimensions are not contiguous, and computed values.

A padded node is a join of the node and two margins, which are numbers or repeated parts of the
node. Along a sliding dimension, element k of window i is element `stride * i + dilation * k` of the
padded node. A reduction over windows does not store the windows, and with conditions it skips the
fillers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from axiomjit.base.errors import UnsupportedError
from axiomjit.base.origins import user_location
from axiomjit.base.records import Record
from axiomjit.graph import builder
from axiomjit.graph.builder import concatenate
from axiomjit.graph.nodes import Node, Scalar, describe_length, describe_type
from axiomjit.graph.primitives import MERGED, PACK
from axiomjit.graph.storages import strides_of
from axiomjit.symbolic.dims import Dim, dim, product
from axiomjit.symbolic.index_maps import (
    Affine,
    Conditions,
    affine,
    condition,
    fixed,
    identity,
    iterator,
    range_of,
    resolved,
)
from axiomjit.symbolic.index_ranges import equals_in_all_trips
from axiomjit.views.descriptions import row_major_strides

Group = tuple[list[int], list[int]]
"""Dimensions of the old shape, and the dimensions of the new shape with the same elements."""


def pack(node: Node) -> Node:
    """A copy that is contiguous in C order."""
    return builder.elementwise(PACK, node)


def merge(node: Node, groups: Sequence[int]) -> Node:
    """The node with `groups[k]` consecutive dimensions merged into dimension k, in C order."""
    index: list[Affine] = []
    extents: list[Dim] = []
    for k, count in enumerate(groups):
        first = len(index)
        index += [fixed(0)] * (count - 1) + [iterator(k)] * (count > 0)
        extents.append(product(node.shape[first : first + count]))
    base = builder.elementwise(MERGED, node) if any(n > 1 for n in groups) else node
    return builder.view(base, tuple(index), tuple(extents))


def split(node: Node, at: int, lengths: tuple[Dim, ...]) -> Node:
    """The node with one dimension split into these lengths; their product is the old length."""
    new = len(lengths)
    terms = dict(zip(range(at, at + new), row_major_strides(lengths), strict=True))
    before, after = identity(at), [iterator(k + new - 1) for k in range(at + 1, len(node.shape))]
    extents = (*node.shape[:at], *lengths, *node.shape[at + 1 :])
    return builder.view(node, (*before, affine(terms), *after), extents)


def reshaped(node: Node, shape: tuple[Dim, ...]) -> Node:
    """The node in another shape of the same size, with elements in C order."""
    groups = _groups(node.shape, shape)
    if is_copied(node, shape):
        node = pack(node)
    index: list[Affine] = [affine({})] * len(node.shape)
    for old, new in groups:
        if old:
            steps = row_major_strides([shape[d] for d in new])
            index[old[-1]] = affine(dict(zip(new, steps, strict=True)))
    return builder.view(node, tuple(index), shape)


def flat(node: Node) -> Node:
    """The node in one dimension, with elements in C order."""
    return reshaped(node, (product(node.shape),))


def is_copied(node: Node, shape: tuple[Dim, ...]) -> bool:
    """True if a reshape copies, since merged dimensions are not contiguous."""
    merged = [old for old, _ in _groups(node.shape, shape) if len(old) > 1]
    if not merged or any(equals_in_all_trips(n, 0) for n in node.shape):
        return False
    strides = strides_of(node)
    if strides is None:
        return True
    pairs = [pair for old in merged for pair in zip(old, old[1:], strict=False)]
    return any(strides[a] != strides[b] * node.shape[b] for a, b in pairs)


def _groups(old: Sequence[Dim], new: Sequence[Dim]) -> list[Group]:
    """The smallest groups of dimensions with equal products; one group if there are no elements."""
    left = [d for d, n in enumerate(old) if not equals_in_all_trips(n, 1)]
    right = [d for d, n in enumerate(new) if not equals_in_all_trips(n, 1)]
    if any(equals_in_all_trips(n, 0) for n in old):
        return [(left, right)]
    groups: list[Group] = []
    while left and right:
        here: Group = ([left.pop(0)], [right.pop(0)])
        while True:
            before = product(tuple(old[d] for d in here[0]))
            after = product(tuple(new[d] for d in here[1]))
            if before == after:
                break
            if before < after:
                here[0].append(left.pop(0))
            else:
                here[1].append(right.pop(0))
        groups.append(here)
    return groups


BACKWARDS = slice(None, None, -1)


def positions_of(part: slice, length: Dim) -> tuple[Dim, int, Dim]:
    """The first position, the step and the number of positions of a slice.

    Comparisons of lengths record guards.

    Raises:
        ValueError: the step is zero.
    """
    step = 1 if part.step is None else int(part.step)
    if step == 0:
        raise ValueError("slice step cannot be zero")
    start, count = range_of(part.start, part.stop, step, length)
    return resolved(start), step, resolved(count)


def sliced(node: Node, axes: Sequence[int], part: slice) -> Node:
    """Slice the node along each of these dimensions."""
    index = [iterator(d) for d in range(len(node.shape))]
    extents = list(node.shape)
    for d in axes:
        start, step, extents[d] = positions_of(part, node.shape[d])
        index[d] = affine({d: dim(step)}, start)
    return builder.view(node, tuple(index), tuple(extents))


def flip(node: Node, axes: Sequence[int]) -> Node:
    """The node with its elements reversed along these dimensions."""
    return sliced(node, axes, BACKWARDS)


def insert_dimensions(node: Node, axes: Sequence[int]) -> Node:
    """The node with new dimensions of length 1, at these positions of the result."""
    rank = len(node.shape) + len(axes)
    kept = [d for d in range(rank) if d not in axes]
    lengths = iter(node.shape)
    extents = tuple(dim(1) if d in axes else next(lengths) for d in range(rank))
    return builder.view(node, tuple(iterator(d) for d in kept), extents)


Widths = tuple[Dim, Dim]
"""The numbers of elements to add before and after a dimension."""
Margins = tuple[Node, Node]
Repeat = Callable[[Node, int, Widths], Margins]


def with_margins(node: Node, axis: int, margins: Margins) -> Node:
    """Concatenate margins before and after the node along a dimension."""
    return concatenate([margins[0], node, margins[1]], axis)


def padded(node: Node, axis: int, widths: Widths, *numbers: Node) -> Node:
    """Pad the node along a dimension with one number, or with one number per side."""
    first, last = (
        builder.view(number, (), _margin(node, axis, width))
        for number, width in zip((numbers[0], numbers[-1]), widths, strict=True)
    )
    return with_margins(node, axis, (first, last))


def _margin(node: Node, axis: int, width: Dim) -> tuple[Dim, ...]:
    """The shape of a margin of the node."""
    return (*node.shape[:axis], width, *node.shape[axis + 1 :])


def _check_not_empty(node: Node, axis: int, widths: Widths) -> None:
    if node.shape[axis] == 0 and any(width != 0 for width in widths):
        raise ValueError(
            f"can't extend empty axis {axis} using modes other than 'constant' or 'empty'"
        )


def _check_margin(node: Node, axis: int, widths: Widths, most: Dim) -> None:
    """Refuse margins that are longer than the part that they repeat."""
    _check_not_empty(node, axis, widths)
    for width in widths:
        if width > most:
            raise UnsupportedError(
                f"pad({describe_type(node)}, ...) by {describe_length(width)} along "
                f"dimension {axis}",
                f"a margin beyond the {describe_length(most)} elements that it repeats",
                "pad by less, or several times",
                user_location(),
            )


def _edge(node: Node, axis: int, widths: Widths) -> Margins:
    _check_not_empty(node, axis, widths)
    first = sliced(node, [axis], slice(dim(0), dim(1)))
    last = sliced(node, [axis], slice(node.shape[axis] - 1, node.shape[axis]))
    before, after = (_margin(node, axis, width) for width in widths)
    return builder.broadcast_to(first, before), builder.broadcast_to(last, after)


def _mirrored(skipped: int) -> Repeat:
    """The function that mirrors elements at both ends, without the `skipped` outermost elements."""

    def margins(node: Node, axis: int, widths: Widths) -> Margins:
        length = node.shape[axis]
        _check_margin(node, axis, widths, length - skipped)
        before = sliced(node, [axis], slice(dim(skipped), widths[0] + skipped))
        last = length - skipped
        after = sliced(node, [axis], slice(last - widths[1], last))
        return flip(before, (axis,)), flip(after, (axis,))

    return margins


def _wrap(node: Node, axis: int, widths: Widths) -> Margins:
    length = node.shape[axis]
    _check_margin(node, axis, widths, length)
    before = sliced(node, [axis], slice(length - widths[0], length))
    return before, sliced(node, [axis], slice(dim(0), widths[1]))


MARGINS_BY_MODE: Final[dict[str, Repeat]] = {
    "edge": _edge,
    "reflect": _mirrored(1),
    "symmetric": _mirrored(0),
    "wrap": _wrap,
}
"""For each of NumPy's names of padding modes, the function that makes margins from parts of a node.

Raises:
    ValueError: the dimension has no elements to repeat.
    UnsupportedError: a margin is longer than the part that it repeats.
"""


class SlidingWindow(Record):
    """A window that slides along a dimension, which `padding` extends by fillers on both sides."""

    length: Dim
    window: Dim
    stride: Dim
    dilation: int
    padding: tuple[int, int]

    @property
    def span(self) -> Dim:
        """The distance from the first to the last element of a window, plus 1."""
        return (self.window - 1) * self.dilation + 1

    @property
    def padded(self) -> Dim:
        """The length of the dimension with its fillers."""
        return self.length + (self.padding[0] + self.padding[1])

    @property
    def places(self) -> Dim:
        """The number of positions of the window."""
        return (self.padded - self.span) // self.stride + 1


def slide(
    node: Node, axes: Sequence[int], windows: Sequence[SlidingWindow], filler: Scalar
) -> Node:
    """A view of all positions of windows that slide along dimensions; the windows must fit.

    The position of a window replaces the dimension that it slides along. The dimensions inside
    windows come last.
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
    """The conditions that exclude fillers, on the dimensions of a view that `slide` made."""
    return tuple(
        condition(
            affine({d: one.stride, rank + k: dim(one.dilation)}),
            dim(one.padding[0]),
            one.length + one.padding[0],
        )
        for k, (d, one) in enumerate(zip(axes, windows, strict=True))
        if any(one.padding)
    )
