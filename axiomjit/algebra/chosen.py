"""Lengths that only the running program knows: how many elements a mask chooses.

Such a length is a symbol as others are. While a function is followed a large number stands for it,
so that comparisons have an outcome; the program asks again once it has counted, and where another
outcome is found it is not valid for this call.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from axiomjit.algebra.dims import Dim, Extreme, Guard, Quotient, Scope, Symbol, polynomial
from axiomjit.algebra.number_kinds import Kind
from axiomjit.base.records import Record

CHOSEN: Final = Kind("number chosen", 0)
"""Numbers of elements that masks choose."""
FIRST: Final = 1_000_003
"""What stands for the first of them: no length that somebody writes."""
STEP: Final = 7_919


class OtherLengthError(Exception):
    """A length was found to be other than was assumed while the function was followed."""


class Choice(Record):
    """A length that only the running program knows, and what was looked at of it."""

    symbol: Symbol
    guards: tuple[Guard, ...]

    def check(self, lengths: Mapping[Symbol, int]) -> None:
        """Look again, once the length is known.

        Raises:
            OtherLengthError: it looks otherwise.
        """
        if not all(guard.holds(lengths) for guard in self.guards):
            raise OtherLengthError(f"{self.symbol.name} = {lengths[self.symbol]}")


def choose(scope: Scope, key: object) -> Dim:
    """The length of what `key` chooses, one symbol for each key of a scope."""
    if key not in scope.chosen:
        number = len(scope.chosen)
        symbol = scope.chosen[key] = Symbol(f"m{number}", CHOSEN)
        scope.values[symbol] = FIRST + STEP * number
    return polynomial({(scope.chosen[key],): 1})


def chosen_in(*lengths: Dim) -> frozenset[Symbol]:
    """The symbols of such lengths that occur in some lengths."""
    found: set[Symbol] = set()
    for atom in (atom for length in lengths for monomial, _ in length.terms for atom in monomial):
        match atom:
            case Symbol(kind=kind) if kind is CHOSEN:
                found.add(atom)
            case Quotient(top=left, bottom=right) | Extreme(left=left, right=right):
                found |= chosen_in(left, right)
    return frozenset(found)


class Advice(Scope):
    """A scope for decisions that change how fast a program is, and not what it gives.

    It records no guard for lengths that only the running program knows: every outcome is right.
    """

    def __init__(self, scope: Scope) -> None:
        """Share the values and guards of a scope."""
        self.values, self.guards, self.chosen = scope.values, scope.guards, scope.chosen

    def record(self, guard: Guard) -> None:
        """Keep the guard, where it is of lengths that are known before the program runs."""
        if not chosen_in(guard.left, guard.right):
            super().record(guard)
