"""Pair the axes of two operands, for elementwise operations and for products."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from axiomjit.axis.axes import Axes
from axiomjit.axis.axis import Axis
from axiomjit.axis.names import with_origin
from axiomjit.base.config import config
from axiomjit.base.errors import AxesError, OuterProductWarning, SameNameWarning
from axiomjit.base.origins import user_location, warn

_warned: Final[set[tuple[str | None, str | None, str | None]]] = set()
"""The warnings given so far, as the user's line and the origins of two axes with one name."""


def common_order(left: Axes, right: Axes) -> Axes:
    """The axes of an elementwise result, in the order that ngraph's three rules give."""
    if left.is_super_set(right):
        return left
    return right if right.is_super_set(left) else left + (right - left)


def matched(left: Axes, right: Axes, asked: str) -> Axes:
    """The axes of `right`; an axis paired by class is replaced by its partner in `left`.

    Identical axes are paired first. Then remaining axes with the same class, offset and length are
    paired (ngraph tensors, "Axes").

    Raises:
        AxesError: an axis has two candidates, or the length of a candidate is unknown.
    """
    mine, theirs = left - right, right - left
    pairs: dict[Axis, Axis] = {}
    for axis in theirs:
        for candidate in mine:
            if not _of_one_kind(axis, candidate) or not _equal_lengths(candidate, axis, asked):
                continue
            if axis in pairs or candidate in pairs.values():
                twins = [a for a in (*mine, *theirs) if _of_one_kind(a, axis)]
                raise _refusal(asked, twins, "of which more than one pair could meet")
            pairs[axis] = candidate
    return Axes(pairs.get(axis, axis) for axis in right) if pairs else right


def _of_one_kind(one: Axis, other: Axis) -> bool:
    return one.axis_class is other.axis_class and one.dual_offset == other.dual_offset


def _equal_lengths(one: Axis, other: Axis, asked: str) -> bool:
    if one.dim is other.dim:
        return True
    if one.length is None or other.length is None:
        raise _refusal(asked, [one, other], "of which the length of one is unknown")
    return one.length == other.length


def _refusal(asked: str, axes: Iterable[Axis], why: str) -> AxesError:
    return AxesError(
        asked,
        f"axes {Axes(axes)} of one class, {why}",
        "say which axes meet with cast_axes(x, axes), or assign their lengths before",
        user_location(),
    )


def product_pairs(left: Axes, right: Axes) -> list[tuple[Axis, Axis]]:
    """The pairs of axes that `dot` contracts, in the order of the left axes.

    First each left axis is paired with the right axis at the next offset (ngraph tensors, "Axes").
    Then each remaining axis is paired with the same axis on the right (ngraph axes, "Dot
    operation").
    """
    pairs = {axis: axis + 1 for axis in left if axis + 1 in right}
    rest = right - pairs.values()
    pairs |= {axis: axis for axis in left if axis not in pairs and axis in rest}
    return [(axis, pairs[axis]) for axis in left if axis in pairs]


def check_outer(left: Axes, right: Axes, met: bool, asked: str) -> None:
    """Allow, warn of or refuse operands without a common axis, according to `config.outer`.

    Raises:
        AxesError: the operands have no common axis, and `config.outer` is "error".
    """
    if met or not left or not right or config.outer == "allow":
        return
    seen = f"an outer product: {left} and {right} have no axis in common"
    remedy = "broadcast(x, axes) one of them to all axes; relabel an axis with cast_axes(x, axes)"
    if config.outer == "error":
        raise AxesError(asked, seen, remedy, user_location())
    warn(f"{asked}: {seen}; {remedy}", OuterProductWarning)


def check_names(left: Axes, right: Axes, result: Axes, asked: str) -> None:
    """Warn of a result with two axes of one name, once per line of the user and pair of axes.

    Different axes are not paired, so the result has an element for each pair of their positions.
    There is no warning if one operand has both axes, since the user intends that.
    """
    mine, theirs = (left - right) & result, (right - left) & result
    for axis in theirs:
        twins = [a for a in mine if a.name is not None and a.name == axis.name]
        for twin in twins:
            key = user_location(), twin.origin, axis.origin
            if key not in _warned:
                warn(
                    f"{asked}: the result has two different axes called {axis.name!r}: "
                    f"{with_origin(twin)} and {with_origin(axis)}. If they are the same, use one "
                    "Axis for both, or cast_axes(x, axes); if not, rename(x, names) one of them",
                    SameNameWarning,
                )
                _warned.add(key)
