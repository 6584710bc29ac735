"""Reduce arrays, traced arrays and tensors by accumulators."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from operator import index
from typing import Any

from axiomjit.accumulators.accumulator import BUILT_IN, Accumulator, BuiltIn
from axiomjit.accumulators.arrays import ArrayFunction
from axiomjit.accumulators.grouped import fold_groups
from axiomjit.base.errors import GraphTypeError, GraphValueError
from axiomjit.base.origins import hides_frames, user_location
from axiomjit.base.tree import is_labelled
from axiomjit.graph import builder
from axiomjit.graph.execution import by_names, in_arrays
from axiomjit.graph.nodes import Node, Op, base_of
from axiomjit.graph.primitives import ACCUMULATORS, COPY
from axiomjit.graph.reductions import (
    fold_states,
    in_nodes,
    positions_along,
    running_fold,
    scan_states,
)
from axiomjit.graph.traced_values import (
    By,
    Folding,
    NamedValue,
    NodeValue,
    broadcast_folding,
    number_of_groups,
)
from axiomjit.symbolic.dims import Dim, dim


@hides_frames
def fold(
    acc: Accumulator | str,
    *operands: Any,
    axes: Any = None,
    running: bool = False,
    by: Any = None,
    groups: Any = None,
) -> Any:
    """Reduce operands along axes by an accumulator, either all elements or each group of elements.

    Args:
        acc: An `Accumulator`, or the name of a built-in one: sum, prod, max, min, any, all, argmax,
            argmin, mean, logsumexp, variance, std.
        operands: Arrays, traced arrays in a compiled function, named arrays, or tensors, one per
            argument of `lift`. Arrays are broadcast as in NumPy; axes are paired; dimensions of
            DataArrays are paired by name.
        axes: The axes to reduce, by default all: a single axis or a tuple of axes. An axis is given
            as the number or name of a dimension, as an Axis, or as the name of an Axis. Elements
            are reduced in the order of the listed axes; the last varies fastest.
        running: True for a scan, which keeps the axes and returns all partial results, as
            `numpy.cumsum` does. Several axes are scanned in the order of a reduction.
        by: Labels: an array of integers (with axes, for tensors and named arrays) that has the
            number of a group for each position along the axes. Elements labelled -1 are left out.
        groups: With `by`, the number of groups or, for tensors and named arrays, the axis of the
            groups.

    Returns:
        A value of the same kind as the operands, without the reduced axes (unless `running`). If
        the accumulator's result is a tuple, a tuple of values is returned. With `by`, the axis of
        the groups, in a DataArray named after the labels or "group", replaces the first reduced
        axis. A group without elements gives the result of a reduction without elements. If that
        reduction is an error, the group gives NaN; for integers, max gives the least value of the
        dtype, min the greatest value, argmax and argmin -1, and a user's accumulator 0.

    Raises:
        GraphValueError: no accumulator has this name, an empty reduction has no initial value, or
            labels have another shape.
        GraphTypeError: a function of the accumulator uses an operation that is not compiled, a
            dimension of arrays is not an integer, or labels are not integers.
        PositionError: a label is neither -1 nor the number of a group.

    Examples:
        >>> x = np.array([[1.0, 2.0], [3.0, 4.0]])
        >>> aj.fold("logsumexp", x, axes=1).round(3)
        array([2.313, 4.313])
        >>> product = aj.Accumulator(1.0, lambda a, b: a * b, commutative=True, has_identity=True)
        >>> aj.fold(product, x, axes=0)
        array([3., 8.])
        >>> aj.fold("mean", x, axes=1, by=np.array([1, 1]), groups=3)
        array([[nan, 1.5, nan],
               [nan, 3.5, nan]])
    """
    accumulator = accumulator_of(acc)
    _check_options(acc, operands, axes, running, by, groups)
    if any(map(is_labelled, (*operands, by))):
        return by_names("fold_dimensions", accumulator, operands, axes, running, by, groups)
    if by is None:
        return _fold_values(accumulator, in_arrays(operands), axes, running, None)
    *given, labels = in_arrays((*operands, by))
    return _fold_values(accumulator, given, axes, running, By(labels, groups))


def _fold_values(
    acc: Accumulator, operands: Sequence[Any], axes: Any, running: bool, by: By | None
) -> Any:
    """The result for operands of any kind, computed as values of the same kind."""
    given = tuple(operands) if by is None else (*operands, by.labels)
    groups = None if by is None else by.groups
    host = next((value for value in given if isinstance(value, NodeValue | NamedValue)), None)
    if host is None:
        count = None if by is None else number_of_groups(groups).constant
        return _of_arrays(acc, axes, running, count)(*given)
    if isinstance(host, NamedValue) and not any(isinstance(v, NodeValue) for v in given):
        listed = tuple(axes) if isinstance(axes, list) else axes
        key = listed, bool(running), *(() if by is None else (groups,))
        fold_tensors = partial(_fold_given, acc, axes, running, groups)
        return host.computed(fold_tensors, given, acc.cache, key)
    host = next(value for value in given if isinstance(value, NodeValue))
    folding = host.folding(operands, axes, running, by)
    nodes, is_tuple = _folded(acc, folding, running)
    if folding.need_elements is not None and acc.init is None and not running:
        for node in nodes:
            folding.need_elements(repr(acc), node)
    made = tuple(map(folding.wrap, nodes))
    return made if is_tuple else made[0]


def _check_options(
    acc: object, operands: Sequence[Any], axes: Any, running: bool, by: object, groups: object
) -> None:
    """Check that there are operands, and that labels come with groups and without a scan.

    Raises:
        GraphTypeError: there are no operands.
        GraphValueError: labels are given without groups, groups without labels, or both for a scan.
    """
    if not operands:
        raise GraphTypeError(
            f"fold({acc!r}, axes={axes!r})",
            "nothing to fold",
            "give the arrays or tensors to fold",
            user_location(),
        )
    asked = f"fold({acc!r}, ...)"
    if (by is None) != (groups is None):
        given, missing = ("groups", "by") if by is None else ("by", "groups")
        remedy = "give both: by=labels, groups=number"
        seen = f"{given} without {missing}"
        raise GraphValueError(asked, seen, remedy, user_location())
    if by is not None and running:
        seen, remedy = "by=... with running=True", "give one of them: there are no scans by groups"
        raise GraphValueError(asked, seen, remedy, user_location())


def _fold_given(acc: Accumulator, axes: Any, running: bool, groups: Any, *given: Any) -> Any:
    """The fold of tensors; if there are groups, the last tensor holds the labels."""
    if groups is None:
        return fold(acc, *given, axes=axes, running=running)
    return fold(acc, *given[:-1], axes=axes, by=given[-1], groups=groups)


def _folded(acc: Accumulator, folding: Folding, running: bool) -> tuple[list[Node], bool]:
    """The results of a reduction that `folding` describes, and True if they are a tuple."""
    if folding.labels is None:
        return fold_nodes(acc, folding.nodes, folding.axes, running)
    return fold_groups(acc, folding)


def accumulator_of(acc: Accumulator | str) -> Accumulator:
    """The given accumulator, or the built-in accumulator of this name.

    Raises:
        GraphValueError: no accumulator has this name.
        GraphTypeError: `acc` is neither an accumulator nor a name.
    """
    if isinstance(acc, Accumulator):
        return acc
    if not isinstance(acc, str):
        raise GraphTypeError(
            f"a fold by a {type(acc).__name__}",
            "neither an Accumulator nor the name of one",
            "make one with Accumulator(init, combine, ...)",
            user_location(),
        )
    if acc not in BUILT_IN:
        raise GraphValueError(
            f"a fold by {acc!r}",
            "no accumulator of this name",
            f"name one of {', '.join(BUILT_IN)}, or make an Accumulator(init, combine, ...)",
            user_location(),
        )
    return BUILT_IN[acc]


def fold_nodes(
    acc: Accumulator, nodes: Sequence[Node], axes: tuple[int, ...], running: bool = False
) -> tuple[list[Node], bool]:
    """The results of a reduction of nodes of one shape, and True if they are a tuple.

    Raises:
        GraphValueError: there are no elements and no initial value.
    """
    if isinstance(acc, BuiltIn):
        operand = acc.operand(nodes)
        if not running:
            return [acc.build(operand, axes)], False
        if acc.name in ACCUMULATORS:
            fold = ACCUMULATORS[acc.name]
            return [running_fold(fold, operand, fold.result_dtype(operand.dtype), axes)], False
        if acc.name.startswith("arg"):
            nodes = [operand, positions_along(operand.shape, axes)]
    traced = acc.traced([node.dtype for node in nodes])
    lifted = [builder.broadcast_to(n, nodes[0].shape) for n in in_nodes(traced.lift, nodes)]
    if running:
        states = scan_states(traced.fold, lifted, axes)
    else:
        states = fold_states(traced.fold, lifted, axes)
    found = states if traced.final is None else in_nodes(traced.final, states)
    return [_broadcast(node, states[0].shape) for node in found], traced.is_tuple


def _broadcast(node: Node, shape: tuple[Dim, ...]) -> Node:
    """The node broadcast to this shape; an expanded node is copied, so that it owns its memory."""
    if isinstance(base := base_of(node), Op) and base.rank == len(shape):
        return node
    return builder.elementwise(COPY, builder.broadcast_to(node, shape))


class ArrayFold(ArrayFunction):
    """Reduces arrays by an accumulator along some dimensions.

    If `groups` is given, each group is reduced, and the last array holds the labels.
    """

    def __init__(
        self, acc: Accumulator, axes: tuple[int, ...] | None, running: bool, groups: int | None
    ) -> None:
        super().__init__()
        self._acc, self._axes, self._running, self._groups = acc, axes, running, groups

    def nodes(self, arrays: Sequence[Node]) -> tuple[list[Node], bool]:
        """The results for operands that are nodes, and True if they are a tuple."""
        labels = None if self._groups is None else (arrays[-1], dim(self._groups))
        given = arrays if labels is None else arrays[:-1]
        folding = broadcast_folding(given, self._axes, lambda node: node, *labels or ())
        return _folded(self._acc, folding, self._running)

    def names(self, count: int) -> list[str]:
        """The names of `count` arguments, for errors; with groups, the last name is `by`."""
        named = super().names(count)
        return named if self._groups is None else [*named[:-1], "by"]

    def __repr__(self) -> str:
        return f"fold({self._acc!r}, ...)"


def _of_arrays(acc: Accumulator, axes: Any, running: bool, groups: int | None) -> ArrayFold:
    """The function that reduces arrays along axes, cached in the accumulator.

    Raises:
        GraphTypeError: an axis is not an integer.
    """
    key = _numbers(acc, axes), bool(running), *(() if groups is None else (groups,))
    found: ArrayFold | None = acc.cache.get(key)
    return acc.cache.keep(key, ArrayFold(acc, key[0], key[1], groups)) if found is None else found


def _numbers(acc: Accumulator, axes: Any) -> tuple[int, ...] | None:
    if axes is None:
        return None
    try:
        return (index(axes),)
    except TypeError:
        pass
    try:
        return tuple(map(index, axes))
    except TypeError:
        raise GraphTypeError(
            f"fold({acc!r}, ..., axes={axes!r}) of arrays",
            "an axis that is no number",
            "give numbers of dimensions, or NamedArray(x, axes) for arrays whose axes have names",
            user_location(),
        ) from None
