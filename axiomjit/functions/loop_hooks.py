"""The hooks of loops and branches, which become regions or are followed pass by pass."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from types import CellType, FunctionType
from typing import Any, Final

import numpy as np

from axiomjit.base import loop_outcomes
from axiomjit.base.dtypes import BOOL, FLOAT, INT, is_inexact, is_integer
from axiomjit.base.locks import lazy_import
from axiomjit.base.origins import user_location
from axiomjit.base.trace_context import current
from axiomjit.functions.known_calls import kind_of_call
from axiomjit.functions.library_calls import LibraryCalls
from axiomjit.functions.objects import is_plain
from axiomjit.functions.operators import is_traced
from axiomjit.functions.outside import TraceAgain, refuse_in_region
from axiomjit.graph.builder import as_node, cast, python_number, strong
from axiomjit.graph.nodes import Input, LengthNode, post_order
from axiomjit.symbolic.dims import Dim, current_scope
from axiomjit.tracing.lengths import SymbolicInt
from axiomjit.tracing.operators import node_of
from axiomjit.tracing.tracer import Tracer

SHORT: Final = 8
"""Loops of fewer trips are followed pass by pass, since the kernels of their steps may use
threads."""
MANY: Final = 256
"""Loops of this number of trips or more are regions, whatever the work of a trip is."""
MOST_ELEMENTS: Final = 2**16
"""The most elements that a trip computes at once in a loop of fewer than MANY trips: larger kernels
share their work among threads, and Ctrl-C is heard between the kernels."""
_COMPARISONS: Final = {
    **{"<": np.less, "<=": np.less_equal, ">": np.greater, ">=": np.greater_equal},
    **{"==": np.equal, "!=": np.not_equal},
}
MOST_KNOWN: Final = 1000
"""A loop of fewer trips is followed pass by pass if all its values are known, so that they stay
known; a loop that only fills arrays of floats becomes a region."""
_REGION_BODIES: Final = "axiomjit.tracing.region_bodies"
MOST_REFUSED: Final = 6
"""The most loops of a function that are tried and refused; each refusal starts one more trace."""


Names = tuple[str, tuple[str, ...], tuple[str, ...]]
"""The names of a body: the truth that ends its loop, or ""; the variables whose values are read in
later trips or after the loop or branch; the variables among these that may have no value."""


class LoopHooks:
    """The hooks of the loops and branches of one function's copy."""

    def __init__(self, calls: LibraryCalls) -> None:
        """Belong to a trace."""
        self._calls = calls

    def repeat(
        self,
        body: FunctionType,
        name: str,
        names: Names,
        function: Any,
        *ends: Any,
    ) -> None:
        """Do `for name in range(...)`; the body of the loop is a function of the item."""
        if function is range:
            loop = _Counted(body, names, (0, *ends) if len(ends) == 1 else ends)
            if self._followed(loop):
                if name not in names[1]:  # a read of a name without a value raises an error
                    _Shared(body, (name,)).put((loop.last,), loop.unbound)
                return
        self._passes(body, names, self._calls.call(function, *ends))

    def each(self, body: FunctionType, names: Names, source: tuple[Any, ...]) -> None:
        """Do `for name in items`, like `repeat`; `source` is made by `loop_statements`."""
        items = _Items(self._calls, source)
        if items.length is not None:
            loop = _Counted(body, names, (0, items.length, 1), items.at)
            if self._followed(loop):
                return
        else:
            self._note(loop_outcomes.NO_ARRAYS)
        self._passes(body, names, items.iterable())

    def loop(self, test: FunctionType, body: FunctionType, names: Names) -> None:
        """Do `while test()`; the body of the loop is a function."""
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
        """Follow a loop pass by pass."""
        for item in self._calls.iterate(items):
            run_body(body, item)
            if self._has_left(body, names):
                return

    def _has_left(self, body: FunctionType, names: Names) -> bool:
        """True if a trip has ended its loop."""
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
        """Do `if test` in the body of a loop; the sides of the branch are functions."""
        following = current()
        if following is None or following.region is None or not is_traced(test):
            run_body(then if self._calls.truth(test) else otherwise)
            return
        late = lazy_import("axiomjit.tracing.control_flow")
        _, carried, loose = names
        sides = [_Shared(side, carried) for side in (then, otherwise)]
        before = sides[0].values(late.UNBOUND)
        run = [one.called(late.UNBOUND, is_trip=False) for one in sides]
        places = [carried.index(name) for name in loose]
        made = late.trace_cond(_truth(test), *run, before, may_be_unbound=places)
        sides[0].put(made, late.UNBOUND)

    def logical(self, is_and: bool, *parts: Callable[[], Any]) -> Any:
        """The truth of `and` or `or`, traced in a region; later parts are asked only if needed."""
        found = parts[0]()
        for place, part in enumerate(parts[1:], 1):
            following = current()
            if following is None or following.region is None or not is_traced(found):
                if self._calls.truth(found) is not is_and:
                    return not is_and  # the truth of an object is asked for only once
                found = part()
                continue
            late = lazy_import("axiomjit.tracing.control_flow")

            def goes_on(_: Any, rest: Any = parts[place:]) -> tuple[Any]:
                return (_truth(self.logical(is_and, *rest)),)

            def ends(_: Any) -> tuple[Any]:
                return (np.bool_(not is_and),)

            sides = (goes_on, ends) if is_and else (ends, goes_on)
            return late.trace_cond(_truth(found), *sides, (late.UNBOUND,))[0]
        return found

    def ordered(self, signs: tuple[str, ...], *operands: Callable[[], Any]) -> Any:
        """The truth of a chain of comparisons; no operand after a false comparison is asked."""

        def goes_on(left: Any, place: int) -> Any:
            right = operands[place]()
            found = self._calls.compare(signs[place - 1], left, right)
            if place == len(signs):
                return found
            return self.logical(True, lambda: found, lambda: goes_on(right, place + 1))

        return goes_on(operands[0](), 1)

    def negated(self, value: Any) -> Any:
        """`not value` as a condition."""
        following = current()
        if following is None or following.region is None or not is_traced(value):
            return not self._calls.truth(value)
        return np.logical_not(_truth(value))

    def bound(self, read: FunctionType) -> bool:
        """True if the name that `read` reads has a value."""
        try:
            read()
        except NameError:
            return False
        return True

    def required(self, truth: Any) -> None:
        """Require that a truth of the program holds; if not, Python runs the call."""
        if is_traced(truth):
            late = lazy_import("axiomjit.tracing.control_flow")
            late.note_status(current(), current_scope(), truth.node)

    def holds(self, value: Any) -> bool:
        """The truth of an asserted value in a loop; in a region, a check replaces the assertion."""
        following = current()
        if following is None or following.region is None:
            return self._calls.truth(value)
        if is_traced(value):
            following.region.check(lazy_import(_REGION_BODIES).truth_node(_truth(value)))
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
        return late.trace_cond(_truth(test), *sides, (late.UNBOUND,))[0]

    def _note(self, outcome: str) -> None:
        """Note for the report whether the loop at the user's line becomes a region, or why not."""
        where = user_location()
        if where is not None:
            self._calls.outside.loops[where] = outcome

    def _followed(self, loop: _Loop) -> bool:
        """True if a loop becomes a region."""
        wanted, following = self._calls.outside.wanted, current()
        if following is None:
            return False
        is_inside = following.region is not None
        key = loop.body.__code__, is_inside
        reason = wanted.repeated.get(key, "").partition(": ")[2]
        if not reason and not loop.is_long():
            reason = loop_outcomes.SHORT
        if not reason and not wanted.may_have_regions:
            reason = loop_outcomes.NOT_TRIED
        self._note(reason or (loop_outcomes.INSIDE if is_inside else loop_outcomes.REGION))
        if reason:
            return False
        lines = set(wanted.lines)
        try:
            made = loop.traced(not is_inside)
        except lazy_import("axiomjit.tracing.control_flow").RegionRefused as error:
            wanted.lines -= wanted.for_regions.pop(key, set())
            wanted.repeated[key] = f"{user_location()}: {error.reason}"
            wanted.may_have_regions = len(wanted.repeated) < MOST_REFUSED
            raise TraceAgain from None
        except TraceAgain:
            wanted.for_regions.setdefault(key, set()).update(wanted.lines - lines)
            raise
        wanted.has_regions = True
        loop.shared.put(made, loop.unbound)
        return True


class _Loop:
    """A loop as a region, with a condition that is asked before each trip."""

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

    def is_long(self) -> bool:
        """Always True, since the number of trips is not known."""
        return True

    def has_unbound(self) -> bool:
        """True if a name has no value before the loop."""
        missing = [k for k, one in enumerate(self.before) if one is self.unbound]
        return any(place not in self.loose for place in missing)

    def goes_on(self, *values: Any) -> Any:
        """The condition before a trip, for the values of the names."""
        self._given, self._condition = values, self.asks(*values)
        return self._condition

    def asks(self, *values: Any) -> Any:
        """The condition between trips, for the values of the names."""
        assert self.asked is not None
        self.shared.put(values, self.unbound)
        return _condition(self.asked())

    def traced(self, is_outermost: bool) -> tuple[Any, ...]:
        """The values of the names after the region.

        Raises:
            RegionRefused: the loop cannot be a region.
        """
        before, trip = self.before, self.shared.called(self.unbound, is_trip=True)
        found: tuple[Any, ...] = ()

        def body(_: Any, *values: Any) -> tuple[Any, ...]:
            nonlocal found
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


class _Counted(_Loop):
    """A `for` loop as a region; the condition is that no trip has ended the loop."""

    def __init__(
        self,
        body: FunctionType,
        names: Names,
        ends: tuple[Any, ...],
        item: Callable[[Any], Any] = lambda index: index,
    ) -> None:
        left = _Shared(body, names[:1]) if names[0] else None
        asked = None if left is None else (lambda: _negated(left.values(None)[0]))
        super().__init__(body, names, asked, begins=True)
        self.ends: Any = (*ends, 1)[:3]
        self.item = item
        self.last: Any = self.unbound
        self._trips = _trips_at_hand(*self.ends)

    def is_long(self) -> bool:
        """True if the number of trips in the traced call is large or not known."""
        return self._trips >= SHORT

    def traced(self, is_outermost: bool) -> tuple[Any, ...]:
        """The values of the names after the region.

        Raises:
            RegionRefused: the loop cannot be a region.
        """
        most = MOST_ELEMENTS if is_outermost and self._trips < MANY else math.inf
        before, called = self.before, self.shared.called(self.unbound, is_trip=True)

        def trip(index: Any, *values: Any) -> tuple[Any, ...]:
            return called(self.item(index), *values)

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
                    most_elements=most,
                )
                made = tuple(rest)
            except self.late.NamesSwapped:
                start, stop, step = self.ends
                if condition is None or not (start < stop if step > 0 else start > stop):
                    raise
                made = _counted_by_values(self.ends, *given, begins=True)
        is_known = self._trips < MOST_KNOWN and _are_known(self.ends)
        is_known = is_known and is_outermost and not self.shared.depends(made)
        if is_known and not self.shared.only_fills(before, made):
            raise self.late.RegionRefused("all its values are known")
        return made


class _Items:
    """The items of a loop by position: items of traced arrays, perhaps in `enumerate` or `zip`."""

    def __init__(self, calls: LibraryCalls, source: tuple[Any, ...]) -> None:
        self._calls = calls
        kind, self._function, *rest = source
        value: Any = None if kind else self._function
        self._value = value
        count = {"zip": len(rest), "enumerate": 1}.get(kind, 0)
        self._parts = [_Items(calls, one) for one in rest[:count]]
        self._starts = rest[count:]
        self.length: Any = None
        if not kind:
            is_array = is_traced(value) and value.node.shape != ()
            self.length = calls.length(value) if is_array else None
        elif self._function is {"zip": zip, "enumerate": enumerate}[kind]:
            self.length = self._common_length()

    def _common_length(self) -> Any:
        first, *others = (one.length for one in self._parts)
        if first is None or any(one is None for one in others):
            return None
        if not all(type(one) is int or isinstance(one, SymbolicInt) for one in self._starts):
            return None
        return first if all(self._calls.truth(one == first) for one in others) else None

    def iterable(self) -> Any:
        """The object that Python iterates over."""
        if not self._parts:
            return self._value
        parts = [one.iterable() for one in self._parts]
        return self._calls.call(self._function, *parts, *self._starts)

    def at(self, index: Any) -> Any:
        """The item of the trip with this index."""
        if not self._parts:
            return self._calls.item(self._value, index)
        parts = tuple(one.at(index) for one in self._parts)
        if self._function is zip:
            return parts
        return (index + self._starts[0] if self._starts else index, *parts)


def compared_in_trips(sign: str, left: Any, right: Any) -> Any:
    """The traced truth of a comparison whose outcome differs between the trips of a loop."""
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

    def values(self, unbound: Any) -> tuple[Any, ...]:
        """The values of the variables; `unbound` for variables without a value."""
        return _contents(self._cells, unbound)

    def put(self, values: Sequence[Any], unbound: Any) -> None:
        """Give the shared variables new values, and the body's other variables their old values."""
        _fill((*self._cells, *self._others), (*values, *self._earlier), unbound)

    def called(self, unbound: Any, *, is_trip: bool) -> Callable[..., tuple[Any, ...]]:
        """The body as a function of the variables' values, after the index if the body has one."""
        count = self._body.__code__.co_argcount
        own = {id(cell) for cell in self._cells}
        self._others = [cell for cell in self._body.__closure__ or () if id(cell) not in own]
        self._earlier = _contents(self._others, unbound)

        def run(*given: Any) -> tuple[Any, ...]:
            self.put(given[count:], unbound)
            run_body(self._body, *given[:count])
            self._region = current().region or self._region  # type: ignore[union-attr]
            found = self.values(unbound)
            if is_trip and any(map(_becomes_integer, given[count:], found)):
                raise lazy_import("axiomjit.graph.closing").RegionRefused(
                    "a float that is an integer after a trip"
                )
            return found

        return run

    def only_fills(self, before: Sequence[Any], made: Sequence[Any]) -> bool:
        """True if trips only write arrays of floats, whose elements are never lengths or keys."""
        written = [storage.version for storage in self._region.finals]
        same = all(one is other for one, other in zip(before, made, strict=True))
        return bool(written) and same and all(is_inexact(one.dtype) for one in written)

    def depends(self, made: Sequence[Any]) -> bool:
        """True if the loop's results depend on arguments, lengths of arrays, or draws."""
        if self._region.drawn is not None:
            return True
        nodes = [one.node for one in made if is_traced(one)]
        nodes += [storage.version for storage in self._region.finals]
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


def _becomes_integer(before: Any, after: Any) -> bool:
    """True if a float of Python's is an integer of Python's after a trip."""
    if not is_traced(before) or not before.node.weak or before.node.dtype != FLOAT:
        return False
    traced = is_traced(after) and after.node.weak and is_integer(after.node.dtype)
    return traced or isinstance(after, int | SymbolicInt)


def _truth(value: Any) -> Any:
    """The truth of a number, as a NumPy bool or a traced bool."""
    if is_traced(value):
        return value if value.node.dtype == BOOL else np.not_equal(value, False)
    return np.bool_(bool(value))


def _condition(value: Any) -> Any:
    """The condition of a region: a traced truth, or True or False if the truth is known."""
    return _truth(value) if is_traced(value) else bool(value)


def _negated(value: Any) -> Any:
    """The negation of a truth."""
    return np.logical_not(value) if is_traced(value) else not value


def _depends(asked: Any, before: Sequence[Any], given: Sequence[Any], after: Sequence[Any]) -> bool:
    """True if a condition depends on arguments, arrays or lengths, perhaps through earlier trips.

    Args:
        asked: The condition in any trip.
        before: The values of the names before the loop.
        given: The placeholders of the names' values in any trip.
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
        found = _truth(place < last if step > 0 else place > last)
        asked = True if condition is None else condition(*values)
        return found if asked is True else np.logical_and(asked, found)

    def body(_: Any, place: Any, *values: Any) -> tuple[Any, ...]:
        return place + step, *trip(place, *values)

    loose = [place + 1 for place in may_be_unbound]  # the index comes first
    carried = first, *before
    made: tuple[Any, ...] = late.trace_loop(
        None, body, carried, condition=goes_on, begins=begins, may_be_unbound=loose
    )
    return made[2:]


def _python_integer(value: Any) -> Any:
    return Tracer(python_number(cast(strong(value.node), INT))) if is_traced(value) else value


def _are_known(ends: Sequence[Any]) -> bool:
    return all(isinstance(one, int | np.integer) for one in ends)


def _trips_at_hand(start: Any, stop: Any, step: Any) -> float:
    """The number of trips in the traced call; infinite if the number depends on other loops."""
    scope, known = current_scope(), []
    for one in (start, stop, step):
        value: Any = one.dim if isinstance(one, SymbolicInt) else one
        if is_traced(value):
            return float("inf")
        if isinstance(value, Dim):
            if scope.indices is not None and scope.indices.occur_in(value):
                return float("inf")
            value = scope.value(value)
        if not isinstance(value, int | np.integer) or isinstance(value, bool):
            return 0
        known.append(int(value))
    return len(range(*known)) if known[2] else 0
