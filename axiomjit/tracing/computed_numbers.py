"""Numbers that a traced function computes and that decide its next step: bools and integers.

Tracing uses the values that the numbers have in the traced call. The program checks in each call
that the numbers lead to the same decisions.

In a function that is traced for one call only, the values of nodes in this call are known.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import numpy as np

from axiomjit.base.dtypes import INT
from axiomjit.base.origins import user_location
from axiomjit.base.trace_context import Following, current
from axiomjit.graph.builder import cast, elementwise, strong, view
from axiomjit.graph.evaluate_graph import Array, evaluate_graph
from axiomjit.graph.execution import run
from axiomjit.graph.indexing_ops import as_mask, count_of, needed_counts
from axiomjit.graph.library_operations import LibraryOperation
from axiomjit.graph.nodes import (
    Constant,
    Graph,
    Input,
    Node,
    Op,
    is_view,
    post_order,
    rebuild,
    with_operands,
)
from axiomjit.graph.primitives import COPY
from axiomjit.graph.regions import Loop, Region, rebuilt
from axiomjit.symbolic.data_dependent import COMPUTED, TRUTH, computed_number, data_dependent_in
from axiomjit.symbolic.dims import Dim, Kind, Scope, Symbol, current_scope, dim, product
from axiomjit.symbolic.index_maps import fixed


class KnownValues:
    """The values of the nodes of one trace, each computed once."""

    def __init__(self, arguments: Callable[[], Sequence[object]], scope: Scope) -> None:
        """Store the trace; `arguments()` returns the arguments of the traced call."""
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


MOST_AT_LINE: Final = 8
"""The largest number of values that one trace asks for at one line of the user; a line that asks
for more is taken for a loop."""


def asked_truth(node: Node) -> bool | None:
    """The truth value of a computed value in this call.

    The value is a number or an array of one element. The function returns None if the truth value
    cannot be assumed: the values of this call are not known, the value depends on random numbers,
    or the user's line has asked for too many numbers.
    """
    length = product(node.shape)
    value = value_if_known(node)
    if value is not None and (not node.shape or value.size == 1):
        return bool(value)
    if node.shape and (data_dependent_in(length) or length != 1):
        return None
    number = view(node, (fixed(0),) * len(node.shape), ()) if node.shape else node
    found = _asked(cast(as_mask(strong(number)), INT), TRUTH)
    return None if found is None else found > 0


def asked_integer(node: Node) -> Dim | None:
    """The symbol of a computed integer without dimensions; None in the cases of `asked_truth`."""
    value = value_if_known(node)
    if value is not None:
        return dim(int(value))
    number = cast(strong(node), INT)
    return _asked(number if isinstance(number, Op) else elementwise(COPY, number), COMPUTED)


def _asked(key: Node, kind: Kind) -> Dim | None:
    following, scope = current(), current_scope()
    if following is None or following.arguments is None:
        return None
    if key in scope.data_dependent:
        return dim(scope.data_dependent[key])
    where = user_location() or "an unknown line"
    counts = [node for _, node in needed_counts(post_order((key,)), scope)]
    asked = Counter(scope.computed.values())
    if asked[where] >= MOST_AT_LINE or draws(post_order((key, *counts))):
        return None
    if not counts and following.may_know is not None and following.may_know(key):
        return None
    return computed_number(scope, key, kind, int(value_now(key, following, scope)), where)


def draws(nodes: list[Node]) -> bool:
    """True if one of the nodes draws random numbers, which tracing must not do."""
    operations = (node.primitive for node in nodes if isinstance(node, Op))
    return any(isinstance(o, LibraryOperation) and o.generator is not None for o in operations)


def value_if_known(node: Node) -> Any:
    """The value of a node if the function is traced for one call only; else None.

    No value is known in the body of a region.
    """
    following = current()
    if following is None or following.values is None or following.region is not None:
        return None
    return following.values(node)


def value_now(node: Node, following: Following, scope: Scope) -> Array:
    """The value of a node in this call, evaluated by NumPy."""
    assert following.arguments is not None
    arguments = following.arguments()
    lengths = dict(scope.values)
    for symbol, key in needed_counts(post_order((node,)), scope):
        lengths[symbol] = int(_value(count_of(key), arguments, lengths))
    return _value(node, arguments, lengths)


def _value(node: Node, arguments: Sequence[object], lengths: Mapping[Symbol, int]) -> Array:
    nodes = post_order((node,))
    if any(isinstance(one, Op) and isinstance(one.primitive, Loop) for one in nodes):
        return _value_of_loops(node, arguments, lengths)
    (value,) = evaluate_graph(Graph((), (node,)), arguments, lengths)
    return value


def _value_of_loops(
    node: Node, arguments: Sequence[object], lengths: Mapping[Symbol, int]
) -> Array:
    """The value of a node that loops compute; the evaluator would run their trips one by one."""
    used = sorted({n.position for n in post_order((node,)) if isinstance(n, Input)})
    places = {position: place for place, position in enumerate(used)}

    def rule(old: Node, new: Mapping[Node, Node]) -> Node:
        if isinstance(old, Input):
            return old.replace(position=places[old.position])
        return with_operands(old, [new[child] for child in old.children])

    found = rebuild(Graph((), (node,)), rule)
    inputs = {n.position: n for n in found.nodes if isinstance(n, Input)}
    given = [arguments[position] for position in used]
    copies = [one.copy(order="K") if isinstance(one, np.ndarray) else one for one in given]
    (value,) = run(found.replace(inputs=tuple(inputs[k] for k in places.values())), copies, lengths)
    return value
