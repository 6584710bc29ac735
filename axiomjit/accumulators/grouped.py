"""Folds by groups: a label assigns each element to a group.

Sums, products, comparisons and counts are scatters: one loop combines each element with the state
of its group, in the order of elements, so that bits do not depend on threads. The other built-in
accumulators are composed of scatters of sums, products, comparisons and counts. For a user's
accumulator the elements are sorted by label, without changing their order within a group, and
scanned once; the state after the last element of a group is the group's state. No array has a cell
for each pair of an element and a group.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

import numpy as np

from axiomjit.accumulators.accumulator import Accumulator, BuiltIn
from axiomjit.base.dtypes import (
    FLOAT,
    HALF,
    INT,
    DType,
    is_bool,
    is_complex,
    is_inexact,
    is_integer,
)
from axiomjit.graph import builder
from axiomjit.graph.builder import cast, elementwise
from axiomjit.graph.external_calls import may_fail
from axiomjit.graph.grouped_states import group_sizes, group_states
from axiomjit.graph.indexing_ops import (
    HIGHEST,
    LOWEST,
    ZERO,
    gather,
    not_integers_error,
)
from axiomjit.graph.library_operations import CHECK_LABELS, check_labels
from axiomjit.graph.nodes import Constant, Node, Op, Scalar, describe_type, note
from axiomjit.graph.primitives import (
    ALL_OF,
    ANY,
    COPY,
    MAX,
    MIN,
    PRIMITIVES,
    PROD,
    SUM,
    WHERE,
    Primitive,
    UfuncFold,
)
from axiomjit.graph.reductions import (
    NO_POSITION,
    StateFold,
    has_elements,
    in_nodes,
    positions_along,
)
from axiomjit.graph.shape_ops import merge, padded
from axiomjit.graph.storages import update
from axiomjit.graph.traced_values import Folding
from axiomjit.numpy_rules.library import FUNCTIONS
from axiomjit.symbolic.data_dependent import data_dependent_in
from axiomjit.symbolic.dims import Dim, dim
from axiomjit.symbolic.index_maps import IndexMap, identity, iterator


def _op(name: str, *operands: Node) -> Node:
    return elementwise(PRIMITIVES[name], *operands)


def _scalar(dtype: DType, value: object) -> Scalar:
    return Scalar(dtype, dtype.type(value), False)


def _is_frozen(array: np.ndarray) -> bool:
    return array.base is None and not array.flags.writeable


class Groups:
    """The groups of one fold; elements that are left out form an additional last group."""

    def __init__(self, folding: Folding) -> None:
        """Check the dtype of the labels, and that each label is -1 or a group.

        Raises:
            GraphTypeError: the labels are not integers.
        """
        assert folding.labels is not None
        assert folding.groups is not None
        labels = folding.labels
        if not (is_bool(labels.dtype) or is_integer(labels.dtype)):
            raise not_integers_error(f"a fold by {describe_type(labels)}", "labels")
        self.count, self.axes = folding.groups, folding.axes
        self.shape = folding.nodes[0].shape
        self.kept = tuple(d for d in range(len(self.shape)) if d not in self.axes)
        self.at = min(self.axes, default=0)
        wide = cast(labels, INT)
        count = self._checked_count(labels, wide)
        self.cells = wide
        if count is not None:
            self.cells = elementwise(WHERE, _op("less", wide, ZERO), count, wide)

    def _checked_count(self, labels: Node, wide: Node) -> Node | None:
        """The number of groups, computed after labels are checked; None if no label can be -1."""
        known = self.count.constant
        array = labels.array if isinstance(labels, Constant) else None
        if known is not None and array is not None and array.size and _is_frozen(array):
            low, high = int(array.min()), int(array.max())
            check_labels(low, high, known)
            return Scalar(INT, INT.type(known), False) if low < 0 else None
        every = tuple(range(len(labels.shape)))
        ends = (builder.fold(MIN, wide, every, HIGHEST), builder.fold(MAX, wide, every, LOWEST))
        return may_fail(note(Op(INT, CHECK_LABELS, None, ends, ((), ()), (self.count + 1,), 0)))

    @property
    def lengths(self) -> tuple[Dim, ...]:
        """The lengths of the reduced dimensions."""
        return tuple(self.shape[d] for d in self.axes)

    def scatter(self, values: Node, start: Scalar, combine: Primitive) -> Node:
        """The result of combining the values of each group with `start`, in order.

        The last group of the result has the elements that are left out.
        """
        left: list[Dim] = [self.shape[d] for d in self.kept]
        left.insert(self.at, self.count + 1)
        here = tuple(map(iterator, self.axes))
        begun = elementwise(COPY, builder.broadcast_to(start, tuple(left)))
        parts = begun, self._target, values, identity(len(values.shape)), self.shape
        return note(update(*parts, [(self.cells, here)], [self.count + 1], combine))

    @property
    def _target(self) -> IndexMap:
        """The index map from an element and its group to the element of a result."""
        index = [iterator(d) for d in self.kept]
        index.insert(self.at, iterator(len(self.shape)))
        return tuple(index)

    def spread(self, folded: Node) -> Node:
        """An array that holds, for each element, the result of the element's group."""
        here = tuple(map(iterator, self.axes))
        lengths = [self.count + 1]
        return gather(folded, self._target, [(self.cells, here)], self.shape, lengths)

    def fold(self, rule: UfuncFold, node: Node, dtype: DType) -> Node:
        """Each group reduced by a ufunc; the state has the dtype that results of `dtype` need."""
        state = rule.state_dtype(dtype)
        start = _scalar(state, rule.initial(state))
        return self.scatter(cast(node, state), start, rule.combine)

    @property
    def sizes(self) -> Node:
        """The number of elements in each group."""
        return group_sizes(self.cells, self.count)

    def along(self, numbers: Node, result: Node) -> Node:
        """An array with one number per group, broadcast to the shape of a result."""
        return builder.view(numbers, (iterator(self.at),), result.shape)

    def filled(self, result: Node, value: object) -> Node:
        """A result in which groups without elements have a given value."""
        empty = _op("equal", self.along(self.sizes, result), ZERO)
        return elementwise(WHERE, empty, _scalar(result.dtype, value), result)

    def without_left_out(self, node: Node, at: int) -> Node:
        """A view of a node without the last group, whose elements are left out."""
        extents = (*node.shape[:at], self.count, *node.shape[at + 1 :])
        return builder.view(node, identity(len(extents)), extents)

    def finished(self, result: Node) -> Node:
        """A copy of a result without the last group, whose elements are left out."""
        return elementwise(COPY, self.without_left_out(result, self.at))


def fold_groups(acc: Accumulator, folding: Folding) -> tuple[list[Node], bool]:
    """The results of a grouped reduction, and True if they are a tuple.

    Raises:
        GraphTypeError: the labels are not integers.
        PositionError: a label is neither -1 nor a group; raised when the program runs.
    """
    groups = Groups(folding)
    if isinstance(acc, BuiltIn):
        made = GROUPED[acc.name](groups, acc.operand(folding.nodes))
        return [groups.finished(made)], False
    return _fold_sorted(acc, groups, folding)


# Built-in accumulators


def _by_ufunc(rule: UfuncFold) -> Callable[[Groups, Node], Node]:
    def fold(groups: Groups, node: Node) -> Node:
        if rule in (ANY, ALL_OF):
            node = _op("not_equal", node, _scalar(node.dtype, 0))
        dtype = rule.result_dtype(node.dtype)
        return cast(groups.fold(rule, node, dtype), dtype)

    return fold


def _extreme(rule: UfuncFold) -> Callable[[Groups, Node], Node]:
    def fold(groups: Groups, node: Node) -> Node:
        found = cast(groups.fold(rule, node, node.dtype), node.dtype)
        return groups.filled(found, np.nan) if is_inexact(node.dtype) else found

    return fold


def _position(rule: UfuncFold) -> Callable[[Groups, Node], Node]:
    """A rule for each group's first position of an extreme or NaN; -1 if a group is empty."""

    def fold(groups: Groups, node: Node) -> Node:
        values = cast(node, rule.state_dtype(node.dtype))
        best = groups.spread(groups.fold(rule, values, values.dtype))
        is_best = _op("equal", values, best)
        if is_inexact(values.dtype):
            is_best = _op("logical_or", is_best, _op("isnan", values))
        nowhere = _scalar(INT, NO_POSITION)
        places = elementwise(WHERE, is_best, positions_along(groups.shape, groups.axes), nowhere)
        first = groups.scatter(places, nowhere, PRIMITIVES["minimum"])
        return groups.filled(first, -1)

    return fold


def _total(groups: Groups, node: Node) -> tuple[Node, DType]:
    """The sum of each group in the dtype of its state, and the dtype of a mean."""
    dtype = node.dtype if is_inexact(node.dtype) else FLOAT
    return groups.fold(SUM, cast(node, dtype), dtype), dtype


def _divided(groups: Groups, total: Node) -> Node:
    return _op("divide", total, groups.along(cast(groups.sizes, total.dtype), total))


def _mean(groups: Groups, node: Node) -> Node:
    total, dtype = _total(groups, node)
    return cast(_divided(groups, total), dtype)


def _variance(groups: Groups, node: Node) -> Node:
    """The mean of squared deviations from the group's mean, in two loops over the elements."""
    total, dtype = _total(groups, node)
    apart = _op("subtract", cast(node, total.dtype), groups.spread(_divided(groups, total)))
    if is_complex(total.dtype):
        real, imaginary = builder.part(apart, "real"), builder.part(apart, "imag")
        square = _op("add", _op("multiply", real, real), _op("multiply", imaginary, imaginary))
        dtype = np.empty(0, dtype).real.dtype
    else:
        square = _op("multiply", apart, apart)
    return cast(_divided(groups, groups.fold(SUM, square, square.dtype)), dtype)


def _deviation(groups: Groups, node: Node) -> Node:
    found = _variance(groups, node)
    wide = cast(found, np.dtype(np.float32)) if found.dtype == HALF else found
    return cast(_op("sqrt", wide), found.dtype)


def _log_sum_exp(groups: Groups, node: Node) -> Node:
    """The logarithm of the sum of exponentials, shifted by the group's maximum; -inf if empty."""
    dtype = builder.summed_in(node)
    wide = cast(node, SUM.state_dtype(dtype))
    largest = groups.fold(MAX, wide, wide.dtype)
    zero = _scalar(wide.dtype, 0)
    shift = elementwise(WHERE, _op("isfinite", largest), largest, zero)
    terms = _op("exp", _op("subtract", wide, groups.spread(shift)))
    total = groups.scatter(terms, zero, PRIMITIVES["add"])
    return cast(_op("add", _op("log", total), shift), dtype)


GROUPED: Final[Mapping[str, Callable[[Groups, Node], Node]]] = {
    "sum": _by_ufunc(SUM),
    "prod": _by_ufunc(PROD),
    "max": _extreme(MAX),
    "min": _extreme(MIN),
    "any": _by_ufunc(ANY),
    "all": _by_ufunc(ALL_OF),
    "argmax": _position(MAX),
    "argmin": _position(MIN),
    "mean": _mean,
    "logsumexp": _log_sum_exp,
    "variance": _variance,
    "std": _deviation,
}
"""The grouped reduction for each built-in accumulator."""


# Accumulators that users define


def _fold_sorted(acc: Accumulator, groups: Groups, folding: Folding) -> tuple[list[Node], bool]:
    """The results of any accumulator, by a scan of the elements sorted by label."""
    traced = acc.traced([node.dtype for node in folding.nodes])
    fold = traced.fold
    lifted = [
        cast(builder.broadcast_to(node, groups.shape), part)
        for node, part in zip(in_nodes(traced.lift, folding.nodes), fold.parts, strict=True)
    ]
    states = _last_states(fold, lifted, groups)
    start = [Scalar(value.dtype, value, False) for value in fold.start]
    if fold.starts and not fold.has_identity:
        combined = in_nodes(fold.outputs, [*start, *states])
        states = [cast(node, part) for node, part in zip(combined, fold.parts, strict=True)]
    sizes = groups.without_left_out(groups.sizes, 0)
    shape = [groups.shape[d] for d in groups.kept]
    shape.insert(groups.at, groups.count)
    empty = _op("equal", builder.view(sizes, (iterator(groups.at),), tuple(shape)), ZERO)
    if fold.starts:
        states = [elementwise(WHERE, empty, *pair) for pair in zip(start, states, strict=True)]
    found = states if traced.final is None else in_nodes(traced.final, states)
    found = [builder.broadcast_to(builder.strong(node), tuple(shape)) for node in found]
    if not fold.starts:
        nothing = [_scalar(n.dtype, np.nan if is_inexact(n.dtype) else 0) for n in found]
        found = [elementwise(WHERE, empty, *pair) for pair in zip(nothing, found, strict=True)]
    return [elementwise(COPY, node) for node in found], traced.is_tuple


def _last_states(fold: StateFold, lifted: list[Node], groups: Groups) -> list[Node]:
    """The state of each group; arbitrary values for a group without elements."""
    kept = len(groups.kept)
    order = [*groups.kept, *groups.axes]
    merged = [*[1] * kept, len(groups.axes)]
    rows = [merge(builder.transpose(node, order), merged) for node in lifted]
    cells = merge(groups.cells, [len(groups.axes)])
    if data_dependent_in(*groups.lengths) or not has_elements(groups.lengths):
        # an additional element that belongs to no group, so that there is a state to read
        nothing = [Scalar(value.dtype, value, False) for value in fold.start]
        rows = [padded(r, kept, (dim(0), dim(1)), z) for r, z in zip(rows, nothing, strict=True)]
        outside = builder.as_node(groups.count, "fold")
        cells = padded(cells, 0, (dim(0), dim(1)), cast(outside, INT))
    states = group_states(fold, rows, cells, groups.sizes, _stable_order)
    back = list(range(kept))
    back.insert(groups.at, kept)
    return [builder.transpose(node, back) for node in states]


def _stable_order(labels: Node) -> Node:
    """The positions of labels in sorted order; equal labels keep their order."""
    order: Node = FUNCTIONS[np.argsort](labels, kind="stable")
    return order
