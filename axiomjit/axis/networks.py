"""Graphs of axis tensors: convolution, pooling, activation and loss functions of neural networks.

Convolution and pooling work by axes (ngraph tensors, "Axes").
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, SupportsIndex

import numpy as np

from axiomjit.axis import reductions
from axiomjit.axis.axes import (
    Axes,
    AxesOf,
    AxisName,
    MessageParts,
    NewAxes,
    by_axis,
    check_names,
    new_axes,
    require,
)
from axiomjit.axis.axis import Axis, derived_axis
from axiomjit.axis.elementwise import apply_ufunc
from axiomjit.axis.functions import axes_with_order, relabelled
from axiomjit.axis.tensors import Operand, Tensor, as_tensor, labelled, shown
from axiomjit.axis.views import checked_integer, padding_pair, related
from axiomjit.base.dtypes import FLOAT, HALF, SINGLE, is_inexact
from axiomjit.base.errors import AxesError, GraphTypeError
from axiomjit.base.origins import hides_frames, user_location
from axiomjit.graph import builder
from axiomjit.graph.builder import cast, resolve
from axiomjit.graph.nodes import Node, Scalar
from axiomjit.graph.primitives import MAX, MIN, PRIMITIVES, SUM, UfuncFold
from axiomjit.graph.shape_ops import SlidingWindow, kept, slide
from axiomjit.symbolic.dims import Dim, dim
from axiomjit.symbolic.index_maps import iterator, permutation, through

Setting = SupportsIndex | Mapping[AxisName, SupportsIndex]
WindowPadding = SupportsIndex | Sequence[SupportsIndex] | Mapping[AxisName, object]


class Slide(SlidingWindow):
    """A window that slides along an axis; the window's length depends on the axes in `roots`."""

    axis: Axis
    roots: tuple[Axis, ...]


def by_sliding_axis(inputs: Axes, windows: Axes, setting: Any, asked: str) -> Any:
    """A setting of a sliding window; if it is a dictionary, axes replace the names of axes.

    A name means an axis of the input or, if no axis of the input has this name, an axis of a
    window.

    Raises:
        AxesError: a key is an axis neither of the input nor of a window, or several axes have the
            name.
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
    """One `Slide` per window; by default the stride is the length of the window.

    A setting is one value for all sliding axes, or a dictionary from axis to value; a key is the
    sliding axis, or the axis of the filter that slides along it.

    Raises:
        AxesError: a setting is for an axis along which no window slides, or is too small.
        GraphTypeError: a setting is not an integer.
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
    """A view of a node with its windows along these dimensions (see `graph.shape_ops.slide`).

    Raises:
        AxesError: a window is longer than the padded axis; raised at the call if a length is
            unknown.
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


Pairs = dict[Axis, Axis]
_FOLDS: Final[dict[str, UfuncFold]] = {"max": MAX, "min": MIN, "sum": SUM, "mean": SUM}


@hides_frames
def convolution(
    x: Operand,
    filter: Operand,
    strides: Setting = 1,
    padding: WindowPadding = 0,
    dilation: Setting = 1,
    axes: NewAxes = None,
) -> Tensor:
    """The sums of products of a filter and each part of x over which the filter slides.

    Axes that both the filter and x have are contracted, as in `dot`. An axis of the filter that
    shares a role with an axis of x slides along that axis. An axis of the filter with the same
    class as an axis of x slides, too; if lengths are equal and no setting names the axis, both are
    contracted instead. The other axes of the filter are outputs. The filter is not reversed.

    Args:
        x: The input tensor.
        filter: The filter, a tensor.
        strides: The distance in x between positions of the filter: a number for all sliding axes,
            or a dictionary from axes, or names of axes of x, to numbers.
        padding: For sliding axes, the number of positions beyond each end of x that the filter also
            covers, as if x were zero there: a number for both sides, a pair (before, after), or a
            dictionary from axes or names to such paddings.
        dilation: The distance in x between neighbouring elements of the filter, given like
            `strides`.
        axes: The axes of the result, in order: the axes of x and of the filter that remain, and a
            new axis for each sliding axis. A new axis is matched with its sliding axis by class or
            role, otherwise by order; lengths must fit.

    Returns:
        A tensor with the axes of x. The outputs replace the first contracted axis (or come last),
        and new axes of the same class and roles replace the sliding axes.

    Raises:
        AxesError: an axis has several partners, no axis of the filter slides, a setting or an axis
            does not fit, or the filter is longer than the padded input.
        GraphTypeError: an operand is an array without axes, or a setting is not an integer.

    Examples:
        >>> role = aj.make_axis_role("row")
        >>> x = aj.constant([1.0, 2, 4, 8], aj.make_axis(4, "row", roles=role))
        >>> filter = aj.constant([1.0, 1.0], aj.make_axis(2, "window", roles=role))
        >>> aj.convolution(x, filter, padding={"row": (1, 0)}).eval().values
        array([ 1.,  3.,  6., 12.])
    """
    asked = f"convolution of {shown((x, filter))}"
    left, right = as_tensor(x, asked), as_tensor(filter, asked)
    steps, ends, apart = (
        by_sliding_axis(left.axes, right.axes, setting, asked)
        for setting in (strides, padding, dilation)
    )
    named = {axis for s in (steps, ends, apart) if isinstance(s, Mapping) for axis in s}
    met, slid = _filter_pairs(left.axes, right.axes, named, asked)
    _check_slides(right.axes, met, slid, asked)
    windows = {axis: (own.dim, (own,)) for own, axis in slid.items()}
    slides = slides_over(windows, steps, ends, apart, asked)
    return _with_requested_axes(_convolved(left, right, met, slides, slid, asked), axes, asked)


def _convolved(
    left: Tensor, right: Tensor, met: Pairs, slides: list[Slide], slid: Pairs, asked: str
) -> Tensor:
    """The sums of products over the contracted axes and the windows."""
    # Cast first: windows overlap, so a reader of windows would compute an element several times.
    (first, second), dtype = resolve(builder.MULTIPLY, (left.node, right.node))
    wide = SINGLE if dtype == HALF else dtype
    zero = Scalar(wide, wide.type(0), False)
    dims = [left.axes.index(s.axis) for s in slides]
    seen = windows_of(cast(first, wide), dims, slides, zero, asked)
    places = _places(slides)
    outputs = right.axes - met - slid
    labels = _result_labels(left.axes, met, places, outputs)
    check_names(left.axes, right.axes, labels, asked)
    # Iterators: the result's axes, the contracted axes, then those within the window.
    where = {axis: k for k, axis in enumerate((*labels, *met, *slid))}
    theirs = {axis: own for own, axis in met.items()} | places
    maps = (
        permutation([where[theirs.get(axis, axis)] for axis in (*left.axes, *slid)]),
        permutation([where[axis] for axis in right.axes]),
    )
    extents = tuple(axis.dim for axis in (*labels, *met.values(), *slid))
    conditions = through(kept(dims, slides, len(left.axes)), maps[0])
    node = builder.contract(seen, cast(second, wide), maps, extents, len(labels), conditions)
    node = cast(node, dtype)
    return labelled(node, labels, left, right)


def _filter_pairs(inputs: Axes, own: Axes, named: set[Axis], asked: str) -> tuple[Pairs, Pairs]:
    """The axes of x that are paired with the contracted and with the sliding axes of the filter."""
    met: Pairs = {axis: axis for axis in own if axis in inputs}
    slid: Pairs = {}
    free = inputs - met
    for axis in own - met:
        by_role = [a for a in free if any(a.has_role(role) for role in axis.roles)]
        alike = [a for a in free if a.axis_class is axis.axis_class]
        partners = by_role or [a for a in alike if a.dual_offset == axis.dual_offset]
        taken = [*met.values(), *slid.values()]
        if len(partners) > 1 or any(a in taken for a in partners):
            raise AxesError(
                asked,
                f"{axis} of the filter has a role or class in common with {Axes(partners)}"
                + (", which is paired already" if len(partners) == 1 else ""),
                "give roles that pair each axis of the filter with one of the input",
                user_location(),
            )
        for partner in partners:
            same = not by_role and not named & {axis, partner} and _equal(axis, partner, asked)
            (met if same else slid)[axis] = partner
    return met, slid


def _check_slides(own: Axes, met: Pairs, slid: Pairs, asked: str) -> None:
    """Refuse a filter that does not slide over the input: the result would be a plain product."""
    if slid:
        return
    contracted = f", {Axes(met)} are contracted" if met else ""
    outputs = f", {own - met} share no role or class with it" if own - met else ""
    seen = f"no axis of the filter slides over the input{contracted}{outputs}"
    raise AxesError(
        asked,
        seen,
        "make the axis of the window with a role of the axis along which it slides, as "
        "make_axis(3, 'window', roles=role), or write dot(x, filter)",
        user_location(),
    )


def _equal(one: Axis, other: Axis, asked: str) -> bool:
    if one.dim is not other.dim and None in (one.length, other.length):
        raise AxesError(
            asked,
            f"axes {Axes((one, other))} of one class, of which the length of one is unknown",
            "give them a role that they share to slide, or relabel with cast_axes(x, axes)",
            user_location(),
        )
    return one.dim is other.dim or one.length == other.length


def _places(slides: list[Slide]) -> Pairs:
    """For each sliding axis, a new axis with one element for each position of the window."""
    return {one.axis: derived_axis(one.axis, one.places, one.roots) for one in slides}


def _result_labels(inputs: Axes, met: Pairs, places: Pairs, outputs: Axes) -> Axes:
    labels: list[Axis] = []
    waiting = list(outputs)
    for axis in inputs:
        if axis in met.values():
            labels += waiting
            waiting = []
        else:
            labels.append(places.get(axis, axis))
    return Axes((*labels, *waiting))


def _with_requested_axes(tensor: Tensor, axes: NewAxes, asked: str) -> Tensor:
    """The tensor with the requested axes; an axis that x lacks replaces a related axis of x."""
    if axes is None:
        return tensor
    wanted = new_axes(tensor.axes, axes, asked)
    if len(wanted) != len(tensor.axes):
        return relabelled(tensor, wanted, asked)  # raises the error
    rest = list(wanted - tensor.axes)
    labels: list[Axis] = []
    for axis in tensor.axes:
        if axis not in wanted:
            chosen = next((a for a in rest if related(axis, a)), rest[0])
            rest.remove(chosen)
            axis = chosen
        labels.append(axis)
    return axes_with_order(relabelled(tensor, Axes(labels), asked), wanted)


@hides_frames
def pooling(
    x: Operand,
    windows: Mapping[AxisName, SupportsIndex | Axis],
    op: str = "max",
    strides: Setting | None = None,
    padding: WindowPadding = 0,
    dilation: Setting = 1,
    axes: NewAxes = None,
) -> Tensor:
    """The maximum, minimum, sum or mean of the elements in each window that slides along axes.

    Args:
        x: The tensor.
        windows: A dictionary from each sliding axis, or its name, to the window's length: a number
            or an axis.
        op: "max", "min", "sum" or "mean"; a mean does not count padding as elements.
        strides: Strides, as for `convolution`; by default the lengths of the windows.
        padding: Padding, as for `convolution`; smaller than the window.
        dilation: Dilation, as for `convolution`.
        axes: The axes of the result, as for `convolution`.

    Returns:
        A tensor with the axes of x; new axes of the same class and roles replace the sliding axes.

    Raises:
        AxesError: x lacks an axis, the operation is unknown, or a setting or axis does not fit.
        GraphTypeError: x is an array without axes, or a setting is not an integer.

    Examples:
        >>> x = aj.constant([1.0, 2, 4, 8], aj.make_axis(4, "row"))
        >>> aj.pooling(x, {"row": 2}).eval().values
        array([2., 8.])
    """
    asked = f"pooling of {shown((x,))}"
    tensor = as_tensor(x, asked)
    fold = _FOLDS.get(op)
    if fold is None:
        seen = f"the operation {op!r}"
        raise AxesError(asked, seen, f"choose one of {', '.join(_FOLDS)}", user_location())
    if not isinstance(windows, Mapping):
        seen = f"windows of type {type(windows).__name__}"
        raise GraphTypeError(asked, seen, "give a dictionary from axis to length", user_location())
    sliding = by_axis(tensor.axes, windows, asked)
    dims = [tensor.axes.index(axis) for axis in sliding]
    lengths = {axis: _window(window, asked) for axis, window in sliding.items()}
    own = Axes(dict.fromkeys(window for window in sliding.values() if isinstance(window, Axis)))
    steps, ends, apart = (
        by_sliding_axis(tensor.axes, own, setting, asked)
        for setting in (strides, padding, dilation)
    )
    slides = slides_over(lengths, steps, ends, apart, asked)
    for one in slides:
        _check_padding(one, asked)
    node = _pooled(op, fold, tensor.node, dims, slides, asked)
    labels = _result_labels(tensor.axes, {}, _places(slides), Axes())
    return _with_requested_axes(labelled(node, labels, tensor), axes, asked)


def _pooled(
    op: str, fold: UfuncFold, node: Node, dims: list[int], slides: list[Slide], asked: str
) -> Node:
    """The node with each window reduced to one element."""
    before, rank = node.dtype, len(node.shape)
    if op == "mean" and not is_inexact(node.dtype) or node.dtype == HALF:
        node = cast(node, SINGLE if node.dtype == HALF else FLOAT)
    filler = Scalar(node.dtype, node.dtype.type(fold.initial(node.dtype)), False)
    within = range(rank, rank + len(slides))
    seen, conditions = windows_of(node, dims, slides, filler, asked), kept(dims, slides, rank)
    folded = builder.fold(fold, seen, within, conditions=conditions)
    if op == "mean":
        for d, one in zip(dims, slides, strict=True):
            folded = _divided(folded, d, _window_sizes(one, asked))
    return cast(folded, HALF) if before == HALF else folded


def _window(window: object, asked: str) -> tuple[Dim, tuple[Axis, ...]]:
    if isinstance(window, Axis):
        return window.dim, (window,)
    return dim(checked_integer(window, asked, "give windows as integers or axes")), ()


def _check_padding(one: Slide, asked: str) -> None:
    """Refuse a padding so large that a window would contain no element of the tensor."""
    span = one.span.constant
    if span is not None and max(one.padding) >= max(span, 1):
        seen = f"a padding of {one.padding} along {one.axis} for windows of {span}"
        raise AxesError(asked, seen, "pad by less than the window", user_location())


def _window_sizes(one: Slide, asked: str) -> Node:
    """The number of elements, without padding, in each window along an axis."""
    if not any(one.padding):
        return builder.as_node(one.window, asked)
    number = Scalar(FLOAT, FLOAT.type(1), False)
    ones = builder.view(number, (), (one.axis.dim,))
    zero = Scalar(FLOAT, FLOAT.type(0), False)
    return builder.fold(SUM, windows_of(ones, [0], [one], zero, asked), [1])


def _divided(node: Node, d: int, count: Node) -> Node:
    divide = PRIMITIVES["divide"]
    if not count.shape:
        return builder.elementwise(divide, node, count)
    maps = permutation(range(len(node.shape))), (iterator(d),)
    return builder.map_op(divide, (node, cast(count, node.dtype)), maps, node.shape)


@hides_frames
def sigmoid(x: Operand) -> Tensor:
    """The logistic function 1 / (1 + exp(-x)) of each element.

    Returns:
        A tensor with the axes of x.

    Raises:
        GraphTypeError: x is an array without axes, or neither a tensor nor a number.
    """
    return apply_ufunc(np.divide, 1, apply_ufunc(np.exp, apply_ufunc(np.negative, x)) + 1)


@hides_frames
def relu(x: Operand) -> Tensor:
    """The larger of each element of x and 0.

    Returns:
        A tensor with the axes and the dtype of x; NaN stays NaN.

    Raises:
        GraphTypeError: x is an array without axes, or neither a tensor nor a number.
    """
    return apply_ufunc(np.maximum, x, 0, name="relu")


@hides_frames
def safelog(x: Operand, limit: float = -50.0) -> Tensor:
    """The larger of log(x) and `limit` for each element; zero and negative elements give `limit`.

    Returns:
        A tensor with the axes of x.

    Raises:
        GraphTypeError: x is an array without axes, or neither a tensor nor a number.
    """
    return apply_ufunc(np.log, apply_ufunc(np.maximum, x, math.exp(limit)))


@hides_frames
def softmax(x: Operand, normalization_axes: AxesOf = None) -> Tensor:
    """The softmax exp(x) / sum(exp(x)) over axes, computed without overflow.

    Args:
        x: The tensor.
        normalization_axes: The axes, or their names, over which the result sums to 1; by default
            all.

    Returns:
        A tensor with the axes of x.

    Raises:
        AxesError: x lacks an axis, or an axis is listed twice or has length 0.
        GraphTypeError: x is an array without axes, or neither a tensor nor a number.

    Examples:
        >>> x = aj.constant([[0.0, 0.0], [0.0, 9.0]], aj.make_axes({"batch": 2, "class": 2}))
        >>> aj.softmax(x, "class").sum("class").eval().values
        array([1., 1.])
    """
    tensor = as_tensor(x, f"softmax of {shown((x,))}")
    axes, _ = reductions.split_axes("softmax", tensor, normalization_axes, None)
    powers = apply_ufunc(np.exp, tensor - reductions.max(tensor, axes))
    return powers / reductions.sum(powers, axes)


@hides_frames
def cross_entropy_multi(
    y: Operand, t: Operand, usebits: bool = False, out_axes: AxesOf = None
) -> Tensor:
    """The cross entropy of distributions y with targets t, -sum(t * log(y)).

    Args:
        y: Probabilities, limited as in `safelog`.
        t: The target distributions.
        usebits: True for logarithms to base 2.
        out_axes: The axes of the result; the other axes are summed. By default all axes are summed.

    Raises:
        AxesError: neither operand has all axes of the other one, or `out_axes` has an axis that no
            operand has.
        GraphTypeError: an operand is an array without axes, or neither a tensor nor a number.
    """
    left, right = _checked_operands("cross_entropy_multi", y, t)
    total = reductions.sum(safelog(left) * right, out_axes=out_axes)
    return total * (-1.0 / math.log(2.0) if usebits else -1.0)


@hides_frames
def cross_entropy_binary_inner(y: Operand, t: Operand) -> Tensor:
    """The elements -(t * log(y) + (1 - t) * log(1 - y)), with `safelog` as the logarithm.

    Raises:
        AxesError: neither operand has all axes of the other one.
        GraphTypeError: an operand is an array without axes, or neither a tensor nor a number.
    """
    left, right = _checked_operands("cross_entropy_binary", y, t)
    return -(safelog(left) * right + safelog(1 - left) * (1 - right))


@hides_frames
def cross_entropy_binary(y: Operand, t: Operand, out_axes: AxesOf = None) -> Tensor:
    """The sum of `cross_entropy_binary_inner` over axes not in `out_axes`, with the same errors."""
    return reductions.sum(cross_entropy_binary_inner(y, t), out_axes=out_axes)


def _checked_operands(name: str, y: Operand, t: Operand) -> tuple[Tensor, Tensor]:
    """Check that one operand has all axes of the other one, and return both operands as tensors."""
    asked = f"{name} of {shown((y, t))}"
    left, right = as_tensor(y, asked), as_tensor(t, asked)
    if left.axes.is_sub_set(right.axes) or left.axes.is_super_set(right.axes):
        return left, right
    raise AxesError(
        asked,
        f"axes {left.axes} and {right.axes}, neither of which has all of the other's",
        "broadcast(x, axes) one of them, or relabel axes with cast_axes(x, axes)",
        user_location(),
    )
