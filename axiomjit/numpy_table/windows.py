"""The part of the NumPy table that shows windows of an array, as views."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np
from numpy.lib.array_utils import normalize_axis_tuple
from numpy.lib.stride_tricks import sliding_window_view

from axiomjit.graph import builder
from axiomjit.graph.nodes import Node
from axiomjit.numpy_table.options import Row
from axiomjit.numpy_table.shapes import array_node, lengths_of
from axiomjit.symbolic.dims import dim
from axiomjit.symbolic.index_maps import affine


def _sliding_window_view(
    x: object,
    window_shape: Any,
    axis: int | Sequence[int] | None = None,
    *,
    subok: bool = False,
    writeable: bool = False,
) -> Node:
    """Element k of the window at place i is element i + k; an axis may be windowed repeatedly."""
    node = array_node(x, "sliding_window_view")
    rank = len(node.shape)
    windows = lengths_of(tuple(window_shape) if np.iterable(window_shape) else window_shape)
    if any(window < 0 for window in windows):
        raise ValueError("`window_shape` cannot contain negative values")
    axes = tuple(range(rank))
    if axis is not None:
        axes = normalize_axis_tuple(axis, rank, allow_duplicate=True)
    if len(windows) != len(axes):
        raise ValueError(
            f"Must provide a window length for each axis; got {len(windows)} window_shape "
            f"elements for {len(axes)} axes"
        )
    steps = [{d: dim(1)} for d in range(rank)]
    places = list(node.shape)
    for k, (d, window) in enumerate(zip(axes, windows, strict=True)):
        if places[d] < window:
            raise ValueError("window shape cannot be larger than input array shape")
        steps[d][rank + k] = dim(1)
        places[d] = places[d] - (window - 1)
    seen = builder.view(node, tuple(map(affine, steps)), (*places, *windows))
    return seen if writeable else builder.read_only(node, seen)


FUNCTIONS: Final[dict[Callable[..., object], Row]] = {sliding_window_view: _sliding_window_view}
