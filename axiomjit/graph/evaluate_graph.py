"""The NumPy evaluator of graphs: the reference for tests, used where nothing is compiled."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from axiomjit.base.dtypes import convert
from axiomjit.base.errors import AxiomError
from axiomjit.graph.library_operations import LibraryOperation
from axiomjit.graph.nodes import (
    Constant,
    Graph,
    Input,
    LengthNode,
    Node,
    Op,
    Scalar,
    Update,
    is_scan,
    is_view,
    operand_iterators,
    origin,
    post_order,
    views_on,
)
from axiomjit.graph.primitives import GATHER, POSITION, PRODUCT, UfuncFold
from axiomjit.graph.reductions import StateFold
from axiomjit.graph.regions import Loop, Region, Written
from axiomjit.symbolic.dims import Symbol, dim, evaluate
from axiomjit.symbolic.index_maps import (
    IndexMap,
    at_lengths,
    boxes,
    compose,
    fixed,
    iterator,
    iterators_of,
    shift,
    strides_through,
)

Array = np.ndarray


def evaluate_graph(
    graph: Graph, arguments: Sequence[object], lengths: Mapping[Symbol, int]
) -> tuple[Array, ...]:
    """Return the outputs of a graph for lengths, and for an array or number per input.

    Results never share memory with each other. An output that is a view of an argument shares
    memory with the argument, as in NumPy. Floating-point warnings are NumPy's own.

    Raises:
        OtherLengthError: a guard of a data-dependent length does not hold.
    """
    return _evaluate_all(graph, arguments, lengths)[0]


def _evaluate_all(
    graph: Graph, arguments: Sequence[object], lengths: Mapping[Symbol, int]
) -> tuple[tuple[Array, ...], dict[Symbol, int]]:
    """The outputs of a graph, and all lengths in the graph, including data-dependent lengths."""
    values: dict[Node, Array] = {}
    written: dict[Node, list[Array]] = {}
    known = dict(lengths)

    def evaluate_all(outputs: tuple[Node, ...]) -> None:
        for node in post_order(outputs, lambda n: () if n in values else n.children):
            if node in values:
                continue
            if isinstance(node, Written):
                values[node] = written[node.operands[1]][node.place]
            elif isinstance(node, Op) and isinstance(node.primitive, Region):
                operands = [values[child] for child in node.operands]
                values[node], written[node] = _run_region(node.primitive, operands, known)
            else:
                values[node] = _evaluate_node(node, values, arguments, known)

    for length, count in zip(graph.data_dependent, graph.counts, strict=True):
        evaluate_all((count,))
        known[length.symbol] = int(values[count])
        length.check(known)
    evaluate_all(graph.outputs)
    return tuple(values[node] for node in graph.outputs), known


def run_in_numpy(
    graph: Graph,
    arguments: Sequence[object],
    lengths: Mapping[Symbol, int],
    given: Sequence[object] | None = None,
) -> list[Array]:
    """The results of a graph, after its writes into the arguments.

    A result that is a view of an argument's final value is a view of the argument itself. The
    writes go into the arrays of `given`, by default the arguments.
    """
    values, known = _evaluate_all(graph, arguments, lengths)
    written = [(given or arguments)[position] for position in graph.writes]
    held = [array for array in written if isinstance(array, Array)]
    last = dict(zip(graph.final_values, held, strict=True))
    results = []
    for node, value in zip(graph.results, values, strict=False):
        base, views = views_on(node)
        if base in last:
            value = last[base]
            for view in views:
                value = _evaluate_op(view, (value,), known)
        elif any(np.may_share_memory(value, array) for array in held):
            value = value.copy()
        results.append(value)
    for array, value in zip(held, values[len(values) - len(graph.writes) :], strict=True):
        array[...] = value
    return results


def _evaluate_node(
    node: Node,
    values: Mapping[Node, Array],
    arguments: Sequence[object],
    lengths: Mapping[Symbol, int],
) -> Array:
    match node:
        case Input():
            value = arguments[node.position]
            return value if isinstance(value, Array) else np.asarray(value, node.dtype)
        case Scalar():
            return np.asarray(node.value)
        case Constant():
            return node.array
        case LengthNode():
            return np.asarray(evaluate(node.length, lengths), node.dtype)
        case Op():
            return _evaluate_op(node, [values[child] for child in node.operands], lengths)
    raise TypeError(f"no meaning for {type(node).__name__}")


def _evaluate_op(op: Op, operands: Sequence[Array], lengths: Mapping[Symbol, int]) -> Array:
    extents = tuple(evaluate(length, lengths) for length in op.extents)
    if op.regions:
        return _join(op, operands, lengths)
    if op.primitive is POSITION:
        return np.arange(extents[0], dtype=op.dtype)
    if op.primitive is GATHER:
        return _gather(op, operands, extents, lengths)
    if isinstance(op.primitive, LibraryOperation):
        return _run_library(op, op.primitive, operands, lengths)
    if isinstance(op, Update):
        return _updated(op, operands, extents, lengths)
    if op.conditions:
        return _within_conditions(op, operands, extents, lengths)
    reads = [
        read(value, index, extents, lengths) for value, index in zip(operands, op.maps, strict=True)
    ]
    if isinstance(op.fold, StateFold):
        return op.fold.evaluate(reads, len(extents) - op.rank)
    if is_scan(op):
        return _scan(op, reads[0])
    if is_view(op):
        return _checked_view(op, op.primitive.evaluate(reads[0]))
    if op.primitive.name == "view":
        value = reads[0]
    elif op.primitive is PRODUCT or _is_contraction(op):
        return _contract(op, reads, extents)
    elif op.primitive.name == "cast":
        value = convert(reads[0], op.dtype)
    else:
        value = op.primitive.evaluate(*reads)
    if op.fold is None:
        return _as_array(value, op)
    assert isinstance(op.fold, UfuncFold)
    folded = tuple(range(op.rank, len(extents)))
    state = value.astype(op.fold.state_dtype(op.dtype))
    if op.fold.has_identity:
        return _as_array(op.fold.reduce.reduce(state, axis=folded), op)
    start = op.fold.initial(op.dtype)
    return _as_array(op.fold.reduce.reduce(state, axis=folded, initial=start), op)


def _run_region(
    region: Region, operands: Sequence[Array], lengths: Mapping[Symbol, int]
) -> tuple[Array, list[Array]]:
    """The number of trips of a loop or branch, and its storages after the last trip."""
    arrays = [np.array(one, order="K") for one in operands[: region.overwrites]]
    given = [*arrays, *operands[region.overwrites :]]

    def run(body: Graph, known: Mapping[Symbol, int]) -> None:
        values, _ = _evaluate_all(body, given, known)
        for k, value in zip(body.writes, [np.array(one) for one in values], strict=True):
            arrays[k][...] = value

    if not isinstance(region, Loop):
        run(region.bodies[0 if given[region.overwrites] else 1], lengths)
        return np.asarray(1), arrays
    trips = None if region.trips is None else evaluate(region.trips, lengths)
    for trip in itertools.count():
        known = dict(lengths)
        if region.index is not None:
            known[region.index] = trip
        ended = trip == trips or (trips is not None and trips < 0)
        if ended or not all(_evaluate_all(b, given, known)[0][0] for b in region.bodies[1:]):
            break
        run(region.bodies[0], known)
    return np.asarray(trip), arrays


def _within_conditions(
    op: Op, operands: Sequence[Array], extents: tuple[int, ...], lengths: Mapping[Symbol, int]
) -> Array:
    """The result of an op over the points that satisfy all conditions, computed box by box."""
    conditions = at_lengths(op.conditions, lengths)
    if isinstance(op.fold, StateFold):
        pairs = zip(operands, op.maps, strict=True)
        reads = [_read_clipped(value, index, extents, lengths) for value, index in pairs]
        taken = np.zeros(extents, bool)
        for box in boxes(conditions, extents):
            taken[tuple(slice(*span) for span in box)] = True
        result = np.empty(extents[: op.rank], op.dtype)
        for point in np.ndindex(*result.shape):
            rows = [read[point][taken[point]] for read in reads]
            result[point] = op.fold.evaluate(rows, 1)
        return result
    fold = op.fold
    start = fold.initial(op.dtype) if isinstance(fold, UfuncFold) else 0
    result = np.full(extents[: op.rank], start, op.dtype)
    for box in boxes(conditions, extents):
        maps = tuple(shift(index, [low for low, _ in box]) for index in op.maps)
        within = tuple(dim(high - low) for low, high in box)
        part = _evaluate_op(op.replace(maps=maps, extents=within, conditions=()), operands, lengths)
        here = tuple(slice(*span) for span in box[: op.rank])
        if isinstance(fold, UfuncFold):
            part = fold.reduce(result[here], part)
        result[here] = part
    return result


def _scan(op: Op, value: Array) -> Array:
    assert isinstance(op.fold, UfuncFold)
    state = value.astype(op.fold.state_dtype(op.dtype))
    return _as_array(op.fold.reduce.accumulate(state, axis=-1), op)


def _run_library(
    op: Op,
    operation: LibraryOperation,
    operands: Sequence[Array],
    lengths: Mapping[Symbol, int],
) -> Array:
    """The result of a library operation; each operand has a dimension for each of its iterators."""
    extents = tuple(evaluate(length, lengths) for length in op.extents)
    labels = operand_iterators(op)
    views = []
    for value, index, own in zip(operands, op.maps, labels, strict=True):
        place = tuple(iterator(own.index(k)) if k in own else fixed(0) for k in range(len(extents)))
        views.append(read(value, compose(index, place), tuple(extents[k] for k in own), lengths))
    result = np.empty(extents[: op.rank], op.dtype)
    try:
        operation.run(views, labels, result, at_lengths(op.conditions, lengths))
    except AxiomError as error:
        raise error.at(origin(op)) from None
    return result


def _gather(
    op: Op, operands: Sequence[Array], extents: tuple[int, ...], lengths: Mapping[Symbol, int]
) -> Array:
    """The elements of the first operand at the positions that the other operands hold."""
    shape = extents[: op.rank]
    if 0 in shape:
        return np.empty(shape, op.dtype)
    values = read(operands[0], op.maps[0], extents, lengths)
    positions = [
        read(operand, index, shape, lengths)
        for operand, index in zip(operands[1:], op.maps[1:], strict=True)
    ]
    here = np.ix_(*map(np.arange, shape))
    return np.asarray(values[(*here, *positions)])


def _updated(
    op: Update, operands: Sequence[Array], extents: tuple[int, ...], lengths: Mapping[Symbol, int]
) -> Array:
    """A copy of the first operand into which the second operand is written, in C order."""
    changed, shape = np.array(operands[0], order="K"), extents[: op.rank]
    if 0 in shape:
        return changed
    target = read(changed, op.maps[0], extents, lengths)
    value, *positions = (
        read(operand, index, shape, lengths)
        for operand, index in zip(operands[1:], op.maps[1:], strict=True)
    )
    if not positions and op.combine is None:
        target[...] = value
        return changed
    here = np.indices(shape).reshape(op.rank, value.size)
    places = (*here, *(each.reshape(-1) for each in positions))
    if op.combine is None:
        target[places] = value.reshape(-1)
    else:
        assert op.combine.ufunc is not None
        op.combine.ufunc.at(target, places, value.reshape(-1) if places else value)
    return changed


def _join(op: Op, operands: Sequence[Array], lengths: Mapping[Symbol, int]) -> Array:
    """The array in which each operand fills its region."""
    result = np.empty(tuple(evaluate(length, lengths) for length in op.extents), op.dtype)
    filled = 0
    for value, index, region in zip(operands, op.maps, op.regions, strict=True):
        box = [(evaluate(low, lengths), evaluate(high, lengths)) for low, high in region]
        extents = tuple(high - low for low, high in box)
        within = read(value, shift(index, [low for low, _ in box]), extents, lengths)
        result[tuple(slice(low, high) for low, high in box)] = within
        filled += within.size
    assert filled == result.size, f"regions of {filled} points in a space of {result.size}"
    return result


def _checked_view(op: Op, value: Array) -> Array:
    if op.primitive.name == "read_only":
        value.flags.writeable = False
    return value


def _as_array(value: Array, op: Op) -> Array:
    return np.asarray(value).astype(op.dtype, copy=False)


def _is_contraction(op: Op) -> bool:
    return op.fold is not None and op.fold.name == "sum" and op.primitive.name == "multiply"


def _contract(op: Op, reads: Sequence[Array], extents: tuple[int, ...]) -> Array:
    """The sum of products, computed without storing all products."""
    every = list(range(len(extents)))
    assert op.fold is not None
    state = op.fold.state_dtype(op.dtype)
    several = len(reads) > 2
    operands: list[Any] = []
    for value, index in zip(reads, op.maps, strict=True):
        # If there are more than two operands, each gets only dimensions along which it differs.
        own = [k for k in every if not several or k in iterators_of(index) or extents[k] == 0]
        part = value[tuple(slice(None) if k in own else 0 for k in every)]
        operands += [part.astype(state, copy=False), own]
    missing = [k for k in every if all(k not in own for own in operands[1::2])]
    if missing:
        ones = np.broadcast_to(np.ones((), state), tuple(extents[k] for k in missing))
        operands += [ones, missing]
    return _as_array(np.einsum(*operands, every[: op.rank], optimize=several), op)


def read(
    value: Array, index: IndexMap, extents: tuple[int, ...], lengths: Mapping[Symbol, int]
) -> Array:
    """The view of an operand that its op reads, with one dimension per iterator."""
    if 0 in extents:
        return np.empty(extents, value.dtype)
    first, strides = strides_through(
        index, value.strides, len(extents), lambda length: evaluate(length, lengths)
    )
    return np.asarray(_ShiftedView(value, first, extents, strides))


def _read_clipped(
    value: Array, index: IndexMap, extents: Sequence[int], lengths: Mapping[Symbol, int]
) -> Array:
    """The elements that an op reads; beyond the ends of the operand, the end elements repeat."""
    places = []
    for function, length in zip(index, value.shape, strict=True):
        place = np.full((1,) * len(extents), evaluate(function.offset, lengths))
        for k, c in function.terms:
            steps = np.arange(extents[k]) * evaluate(c, lengths)
            place = place + steps.reshape([-1 if d == k else 1 for d in range(len(extents))])
        places.append(np.clip(place, 0, max(length - 1, 0)))
    if not value.size:
        return np.zeros(tuple(extents), value.dtype)
    return np.broadcast_to(value[tuple(places)] if places else value, tuple(extents))


class _ShiftedView:
    """An array interface that starts at an element of an array, with any strides."""

    def __init__(
        self, base: Array, first: int, shape: tuple[int, ...], strides: tuple[int, ...]
    ) -> None:
        interface = dict(base.__array_interface__)
        address, read_only = interface["data"]
        interface.update(data=(address + first, read_only), shape=shape, strides=strides)
        self.__array_interface__ = interface
        self.base = base
