"""States of parts of the elements, and the functions that run between two stages."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from axiomjit.base.dtypes import DType
from axiomjit.base.errors import GraphValueError
from axiomjit.graph.primitives import FoldRule, UfuncFold
from axiomjit.graph.reductions import StateFold, in_arrays
from axiomjit.scale.counts import COUNTED
from axiomjit.scale.groups import GroupsFold, TakenFold
from axiomjit.scale.moments import SquaresFold
from axiomjit.scale.tokens import token_of

State = tuple[np.ndarray, ...] | None
"""The state of a fold in a block; None if the block has no elements and the fold no identity."""


def combined(fold: FoldRule, one: State, other: State) -> State:
    """The state of the union of two parts of the elements, the first part in front."""
    if one is None or other is None:
        return one if other is None else other
    if isinstance(fold, UfuncFold):
        return (np.asarray(fold.combine.evaluate(one[0], other[0])),)
    if fold == COUNTED:
        return (np.asarray(one[0] + other[0]),)
    if isinstance(fold, SquaresFold | GroupsFold | TakenFold):
        return fold.combined(one, other)
    assert isinstance(fold, StateFold)
    made = in_arrays(fold.outputs, [*one, *other])
    pairs = zip(made, fold.parts, strict=True)
    return tuple(np.asarray(value).astype(part, copy=False) for value, part in pairs)


class Combining:
    """A function that combines the states of a fold, block after block, in the order of the blocks.

    If `final` is true, the result of the fold is computed from the combined state: one array, or a
    tuple if a state has several values.
    """

    __slots__ = ("_token", "dtype", "final", "fold")

    def __init__(self, fold: FoldRule, dtype: DType, final: bool) -> None:
        """Store the fold and the dtype of the fold's result."""
        self.fold, self.dtype, self.final = fold, dtype, final
        self._token = token_of("combining", fold, dtype, final)

    def __reduce__(self) -> tuple[Any, ...]:
        return Combining, (self.fold, self.dtype, self.final)

    def __dask_tokenize__(self) -> object:
        return "axiomjit", self._token

    __name__ = "combined"

    def __call__(self, states: Any, axis: object = None, keepdims: object = None) -> Any:
        """The combined state of nested lists of states, or the result of the fold."""
        found: State = None
        for one in _flat(states):
            found = combined(self.fold, found, one)
        return self._finished(found) if self.final else found

    def _finished(self, state: State) -> Any:
        if state is None:
            raise GraphValueError(
                f"{self.fold} of an axis in blocks",
                "no elements in any block, and no identity",
                "fold only where there are elements, or give an initial value",
            )
        if isinstance(self.fold, GroupsFold):
            state = self.fold.results(state)
            return state[0] if len(state) == 1 else state
        if not isinstance(self.fold, StateFold):
            return state[-1].astype(self.dtype, copy=False)
        return state[0] if len(state) == 1 else state


class AsBlock:
    """The state of one value as a block of one element along the last axis."""

    __slots__ = ()

    def __dask_tokenize__(self) -> object:
        return "axiomjit.block"

    __name__ = "total"

    def __call__(self, state: tuple[np.ndarray, ...]) -> np.ndarray:
        """The state with a new last axis of length 1."""
        return state[0][..., None]


class Chosen:
    """A function that takes one of several values that a task has made."""

    __slots__ = ("number",)

    def __init__(self, number: int) -> None:
        """Store the number of the value."""
        self.number = number

    def __reduce__(self) -> tuple[Any, ...]:
        return Chosen, (self.number,)

    def __dask_tokenize__(self) -> object:
        return "axiomjit.chosen", self.number

    __name__ = "chosen"

    def __call__(self, values: Any) -> Any:
        """The value with the stored number."""
        return values[self.number]


class SameState:
    """The chunk function of a reduction whose blocks are states already."""

    __slots__ = ()

    def __dask_tokenize__(self) -> object:
        return "axiomjit.state"

    __name__ = "state"

    def __call__(self, state: Any, axis: object = None, keepdims: object = None) -> Any:
        """The state, unchanged."""
        return state


def _flat(states: Any) -> Iterator[State]:
    """The states in nested lists, in order."""
    if isinstance(states, list):
        for one in states:
            yield from _flat(one)
    else:
        yield states
