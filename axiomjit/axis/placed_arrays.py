"""Copy arrays into a requested layout, possibly with padding between the elements."""

from __future__ import annotations

import operator
from collections.abc import Iterable

import numpy as np

from axiomjit.axis.axes import Axes
from axiomjit.base.errors import AxesError, GraphTypeError, GraphValueError
from axiomjit.base.origins import user_location
from axiomjit.views.dense_layout import Layout, LengthLike, column_major_strides, row_major_strides
from axiomjit.views.descriptions import BasicTensorDescription

LayoutRequest = Layout | str | None
"""A requested layout: a Layout, "C", "F", or None if no layout is requested."""


def known_shape(axes: Axes) -> tuple[int, ...]:
    """The lengths of axes, all of which must be known.

    Raises:
        AxesError: a length is unknown.
    """
    shape = tuple(axis.length for axis in axes if axis.length is not None)
    if len(shape) < len(axes):
        raise AxesError(
            f"memory for axes {axes}",
            "an unknown length",
            "assign axis.length before the call",
            user_location(),
        )
    return shape


def check_layout(request: LayoutRequest, axes: Axes, asked: str) -> None:
    """Refuse a layout that does not fit the known lengths of axes.

    Raises:
        GraphTypeError: the layout is neither a Layout nor "C" or "F".
        GraphValueError: the numbers of dimensions differ, a size is smaller than the axis, two
            elements share a position in memory, or a position is negative.
    """
    if request in (None, "C", "F"):
        return
    if not isinstance(request, Layout):
        remedy = 'give "C", "F" or a Layout from axiomjit.descriptions'
        raise GraphTypeError(asked, f"layout={request!r}", remedy, user_location())
    lengths: list[LengthLike] = [a.dim if a.length is None else a.length for a in axes]
    BasicTensorDescription(lengths, "f8", False, request)
    sizes = request.sizes if request.sizes is not None else lengths
    if all(isinstance(n, int) for n in (*sizes, *request.strides, request.offset)):
        _check_places(request, as_integers(sizes), asked)


def as_integers(lengths: Iterable[LengthLike]) -> list[int]:
    """Lengths that are known, as integers."""
    return [operator.index(length) for length in lengths]


def _check_places(layout: Layout, sizes: list[int], asked: str) -> None:
    """Check that no two elements share a position in memory, and that no position is negative."""
    strides = as_integers(layout.strides)
    reach = 1
    for step, size in sorted(zip(map(abs, strides), sizes, strict=True)):
        if size > 1 and step < reach:
            seen = f"strides {layout.strides} for sizes {tuple(sizes)}, which share places"
            remedy = "give each element a place of its own"
            raise GraphValueError(asked, seen, remedy, user_location())
        reach += step * max(size - 1, 0)
    backwards = [min(s * (n - 1), 0) for s, n in zip(strides, sizes, strict=True)]
    least = operator.index(layout.offset) + sum(backwards)
    if least < 0 and 0 not in sizes:
        seen = f"an element at place {least}"
        raise GraphValueError(asked, seen, "give a larger offset", user_location())


def layout_of(request: LayoutRequest, lengths: tuple[LengthLike, ...]) -> Layout | None:
    """The requested layout as a Layout for an array of these lengths; None if none is requested."""
    if request == "C":
        return Layout(row_major_strides(lengths))  # type: ignore[type-var]
    if request == "F":
        return Layout(column_major_strides(lengths))  # type: ignore[type-var]
    return request if isinstance(request, Layout) else None


def placed(array: np.ndarray, request: LayoutRequest) -> np.ndarray:
    """A copy of an array in the requested layout; by default contiguous in C order.

    Raises:
        GraphValueError: the layout does not fit the shape.
    """
    layout = layout_of("C" if request is None else request, array.shape)
    assert layout is not None
    BasicTensorDescription(array.shape, array.dtype, False, layout)
    sizes = as_integers(array.shape if layout.sizes is None else layout.sizes)
    _check_places(layout, sizes, f"an array of shape {array.shape}")
    strides, offset = as_integers(layout.strides), operator.index(layout.offset)
    reach = sum(max(s * (n - 1), 0) for s, n in zip(strides, sizes, strict=True))
    memory = np.zeros(offset + reach + 1 if array.size else 0, array.dtype)
    size = array.itemsize
    result = np.ndarray(
        array.shape, array.dtype, memory, offset * size, [step * size for step in strides]
    )
    result[...] = array
    return result


def has_layout(array: np.ndarray, request: LayoutRequest) -> bool:
    """True if an array has the strides of the requested layout."""
    layout = layout_of(request, array.shape)
    if layout is None:
        return True
    steps = zip(array.strides, as_integers(layout.strides), array.shape, strict=True)
    return all(n <= 1 or own == step * array.itemsize for own, step, n in steps)
