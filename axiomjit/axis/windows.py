"""Settings by axes for windows that slide (`graph.shape_ops` has the views)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, SupportsIndex

from axiomjit.axis.axes import Axes, by_axis
from axiomjit.axis.axis import Axis
from axiomjit.axis.joins import padding_pair
from axiomjit.axis.late_checks import MessageParts, require
from axiomjit.axis.names import AxisName
from axiomjit.axis.slices import checked_integer
from axiomjit.base.errors import AxesError
from axiomjit.base.origins import user_location
from axiomjit.graph.nodes import Node, Scalar
from axiomjit.graph.shape_ops import SlidingWindow, slide
from axiomjit.symbolic.dims import Dim, dim

Setting = SupportsIndex | Mapping[AxisName, SupportsIndex]
WindowPadding = SupportsIndex | Sequence[SupportsIndex] | Mapping[AxisName, object]


class Slide(SlidingWindow):
    """How a window moves along an axis; with the axes of filters, if any, that are its elements."""

    axis: Axis
    roots: tuple[Axis, ...]


def by_sliding_axis(inputs: Axes, windows: Axes, setting: Any, asked: str) -> Any:
    """A setting by axis, where it is a dictionary from axes or their names; else the setting.

    A name is that of an axis of the input; if the input has no such axis, of a window.

    Raises:
        AxesError: a key is neither an axis of the input nor of a window, or a name fits several.
        GraphTypeError: a key is neither an Axis nor a name.
    """
    return by_axis(inputs, setting, asked, windows) if isinstance(setting, Mapping) else setting


def slides_over(
    windows: Mapping[Axis, tuple[Dim, tuple[Axis, ...]]],
    strides: Setting | None,
    padding: WindowPadding,
    dilation: Setting,
    asked: str,
) -> list[Slide]:
    """The slides of windows of these lengths; without strides, a step is a window's length.

    A setting is for all sliding axes, or a dictionary from axis to setting; a key is the sliding
    axis itself, or the axis of a filter that slides along it.

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
        slides.append(Slide(axis.dim, window, step, apart, ends, axis, roots))
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


def windows_of(
    node: Node, dims: Sequence[int], slides: Sequence[Slide], filler: Scalar, asked: str
) -> Node:
    """The windows of a node that slide along these dimensions, as `graph.shape_ops.slide` has them.

    Raises:
        AxesError: a window is longer than the padded axis; where lengths are unknown, at the call.
    """
    seen = slide(node, dims, slides, filler)
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
