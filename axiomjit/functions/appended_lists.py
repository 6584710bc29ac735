"""Arrays in place of lists to which a loop appends, with a place for each possible item.

A list that exists before a loop becomes a `_Log` when a trip of the loop appends to it. The first
traces of the body find the number and the type of the items that a trip appends, and whether a
condition decides this (`AppendsFound` then ends the tracing of the body). When this is known, the
body is traced once more, with an array that is made before the loop and into which each append
writes. The place of an item is affine in the indices of the loops around. If a condition decides
whether a trip appends, a mask says which places are filled. After the loop, a `ListItems` in the
list stands for the items.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from types import CodeType
from typing import TYPE_CHECKING, Any, Final

from axiomjit.base import loop_outcomes
from axiomjit.base.dtypes import BOOL
from axiomjit.base.locks import lazy_import
from axiomjit.base.trace_context import current
from axiomjit.base.tree import Several
from axiomjit.functions.outside import in_region
from axiomjit.graph.closing import RegionRefused
from axiomjit.symbolic.dims import Dim, current_scope, dim, larger, largest_of
from axiomjit.symbolic.index_ranges import IndexRanges, UndecidedError
from axiomjit.tracing.lengths import length, unwrap
from axiomjit.tracing.list_items import (
    ItemKind,
    ListItems,
    are_pythons,
    depends_on_inputs,
    is_fresh,
    leaves_of_item,
)
from axiomjit.tracing.tracer import Tracer

if TYPE_CHECKING:
    from axiomjit.functions.calls import Calls

MOST_ATTEMPTS: Final = 8
"""The largest number of times that the body of a loop is traced."""
_NONE: Final = dim(0)


class AppendsFound(RegionRefused):
    """Raised to trace `loop` again, since the number or type of the appended items has changed."""

    def __init__(self, loop: LoopAppends) -> None:
        super().__init__("appends whose number differs between passes")
        self.loop = loop


class Pending(Several):
    """The mark in a list in place of the items that the loop being traced appends."""

    __slots__ = ()


class _Log:
    """A list to which the trips of `loop` append, and the number and type of the items so far."""

    def __init__(self, items: list[Any], loop: LoopAppends) -> None:
        self.items, self.loop, self.mark = items, loop, Pending()
        self.sizes: dict[CodeType, Dim] = {}
        """The number of places that a trip has, by the body of its loop."""
        self.kind: ItemKind | None = None
        self.is_conditional = loop.has_condition
        self.may_depend = False
        self.places: Any = None
        self.filled: Any = None
        self.pythons: Any = None

    def note(self, kind: ItemKind, leaves: Sequence[Any]) -> bool:
        """Note the type of an item; False if no array can hold it together with the other items."""
        joined = kind if self.kind is None else self.kind.joined(kind)
        if joined is None:
            return False
        has_changed = self.kind is not None and joined != self.kind
        self.kind = joined
        if has_changed and self.places is not None:
            raise AppendsFound(self.loop)
        self.may_depend = self.may_depend or any(map(depends_on_inputs, leaves))
        return True

    def make_places(self, trips: Dim) -> None:
        """Make the array of places, if the number of places of a trip is known."""
        self.places = self.filled = self.pythons = None
        size = self.sizes.get(self.loop.body)
        if size is None or self.kind is None:
            return
        late = lazy_import("axiomjit.tracing.region_functions")
        count = trips * size
        self.places = late.zeros((count, *self.kind.shape), self.kind.leaf.dtype)
        if self.is_conditional:
            self.filled = late.zeros((count,), BOOL)
        if self.kind.leaf.is_mixed:
            self.pythons = late.zeros((count, *self.kind.shape), BOOL)

    def write(self, place: Dim, leaves: Sequence[tuple[tuple[int, ...], Any]]) -> None:
        """Write an item into its place."""
        if self.places is None:
            return
        at = length(place)
        for inner, leaf in leaves:
            self.places[(at, *inner)] = leaf.array if type(leaf) is ListItems else leaf
            if self.pythons is not None:
                self.pythons[(at, *inner)] = are_pythons(leaf)
        if self.filled is not None:
            self.filled[at] = True

    def depend_on_condition(self) -> None:
        """Note that a condition decides which places are filled.

        Raises:
            AppendsFound: the loop is being traced without a mask.
        """
        if not self.is_conditional:
            self.is_conditional = True
            if self.places is not None:
                raise AppendsFound(self.loop)

    def end(self, is_done: bool) -> None:
        """Replace the mark in the list by the items if the loop is done, else by nothing."""
        place = next(k for k, one in enumerate(self.items) if one is self.mark)
        found = [self._made()] if is_done and self.places is not None else []
        self.items[place : place + 1] = found

    def _made(self) -> ListItems:
        assert self.kind is not None
        return ListItems(self.places, self.kind, self.loop.body, self.pythons, self.filled)


class _Body:
    """A body that is being traced; `done` has the number of places used so far, for each list."""

    def __init__(self, loop: LoopAppends | None, number: Dim | None) -> None:
        following = current()
        assert following is not None
        self.loop, self.number, self.region = loop, number, following.region
        self.done: dict[_Log, Dim] = {}


class AppendedLists:
    """The bodies that are being traced, outermost first, and the logs of the lists."""

    def __init__(self) -> None:
        """Start without lists."""
        self._bodies: list[_Body] = []
        self.logs: dict[int, _Log] = {}

    def append(self, owner: list[Any], *values: Any) -> bool:
        """Record an append to a list in a region; False if that is not possible."""
        bodies = self._bodies
        loops = (k for k, one in enumerate(bodies) if one.loop and one.loop.knows(owner))
        first = next(loops, None)
        following = current()
        if first is None or following is None or following.region is not bodies[-1].region:
            return False
        if any(one.loop is not None and one.number is None for one in bodies[first:]):
            return False
        found = [leaves_of_item(value) for value in values]
        region = next(one.region for one in reversed(bodies) if one.loop is not None)
        for one, value in zip(found, values, strict=True):
            if one is None or not _may_be_item(value, one[1], region):
                return False
        log, home = self.logs.get(id(owner)), bodies[first].loop
        assert home is not None
        if log is None:
            if any(type(one) is Pending for one in owner):
                return False
            log = self.logs[id(owner)] = _Log(owner, home)
            owner.append(log.mark)
        for one in found:
            assert one is not None
            kind, leaves = one
            if not log.note(kind, [leaf for _, leaf in leaves]):
                raise RegionRefused("a list of numbers or arrays of several types")
            log.write(self._place(log, first), leaves)
            bodies[-1].done[log] = bodies[-1].done.get(log, _NONE) + 1
        for value in values:
            _seal(value)
        return True

    def _place(self, log: _Log, first: int) -> Dim:
        """The next free place in a list, as a function of the indices of the loops being traced."""
        found = _NONE
        for one in self._bodies[first:]:
            if one.loop is not None:
                assert one.number is not None
                found = found + one.number * log.sizes.get(one.loop.body, _NONE)
            found = found + one.done.get(log, _NONE)
        return found

    @contextmanager
    def body(self, loop: LoopAppends | None, number: Dim | None) -> Iterator[_Body]:
        """A context in which a trip of a loop, or one side of a branch, is traced."""
        made = _Body(loop, number)
        self._bodies.append(made)
        try:
            yield made
        finally:
            self._bodies.pop()

    def fork(self, *sides: Callable[..., Any]) -> Fork:
        """The two sides of a branch, with functions that trace them."""
        return Fork(self if self._bodies else None, sides)

    def use(self, log: _Log, places: Dim) -> None:
        """Note that the innermost body that is being traced uses places of a list."""
        done = self._bodies[-1].done
        done[log] = done.get(log, _NONE) + places


class Fork:
    """The sides of a branch; a list has places for the items of the side that appends most."""

    def __init__(self, lists: AppendedLists | None, sides: Sequence[Callable[..., Any]]) -> None:
        """Take the sides; `lists` is None if no loop is being traced."""
        self._lists = lists
        self._done: list[dict[_Log, Dim]] = [{} for _ in sides]
        self._returned: list[Sequence[Any]] = [()] * len(sides)
        self.sides = sides if lists is None else [self._side(k, s) for k, s in enumerate(sides)]

    def _side(self, number: int, side: Callable[..., Any]) -> Callable[..., Any]:
        def run(*values: Any) -> Any:
            assert self._lists is not None
            with self._lists.body(None, None) as body:
                found = side(*values)
            self._done[number], self._returned[number] = body.done, found
            return found

        return run

    def join(self, made: Sequence[Any]) -> Sequence[Any]:
        """Note the places of both sides after their traces; return `made`, the branch's values."""
        if self._lists is None:
            return made
        for log in {log: None for done in self._done for log in done}:
            counts = [done.get(log, _NONE) for done in self._done]
            log.may_depend = True
            if any(one is not counts[0] for one in counts):
                log.depend_on_condition()
            self._lists.use(log, largest_of(counts))
        for returned in self._returned:
            seal_alike(returned, made)
        return made


class LoopAppends:
    """The appends in the trips of one loop.

    `body` identifies the loop, and `lists` are the lists that exist before it.
    """

    def __init__(
        self,
        state: AppendedLists,
        body: CodeType,
        lists: Sequence[list[Any]],
        ends: tuple[Any, Any, Any] | None,
        has_condition: bool,
    ) -> None:
        """Take the facts about a loop; `ends` is None unless the loop is over a range."""
        self.is_known = False
        """True if each trip of the loop is to be traced separately in case its items depend on no
        argument.
        """
        self._state, self.body, self.has_condition = state, body, has_condition
        self._lists = {id(one): one for one in lists}
        self._ends = None if ends is None or any(map(_is_computed, ends)) else _dims(ends)

    def knows(self, items: list[Any]) -> bool:
        """True if a list existed before the loop."""
        return id(items) in self._lists

    @property
    def logs(self) -> list[_Log]:
        """The logs of lists to which this loop appends, and that loops around it do not know."""
        return [log for log in self._state.logs.values() if log.loop is self]

    def arrays(self) -> list[Any]:
        """The arrays of the lists in `logs`."""
        found = [one for log in self.logs for one in (log.places, log.filled, log.pythons)]
        return [one for one in found if one is not None]

    @contextmanager
    def trip(self, index: Any) -> Iterator[None]:
        """A context in which a trip is traced; `index` is the value of the range.

        Raises:
            AppendsFound: the trip uses another number of places than was known.
        """
        with self._state.body(self, self._number(index)) as body:
            yield
        found = {log: body.done.get(log, _NONE) for log in self._state.logs.values()}
        changed = [log for log, n in found.items() if log.sizes.get(self.body, _NONE) is not n]
        for log in changed:
            log.sizes[self.body] = found[log]
        varies = any(log.may_depend or log.is_conditional for log in self.logs)
        if changed and self.is_known and not varies:
            raise RegionRefused(loop_outcomes.KNOWN)
        if changed:
            raise AppendsFound(changed[0].loop)

    def chosen(
        self, truth: Any, run: Callable[..., Any], values: Sequence[Any], loose: Sequence[int]
    ) -> tuple[Any, ...]:
        """The values after a trip that runs if a condition holds; `trace_cond` explains `loose`."""
        fork = self._state.fork(run, lambda *same: same)
        late = lazy_import("axiomjit.tracing.control_flow")
        return tuple(fork.join(late.trace_cond(truth, *fork.sides, values, may_be_unbound=loose)))

    def _number(self, index: Any) -> Dim | None:
        """The number of a trip, counted from 0; None if it is not known."""
        if self._ends is None or _is_computed(index):
            return None
        start, _, step = self._ends
        apart = dim(unwrap(index)) - start
        return apart if step == 1 else -apart if step == -1 else apart // step

    def trips(self) -> Dim:
        """The number of trips; if it differs between trips of outer loops, the largest number."""
        assert self._ends is not None
        late = lazy_import("axiomjit.tracing.control_flow")
        count, may_be_negative = late.count_trips(*self._ends)
        indices = current_scope().indices
        if not isinstance(indices, IndexRanges) or not indices.occur_in(count):
            return larger(count, 0) if may_be_negative else count
        try:
            return largest_of([*indices.ends(count), _NONE])
        except UndecidedError:
            raise RegionRefused("appends in a loop whose number of trips is not affine") from None

    def traced(self, trace: Callable[[], tuple[Any, ...]]) -> tuple[Any, ...]:
        """The values after the loop, which `trace` returns; afterwards, the lists have their items.

        Raises:
            RegionRefused: the loop cannot be a region.
        """
        for _ in range(MOST_ATTEMPTS):
            try:
                for log in self.logs:
                    log.make_places(self.trips())
                made = trace()
                self._end_inside()
                self._drop(True)
                return made
            except AppendsFound as found:
                if found.loop is not self:
                    self._drop(False)
                    raise
            except BaseException:
                self._drop(False)
                raise
        self._drop(False)
        raise RegionRefused("appends whose number differs between trips")

    def _end_inside(self) -> None:
        """Note the number of places of all trips for lists that belong to loops around this one."""
        for log in [one for one in self._state.logs.values() if one.loop is not self]:
            size = log.sizes.get(self.body)
            if size is None:
                continue
            trips = self.trips()
            indices = current_scope().indices
            if self.has_condition or (isinstance(indices, IndexRanges) and self._differs(indices)):
                log.depend_on_condition()
            self._state.use(log, trips * size)

    def _differs(self, indices: IndexRanges) -> bool:
        assert self._ends is not None
        return indices.occur_in(*self._ends)

    def _drop(self, is_done: bool) -> None:
        for log in self.logs:
            del self._state.logs[id(log.items)]
            log.end(is_done)


def appended_lists(calls: Calls) -> AppendedLists:
    """The lists of a trace to which loops append."""
    found: AppendedLists | None = calls.appended
    if found is None:
        found = calls.appended = AppendedLists()
    return found


def record_append(lists: AppendedLists, owner: Any, name: str, values: Sequence[Any]) -> bool:
    """Record `append` or `extend` of a list in a region; False if the region is to be refused."""
    if type(owner) is not list or not in_region():
        return False
    if name == "append" and len(values) == 1:
        return lists.append(owner, *values)
    is_plain = len(values) == 1 and type(values[0]) in (list, tuple) and values[0] is not owner
    if name != "extend" or not is_plain or any(issubclass(type(v), Several) for v in values[0]):
        return False
    return lists.append(owner, *values[0])


def _is_computed(value: Any) -> bool:
    return issubclass(type(value), Tracer)


def _dims(ends: Sequence[Any]) -> tuple[Dim, Dim, Dim]:
    start, stop, step = (dim(_whole(one)) for one in ends)
    return start, stop, step


def _whole(value: Any) -> Any:
    known = unwrap(value)
    return known if isinstance(known, Dim) else int(known)


def _may_be_item(value: Any, leaves: Sequence[tuple[Any, Any]], region: Any) -> bool:
    """True if each array in an item is new, and in no other place of the item."""
    if type(value) is list and value and type(value[0]) is ListItems:
        return True
    arrays = [leaf for _, leaf in leaves if issubclass(type(leaf), Tracer) and leaf.is_array]
    return all(is_fresh(one, region) for one in arrays) and len(
        {id(one.storage) for one in arrays}
    ) == len(arrays)


def _seal(value: Any) -> None:
    """Refuse later changes of an item."""
    if issubclass(type(value), Tracer) and value.is_array:
        value.storage.seal()
    elif type(value) is list and value and type(value[0]) is ListItems:
        value[:] = [Pending()]
    elif type(value) in (list, tuple):
        for one in value:
            _seal(one)


def seal_alike(before: Sequence[Any], after: Sequence[Any]) -> None:
    """Seal arrays after a region if they are items of a list in the body of the region."""
    for old, new in zip(before, after, strict=False):
        are_arrays = all(issubclass(type(one), Tracer) and one.is_array for one in (old, new))
        if are_arrays and old.storage.is_sealed:
            new.storage.seal()
