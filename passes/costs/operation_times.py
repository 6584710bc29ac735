"""Micro-operations and cycles of vector operations on a processor with AVX-512."""

from __future__ import annotations

from typing import Final, NamedTuple

from axiomjit.graph.primitives import Primitive
from axiomjit.passes.costs.recipe_times import RECIPE_TIMES


class Time(NamedTuple):
    """The resources of a processor that a vector operation takes."""

    uops: int
    """Micro-operations of vector units."""
    latency: int
    """Cycles from its operands to its result."""
    divider: int = 0
    """Cycles that it occupies the divider."""


SUM: Final = Time(1, 4)
DIVISION: Final = {"f4": Time(3, 18, 10), "f8": Time(3, 24, 16)}
ROOT: Final = {"f4": Time(3, 20, 12), "f8": Time(3, 32, 18)}


def operation_time(primitive: Primitive, code: str) -> Time:
    """What an operation to this dtype takes; where nothing better is known, by its weight."""
    name, weight = primitive.name, primitive.weight
    if code in RECIPE_TIMES.get(name, {}):
        return Time(*RECIPE_TIMES[name][code])
    special = {"divide": DIVISION, "sqrt": ROOT}.get(name, {})
    return special.get(code, Time(weight, SUM.latency if weight == 1 else 3 * weight))
