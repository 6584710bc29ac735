"""What a plan does after it has counted how many elements a mask chooses."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Generic, TypeVar

from axiomjit.base.bounded_tables import BoundedTable
from axiomjit.symbolic.data_dependent import DataDependent
from axiomjit.symbolic.dims import Symbol

AnyPlan = TypeVar("AnyPlan")


class Rest(Generic[AnyPlan]):
    """The rest of a plan, bound to each count when that is met."""

    def __init__(
        self,
        choice: DataDependent,
        lengths: Mapping[Symbol, int],
        bind: Callable[[Mapping[Symbol, int]], AnyPlan],
    ) -> None:
        """Keep the length that will be known, those that are, and what binds the rest to all."""
        self._choice, self._lengths, self._bind = choice, lengths, bind
        self._plans = BoundedTable[int, AnyPlan]()

    def bound_to(self, count: int) -> AnyPlan:
        """The rest of the plan, bound to a count.

        Raises:
            OtherLengthError: what was looked at of the length looks otherwise.
        """
        found = self._plans.get(count)
        if found is None:
            lengths = {**self._lengths, self._choice.symbol: count}
            self._choice.check(lengths)
            found = self._plans.keep(count, self._bind(lengths))
        return found
