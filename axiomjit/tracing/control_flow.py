"""Loops and branches of a traced function as regions: each body is traced, not run.

A body is called with placeholders for the carried values, until the types of these values and the
set of written storages no longer change. A loop that cannot be traced so raises `RegionRefused`. If
a loop is refused, nothing has been recorded, and the caller traces the loop trip by trip.

A `break` sets a carried truth value that `condition` tests. The statements after a `continue` or an
early `return` become a branch on a carried truth value.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from typing import Any, Final

import numpy as np

from axiomjit.base.dtypes import BOOL, FLOAT, INT
from axiomjit.base.errors import amount
from axiomjit.base.origins import user_location
from axiomjit.base.trace_context import Following, current
from axiomjit.graph.builder import cast, elementwise, python_number, strong
from axiomjit.graph.closing import RegionRefused, close_bodies, is_elementwise_beyond
from axiomjit.graph.indexing_ops import as_mask
from axiomjit.graph.nodes import (
    Input,
    Node,
    Op,
    Saved,
    Token,
    base_of,
    root_of,
)
from axiomjit.graph.primitives import COPY, SAVE
from axiomjit.graph.regions import Cond, Loop, Written, region_fields, region_node, written_versions
from axiomjit.symbolic.data_dependent import STATUS, computed_number, data_dependent_in
from axiomjit.symbolic.dims import (
    INDEX,
    Dim,
    Scope,
    Symbol,
    current_scope,
    dim,
    larger,
)
from axiomjit.symbolic.index_maps import identity
from axiomjit.symbolic.index_ranges import IndexRanges, UndecidedError, within_body
from axiomjit.tracing.lengths import length, unwrap
from axiomjit.tracing.operators import TracedStorage
from axiomjit.tracing.region_bodies import (
    UNBOUND,
    Kind,
    Pass,
    after_steps,
    all_true,
    applied,
    followed,
    is_unchanged,
    joined,
    kind_of,
    or_zeros,
    refuse_carried,
    replaced,
    stored_as,
)
from axiomjit.tracing.swapped_names import (
    NamesSwapped,
    check_types,
    moved_names,
    swapped_names,
    trace_in_turns,
    trace_while_in_turns,
    trips_until_back,
)
from axiomjit.tracing.tracer import Tracer, new_array

MAX_ROUNDS: Final = 8
"""The largest number of passes through a body until its types no longer change."""


def trace_loop(
    trips: tuple[Any, Any, Any] | None,
    body: Callable[..., Sequence[Any]],
    carried: Sequence[Any],
    *,
    condition: Callable[..., Any] | None = None,
    asks: Callable[..., Any] | None = None,
    begins: bool = False,
    may_be_unbound: Collection[int] = (),
    most_elements: float = math.inf,
) -> tuple[Any, ...]:
    """Trace a loop; return its last index and the carried values after it.

    Args:
        trips: The start, stop and step of a range, as integers or symbolic integers; None for
            `while`.
        body: `body(index, *carried)` returns the carried values after a trip.
        carried: Traced arrays and numbers, numbers, `UNBOUND`. Objects of other types must come
            back unchanged.
        condition: `condition(*carried)` is evaluated before each trip; the loop ends if it is
            false.
        asks: The condition that is evaluated between the trips that are traced as one body, if
            names of arrays are swapped.
        begins: True if the condition holds before the first trip.
        may_be_unbound: The places of carried values that are zeros if no trip sets them.
        most_elements: The largest number of elements, in the traced call, of a value that a trip
            computes without a library.

    Returns:
        The last index, then the carried values. The index is UNBOUND in three cases: there was no
        trip, the loop has a condition, or `trips` is None.

    Raises:
        RegionRefused: the loop cannot be a region; nothing was recorded.
    """
    try:
        with undone_if_refused() as (following, scope):
            made = _loop(following, scope, trips, body, carried, condition, begins)
            if made is None:
                return (UNBOUND, *carried)
            made.most_elements, made.may_be_unbound = most_elements, may_be_unbound
            return made.traced_with_index()
    except NamesSwapped as found:
        if trips is None and condition is not None and following.region is None:
            again = partial(trace_loop, None, begins=begins, may_be_unbound=may_be_unbound)
            branch = partial(trace_cond, may_be_unbound=may_be_unbound)
            tests = condition, asks or condition
            return UNBOUND, *trace_while_in_turns(found, body, carried, tests, again, branch)
        if trips is None or condition is not None or may_be_unbound:
            raise
        start, stop, step = (_whole(value) for value in trips)
        span = start, step, count_trips(start, stop, step)[0]
        return trace_in_turns(found.trips, span, body, carried, trace_loop)


def _loop(
    following: Following,
    scope: Scope,
    trips: tuple[Any, Any, Any] | None,
    body: Callable[..., Sequence[Any]],
    carried: Sequence[Any],
    condition: Callable[..., Any] | None,
    begins: bool,
) -> _Loop | None:
    """The loop that is to be traced; None if the loop has no trip."""
    if trips is None:
        return _Loop(following, scope, None, body, carried, condition, begins)
    start, stop, step = (_whole(value) for value in trips)
    count, empty = count_trips(start, stop, step)
    if count.constant == 0:
        return None
    has_trips = not empty and (condition is None or begins)
    made = _Loop(following, scope, (start, step, count), body, carried, condition, has_trips)
    made.may_be_empty = empty
    return made


def trace_cond(
    truth: Any,
    then: Callable[..., Sequence[Any]],
    otherwise: Callable[..., Sequence[Any]],
    carried: Sequence[Any],
    may_be_unbound: Collection[int] = (),
) -> tuple[Any, ...]:
    """Trace both sides of a branch; return the carried values after it.

    Args:
        truth: A traced number, or a known truth value, which selects its side at once.
        then: `then(*carried)` returns the carried values after this side.
        otherwise: `otherwise(*carried)` returns the carried values after the other side.
        carried: The carried values, as for `trace_loop`.
        may_be_unbound: The positions of carried values that one side may leave unbound, since no
            later statement reads them; zeros take their place.

    Raises:
        RegionRefused: the branch cannot be a region; nothing was recorded.
    """
    if not issubclass(type(truth), Tracer):
        return tuple((then if truth else otherwise)(*carried))
    with undone_if_refused() as (following, scope):
        if truth.node.shape:
            raise RegionRefused("the truth of an array")
        made = _Branch(following, scope, truth.node, (then, otherwise), carried)
        made.may_be_unbound = may_be_unbound
        return tuple(made.traced())


@contextmanager
def undone_if_refused() -> Iterator[tuple[Following, Scope]]:
    """The current trace; an error in the block removes all that the block has recorded.

    Raises:
        RegionRefused: the region cannot be traced; other errors of the block become this error.
    """
    following = current()
    if following is None:
        raise RegionRefused("no function is traced here")
    scope = current_scope()
    fields = ("refusal", "last", "handles", "asked", "region", "count", "regions")
    before = {name: getattr(following, name) for name in fields}
    failing = list(following.may_fail)
    tables = [dict(t) for t in (scope.guards, scope.data_dependent, scope.computed, scope.values)]
    indices = scope.indices
    try:
        yield following, scope
    except BaseException as error:
        for name, value in before.items():
            setattr(following, name, value)
        following.may_fail[:] = failing
        now: Any = (scope.guards, scope.data_dependent, scope.computed, scope.values)
        for table, old in zip(now, tables, strict=True):
            table.clear()
            table.update(old)
        scope.indices = indices
        if isinstance(error, RegionRefused) or not isinstance(error, Exception):
            raise
        raise RegionRefused(f"{type(error).__name__}: {error}") from error


def _whole(value: Any) -> Dim:
    """The start or stop of a range as a length."""
    known = unwrap(value)
    if isinstance(known, bool) or not isinstance(known, int | np.integer | Dim):
        raise RegionRefused(f"a range with an end of type {type(value).__name__}")
    return dim(known if isinstance(known, Dim) else int(known))


def count_trips(start: Dim, stop: Dim, step: Dim) -> tuple[Dim, bool]:
    """The number of trips of a range, and True if the number may be negative (no trip)."""
    if step == 0:
        raise RegionRefused("a range with step 0")
    span = stop - start if step > 0 else start - stop
    size_ = step if step > 0 else -step
    count = (span + (size_ - 1)) // size_
    try:
        return (count, False) if span > 0 else (dim(0), False)
    except UndecidedError:
        return count, True


class _Carrying:
    """A region that is being traced: its carried storages, and slots for numbers and new arrays."""

    def __init__(self, following: Following, scope: Scope, carried: Sequence[Any]) -> None:
        self.following, self.scope, self.carried = following, scope, tuple(carried)
        self.since = following.regions
        self.may_be_unbound: Collection[int] = ()
        self.places: dict[TracedStorage, Input] = {}
        self.kinds: dict[int, Kind] = {}
        self.slots: dict[int, Input] = {}
        self.memories: dict[int, TracedStorage] = {}
        self.done: Input | None = None
        """A placeholder for a number that is known only when the effects of a trip are done."""

    @property
    def first(self) -> int:
        """The place of the first slot: the slots come after the carried storages and `done`."""
        return len(self.places) + (self.done is not None)

    def open_slots(self) -> None:
        """Make a placeholder for each slot."""
        for place, slot in enumerate(self.kinds, self.first):
            kind = self.kinds[slot]
            self.slots[slot] = Input(kind.dtype, place, kind.shape, kind.weak, Token())

    def number(self) -> int:
        """A number that this trace has given to no other region, index or copy."""
        self.following.regions += 1
        return self.following.regions

    def represented(self) -> list[Any]:
        """The carried values for a call of the body; slots that change are placeholders."""
        found = list(self.carried)
        self.memories.clear()
        for slot, node in self.slots.items():
            if found[slot] is UNBOUND and slot not in self.may_be_unbound:
                continue
            kind = self.kinds[slot]
            if kind.is_array:
                self.memories[slot] = TracedStorage(node)
                found[slot] = Tracer(node, self.memories[slot])
            else:
                found[slot] = Tracer(node if kind.weak else elementwise(COPY, node))
                self.note_mixed(kind, found[slot].node)
        return found

    def note_mixed(self, kind: Kind, node: Node) -> None:
        """Note that a number may be a Python number in some trips, if its kind is mixed."""
        if kind.is_mixed and self.following.region is not None:
            self.following.region.mixed.add(node)

    def kept(self, values: Sequence[Any], made: Any) -> tuple[tuple[Any, ...], frozenset[int]]:
        """The values that a body returned, and the slots whose values in `values` are others."""
        found = tuple(made)
        if len(found) != len(self.carried):
            raise RegionRefused(
                f"{amount(len(found), 'value')} after a trip, {len(self.carried)} before"
            )
        same = map(is_unchanged, values, found)
        return found, frozenset(k for k, unchanged in enumerate(same) if not unchanged)

    def grow(self, one: Pass) -> bool:
        """Carry the storages that a pass has written; True if a storage is new."""
        places, before = self.places, len(self.places)
        for storage, node in one.region.finals.items():
            if storage not in places and node is not storage.version:
                shape, place = node.shape, len(places)
                places[storage] = Input(node.dtype, place, shape, False, Token())
        asks_first = bool(one.unread) and self.done is None
        grown = asks_first or len(places) > before
        if grown and (asks_first or self.done is not None):
            self.done = Input(FLOAT, len(places), (), False, Token())
        return grown

    def kind(self, one: Pass, slot: int) -> Kind:
        """The type of the value of a slot after a pass.

        Raises:
            RegionRefused: the value is neither a number nor an array that the pass has made.
        """
        value = one.returned[slot]
        found = kind_of(value)
        if found is None:
            refuse_carried(self.following, value)
        if found.is_array:
            memory = value.storage
            fresh = one.region.owns(memory) and memory not in self.memories.values()
            fresh = fresh and root_of(base_of(value.node)) not in self.slots.values()
            others = [v for k, v in enumerate(one.returned) if k != slot]
            shared = any(issubclass(type(v), Tracer) and v._storage is memory for v in others)
            moved = moved_names(one.given, one.returned, one.changed)
            own = fresh or (slot in moved and self.has_more_trips(len(moved)))
            if (shared or not own) and not self.shares(slot, memory):
                raise RegionRefused("a carried name of an array that another name has, too")
        is_mixed = issubclass(type(value), Tracer) and value.node in one.region.mixed
        return found.replace(is_mixed=True) if is_mixed else found

    def shares(self, slot: int, memory: TracedStorage) -> bool:
        """True if a slot may have a copy of another name's array, as only in branches."""
        return False

    def has_more_trips(self, number: int) -> bool:
        """True if a loop surely has more than `number` trips; False for other regions."""
        return False

    def ends(self, one: Pass, status: Input | None) -> dict[int, Node]:
        """The last version of each carried storage that a pass has changed, by place."""
        finals = [one.region.finals.get(s, node) for s, node in self.places.items()]
        before = self.places.values()
        found = {k: n for k, (n, o) in enumerate(zip(finals, before, strict=True)) if n is not o}
        if one.unread and self.done is not None:
            found[self.done.position] = replaced(self.done, after_steps(*one.unread))
        for slot, node in self.slots.items():
            memory = self.memories.get(slot)
            if memory is not None and memory.version is not node:
                raise RegionRefused("a write into an array whose name is bound anew")
            value = stored_as(or_zeros(one.returned[slot], self.kinds[slot]), self.kinds[slot])
            found[node.position] = replaced(node, value)
        if status is not None and one.region.checks:
            found[status.position] = replaced(
                status, all_true(status, *dict.fromkeys(one.region.checks))
            )
        return found

    def status(self, checked: bool) -> Input | None:
        """The placeholder of the truth value of all checks together; None if nothing is checked."""
        place = self.first + len(self.slots)
        return Input(BOOL, place, (), False, Token()) if checked else None

    def placeholders(self, status: Input | None) -> list[Input]:
        """The placeholders of all carried storages, numbers and arrays, in order of place."""
        done = [] if self.done is None else [self.done]
        found = [*self.places.values(), *done, *self.slots.values()]
        return found if status is None else [*found, status]

    def note_failing(self, node: Op, passes: Sequence[Pass]) -> None:
        """Make the program compute the region even without readers if a step may raise an error."""
        if any(one.region.failing for one in passes):
            self.following.may_fail.append(node)

    def note_conditional(self, passes: Sequence[Pass], is_conditional: bool = False) -> None:
        """Record that the enclosing region has a loop that only a condition ends."""
        inside = any(one.region.has_conditional for one in passes)
        if self.following.region is not None and (is_conditional or inside):
            self.following.region.has_conditional = True

    def operands(self, status: bool, holds: Node) -> list[Node]:
        """The carried values before the region, each in memory of its own.

        Args:
            status: True if the region carries the truth value that says if all checks hold.
            holds: The value before the region of the truth value that says if all checks hold.
        """
        found = [self.in_memory(storage.version) for storage in self.places]
        found += [] if self.done is None else [self.copied(after_steps(self.following.last))]
        for slot in self.slots:
            kind = self.kinds[slot]
            found.append(self.copied(stored_as(or_zeros(self.carried[slot], kind), kind)))
        return found + ([self.copied(holds)] if status else [])

    def in_memory(self, node: Node) -> Node:
        """The version of a storage; a copy if another storage may have the same node."""
        root = root_of(node)
        own = isinstance(root, Input) or (isinstance(root, Saved) and root.number < 0)
        return node if own else self.copied(node)

    def copied(self, node: Node) -> Saved:
        """A copy of a value in memory of its own."""
        rank = len(node.shape)
        parts = (node,), (identity(rank),), node.shape, rank
        return Saved(node.dtype, SAVE, None, *parts, number=-self.number())

    def results(self, made: Sequence[Written], status: bool, bound: bool) -> list[Any]:
        """The carried values after the region; each carried storage gets its next version.

        A name that was unbound stays unbound unless `bound`, since there may have been no trip.
        """
        for storage, version in zip(self.places, made, strict=False):
            storage.write(partial(_next, version))
        found = list(self.carried)
        if self.done is not None:
            self.following.last = made[len(self.places)]
        for slot, version in zip(self.slots, made[self.first :], strict=False):
            kind = self.kinds[slot]
            if found[slot] is UNBOUND and not bound and slot not in self.may_be_unbound:
                continue
            if kind.is_array:
                found[slot] = new_array(version)
            else:
                found[slot] = Tracer(python_number(version) if kind.weak else version)
                self.note_mixed(kind, version)
        if status:
            note_status(self.following, self.scope, made[-1])
        return found


class _Loop(_Carrying):
    """A loop that is being traced."""

    def __init__(
        self,
        following: Following,
        scope: Scope,
        span: tuple[Dim, Dim, Dim] | None,
        body: Callable[..., Any],
        carried: Sequence[Any],
        condition: Callable[..., Any] | None,
        has_trips: bool,
    ) -> None:
        super().__init__(following, scope, carried)
        self.span, self.body, self.condition, self.has_trips = span, body, condition, has_trips
        self.most_elements, self.may_be_empty = math.inf, False
        self.around: IndexRanges | None = None
        self.index = None if span is None else Symbol(f"l{self.number()}", INDEX)

    def traced_with_index(self) -> tuple[Any, ...]:
        """The last index (UNBOUND if not known), and the carried values after the loop."""
        before = self.scope.indices
        if self.span is None:
            return UNBOUND, *self.traced()
        start, step, count = self.span
        if self.may_be_empty and isinstance(before, IndexRanges):
            self.around, self.scope.indices = before, before.limited(count)
        found = self.traced()
        self.scope.indices = before
        is_known = self.has_trips and self.condition is None
        return length(start + step * (count - 1)) if is_known else UNBOUND, *found

    def traced(self) -> list[Any]:
        """The carried values after the loop."""
        first = one = self.passed()
        for _ in range(MAX_ROUNDS):
            if not self.grow(one):
                return self.finished(self.settled(first, one))
            one = self.passed()
        raise RegionRefused("carried values whose types do not settle")

    def settled(self, first: Pass, last: Pass) -> Pass:
        """The last pass, in which all cells have the types that the numbers get after some trips.

        Args:
            first: The first pass, which was given the values before the loop.
            last: The last pass, which was given the cells.
        """
        cells, more = self.kinds, list[Pass]()

        def after(kinds: dict[int, Kind]) -> Pass:
            self.kinds = cells | kinds
            more.append(self.passed())
            return more[-1]

        before = {k: kind_of(value) for k, value in enumerate(self.carried) if k in cells}
        check_types(before, cells, (first, last), after)
        self.kinds = cells
        return self.passed() if more else last

    def passed(self) -> Pass:
        """Trace the body once."""
        self.open_slots()
        with followed(self.following, self.places, self.done) as region, self.within():
            values = self.represented()
            truth = region.asked(self.following, self.condition, values)
            asked = len(region.checks)
            at: Any = UNBOUND
            if self.span is not None and self.index is not None:
                at = length(self.span[0] + self.span[1] * dim(self.index))
            returned, changed = self.kept(values, self.body(at, *values))
        swapped = swapped_names(values, returned, self.carried)
        count = trips_until_back(swapped)
        if count > 1:
            raise NamesSwapped(count, swapped)
        return Pass(region, tuple(values), returned, changed, truth, asked)

    def has_more_trips(self, number: int) -> bool:
        """True if the number of trips is known and larger than `number`; a guard records this."""
        return self.has_trips and self.span is not None and self.span[2] > number

    def outer_checks(self) -> list[Node]:
        """The checks, up to now, of the regions around a loop with a condition.

        If a check of an outer region has failed, the condition is computed from wrong values and
        may stay true for ever.
        """
        found, region = list[Node](), self.following.region
        while self.span is None and region is not None:
            found, region = [*region.checks, *found], region.outer
        return found

    def within(self) -> AbstractContextManager[None]:
        """A block in which the index of the loop has its range."""
        return within_body(self.scope, self.index, self.span and self.span[2])

    def grow(self, one: Pass) -> bool:
        """Carry the values that the pass has written or newly bound; True if types change."""
        before = dict(self.kinds)
        for slot in sorted(one.changed):
            value = self.carried[slot]
            kind, given = self.kind(one, slot), kind_of(value)
            if value is not UNBOUND:
                if given is None:
                    refuse_carried(self.following, value)
                kind = joined(value, given, kind)
            self.kinds[slot] = joined(value, self.kinds.get(slot, kind), kind)
        return super().grow(one) or self.kinds != before

    def finished(self, one: Pass) -> list[Any]:
        """Make the node of the loop."""
        for slot, kind in self.kinds.items():
            value = self.carried[slot]
            owners = value.storage.related() if kind.is_array and value is not UNBOUND else ()
            if any(storage in self.places for storage in owners):
                raise RegionRefused("a name of an array that the loop also writes, bound anew")
        span, outer = self.span, self.outer_checks()
        checked = bool(one.region.checks or outer)
        status = self.status(checked)
        ends = [self.ends(one, status)]
        if one.truth is not None:
            truth = one.truth
            if status is not None:
                fails = applied("logical_not", all_true(*one.region.checks[: one.asked]))
                truth = applied("logical_or", truth, fails) if one.asked else truth
                truth = applied("logical_and", status, truth)
            ends.append({-1: truth})
        elif status is not None and one.region.has_conditional:
            ends.append({-1: status})  # a loop inside may have no end where a check has failed
        carried = self.placeholders(status)
        count = None if span is None else span[2]
        if count is not None and not self.has_trips:
            count = larger(count, 0)
        if not carried:
            return list(self.carried)
        if count is not None and data_dependent_in(count):
            raise RegionRefused("a number of trips that a mask decides")
        with self.within():
            closed = carried, ends, self.index, self.since
            body = close_bodies(self.scope, *closed, around=self.around)
            if is_elementwise_beyond(body.graphs[0], self.scope, self.most_elements):
                raise RegionRefused("a loop of few trips over large arrays")
        operands = [*self.operands(checked, all_true(*outer)), *body.captured]
        given = operands, len(carried), body.graphs
        fields = region_fields("while" if span is None else "loop", *given)
        node = region_node(Loop(**fields, index=self.index, trips=count), operands)
        self.note_failing(node, [one])
        self.note_conditional([one], span is None)
        return self.results(written_versions(node), checked, self.has_trips)


class _Branch(_Carrying):
    """A branch that is being traced."""

    def __init__(
        self,
        following: Following,
        scope: Scope,
        truth: Node,
        sides: Sequence[Callable[..., Any]],
        carried: Sequence[Any],
    ) -> None:
        super().__init__(following, scope, carried)
        self.truth, self.sides = as_mask(strong(truth)), sides
        self.shared: set[int] = set()

    def traced(self) -> list[Any]:
        """The carried values after the branch."""
        for _ in range(MAX_ROUNDS):
            sides = [self.passed(side) for side in self.sides]
            ending = [one.region.ends_call for one in sides]
            if any(ending):
                return self.ended(ending)
            grown = [self.grow(one) for one in sides]
            if not any(grown):
                return self.finished(sides)
        raise RegionRefused("written arrays that do not settle")

    def ended(self, ending: Sequence[bool]) -> list[Any]:
        """The carried values after the side that does not end the call; a check requires this side.

        The values of this side are computed in every trip.
        """
        region = self.following.region
        if region is None:
            raise RegionRefused("an error in a branch")
        if all(ending):
            region.end_call()
            return list(self.carried)
        region.check(applied("logical_not", self.truth) if ending[0] else self.truth)
        return list(self.sides[ending.index(False)](*self.carried))

    def passed(self, side: Callable[..., Any]) -> Pass:
        """Trace one side."""
        within = within_body(self.scope, None, None)
        with followed(self.following, self.places, self.done) as region, within:
            returned, changed = self.kept(self.carried, side(*self.carried))
        return Pass(region, self.carried, returned, changed)

    def finished(self, sides: Sequence[Pass]) -> list[Any]:
        """Make the node of the branch."""
        for slot in sorted(sides[0].changed | sides[1].changed):
            bound = [one for one in sides if one.returned[slot] is not UNBOUND]
            bound = bound if slot in self.may_be_unbound else [*sides]
            then, otherwise = (self.kind(one, slot) for one in (bound[0], bound[-1]))
            first, last = (one.returned[slot] for one in (bound[0], bound[-1]))
            if then.weak and otherwise.weak and then.dtype != otherwise.dtype:
                raise RegionRefused("a Python number of another type on either side")
            self.kinds[slot] = joined(first, then, otherwise)
            if type(last) is int:
                joined(last, otherwise, then)
        self.open_slots()
        checked = any(one.region.checks for one in sides)
        status = self.status(checked)
        ends = [self.ends(one, status) for one in sides]
        carried = self.placeholders(status)
        if not carried:
            return list(self.carried)
        body = close_bodies(self.scope, carried, ends, None, self.since, (self.truth,))
        operands = [*self.operands(checked, all_true()), *body.captured]
        fields = region_fields("branch", operands, len(carried), body.graphs)
        node = region_node(Cond(**fields), operands)
        self.note_failing(node, sides)
        self.note_conditional(sides)
        made = self.results(written_versions(node), checked, True)
        for slot in self.shared:
            made[slot].storage.seal()
        return made

    def shares(self, slot: int, memory: TracedStorage) -> bool:
        """Return True, after refusing all later writes into the array and into the copy."""
        memory.seal()
        self.shared.add(slot)
        return True

    def operands(self, status: bool, holds: Node) -> list[Node]:
        """The operands, with zeros for all slots: each side writes its own values into them."""
        self.carried, given = (UNBOUND,) * len(self.carried), self.carried
        found = super().operands(status, holds)
        self.carried = given
        return found


def note_status(following: Following, scope: Scope, status: Node) -> None:
    """Require that all checks of a region hold; if one does not, NumPy answers the call."""
    if following.region is not None:
        following.region.checks.append(status)
        return
    where = user_location() or "an unknown line"
    if not computed_number(scope, cast(status, INT), STATUS, 1, where) > 0:
        raise AssertionError("a status is assumed to be good")


def _next(version: Node, before: Node) -> Node:
    return version
