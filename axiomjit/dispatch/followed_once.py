"""Derivatives for which no program can be made: each call is traced alone and run in NumPy.

A function that converts values to text or to Python numbers is traced with the values of the
current call. A value is evaluated when the function asks for it. Evaluated values are constants in
the rest of the trace, so that nothing is computed twice.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from axiomjit.base.records import Record
from axiomjit.dispatch.arguments import plain_arguments, take_apart
from axiomjit.dispatch.caches import CompiledCall, Reads, after_effects, run_and_unflatten
from axiomjit.dispatch.signature import classify
from axiomjit.dispatch.tracing_calls import trace_function
from axiomjit.functions.outside import Wanted
from axiomjit.functions.transforms import Transform
from axiomjit.graph.evaluate_graph import run_in_numpy
from axiomjit.graph.nodes import Graph
from axiomjit.symbolic.data_dependent import OtherLengthError
from axiomjit.symbolic.dims import Dim, Scope, Symbol


class _Evaluated(Record):
    """A graph that the NumPy evaluator runs."""

    graph: Graph
    lengths: Mapping[Symbol, int]

    def run(
        self, arguments: Sequence[object], given: Sequence[object] | None = None
    ) -> list[np.ndarray]:
        """The results of the graph; writes go into the arrays of `given`."""
        return run_in_numpy(self.graph, arguments, self.lengths, given)


def follow_once(
    derivative: Transform, name: str, args: Sequence[Any], kwargs: Mapping[str, Any]
) -> Any:
    """The result of a derivative, traced and evaluated with the values of this call.

    Args:
        derivative: The derivative.
        name: The name of the differentiated function, for messages.
        args: The arguments of the call.
        kwargs: The keyword arguments.

    Raises:
        NeedsValuesError: the function needs more than the values of this call.
        Exception: the error of the function or of a rule. Tracing takes an error behind a computed
            length for one of its estimate; here no other call would find another length.
    """
    signature = inspect.signature(derivative)
    call = take_apart(signature, frozenset(), tuple(args), kwargs, None, name)
    found = classify(call, plain_arguments(call.dynamic, call.names))
    scope = Scope(found.values)
    try:
        traced = trace_function(derivative, call, found, scope, Wanted(), once=True)
    except OtherLengthError as error:
        raise error.__cause__ or error from None
    reads = Reads(traced.guards, traced.effects, None, traced.outside_names)
    made = traced.trace
    runnable: Any = _Evaluated(made.graph, dict(scope.values))
    leaves = tuple((k, scope.value(v) if isinstance(v, Dim) else v) for k, v in made.leaves)
    compiled = CompiledCall(runnable, False, structure=made.structure, leaves=leaves, outside=reads)
    whole = plain_arguments(traced.call.dynamic, traced.call.names)
    result = run_and_unflatten(compiled, whole, traced.call.dynamic, traced.vector)
    return after_effects(compiled, result, traced.vector)
