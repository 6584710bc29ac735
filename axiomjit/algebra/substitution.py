"""Lengths with other lengths in place of their symbols."""

from __future__ import annotations

import operator
from collections.abc import Mapping
from typing import Final

from axiomjit.algebra.dims import Dim, Operators, Symbol, dim
from axiomjit.algebra.extremes import larger, smaller

DIMS: Final[Operators[Dim]] = {
    "+": operator.add,
    "*": operator.mul,
    "//": operator.floordiv,
    "min": smaller,
    "max": larger,
}


def substitute(length: Dim, values: Mapping[Symbol, int | Dim]) -> Dim:
    """The Dim with symbols replaced; symbols not in `values` stay."""
    return length.fold(
        lambda leaf: dim(values.get(leaf, leaf) if isinstance(leaf, Symbol) else leaf), DIMS
    )
