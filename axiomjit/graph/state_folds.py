"""Folds with an operation of their own: how two states are combined is a graph of scalars.

Such a graph has one input per value of the left state, then one per value of the right one, and
the values of the combined state as outputs. Its nodes are interned, so equal functions of equal
dtypes are one fold.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from axiomjit.algebra.dims import Dim
from axiomjit.algebra.index_maps import identity, permutation
from axiomjit.base.dtypes import CODES, DType, convert, state_dtype, state_parts
from axiomjit.base.errors import GraphValueError, TraceError
from axiomjit.base.origins import user_location
from axiomjit.graph import builder
from axiomjit.graph.nodes import Input, Node, Op, Scalar, post_order
from axiomjit.graph.origins import note
from axiomjit.graph.primitives import (
    ALL,
    CAST,
    COPY,
    PRIMITIVES,
    STATE,
    VIEW,
    WHERE,
    FoldRule,
    part_of_state,
)
from axiomjit.graph.promotion import cast
from axiomjit.graph.seen import seen_type


class StateFold(FoldRule):
    """A fold by a graph of scalars; `start` are the values of the initial state."""

    outputs: tuple[Node, ...]
    start: tuple[np.generic, ...]
    starts: bool

    def __init__(
        self,
        outputs: tuple[Node, ...],
        start: tuple[np.generic, ...],
        commutative: bool = False,
        has_identity: bool = False,
        starts: bool = True,
    ) -> None:
        """The fold whose two states are the inputs of `outputs`, of the dtypes of `start`.

        One that `starts` begins with these values, others with their first element.
        """
        given: tuple[Any, ...] = ("fold", True, has_identity, ALL, commutative)
        given += (outputs, start, starts)
        super().__init__(*given)

    @property
    def parts(self) -> tuple[DType, ...]:
        """The dtypes of the values of a state."""
        return tuple(value.dtype for value in self.start)

    @property
    def weight(self) -> int:
        """What combining two states costs, in additions."""
        ops = (node for node in post_order(self.outputs) if isinstance(node, Op))
        return sum(op.primitive.weight for op in ops)

    @property
    def functions(self) -> int:
        """How many elementary functions combining two states calls."""
        ops = (node for node in post_order(self.outputs) if isinstance(node, Op))
        return sum(op.primitive.elementary for op in ops)

    def evaluate(self, given: Sequence[np.ndarray], folded: int) -> np.ndarray:
        """The states of arrays of one shape, folded along their last dimensions, in NumPy.

        Of no folded dimension: the states after each element along the last one.
        """
        if not folded:
            return _evaluate_scan(self, given)
        kept = given[0].shape[: given[0].ndim - folded]
        count = math.prod(given[0].shape[given[0].ndim - folded :])
        if not count:
            return recorded([np.broadcast_to(value, kept) for value in self.start], self)
        rows = [array.reshape(*kept, count) for array in given]
        states = [row[..., 0] for row in rows]
        for k in range(1, count):
            combined = in_arrays(self.outputs, [*states, *(row[..., k] for row in rows)])
            states = [v.astype(d, copy=False) for v, d in zip(combined, self.parts, strict=True)]
        return recorded(states, self)

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
    """The operations of a graph of two states on one line: a0.. on the left, b0.. on the right."""
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
    """The outputs of a graph of scalars where its inputs are `given`, each op done by `apply`."""
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
    """The outputs of a graph of scalars at each point of arrays of one shape, in NumPy."""

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
    """The outputs of a graph of scalars at each point of nodes, which broadcast."""

    def apply(op: Op, operands: Sequence[Node]) -> Node:
        if op.primitive is CAST:
            return cast(operands[0], op.dtype)
        return builder.elementwise(op.primitive, *operands)

    return computed(outputs, given, apply)


def fold_states(fold: StateFold, operands: Sequence[Node], axes: Sequence[int]) -> list[Node]:
    """The states, folded from their initial values along dimensions of operands of one shape.

    The initial state is combined once, on the left; of no elements it is the result.

    Raises:
        GraphValueError: there are no elements, and no initial state.
    """
    shape = operands[0].shape
    kept = tuple(length for d, length in enumerate(shape) if d not in axes)
    start: list[Node] = [Scalar(value.dtype, value, False) for value in fold.start]
    if any(shape[d] == 0 for d in axes):
        if not fold.starts:
            raise _of_nothing(operands[0])
        return [builder.broadcast_to(value, kept) for value in start]
    if axes:
        states = folded_states(fold, operands, axes)
    else:
        states = [builder.elementwise(COPY, operand) for operand in operands]
    if not fold.starts or (fold.has_identity and axes):
        return states
    whole = in_nodes(fold.outputs, start + states)
    if not _has_elements([shape[d] for d in axes]):
        count, zero = (builder.as_node(n, "fold") for n in (builder.count(operands[0], axes), 0))
        empty = builder.elementwise(PRIMITIVES["equal"], count, zero)
        pairs = zip(start, whole, strict=True)
        whole = [builder.elementwise(WHERE, empty, nothing, value) for nothing, value in pairs]
    return [
        builder.broadcast_to(cast(value, part), kept)
        for value, part in zip(whole, fold.parts, strict=True)
    ]


def _of_nothing(node: Node) -> GraphValueError:
    return GraphValueError(
        f"a fold of {seen_type(node)}",
        "a length of 0, and an accumulator without an initial value",
        "fold only where the array has elements, or give the accumulator an init",
        user_location(),
    )


def _has_elements(lengths: Sequence[Dim]) -> bool:
    """Whether all lengths are known not to be 0; a look at one at hand leaves a guard."""
    try:
        return all(length > 0 for length in lengths)
    except (TraceError, KeyError):
        return False


def folded_states(fold: StateFold, operands: Sequence[Node], axes: Sequence[int]) -> list[Node]:
    """The states, folded along dimensions of operands of one shape, whatever they begin with."""
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
    """The values of a folded state, one node each."""
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
        return recorded([array.astype(d) for array, d in zip(given, fold.parts, strict=True)], fold)
    return recorded([np.stack(column, -1) for column in zip(*columns, strict=True)], fold)


def recorded(states: Sequence[np.ndarray], fold: StateFold) -> np.ndarray:
    """The values of states as one array of records; of one value the array of it."""
    if len(states) == 1:
        return np.array(states[0])
    result: np.ndarray = np.empty(states[0].shape, state_dtype(fold.parts))
    for k, state in enumerate(states):
        part_of_state(k).evaluate(result)[...] = state
    return result
