"""Order the computations of stored values, some of which overwrite others."""

from __future__ import annotations

from collections.abc import Collection

from axiomjit.base.records import Record
from axiomjit.graph.library_operations import LibraryOperation
from axiomjit.graph.nodes import Graph, Node, Op, base_of, post_order
from axiomjit.graph.regions import Written, overwritten
from axiomjit.graph.storages import reads_of
from axiomjit.symbolic.dims import Symbol


class Order(Record):
    """The stored ops in order; versions in `late` would be overwritten before they are read."""

    ops: tuple[Op, ...]
    late: frozenset[Node]


def order_writes(graph: Graph, stored: Collection[Node]) -> Order:
    """Order the stored ops so that each version is read before the next version is written.

    If no such order exists, some versions are `late`, and their readers must read copies. Without
    updates, the order is the order of the graph. Ops that count selected elements come early, in
    the order of the graph, since these counts are lengths of later values. Ops that may raise an
    error come early, too.

    Needs: a legal graph in which only outputs are views, and its stored ops.
    Gives: every stored op once.
    Keeps: operands before users.
    """
    every = post_order((*graph.counts, *graph.outputs))
    units = [n for n in every if isinstance(n, Op) and n in stored]
    writers = [n for n in units if overwritten(n) and not isinstance(n, Written)]
    successor = {old: n for n in writers for old in n.operands[: overwritten(n)]}
    if not successor:
        return Order(tuple(units), frozenset())
    before: dict[Op, set[Node]] = {}
    readers: dict[Node, set[Op | None]] = {old: set() for old in successor}
    for unit in units:
        read = set(reads_of(unit, stored))
        before[unit] = {n for n in (*read, *unit.operands) if n in stored and n is not unit}
        for old in read & set(successor):
            readers[old].add(unit)
    if graph.data_dependent:
        _count_first(graph, stored, before)
    for node in graph.outputs:
        if base_of(node) in successor:
            readers[base_of(node)].add(None)
    return _scheduled(_failing_first(units, before), before, readers)


def _failing_first(units: list[Op], before: dict[Op, set[Node]]) -> list[Op]:
    """The ops, in which ops that may raise an error, and the ops that they need, come first.

    Writes then come after all possible errors, so that no write must be undone.
    """
    early: set[Node] = set()
    for unit in reversed(units):
        if unit in early or (
            isinstance(unit.primitive, LibraryOperation) and unit.primitive.may_raise
        ):
            early |= {unit, *before[unit]}
    return [unit for unit in units if unit in early] + [u for u in units if u not in early]


def _count_first(graph: Graph, stored: Collection[Node], before: dict[Op, set[Node]]) -> None:
    """Require that counts keep their order and come before the ops that have them as lengths."""
    counts: dict[Symbol, Node] = {}
    seen: list[Node] = []
    for choice, node in zip(graph.data_dependent, graph.counts, strict=True):
        count = base_of(node)
        if isinstance(count, Op) and count in before:
            counts[choice.symbol] = count
            if count in seen:  # one count may belong to two symbols
                continue
            before[count].update(seen[-1:])
            seen.append(count)

    def own(node: Node) -> tuple[Node, ...]:
        return tuple(child for child in node.children if child not in stored)

    for unit, needed in before.items():
        named = [symbol for node in post_order((unit,), own) for symbol in node.symbols]
        needed |= {counts[s] for s in named if s in counts and counts[s] is not unit}


def _scheduled(
    units: list[Op], before: dict[Op, set[Node]], readers: dict[Node, set[Op | None]]
) -> Order:
    """Schedule the first ready op until all are scheduled; if none is ready, a version is late."""
    done: set[Node | None] = set()
    late: set[Node] = set()
    order: list[Op] = []
    rest = list(units)
    while rest:
        ready = (unit for unit in rest if before[unit] <= done)
        free = next((unit for unit in ready if not _must_wait(unit, readers, done, late)), None)
        if free is None:
            # A cycle: an update waits for readers that wait for it.
            free = next(unit for unit in rest if before[unit] <= done)
            late |= set(_waited_for(free, readers, done, late))
        rest.remove(free)
        order.append(free)
        done.add(free)
    return Order(tuple(order), frozenset(late))


def _must_wait(
    unit: Op, readers: dict[Node, set[Op | None]], done: set[Node | None], late: set[Node]
) -> bool:
    """True if an op must wait for readers of a version that it overwrites."""
    return bool(_waited_for(unit, readers, done, late))


def _waited_for(
    unit: Op, readers: dict[Node, set[Op | None]], done: set[Node | None], late: set[Node]
) -> list[Node]:
    """The versions that an op overwrites, and that other ops must read before this op runs."""
    if isinstance(unit, Written):  # the region before it has overwritten the version
        return []
    olds = (old for old in unit.operands[: overwritten(unit)] if old not in late)
    return [old for old in olds if not readers[old] - {unit} <= done]
