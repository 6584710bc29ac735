"""Names of arrays, and of numbers of unequal types, that the body of a loop swaps or moves.

If names are swapped, the body is traced several times, until each name has its first array again. A
loop with a condition also evaluates the condition between the trips that are traced as one; a
number in the program counts the trips since the names last had their first arrays. An array that
moves to another name, as in `p, u = u, f(u, p)`, is copied, so that each name has memory of its
own.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, Final

from axiomjit.base.dtypes import DType
from axiomjit.graph.closing import RegionRefused
from axiomjit.symbolic.dims import Dim
from axiomjit.tracing.lengths import length, unwrap
from axiomjit.tracing.region_bodies import UNBOUND, Kind, Pass, kind_of
from axiomjit.tracing.tracer import Tracer

MOST_TRIPS: Final = 4
"""The largest number of trips of a body that are traced in sequence as one trip."""


class NamesSwapped(RegionRefused):
    """The fact that names of arrays have their first arrays again after `trips` trips.

    In one trip, each name gets the array that the name `taken[name]` had before the trip.
    """

    def __init__(self, trips: int, taken: Mapping[int, int]) -> None:
        super().__init__("names of arrays that are swapped")
        self.trips, self.taken = trips, taken


def swapped_names(
    before: Sequence[Any], after: Sequence[Any], first: Sequence[Any]
) -> dict[int, int]:
    """For each name that gets the array of another name in a trip, the place of the other name.

    Numbers count like arrays if numbers of unequal types are swapped.

    Args:
        before: The values of the names before a trip.
        after: The values of the names after the trip.
        first: The values of the names before the loop.
    """
    places = {id(value): k for k, value in enumerate(before) if issubclass(type(value), Tracer)}
    pairs = enumerate(zip(before, after, strict=True))
    taken = {k: places[id(new)] for k, (old, new) in pairs if new is not old and id(new) in places}
    numbers = [k for k in taken if not is_array(after[k])]
    if any(kind_of(first[k]) != kind_of(first[taken[k]]) for k in numbers):
        return taken
    return {k: place for k, place in taken.items() if k not in numbers}


def check_types(
    before: Mapping[int, Kind | None],
    cells: Mapping[int, Kind],
    passes: tuple[Pass, Pass],
    after: Callable[[dict[int, Kind]], Pass],
) -> None:
    """Check that carried numbers get and keep the types of their cells after some trips.

    Args:
        before: The types before the loop.
        cells: The types of the cells.
        passes: The pass of the values before the loop, and the pass of the cells.
        after: Traces a body whose numbers have given types.

    Raises:
        NamesSwapped: the numbers have their first types again after some trips.
        RegionRefused: the numbers have other types than their cells.
    """

    def dtypes(one: Pass) -> dict[int, DType]:
        kinds = ((k, kind_of(one.returned[k])) for k in cells)
        return {k: cells[k].dtype if kind is None else kind.dtype for k, kind in kinds}

    wanted = {k: cell.dtype for k, cell in cells.items()}
    known = {k: kind.dtype if kind else wanted[k] for k, kind in before.items()}
    first, last = map(dtypes, passes)
    if known == first == last == wanted:
        return
    seen = [known]
    while len(seen) <= MOST_TRIPS:
        old = seen[-1]
        if old == known:
            new = first
        elif old == wanted:
            new = last
        else:
            new = dtypes(after({k: cells[k].replace(dtype=own) for k, own in old.items()}))
        if new == old == wanted:
            return
        if new == known:
            raise NamesSwapped(len(seen), {})
        seen.append(new)
    raise RegionRefused("a number whose type changes from trip to trip")


def trips_until_back(taken: Mapping[int, int]) -> int:
    """The number of trips after which swapped names have their arrays again.

    The number is 1 if no names are swapped, or if more than MOST_TRIPS trips are necessary.
    """
    trips = 1
    for name in taken:
        count, at = 1, taken[name]
        while at != name:
            if at not in taken or count == MOST_TRIPS:
                return 1
            count, at = count + 1, taken[at]
        trips = math.lcm(trips, count)
    return trips if trips <= MOST_TRIPS else 1


def moved_names(before: Sequence[Any], after: Sequence[Any], changed: Collection[int]) -> list[int]:
    """The names that get an array which another name had before the trip and no longer has.

    Args:
        before: The values of the names before a trip.
        after: The values of the names after the trip.
        changed: The places of the names whose values change in the trip.
    """
    left = [before[k] for k in changed if is_array(before[k])]
    return [k for k in changed if any(after[k] is one for one in left)]


def is_array(value: Any) -> bool:
    """True for a traced array."""
    return issubclass(type(value), Tracer) and bool(value.is_array)


def trace_in_turns(
    trips: int,
    span: tuple[Dim, Dim, Dim],
    body: Callable[..., Sequence[Any]],
    carried: Sequence[Any],
    trace: Callable[..., tuple[Any, ...]],
) -> tuple[Any, ...]:
    """Trace a loop with `trips` passes of its body as one trip; remaining trips run after the loop.

    Args:
        trips: The number of trips after which each name has its first array again.
        span: The first index, the step and the number of trips.
        body: The body of one trip, as `trace_loop` takes it.
        carried: The carried values.
        trace: The function `trace_loop`.

    Raises:
        RegionRefused: the loop cannot be a region, or has fewer than `trips` trips.
    """
    start, step, count = span
    rounds = count // trips
    if not rounds > 0:
        raise RegionRefused("a loop of few trips that swaps names of arrays")

    def several(index: Any, *values: Any) -> Sequence[Any]:
        first = unwrap(index) * trips
        for turn in range(trips):
            values = tuple(body(length(start + step * (first + turn)), *values))
        return values

    _, *values = trace((0, rounds, 1), several, carried)
    done = rounds * trips
    left = next(k for k in range(trips) if count - done == k)
    for turn in range(left):
        values = list(body(length(start + step * (done + turn)), *values))
    return length(start + step * (count - 1)), *values


def trace_while_in_turns(
    found: NamesSwapped,
    body: Callable[..., Sequence[Any]],
    carried: Sequence[Any],
    tests: tuple[Callable[..., Any], Callable[..., Any]],
    trace: Callable[..., tuple[Any, ...]],
    branch: Callable[..., tuple[Any, ...]],
) -> tuple[Any, ...]:
    """Trace a loop with a condition, whose body is traced several times; return its values.

    Comparisons in the program find out which array each name has after the loop.

    Args:
        found: The names that are swapped.
        body: The body of one trip, as `trace_loop` takes it.
        carried: The carried values.
        tests: The condition before the first of the trips that are traced as one, and the condition
            before each other trip.
        trace: `trace_loop` for a loop with a condition.
        branch: The function `trace_cond`.

    Raises:
        RegionRefused: the loop cannot be a region.
    """

    def named(values: Sequence[Any], turn: int) -> list[Any]:
        """The values of all names, with the swapped arrays as they are after `turn` trips."""
        made, at = list(values), dict(zip(found.taken, found.taken, strict=True))
        for _ in range(turn):
            at = {name: found.taken[place] for name, place in at.items()}
        for name, place in at.items():
            made[name] = values[place]
        return made

    def from_turn(turn: int, values: Sequence[Any]) -> tuple[Any, ...]:
        """The values after trip `turn` and the later trips; each array has its first name again."""
        made = named(body(UNBOUND, *named(values, turn)), found.trips - turn - 1)
        turn += 1
        if turn == found.trips:
            return *made, 0
        goes_on = asks(*named(made, turn))
        sides = (lambda *given: from_turn(turn, given[:-1])), (lambda *given: given)
        return branch(goes_on, *sides, (*made, turn))

    first, asks = tests
    _, *values, turns = trace(
        lambda _, *given: from_turn(0, given[:-1]),
        (*carried, 0),
        condition=lambda *given: first(*given[:-1]),
    )
    turn = next((k for k in range(1, found.trips) if turns == k), 0)
    return tuple(named(values, turn))
