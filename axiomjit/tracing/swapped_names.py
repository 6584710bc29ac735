"""Names of arrays that the body of a loop swaps or moves.

Where names are swapped, trips are followed until the names are back. Arrays that are moved on, as
in `p, u = u, f(u, p)`, are copied: each name has memory of its own.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Sequence
from typing import Any, Final

from axiomjit.graph.closing import RegionRefused
from axiomjit.symbolic.dims import Dim
from axiomjit.tracing.lengths import length, unwrap
from axiomjit.tracing.tracer import Tracer

MOST_TRIPS: Final = 4
"""The most trips of a body that are followed one after the other."""


class NamesSwapped(RegionRefused):
    """Names of arrays have their arrays again after `trips` trips."""

    def __init__(self, trips: int) -> None:
        super().__init__("names of arrays that are swapped")
        self.trips = trips


def trips_until_back(before: Sequence[Any], after: Sequence[Any]) -> int:
    """The number of trips after which swapped names have their arrays again.

    It is 1 if no names are swapped, or if the arrays are not back after MOST_TRIPS trips.

    Args:
        before: The values of the names before a trip.
        after: Their values after it.
    """
    places = {id(value): k for k, value in enumerate(before) if is_array(value)}
    pairs = enumerate(zip(before, after, strict=True))
    taken = {k: places[id(new)] for k, (old, new) in pairs if new is not old and id(new) in places}
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
    """The names that get the arrays of other names, which have these no more.

    Args:
        before: The values of the names before a trip.
        after: Their values after it.
        changed: The names whose values differ.
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
    """Follow a loop whose body is followed `trips` times; the last trips stand behind it.

    Args:
        trips: The number of trips after which names are back.
        span: The first index, the step and the number of trips.
        body: The body of one trip, as for `trace_loop`.
        carried: The carried values.
        trace: `trace_loop`.

    Raises:
        RegionRefused: the loop cannot be a region, or has fewer trips.
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
