"""The values of nodes in the traced call, for a function that is traced for this call only."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from axiomjit.base.trace_context import Following
from axiomjit.graph.evaluate_graph import evaluate_graph
from axiomjit.graph.indexing_ops import count_of, needed_counts
from axiomjit.graph.nodes import Constant, Graph, Node, Op, is_view, post_order
from axiomjit.graph.regions import Region, rebuilt
from axiomjit.symbolic.dims import Scope, dim
from axiomjit.tracing.computed_numbers import draws


class KnownValues:
    """The values of the nodes of one trace, each computed once."""

    def __init__(self, arguments: Callable[[], Sequence[object]], scope: Scope) -> None:
        """Belong to a trace; `arguments()` returns the arguments of the traced call."""
        self._arguments, self._scope = arguments, scope
        self._known: dict[Node, Node] = {}

    def __call__(self, node: Node) -> Any:
        """The value of a node, as NumPy's array or scalar; None if the node depends on draws."""
        order = post_order((node,), lambda n: () if n in self._known else n.children)
        if draws(order):
            return None
        lengths = dict(self._scope.values)
        for symbol, key in needed_counts(order, self._scope):
            (count,) = self._evaluated((count_of(key),), lengths)
            lengths[symbol] = int(count)
        new = [n for n in order if _may_be_known(n)]
        *values, found = self._evaluated((*new, node), lengths)
        for one, value in zip(new, values, strict=True):
            made = np.asarray(value, one.dtype)
            self._known[one] = Constant(one.dtype, made, tuple(map(dim, made.shape)))
        return found.astype(node.dtype, copy=False)[()]

    def _evaluated(self, nodes: Sequence[Node], lengths: Any) -> tuple[np.ndarray, ...]:
        """The values of nodes; the nodes whose values are known are not evaluated again."""
        graph = Graph((), tuple(rebuilt(nodes, self._known)))
        return evaluate_graph(graph, self._arguments(), lengths)


def _may_be_known(node: Node) -> bool:
    plain = isinstance(node, Op) and not is_view(node) and not isinstance(node.primitive, Region)
    return plain and node.dtype.fields is None


def know_values(following: Following, scope: Scope) -> None:
    """Let a trace answer questions about values with the values of its call."""
    assert following.arguments is not None
    following.values = KnownValues(following.arguments, scope)
