"""Graph -> Graph: copies keep values that are read after their memory is overwritten."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from typing import Final

from axiomjit.graph.nodes import (
    Graph,
    Node,
    Op,
    Saved,
    Update,
    base_of,
    post_order,
    rebuild,
    with_operands,
)
from axiomjit.graph.primitives import COPY, SAVE
from axiomjit.graph.regions import Written, after_region, overwritten
from axiomjit.graph.storages import reads_of
from axiomjit.passes.graph.choose_storage import choose_storage
from axiomjit.passes.graph.order_writes import order_writes
from axiomjit.passes.ir.context import Context
from axiomjit.symbolic.dims import INDEX, Dim, Symbol, dim
from axiomjit.symbolic.index_maps import (
    Affine,
    IndexMap,
    compose,
    identity,
    iterator,
    iterators_of,
)
from axiomjit.symbolic.index_ranges import Access, may_meet_in_trip

MAX_PARTS: Final = 4
"""The largest number of parts of a version that are copied in place of the entire version."""


def save_versions(graph: Graph, context: Context) -> Graph:
    """Copy versions that are read after the next write, and written values that read their target.

    If a version must be read after the next version is written, it is copied before the write, for
    instance if two arrays are swapped or an output is not the last version. If only a part of the
    version is read, such as a row of a matrix, only this part is copied. If a written value depends
    on other elements of its target, the value is stored in a temporary first.

    Needs: a legal graph in which only outputs are views.
    Gives: a graph whose writes have an order; each write is into the memory of the previous
        version.
    Keeps: the value of every output.
    """
    if not any(isinstance(op, Update) for op in graph.ops):
        return graph
    while True:
        graph = _with_one_successor(graph)
        stored = choose_storage(graph, context.scope, calls=not context.serial).stored
        changed = _in_own_storage(graph, stored, context)
        if changed is graph:
            late = order_writes(graph, stored).late
            changed = _with_copies(graph, late) if late else graph
        if changed is graph:
            return graph
        graph = changed


def _with_one_successor(graph: Graph) -> Graph:
    """The graph in which a version has at most one next version; other writes use copies.

    The versions of an input that the graph writes stay in the memory of the input.
    """
    followed: Counter[Node] = Counter()
    own = _versions_of_inputs(graph)

    def rule(node: Node, new: dict[Node, Node]) -> Node:
        operands = [new[child] for child in node.children]
        rebuilt = with_operands(node, operands)
        if isinstance(rebuilt, Written):
            return after_region(rebuilt)
        for k, old in enumerate(node.children[: overwritten(node)]):
            followed[old] += 1
            if own.get(old, node) is not node or (old not in own and followed[old] > 1):
                operands[k] = _saved_copy(operands[k], followed[old])
        return with_operands(node, operands)

    return rebuild(graph, rule)


def _versions_of_inputs(graph: Graph) -> dict[Node, Node]:
    """For each version of an input except the last, the op that overwrites it."""
    found: dict[Node, Node] = {}
    for node in graph.outputs[len(graph.results) :]:
        while isinstance(node, Update):
            found[node.operands[0]] = node.operands[1] if isinstance(node, Written) else node
            node = node.operands[0]
    return found


def _saved_copy(node: Node, number: int = 0) -> Op:
    rank = len(node.shape)
    if isinstance(node, Op) and node.primitive is COPY:  # copy its operand directly
        parts = node.operands, node.maps, node.extents, rank
    else:
        parts = (node,), (identity(rank),), node.shape, rank
    return Saved(node.dtype, SAVE, None, *parts, number=number)


def _in_own_storage(graph: Graph, stored: Collection[Node], context: Context) -> Graph:
    """The graph with temporaries for written values that read other elements of the target."""

    def rule(node: Node, new: dict[Node, Node]) -> Node:
        rebuilt = with_operands(node, [new[child] for child in node.children])
        if not isinstance(node, Update) or not isinstance(rebuilt, Update):
            return rebuilt
        if isinstance(rebuilt, Written):
            return rebuilt
        operands, maps = list(rebuilt.operands), list(rebuilt.maps)
        for k in range(1, len(operands)):
            if _reads_elsewhere(node, k, stored, context):
                operands[k] = _copy(operands[k], maps[k], rebuilt.looped_extents)
                maps[k] = identity(rebuilt.rank)
        return rebuilt.replace(operands=tuple(operands), maps=tuple(maps))

    return rebuild(graph, rule)


def _reads_elsewhere(op: Update, k: int, stored: Collection[Node], context: Context) -> bool:
    """True if an operand of a write reads elements of the target that other points write.

    A scatter may write any element, so its operands must not read the target.
    """
    places = reads_of(op, stored, k).get(op.operands[0], set())
    if op.looped_extents != op.extents:
        return bool(places)
    target = op.maps[0]
    return any(place != target and _may_meet(place, op, context) for place in places)


def _may_meet(place: IndexMap, op: Update, context: Context) -> bool:
    """True if an element read at one point of the loops may be written at another point.

    The only fact that the test uses about iterators of folds is that they are not negative.
    """
    ranges = tuple((_index(k), dim(0), n - 1) for k, n in enumerate(op.extents))
    read, written = (Access(tuple(map(_position, one)), ranges) for one in (place, op.maps[0]))
    scope = context.scope if context.serial else None
    return may_meet_in_trip(read, written, context.ranges, scope)


def _index(k: int) -> Symbol:
    return Symbol(f"i{k}", INDEX)


def _position(place: Affine) -> Dim:
    return sum((dim(_index(k)) * step for k, step in place.terms), place.offset)


def _copy(value: Node, index: IndexMap, extents: tuple[Dim, ...]) -> Node:
    """A stored copy of the values that a map reads at the points of an iteration space."""
    return Op(value.dtype, SAVE, None, (value,), (index,), extents, len(extents))


def _with_copies(graph: Graph, late: frozenset[Node]) -> Graph:
    """The graph in which all readers of late versions read copies, except writes of next versions.

    If only small parts of a version are read, only these parts are copied.
    """
    parts = _parts(graph, late)
    copies: dict[Node, Node] = {}

    def rule(node: Node, new: dict[Node, Node]) -> Node:
        read = [copies.get(child, new[child]) for child in node.children]
        for k in range(overwritten(node)):
            read[k] = new[node.children[k]]
        rebuilt = with_operands(node, read)
        if isinstance(rebuilt, Written):
            rebuilt = after_region(rebuilt)
        if isinstance(node, Op) and node.primitive is not SAVE:  # it is a copy already
            rebuilt = _reading_parts(node, rebuilt, parts)
        if node in late and node not in parts:
            copies[node] = _saved_copy(rebuilt)
        return rebuilt

    saved = rebuild(graph, rule)
    results = [copies.get(old, new) for old, new in zip(graph.results, saved.results, strict=True)]
    return graph.replace(outputs=(*results, *saved.outputs[len(results) :]))


def _parts(graph: Graph, late: frozenset[Node]) -> frozenset[Node]:
    """The late versions of which only a few parts with fewer dimensions are read."""
    read: dict[Node, set[tuple[IndexMap, tuple[Dim, ...]]]] = {node: set() for node in late}
    ends = (*graph.counts, *graph.outputs)
    entire = {node for node in map(base_of, ends) if node in late}
    for node in post_order(ends):
        for k, child in enumerate(node.children):
            if child not in late or k < overwritten(node):
                continue
            if isinstance(node, Op) and _reads_part(node, k):
                read[child].add((node.maps[k], _part_read(node, k)))
            else:
                entire.add(child)
    return frozenset(node for node in late - entire if len(read[node]) <= MAX_PARTS)


def _reads_part(op: Op, k: int) -> bool:
    """True if an op reads only a part of an operand with fewer dimensions, for instance a row."""
    read = iterators_of(op.maps[k])
    small = len(read) < len(op.operands[k].shape) and all(i < len(op.looped_extents) for i in read)
    return small and not op.regions and not op.conditions


def _part_read(op: Op, k: int) -> tuple[Dim, ...]:
    return tuple(op.extents[i] for i in sorted(iterators_of(op.maps[k])))


def _reading_parts(node: Op, rebuilt: Node, parts: frozenset[Node]) -> Node:
    """The op, with copies in place of the parts of versions that it reads."""
    assert isinstance(rebuilt, Op)
    operands, maps = list(rebuilt.operands), list(rebuilt.maps)
    for k in range(overwritten(node), len(operands)):
        if node.operands[k] in parts:
            kept = sorted(iterators_of(maps[k]))
            place = {i: iterator(d) for d, i in enumerate(kept)}
            inner = compose(maps[k], [place.get(i, iterator(i)) for i in range(len(node.extents))])
            operands[k] = _copy(operands[k], inner, _part_read(node, k))
            maps[k] = tuple(map(iterator, kept))
    return rebuilt.replace(operands=tuple(operands), maps=tuple(maps))
