"""Calls with arrays in blocks: the function is traced once, with arrays of the entire shapes.

The trace never reads elements of the arrays. A function that the arrays' library has registered
computes the results from the graph.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from axiomjit.base.errors import AxiomError, NeedsValuesError, UnfollowedError
from axiomjit.base.origins import user_location
from axiomjit.base.records import Record
from axiomjit.base.tree import Structure
from axiomjit.dispatch.arguments import CallArguments, plain_arguments
from axiomjit.dispatch.fallbacks import FallbackToNumPy, raised
from axiomjit.dispatch.tracing_calls import TracedFunction
from axiomjit.functions.effects import FromSource
from axiomjit.graph.nodes import Graph
from axiomjit.symbolic.dims import Guard, Scope, Symbol


class WholeTrace(Record):
    """A function traced for a call with arrays in blocks.

    `arguments` has the arguments of the call, arrays in blocks included, then the arguments from
    outside of the function. `leaves` has the leaves of the `Trace`, in which the values of objects
    from outside replace their sources.
    """

    name: str
    graph: Graph
    arguments: tuple[Any, ...]
    names: tuple[str, ...]
    structure: Structure
    leaves: tuple[tuple[int | None, Any], ...]
    values: Mapping[Symbol, int]
    guards: tuple[Guard, ...]


def traced_whole(
    name: str, call: CallArguments, library: Any, classified: Any, trace: Any
) -> WholeTrace:
    """The function of a call, traced with stand-ins for arrays in blocks.

    Raises:
        NeedsValuesError: the function asks for values of arrays, writes into arguments, or changes
            an object outside of the function.
    """
    try:
        return _traced(name, call, library, classified, trace)
    except FallbackToNumPy as fallback:
        raise fallback.refusal_of(name) from None
    except UnfollowedError as error:
        raise library.explained(raised(error), call.dynamic, call.names) from None
    except AxiomError as error:
        raise library.explained(error, call.dynamic, call.names) from None


def _traced(
    name: str, call: CallArguments, library: Any, classified: Any, trace: Any
) -> WholeTrace:
    stand_ins = library.stand_ins(call.dynamic, call.names)
    whole = call.replace(dynamic=stand_ins)
    plain = plain_arguments(whole.dynamic, whole.names)
    signature = classified(whole, plain)
    scope = Scope(signature.values)
    traced: TracedFunction = trace(whole, plain, signature, scope)
    given = traced.call.dynamic[len(call.dynamic) :]
    _check(name, traced)
    leaves = tuple(
        (number, traced.vector[value.source.number] if isinstance(value, FromSource) else value)
        for number, value in traced.trace.leaves
    )
    return WholeTrace(
        name,
        traced.trace.graph,
        (*call.dynamic, *given),
        traced.call.names,
        traced.trace.structure,
        leaves,
        dict(scope.values),
        tuple(scope.guards),
    )


def _check(name: str, traced: TracedFunction) -> None:
    """Refuse a traced function that does more than compute results of known shapes.

    Raises:
        NeedsValuesError: the function writes into arguments, changes an object outside, branches on
            values, or has a result whose length depends on values.
    """
    graph, why = traced.trace.graph, None
    if graph.writes:
        names = ", ".join(traced.call.names[k] for k in graph.writes)
        why = f"a write into {names}", "copy it first, x = x.copy(), and return the copy"
    elif traced.effects:
        why = "a change of an object outside of the function", "return the value instead"
    elif traced.trace.decisions:
        why = "a branch on values", "write where(condition, a, b)"
    elif graph.data_dependent:
        why = (
            "a result whose length depends on values",
            "select with where(mask, x, 0), or select after the call",
        )
    if why is not None:
        asked = f"{name} of arrays in blocks"
        raise NeedsValuesError(asked, why[0], why[1], user_location())
