"""Data-dependent lengths, known only while the program runs, such as a mask's true count.

A data-dependent length is a symbol. During tracing the symbol has a large stand-in value, so that
comparisons have an outcome. When the running program knows the length, it checks the guards of
comparisons with the length; if a guard fails, the program is not valid for this call. Where NumPy
requires a data-dependent length to equal another length, a guard assumes that they are equal.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Final

from axiomjit.base.records import Record
from axiomjit.symbolic.dims import (
    INDEX,
    MIRRORED,
    Dim,
    Guard,
    Kind,
    Scope,
    Symbol,
    current_scope,
    dim,
    substitute,
    symbols_in,
)

DATA_DEPENDENT: Final = Kind("number chosen", 0)
"""The kind of data-dependent lengths, such as the number of true elements of a mask."""
TRUTH: Final = Kind("truth", 0, 1)
"""The kind of conditions that the program computes; their values are 0 and 1."""
STATUS: Final = Kind("status", 0, 1)
"""The kind of truth values that say if all checks of a loop hold; if not, Python answers the
call."""
COMPUTED: Final = Kind("computed integer")
"""The kind of integers that the program computes."""
PLACE: Final = Kind("place")
"""The kind of positions of a block, and of distances between such positions; they are known when
the block is known."""
RUNTIME_KINDS: Final = frozenset({DATA_DEPENDENT, TRUTH, STATUS, COMPUTED})
"""The kinds of numbers that are known only while the program runs."""
STAND_IN_STEP: Final = 720_720
"""The step between stand-in values: the least common multiple of 1 to 16, so that stand-in lengths
can be split into rows."""
FIRST_STAND_IN: Final = 1_009 * STAND_IN_STEP
"""The first stand-in value; lengths in user code are smaller."""


Decisions = tuple[tuple[Guard, str], ...]
"""Comparisons decided by computed numbers, in order, each with the user's line that asked for
it."""


class OtherLengthError(Exception):
    """A length, or the truth value of a computed value, is not the one that tracing has assumed.

    `known` holds the numbers known so far, by symbol.
    """

    known: Mapping[Symbol, int] = MappingProxyType({})


class OtherResultError(OtherLengthError):
    """A result's shape or dtype depends on values and differs from the inferred one."""


class UnfitNumberError(OtherLengthError):
    """A number that is stored does not fit the dtype of its element; NumPy then runs the call."""


_RANGES: Final[dict[tuple[str, bool], tuple[int | None, int | None]]] = {
    **{("<", True): (None, -1), ("<", False): (0, None)},
    **{("<=", True): (None, 0), ("<=", False): (1, None)},
    **{(">", True): (1, None), (">", False): (None, 0)},
    **{(">=", True): (0, None), (">=", False): (None, -1)},
    ("==", True): (0, 0),
}
"""The least and the greatest number whose comparison with 0 has an outcome; None for no limit."""


class DataDependent(Record):
    """A data-dependent length and the guards that compare it.

    `is_length` is False for a number that no length depends on; only the guards need its value.
    """

    symbol: Symbol
    guards: tuple[Guard, ...]
    is_length: bool = True

    def range_by(
        self, guard: Guard, lengths: Mapping[Symbol, int | Dim]
    ) -> tuple[int | Dim, int | Dim] | None:
        """The range of numbers for which a guard holds; None if these numbers are not one range.

        The ends of the range are computed from `lengths`, whose values may be Dims.
        """
        known = {symbol: dim(length) for symbol, length in lengths.items()}
        apart, number = substitute(guard.left - guard.right, known), dim(self.symbol)
        for end, sign in ((number - apart, guard.sign), (number + apart, MIRRORED[guard.sign])):
            ends = _RANGES.get((sign, guard.outcome))
            if ends is None and end.constant == self.symbol.kind.low:
                ends = (1, None)  # a number that is not its least value is larger
            if self.symbol not in end.symbols and ends is not None:
                low, high = (None if one is None else end + one for one in ends)
                return (
                    -(2**63) if low is None else low,
                    2**63 - 1 if high is None else high,
                )
        return None

    def check(self, lengths: Mapping[Symbol, int]) -> None:
        """Check the guards with the value that the program has computed.

        Raises:
            OtherLengthError: a guard does not hold.
        """
        for guard in self.guards:
            if not guard.holds(lengths):
                assumed = f"{guard.left} {guard.sign} {guard.right} was taken for {guard.outcome}"
                found = f"{self.symbol.name} = {lengths[self.symbol]}"
                error = OtherLengthError(f"{found}, where {assumed}")
                error.known = lengths
                raise error


def data_dependent_length(scope: Scope, key: object) -> Dim:
    """The data-dependent length for `key`; each key has one symbol per scope.

    The key is a mask whose true elements are counted, or the node that computes the length.
    """
    if key not in scope.data_dependent:
        number = len(scope.data_dependent)
        symbol = scope.data_dependent[key] = Symbol(f"m{number}", DATA_DEPENDENT)
        scope.values[symbol] = FIRST_STAND_IN + STAND_IN_STEP * number
    return dim(scope.data_dependent[key])


def computed_number(scope: Scope, key: object, kind: Kind, value: int, where: str) -> Dim:
    """A number that the program computes; its value in this call decides comparisons.

    The outcomes become guards, since another value may need another program.

    Args:
        scope: The scope of the trace.
        key: The node that computes the number.
        kind: `TRUTH`, `STATUS` or `COMPUTED`.
        value: The value of the number in this call.
        where: The user's line that asks for the value.
    """
    symbol = scope.data_dependent[key] = Symbol(f"m{len(scope.data_dependent)}", kind)
    scope.values[symbol], scope.computed[symbol] = value, where
    return dim(symbol)


def decisions(scope: Scope) -> Decisions:
    """The comparisons decided so far by values of computed numbers, in order."""
    found = []
    for guard in scope.guards:
        asked = data_dependent_in(guard.left, guard.right)
        if asked and asked <= scope.computed.keys():
            found.append((guard, scope.computed[max(asked, key=[*scope.computed].index)]))
    return tuple(found)


def assumed_equal(left: Dim, right: Dim) -> bool:
    """True if two lengths are equal; called where NumPy raises an error for unequal lengths.

    A data-dependent length is assumed equal to the other length from here on; the running program
    checks the guard.
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
    """The symbols in these expressions that stand for data-dependent lengths."""
    return data_dependent_among(symbols_in(*lengths))


def data_dependent_among(symbols: Iterable[Symbol]) -> frozenset[Symbol]:
    """The symbols that stand for data-dependent lengths."""
    return frozenset([symbol for symbol in symbols if symbol.kind in RUNTIME_KINDS])


class HeuristicScope(Scope):
    """A scope for decisions that change a program's speed, not its results.

    The scope records no guard on data-dependent lengths or loop indices, since the program is right
    for either outcome.
    """

    def __init__(self, scope: Scope) -> None:
        """Share the values and guards of a scope."""
        self.values, self.guards = scope.values, scope.guards
        self.data_dependent, self.indices = scope.data_dependent, scope.indices

    def record(self, guard: Guard) -> None:
        """Store the guard if its lengths are known before the program runs."""
        indices = (s for s in symbols_in(guard.left, guard.right) if s.kind == INDEX)
        if not data_dependent_in(guard.left, guard.right) and not any(indices):
            super().record(guard)


class BodyScope(HeuristicScope):
    """The scope in which a loop's body is lowered: a decision has an effect in every trip."""
