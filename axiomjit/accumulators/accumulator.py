"""An accumulator: an initial value with functions that lift, combine and finish states."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from functools import lru_cache
from typing import Any, Final, NamedTuple

import numpy as np

from axiomjit.accumulators.scalars import trace_scalars
from axiomjit.base.caching import DEFAULT_LIMIT, BoundedTable
from axiomjit.base.dtypes import DType, Promotable, common, convert
from axiomjit.base.errors import GraphTypeError, GraphValueError, amount
from axiomjit.base.origins import hides_frames, user_location
from axiomjit.graph.builder import cast
from axiomjit.graph.nodes import Node
from axiomjit.graph.reductions import StateFold

Number = bool | int | float | complex | np.generic
Start = Number | tuple[Number, ...]
MAX_WIDENINGS: Final = 8
"""How often a state's dtypes may widen before they must be stable."""


class Accumulator:
    """An associative operation that reduces elements, starting from an initial value.

    The reduction of elements m1 to mN is `final(combine(... combine(combine(init, lift(m1)),
    lift(m2)) ..., lift(mN)))`, up to the placement of parentheses: elements are reduced in blocks.
    `init` is used once, as the leftmost operand; without elements the result is `final(init)`.

    Args:
        init: A number, or a tuple of numbers for a state of several values; None to start from the
            first element, so that an empty reduction is an error.
        combine: Takes two states and returns one; it must be associative. States are numbers, or
            tuples of numbers if `init` (or, without `init`, the result of `lift`) is a tuple.
        lift: Takes an element of each operand and returns a state; by default the elements
            themselves are the state.
        final: Takes a state and returns the result, a number or a tuple of numbers; by default the
            state is the result.
        commutative: True if the order of elements does not matter. If it matters, elements are
            combined in lexicographic order of the listed axes.
        has_identity: True if combining a state with `init` changes nothing, so that `init` may be
            used more than once.
        pullback: The adjoint of `combine` for gradients. By default, and always for folds by
            groups, it is derived from `combine`. The pullback takes the cotangent of the combined
            state, the combined state and both operands of `combine`, and returns the cotangents of
            these operands. The pullback is linear in its first argument.

    The functions are traced once per combination of dtypes; they may use operators, NumPy's ufuncs
    and `np.where`. dtypes follow NumPy: a state has the dtype of the lifted elements, or a wider
    dtype to which `combine` or `init` promotes it.

    Raises:
        GraphTypeError: `init` is not a number or tuple of numbers, or a function is not callable.

    Examples:
        >>> last = aj.Accumulator(0.0, lambda a, b: b)
        >>> aj.fold(last, np.array([[1.0, 2.0], [3.0, 4.0]]), axes=1)
        array([2., 4.])
    """

    __slots__ = (
        *("_traced", "cache", "combine", "commutative", "final", "has_identity", "init", "lift"),
        "pullback",
    )

    init: Start | None
    combine: Callable[..., Any]
    lift: Callable[..., Any] | None
    final: Callable[..., Any] | None
    commutative: bool
    has_identity: bool
    pullback: Callable[..., Any] | None
    cache: BoundedTable[Hashable, Any]

    @hides_frames
    def __init__(
        self,
        init: Start | None,
        combine: Callable[..., Any],
        lift: Callable[..., Any] | None = None,
        final: Callable[..., Any] | None = None,
        commutative: bool = False,
        has_identity: bool = False,
        pullback: Callable[..., Any] | None = None,
    ) -> None:
        """Store the functions; they are traced at the first fold of operands with new dtypes."""
        self.init = None if init is None else _checked_start(init)
        functions = ("combine", combine), ("lift", lift), ("final", final), ("pullback", pullback)
        for name, function in functions:
            if not callable(function) and (function is not None or name == "combine"):
                raise GraphTypeError(
                    f"Accumulator(..., {name}={function!r})",
                    f"a {type(function).__name__}, which cannot be called",
                    f"give a function of states as {name}",
                    user_location(),
                )
        self.combine, self.lift, self.final, self.pullback = combine, lift, final, pullback
        self.commutative, self.has_identity = bool(commutative), bool(has_identity)
        self._traced = lru_cache(maxsize=DEFAULT_LIMIT)(self._trace)
        self.cache = BoundedTable()

    def traced(self, operands: Sequence[DType]) -> TracedAccumulator:
        """The graphs of scalars of the functions, for elements of these dtypes."""
        return self._traced(tuple(operands))

    def __repr__(self) -> str:
        return f"Accumulator({self.init!r}, {_name_of(self.combine)})"

    def _trace(self, operands: tuple[DType, ...]) -> TracedAccumulator:
        lifted, grouped = self._lifted(operands)
        fold = self._with_stable_dtypes([node.dtype for node in lifted], grouped)
        states = tuple(cast(node, d) for node, d in zip(lifted, fold.parts, strict=True))
        if self.final is None:
            return TracedAccumulator(states, fold, None, grouped)
        asked = f"final of {self!r}"
        found, is_tuple = trace_scalars(self.final, [fold.parts], grouped, asked)
        return TracedAccumulator(states, fold, found, is_tuple)

    def _lifted(self, operands: tuple[DType, ...]) -> tuple[tuple[Node, ...], bool]:
        """The nodes of the state that `lift` makes of an element, and True if states are tuples."""
        lift = self.lift
        if lift is None:
            grouped = isinstance(self.init, tuple) or len(operands) > 1
            lift = (lambda *e: e) if grouped else (lambda e: e)
        asked = f"lift of {self!r}"
        found, is_tuple = trace_scalars(lift, [(d,) for d in operands], False, asked)
        if self.init is not None:
            wanted = len(self.init) if isinstance(self.init, tuple) else None
            self._check_state(found, is_tuple, wanted, asked)
        return found, is_tuple

    def _with_stable_dtypes(self, dtypes: list[DType], grouped: bool) -> StateFold:
        """The fold, with dtypes of the state widened until `combine` no longer changes them."""
        start = self.init if isinstance(self.init, tuple) else (self.init,) * len(dtypes)
        parts = [
            common((d, _promotion_operands(value, d)))
            for d, value in zip(dtypes, start, strict=True)
        ]
        asked = f"combine of {self!r}"
        for _ in range(MAX_WIDENINGS):
            found, is_tuple = trace_scalars(self.combine, [parts, parts], grouped, asked)
            self._check_state(found, is_tuple, len(dtypes) if grouped else None, asked)
            wider = [common((d, node.dtype)) for d, node in zip(parts, found, strict=True)]
            if wider == parts:
                outputs = tuple(cast(n, d) for n, d in zip(found, parts, strict=True))
                values = tuple(_as_start(v, d) for v, d in zip(start, parts, strict=True))
                flags = self.commutative, self.has_identity, self.init is not None
                return StateFold(outputs, values, *flags, self._pullback(parts, grouped))
            parts = wider
        raise GraphTypeError(
            asked,
            f"a state whose dtypes widen each time it is combined: {', '.join(map(str, parts))}",
            "convert the result of combine with .astype(...)",
            user_location(),
        )

    def _pullback(self, parts: Sequence[DType], grouped: bool) -> tuple[Node, ...]:
        """The graph of the pullback for states of these dtypes; empty if there is no pullback."""
        pullback = self.pullback
        if pullback is None:
            return ()

        def both(*given: Any) -> Any:
            made = pullback(*given)
            if not grouped or not isinstance(made, tuple):
                return made
            return tuple(
                one for each in made for one in (each if isinstance(each, tuple) else (each,))
            )

        asked = f"pullback of {self!r}"
        found, is_tuple = trace_scalars(both, [parts] * 4, grouped, asked)
        if not is_tuple or len(found) != 2 * len(parts):
            kind = f"tuple of {amount(len(parts), 'number')}" if grouped else "number"
            raise GraphValueError(
                asked,
                amount(len(found), "number"),
                f"return the cotangents of both states, each a {kind}",
                user_location(),
            )
        return tuple(cast(node, part) for node, part in zip(found, (*parts, *parts), strict=True))

    def _check_state(
        self, found: Sequence[Node], is_tuple: bool, wanted: int | None, asked: str
    ) -> None:
        """Check that a state is a tuple of `wanted` values; a number if `wanted` is None.

        Raises:
            GraphValueError: the state is a number instead of a tuple, a tuple instead of a number,
                or of another length.
        """
        if (len(found) if is_tuple else None) != wanted:
            shape = f"a tuple of {amount(len(found), 'number')}" if is_tuple else "a number"
            like = "a number" if wanted is None else f"a tuple of {amount(wanted, 'number')}"
            other = "lift gives" if self.init is None else f"init is {self.init!r},"
            raise GraphValueError(
                asked,
                f"{shape} as a state, where {other} {like}",
                f"return {like}",
                user_location(),
            )


class TracedAccumulator(NamedTuple):
    """The functions of an accumulator as graphs of scalars, for certain dtypes.

    The inputs of `lift` are one element of each operand. The inputs of `final` are the state's
    values; `final` is None if the state itself is the result.
    """

    lift: tuple[Node, ...]
    fold: StateFold
    final: tuple[Node, ...] | None
    is_tuple: bool
    """True if the result is a tuple."""


def _checked_start(init: object) -> Start:
    values = init if isinstance(init, tuple) else (init,)
    if values and all(isinstance(value, Number) for value in values):
        return init  # type: ignore[return-value]
    raise GraphTypeError(
        f"Accumulator({type(init).__name__}, ...)",
        "an init that is no number and no tuple of numbers",
        "give a number, or a tuple with one number per value of the state",
        user_location(),
    )


def _promotion_operands(value: Number | None, dtype: DType) -> Promotable:
    """The promotion operand of an initial value: Python numbers are weak, None gives `dtype`."""
    if value is None:
        return dtype
    if isinstance(value, np.generic):
        return value.dtype
    return np.dtype(np.bool_) if isinstance(value, bool) else type(value)


def _as_start(value: Number | None, dtype: DType) -> np.generic:
    number: np.generic = convert(np.asarray(0 if value is None else value), dtype)[()]
    return number


def _name_of(function: Callable[..., Any]) -> str:
    return getattr(function, "__name__", type(function).__name__)
