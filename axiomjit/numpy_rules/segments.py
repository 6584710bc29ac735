"""The rules of `reduceat` of ufuncs, which reduces segments of an array.

Segments become loops if their starts are known or equally far apart. A loop cannot have a range
that depends on data, so for other starts NumPy reduces, as an external call.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from numpy.lib.array_utils import normalize_axis_index

from axiomjit.graph import builder
from axiomjit.graph.nodes import Node
from axiomjit.graph.shape_ops import sliced, split
from axiomjit.numpy_rules.creation import progression
from axiomjit.numpy_rules.options import Rule, array_node, only_defaults, refuse
from axiomjit.numpy_rules.reductions import REDUCTIONS
from axiomjit.symbolic.data_dependent import data_dependent_in
from axiomjit.symbolic.dims import Dim, dim

MAX_SEGMENTS: Final = 8
"""The largest number of segments that get loops of their own; NumPy reduces more segments."""


def _starts(name: str, indices: Any, length: Dim) -> list[Dim]:
    """The starts of segments from a list; an array is refused, since its elements are not known.

    Raises:
        UnsupportedError: the positions are computed, or the list is too long.
        IndexError: a position is outside the array.
    """
    known = isinstance(indices, list | tuple) and 0 < len(indices) <= MAX_SEGMENTS
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

        def folded(part: Node) -> Node:
            found: Node = reduction(part, along, dtype, None, True)
            # one element is only cast, which keeps the sign of zero
            return builder.cast(part, found.dtype) if part.shape[along].constant == 1 else found

        def rows(part: Node, count: Dim, length: Dim) -> Node:
            found: Node = reduction(split(part, along, (count, length)), along + 1, dtype)
            return builder.cast(part, found.dtype) if length == 1 else found

        spaced = _evenly(name, indices, node.shape[along])
        if spaced is None:
            starts = _starts(name, indices, node.shape[along])
            parts = [folded(sliced(node, [along], part)) for part in _segments(starts)]
        else:
            first, step, more = spaced
            last = first + step * more
            parts = [folded(sliced(node, [along], slice(last, None)))]
            if more != 0:
                parts.insert(0, rows(sliced(node, [along], slice(first, last)), more, step))
        return builder.concatenate(parts, along)

    return rule


def _evenly(name: str, indices: Any, length: Dim) -> tuple[Dim, Dim, Dim] | None:
    """The first start, the step and the number of steps of equally spaced starts; or None.

    Raises:
        IndexError: a position is outside the array.
    """
    if isinstance(indices, range):
        known, count = (dim(indices.start), dim(indices.step)), dim(len(indices))
    elif isinstance(indices, Node) and len(indices.shape) == 1:
        made, count = progression(indices), indices.shape[0]
        if made is None:
            return None
        known = made
    else:
        return None
    if data_dependent_in(count, length) or count == 0:
        return None
    first, step = known
    last = first + step * (count - 1)
    if step <= 0:
        return None
    if not (first >= 0 and last < length):
        wrong = first if first < 0 else last
        raise IndexError(f"index {int(wrong)} out-of-bounds in {name} [0, {int(length)})")
    return first, step, count - 1


def _segments(starts: Sequence[Dim]) -> list[slice]:
    """The segments from each start to the next; one element if the next start is not larger."""
    ends = [
        end if start < end else start + 1 for start, end in zip(starts, starts[1:], strict=False)
    ]
    return [slice(start, end) for start, end in zip(starts, [*ends, None], strict=True)]


REDUCEATS: Final[dict[np.ufunc, Rule]] = {
    ufunc: _reduceat_rule(ufunc, reduction) for ufunc, reduction in REDUCTIONS.items()
}
"""For each ufunc, the rule of its `reduceat`."""
