"""The rules of Fourier transforms, which are calls of functions of `numpy.fft`."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np
from numpy.lib.array_utils import normalize_axis_index

from axiomjit.graph.external_calls import ArrayCall, Extent
from axiomjit.graph.library_operations import Labels, Shapes
from axiomjit.graph.nodes import Node
from axiomjit.graph.shape_ops import sliced
from axiomjit.numpy_rules.joins import FUNCTIONS as JOINS
from axiomjit.numpy_rules.options import Rule, array_node, only_defaults, refuse
from axiomjit.symbolic.dims import Dim, dim, product

WEIGHT: Final = 60
"""The cost of an element, in additions."""
Transform = Callable[..., Any]
HALVED: Final = ("rfft", "ihfft", "rfft2", "rfftn")
"""Functions whose result has only half of the frequencies along the last axis."""
DOUBLED: Final = ("irfft", "hfft", "irfft2", "irfftn")
"""Functions whose operand has only half of the frequencies."""


def _cost(shapes: Shapes, labels: Labels) -> Dim:
    return product(shapes[0]) * WEIGHT


def _transformed(name: str, length: Dim, asked: Any) -> tuple[Dim, Dim]:
    """The number of transformed points, and the length of the result, along the axis."""
    if asked is None:
        points = (length - 1) * 2 if name in DOUBLED else length
    else:
        points = asked if isinstance(asked, Dim) else dim(operator.index(asked))
    return points, points // 2 + 1 if name in HALVED else points


def _check_points(points: Dim) -> None:
    if points < 1:
        raise ValueError(f"Invalid number of FFT data points ({int(points)}) specified.")


def _result(function: Transform, node: Node, shape: list[Dim], **options: Any) -> Node:
    named = f"fft.{function.__name__}"
    given = tuple(options.items())
    (dtype,) = ArrayCall(named, function, (node,), (("norm", options["norm"]),)).dtypes(2)
    call = ArrayCall(named, function, (node,), given, additions=_cost)
    return call.result(tuple(shape), dtype)


def _rule(name: str) -> Rule:
    function: Transform = getattr(np.fft, name)

    def rule(
        a: object, n: Any = None, axis: int = -1, norm: Any = None, out: object = None
    ) -> Node:
        only_defaults(name, out=out)
        node = array_node(a, name)
        along = normalize_axis_index(operator.index(axis), len(node.shape))
        points, length = _transformed(name, node.shape[along], n)
        _check_points(points)
        if name in HALVED and points.constant is None and n is not None:
            node, n = (
                _resized(node, along, points),
                None,
            )  # no length of the result determines n
        shape = list(node.shape)
        shape[along] = length
        options = {} if n is None else {"n": _option(points, length, along)}
        return _result(function, node, shape, **options, axis=along, norm=norm)

    return rule


def _resized(node: Node, axis: int, points: Dim) -> Node:
    """The node with another length along an axis: it is cut, or padded with zeros."""
    length = node.shape[axis]
    if points <= length:
        return sliced(node, [axis], slice(None, points))
    widths = [(0, points - length if d == axis else 0) for d in range(len(node.shape))]
    longer: Node = JOINS[np.pad](node, widths)
    return longer


def _option(points: Dim, length: Dim, along: int) -> Any:
    """The option for a number of points: an `Extent` if it is the result's length."""
    if points.constant is not None:
        return points.constant
    return Extent(along) if points is length else int(points)


def _several_rule(name: str, last: tuple[int, int] | None) -> Rule:
    function: Transform = getattr(np.fft, name)

    def rule(
        a: object, s: Any = None, axes: Any = last, norm: Any = None, out: object = None
    ) -> Node:
        only_defaults(name, out=out)
        node = array_node(a, name)
        rank = len(node.shape)
        if axes is None:
            count = rank if s is None else len(s)
            axes = range(-count, 0)
        along = [normalize_axis_index(operator.index(axis), rank) for axis in axes]
        if s is not None and len(s) != len(along):
            raise ValueError("Shape and axes have different lengths.")
        asked: Sequence[Any] = [None] * len(along) if s is None else s
        shape, options = list(node.shape), []
        for k, (axis, wanted) in enumerate(zip(along, asked, strict=True)):
            end = k == len(along) - 1
            whole = wanted is None or (not isinstance(wanted, Dim) and wanted == -1)
            if whole and s is not None:  # the default is the operand's length
                wanted = node.shape[axis]
            one = name if end else "fft"
            points, shape[axis] = _transformed(one, shape[axis], wanted)
            _check_points(points)
            if s is not None:
                options.append(int(points))
        given = {} if s is None else {"s": tuple(options)}
        if len(set(along)) < len(along) or not along:
            raise refuse(name, "axes", axes)
        return _result(function, node, shape, **given, axes=tuple(along), norm=norm)

    return rule


def _shift_rule(name: str, sign: int) -> Rule:
    def rule(x: object, axes: Any = None) -> Node:
        node = array_node(x, name)
        if axes is None:
            along: tuple[int, ...] = tuple(range(len(node.shape)))
        else:
            along = tuple(axes) if isinstance(axes, Sequence) else (operator.index(axes),)
        halves = [node.shape[axis] // 2 for axis in along]
        rolled: Node = JOINS[np.roll](node, tuple(half * sign for half in halves), along)
        return rolled

    return rule


_ALONG: Final = ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft")
_PLANES: Final = ("fft2", "ifft2", "rfft2", "irfft2")
_SPACES: Final = ("fftn", "ifftn", "rfftn", "irfftn")
FUNCTIONS: Final[dict[Callable[..., object], Rule]] = {
    **{getattr(np.fft, name): _rule(name) for name in _ALONG},
    **{getattr(np.fft, name): _several_rule(name, (-2, -1)) for name in _PLANES},
    **{getattr(np.fft, name): _several_rule(name, None) for name in _SPACES},
    np.fft.fftshift: _shift_rule("fftshift", 1),
    np.fft.ifftshift: _shift_rule("ifftshift", -1),
}
