"""Lengths that only the running program knows: how many elements a mask chooses.

Such a length is a symbol as others are. While a function is followed a large number stands for it,
so that comparisons have an outcome; the program asks again once it has counted, and where another
outcome is found it is not valid for this call. Where such a length meets another one that it must
be equal to, it is assumed to be, which is asked as well.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from axiomjit.base.records import Record
from axiomjit.symbolic.dims import (
    Dim,
    Guard,
    Scope,
    Symbol,
    current_scope,
    dim,
    symbols_in,
)
from axiomjit.symbolic.number_kinds import Kind

CHOSEN: Final = Kind("number chosen", 0)
"""Numbers of elements that masks choose."""
STEP: Final = 720_720
"""A multiple of 1 to 16, which what stands for them are multiples of: they are split into rows."""
FIRST: Final = 1_009 * STEP
"""What stands for the first of them: no length that somebody writes."""


class OtherLengthError(Exception):
    """A length was found to be other than was assumed while the function was followed."""


class OtherResultError(OtherLengthError):
    """A result has another shape or dtype than was assumed; that depends on values."""


class UnfitNumberError(OtherLengthError):
    """A number is stored that the dtype of the element cannot hold: NumPy says what that gives."""


class Choice(Record):
    """A length that only the running program knows, and what was looked at of it."""

    symbol: Symbol
    guards: tuple[Guard, ...]

    def check(self, lengths: Mapping[Symbol, int]) -> None:
        """Look again, once the length is known.

        Raises:
            OtherLengthError: it looks otherwise.
        """
        for guard in self.guards:
            if not guard.holds(lengths):
                assumed = f"{guard.left} {guard.sign} {guard.right} was taken for {guard.outcome}"
                found = f"{self.symbol.name} = {lengths[self.symbol]}"
                raise OtherLengthError(f"{found}, where {assumed}")


def choose(scope: Scope, key: object) -> Dim:
    """The length that `key` stands for, one symbol for each key of a scope.

    A key is a mask, whose length is the number of its true elements, or the node of that number.
    """
    if key not in scope.chosen:
        number = len(scope.chosen)
        symbol = scope.chosen[key] = Symbol(f"m{number}", CHOSEN)
        scope.values[symbol] = FIRST + STEP * number
    return dim(scope.chosen[key])


def assumed_equal(left: Dim, right: Dim) -> bool:
    """Whether two lengths are equal, where NumPy raises an error if they are not.

    A length that only the running program knows is assumed to be equal to the other one from here
    on; the program asks once it has counted.
    """
    if not chosen_in(left, right):
        return left == right
    scope = current_scope()
    if scope.value(left) == scope.value(right):
        return left == right
    for one, other in ((left, right), (right, left)):
        free = chosen_in(one) - chosen_in(other)
        for symbol in sorted(free, key=lambda s: scope.values[s], reverse=True):
            if one is dim(symbol):
                scope.values[symbol] = scope.value(other)
                scope.record(Guard(left, right, "==", True))
                return True
    return False


def assumed_multiple(length: Dim, divisor: Dim) -> None:
    """Let what stands for a length that only the running program knows be a multiple of another."""
    (symbol, *others) = chosen_in(length) or (None,)
    if symbol is None or others or chosen_in(divisor):
        return
    scope = current_scope()
    factor = scope.value(divisor)
    if factor > 0 and scope.value(length) % factor:
        scope.values[symbol] *= factor


def chosen_in(*lengths: Dim) -> frozenset[Symbol]:
    """The symbols of such lengths that occur in some lengths."""
    return frozenset(symbol for symbol in symbols_in(*lengths) if symbol.kind is CHOSEN)


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
