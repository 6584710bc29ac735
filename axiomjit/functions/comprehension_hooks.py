"""The hooks of comprehensions, which become regions or are traced trip by trip."""

from __future__ import annotations

import builtins
from collections.abc import Callable, Iterator, Sequence
from types import FunctionType, NoneType
from typing import Any, Final

from axiomjit.base import loop_outcomes
from axiomjit.base.trace_context import current
from axiomjit.functions.expressions import PREFIX
from axiomjit.functions.library_calls import LibraryCalls
from axiomjit.functions.liveness import CONSUMERS
from axiomjit.functions.loop_hooks import (
    MOST_KNOWN,
    SHORT,
    Counted,
    LoopHooks,
    run_body,
    truth_of,
)
from axiomjit.functions.loop_items import Items, trips_at_hand
from axiomjit.functions.operators import is_traced
from axiomjit.functions.outside import in_region, refuse_in_region

_CONSUMERS: Final = tuple(getattr(builtins, name) for name in CONSUMERS)
_LAZY: Final = (any, all)
"""The consumers that may stop before they have read all items."""


class ComprehensionHooks(LoopHooks):
    """The hooks of comprehensions; `made` has the lists that are being made, innermost last."""

    def __init__(self, calls: LibraryCalls) -> None:
        """Store the trace to which the hooks belong."""
        super().__init__(calls)
        self._made: list[tuple[list[Any], Any]] = calls.made_lists

    def listed(self, body: FunctionType, source: tuple[Any, ...]) -> list[Any]:
        """The list that a comprehension makes; `body` puts the values of one trip into the list."""
        made: list[Any] = []
        self._made.append((made, _region()))
        try:
            self.inner(body, source)
        finally:
            self._made.pop()
        return made

    def consumed(
        self,
        function: Any,
        body: FunctionType,
        source: tuple[Any, ...],
        *rest: Any,
        **named: Any,
    ) -> Any:
        """The result of a function that is called with a generator."""
        is_known = any(function is one for one in _CONSUMERS)
        is_lazy = any(function is one for one in _LAZY)
        made: list[Any] = []
        if is_known and self._is_region(body, source, made):
            return self._calls.call(function, made, *rest, **named)
        if is_known and in_region() and not is_lazy:
            return self._calls.call(function, self.listed(body, source), *rest, **named)
        items = self._calls.iterate(_iterable(self._calls, source))
        return self._calls.call(function, self._values(body, items), *rest, **named)

    def _values(self, body: FunctionType, items: Iterator[Any]) -> Iterator[Any]:
        """The values of a generator, trip by trip."""
        for item in items:
            made: list[Any] = []
            self._made.append((made, _region()))
            try:
                run_body(body, item)
            finally:
                self._made.pop()
            yield from made

    def inner(self, body: FunctionType, source: tuple[Any, ...]) -> None:
        """Trace the loop of a comprehension, as a region or trip by trip."""
        if not self._is_region(body, source, self._made[-1][0]):
            for item in self._calls.iterate(_iterable(self._calls, source)):
                run_body(body, item)

    def _is_region(self, body: FunctionType, source: tuple[Any, ...], made: list[Any]) -> bool:
        """Trace the loop as a region with its items in the list; False if it cannot be a region."""
        if current() is None:
            return False
        items = None if source[0] == "range" else Items(self._calls, source)
        if items is None:
            ends: Any = source[2:] if source[1] is range else ()
            ends = (0, *ends) if len(ends) == 1 else ends
        else:
            ends = () if items.length is None else (0, items.length)
        if not ends:
            self._note(loop_outcomes.NO_ARRAYS)
            return False
        trips = trips_at_hand(*(*ends, 1)[:3])
        if trips < SHORT:
            self._note(loop_outcomes.SHORT)
            return False
        if trips < MOST_KNOWN and items is None and not in_region() and _reads_known(body, ends):
            self._note(loop_outcomes.KNOWN)
            return False
        loop = _Comprehension(body, ends, items, made)
        self._made.append((made, _region()))
        try:
            return self._followed(loop)
        finally:
            self._made.pop()

    def put(self, value: Any) -> None:
        """Append a value to the list that is being made."""
        (made, region), now = self._made[-1], _region()
        if now is None or not self._calls.recorded_append(made, "append", (value,)):
            if now is not region:
                refuse_in_region("a condition that decides about an item of a comprehension")
            made.append(value)

    def when(self, test: Any, body: Callable[[], Any]) -> None:
        """Trace the rest of a trip as code that runs if a condition holds."""
        if not (in_region() and is_traced(test)):
            if self._calls.truth(test):
                body()
            return

        def then() -> tuple[()]:
            body()
            return ()

        self._forked(truth_of(test), (then, tuple), ())


class _Comprehension(Counted):
    """The loop of a comprehension as a region; it appends to `made`."""

    starts_again = False

    def __init__(
        self, body: FunctionType, ends: tuple[Any, ...], items: Items | None, made: list[Any]
    ) -> None:
        given = (_itself, None) if items is None else (items.at, items.filled)
        super().__init__(body, ("", (), ()), ends, *given)
        self._made = made

    def appends_in(self, calls: LibraryCalls, lists: Sequence[Any] = ()) -> Any:
        """The record of the appends in the trips, made as for other loops."""
        return super().appends_in(calls, (*lists, self._made))


def _region() -> Any:
    """The region whose body is being traced, or None."""
    following = current()
    return None if following is None else following.region


def _reads_known(body: FunctionType, ends: Sequence[Any]) -> bool:
    """True if the ends of a range, and the variables that its body reads, are known values."""
    cells = zip(body.__code__.co_freevars, body.__closure__ or (), strict=True)
    own = [cell for name, cell in cells if not name.startswith(PREFIX)]
    try:
        return all(map(_is_known, (*ends, *(cell.cell_contents for cell in own))))
    except ValueError:  # a variable without a value
        return False


def _is_known(value: Any) -> bool:
    if type(value) in (list, tuple):
        return all(map(_is_known, value))
    return type(value) in (int, float, complex, bool, str, NoneType)


def _itself(index: Any) -> Any:
    return index


def _iterable(calls: LibraryCalls, source: tuple[Any, ...]) -> Any:
    """The object that Python iterates over."""
    if source[0] == "range":
        return calls.call(source[1], *source[2:])
    return Items(calls, source).iterable()
