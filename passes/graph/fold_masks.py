"""Graph -> Graph: folds and writes of elements selected by a mask become loops over the mask."""

from __future__ import annotations

from collections.abc import Sequence

from axiomjit.graph.nodes import Graph, Node, post_order
from axiomjit.graph.selections import without_selections
from axiomjit.passes.ir.context import Context
from axiomjit.symbolic.data_dependent import data_dependent_among, data_dependent_in


def fold_masks(graph: Graph, context: Context) -> Graph:
    """Turn folds and writes of selected elements into loops over the entire mask.

    `x[x > 0].sum()` becomes the sum of `where(x > 0, x, 0)`: one loop, without an array of the
    selected elements. In a fold, the neutral value replaces unselected elements. A count of
    selected elements that is used as a number becomes another fold over the mask. `x[mask] =
    y[mask] + 1` becomes `x[...] = where(mask, y + 1, x)`. Unused counts are dropped.

    Needs: a legal graph in which only outputs are views.
    Gives: a legal graph in which no data-dependent length is used as a number.
    Keeps: the value of every output, up to the order of sums.
    """
    if not graph.data_dependent:
        return graph
    symbols = [choice.symbol for choice in graph.data_dependent]
    counts = dict(zip(symbols, graph.counts, strict=True))
    return _without_counts(graph, without_selections(graph.outputs, counts))


def _without_counts(graph: Graph, outputs: Sequence[Node]) -> Graph:
    """The graph with new outputs, without the counts that neither a length nor a guard needs."""
    first = len(graph.results)
    counts = outputs[first : first + len(graph.data_dependent)]
    others = [*outputs[:first], *outputs[first + len(graph.data_dependent) :]]
    named = {s for n in post_order((*others, *counts)) for s in data_dependent_among(n.symbols)}
    lengths = frozenset(named)
    for choice in graph.data_dependent:
        for guard in choice.guards:
            named |= data_dependent_in(guard.left, guard.right)
    kept = [
        (choice.replace(is_length=choice.symbol in lengths), count)
        for choice, count in zip(graph.data_dependent, counts, strict=True)
        if choice.symbol in named
    ]
    outputs = (*others[:first], *(count for _, count in kept), *others[first:])
    return Graph(graph.inputs, tuple(outputs), graph.writes, tuple(choice for choice, _ in kept))
