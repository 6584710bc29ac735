"""Functions whose loops run as compiled code between exits, the branches that Python runs.

`functions/exits.py` makes a copy of the function, which asks a `Trips` for compiled trips of each
loop. When a compiled loop gets to an exit, it returns the values of its names, and Python runs the
branch with these values. Only the numbers of trips and exits of the current run decide where trips
run, so that results do not depend on earlier calls.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final

from axiomjit.base.error_states import user_traps_errors
from axiomjit.base.errors import AxiomError
from axiomjit.functions.exits import Loop, Split, split
from axiomjit.functions.outside import Wanted

SHORT: Final = 8
"""The smallest number of remaining trips for which a compiled loop is called."""
MANY: Final = 64
"""In a loop without an exit, Python runs this number of trips first."""
FIRST: Final = 64
"""The largest number of trips of the first compiled call; a later call does at most twice as many
trips as the call before. A call of many trips costs more per trip, since the call must also notice
Ctrl-C."""
FEW: Final = 8
"""Python runs the rest of a loop if at least this number of calls, and most calls, got to an exit
in their first trip."""
LARGE: Final = 256
"""The size of an array from which on a compiled call takes less time than a trip in NumPy."""
TRACES: Final = 8
"""From this number of traces on, a loop must do more calls than traces."""


class Exits:
    """The loops of one function that run between exits."""

    def __init__(self, function: Callable[..., Any], wanted: Wanted, compiled: Any) -> None:
        """Take the user's function, the findings of its traces, and `jit` without options."""
        self._function, self._wanted, self._jit = function, wanted, compiled
        self._made: tuple[frozenset[int], Split | None] | None = None
        self._regions: list[_Region] = []

    def call(self) -> Callable[..., Any] | None:
        """The copy of the function that asks for compiled trips; None if no exit was found."""
        found = self.found()
        return None if found is None else found.function

    def found(self) -> Split | None:
        """The copy of the function, and its loops; None if no loop was refused for an exit."""
        lines = frozenset(self._wanted.exits)
        if not lines:
            return None
        if self._made is None or self._made[0] != lines:
            regions: list[_Region] = []

            def trips(number: int, function: Any, *ends: Any) -> Trips:
                return Trips(regions[number], function, ends)

            made = split(self._function, lines, trips)
            for loop in () if made is None else made.loops:
                regions.append(_Region(loop, self._jit, self._wanted))
            self._made, self._regions = (lines, made), regions
        return self._made[1]

    def outcomes(self) -> dict[int, str]:
        """For each loop that asks for compiled trips, its line and its outcome."""
        return {one.loop.line: one.outcome() for one in self._regions}


class _Region:
    """The compiled function of a loop, and the names that this function takes."""

    def __init__(self, loop: Loop, compiled: Any, wanted: Wanted) -> None:
        self.loop, self._wanted = loop, wanted
        self.call = compiled(loop.function)
        self.call._wanted.only_regions = True
        self.first = 1 if loop.exits else MANY
        self.calls, self._reason = 0, ""
        self.is_refused = self._is_traced = False

    def outcome(self) -> str:
        """The outcome of the loop, for `explain`."""
        if self.is_refused:
            return f"left to Python: {self._reason}"
        lines = ", ".join(map(str, self.loop.exits))
        where = f"where it gets to line {lines}" if lines else f"in its first {self.first} trips"
        return f"compiled trips, and Python {where}"

    def trace(self, given: Sequence[Any]) -> bool:
        """True if the loop is a region for these values; if not, Python runs it from now on."""
        if not self._is_traced:
            self._is_traced = True
            try:
                self.call.lower(*given)
            except (AxiomError, NameError) as error:
                self.is_refused, self._reason = True, " ".join(str(error).split())
                self._wanted.exits |= self.call._wanted.exits
        return not self.is_refused

    def count(self) -> None:
        """Count a call; a loop that is traced in most calls is left to Python."""
        self.calls += 1
        count = self.calls
        if count >= TRACES and not count & (count - 1) and self.call._traced > count // 2:
            self.is_refused, self._reason = True, "most of its calls need a new program"


class Trips:
    """One run of a loop: trips that Python runs, and compiled trips between them.

    `ready` is true if compiled trips may follow, and `ran` is true if some were done. After
    compiled trips, `at` is the number of the exit, 0 for no exit, and `values` has the values of
    the loop's names. If no compiled trips were done, `item` is the item of the trip that Python
    runs. At the end, Python does the remaining trips as a plain loop: a `for` over `rest`, or a
    `while` whose condition also needs a true `goes_on`.
    """

    __slots__ = (
        *(
            "_at_once",
            "_calls",
            "_is_over",
            "_left",
            "_most",
            "_place",
            "_region",
            "_rounds",
            "_span",
        ),
        *("_refused", "at", "goes_on", "item", "ran", "ready", "rest", "values"),
    )

    def __init__(self, region: _Region, function: Any, ends: tuple[Any, ...]) -> None:
        """Start a loop: a `for` over `function(*ends)`, or a `while` if `function` is None.

        Raises:
            Errors of the call are passed on.
        """
        self._region = region
        self._rounds = self._calls = self._at_once = self._refused = 0
        self._place = self._left = self.at = 0
        self._most = FIRST
        self.ready = self.ran = False
        self.goes_on = self._is_over = False
        self.values: Sequence[Any] = ()
        self.item: Any = None
        self.rest: Iterable[Any] = () if function is None else function(*ends)
        self._span = self.rest if type(self.rest) is range else range(0)

    def next(self) -> bool:
        """Go to the next item, for a trip that Python runs; False if a plain loop does the rest."""
        self.ran, self.at = False, 0
        if self._span is not self.rest or self._is_hopeless():
            return False
        if len(self._span) - self._place < SHORT:
            self.rest = self._span[self._place :]
            return False
        self.item = self._span[self._place]
        self._place += 1
        self._rounds += 1
        self.ready = self._rounds >= self._region.first
        return True

    def asks(self) -> bool:
        """True if Python asks for the condition of a `while` loop, for a trip that Python runs."""
        self.ran, self.at = False, 0
        self._rounds += 1
        self.ready = self._rounds >= self._region.first
        self.goes_on = not self._is_over and self._is_hopeless()
        return not (self._is_over or self.goes_on)

    def _is_hopeless(self) -> bool:
        """True if exits come in most trips, or if the loop is not a region."""
        seldom = self._at_once < FEW or self._at_once * 2 <= self._calls
        if seldom and not self._region.is_refused and self._refused < FEW:
            return False
        self.rest = self._span[self._place :]
        return True

    def run(self, names: Mapping[str, Any]) -> bool:
        """Do compiled trips, with the values of names; False if Python must run the next trip.

        Raises:
            Errors of the loop are passed on.
        """
        region, span, first = self._region, self._span, self._place
        loop = region.loop
        self.ready = False
        given = [names.get(name, self) for name in loop.names]
        if any(one is self or _is_long(one) for one in given) or user_traps_errors():
            self._refused += 1
            return False
        if loop.counted:
            if first == len(span):
                return False
            end = min(first + self._most, len(span))
            given = [span[first], span[end - 1] + span.step, *given]
        if not region.trace(given):
            return False
        self.at, last, *self.values = region.call(*given)
        region.count()
        self._calls += 1
        is_first = not last
        if loop.counted:
            self._place = span.index(last) + 1
            self._most = max(2 * (self._place - self._left), FIRST)
            self._left = self._place if self.at else self._left
            self.values = last, *self.values
            is_first = self._place == first + 1
        if is_first and self.at:
            whole = (getattr(names[name], "size", 0) for name in loop.whole)
            self._at_once += max(whole, default=0) < LARGE
        self._is_over = not (self.at or loop.counted)
        self.ready = self.at > 0 or self._place < len(span)
        self.ran = True
        if self.ready and self._is_hopeless():
            self.ready = False
        return True


def _is_long(value: object) -> bool:
    """True for a Python integer of more than 64 bits."""
    return type(value) is int and not -(2**63) <= value < 2**63
