"""Facts about a symbol that hold in every call, such as its range.

A comparison decided by these facts records no guard. So a kind may claim only facts that the
signature (`axiomjit.dispatch.arguments`) ensures for every call of a program.
"""

from __future__ import annotations

from typing import Final

from axiomjit.base.records import Record

SMALL: Final = 4
"""Lengths up to this one are constants of the signature, not symbols."""


class Kind(Record):
    """Numbers from `low` to `high`; None for no limit.

    Two symbols of one scope and one `distinct` kind have different values. Numbers of other kinds
    may equal each other and any number in their range. Of two strides of one array, the one with
    the larger `rank` is at least as large.
    """

    name: str
    low: int | None = None
    high: int | None = None
    distinct: bool = False
    rank: int = 0


LENGTH: Final = Kind("length", SMALL + 1, distinct=True)
"""Lengths of arguments; equal ones share a symbol."""
DECLARED: Final = Kind("declared length", 2)
"""Lengths named by the user: 0 and 1 are in the signature, equality of two is not."""
STRIDE: Final = Kind("stride", 2)
"""Positive strides in elements: 0, 1 and -1 are in the signature, equality of two is not."""
BACKWARD: Final = Kind("backward stride", high=-2)
"""Negative strides in elements."""
ANY: Final = Kind("integer")
"""Integer arguments and lengths of axes."""

Limits = tuple[int | None, int | None]
"""The least and the largest value of a number; None for no limit."""


def decided(left: Limits, right: Limits, sign: str) -> bool:
    """True if the ranges of two numbers decide the comparison `left sign right`."""
    below, above = _gap(left, right), _gap(right, left)
    apart = below > 0 or above > 0
    match sign:
        case "<" | ">=":
            return below > 0 or above >= 0
        case ">" | "<=":
            return above > 0 or below >= 0
    return apart


def _gap(lower: Limits, upper: Limits) -> int:
    """The distance from the end of the first range to the start of the second; -1 if unknown."""
    (_, high), (low, _) = lower, upper
    return -1 if high is None or low is None else low - high
