"""NumPy rules of reductions over segments of an array: `reduceat` of ufuncs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from numpy.lib.array_utils import normalize_axis_index

from axiomjit.graph import builder
from axiomjit.graph.nodes import Node
from axiomjit.graph.shape_ops import sliced
from axiomjit.numpy_rules.options import Rule, array_node, only_defaults, refuse
from axiomjit.numpy_rules.reductions import REDUCTIONS
from axiomjit.symbolic.dims import Dim, dim

MOST_SEGMENTS: Final = 8
"""Segments that are reduced by loops of their own; NumPy reduces more of them."""


def _starts(name: str, indices: Any, length: Dim) -> list[Dim]:
    """The known positions of a list; those of an array are data.

    Raises:
        UnsupportedError: the positions are computed, or there are too many.
        IndexError: a position is not in the array.
    """
    known = isinstance(indices, list | tuple) and 0 < len(indices) <= MOST_SEGMENTS
    if not known or not all(isinstance(k, int | np.integer | Dim) for k in indices):
        raise refuse(name, "indices", indices)
    starts = [k if isinstance(k, Dim) else dim(int(k)) for k in indices]
    for start in starts:
        if not 0 <= start < length:
            raise IndexError(f"index {int(start)} out-of-bounds in {name} [0, {int(length)})")
    return starts


def _reduceat_rule(ufunc: np.ufunc, reduction: Rule) -> Rule:
    name = f"{ufunc.__name__}.reduceat"

    def rule(
        array: object, indices: Any, axis: int = 0, dtype: Any = None, out: object = None
    ) -> Node:
        only_defaults(name, out=out)
        node = array_node(array, name)
        along = normalize_axis_index(axis, len(node.shape))
        starts = _starts(name, indices, node.shape[along])
        parts = [sliced(node, [along], part) for part in _segments(starts)]
        folds = [reduction(part, along, dtype, None, True) for part in parts]
        # one element is only cast, which keeps the sign of zero
        ones = [part.shape[along].constant == 1 for part in parts]
        found = [
            builder.cast(part, fold.dtype) if one else fold
            for part, fold, one in zip(parts, folds, ones, strict=True)
        ]
        return builder.concatenate(found, along)

    return rule


def _segments(starts: Sequence[Dim]) -> list[slice]:
    """From each start to the next; only the first element if the next is not behind it."""
    ends = [
        end if start < end else start + 1 for start, end in zip(starts, starts[1:], strict=False)
    ]
    return [slice(start, end) for start, end in zip(starts, [*ends, None], strict=True)]


REDUCEATS: Final[dict[np.ufunc, Rule]] = {
    ufunc: _reduceat_rule(ufunc, reduction) for ufunc, reduction in REDUCTIONS.items()
}
"""The rules of `reduceat`, by ufunc."""
