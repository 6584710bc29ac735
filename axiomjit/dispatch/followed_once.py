"""Derivatives of functions that no program serves: followed for one call, run by the evaluator.

A function that asks for texts or items of values in each call is followed with the values of the
call at hand: what it asks for is evaluated when it asks. Values that were evaluated are constants
of the rest, so that nothing is computed twice.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from axiomjit.base.dtypes import CODES
from axiomjit.base.trace_context import Following
from axiomjit.base.tree import flatten_tree, unflatten_tree
from axiomjit.dispatch.caches import CompiledCall, run_and_unflatten
from axiomjit.graph.builder import as_node, elementwise
from axiomjit.graph.captured import Captured, capturing
from axiomjit.graph.evaluate_graph import evaluate_graph
from axiomjit.graph.nodes import Constant, Graph, Node, Op, is_view, post_order
from axiomjit.graph.primitives import COPY
from axiomjit.graph.regions import Region, rebuilt
from axiomjit.symbolic.dims import Scope, dim
from axiomjit.tracing.trace import Trace, trace
from axiomjit.tracing.tracer import new_array


class _Values:
    """The values of the nodes of one trace."""

    def __init__(self, scope: Scope) -> None:
        self._scope, self._known = scope, dict[Node, Node]()

    def __call__(self, node: Node) -> Any:
        """The value of a node: an array, or a number of NumPy."""
        order = post_order((node,), lambda n: () if n in self._known else n.children)
        new = [n for n in order if _has_value(n) and n not in self._known]
        for one, value in zip(new, self.evaluated((*new, node)), strict=False):
            self._known[one] = Constant(one.dtype, value, tuple(map(dim, value.shape)))
        (found,) = self.evaluated((node,))
        return found[()]

    def evaluated(self, nodes: Sequence[Node]) -> list[np.ndarray]:
        """The values of nodes, of what is known and the rest."""
        short = Graph((), tuple(rebuilt(nodes, self._known)))
        found = evaluate_graph(short, (), self._scope.values)
        return [value.astype(n.dtype, copy=False) for n, value in zip(nodes, found, strict=True)]


def _has_value(node: Node) -> bool:
    plain = isinstance(node, Op) and not is_view(node) and not isinstance(node.primitive, Region)
    return plain and node.dtype.fields is None


class _Evaluated:
    """Runs a graph of constants by the evaluator."""

    def __init__(self, made: Trace, values: _Values) -> None:
        self._outputs, self._values = made.graph.results, values

    def run(
        self, arguments: Sequence[object], given: Sequence[object] | None = None
    ) -> list[np.ndarray]:
        """The results."""
        return [np.array(one) for one in self._values.evaluated(self._outputs)]


def follow_once(
    name: str, run: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]
) -> Any:
    """The result of a derivative for the values of this call.

    Args:
        name: The name of the function, for messages.
        run: Follows the derivative for traced arrays.
        args: The arguments of the call.
        kwargs: The arguments by name.

    Raises:
        NeedsValuesError: the function asks for a float of Python's, or for memory, whose further
            way is not seen; nothing outside was changed by arrays of this call.
    """
    leaves, structure = flatten_tree((tuple(args), dict(kwargs)))
    scope, following = Scope({}), Following(name)
    values = following.values = _Values(scope)

    def call(_: Sequence[object]) -> object:
        traced = iter([_traced(one) for one in leaves])
        whole: Any = unflatten_tree(structure, traced)
        return run(*whole[0], **whole[1])

    with capturing(Captured()):
        made = trace(call, (), scope, following=following)
    runnable: Any = _Evaluated(made, values)
    compiled = CompiledCall(runnable, True, structure=made.structure, leaves=made.leaves)
    return run_and_unflatten(compiled, ())


def _traced(value: Any) -> Any:
    """An array of the call as a new traced one, which may be written; other values themselves."""
    if not isinstance(value, np.ndarray) or value.dtype not in CODES:
        return value
    return new_array(elementwise(COPY, as_node(value.copy(), "an argument")))
