"""Windows that slide along axes, as views (ngraph tensors, "Axes").

Along a sliding axis element k of the window at place i is element `stride * i + dilation * k` of
the padded tensor. What is folded over windows stores none of them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, SupportsIndex

from axiomjit.algebra.dims import Dim, dim
from axiomjit.algebra.index_maps import Affine, affine, iterator
from axiomjit.axis.axes import Axes, by_axis
from axiomjit.axis.axis import Axis
from axiomjit.axis.joins import padding_pair
from axiomjit.axis.late_checks import MessageParts, require
from axiomjit.axis.names import AxisName
from axiomjit.axis.slices import checked_integer
from axiomjit.base.errors import AxesError
from axiomjit.base.origins import user_location
from axiomjit.graph import builder
from axiomjit.graph.joins import concatenate, filled
from axiomjit.graph.nodes import Node, Scalar

Setting = SupportsIndex | Mapping[AxisName, SupportsIndex]
Padding = SupportsIndex | Sequence[SupportsIndex] | Mapping[AxisName, object]


class Slide(NamedTuple):
    """How a window moves along an axis, before and after which so many fillers stand."""

    axis: Axis
    window: Dim
    roots: tuple[Axis, ...]
    stride: Dim
    dilation: int
    padding: tuple[int, int]

    @property
    def span(self) -> Dim:
        """The elements from the first of a window to its last."""
        return (self.window - 1) * self.dilation + 1

    @property
    def padded(self) -> Dim:
        """The elements that there are with the fillers."""
        return self.axis.dim + (self.padding[0] + self.padding[1])

    @property
    def places(self) -> Dim:
        """The places of the window."""
        return (self.padded - self.span) // self.stride + 1


def by_sliding_axis(inputs: Axes, windows: Axes, setting: Any, asked: str) -> Any:
    """A setting whose keys are axes, where it is a dictionary from axes or their names.

    A name is that of an axis of the input; if the input has none of it, of a window.

    Raises:
        AxesError: a key is neither an axis of the input nor of a window, or a name fits several.
        GraphTypeError: a key is neither an Axis nor a name.
    """
    return by_axis(inputs, setting, asked, windows) if isinstance(setting, Mapping) else setting


def slides_over(
    windows: Mapping[Axis, tuple[Dim, tuple[Axis, ...]]],
    strides: Setting | None,
    padding: Padding,
    dilation: Setting,
    asked: str,
) -> list[Slide]:
    """How windows of these lengths move along their axes; by their own length without strides.

    A setting is for all sliding axes, or a dictionary from axis to setting; an axis stands for
    itself, or the axis of a filter for the one along which it slides.

    Raises:
        AxesError: a setting for another axis, or one that is too small.
        GraphTypeError: a setting is no integer.
    """
    names = {name: axis for axis, (_, roots) in windows.items() for name in (axis, *roots)}
    steps = _per_axis(names, strides, "a stride", asked)
    spread = _per_axis(names, dilation, "a dilation", asked)
    pads = _per_axis(names, padding, "a padding", asked)
    slides = []
    for axis, (window, roots) in windows.items():
        stride = steps.get(axis)
        step = window if stride is None else dim(_positive(stride, "the stride", asked))
        apart = _positive(spread.get(axis, 1), "the dilation", asked)
        ends = padding_pair(pads.get(axis, 0), asked)
        slides.append(Slide(axis, window, roots, step, apart, ends))
    return slides


def _per_axis(
    names: Mapping[Axis, Axis], setting: object, what: str, asked: str
) -> dict[Axis, object]:
    if setting is None:
        return {}
    if not isinstance(setting, Mapping):
        return dict.fromkeys(names.values(), setting)
    foreign = [axis for axis in setting if axis not in names]
    if foreign:
        sliding = ", ".join(map(str, dict.fromkeys(names.values()))) or "none"
        raise AxesError(
            asked,
            f"{what} for {', '.join(map(str, foreign))}; windows slide along {sliding}",
            "name axes along which windows slide",
            user_location(),
        )
    return {names[axis]: value for axis, value in setting.items()}


def _positive(value: object, what: str, asked: str) -> int:
    number = checked_integer(value, asked, "give integers")
    if number < 1:
        raise AxesError(asked, f"{what} {number}", "give 1 or more", user_location())
    return number


def slide(
    node: Node, dims: Sequence[int], slides: Sequence[Slide], filler: Scalar, asked: str
) -> Node:
    """The windows of a node that slide along these dimensions.

    Returns:
        A view in which the places of the windows stand where the dimensions stood; the dimensions
        within windows come last.

    Raises:
        AxesError: a window is longer than the padded axis; where lengths are unknown, at the call.
    """
    rank = len(node.shape)
    functions: list[Affine] = [iterator(d) for d in range(rank)]
    extents = list(node.shape)
    for k, (d, one) in enumerate(zip(dims, slides, strict=True)):
        if any(one.padding):
            ends = [filled(filler, node.shape, d, dim(width)) for width in one.padding]
            node = concatenate([ends[0], node, ends[1]], d)
        functions[d] = affine({d: one.stride, rank + k: dim(one.dilation)})
        extents[d] = one.places
    windows = tuple(one.window for one in slides)
    seen = builder.view(node, tuple(functions), (*extents, *windows))
    for one in slides:
        axes = (one.axis, *one.roots)
        require(seen, one.padded, ">=", one.span, axes, _too_long(one, asked))
        require(seen, one.window, ">=", dim(1), one.roots, _too_long(one, asked))
    return seen


def _too_long(one: Slide, asked: str) -> Callable[[], MessageParts]:
    def explain() -> MessageParts:
        window = f"a window along {one.roots[0]}" if one.roots else f"a window of {one.window}"
        apart = f", {one.dilation} apart," if one.dilation > 1 else ""
        there = f"{one.axis} with a padding of {one.padding}" if any(one.padding) else one.axis
        return asked, f"{window}{apart} over {there}", "give a window that fits into the axis"

    return explain
