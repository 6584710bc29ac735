"""The adjoints of loops and branches.

The adjoint of a loop is a backward loop, from the last trip to the first. The backward loop carries
the cotangents of the carried values, and the cotangents of the captured values, which are sums over
the trips. Each backward trip reads values of one forward trip. A value that no trip changes is
computed again. If trips change an array, the loop keeps for each trip either the parts of the array
that the adjoint reads or the entire array, whichever has fewer elements (`kept_values`). A forward
loop that also stores the kept values replaces the loop.

If the kept values are larger than the operands, the loop of N trips is cut into blocks of about
sqrt(N) trips: a loop over blocks, whose body is a loop over trips, and a loop over the trips that
remain. The adjoint of a block runs the trips of the block again. So the loop over blocks keeps
values once per block, and the adjoint of a block keeps values once per trip of that block.

The adjoint of a branch is one branch with the same condition.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from axiomjit.base.dtypes import INT, is_inexact
from axiomjit.base.trace_context import Following, current
from axiomjit.gradients.cotangents import Cotangent
from axiomjit.gradients.kept_values import Plan, choose, with_stand_ins
from axiomjit.gradients.marks import kept_regions, with_kept_regions
from axiomjit.gradients.rules import Refused
from axiomjit.gradients.structures import Contributions, Wanted
from axiomjit.gradients.transposes import ADD, Carried, Placeholder, zeros
from axiomjit.graph import builder
from axiomjit.graph.closing import Body, RegionRefused, close_bodies
from axiomjit.graph.nodes import Graph, Input, Node, Op, Saved, Scalar, Token, root_of
from axiomjit.graph.primitives import SAVE
from axiomjit.graph.regions import (
    Cond,
    Loop,
    Region,
    rebuilt,
    region_fields,
    region_node,
    with_lengths,
    written_versions,
)
from axiomjit.graph.storages import update
from axiomjit.symbolic.data_dependent import data_dependent_length
from axiomjit.symbolic.dims import (
    INDEX,
    Dim,
    Scope,
    Symbol,
    current_scope,
    dim,
    in_body,
    largest_of,
    product,
    symbols_in,
)
from axiomjit.symbolic.index_maps import fixed, identity, iterator
from axiomjit.symbolic.index_ranges import IndexRanges, UndecidedError, within_body

Seeds = Sequence[tuple[Node, Node]]
"""Pairs of a result and its cotangent, of equal shape and dtype."""
Adjoint = Callable[[Seeds, Sequence[Node]], Mapping[Node, Cotangent]]
"""The type of `reverse.adjoint`, a function of seeds and arguments that returns cotangents."""
MOST_OPERATIONS: Final = 2000
"""The largest number of operations in a trip of an adjoint."""
MOST_KEPT: Final = 2**16
"""The largest number of kept elements, of all trips together, for which a loop is not cut into
blocks.
"""
BLOCK: Final = "block"
"""The name of a loop over the trips of a block or over blocks: such a loop is not cut again."""


def of_region(
    op: Op, given: Mapping[int, Cotangent], wanted: Wanted, adjoint: Adjoint
) -> Contributions | Refused:
    """The cotangents of the operands of a loop or branch.

    Args:
        op: The region.
        given: The cotangents of the overwritten storages after the region, by place.
        wanted: The numbers of operands that have a path to an argument.
        adjoint: The function `reverse.adjoint`, for the bodies.
    """
    region = op.primitive
    assert isinstance(region, Region)
    following = current()
    assert following is not None, "regions are made in a trace"
    make = _OfLoop if isinstance(region, Loop) else _OfBranch
    failing = len(following.may_fail)
    try:
        return make(following, op, given, wanted, adjoint).contributions()
    except RegionRefused as error:
        return Refused(f"a loop or branch whose adjoint has {error.reason}")
    except UndecidedError as error:
        return Refused(f"a loop whose adjoint compares lengths that differ in its trips: {error}")
    finally:  # steps of the adjoint that may fail run only in its body
        del following.may_fail[failing:]


class _OfRegion:
    """The state of making the adjoint of one region."""

    def __init__(
        self,
        following: Following,
        op: Op,
        given: Mapping[int, Cotangent],
        wanted: Wanted,
        adjoint: Adjoint,
    ) -> None:
        self.following, self.op, self.given = following, op, given
        self.wanted, self.adjoint = wanted, adjoint
        assert isinstance(op.primitive, Region)
        self.region: Any = op.primitive
        self.since = following.regions
        self.scope: Scope = current_scope()
        self.written = self.region.overwrites
        self.places = [k for k in range(self.written) if is_inexact(op.operands[k].dtype)]
        rest = range(self.written, len(op.operands))
        self.places += [k for k in rest if k in wanted and is_inexact(op.operands[k].dtype)]
        self.inputs = [
            Placeholder(node.dtype, k, node.shape, False, Token())
            for k, node in enumerate(op.operands)
        ]
        pairs = list(zip(self.inputs, op.operands, strict=True))
        self.stands_for = dict[Node, Node](pairs[self.written :])
        self.carried = [
            Carried(op.operands[k].dtype, place, op.operands[k].shape, False, Token())
            for place, k in enumerate(self.places)
        ]

    def number(self) -> int:
        """A number that no other region, index or copy of this trace has."""
        self.following.regions += 1
        return self.following.regions

    def copied(self, node: Node, shape: tuple[Dim, ...] | None = None) -> Saved:
        """A copy of a value in memory of its own.

        The lengths in `shape` equal those of the value. `shape` is needed because the lengths of a
        held array are numbers, while those of its cotangent may be symbols; the bodies and operands
        of a region must have identical lengths.
        """
        shape = node.shape if shape is None else shape
        parts = (node,), (identity(len(shape)),), shape, len(shape)
        return Saved(node.dtype, SAVE, None, *parts, number=-self.number())

    def outside(self, nodes: Sequence[Node]) -> tuple[Node, ...]:
        """Nodes of a body, computed outside it; they depend only on inputs that no trip changes."""
        return tuple(rebuilt(nodes, self.stands_for))

    def instance(self, body: Graph, lengths: Mapping[Symbol, Dim]) -> dict[int, Node]:
        """The outputs of a body, by the position of the input that an output replaces, or -1."""
        given = dict[Node, Node](zip(body.inputs, self.inputs, strict=True))
        places = body.writes or range(-1, 0)
        return dict(zip(places, rebuilt(body.outputs, given, lengths), strict=False))

    def ends(self, finals: Mapping[int, Node]) -> dict[int, Node]:
        """The cotangents before a trip, by place, if they differ from the cotangents after it."""
        inputs = [self.inputs[k] for k in self.places]
        seeds = [
            (finals.get(k, self.inputs[k]), node)
            for k, node in zip(self.places, self.carried, strict=True)
        ]
        found = self.adjoint(seeds, inputs)
        ends = {}
        for place, (node, old) in enumerate(zip(inputs, self.carried, strict=True)):
            value = found[node].settled() if node in found else zeros(old.dtype, old.shape)
            if value is not old:
                ends[place] = _replaced(old, value)
        return dict(zip(ends, with_kept_regions(list(ends.values())), strict=True))

    def before(self) -> list[Node]:
        """The operands that the adjoint overwrites: copies of the cotangents after the region."""
        made: list[Node] = []
        for k in self.places:
            node = self.op.operands[k]
            known = self.given[k].settled() if k in self.given else zeros(node.dtype, node.shape)
            made.append(self.copied(known, node.shape))
        return made

    def result(self, node: Op) -> Contributions:
        """The cotangents of the operands, given the node of the adjoint region."""
        pairs = zip(self.places, written_versions(node), strict=True)
        return {k: Cotangent(one) for k, one in pairs if k in self.wanted}

    def contributions(self) -> Contributions | Refused:
        """The cotangents of the operands."""
        raise NotImplementedError


class _OfLoop(_OfRegion):
    """The adjoint of a loop."""

    def contributions(self) -> Contributions | Refused:
        """The cotangents of the operands."""
        trips = self.region.trips
        if trips is None or len(self.region.bodies) > 1:
            if in_body():
                return Refused("a loop that its condition ends, in the body of another loop")
            trips = self.counted()
        index = Symbol(f"l{self.number()}", INDEX)
        body, renamed = self.region.bodies[0], {self.region.index or index: dim(index)}
        with within_body(self.scope, index, trips):
            self.scope.values[index] = max(self.scope.value(trips) // 2, 0)
            finals = self.instance(body, renamed)
            ends = self.ends(finals)
            plan = choose(list(ends.values()), self.inputs[: self.written], self.scope, False)
        if self.must_cut(trips, plan):
            return self.in_blocks(trips)
        kept = self.kept(trips, index, finals, plan)
        return self.backward(trips, index, ends, plan, kept)

    def counted(self) -> Dim:
        """The number of trips of a loop that ends by a condition.

        A loop that also counts its trips replaces the loop.
        """
        region = self.region
        index, limit = region.index or Symbol(f"l{self.number()}", INDEX), region.trips or dim(1)
        counter = Input(INT, self.written, (), False, Token())
        one = builder.elementwise(ADD, counter, Scalar(INT, INT.type(1), False))
        places, given = self.inputs[: self.written], self.instance(region.bodies[0], {})
        ends: list[dict[int, Node]] = [{**given, self.written: _replaced(counter, one)}]
        (truth,) = self.instance(region.bodies[1], {}).values()
        ends.append({-1: truth})
        body = self.closed([*places, counter], ends, index, limit)
        start = self.copied(Scalar(INT, INT.type(0), False))
        operands = [*self.op.operands[: self.written], start, *body.captured]
        fields = region_fields(region.name, operands, self.written + 1, body.graphs)
        node = region_node(Loop(**fields, index=region.index, trips=region.trips), operands)
        *made, count = written_versions(node)
        self.replace(made)
        return data_dependent_length(self.scope, count)

    def replace(self, made: Sequence[Node]) -> None:
        """Use the versions after another region in place of the versions after this region."""
        kept_regions().update(zip(written_versions(self.op), made, strict=False))

    def must_cut(self, trips: Dim, plan: Plan) -> bool:
        """True if, in the traced call, the kept values have more elements than the operands."""
        varies = any(symbol.kind is INDEX for symbol in symbols_in(trips))
        if self.region.name == BLOCK or len(self.region.bodies) > 1 or varies:
            return False
        room = sum(self.scope.value(product(node.shape)) for node in self.op.operands)
        count = self.scope.value(trips)
        return count >= 4 and count * plan.cost > max(room, MOST_KEPT)

    def kept(
        self, trips: Dim, index: Symbol, finals: Mapping[int, Node], plan: Plan
    ) -> dict[Node, Node]:
        """For each value that a plan keeps, an array with the value of each trip."""
        ends, zero, places = dict(finals), list[Node](), list[Input]()
        everything: list[Input] = [*self.inputs[: self.written]]
        for value in plan.values:
            place = len(everything)
            ranges = IndexRanges(((index, dim(0), trips - 1),))
            room = tuple(largest_of(ranges.ends(length)) for length in value.shape)
            memory = Input(value.dtype, place, (trips, *room), False, Token())
            zero.append(self.copied(zeros(value.dtype, (trips, *room))))
            rank = len(value.shape)
            target = (fixed(dim(index)), *identity(rank))
            ends[place] = update(memory, target, value, identity(rank), value.shape)
            everything.append(memory)
            places.append(memory)
        if not places:
            return {}
        body = self.closed(everything, [ends], index, trips)
        operands = [*self.op.operands[: self.written], *zero, *body.captured]
        node = self.loop(operands, len(everything), body, index, trips)
        made = written_versions(node)
        self.replace(made)
        for memory, node in zip(places, made[self.written :], strict=True):
            self.stands_for[memory] = node
        return dict(zip(plan.values, places, strict=True))

    def closed(
        self,
        placeholders: Sequence[Input],
        ends: Sequence[Mapping[int, Node]],
        index: Symbol,
        trips: Dim,
    ) -> Body:
        """The closed body of a loop, with captured values from outside of the region."""
        with within_body(self.scope, index, trips):
            body = close_bodies(
                self.scope, placeholders, ends, index, self.since, most=MOST_OPERATIONS
            )
        return body.replace(captured=self.outside(body.captured))

    def loop(
        self, operands: Sequence[Node], written: int, body: Body, index: Symbol, trips: Dim
    ) -> Op:
        """The node of a loop with this body, which overwrites the first `written` operands."""
        fields = region_fields(self.region.name, operands, written, body.graphs)
        return region_node(Loop(**fields, index=index, trips=trips), operands)

    def backward(
        self,
        trips: Dim,
        index: Symbol,
        ends: Mapping[int, Node],
        plan: Plan,
        kept: Mapping[Node, Node],
    ) -> Contributions:
        """The cotangents of the operands, by the loop from the last trip to the first."""

        def stand_in(value: Node, is_written: bool) -> Node:
            rank = len(value.shape)
            index_map = (fixed(dim(index)), *(iterator(d) for d in range(rank)))
            seen = builder.view(kept[value], index_map, value.shape)
            return self.copied(seen) if is_written else seen

        back = Symbol(f"l{self.number()}", INDEX)
        with within_body(self.scope, index, trips):
            made = with_stand_ins(ends, plan, stand_in)
        nodes = rebuilt(list(made.values()), {}, {index: trips - 1 - dim(back)})
        turned = dict(zip(made, nodes, strict=True))
        body = self.closed(self.carried, [turned], back, trips)
        operands = [*self.before(), *body.captured]
        return self.result(self.loop(operands, len(self.carried), body, back, trips))

    def in_blocks(self, trips: Dim) -> Contributions | Refused:
        """The cotangents of the operands, by a loop over blocks and a loop over other trips."""
        length = math.isqrt(self.scope.value(trips))
        whole, body, first = self.region, self.region.bodies[0], self.written
        outer, inner, last = (Symbol(f"l{self.number()}", INDEX) for _ in range(3))
        count = trips // length

        def block(index: Symbol, place: Dim, some: Dim) -> Loop:
            moved = with_lengths(body, {whole.index: place})
            made: Loop = whole.replace(name=BLOCK, bodies=(moved,), index=index, trips=some)
            return made

        trip = region_node(block(inner, dim(outer) * length + dim(inner), dim(length)), body.inputs)
        inside = Graph(body.inputs, written_versions(trip), tuple(range(first)))
        blocks = whole.replace(name=BLOCK, bodies=(inside,), index=outer, trips=count)
        node = region_node(blocks, self.op.operands)
        after, given = written_versions(node), self.given
        rest = block(last, count * length + dim(last), trips - count * length)
        behind = region_node(rest, (*after, *self.op.operands[first:]))
        self.replace(written_versions(behind))
        every = self.wanted | {k for k in self.places if k < first}
        made = of_region(behind, given, every, self.adjoint)
        if isinstance(made, Refused):
            return made
        given = {k: g for k, g in made.items() if k < first}
        found = of_region(node, given, self.wanted, self.adjoint)
        if isinstance(found, Refused):
            return found
        for k, g in made.items():
            if k >= first:
                found[k] = found[k].plus(g) if k in found else g
        return found


class _OfBranch(_OfRegion):
    """The adjoint of a branch."""

    def contributions(self) -> Contributions | Refused:
        """The cotangents of the operands."""
        assert isinstance(self.region, Cond)
        first, operands = self.written, self.op.operands
        truth = operands[first]
        states, sides = self.inputs[:first], []
        self.stands_for |= zip(states, operands, strict=False)

        def stand_in(value: Node, is_written: bool) -> Node:
            return self.copied(value) if is_written else value

        with within_body(self.scope, None, None):
            for body in self.region.bodies:
                ends = self.ends(self.instance(body, {}))
                plan = choose(list(ends.values()), states, self.scope, True)
                sides.append(with_stand_ins(ends, plan, stand_in))
            body_ = close_bodies(
                self.scope, self.carried, sides, None, self.since, (truth,), MOST_OPERATIONS
            )
        operands = (*self.before(), *self.outside(body_.captured))
        fields = region_fields(self.region.name, operands, len(self.carried), body_.graphs)
        return self.result(region_node(Cond(**fields), operands))


def _replaced(old: Node, value: Node) -> Node:
    """The version of `old` that holds a value; `value` itself if it already is such a version."""
    if root_of(value) is old:
        return value
    place = identity(len(old.shape))
    return update(old, place, value, place, old.shape)
