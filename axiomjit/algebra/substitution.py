"""Lengths with other lengths in place of their symbols."""

from __future__ import annotations

from collections.abc import Mapping

from axiomjit.algebra.dims import (
    Dim,
    Extreme,
    Quotient,
    Symbol,
    dim,
    polynomial,
)
from axiomjit.algebra.extremes import larger, smaller


def substitute(length: Dim, values: Mapping[Symbol, int | Dim]) -> Dim:
    """The Dim with symbols replaced; symbols not in `values` stay."""
    total = dim(0)
    for monomial, factor in length.terms:
        part = dim(factor)
        for atom in monomial:
            match atom:
                case Symbol():
                    part = part * (dim(values.get(atom, polynomial({(atom,): 1}))))
                case Quotient(top=top, bottom=bottom):
                    part = part * (substitute(top, values) // substitute(bottom, values))
                case Extreme(which=which, left=left, right=right):
                    pick = smaller if which == "min" else larger
                    part = part * pick(substitute(left, values), substitute(right, values))
        total = total + part
    return total
