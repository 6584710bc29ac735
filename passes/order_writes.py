"""The order in which stored values are computed, where some overwrite earlier ones."""

from __future__ import annotations

from collections.abc import Collection

from axiomjit.base.records import Record
from axiomjit.graph.nodes import Graph, Node, Op, Update, base_of, post_order
from axiomjit.graph.stored_reads import reads_of


class Order(Record):
    """Stored ops in order; `late` are versions that would be read after they are written over."""

    ops: tuple[Op, ...]
    late: frozenset[Node]


def order_writes(graph: Graph, stored: Collection[Node]) -> Order:
    """Put the stored ops in an order in which each version is read before the next is written.

    If no such order exists, some versions are `late`, and the order is one
    in which copies of them are read. Without updates the order is that of the graph.

    Needs: a legal graph in which only outputs are views, and which of its ops are stored.
    Gives: every stored op once.
    Keeps: operands before users.
    """
    units = [n for n in post_order(graph.outputs) if isinstance(n, Op) and n in stored]
    successor = {n.operands[0]: n for n in units if isinstance(n, Update)}
    if not successor:
        return Order(tuple(units), frozenset())
    before: dict[Op, set[Node]] = {}
    readers: dict[Node, set[Op | None]] = {old: set() for old in successor}
    for unit in units:
        read = set(reads_of(unit, stored))
        before[unit] = {n for n in (*read, *unit.operands) if n in stored and n is not unit}
        for old in read & set(successor):
            readers[old].add(unit)
    for node in graph.outputs:
        if base_of(node) in successor:
            readers[base_of(node)].add(None)
    return _scheduled(units, before, readers)


def _scheduled(
    units: list[Op], before: dict[Op, set[Node]], readers: dict[Node, set[Op | None]]
) -> Order:
    """Take the first op that is ready, repeatedly; if none is, save a version."""
    done: set[Node | None] = set()
    late: set[Node] = set()
    order: list[Op] = []
    rest = list(units)
    while rest:
        ready = (unit for unit in rest if before[unit] <= done)
        free = next((unit for unit in ready if not _waits(unit, readers, done, late)), None)
        if free is None:
            # A cycle: an update waits for readers that wait for it.
            free = next(unit for unit in rest if before[unit] <= done)
            late.add(free.operands[0])
        rest.remove(free)
        order.append(free)
        done.add(free)
    return Order(tuple(order), frozenset(late))


def _waits(
    unit: Op, readers: dict[Node, set[Op | None]], done: set[Node | None], late: set[Node]
) -> bool:
    """Whether ops that read the version overwritten by an update are still to come."""
    if not isinstance(unit, Update) or unit.operands[0] in late:
        return False
    return not readers[unit.operands[0]] - {unit} <= done
