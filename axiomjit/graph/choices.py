"""Elements that masks choose, and how many they are, which only the running program knows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from axiomjit.algebra.chosen import Choice, choose, chosen_in
from axiomjit.algebra.dims import (
    Dim,
    Extreme,
    Quotient,
    Scope,
    Symbol,
    current_scope,
    dim,
    polynomial,
    product,
)
from axiomjit.algebra.index_maps import fixed, iterator
from axiomjit.base.dtypes import BOOL, INT
from axiomjit.graph import builder
from axiomjit.graph.library_nodes import stored
from axiomjit.graph.library_operations import NONZERO
from axiomjit.graph.nodes import Graph, LengthNode, Node, Op, Scalar, Update, is_view, post_order
from axiomjit.graph.origins import note
from axiomjit.graph.primitives import COPY, PRIMITIVES, SUM, Primitive
from axiomjit.graph.promotion import cast
from axiomjit.graph.storages import view_map

_ONE: Final = Scalar(INT, INT.type(1), False)
_QUOTIENT: Final = PRIMITIVES["floor_divide"]
_EXTREMES: Final = {"min": PRIMITIVES["minimum"], "max": PRIMITIVES["maximum"]}


def as_mask(node: Node) -> Node:
    """Which elements are not zero."""
    if node.dtype == BOOL:
        return node
    zero = Scalar(node.dtype, node.dtype.type(0), False)
    return builder.elementwise(PRIMITIVES["not_equal"], node, zero)


def count_chosen(mask: Node) -> Node:
    """The number of true elements, int64."""
    return builder.fold(SUM, cast(mask, INT), tuple(range(len(mask.shape))))


def positions_chosen(mask: Node) -> tuple[Node, ...]:
    """For each dimension of a mask the positions of its true elements, in C order: np.nonzero.

    Their length is new, and the same wherever this mask is asked.
    """
    rank, length = len(mask.shape), choose(current_scope(), mask)
    extents = (dim(rank), length, *mask.shape)
    # of repeated elements a library operation sees each once
    seen = view_map(mask)
    plain = seen is not None and not is_view(seen[0])
    once = mask if plain else builder.elementwise(COPY, mask)
    operands = stored(once), stored(count_chosen(mask))
    maps = tuple(iterator(2 + d) for d in range(rank)), ()
    every = note(Op(INT, NONZERO, None, operands, maps, extents, 2))
    return tuple(builder.view(every, (fixed(d), iterator(0)), (length,)) for d in range(rank))


def lengths_of(node: Node) -> tuple[Dim, ...]:
    """All lengths that a node names."""
    if isinstance(node, LengthNode):
        return (node.length,)
    if not isinstance(node, Op):
        return ()
    functions = (function for index in node.maps for function in index)
    named = [d for f in functions for d in (f.offset, *(c for _, c in f.terms))]
    named += [d for region in node.regions for ends in region for d in ends]
    return (*node.extents, *named, *(node.whole if isinstance(node, Update) else ()))


def with_choices(graph: Graph, scope: Scope) -> Graph:
    """The graph with the counts of what masks choose, where it or a guard names them.

    The guards of these lengths leave the scope: they are asked once the counts are known.
    """
    if not scope.chosen:
        return graph
    later = {g: chosen_in(g.left, g.right) for g in scope.guards}
    later = {guard: symbols for guard, symbols in later.items() if symbols}
    named = {s for node in post_order(graph.outputs) for s in chosen_in(*lengths_of(node))}
    named |= {symbol for symbols in later.values() for symbol in symbols}
    for guard in later:
        del scope.guards[guard]
    masks = {symbol: mask for mask, symbol in scope.chosen.items() if symbol in named}
    order = list(masks)
    last = {guard: max(symbols, key=order.index) for guard, symbols in later.items()}
    chosen = tuple(Choice(s, tuple(g for g in later if last[g] == s)) for s in order)
    counts = tuple(_count(key) for key in masks.values() if isinstance(key, Node))
    outputs = (*graph.results, *counts, *graph.finals)
    return Graph(graph.inputs, outputs, graph.writes, chosen)


def _count(key: Node) -> Node:
    """The number that a length is: that of the true elements of a mask, or the node itself."""
    return count_chosen(key) if key.dtype == BOOL else key


def most(key: Node) -> Dim:
    """A number that the length is probably not beyond: that of all elements."""
    chosen_of = (key,) if key.dtype == BOOL else key.children
    return sum((product(node.shape) for node in chosen_of), dim(0))


def counted(length: Dim, counts: Mapping[Symbol, Node]) -> Node:
    """A length as a number computed from counts; other lengths in it are known."""
    if not chosen_in(length):
        return LengthNode(INT, length)
    total: Node | None = None
    for monomial, factor in length.terms:
        part: Node = Scalar(INT, INT.type(factor), False)
        for atom in monomial:
            match atom:
                case Symbol() if atom in counts:
                    one = counts[atom]
                case Symbol():
                    one = LengthNode(INT, polynomial({(atom,): 1}))
                case Quotient(top=top, bottom=bottom):
                    one = _of(_QUOTIENT, counted(top, counts), counted(bottom, counts))
                case Extreme(which=which, left=left, right=right):
                    one = _of(_EXTREMES[which], counted(left, counts), counted(right, counts))
            part = one if part is _ONE else _of(PRIMITIVES["multiply"], part, one)
        total = part if total is None else _of(PRIMITIVES["add"], total, part)
    assert total is not None
    return total


def _of(primitive: Primitive, left: Node, right: Node) -> Node:
    return builder.elementwise(primitive, left, right)
