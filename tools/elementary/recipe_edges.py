"""Find the inputs at which a recipe takes another path, by running it in NumPy.

Every choice of a recipe is a `select`, `beyond`, a rounding to an integer or an entry of a table.
The recipe runs over numbers of every size. Between two neighbours with different choices, bisection
finds the two adjacent floats where the choice changes. Places where the kind of the result changes
(overflow, underflow, NaN, the sign, 1) are found the same way.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from axiomjit.runtime.elementary.arithmetic import NumpyArithmetic
from axiomjit.runtime.elementary.functions import RECIPES

Array = np.ndarray[Any, Any]
GRID: Final = 2048
MOST: Final = 48
"""The most places bisected for one choice: half spread out, half nearest to 0."""


class Watched(NumpyArithmetic):
    """Arithmetic that records the choices of a recipe, in order."""

    def __init__(self, code: str, choices: list[Array]) -> None:
        """Append the choices to this list."""
        super().__init__(code)
        self.choices = choices

    def select(self, condition: Any, yes: Any, no: Any) -> Any:
        """Record a choice by a condition."""
        self.choices.append(condition)
        return super().select(condition, yes, no)

    def beyond(
        self, bound: float, x: Any, usual: Any, name: str, recipe: Callable[..., Any]
    ) -> Any:
        """Record a choice by size; return the usual result."""
        self.choices.append(abs(x) > bound)
        return usual

    def rint(self, x: Any) -> Any:
        """Record a choice of an integer."""
        self.choices.append(super().rint(x))
        return self.choices[-1]

    def nearest_whole(self, x: Any, factor: float) -> tuple[Any, Any]:
        """Record a choice of an integer."""
        whole, integer = super().nearest_whole(x, factor)
        self.choices.append(whole)
        return whole, integer

    def binade(self, x: Any) -> Any:
        """Record a choice of a power of two."""
        self.choices.append(super().binade(x))
        return self.choices[-1]

    def entry(self, name: str, table: tuple[float, ...], index: Any) -> Any:
        """Record a choice of an entry."""
        self.choices.append(index)
        return super().entry(name, table, index)

    @property
    def wide(self) -> Watched:
        """The arithmetic of float64, recorded too."""
        return Watched("f8", self.choices)


def ordered(x: Array) -> Array:
    """Return integers in the order of the floats; neighbours differ by 1, both zeros are 0."""
    bits = x.view(f"i{x.itemsize}")
    return np.where(bits < 0, np.iinfo(bits.dtype).min - bits, bits)


def floats(order: Array) -> Array:
    """Return the floats of integers from `ordered`."""
    bits = np.where(order < 0, np.iinfo(order.dtype).min - order, order)
    return bits.view(f"f{order.itemsize}")


def neighbours(x: Array, steps: int) -> Array:
    """Return the numbers and those up to `steps` floats away; NaN beyond infinity."""
    return np.concatenate([x, *(floats(ordered(x) + k) for k in range(-steps, steps + 1))])


def _choices(name: str, code: str, x: Array, fixed: tuple[int, float] | None) -> Array:
    """Return the choices of the recipe, and the kinds of its results, a row each."""
    m = Watched(code, [])
    operands = [x]
    if fixed is not None:
        operands.insert(1 - fixed[0], np.full_like(x, fixed[1]))
    result = RECIPES[name](m, *operands)
    size = abs(result)
    kinds = [np.isnan(result), np.isinf(size), size < np.finfo(code).tiny, size == 0, size == 1]
    rows = [*m.choices, *kinds, np.signbit(result), result == x]
    return np.array([np.nan_to_num(np.broadcast_to(row, x.shape).astype("f8")) for row in rows])


def edges(
    name: str,
    code: str,
    spans: Sequence[tuple[float, float]],
    fixed: tuple[int, float] | None = None,
) -> Array:
    """Return pairs of adjacent floats between which a choice or a result's kind changes.

    Args:
        name: the name of the function.
        code: the dtype of its operands.
        spans: intervals to search besides all numbers.
        fixed: for a function of two, the index of the operand that moves, and the other's value.
    """
    with np.errstate(all="ignore"):
        top = int(ordered(np.array([np.inf], code))[0])
        grid = [np.linspace(-top, top, GRID).astype(f"i{code[1]}").clip(-top, top)]
        grid += [ordered(np.linspace(*span, GRID).astype(code)) for span in spans]
        places = np.unique(np.concatenate(grid))
        rows = _choices(name, code, floats(places), fixed)
        which, where = [], []
        for number, row in enumerate(rows):
            changes = np.flatnonzero(row[1:] != row[:-1])
            first = changes[np.argsort(abs(places[changes]))[: MOST // 2]]
            chosen = np.union1d(changes[:: -(-2 * len(changes) // MOST) or 1], first)
            which.append(np.full(len(chosen), number))
            where.append(chosen)
        row_of, at = np.concatenate(which), np.concatenate(where)
        low, high = places[at], places[at + 1]
        before = rows[row_of, at]
        for _ in range(8 * int(code[1])):
            middle = (low >> 1) + (high >> 1) + (low & high & 1)
            now = _choices(name, code, floats(middle), fixed)[row_of, np.arange(len(at))]
            low = np.where(now == before, middle, low)
            high = np.where(now == before, high, middle)
        return floats(np.concatenate([low, high]))
