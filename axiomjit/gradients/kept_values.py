"""The values of a trip of a loop that the adjoint of the loop keeps.

A trip of the adjoint reads arrays that the trips of the loop change. For each array that trips
change, the loop keeps either the parts that the adjoint reads, or the entire array before each
trip. If the loop keeps the entire array, the adjoint computes later versions of the array again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from axiomjit.base.records import Record
from axiomjit.gradients.transposes import Carried
from axiomjit.graph import builder
from axiomjit.graph.closing import Given
from axiomjit.graph.library_operations import LibraryOperation
from axiomjit.graph.nodes import Input, Node, Op, post_order, root_of
from axiomjit.graph.primitives import GATHER, VIEW
from axiomjit.graph.regions import overwritten
from axiomjit.symbolic.dims import Scope, product
from axiomjit.symbolic.index_maps import IndexMap, compose, identity, iterator, iterators_of


class Plan(Record):
    """The choice of the values of each trip that are kept for the adjoint.

    `whole` are entire arrays at the start of a trip. `parts` are the parts of other arrays that the
    adjoint reads, and `states` are these other arrays. If `first_only` is true, parts are taken
    only from the arrays before the trip. `cost` is the number of elements of all kept values.
    """

    states: frozenset[Node]
    whole: tuple[Node, ...]
    parts: tuple[Node, ...]
    cost: int
    first_only: bool

    @property
    def values(self) -> tuple[Node, ...]:
        """All kept values."""
        return (*self.whole, *self.parts)


class _Read(Record):
    """A read of a part of a state, with the map by which an operation reads the part."""

    part: Node
    index: IndexMap


def choose(ends: Sequence[Node], states: Sequence[Input], scope: Scope, first_only: bool) -> Plan:
    """Choose the values to keep for an adjoint.

    Args:
        ends: The values that a trip of the adjoint computes.
        states: The inputs of the forward body that the forward body changes.
        scope: The lengths of the traced call.
        first_only: True if parts may be taken only from the states before the body.
    """

    def cost(node: Node) -> int:
        return scope.value(product(node.shape))

    whole: set[Node] = set()
    while True:
        walk = _Walk(frozenset(states) - whole, ends, first_only)
        more = set(walk.entire)
        for state, parts in walk.parts.items():
            if sum(map(cost, parts)) >= cost(state):
                more.add(state)
        if not more:
            break
        whole |= more
    needed = set(walk.order)
    kept = tuple(state for state in states if state in whole and state in needed)
    parts_ = tuple(dict.fromkeys(part for parts in walk.parts.values() for part in parts))
    total = sum(map(cost, (*kept, *parts_)))
    return Plan(frozenset(states) - whole, kept, parts_, total, first_only)


def with_stand_ins(
    ends: Mapping[int, Node], plan: Plan, stand_in: Callable[[Node, bool], Node]
) -> dict[int, Node]:
    """The values of an adjoint, computed from the stored values instead of the original ones.

    Args:
        ends: The values of the adjoint, by place.
        plan: The plan of the values to keep.
        stand_in: A function that returns the node of a kept value; its second argument is True if
            an operation overwrites the value.
    """
    walk = _Walk(plan.states, list(ends.values()), plan.first_only)
    written = {child for node in walk.order for child in node.children[: overwritten(node)]}
    new: dict[Node, Node] = {one: stand_in(one, one in written) for one in plan.whole}
    parts = {one: stand_in(one, False) for one in plan.parts}
    for node in walk.order:
        if node in new or not isinstance(node, Op):
            new.setdefault(node, node)
            continue
        operands, maps = list(node.operands), list(node.maps)
        for k, child in enumerate(node.operands):
            read = walk.read(node, k)
            if read is None:
                operands[k] = parts[child] if child in parts else new[child]
            else:
                operands[k], maps[k] = parts[read.part], read.index
        new[node] = node.replace(operands=tuple(operands), maps=tuple(maps))
    return {place: new[node] for place, node in ends.items()}


class _Walk:
    """The nodes of values that are computed again, and the parts of states that they read."""

    def __init__(self, states: frozenset[Node], ends: Sequence[Node], first_only: bool) -> None:
        self._states, self._first_only = states, first_only
        self.entire: set[Node] = set()
        self.parts: dict[Node, dict[Node, None]] = {}
        every = post_order(tuple(ends))
        self._of_adjoint: set[Node] = set()
        for node in every:
            if isinstance(node, Carried) or any(c in self._of_adjoint for c in node.children):
                self._of_adjoint.add(node)
        self.order = post_order(tuple(ends), self._children)

    def _children(self, node: Node) -> tuple[Node, ...]:
        found = []
        for k, child in enumerate(node.children):
            state = self._gathered(child)
            if state is not None:
                self.parts.setdefault(state, {})[child] = None
                continue
            state = self._state(_seen(child)[0])
            if state is None:
                found.append(child)
                continue
            read = self.read(node, k)
            if read is None:
                self.entire.add(state)
            else:
                self.parts.setdefault(state, {})[read.part] = None
        return tuple(found)

    def _state(self, node: Node) -> Node | None:
        """The state of which a node is a version; None for other nodes."""
        root = root_of(node)
        return root if root in self._states else None

    def _gathered(self, node: Node) -> Node | None:
        """The state that a gather of the forward body reads; the gathered value is kept."""
        if not isinstance(node, Op) or node.primitive is not GATHER or self._first_only:
            return None
        return None if node in self._of_adjoint else self._state(_seen(node.operands[0])[0])

    def read(self, node: Node, k: int) -> _Read | None:
        """The part of a state that an operation reads as operand k; None if no part is known."""
        if not isinstance(node, Op):
            return None
        base, views = _seen(node.operands[k])
        state = self._state(base)
        library = isinstance(node.primitive, LibraryOperation)
        if state is None or library or k < overwritten(node) or node.regions or node.conditions:
            return None
        if (node.primitive is GATHER and k == 0) or (self._first_only and base is not state):
            return None
        child, index, extents = node.operands[k], node.maps[k], node.extents
        if isinstance(node, Given):  # a given derivative may read the entire value
            index, extents = identity(len(child.shape)), child.shape
        for view in views:
            index = compose(view, index)
        kept = sorted(iterators_of(index))
        place = {i: iterator(d) for d, i in enumerate(kept)}
        inner = compose(index, [place.get(i, iterator(i)) for i in range(len(extents))])
        part = builder.view(base, inner, tuple(extents[i] for i in kept))
        if isinstance(node, Given):
            return _Read(part, node.maps[k]) if part.shape == child.shape else None
        return _Read(part, tuple(map(iterator, kept)))


def _seen(node: Node) -> tuple[Node, list[IndexMap]]:
    """The node below a chain of plain views, and the maps of the views, the last view first."""
    maps = []
    while isinstance(node, Op) and node.primitive is VIEW and node.fold is None:
        maps.append(node.maps[0])
        node = node.operands[0]
    return node, maps
