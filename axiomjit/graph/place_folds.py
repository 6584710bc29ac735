"""Folds that keep the smallest or largest element with a number that says where it stands."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, Final

import numpy as np

from axiomjit.base.dtypes import INT, DType, is_complex, is_inexact, value_range
from axiomjit.graph.builder import elementwise
from axiomjit.graph.nodes import Input, Node
from axiomjit.graph.primitives import ALL, MAX, PRIMITIVES, WHERE, UfuncFold
from axiomjit.graph.state_folds import StateFold, recorded

NOWHERE: Final = value_range(INT)[1]
"""Beyond every place."""


class PlaceFold(StateFold):
    """A fold of (element, place) by MAX or MIN of elements; of equal ones the first place wins.

    A NaN is beyond all numbers, and equals another NaN.
    """

    extreme: UfuncFold

    def __init__(self, extreme: UfuncFold, dtype: DType) -> None:
        """The fold of elements of a dtype in which `extreme` runs."""
        lowest = np.asarray(extreme.initial(dtype)).astype(dtype)[()]
        start, outputs = (lowest, INT.type(NOWHERE)), _combined(extreme, dtype)
        rule: tuple[Any, ...] = (f"arg{extreme.name}", False, True, ALL, True)
        rule += (outputs, start, False, extreme)
        super(StateFold, self).__init__(*rule)

    @property
    def dtype(self) -> DType:
        """The dtype of the elements."""
        return self.parts[0]

    def __repr__(self) -> str:
        return self.name

    def evaluate(self, given: Sequence[np.ndarray], folded: int) -> np.ndarray:
        """The extremes and their places, folded along the last dimensions of arrays, in NumPy."""
        kept = given[0].shape[: given[0].ndim - folded]
        count = math.prod(given[0].shape[given[0].ndim - folded :])
        values, places = (array.reshape(*kept, count) for array in given)
        best = self.extreme.reduce.reduce(values, axis=-1, initial=self.start[0])
        found = (values == best[..., None]) | np.isnan(values)
        return recorded([best, np.where(found, places, NOWHERE).min(-1, initial=NOWHERE)], self)


@lru_cache
def _combined(extreme: UfuncFold, dtype: DType) -> tuple[Node, ...]:
    """The better of two states as a graph of scalars."""
    value, place, other, later = (Input(d, k, ()) for k, d in enumerate((dtype, INT) * 2))
    row = PRIMITIVES
    better = elementwise(row["greater" if extreme is MAX else "less"], other, value)
    tie = elementwise(row["equal"], other, value)
    if is_inexact(dtype):
        one, two = (elementwise(row["isnan"], node) for node in (value, other))
        better = elementwise(row["logical_or"], better, elementwise(row["greater"], two, one))
        tie = elementwise(row["logical_or"], tie, elementwise(row["logical_and"], one, two))
        if is_complex(dtype):  # numbers with a NaN in one part are compared by the other
            number = elementwise(row["logical_not"], one)
            better = elementwise(row["logical_and"], better, number)
    first = elementwise(row["less"], later, place)
    wins = elementwise(row["logical_or"], better, elementwise(row["logical_and"], tie, first))
    return tuple(
        elementwise(WHERE, wins, new, old) for new, old in ((other, value), (later, place))
    )
