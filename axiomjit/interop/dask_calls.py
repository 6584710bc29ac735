"""Calls of compiled functions with Dask arrays: their arguments, results and reports."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import isnan
from typing import Any, Final

import numpy as np
from numpy.lib.stride_tricks import as_strided

from axiomjit.accumulators.arrays import ArrayFunction, GraphInputs
from axiomjit.base.errors import AxiomError, GraphTypeError, GraphValueError
from axiomjit.base.origins import user_location
from axiomjit.base.tree import OfArgument, flatten_tree, unflatten_tree
from axiomjit.dispatch.chunked_calls import WholeTrace
from axiomjit.dispatch.fresh import Memo, Recipe
from axiomjit.dispatch.warm import Spec
from axiomjit.graph.nodes import Graph, Node
from axiomjit.interop.dask_plans import Planned, is_array
from axiomjit.symbolic.dims import Dim, evaluate

_UNKNOWN: Final = 1_000_003
"""A large number; it is added to the number of blocks to stand for an unknown length."""


def stand_ins(values: Sequence[Any], names: Sequence[str]) -> tuple[Any, ...]:
    """The arguments, with each Dask array replaced by a NumPy array of the entire shape.

    The elements of the NumPy array share one memory location, so that the array needs no memory.

    Raises:
        GraphTypeError: the blocks of a Dask array are not NumPy arrays.
    """
    return tuple(map(_stand_in, values, names))


def _stand_in(value: Any, name: str) -> Any:
    if not is_array(type(value)):
        return value
    meta = value._meta
    if type(meta) is not np.ndarray:
        kind = type(meta)
        raise GraphTypeError(
            f"argument {name}, a Dask array",
            f"blocks that are a {kind.__module__}.{kind.__name__}",
            f"give one whose blocks are NumPy arrays, as by {name}.map_blocks(numpy.asarray)",
            user_location(),
        )
    shape = tuple(
        _UNKNOWN + len(cut) if isnan(n) else int(n)
        for n, cut in zip(value.shape, value.chunks, strict=True)
    )
    strides: list[int] = []
    step = value.dtype.itemsize
    for n in reversed(shape):
        strides.insert(0, step)
        step = step * max(n, 1) % (1 << 62)
    return as_strided(np.zeros((), value.dtype), shape, strides)


def explained(error: Exception, values: Sequence[Any], names: Sequence[str]) -> Exception:
    """The error of a call with stand-ins, replaced by another error if a length is unknown."""
    if not isinstance(error, AxiomError):
        return error
    for value, name in zip(values, names, strict=True):
        for d, cut in enumerate(value.chunks if is_array(type(value)) else ()):
            number = str(_UNKNOWN + len(cut))
            if isnan(value.shape[d]) and number in f"{error.asked} {error.seen}":
                return GraphValueError(
                    error.asked.replace(number, "?"),
                    f"{error.seen.replace(number, '?')}, where ? is the length of axis {d} of "
                    f"{name}, which is not known before its blocks are computed",
                    f"{name}.compute_chunk_sizes() before the call",
                    error.where,
                )
    return error


def described(arguments: Any) -> Any:
    """The arguments, with each `axiomjit.spec` replaced by a Dask array, also in containers."""
    import dask.array as da

    leaves, structure = flatten_tree(arguments)
    arrays = (
        da.empty(one.shape, one.dtype, chunks=-1 if one.chunks is None else one.chunks)
        if isinstance(one, Spec)
        else one
        for one in leaves
    )
    return unflatten_tree(structure, arrays)


def answer(trace: WholeTrace) -> Any:
    """The results of a call, as Dask arrays in the function's containers.

    No elements are computed.

    Raises:
        GraphTypeError, GraphValueError: the call cannot be cut into stages.
    """
    from axiomjit.interop.dask_arrays import Arrays

    planned = Planned(trace)
    arrays = Arrays(planned)
    by_number = dict(_numbered(trace, planned.classified.graph))
    return unflatten_tree(trace.structure, _leaves(trace, planned, arrays, by_number))


def apply_function(function: ArrayFunction, values: Sequence[Any]) -> Any:
    """The results of a function that is defined by a function of nodes, as Dask arrays.

    No elements are computed.

    Raises:
        GraphTypeError, GraphValueError: the call cannot be cut into stages.
    """
    names = function.names(len(values))
    given = GraphInputs(stand_ins(values, names), repr(function))
    try:
        built = function.built(given)
    except AxiomError as error:
        raise explained(error, values, names) from None
    arrays = (
        value if is_array(type(value)) else array
        for value, array in zip(values, given.arrays, strict=True)
    )
    numbers = range(len(built.graph.outputs))
    trace = WholeTrace(
        repr(function),
        built.graph,
        tuple(arrays),
        tuple(names),
        flatten_tree([None for _ in numbers])[1],
        tuple((k, None) for k in numbers),
        given.symbols,
        built.guards,
    )
    try:
        results = answer(trace)
    except (GraphTypeError, GraphValueError) as error:
        # the line of an operation is that of the first call that made an equal graph
        where = user_location()
        raise type(error)(error.asked, error.seen, error.remedy, where) from None
    return built.finish(results)


def _numbered(trace: WholeTrace, graph: Graph) -> Iterator[tuple[int, Node]]:
    numbers = sorted({n for n, _ in trace.leaves if n is not None})
    yield from zip(numbers, graph.outputs, strict=True)


def _leaves(
    trace: WholeTrace, planned: Planned, arrays: Any, results: Mapping[int, Node]
) -> Iterator[object]:
    made: Memo = {}
    for number, value in trace.leaves:
        if isinstance(value, Dim):
            yield evaluate(value, planned.values)
        elif isinstance(value, Recipe):
            yield value.now(made)
        elif number is None:
            yield value
        elif isinstance(value, OfArgument) and value.is_itself:
            yield trace.arguments[value.position]
        else:
            yield arrays.result(results[number])


def report(trace: WholeTrace) -> str:
    """The classes of the axes and the stages of a call, as text."""
    from axiomjit.scale.report import report_text

    planned = Planned(trace)
    return report_text(planned.classified, planned.stages, planned.arguments, planned.values)
