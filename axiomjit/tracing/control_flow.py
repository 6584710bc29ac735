"""Loops and branches of a traced function as regions: each body is followed, not run.

A body is called with values that represent the carried ones in any trip, until their types and the
storages that it writes are settled. What tracing cannot follow raises `RegionRefused`; then nothing
was recorded, and the caller follows the loop pass by pass.

`break` is a carried truth in `condition`; the rest of a body behind `continue` or an early `return`
is a branch by such a truth.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any, Final

import numpy as np

from axiomjit.base.dtypes import BOOL, INT, DType
from axiomjit.base.errors import amount
from axiomjit.base.origins import user_location
from axiomjit.base.records import Record
from axiomjit.base.trace_context import Following, current
from axiomjit.base.tree import Structure, flatten_tree, unflatten_tree
from axiomjit.graph.builder import as_node, broadcast_to, cast, elementwise, python_number, strong
from axiomjit.graph.indexing_ops import as_mask
from axiomjit.graph.nodes import (
    Graph,
    Input,
    Node,
    Op,
    Saved,
    Scalar,
    Token,
    base_of,
    post_order,
    root_of,
)
from axiomjit.graph.primitives import COPY, PRIMITIVES, SAVE
from axiomjit.graph.regions import Cond, Loop, Written, region_fields, region_node, written_versions
from axiomjit.graph.storages import update
from axiomjit.symbolic.data_dependent import TRUTH, computed_number, data_dependent_in
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
from axiomjit.symbolic.index_ranges import IndexRanges, UndecidedError
from axiomjit.tracing.lengths import SymbolicInt, length, unwrap
from axiomjit.tracing.operators import TracedStorage, node_of
from axiomjit.tracing.region_bodies import (
    Kind,
    RegionBody,
    RegionRefused,
    close_bodies,
    followed,
    joined,
    kind_of,
)
from axiomjit.tracing.tracer import Tracer, new_array

MAX_ROUNDS: Final = 8
"""The most times that a body is followed until its types are settled."""


class _Unbound:
    """The value of a name that has none."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "UNBOUND"


UNBOUND: Final = _Unbound()
"""Stands for a name without a value; the front end raises Python's error where it is read."""


def trace_loop(
    trips: tuple[Any, Any, Any] | None,
    body: Callable[..., Sequence[Any]],
    carried: Sequence[Any],
    *,
    condition: Callable[..., Any] | None = None,
    begins: bool = False,
    may_be_unbound: Collection[int] = (),
    most_elements: float = math.inf,
) -> tuple[Any, ...]:
    """Follow a loop; return its last index and the carried values after it.

    Args:
        trips: The start, stop and step of a range, integers or symbolic ones; None for `while`.
        body: `body(index, *carried)` returns the carried values after a trip.
        carried: Traced arrays and numbers, numbers, `UNBOUND`. Any other object must come back
            unchanged.
        condition: `condition(*carried)` is asked before each trip; the loop ends where it is false.
        begins: True if the condition holds before the first trip.
        may_be_unbound: Places of values that are zeros where no trip has given them one.
        most_elements: The most elements of a value that a trip may compute, with the lengths of the
            traced call.

    Returns:
        The last index, then the carried values. The index is UNBOUND if there was no trip, for a
        loop with a condition, and without `trips`.

    Raises:
        RegionRefused: the loop cannot be a region; nothing was recorded.
    """
    with _undone_if_refused() as (following, scope):
        if trips is None:
            made = _Loop(following, scope, None, body, carried, condition, begins)
            made.may_be_unbound = may_be_unbound
            return UNBOUND, *made.traced()
        start, stop, step = (_whole(value) for value in trips)
        count, empty = _trips(start, stop, step)
        if count.constant == 0:
            return (UNBOUND, *carried)
        known, span = condition is None and not empty, (start, step, count)
        has_trips = known or (begins and not empty)
        made = _Loop(following, scope, span, body, carried, condition, has_trips)
        made.most_elements, made.may_be_unbound = most_elements, may_be_unbound
        before = scope.indices
        if empty and isinstance(before, IndexRanges):
            scope.indices = before.limited(count)
        found = made.traced()
        scope.indices = before
        return length(start + step * (count - 1)) if known else UNBOUND, *found


def trace_cond(
    truth: Any,
    then: Callable[..., Sequence[Any]],
    otherwise: Callable[..., Sequence[Any]],
    carried: Sequence[Any],
    may_be_unbound: Collection[int] = (),
) -> tuple[Any, ...]:
    """Follow both sides of a branch; return the carried values after it.

    Args:
        truth: A traced number, or a known truth, which chooses its side at once.
        then: `then(*carried)` returns the carried values after this side.
        otherwise: The same for the other side.
        carried: As for `trace_loop`.
        may_be_unbound: Places of values that one side may leave without a value, as nobody reads
            them behind that side; there they are zeros.

    Raises:
        RegionRefused: the branch cannot be a region; nothing was recorded.
    """
    if not issubclass(type(truth), Tracer):
        return tuple((then if truth else otherwise)(*carried))
    with _undone_if_refused() as (following, scope):
        if truth.node.shape:
            raise RegionRefused("the truth of an array")
        made = _Branch(following, scope, truth.node, (then, otherwise), carried)
        made.may_be_unbound = may_be_unbound
        return tuple(made.traced())


@contextmanager
def _undone_if_refused() -> Iterator[tuple[Following, Scope]]:
    """The current trace; what it has recorded is as before if the block raises an error.

    Raises:
        RegionRefused: an error of following the region, whatever its type.
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
    """An end of a range as a length."""
    known = unwrap(value)
    if isinstance(known, bool) or not isinstance(known, int | np.integer | Dim):
        raise RegionRefused(f"a range with an end of type {type(value).__name__}")
    return dim(known if isinstance(known, Dim) else int(known))


def _trips(start: Dim, stop: Dim, step: Dim) -> tuple[Dim, bool]:
    """The number of trips of a range; True if there is none where the number is not positive."""
    if step == 0:
        raise RegionRefused("a range with step 0")
    span = stop - start if step > 0 else start - stop
    size_ = step if step > 0 else -step
    count = (span + (size_ - 1)) // size_
    try:
        return (count, False) if span > 0 else (dim(0), False)
    except UndecidedError:
        return count, True


class _Pass(Record):
    """One pass through a body: its region, what it returned, and the slots that it changed.

    `truth` is that of a loop's condition, whose checks are the first `asked` ones of the region.
    """

    region: RegionBody
    returned: tuple[Any, ...]
    changed: frozenset[int]
    truth: Node | None = None
    asked: int = 0


class _Carrying:
    """A region while it is made: its carried storages, and slots of numbers and new arrays."""

    def __init__(self, following: Following, scope: Scope, carried: Sequence[Any]) -> None:
        self.following, self.scope, self.carried = following, scope, tuple(carried)
        self.since = following.regions
        self.may_be_unbound: Collection[int] = ()
        self.places: dict[TracedStorage, Input] = {}
        self.kinds: dict[int, Kind] = {}
        self.slots: dict[int, Input] = {}
        self.memories: dict[int, TracedStorage] = {}

    def number(self) -> int:
        """A number that no other region, index or copy of this trace has."""
        self.following.regions += 1
        return self.following.regions

    def represented(self) -> list[Any]:
        """The values with which a body is called: placeholders for the slots that change."""
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
        return found

    def kept(self, values: Sequence[Any], made: Any) -> tuple[tuple[Any, ...], frozenset[int]]:
        """The values that a body returned, and the slots that have other values than before."""
        found = tuple(made)
        if len(found) != len(self.carried):
            raise RegionRefused(
                f"{amount(len(found), 'value')} after a trip, {len(self.carried)} before"
            )
        pairs = enumerate(zip(values, found, strict=True))
        return found, frozenset(k for k, (old, new) in pairs if not _is_unchanged(old, new))

    def grow(self, one: _Pass) -> bool:
        """Carry the storages that a pass has written; True if one is new."""
        places, before = self.places, len(self.places)
        for storage, node in one.region.finals.items():
            if storage not in places and node is not storage.version:
                shape, place = node.shape, len(places)
                places[storage] = Input(node.dtype, place, shape, False, Token())
        return len(places) > before

    def kind(self, one: _Pass, slot: int) -> Kind:
        """The type of the value of a slot after a pass.

        Raises:
            RegionRefused: it is no number, and no array that the pass has made.
        """
        value = one.returned[slot]
        found = kind_of(value)
        if found is None:
            raise RegionRefused(f"a carried {type(value).__name__} that changes")
        if found.is_array:
            memory = value.storage
            fresh = one.region.owns(memory) and memory not in self.memories.values()
            others = [v for k, v in enumerate(one.returned) if k != slot]
            shared = any(issubclass(type(v), Tracer) and v._storage is memory for v in others)
            if not fresh or shared or root_of(base_of(value.node)) in self.slots.values():
                raise RegionRefused("a carried name of an array that another name has, too")
        return found

    def ends(self, one: _Pass, status: Input | None) -> dict[int, Node]:
        """By its place, the last version of each carried memory that a pass has changed."""
        finals = [one.region.finals.get(s, node) for s, node in self.places.items()]
        before = self.places.values()
        found = {k: n for k, (n, o) in enumerate(zip(finals, before, strict=True)) if n is not o}
        for slot, node in self.slots.items():
            memory = self.memories.get(slot)
            if memory is not None and memory.version is not node:
                raise RegionRefused("a write into an array whose name is bound anew")
            value = _stored(_or_zeros(one.returned[slot], self.kinds[slot]), self.kinds[slot])
            found[node.position] = _replaced(node, value)
        if status is not None and one.region.checks:
            found[status.position] = _replaced(
                status, _all(status, *dict.fromkeys(one.region.checks))
            )
        return found

    def operands(self, status: bool) -> list[Node]:
        """The values of all that is carried, before the region, each in its own memory."""
        found = [self.in_memory(storage.version) for storage in self.places]
        for slot in self.slots:
            kind = self.kinds[slot]
            found.append(self.copied(_stored(_or_zeros(self.carried[slot], kind), kind)))
        return found + ([self.copied(Scalar(BOOL, np.bool_(True), False))] if status else [])

    def in_memory(self, node: Node) -> Node:
        """The version of a storage, or a copy where another storage may have the same node."""
        root = root_of(node)
        own = isinstance(root, Input) or (isinstance(root, Saved) and root.number < 0)
        return node if own else self.copied(node)

    def copied(self, node: Node) -> Saved:
        """A copy of a value in memory of its own."""
        rank = len(node.shape)
        parts = (node,), (identity(rank),), node.shape, rank
        return Saved(node.dtype, SAVE, None, *parts, number=-self.number())

    def results(self, made: Sequence[Written], status: bool, bound: bool) -> list[Any]:
        """The carried values after the region; storages get their versions.

        Names that were unbound stay so unless `bound`: the region may have had no trip.
        """
        for storage, version in zip(self.places, made, strict=False):
            storage.write(partial(_next, version))
        found = list(self.carried)
        for slot, version in zip(self.slots, made[len(self.places) :], strict=False):
            kind = self.kinds[slot]
            if found[slot] is UNBOUND and not bound and slot not in self.may_be_unbound:
                continue
            if kind.is_array:
                found[slot] = new_array(version)
            else:
                found[slot] = Tracer(python_number(version) if kind.weak else version)
        if status:
            note_status(self.following, self.scope, made[-1])
        return found


class _Loop(_Carrying):
    """A loop while it is made."""

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
        self.most_elements = math.inf
        self.index = None if span is None else Symbol(f"l{self.number()}", INDEX)

    def traced(self) -> list[Any]:
        """The carried values after the loop."""
        for _ in range(MAX_ROUNDS):
            one = self.passed()
            if not self.grow(one):
                return self.finished(one)
        raise RegionRefused("carried values whose types do not settle")

    def passed(self) -> _Pass:
        """Follow the body once."""
        for place, slot in enumerate(self.kinds, len(self.places)):
            kind = self.kinds[slot]
            self.slots[slot] = Input(kind.dtype, place, kind.shape, kind.weak, Token())
        with followed(self.following, self.places) as region, self.within():
            values = self.represented()
            truth = None
            if self.condition is not None:
                truth = _truth(self.condition(*values))
            asked = len(region.checks)
            at: Any = UNBOUND
            if self.span is not None and self.index is not None:
                at = length(self.span[0] + self.span[1] * dim(self.index))
            returned, changed = self.kept(values, self.body(at, *values))
        return _Pass(region, returned, changed, truth, asked)

    @contextmanager
    def within(self) -> Iterator[None]:
        """Give the index its range."""
        before = self.scope.indices
        if self.index is not None and self.span is not None:
            self.scope.values[self.index] = 0
            ranges = before if isinstance(before, IndexRanges) else IndexRanges()
            self.scope.indices = ranges.within(self.index, self.span[2])
        try:
            yield
        finally:
            self.scope.indices = before

    def grow(self, one: _Pass) -> bool:
        """Carry what the pass has written or bound anew; True if that changes the types."""
        before = dict(self.kinds)
        for slot in sorted(one.changed):
            value = self.carried[slot]
            kind, given = self.kind(one, slot), kind_of(value)
            if value is not UNBOUND:
                if given is None:
                    raise RegionRefused(f"a carried {type(value).__name__} that changes")
                kind = joined(value, given, kind)
            self.kinds[slot] = joined(value, self.kinds.get(slot, kind), kind)
        return super().grow(one) or self.kinds != before

    def finished(self, one: _Pass) -> list[Any]:
        """Make the node of the loop."""
        span, place = self.span, len(self.places) + len(self.slots)
        checked = bool(one.region.checks)
        status = Input(BOOL, place, (), False, Token()) if checked else None
        ends = [self.ends(one, status)]
        if one.truth is not None:
            truth = one.truth
            if status is not None:
                fails = _applied("logical_not", _all(*one.region.checks[: one.asked]))
                truth = _applied("logical_or", truth, fails) if one.asked else truth
                truth = _applied("logical_and", status, truth)
            ends.append({-1: truth})
        carried = [*self.places.values(), *self.slots.values()]
        carried += [] if status is None else [status]
        count = None if span is None else span[2]
        if count is not None and not self.has_trips:
            count = larger(count, 0)
        if not carried:
            return list(self.carried)
        if count is not None and data_dependent_in(count):
            raise RegionRefused("a number of trips that a mask decides")
        with self.within():
            body = close_bodies(self.scope, carried, ends, self.index, self.since)
            if max(self.elements(body.graphs[0])) > self.most_elements:
                raise RegionRefused("a loop of few trips over large arrays")
        operands = [*self.operands(checked), *body.captured]
        name = "loop" if span is not None else "while"
        fields = region_fields(name, operands, len(carried), body.graphs)
        node = region_node(Loop(**fields, index=self.index, trips=count), operands)
        return self.results(written_versions(node), checked, self.has_trips)

    def elements(self, body: Graph) -> Iterator[int]:
        """The numbers of elements of the values in a body, in the trip with the most of them."""
        yield 0
        for node in post_order(body.outputs):
            is_region = isinstance(node, Op) and isinstance(node.primitive, Loop | Cond)
            extents = node.extents if isinstance(node, Op) and not is_region else ()
            ranges = self.scope.indices
            ends = [ranges.ends(n) if isinstance(ranges, IndexRanges) else [n] for n in extents]
            yield math.prod(max(map(self.scope.value, each)) for each in ends)


class _Branch(_Carrying):
    """A branch while it is made."""

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

    def traced(self) -> list[Any]:
        """The carried values after the branch."""
        for _ in range(MAX_ROUNDS):
            sides = [self.passed(side) for side in self.sides]
            grown = [self.grow(one) for one in sides]
            if not any(grown):
                return self.finished(sides)
        raise RegionRefused("written arrays that do not settle")

    def passed(self, side: Callable[..., Any]) -> _Pass:
        """Follow one side."""
        with followed(self.following, self.places) as region:
            returned, changed = self.kept(self.carried, side(*self.carried))
        return _Pass(region, returned, changed)

    def finished(self, sides: Sequence[_Pass]) -> list[Any]:
        """Make the node of the branch."""
        for slot in sorted(sides[0].changed | sides[1].changed):
            bound = [one for one in sides if one.returned[slot] is not UNBOUND]
            bound = bound if slot in self.may_be_unbound else [*sides]
            then, otherwise = (self.kind(one, slot) for one in (bound[0], bound[-1]))
            first, last = (one.returned[slot] for one in (bound[0], bound[-1]))
            self.kinds[slot] = joined(first, then, otherwise)
            if type(last) is int:
                joined(last, otherwise, then)
        for place, slot in enumerate(self.kinds, len(self.places)):
            kind = self.kinds[slot]
            self.slots[slot] = Input(kind.dtype, place, kind.shape, kind.weak, Token())
        checked = any(one.region.checks for one in sides)
        place = len(self.places) + len(self.slots)
        status = Input(BOOL, place, (), False, Token()) if checked else None
        ends = [self.ends(one, status) for one in sides]
        carried = [*self.places.values(), *self.slots.values()]
        carried += [] if status is None else [status]
        if not carried:
            return list(self.carried)
        body = close_bodies(self.scope, carried, ends, None, self.since, (self.truth,))
        operands = [*self.operands(checked), *body.captured]
        fields = region_fields("branch", operands, len(carried), body.graphs)
        node = region_node(Cond(**fields), operands)
        return self.results(written_versions(node), checked, True)

    def operands(self, status: bool) -> list[Node]:
        """As for all regions; the cells of slots get values on either side."""
        self.carried, given = (UNBOUND,) * len(self.carried), self.carried
        found = super().operands(status)
        self.carried = given
        return found


def note_status(following: Following, scope: Scope, status: Node) -> None:
    """Require a truth, as that all checks of a region held; else NumPy answers the call."""
    if following.region is not None:
        following.region.checks.append(status)
        return
    where = user_location() or "an unknown line"
    if not computed_number(scope, cast(status, INT), TRUTH, 1, where) > 0:
        raise AssertionError("a status is assumed to be good")


def _next(version: Node, before: Node) -> Node:
    return version


def _truth(value: Any) -> Node | None:
    """The node of a condition; None if it always holds."""
    if value is True:
        return None
    node = as_node(node_of(value), "a condition")
    if node.shape:
        raise RegionRefused("the truth of an array")
    return as_mask(strong(node))


def _or_zeros(value: Any, kind: Kind) -> Any:
    """A value, or the zeros in place of one that is not bound."""
    if value is not UNBOUND:
        return value
    return Tracer(broadcast_to(Scalar(kind.dtype, kind.dtype.type(0), False), kind.shape))


def _stored(value: Any, kind: Kind) -> Node:
    """A value in the type of its cell."""
    return cast(strong(as_node(node_of(value), "a carried value")), kind.dtype)


def _replaced(old: Node, value: Node) -> Node:
    """The version of a storage after a value of its shape is written into all of it."""
    place = identity(len(old.shape))
    return update(old, place, value, place, old.shape)


def _applied(name: str, *operands: Node) -> Node:
    return elementwise(PRIMITIVES[name], *operands)


def _all(*truths: Node) -> Node:
    """The truth that all hold."""
    found = Scalar(BOOL, np.bool_(True), False) if not truths else truths[0]
    for one in truths[1:]:
        found = _applied("logical_and", found, one)
    return found


def _is_unchanged(old: Any, new: Any) -> bool:
    """True if a value after a trip is the value before it."""
    if new is old:
        return True
    if issubclass(type(old), SymbolicInt) and issubclass(type(new), SymbolicInt):
        return old.dim is new.dim
    if type(old) in (bool, int, float, complex, str) and type(old) is type(new):
        return repr(old) == repr(new)
    both = issubclass(type(old), Tracer) and issubclass(type(new), Tracer)
    return both and old.is_array and new.storage is old.storage and new.node is old.node


def fori(lower: Any, upper: Any, body: Callable[..., Any], init: Any) -> Any:
    """The loop of `fori_loop`; raises as `trace_loop`."""
    parts, structure = flatten_tree(init)

    def trip(index: Any, *values: Any) -> list[Any]:
        return _parts_of(body(index, unflatten_tree(structure, iter(values))), structure)

    found = trace_loop((lower, upper, 1), trip, parts)
    return unflatten_tree(structure, iter(found[1:]))


def repeated(asked: Callable[..., Any], body: Callable[..., Any], init: Any) -> Any:
    """The loop of `while_loop`; raises as `trace_loop`."""
    parts, structure = flatten_tree(init)

    def whole(values: Sequence[Any]) -> Any:
        return unflatten_tree(structure, iter(values))

    found = trace_loop(
        None,
        lambda _, *values: _parts_of(body(whole(values)), structure),
        parts,
        condition=lambda *values: asked(whole(values)),
    )
    return whole(found[1:])


def branched(
    truth: Any, then: Callable[..., Any], otherwise: Callable[..., Any], operands: Sequence[Any]
) -> Any:
    """The branch of `cond`; raises as `trace_cond`."""
    with _undone_if_refused() as (following, _), followed(following, {}):
        parts, structure = flatten_tree(then(*operands))

    def side(function: Callable[..., Any]) -> Callable[..., list[Any]]:
        return lambda *_: _parts_of(function(*operands), structure)

    found = trace_cond(truth, side(then), side(otherwise), (UNBOUND,) * len(parts))
    return unflatten_tree(structure, iter(found))


def _parts_of(value: Any, structure: Structure) -> list[Any]:
    """The numbers and arrays in a value of this structure."""
    parts, found = flatten_tree(value)
    if found != structure:
        raise RegionRefused("a value whose structure changes")
    return list(parts)


def zeros(shape: Sequence[Any], dtype: DType) -> Any:
    """A traced array of zeros."""
    node = Scalar(dtype, dtype.type(0), False)
    lengths = tuple(dim(unwrap(n)) for n in shape)
    return new_array(elementwise(COPY, broadcast_to(node, lengths)))
