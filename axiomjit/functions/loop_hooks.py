"""The hooks of loops and branches, which become regions or are traced trip by trip."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from types import CellType, CodeType, FunctionType
from typing import Any, Final

import numpy as np

from axiomjit.base import loop_outcomes
from axiomjit.base.dtypes import BOOL, INT, is_inexact, is_integer
from axiomjit.base.locks import lazy_import
from axiomjit.base.origins import user_location
from axiomjit.base.trace_context import current
from axiomjit.functions.appended_lists import AppendsFound, LoopAppends, appended_lists, seal_alike
from axiomjit.functions.known_calls import kind_of_call
from axiomjit.functions.library_calls import LibraryCalls
from axiomjit.functions.loop_items import Items, trips_at_hand
from axiomjit.functions.objects import is_plain
from axiomjit.functions.operators import is_traced
from axiomjit.functions.outside import TraceAgain, refuse, refuse_in_region
from axiomjit.graph.builder import as_node, cast, python_number, strong
from axiomjit.graph.closing import RegionRefused
from axiomjit.graph.nodes import Input, LengthNode, post_order
from axiomjit.symbolic.dims import current_scope
from axiomjit.tracing.lengths import SymbolicInt
from axiomjit.tracing.operators import node_of
from axiomjit.tracing.tracer import Tracer

SHORT: Final = 8
"""The number of trips below which loops are traced trip by trip, since threads can share the
kernels of their operations.
"""
MANY: Final = 256
"""The number of trips from which on loops become regions even if a trip does much work."""
MOST_ELEMENTS: Final = 2**16
"""The largest number of elements that a trip computes at once in a loop of fewer than MANY trips:
without a region, larger kernels share their work among threads, and Ctrl-C is noticed between the
kernels.
"""
MOST_OF_APPENDED: Final = 64
"""The number in place of MOST_ELEMENTS for loops that append to a list. If trips are traced one by
one, readers of the items are fused with them; a region stores the items (decision 0139).
"""
_COMPARISONS: Final = {
    **{"<": np.less, "<=": np.less_equal, ">": np.greater, ">=": np.greater_equal},
    **{"==": np.equal, "!=": np.not_equal},
}
MOST_KNOWN: Final = 1000
"""The number of trips below which a loop whose values are all known is traced trip by trip, so that
the values stay known. A loop that only fills arrays of floats becomes a region all the same.
"""
_REGION_BODIES: Final = "axiomjit.tracing.region_bodies"
MOST_REFUSED: Final = 6
"""The number of refused loops of a function after which no loop is tried as a region; each refusal
starts one more trace.
"""


Names = tuple[str, tuple[str, ...], tuple[str, ...]]
"""The names of a body: the truth value that ends its loop, or "" if there is none; the variables
whose values are read in later trips or after the loop or branch; the variables among these that may
have no value.
"""


class LoopHooks:
    """The hooks of the loops and branches of one function's copy."""

    def __init__(self, calls: LibraryCalls) -> None:
        """Store the trace to which the hooks belong."""
        self._calls = calls

    def repeat(
        self,
        body: FunctionType,
        name: str,
        names: Names,
        function: Any,
        *ends: Any,
    ) -> None:
        """Trace `for name in range(...)`; the body of the loop is a function of the item."""
        if function is range:
            loop = Counted(body, names, (0, *ends) if len(ends) == 1 else ends)
            if self._followed(loop):
                if name not in names[1]:  # a read of a name without a value raises an error
                    _Shared(body, (name,)).put((loop.last,), loop.unbound)
                return
        self._passes(body, names, self._calls.call(function, *ends))

    def each(self, body: FunctionType, names: Names, source: tuple[Any, ...]) -> None:
        """Trace `for name in items`, like `repeat`; `source` is made by `loop_statements`."""
        items = Items(self._calls, source)
        if items.length is not None:
            loop = Counted(body, names, (0, items.length, 1), items.at, items.filled)
            if self._followed(loop):
                return
        else:
            self._note(loop_outcomes.NO_ARRAYS)
        self._passes(body, names, items.iterable())

    def loop(self, test: FunctionType, body: FunctionType, names: Names) -> None:
        """Trace `while test()`; the body of the loop is a function."""
        loop = _Loop(body, names, self._asked(test, body, names))
        following = current()
        if following is not None and following.region is None and loop.has_unbound():
            if not self._calls.truth(run_body(test)):
                return
            loop.begins = True
        if not self._followed(loop):
            while self._calls.truth(run_body(test)):
                run_body(body)
                if self._has_left(body, names):
                    return

    def _asked(self, test: FunctionType, body: FunctionType, names: Names) -> Callable[[], Any]:
        """The condition of a loop; after a `break`, the test is not evaluated."""
        if not names[0]:
            return lambda: run_body(test)
        left = _Shared(body, names[:1])
        return lambda: self.logical(
            True, lambda: self.negated(left.values(None)[0]), lambda: run_body(test)
        )

    def _passes(self, body: FunctionType, names: Names, items: Any) -> None:
        """Trace a loop trip by trip."""
        for item in self._calls.iterate(items):
            run_body(body, item)
            if self._has_left(body, names):
                return

    def _has_left(self, body: FunctionType, names: Names) -> bool:
        """True if the last trip has ended the loop, as by `break`."""
        return bool(names[0]) and self._calls.truth(_Shared(body, names[:1]).values(None)[0])

    def walked(self, value: Any) -> Any:
        """An iterator for a loop that stays a statement of the function."""
        self._note(loop_outcomes.STATEMENTS)
        return self._calls.iterate(value)

    def branch(
        self,
        then: FunctionType,
        otherwise: FunctionType,
        names: Names,
        test: Any,
    ) -> None:
        """Trace `if test` in the body of a loop; the sides of the branch are functions."""
        following = current()
        if following is None or following.region is None or not is_traced(test):
            run_body(then if self._calls.truth(test) else otherwise)
            return
        late = lazy_import("axiomjit.tracing.control_flow")
        _, carried, loose = names
        sides = [_Shared(side, carried) for side in (then, otherwise)]
        before = sides[0].values(late.UNBOUND)
        run = [one.called(late.UNBOUND) for one in sides]
        places = [carried.index(name) for name in loose]
        made = self._forked(truth_of(test), run, before, places)
        sides[0].put(made, late.UNBOUND)

    def _forked(self, truth: Any, sides: Any, before: Any, loose: Sequence[int] = ()) -> Any:
        """The values after a branch whose sides may append to lists."""
        fork = appended_lists(self._calls).fork(*sides)
        late = lazy_import("axiomjit.tracing.control_flow")
        return fork.join(late.trace_cond(truth, *fork.sides, before, may_be_unbound=loose))

    def logical(self, is_and: bool, *parts: Callable[[], Any]) -> Any:
        """The truth value of `and` or `or` in a region; later parts are called only if needed."""
        found = parts[0]()
        for place, part in enumerate(parts[1:], 1):
            following = current()
            if following is None or following.region is None or not is_traced(found):
                if self._calls.truth(found) is not is_and:
                    return not is_and  # an object is asked for its truth value once
                found = part()
                continue
            late = lazy_import("axiomjit.tracing.control_flow")

            def goes_on(_: Any, rest: Any = parts[place:]) -> tuple[Any]:
                return (truth_of(self.logical(is_and, *rest)),)

            def ends(_: Any) -> tuple[Any]:
                return (np.bool_(not is_and),)

            sides = (goes_on, ends) if is_and else (ends, goes_on)
            return self._forked(truth_of(found), sides, (late.UNBOUND,))[0]
        return found

    def ordered(self, signs: tuple[str, ...], *operands: Callable[[], Any]) -> Any:
        """The truth value of a chain of comparisons, which ends at a false comparison."""

        def goes_on(left: Any, place: int) -> Any:
            right = operands[place]()
            found = self._calls.compare(signs[place - 1], left, right)
            if place == len(signs):
                return found
            return self.logical(True, lambda: found, lambda: goes_on(right, place + 1))

        return goes_on(operands[0](), 1)

    def negated(self, value: Any) -> Any:
        """The truth value of `not value`."""
        following = current()
        if following is None or following.region is None or not is_traced(value):
            return not self._calls.truth(value)
        return np.logical_not(truth_of(value))

    def bound(self, read: FunctionType) -> bool:
        """True if the name that `read` reads has a value."""
        try:
            read()
        except NameError:
            return False
        return True

    def required(self, truth: Any) -> None:
        """Make the program require that a condition holds; if it does not, Python runs the call."""
        if is_traced(truth):
            late = lazy_import("axiomjit.tracing.control_flow")
            late.note_status(current(), current_scope(), truth.node)

    def holds(self, value: Any) -> bool:
        """The truth value of an asserted value in a loop; a region has a check instead."""
        following = current()
        if following is None or following.region is None:
            return self._calls.truth(value)
        if is_traced(value):
            following.region.check(lazy_import(_REGION_BODIES).truth_node(truth_of(value)))
        elif not self._calls.truth(value):
            following.region.end_call()
        return True

    def raises(self) -> bool:
        """True if a `raise` in a loop raises its error; in a region, the call ends instead."""
        following = current()
        if following is None or following.region is None:
            return True
        following.region.end_call()
        return False

    def choice(self, test: Any, then: Callable[[], Any], otherwise: Callable[[], Any]) -> Any:
        """The value of `then() if test else otherwise()` in the body of a loop."""
        following = current()
        if following is None or following.region is None or not is_traced(test):
            return then() if self._calls.truth(test) else otherwise()
        late = lazy_import("axiomjit.tracing.control_flow")
        sides = (lambda _: (then(),)), (lambda _: (otherwise(),))
        return self._forked(truth_of(test), sides, (late.UNBOUND,))[0]

    def _note(self, outcome: str) -> None:
        """Note, for the report, if the loop at the user's line becomes a region, or why not."""
        where, loops = user_location(), self._calls.outside.loops
        is_inner = outcome == loop_outcomes.INSIDE and where in loops  # of a comprehension
        if where is not None and not (is_inner and loops[where] == loop_outcomes.REGION):
            loops[where] = outcome

    def _followed(self, loop: _Loop) -> bool:
        """Trace a loop as a region; False if it cannot be a region."""
        wanted, following = self._calls.outside.wanted, current()
        if following is None:
            return False
        is_inside = following.region is not None
        key = loop.body.__code__, is_inside
        reason = wanted.repeated.get(key, "").partition(": ")[2]
        self._leave(key, loop)
        if not reason and not loop.is_long():
            reason = loop_outcomes.SHORT
        if not reason and not wanted.may_have_regions:
            reason = loop_outcomes.NOT_TRIED
        self._note(reason or (loop_outcomes.INSIDE if is_inside else loop_outcomes.REGION))
        if reason:
            return False
        lines = set(wanted.lines)
        try:
            made = loop.appends_in(self._calls).traced(lambda: loop.traced(not is_inside))
        except AppendsFound:  # by a loop around this one
            raise
        except RegionRefused as error:
            wanted.lines -= wanted.for_regions.pop(key, set())
            wanted.repeated[key] = f"{user_location()}: {error.reason}"
            if not loop.starts_again:
                self._note(error.reason)
                return False
            lazy_import("axiomjit.functions.loop_exits").note_exit(wanted, key, error)
            self._leave(key, loop)
            wanted.may_have_regions = len(wanted.repeated) < MOST_REFUSED
            raise TraceAgain from None
        except TraceAgain:
            wanted.for_regions.setdefault(key, set()).update(wanted.lines - lines)
            raise
        wanted.has_regions = True
        seal_alike(loop.shared.returned, made)
        loop.shared.put(made, loop.unbound)
        return True

    def _leave(self, key: tuple[CodeType, bool], loop: _Loop) -> None:
        """End the trace at a refused loop of many trips, which Python then runs between exits.

        Raises:
            NeedsValuesError: the loop was refused and is long, or Python runs the function unless
                all its loops are regions.
        """
        wanted = self._calls.outside.wanted
        is_left = key in wanted.leaving and loop.is_long(MANY)
        if key in wanted.repeated and (is_left or (wanted.only_regions and not key[1])):
            refuse(f"has a loop that is no region: {wanted.repeated[key]}")


class _Loop:
    """A loop as a region, with a condition that is evaluated before each trip."""

    ends: tuple[Any, Any, Any] | None = None
    """The start, stop and step of the range of a loop; None for other loops."""
    starts_again = True
    """True if the function must be traced again if the loop cannot be a region."""

    def __init__(
        self,
        body: FunctionType,
        names: Names,
        asked: Callable[[], Any] | None,
        begins: bool = False,
    ) -> None:
        self.late = lazy_import("axiomjit.tracing.control_flow")
        self.unbound = self.late.UNBOUND
        self.body, self.asked, self.begins = body, asked, begins
        left, every, loose = names
        carried = (left, *(name for name in every if name != left)) if left else every
        self.loose = [carried.index(name) for name in loose if name != left]
        self.shared = _Shared(body, carried)
        self.before = self.shared.values(self.unbound)
        self._given: tuple[Any, ...] = ()
        self._condition: Any = True
        self.appends: LoopAppends

    def appends_in(self, calls: LibraryCalls, lists: Sequence[Any] = ()) -> LoopAppends:
        """The appends of the trips to the function's own lists that exist before the loop."""
        found = [one for one in (*self.shared.held(), *lists) if type(one) is list]
        known = [one for one in found if not calls.outside.is_outside(one)]
        given = self.body.__code__, known, self.ends, self.asked is not None
        self.appends = LoopAppends(appended_lists(calls), *given)
        return self.appends

    def is_long(self, least: int = 0) -> bool:
        """Always True, since the number of trips is not known."""
        return True

    def has_unbound(self) -> bool:
        """True if a name has no value before the loop."""
        missing = [k for k, one in enumerate(self.before) if one is self.unbound]
        return any(place not in self.loose for place in missing)

    def goes_on(self, *values: Any) -> Any:
        """The condition before the first trip for given values of the names; both are stored."""
        self._given, self._condition = values, self.asks(*values)
        return self._condition

    def asks(self, *values: Any) -> Any:
        """The condition for a next trip, given the values of the names after a trip."""
        assert self.asked is not None
        self.shared.put(values, self.unbound)
        return _condition(self.asked())

    def traced(self, is_outermost: bool) -> tuple[Any, ...]:
        """The values of the names after the region.

        Raises:
            RegionRefused: the loop cannot be a region.
        """
        before, trip = self.before, self.shared.called(self.unbound)
        found: tuple[Any, ...] = ()

        def body(_: Any, *values: Any) -> tuple[Any, ...]:
            nonlocal found
            with self.appends.trip(None):
                found = trip(*values)
            return found

        _, *made = self.late.trace_loop(
            None,
            body,
            before,
            condition=self.goes_on,
            asks=self.asks,
            begins=self.begins,
            may_be_unbound=self.loose,
        )
        if is_outermost and not _depends(self._condition, before, self._given, found):
            raise self.late.RegionRefused("the number of its trips is known")
        return tuple(made)


class Counted(_Loop):
    """A `for` loop as a region; the condition is that no trip has ended the loop."""

    def __init__(
        self,
        body: FunctionType,
        names: Names,
        ends: tuple[Any, ...],
        item: Callable[[Any], Any] = lambda index: index,
        filled: Any = None,
    ) -> None:
        left = _Shared(body, names[:1]) if names[0] else None
        asked = None if left is None else (lambda: _negated(left.values(None)[0]))
        super().__init__(body, names, asked, begins=True)
        self.ends: Any = (*ends, 1)[:3]
        self.item, self.filled = item, filled
        self.last: Any = self.unbound
        self._trips = trips_at_hand(*self.ends)

    def is_long(self, least: int = 0) -> bool:
        """True if the number of trips in the traced call is large or not known."""
        return self._trips >= (least or SHORT)

    def traced(self, is_outermost: bool) -> tuple[Any, ...]:
        """The values of the names after the region.

        Raises:
            RegionRefused: the loop cannot be a region.
        """
        before, called = self.before, self.shared.called(self.unbound)

        counted = all(isinstance(one, int | np.integer) for one in self.ends)
        is_known = self._trips < MOST_KNOWN and counted and is_outermost
        self.appends.is_known = is_known

        def trip(index: Any, *values: Any) -> tuple[Any, ...]:
            with self.appends.trip(index):
                run = partial(called, self.item(index))
                if self.filled is None:
                    return run(*values)
                return self.appends.chosen(self.filled[index], run, values, self.loose)

        condition = None if self.asked is None else self.goes_on
        given = trip, before, condition, self.loose
        if any(map(is_traced, self.ends)):
            made = _counted_by_values(self.ends, *given)
        else:
            try:
                self.last, *rest = self.late.trace_loop(
                    self.ends,
                    trip,
                    before,
                    condition=condition,
                    begins=True,
                    may_be_unbound=self.loose,
                    most_elements=self._most_elements(is_outermost),
                )
                made = tuple(rest)
            except self.late.NamesSwapped:
                start, stop, step = self.ends
                if condition is None or not (start < stop if step > 0 else start > stop):
                    raise
                made = _counted_by_values(self.ends, *given, begins=True)
        places = self.appends.arrays()
        is_known = is_known and not self.shared.depends(made, places)
        if is_known and (places or not self.shared.only_fills(before, made)):
            raise self.late.RegionRefused(loop_outcomes.KNOWN)
        return made

    def _most_elements(self, is_outermost: bool) -> float:
        if self._trips >= MANY:
            return math.inf
        if self.appends.logs:
            return MOST_OF_APPENDED
        return MOST_ELEMENTS if is_outermost else math.inf


def compared_in_trips(sign: str, left: Any, right: Any) -> Any:
    """The outcome, as a traced truth value, of a comparison that differs between trips."""
    return _COMPARISONS[sign](*map(_as_traced, (left, right)))


def _as_traced(value: Any) -> Any:
    """A length as a traced number; other values are unchanged."""
    if not isinstance(value, SymbolicInt):
        return value
    return Tracer(as_node(node_of(value), "a comparison"))


def refuse_changes(calls: LibraryCalls, function: Any, args: Any, kwargs: Any) -> None:
    """Refuse a library's function in the body of a region if the function changes a Python object.

    Raises:
        RegionRefused: the function changes one of its arguments.
    """
    known = kind_of_call(function).with_arguments(args, kwargs)
    for one in known.changed(args, kwargs):
        if not is_plain(one):
            calls.known.want_traced(one)
            refuse_in_region(f"{known.name}, which changes a {type(one).__name__}")
    if any(hasattr(type(one), "__next__") for one in (*args, *kwargs.values())):
        refuse_in_region("an iterator")


def run_body(body: Callable[..., Any], *given: Any) -> Any:
    """Call the body of a loop or branch; the body shares the variables of the function around it.

    Raises:
        UnboundLocalError: the body reads a variable that has no value.
    """
    try:
        return body(*given)
    except NameError as error:
        name, names = error.name, body.__code__.co_freevars
        if type(error) is not NameError or name not in names or not name.isidentifier():
            raise
        shown = f"cannot access local variable {name!r} where it is not associated with a value"
        raise UnboundLocalError(shown, name=name).with_traceback(error.__traceback__) from None


class _Shared:
    """The variables that a body shares with the function around it."""

    def __init__(self, body: FunctionType, names: Sequence[str]) -> None:
        cells = dict(zip(body.__code__.co_freevars, body.__closure__ or (), strict=True))
        self._body = body
        self._region: Any = None
        self._cells: list[CellType] = [cells[name] for name in names]
        self._others: list[CellType] = []
        self._earlier: tuple[Any, ...] = ()
        self.returned: tuple[Any, ...] = ()

    def held(self) -> tuple[Any, ...]:
        """The values of all variables that the body shares with the functions around it."""
        return _contents(self._body.__closure__ or (), None)

    def values(self, unbound: Any) -> tuple[Any, ...]:
        """The values of the shared variables, with `unbound` for variables without a value."""
        return _contents(self._cells, unbound)

    def put(self, values: Sequence[Any], unbound: Any) -> None:
        """Give the shared variables new values, and the body's other variables their old values."""
        _fill((*self._cells, *self._others), (*values, *self._earlier), unbound)

    def called(self, unbound: Any) -> Callable[..., tuple[Any, ...]]:
        """The body as a function of the variables' values, after the index if the body has one."""
        count = self._body.__code__.co_argcount
        own = {id(cell) for cell in self._cells}
        self._others = [cell for cell in self._body.__closure__ or () if id(cell) not in own]
        self._earlier = _contents(self._others, unbound)

        def run(*given: Any) -> tuple[Any, ...]:
            self.put(given[count:], unbound)
            run_body(self._body, *given[:count])
            self._region = current().region or self._region  # type: ignore[union-attr]
            found = self.returned = self.values(unbound)
            return found

        return run

    def only_fills(self, before: Sequence[Any], made: Sequence[Any]) -> bool:
        """True if trips only write arrays of floats, whose elements are never lengths or keys."""
        written = [storage.version for storage in self._region.finals]
        same = all(one is other for one, other in zip(before, made, strict=True))
        return bool(written) and same and all(is_inexact(one.dtype) for one in written)

    def depends(self, made: Sequence[Any], places: Sequence[Any]) -> bool:
        """True if the loop's results depend on arguments, lengths of arrays, or random draws.

        `places` are the arrays of items that the loop has appended to lists.
        """
        if self._region.drawn is not None:
            return True
        own = [one.storage for one in places]
        nodes = [one.node for one in (*made, *places) if is_traced(one)]
        nodes += [s.version for s in self._region.finals if all(s is not one for one in own)]
        return any(isinstance(one, Input | LengthNode) for one in post_order(tuple(nodes)))


def _contents(cells: Sequence[CellType], unbound: Any) -> tuple[Any, ...]:
    found = []
    for cell in cells:
        try:
            found.append(cell.cell_contents)
        except ValueError:
            found.append(unbound)
    return tuple(found)


def _fill(cells: Sequence[CellType], values: Sequence[Any], unbound: Any) -> None:
    for cell, value in zip(cells, values, strict=True):
        if value is unbound:
            del cell.cell_contents
        else:
            cell.cell_contents = value


def truth_of(value: Any) -> Any:
    """The truth value of a number, as a NumPy bool or a traced bool."""
    if is_traced(value):
        return value if value.node.dtype == BOOL else np.not_equal(value, False)
    return np.bool_(bool(value))


def _condition(value: Any) -> Any:
    """The condition of a region: a traced truth value, or True or False if it is known."""
    return truth_of(value) if is_traced(value) else bool(value)


def _negated(value: Any) -> Any:
    """The negation of a truth value."""
    return np.logical_not(value) if is_traced(value) else not value


def _depends(asked: Any, before: Sequence[Any], given: Sequence[Any], after: Sequence[Any]) -> bool:
    """True if a condition depends on arguments, arrays or lengths, perhaps through earlier trips.

    Args:
        asked: The condition in any trip.
        before: The values of the names before the loop.
        given: The nodes that stand for the values of the names in any trip.
        after: The values of the names after a trip.
    """
    places: dict[Any, int] = {}
    for place, (old, new) in enumerate(zip(before, given, strict=True)):
        if new is not old and is_traced(new):
            leaves = (one for one in post_order((new.node,)) if isinstance(one, Input))
            places.update(dict.fromkeys(leaves, place))
    waiting, seen = [asked], set[int]()
    while waiting:
        value = waiting.pop()
        if isinstance(value, SymbolicInt):
            return True
        for node in post_order((value.node,)) if is_traced(value) else ():
            place = places.get(node, -1)
            if isinstance(node, LengthNode) or (isinstance(node, Input) and place < 0):
                return True
            if place >= 0 and place not in seen:
                seen.add(place)
                waiting += [before[place], after[place]]
    return False


def _counted_by_values(
    ends: tuple[Any, Any, Any],
    trip: Callable[..., tuple[Any, ...]],
    before: tuple[Any, ...],
    condition: Callable[..., Any] | None,
    may_be_unbound: Sequence[int],
    begins: bool = False,
) -> tuple[Any, ...]:
    """The carried values after a loop over a range whose ends are computed.

    Raises:
        RegionRefused: the loop cannot be a region.
    """
    late = lazy_import("axiomjit.tracing.control_flow")
    start, stop, step = ends
    if type(step) is not int or step == 0:
        raise late.RegionRefused("a range with a computed step")
    for one in (start, stop):
        if is_traced(one) and (one.node.shape or not is_integer(one.node.dtype)):
            raise late.RegionRefused("a range with an end that is no integer")
    first, last = _python_integer(start), _python_integer(stop)

    def goes_on(place: Any, *values: Any) -> Any:
        found = truth_of(place < last if step > 0 else place > last)
        asked = True if condition is None else condition(*values)
        return found if asked is True else np.logical_and(asked, found)

    def body(_: Any, place: Any, *values: Any) -> tuple[Any, ...]:
        return _following(place, step), *trip(place, *values)

    loose = [place + 1 for place in may_be_unbound]  # the index comes first
    carried = first, *before
    made: tuple[Any, ...] = late.trace_loop(
        None, body, carried, condition=goes_on, begins=begins, may_be_unbound=loose
    )
    return made[2:]


def _following(place: Any, step: int) -> Any:
    """The next index; a step of 1 needs no check for 64 bits, as the index is less than an end."""
    if abs(step) != 1 or not is_traced(place):
        return place + step
    moved: Any = np.add(Tracer(strong(place.node)), np.int64(step))
    return Tracer(python_number(moved.node))


def _python_integer(value: Any) -> Any:
    return Tracer(python_number(cast(strong(value.node), INT))) if is_traced(value) else value
