"""Accesses of a nest -> what it costs to bring their memory into the processor."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from axiomjit.symbolic.dims import Dim, product

LINE: Final = 64
"""Bytes that memory is moved in."""
TYPICAL: Final = 64
"""What an unknown length is taken for, so that the choice is the same for all lengths."""
STORE: Final = 1.5
"""What a store costs by a load."""


class Walk(NamedTuple):
    """An access: the bytes of an element, and how each loop moves it.

    A step is 0 or 1 elements, or None for more.
    """

    itemsize: int
    steps: tuple[int | None, ...]
    weight: float = 1.0


def estimate_walk(extents: Sequence[Dim], walks: Iterable[Walk]) -> float:
    """The bytes moved where the loop is innermost along which the accesses cost least.

    An access that moves by one element uses each line whole, one that jumps a line per step.

    Needs: one step per extent.
    Gives: a cost to compare with that of other layouts.
    Keeps: the accesses.
    """
    walks = list(walks)
    loops = [k for k, extent in enumerate(extents) if extent.constant != 1]
    costs = (sum(w.weight * _bytes(w, k) for w in walks) for k in loops)
    return _volume(product(tuple(extents))) * min(costs, default=0.0)


def _bytes(walk: Walk, loop: int) -> int:
    step = walk.steps[loop]
    return max(LINE, walk.itemsize) if step is None else step * walk.itemsize


def _volume(points: Dim) -> int:
    return sum(abs(factor) * TYPICAL ** len(monomial) for monomial, factor in points.terms)
