"""What loops range over, and limits, as expressions of a kernel source."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from axiomjit.algebra.dims import Dim
from axiomjit.passes.ir.loop_ir import For, Limit

Term = tuple[str, Dim]


class LimitSource(NamedTuple):
    """Writes limits with the names that a source has for `iterator` and `length`."""

    iterator: Callable[[str], str]
    length: Callable[[Dim], str]

    def starts(self, loop: For) -> list[str]:
        """First steps of a loop, one per limit; the largest holds."""
        return [self._passed(limit.low, limit, loop.iterator) for limit in loop.limits]

    def stops(self, loop: For) -> list[str]:
        """Ends of a loop, one per limit; the smallest holds."""
        return [self._passed(limit.high, limit, loop.iterator) for limit in loop.limits]

    def tests(self, limits: Sequence[Limit]) -> list[str]:
        """Comparisons that all hold where the limits do."""
        found = []
        for limit in limits:
            total = " + ".join(map(self._product, limit.terms)) or "0"
            found += [f"{self.length(limit.low)} <= {total}"]
            found += [f"{total} < {self.length(limit.high)}"]
        return found

    def _passed(self, place: Dim, limit: Limit, iterator: str) -> str:
        """The first step at which the sum of a limit is not below a place."""
        own = dict(limit.terms)[iterator]
        others = [term for term in limit.terms if term[0] != iterator]
        left = " - ".join([self.length(place + own - 1), *map(self._product, others)])
        return left if own.constant == 1 else f"floor_divide({left}, {self.length(own)})"

    def _product(self, term: Term) -> str:
        """A factor times an iterator."""
        name, times = self.iterator(term[0]), self.length(term[1])
        return name if times == "1" else f"{name} * {times}"


def shared_walk(loop: For) -> tuple[str, str] | None:
    """The iterator and block iterator that sibling loops over one whole block share, or None."""
    whole = loop.span is None and not loop.limits
    return (loop.iterator, loop.block.outer) if loop.block and whole else None


def extreme(function: str, values: Sequence[str]) -> str:
    """The smallest or largest of some values."""
    return values[0] if len(values) == 1 else f"{function}({', '.join(values)})"
