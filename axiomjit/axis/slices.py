"""Select parts of tensors by integers, slices, Ellipsis and dictionaries from axis to item.

A part of a tensor is a view. A whole slice keeps its Axis; any other slice gets a new Axis with the
class, roles and offset of the old one. If a length is unknown, the bounds of a slice are minima or
maxima of lengths.
"""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from types import EllipsisType
from typing import Final, SupportsIndex

import numpy as np

from axiomjit.axis.axes import Axes, by_axis
from axiomjit.axis.axis import Axis, derived_axis
from axiomjit.axis.deferred_checks import MessageParts, require
from axiomjit.axis.names import AxisName
from axiomjit.base.errors import AxesError, GraphTypeError, amount
from axiomjit.base.origins import user_location
from axiomjit.base.records import Record
from axiomjit.graph import builder
from axiomjit.graph.nodes import Node
from axiomjit.symbolic.dims import Dim, dim
from axiomjit.symbolic.index_maps import Affine, affine, iterator, range_of

REMEDY: Final = (
    "use integers, slices of integers, ... or a dictionary from axes to these, as x[{'H': 0}]; "
    "choose by values with where(condition, x, y) or take(x, indices, axis)"
)
Item = SupportsIndex | slice
Key = Item | EllipsisType | Sequence[object] | Mapping[AxisName, Item]


class Range(Record):
    """The positions along an axis from `start` to `stop` in steps of `step`."""

    start: int | None
    stop: int | None
    step: int

    @property
    def is_whole(self) -> bool:
        """True if the range contains every position, in order."""
        return self.start in (None, 0) and self.stop is None and self.step == 1


def items_of(key: object, axes: Axes, asked: str) -> list[object]:
    """One item per axis for the key of `x[key]`; an axis without an item gets a whole slice.

    Raises:
        AxesError: there are more items than axes, or an item is for an axis that the tensor lacks.
    """
    if isinstance(key, Mapping):
        named = by_axis(axes, key, asked)
        return [named.get(axis, slice(None)) for axis in axes]
    items = list(key) if isinstance(key, tuple) else [key]
    dots = [k for k, item in enumerate(items) if item is Ellipsis]
    count = len(items) - len(dots)
    if len(dots) > 1 or count > len(axes):
        seen = f"{amount(count, 'item')} for axes {axes}"
        seen += ", two of them ..." if len(dots) > 1 else ""
        remedy = "give at most one item per axis, and ... at most once"
        raise AxesError(asked, seen, remedy, user_location())
    at = dots[0] if dots else len(items)
    rest: list[object] = [slice(None)] * (len(axes) - count)
    return [*items[:at], *rest, *items[at + 1 :]]


def tensor_part(node: Node, axes: Axes, items: Sequence[object], asked: str) -> tuple[Node, Axes]:
    """Select a part of a node with these axes by one item per axis.

    Raises:
        AxesError: an integer is out of range; raised at the call if the length is unknown.
        GraphTypeError: an item is neither an integer nor a slice of integers.
    """
    chosen = [_checked_item(item, asked) for item in items]
    functions: list[Affine] = []
    labels: list[Axis] = []
    outside: list[tuple[int, Axis]] = []
    for item, axis in zip(chosen, axes, strict=True):
        if isinstance(item, int):
            functions.append(affine({}, item if item >= 0 else axis.dim + item))
            outside.append((item, axis))
        elif item.is_whole:
            functions.append(iterator(len(labels)))
            labels.append(axis)
        else:
            start, count = range_of(item.start, item.stop, item.step, axis.dim)
            functions.append(affine({len(labels): dim(item.step)}, start))
            labels.append(derived_axis(axis, count))
    extents: tuple[Dim, ...] = tuple(label.dim for label in labels)
    seen = builder.view(node, tuple(functions), extents)
    for position, axis in outside:
        _require_inside(seen, position, axis, asked)
    return seen, Axes(labels)


def _require_inside(node: Node, position: int, axis: Axis, asked: str) -> None:
    def explain() -> MessageParts:
        length = axis.length or 0
        remedy = f"give a position from {-length} to {length - 1}" if length else "leave it whole"
        return asked, f"position {position} along {axis}", remedy

    least = position + 1 if position >= 0 else -position
    require(node, axis.dim, ">=", dim(least), [axis], explain)


def _checked_item(item: object, asked: str) -> int | Range:
    if isinstance(item, slice):
        start, stop = (_checked_bound(bound, asked) for bound in (item.start, item.stop))
        step = _checked_bound(item.step, asked)
        if step == 0:
            remedy = "give a step that is not zero"
            raise AxesError(asked, f"{item}", remedy, user_location())
        return Range(start, stop, 1 if step is None else step)
    return checked_integer(item, asked, REMEDY)


def _checked_bound(bound: object, asked: str) -> int | None:
    return None if bound is None else checked_integer(bound, asked, REMEDY)


def checked_integer(item: object, asked: str, remedy: str) -> int:
    """The item as an integer; NumPy's integers are allowed, bools are not.

    Raises:
        GraphTypeError: the item is not an integer.
    """
    if isinstance(item, SupportsIndex) and not isinstance(item, bool | np.ndarray):
        return operator.index(item)
    raise GraphTypeError(
        asked,
        f"{item!r} of type str" if isinstance(item, str) else f"a {type(item).__name__}",
        remedy,
        user_location(),
    )
