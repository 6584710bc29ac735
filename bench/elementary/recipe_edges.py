"""Where a recipe of an elementary function takes another way, found by running it in NumPy.

Every choice of a recipe is a `select`, `beyond`, a whole number or the entry of a table. The recipe
runs over numbers of every size; between two neighbours for which a choice differs the place is
narrowed down to two adjacent numbers. So are places at which the kind of the result changes:
overflow, underflow, NaN, the sign, 1.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from axiomjit.runtime.vector_math.exact import Exact
from axiomjit.runtime.vector_math.functions import RECIPES

Array = np.ndarray[Any, Any]
GRID: Final = 2048
MOST: Final = 48
"""Places that are narrowed down for one choice: half spread out, half nearest to 0."""


class Watched(Exact):
    """Arithmetic that keeps what recipes choose by, in the order of the choices."""

    def __init__(self, code: str, choices: list[Array]) -> None:
        """Append to these choices."""
        super().__init__(code)
        self.choices = choices

    def select(self, condition: Any, yes: Any, no: Any) -> Any:
        """A choice by a condition."""
        self.choices.append(condition)
        return super().select(condition, yes, no)

    def beyond(self, bound: float, x: Any, usual: Any, recipe: Callable[..., Any]) -> Any:
        """A choice by size; the result is the usual one."""
        self.choices.append(abs(x) > bound)
        return usual

    def rint(self, x: Any) -> Any:
        """A choice of a whole number."""
        self.choices.append(super().rint(x))
        return self.choices[-1]

    def nearest_whole(self, x: Any, factor: float) -> tuple[Any, Any]:
        """A choice of a whole number."""
        whole, integer = super().nearest_whole(x, factor)
        self.choices.append(whole)
        return whole, integer

    def binade(self, x: Any) -> Any:
        """A choice of a power of two."""
        self.choices.append(super().binade(x))
        return self.choices[-1]

    def entry(self, name: str, table: tuple[float, ...], index: Any) -> Any:
        """A choice of an entry."""
        self.choices.append(index)
        return super().entry(name, table, index)

    @property
    def wide(self) -> Watched:
        """The arithmetic of float64, watched too."""
        return Watched("f8", self.choices)


def ordered(x: Array) -> Array:
    """Whole numbers in the order of floats, one apart for neighbours; both zeros are 0."""
    bits = x.view(f"i{x.itemsize}")
    return np.where(bits < 0, np.iinfo(bits.dtype).min - bits, bits)


def floats(order: Array) -> Array:
    """The floats of `ordered`."""
    bits = np.where(order < 0, np.iinfo(order.dtype).min - order, order)
    return bits.view(f"f{order.itemsize}")


def neighbours(x: Array, steps: int) -> Array:
    """Numbers, and those up to so many steps from them; beyond infinity come NaN."""
    return np.concatenate([x, *(floats(ordered(x) + k) for k in range(-steps, steps + 1))])


def _choices(name: str, code: str, x: Array, fixed: tuple[int, float] | None) -> Array:
    """What the recipe chooses by, and the kinds of its result: a row each."""
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
    """Pairs of adjacent numbers between which something changes, one after the other.

    Args:
        name: of the function.
        code: dtype of its operands.
        spans: intervals that are looked at besides all numbers.
        fixed: of a function of two, which operand moves, and what the other one is.
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
