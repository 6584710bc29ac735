"""A fold that keeps how many elements there are, their sums, and their distances from the mean."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from axiomjit.base.dtypes import FLOAT
from axiomjit.graph.builder import elementwise
from axiomjit.graph.nodes import Input, Node
from axiomjit.graph.primitives import ALL, PRIMITIVES
from axiomjit.graph.state_folds import StateFold


class MomentFold(StateFold):
    """A fold of (count, sum, shifted sum, sum of squared distances from the mean).

    Elements are also summed as distances from one of them, which makes the distance between the
    means of two parts exact where all elements are large. Two parts are merged by the formula of T.
    Chan, G. Golub and R. LeVeque ("Updating formulae and a pairwise algorithm for computing sample
    variances", 1979), in which nothing cancels.
    """

    def __init__(self) -> None:
        """The one fold of this kind."""
        start = (np.float64(0.0),) * 4
        rule: tuple[Any, ...] = ("moments", True, False, ALL, False, _merged(), start, False)
        super(StateFold, self).__init__(*rule)

    def __repr__(self) -> str:
        return self.name

    def evaluate(self, given: Sequence[np.ndarray], folded: int) -> np.ndarray:
        """As of other folds; programs get this one after their graph was lowered."""
        raise NotImplementedError(f"{self.name} is no fold of graphs")


@lru_cache
def _merged() -> tuple[Node, ...]:
    """The moments of two parts together, as a graph of scalars."""
    row = PRIMITIVES
    count, total, shifted, square, *other = (Input(FLOAT, k, ()) for k in range(8))

    def of(name: str, *operands: Node) -> Node:
        return elementwise(row[name], *operands)

    counts = of("add", count, other[0])
    apart = of("subtract", of("divide", other[2], other[0]), of("divide", shifted, count))
    share = of("divide", of("multiply", count, other[0]), counts)
    between = of("multiply", of("multiply", apart, apart), share)
    squares = of("add", of("add", square, other[3]), between)
    return counts, of("add", total, other[1]), of("add", shifted, other[2]), squares
