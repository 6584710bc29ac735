"""Reductions and scans with states of several values, and reductions built from them.

A graph of scalars combines two states of a `StateFold`. The inputs of the graph are the values of
the left state, then the values of the right state; its outputs are the values of the combined
state. Equal nodes are one object, so equal functions with equal dtypes are one fold. `WelfordFold`
and `ArgReduceFold` are such folds; a reduction by a ufunc needs no graph.

A scan is an op whose fold reduces no iterators: it outputs the state after each element along the
last iterator. Several scanned dimensions are first merged into one, in the order listed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, Final

import numpy as np

from axiomjit.base.dtypes import (
    CODES,
    FLOAT,
    HALF,
    INT,
    SINGLE,
    DType,
    convert,
    is_complex,
    is_inexact,
    state_dtype,
    state_parts,
    value_range,
)
from axiomjit.base.errors import GraphValueError, TraceError
from axiomjit.base.origins import user_location
from axiomjit.graph import builder
from axiomjit.graph.builder import cast, elementwise
from axiomjit.graph.nodes import Input, Node, Op, Scalar, describe_type, note, post_order
from axiomjit.graph.primitives import (
    ALL,
    CAST,
    COPY,
    MAX,
    POSITION,
    PRIMITIVES,
    STATE,
    SUM,
    VIEW,
    WHERE,
    FoldRule,
    UfuncFold,
    part_of_state,
)
from axiomjit.graph.shape_ops import merge, split
from axiomjit.symbolic.dims import Dim, dim, product
from axiomjit.symbolic.index_maps import IndexMap, affine, identity, permutation


class StateFold(FoldRule):
    """A fold that combines states by a graph of scalars; `start` is the initial state.

    If the user gives a derivative, `pullback` is its graph. The inputs of `pullback` are the
    cotangent of the new state, the new state, and both old states; its outputs are the cotangents
    of both old states.
    """

    outputs: tuple[Node, ...]
    start: tuple[np.generic, ...]
    starts: bool
    pullback: tuple[Node, ...]

    def __init__(
        self,
        outputs: tuple[Node, ...],
        start: tuple[np.generic, ...],
        commutative: bool = False,
        has_identity: bool = False,
        starts: bool = True,
        pullback: tuple[Node, ...] = (),
    ) -> None:
        """Make a fold; the graph `outputs` combines two states with the dtypes of `start`.

        With `starts`, a reduction begins with the values of `start`, otherwise with its first
        element.
        """
        given: tuple[Any, ...] = ("fold", True, has_identity, ALL, commutative)
        given += (outputs, start, starts, pullback)
        super().__init__(*given)

    @property
    def parts(self) -> tuple[DType, ...]:
        """The dtype of each value of a state."""
        return tuple(value.dtype for value in self.start)

    @property
    def weight(self) -> int:
        """The cost of combining two states, in additions."""
        ops = (node for node in post_order(self.outputs) if isinstance(node, Op))
        return sum(op.primitive.weight for op in ops)

    @property
    def functions(self) -> int:
        """The number of calls of elementary functions that combine two states."""
        ops = (node for node in post_order(self.outputs) if isinstance(node, Op))
        return sum(op.primitive.elementary for op in ops)

    def evaluate(self, given: Sequence[np.ndarray], folded: int) -> np.ndarray:
        """Reduce arrays of equal shape along their last `folded` dimensions, in NumPy.

        If `folded` is 0, the result is the scan along the last dimension: the state after each
        element.
        """
        if not folded:
            return _evaluate_scan(self, given)
        kept = given[0].shape[: given[0].ndim - folded]
        count = math.prod(given[0].shape[given[0].ndim - folded :])
        if not count:
            return as_records([np.broadcast_to(value, kept) for value in self.start], self)
        rows = [array.reshape(*kept, count) for array in given]
        states = [row[..., 0] for row in rows]
        for k in range(1, count):
            combined = in_arrays(self.outputs, [*states, *(row[..., k] for row in rows)])
            states = [v.astype(d, copy=False) for v, d in zip(combined, self.parts, strict=True)]
        return as_records(states, self)

    def __repr__(self) -> str:
        kinds = "".join(
            word
            for word, holds in (
                (" commutative", self.commutative),
                (" with identity", self.has_identity),
            )
            if holds
        )
        return f"fold{kinds}{{{scalar_text(self.outputs, len(self.start))}}}"


def scalar_text(outputs: Sequence[Node], states: int) -> str:
    """The text of a graph of two states: the left with values a0, a1, .., the right with b0, .."""
    names: dict[Node, str] = {}
    lines: list[str] = []
    for node in post_order(tuple(outputs)):
        match node:
            case Input(position=k):
                names[node] = f"a{k}" if k < states else f"b{k - states}"
            case Scalar():
                names[node] = repr(node.value.item())
            case Op():
                names[node] = f"u{len(lines)}"
                operands = ", ".join(names[child] for child in node.operands)
                name = CODES[node.dtype] if node.primitive is CAST else node.primitive.name
                lines.append(f"{names[node]} = {name}({operands})")
    return "; ".join([*lines, ", ".join(names[node] for node in outputs)])


def computed(
    outputs: Sequence[Node], given: Sequence[Any], apply: Callable[[Op, Sequence[Any]], Any]
) -> list[Any]:
    """The outputs of a graph of scalars for `given` inputs; `apply` computes each op."""
    values: dict[Node, Any] = {}
    for node in post_order(tuple(outputs)):
        if isinstance(node, Input):
            values[node] = given[node.position]
        elif isinstance(node, Op):
            values[node] = apply(node, [values[child] for child in node.operands])
        else:
            values[node] = node
    return [values[node] for node in outputs]


def in_arrays(outputs: Sequence[Node], given: Sequence[np.ndarray]) -> list[np.ndarray]:
    """The outputs of a graph of scalars at each point of arrays, computed by NumPy."""

    def apply(op: Op, operands: Sequence[Any]) -> Any:
        values = [v.value if isinstance(v, Scalar) else v for v in operands]
        if op.primitive is CAST:
            return convert(np.asarray(values[0]), op.dtype)
        return np.asarray(op.primitive.evaluate(*values)).astype(op.dtype, copy=False)

    shape = np.broadcast_shapes(*(array.shape for array in given))
    found = computed(outputs, given, apply)
    values = [value.value if isinstance(value, Scalar) else value for value in found]
    return [np.broadcast_to(np.asarray(value), shape) for value in values]


def in_nodes(outputs: Sequence[Node], given: Sequence[Node]) -> list[Node]:
    """The outputs of a graph of scalars at each point of broadcast nodes."""

    def apply(op: Op, operands: Sequence[Node]) -> Node:
        if op.primitive is CAST:
            return cast(operands[0], op.dtype)
        return builder.elementwise(op.primitive, *operands)

    return computed(outputs, given, apply)


def fold_states(fold: StateFold, operands: Sequence[Node], axes: Sequence[int]) -> list[Node]:
    """The states of operands of equal shape, reduced along dimensions, with the initial state.

    The initial state is combined once, as the left operand. If there are no elements, the initial
    state is the result.

    Raises:
        GraphValueError: there are no elements and no initial state.
    """
    shape = operands[0].shape
    kept = tuple(length for d, length in enumerate(shape) if d not in axes)
    start: list[Node] = [Scalar(value.dtype, value, False) for value in fold.start]
    if any(shape[d] == 0 for d in axes):
        if not fold.starts:
            raise _no_elements_error(operands[0])
        return [builder.broadcast_to(value, kept) for value in start]
    if axes:
        states = folded_states(fold, operands, axes)
    else:
        states = [builder.elementwise(COPY, operand) for operand in operands]
    if not fold.starts or (fold.has_identity and axes):
        return states
    whole = in_nodes(fold.outputs, start + states)
    if not has_elements([shape[d] for d in axes]):
        count, zero = (builder.as_node(n, "fold") for n in (builder.count(operands[0], axes), 0))
        empty = builder.elementwise(PRIMITIVES["equal"], count, zero)
        pairs = zip(start, whole, strict=True)
        whole = [builder.elementwise(WHERE, empty, nothing, value) for nothing, value in pairs]
    return [
        builder.broadcast_to(cast(value, part), kept)
        for value, part in zip(whole, fold.parts, strict=True)
    ]


def _no_elements_error(node: Node) -> GraphValueError:
    return GraphValueError(
        f"a fold of {describe_type(node)}",
        "a length of 0, and an accumulator without an initial value",
        "fold only where the array has elements, or give the accumulator an init",
        user_location(),
    )


def has_elements(lengths: Sequence[Dim]) -> bool:
    """True if all lengths are known to be positive; comparing a known length records a guard."""
    try:
        return all(length > 0 for length in lengths)
    except (TraceError, KeyError):
        return False


def folded_states(fold: StateFold, operands: Sequence[Node], axes: Sequence[int]) -> list[Node]:
    """The states of operands of equal shape, reduced along dimensions from the first element."""
    shape = operands[0].shape
    kept = [d for d in range(len(shape)) if d not in axes]
    order = [*kept, *axes]
    index = permutation([order.index(d) for d in range(len(shape))])
    extents = tuple(shape[d] for d in order)
    primitive = VIEW if len(operands) == 1 else STATE
    dtype, maps = state_dtype(fold.parts), (index,) * len(operands)
    folded = note(Op(dtype, primitive, fold, tuple(operands), maps, extents, len(kept)))
    return parts_of(folded)


def parts_of(folded: Node) -> list[Node]:
    """The values of a reduced state, as one node per value."""
    parts, rank = state_parts(folded.dtype), len(folded.shape)
    if len(parts) == 1:
        return [folded]
    return [
        note(Op(d, part_of_state(k), None, (folded,), (identity(rank),), folded.shape, rank))
        for k, d in enumerate(parts)
    ]


def _evaluate_scan(fold: StateFold, given: Sequence[np.ndarray]) -> np.ndarray:
    columns: list[list[np.ndarray]] = []
    for k in range(given[0].shape[-1]):
        here = [array[..., k] for array in given]
        combined = in_arrays(fold.outputs, [*columns[-1], *here]) if columns else here
        pairs = zip(combined, fold.parts, strict=True)
        columns.append([value.astype(part, copy=False) for value, part in pairs])
    if not columns:
        return as_records(
            [array.astype(d) for array, d in zip(given, fold.parts, strict=True)], fold
        )
    return as_records([np.stack(column, -1) for column in zip(*columns, strict=True)], fold)


def as_records(states: Sequence[np.ndarray], fold: StateFold) -> np.ndarray:
    """States as one array of records; a plain array if a state has one value."""
    if len(states) == 1:
        return np.array(states[0])
    result: np.ndarray = np.empty(states[0].shape, state_dtype(fold.parts))
    for k, state in enumerate(states):
        part_of_state(k).evaluate(result)[...] = state
    return result


class WelfordFold(StateFold):
    """A fold with the state (count, sum, shifted sum, sum of squared deviations).

    The shifted sum is the sum of differences from one of the elements. Because of the shifted sum,
    the difference between the means of two parts is exact if all elements are large. Two parts are
    merged by the formula of Chan, Golub and LeVeque ("Updating formulae and a pairwise algorithm
    for computing sample variances", 1979), which has no cancellation.
    """

    def __init__(self) -> None:
        start = (np.float64(0.0),) * 4
        rule: tuple[Any, ...] = (
            "moments",
            True,
            False,
            ALL,
            False,
            _merged_moments(),
            start,
            False,
            (),
        )
        super(StateFold, self).__init__(*rule)

    def __repr__(self) -> str:
        return self.name

    def evaluate(self, given: Sequence[np.ndarray], folded: int) -> np.ndarray:
        """Raise an error, since only passes over loops make this fold, and no graph has it."""
        raise NotImplementedError(f"{self.name} is no fold of graphs")


@lru_cache
def _merged_moments() -> tuple[Node, ...]:
    """The graph of scalars that merges the states of two parts."""
    row = PRIMITIVES
    count, total, shifted, square, *other = (Input(FLOAT, k, ()) for k in range(8))

    def of(name: str, *operands: Node) -> Node:
        return elementwise(row[name], *operands)

    counts = of("add", count, other[0])
    apart = of("subtract", of("divide", other[2], other[0]), of("divide", shifted, count))
    share = of("divide", of("multiply", count, other[0]), counts)
    between = of("multiply", of("multiply", apart, apart), share)
    squares = of("add", of("add", square, other[3]), between)
    return counts, of("add", total, other[1]), of("add", shifted, other[2]), squares


NO_POSITION: Final = value_range(INT)[1]
"""The position in the state that stands for no element; it is larger than every other position."""


class ArgReduceFold(StateFold):
    """A fold of (element, position) that selects the largest or smallest element.

    Among equal elements, the first is selected. A NaN is selected before all numbers, and equals
    another NaN.
    """

    extreme: UfuncFold

    def __init__(self, extreme: UfuncFold, dtype: DType) -> None:
        lowest = np.asarray(extreme.initial(dtype)).astype(dtype)[()]
        start, outputs = (lowest, INT.type(NO_POSITION)), _selected_state(extreme, dtype)
        rule: tuple[Any, ...] = (f"arg{extreme.name}", False, True, ALL, True)
        rule += (outputs, start, False, (), extreme)
        super(StateFold, self).__init__(*rule)

    @property
    def dtype(self) -> DType:
        """The dtype of the elements."""
        return self.parts[0]

    def __repr__(self) -> str:
        return self.name

    def evaluate(self, given: Sequence[np.ndarray], folded: int) -> np.ndarray:
        """The selected elements and their positions along the last dimensions, by NumPy."""
        kept = given[0].shape[: given[0].ndim - folded]
        count = math.prod(given[0].shape[given[0].ndim - folded :])
        values, places = (array.reshape(*kept, count) for array in given)
        best = self.extreme.reduce.reduce(values, axis=-1, initial=self.start[0])
        found = (values == best[..., None]) | np.isnan(values)
        return as_records(
            [best, np.where(found, places, NO_POSITION).min(-1, initial=NO_POSITION)], self
        )


@lru_cache
def _selected_state(extreme: UfuncFold, dtype: DType) -> tuple[Node, ...]:
    """The graph of scalars that selects one of two states."""
    value, place, other, later = (Input(d, k, ()) for k, d in enumerate((dtype, INT) * 2))
    row = PRIMITIVES
    better = elementwise(row["greater" if extreme is MAX else "less"], other, value)
    tie = elementwise(row["equal"], other, value)
    if is_inexact(dtype):
        one, two = (elementwise(row["isnan"], node) for node in (value, other))
        better = elementwise(row["logical_or"], better, elementwise(row["greater"], two, one))
        tie = elementwise(row["logical_or"], tie, elementwise(row["logical_and"], one, two))
        if is_complex(dtype):  # if one part is NaN, the other part is compared
            number = elementwise(row["logical_not"], one)
            better = elementwise(row["logical_and"], better, number)
    first = elementwise(row["less"], later, place)
    wins = elementwise(row["logical_or"], better, elementwise(row["logical_and"], tie, first))
    return tuple(
        elementwise(WHERE, wins, new, old) for new, old in ((other, value), (later, place))
    )


def running_fold(fold: UfuncFold, node: Node, dtype: DType, axes: Sequence[int]) -> Node:
    """The partial reductions along dimensions, computed in a dtype; np.cumsum has one dimension."""
    (scanned,) = _scanned(fold.replace(running=True), dtype, [cast(node, dtype)], axes)
    return scanned


def scan_states(fold: StateFold, operands: Sequence[Node], axes: Sequence[int]) -> list[Node]:
    """The partial states of operands of equal shape along dimensions.

    The initial state is combined once with each partial state, as the left operand.
    """
    states = _scanned(fold, state_dtype(fold.parts), operands, axes)
    if not fold.starts or fold.has_identity:
        return states
    start: list[Node] = [Scalar(value.dtype, value, False) for value in fold.start]
    shape, values = operands[0].shape, in_nodes(fold.outputs, start + states)
    pairs = zip(values, fold.parts, strict=True)
    return [builder.broadcast_to(cast(value, part), shape) for value, part in pairs]


def _scanned(
    fold: FoldRule, dtype: DType, operands: Sequence[Node], axes: Sequence[int]
) -> list[Node]:
    """The partial states along dimensions; several dimensions are first merged into one."""
    shape = operands[0].shape
    kept = [d for d in range(len(shape)) if d not in axes]
    order = [*kept, *axes]
    back = [order.index(d) for d in range(len(shape))]
    if len(axes) == 1:
        found = _along_one(fold, dtype, operands, permutation(back), [shape[d] for d in order])
        return [builder.transpose(part, back) for part in found]
    groups = [*[1] * len(kept), len(axes)]
    rows = [merge(builder.transpose(operand, order), groups) for operand in operands]
    found = _along_one(fold, dtype, rows, identity(len(groups)), rows[0].shape)
    lengths = tuple(shape[d] for d in axes)
    return [builder.transpose(split(part, len(kept), lengths), back) for part in found]


def _along_one(
    fold: FoldRule, dtype: DType, operands: Sequence[Node], index: IndexMap, extents: Sequence[Dim]
) -> list[Node]:
    primitive = VIEW if len(operands) == 1 else STATE
    maps = (index,) * len(operands)
    scan = Op(dtype, primitive, fold, tuple(operands), maps, tuple(extents), len(extents))
    return parts_of(note(scan))


def positions_along(shape: tuple[Dim, ...], axes: Sequence[int]) -> Node:
    """For each point of a shape, its position along axes in C order."""
    steps: dict[int, Dim] = {}
    step = dim(1)
    for d in reversed(axes):
        steps[d] = step
        step = step * shape[d]
    count = product(tuple(shape[d] for d in axes))
    every = note(Op(INT, POSITION, None, (), (), (count,), 1))
    return builder.view(every, (affine(steps),), shape)


def choose_position(extreme: UfuncFold, node: Node, axes: Sequence[int]) -> Node:
    """The position of the first largest or smallest element along dimensions, or of the first NaN.

    The dimensions count as one dimension in C order, so the index of the last one changes fastest.

    Raises:
        GraphValueError: a dimension has no elements.
    """
    if not axes:
        return builder.broadcast_to(Scalar(INT, INT.type(0), False), node.shape)
    builder.check_not_empty(extreme, node, axes)
    values = builder.cast(node, extreme.state_dtype(node.dtype))
    fold = ArgReduceFold(extreme, values.dtype)
    return folded_states(fold, [values, positions_along(node.shape, axes)], axes)[1]


def log_sum_exp(node: Node, axes: Sequence[int]) -> Node:
    """log(sum(exp(x))) along dimensions, shifted by the largest element; -inf without elements."""
    dtype = builder.summed_in(node)
    wide = builder.cast(node, SINGLE if node.dtype == HALF else dtype)
    low = Scalar(wide.dtype, wide.dtype.type(float("-inf")), False)
    zero = Scalar(wide.dtype, wide.dtype.type(0), False)
    largest = builder.fold(MAX, wide, axes, low)
    finite = builder.elementwise(PRIMITIVES["isfinite"], largest)
    shift = builder.elementwise(WHERE, finite, largest, zero)
    apart = builder.elementwise(PRIMITIVES["subtract"], wide, _stretched(shift, wide, axes))
    total = builder.fold(SUM, builder.elementwise(PRIMITIVES["exp"], apart), axes)
    result = builder.elementwise(
        PRIMITIVES["add"], builder.elementwise(PRIMITIVES["log"], total), shift
    )
    return builder.cast(result, HALF) if node.dtype == HALF else result


def _stretched(folded: Node, node: Node, axes: Sequence[int]) -> Node:
    """The result of a reduction, broadcast back over the reduced dimensions."""
    kept = [d for d in range(len(node.shape)) if d not in axes]
    index = tuple(affine({d: dim(1)}) for d in kept)
    return builder.view(folded, index, node.shape)
