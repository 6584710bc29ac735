"""Data-dependent lengths, known only while the program runs, such as a mask's true count.

Such a length is a symbol. During tracing it has a large stand-in value, so that comparisons have an
outcome. Once the program has counted, it checks the guards of these comparisons again; if one
fails, the program is not valid for this call. Where such a length must equal another one, it is
assumed to, with a guard.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from axiomjit.base.records import Record
from axiomjit.symbolic.dims import (
    Dim,
    Guard,
    Kind,
    Scope,
    Symbol,
    current_scope,
    dim,
    symbols_in,
)

DATA_DEPENDENT: Final = Kind("number chosen", 0)
"""The kind of data-dependent lengths, such as the number of true elements of a mask."""
STEP: Final = 720_720
"""The least common multiple of 1 to 16, so that stand-in values can be split into rows."""
FIRST: Final = 1_009 * STEP
"""The first stand-in value, larger than lengths in user code."""


class OtherLengthError(Exception):
    """A length differs from its value assumed during tracing."""


class OtherResultError(OtherLengthError):
    """A result's shape or dtype differs from the inferred one; it depends on values."""


class UnfitNumberError(OtherLengthError):
    """A stored number does not fit its element's dtype: NumPy defines the result."""


class DataDependent(Record):
    """A data-dependent length and the guards that compare it."""

    symbol: Symbol
    guards: tuple[Guard, ...]

    def check(self, lengths: Mapping[Symbol, int]) -> None:
        """Check the guards against the now known length.

        Raises:
            OtherLengthError: a guard does not hold.
        """
        for guard in self.guards:
            if not guard.holds(lengths):
                assumed = f"{guard.left} {guard.sign} {guard.right} was taken for {guard.outcome}"
                found = f"{self.symbol.name} = {lengths[self.symbol]}"
                raise OtherLengthError(f"{found}, where {assumed}")


def data_dependent_length(scope: Scope, key: object) -> Dim:
    """The data-dependent length for `key`; in a scope, each key has one symbol.

    The key is a mask whose true elements are counted, or the node that computes the length.
    """
    if key not in scope.data_dependent:
        number = len(scope.data_dependent)
        symbol = scope.data_dependent[key] = Symbol(f"m{number}", DATA_DEPENDENT)
        scope.values[symbol] = FIRST + STEP * number
    return dim(scope.data_dependent[key])


def assumed_equal(left: Dim, right: Dim) -> bool:
    """True if two lengths are equal, where NumPy raises an error if they are not.

    A data-dependent length is assumed equal to the other one from here on, with a guard for the
    run.
    """
    if not data_dependent_in(left, right):
        return left == right
    scope = current_scope()
    if scope.value(left) == scope.value(right):
        return left == right
    for one, other in ((left, right), (right, left)):
        free = data_dependent_in(one) - data_dependent_in(other)
        for symbol in sorted(free, key=lambda s: scope.values[s], reverse=True):
            if one is dim(symbol):
                scope.values[symbol] = scope.value(other)
                scope.record(Guard(left, right, "==", True))
                return True
    return False


def assumed_multiple(length: Dim, divisor: Dim) -> None:
    """Make the stand-in value of a data-dependent length a multiple of another length."""
    (symbol, *others) = data_dependent_in(length) or (None,)
    if symbol is None or others or data_dependent_in(divisor):
        return
    scope = current_scope()
    factor = scope.value(divisor)
    if factor > 0 and scope.value(length) % factor:
        scope.values[symbol] *= factor


def data_dependent_in(*lengths: Dim) -> frozenset[Symbol]:
    """The symbols of data-dependent lengths in these lengths."""
    return frozenset(symbol for symbol in symbols_in(*lengths) if symbol.kind is DATA_DEPENDENT)


class HeuristicScope(Scope):
    """A scope for decisions that change a program's speed, not its results.

    It records no guard on data-dependent lengths: every outcome is right.
    """

    def __init__(self, scope: Scope) -> None:
        """Share the values and guards of a scope."""
        self.values, self.guards = scope.values, scope.guards
        self.data_dependent = scope.data_dependent

    def record(self, guard: Guard) -> None:
        """Store the guard if its lengths are known before the program runs."""
        if not data_dependent_in(guard.left, guard.right):
            super().record(guard)
