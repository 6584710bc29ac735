"""The hooks of loops and branches: a region of the program, or followed pass by pass."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import CellType, FunctionType
from typing import Any, Final

import numpy as np

from axiomjit.base.dtypes import FLOAT, INT, is_integer
from axiomjit.base.locks import lazy_import
from axiomjit.base.origins import user_location
from axiomjit.base.trace_context import current
from axiomjit.functions.known_calls import kind_of_call
from axiomjit.functions.library_calls import LibraryCalls
from axiomjit.functions.objects import is_plain
from axiomjit.functions.operators import is_traced
from axiomjit.functions.outside import TraceAgain, refuse_in_region
from axiomjit.graph.builder import cast, python_number, strong
from axiomjit.graph.nodes import Input, LengthNode, post_order
from axiomjit.symbolic.dims import Dim, current_scope
from axiomjit.tracing.lengths import SymbolicInt
from axiomjit.tracing.tracer import Tracer

SHORT: Final = 8
"""Loops of fewer trips are followed pass by pass: their kernels are not serial."""
MOST_REFUSED: Final = 6
"""The most loops of a function that are tried and refused; each is one more trace."""


class LoopHooks:
    """The hooks of the loops and branches of one function's copy."""

    def __init__(self, calls: LibraryCalls) -> None:
        """Belong to a trace."""
        self._calls = calls

    def repeat(
        self,
        body: FunctionType,
        name: str,
        carried: tuple[str, ...],
        function: Any,
        *ends: Any,
    ) -> None:
        """Do `for name in range(...)`, whose body is a function of the item.

        `carried` are names whose values trips leave for later ones, or for what follows.
        """
        if function is not range or not self._followed(body, name, carried, ends):
            for item in self._calls.iterate(self._calls.call(function, *ends)):
                run_body(body, item)

    def branch(
        self, then: FunctionType, otherwise: FunctionType, carried: tuple[str, ...], test: Any
    ) -> None:
        """Do `if test`, whose sides are functions, in the body of a loop."""
        following = current()
        if following is None or following.region is None or not is_traced(test):
            run_body(then if self._calls.truth(test) else otherwise)
            return
        late = lazy_import("axiomjit.tracing.control_flow")
        sides = [_Shared(side, carried) for side in (then, otherwise)]
        before = sides[0].values(late.UNBOUND)
        made = late.trace_cond(_truth(test), *(one.called(late.UNBOUND) for one in sides), before)
        sides[0].put(made, late.UNBOUND)

    def logical(self, is_and: bool, *parts: Callable[[], Any]) -> Any:
        """The truth of `and` or `or`, traced in a region; a part is asked only if it decides."""
        found = parts[0]()
        for place, part in enumerate(parts[1:], 1):
            following = current()
            if following is None or following.region is None or not is_traced(found):
                if self._calls.truth(found) is not is_and:
                    return found
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
        """The truth of a chain of comparisons; an operand is asked only if it decides."""

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

    def _followed(
        self,
        body: FunctionType,
        name: str,
        carried: tuple[str, ...],
        ends: tuple[Any, ...],
    ) -> bool:
        """True if a loop has become a region."""
        wanted, following = self._calls.outside.wanted, current()
        if following is None:
            return False
        start, stop, step = (0, *ends, 1) if len(ends) == 1 else (*ends, 1)[:3]
        key = body.__code__, following.region is not None
        if key in wanted.repeated or not wanted.may_have_regions:
            return False
        if _trips_at_hand(start, stop, step) < SHORT:
            return False
        late = lazy_import("axiomjit.tracing.control_flow")
        shared = _Shared(body, carried)
        trip = shared.called(late.UNBOUND)
        lines = set(wanted.lines)
        try:
            before = shared.values(late.UNBOUND)
            if any(map(is_traced, ends)):
                last, made = late.UNBOUND, _counted_by_values((start, stop, step), trip, before)
            else:
                span = start, stop, step
                last, *made = late.trace_loop(span, trip, before)
            if following.region is None and not shared.depends(made) and _are_known(ends):
                raise late.RegionRefused("all its values are known")
        except late.RegionRefused as error:
            wanted.lines -= wanted.for_regions.pop(key, set())
            wanted.repeated[key] = f"{user_location()}: {error.reason}"
            wanted.may_have_regions = len(wanted.repeated) < MOST_REFUSED
            raise TraceAgain from None
        except TraceAgain:
            wanted.for_regions.setdefault(key, set()).update(wanted.lines - lines)
            raise
        wanted.has_regions = True
        shared.put(made, late.UNBOUND)
        _Shared(body, (name,)).put((last,), late.UNBOUND)  # where it is unknown, a read raises
        return True


def refuse_changes(calls: LibraryCalls, function: Any, args: Any, kwargs: Any) -> None:
    """Refuse a library's function in the body of a region if it changes an object of Python's.

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


def run_body(body: FunctionType, *given: Any) -> None:
    """Call the body of a loop or branch; its variables are those of the function around it.

    Raises:
        UnboundLocalError: the body reads a variable that has no value.
    """
    try:
        body(*given)
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

    def values(self, unbound: Any) -> tuple[Any, ...]:
        """The values of the variables, `unbound` for those that have none."""
        found = []
        for cell in self._cells:
            try:
                found.append(cell.cell_contents)
            except ValueError:
                found.append(unbound)
        return tuple(found)

    def put(self, values: Sequence[Any], unbound: Any) -> None:
        """Give the variables values."""
        for cell, value in zip(self._cells, values, strict=True):
            if value is unbound:
                del cell.cell_contents
            else:
                cell.cell_contents = value

    def called(self, unbound: Any) -> Callable[..., tuple[Any, ...]]:
        """The body as a function of the variables' values; of the index first, if it has one."""
        count = self._body.__code__.co_argcount

        def run(*given: Any) -> tuple[Any, ...]:
            self.put(given[count:], unbound)
            run_body(self._body, *given[:count])
            self._region = current().region or self._region  # type: ignore[union-attr]
            found = self.values(unbound)
            if count and any(map(_becomes_integer, given[count:], found)):
                raise lazy_import("axiomjit.graph.closing").RegionRefused(
                    "a float that is an integer after a trip"
                )
            return found

        return run

    def depends(self, made: Sequence[Any]) -> bool:
        """True if what the loop has made depends on arguments, lengths of arrays, or draws."""
        if self._region.drawn is not None:
            return True
        nodes = [one.node for one in made if is_traced(one)]
        nodes += [storage.version for storage in self._region.finals]
        return any(isinstance(one, Input | LengthNode) for one in post_order(tuple(nodes)))


def _becomes_integer(before: Any, after: Any) -> bool:
    """True if a float of Python's is an integer of Python's after a trip."""
    if not is_traced(before) or not before.node.weak or before.node.dtype != FLOAT:
        return False
    traced = is_traced(after) and after.node.weak and is_integer(after.node.dtype)
    return traced or isinstance(after, int | SymbolicInt)


def _truth(value: Any) -> Any:
    """The truth of a traced number as NumPy's."""
    if is_traced(value):
        return value if value.dtype == bool else np.not_equal(value, False)
    return np.bool_(bool(value))


def _counted_by_values(
    ends: tuple[Any, Any, Any], trip: Callable[..., tuple[Any, ...]], before: tuple[Any, ...]
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

    def goes_on(place: Any, *_: Any) -> Any:
        return _truth(place < last if step > 0 else place > last)

    def body(_: Any, place: Any, *values: Any) -> tuple[Any, ...]:
        return place + step, *trip(place, *values)

    made: tuple[Any, ...] = late.trace_loop(None, body, (first, *before), condition=goes_on)
    return made[2:]


def _python_integer(value: Any) -> Any:
    return Tracer(python_number(cast(strong(value.node), INT))) if is_traced(value) else value


def _are_known(ends: Sequence[Any]) -> bool:
    return all(isinstance(one, int | np.integer) for one in ends)


def _trips_at_hand(start: Any, stop: Any, step: Any) -> float:
    """The number of trips in the traced call; infinite if it depends on other loops."""
    scope, known = current_scope(), []
    for one in (start, stop, step):
        value: Any = one.dim if isinstance(one, SymbolicInt) else one
        if is_traced(value):
            return float("inf")
        if isinstance(value, Dim):
            if scope.indices is not None and scope.indices.name_any(value):
                return float("inf")
            value = scope.value(value)
        if not isinstance(value, int | np.integer) or isinstance(value, bool):
            return 0
        known.append(int(value))
    return len(range(*known)) if known[2] else 0
