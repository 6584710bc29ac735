"""Compile functions of nodes for arrays of any lengths, and call them."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from axiomjit.base.array_values import refuse_chunked
from axiomjit.base.caching import BoundedTable
from axiomjit.base.dtypes import supported
from axiomjit.base.native_callable import NativeCallable
from axiomjit.base.origins import user_location
from axiomjit.base.tree import in_blocks
from axiomjit.graph import execution
from axiomjit.graph.nodes import Graph, Input, Node
from axiomjit.symbolic.dims import (
    LENGTH,
    SMALL,
    Dim,
    Guard,
    Scope,
    Symbol,
    bound,
    dim,
    named_length,
)


class GraphInputs:
    """Arrays as the inputs of a graph: equal lengths share a symbol, small lengths are constants.

    Args:
        values: Arrays, numbers, or other values that `np.asarray` accepts.
        asked: The text of the called function, for errors.

    Raises:
        GraphTypeError: an element type cannot be compiled, or an array is in chunks.
    """

    def __init__(self, values: Sequence[object], asked: str) -> None:
        """Convert the values to arrays and assign symbols to their lengths."""
        for value in values:
            refuse_chunked(value, asked)
        self.arrays = [np.asarray(value) for value in values]
        where = user_location()
        dtypes = [supported(array.dtype, asked, where) for array in self.arrays]
        lengths: dict[int, Dim] = {}
        self.symbols: dict[Symbol, int] = {}
        for n in dict.fromkeys(n for array in self.arrays for n in array.shape):
            lengths[n] = dim(n) if n <= SMALL else named_length(f"n{len(self.symbols)}")
            if n > SMALL:
                self.symbols[Symbol(f"n{len(self.symbols)}", LENGTH)] = n
        shapes = [tuple(lengths[n] for n in array.shape) for array in self.arrays]
        self.inputs = tuple(
            Input(dtype, k, shape)
            for k, (dtype, shape) in enumerate(zip(dtypes, shapes, strict=True))
        )


class BuiltGraph(NamedTuple):
    """A graph, and the function that makes a call's return value from the graph's results.

    `guards` has the comparisons of lengths that were made when the graph was built.
    """

    graph: Graph
    finish: execution.Finish
    guards: tuple[Guard, ...]
    in_tuple: bool | None
    """True if a call returns all results in a tuple, False for one result; None if no native entry
    can answer calls (`execution.add_native_entry`)."""


class ArrayFunction(NativeCallable[Any]):
    """A function of concrete arrays, defined by a function of nodes.

    Graphs and their plans are cached per signature, and warm calls are answered natively.
    """

    container: Callable[[Iterable[Any]], Any] = tuple
    """The type of the container for several results."""

    def __init__(self) -> None:
        self._graphs = BoundedTable[object, BuiltGraph]()

    def nodes(self, arrays: Sequence[Node]) -> tuple[list[Node], bool]:
        """The results for operands that are nodes, and True if a call returns a tuple."""
        raise NotImplementedError

    def names(self, count: int) -> list[str]:
        """The names of `count` arguments, for errors."""
        return [f"operands[{k}]" for k in range(count)]

    def answer(self, args: Any, kwargs: Mapping[str, Any]) -> Any:
        """The results for arrays; called if no native entry has answered the call."""
        if (library := in_blocks(args)) is not None:
            return library.apply(self, args)
        given = GraphInputs(args, repr(self))
        built = self.built(given)
        found = execution.run(built.graph, given.arrays, given.symbols)
        as_given = all(map(operator.is_, args, given.arrays))
        if as_given and self.wants_guard() and self.misses > 1:
            execution.add_native_entry(
                *(self, built.graph, given.arrays, given.symbols, built.in_tuple, built.finish)
            )
        return built.finish(found)

    def lower(self, *arrays: Any) -> Any:
        """Lower a call with these arrays and return all stages of lowering; nothing is run."""
        given = GraphInputs(arrays, repr(self))
        return execution.lower(self.built(given).graph, given.arrays, given.symbols)

    def built(self, given: GraphInputs) -> BuiltGraph:
        """The graph for arrays with the signature of the given arrays."""
        if given.inputs in self._graphs:
            return self._graphs[given.inputs]
        scope = Scope(given.symbols)
        with bound(scope):
            results, is_tuple = self.nodes(given.inputs)
        native = all(node.shape for node in results) and not (is_tuple and self.container is list)
        built = BuiltGraph(
            Graph(given.inputs, tuple(results)),
            partial(_in_container, self.container) if is_tuple else _single_result,
            tuple(scope.guards),
            is_tuple if native else None,
        )
        if not built.guards:  # the graph is valid for all arrays of the signature
            self._graphs.keep(given.inputs, built)
        return built


def _single_result(found: Sequence[np.ndarray]) -> Any:
    return found[0][()]


def _in_container(group: Callable[[Iterable[Any]], Any], found: Sequence[np.ndarray]) -> Any:
    return group(value[()] for value in found)
