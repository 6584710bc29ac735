"""The built-in accumulators, each with the compiler's reduction that implements it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Final

import numpy as np

from axiomjit.accumulators.accumulator import Accumulator, Start
from axiomjit.base.errors import GraphValueError, amount
from axiomjit.base.origins import user_location
from axiomjit.graph.nodes import Node
from axiomjit.graph.primitives import MAX, MIN, SUM
from axiomjit.graph.reductions import choose_position, log_sum_exp
from axiomjit.numpy_rules import reductions

Build = Callable[[Node, tuple[int, ...]], Node]


class BuiltIn(Accumulator):
    """An accumulator implemented by the compiler's own reductions.

    The accumulator's functions define the meaning; `build(node, dimensions)` makes the reduction.
    The functions of argmax and argmin get the position of an element as a second operand.
    """

    __slots__ = ("build", "name")

    def __init__(
        self,
        name: str,
        build: Build,
        init: Start | None,
        combine: Callable[..., Any],
        lift: Callable[..., Any] | None = None,
        final: Callable[..., Any] | None = None,
    ) -> None:
        """Make a commutative accumulator whose `init`, if any, is its identity."""
        super().__init__(init, combine, lift, final, True, init is not None)
        self.name, self.build = name, build

    def operand(self, nodes: Sequence[Node]) -> Node:
        """The only operand of a fold by this accumulator.

        Raises:
            GraphValueError: there are several operands.
        """
        if len(nodes) != 1:
            raise GraphValueError(
                f"fold({self.name!r}) of {amount(len(nodes), 'operand')}",
                f"{self.name} takes one",
                "fold an expression of the operands",
                user_location(),
            )
        return nodes[0]

    def __repr__(self) -> str:
        return self.name


def _numpy_fold(function: Callable[..., Any]) -> Build:
    def build(node: Node, axes: tuple[int, ...]) -> Node:
        made: Node = reductions.FUNCTIONS[function](node, axes)
        return made

    return build


def _in_state_dtype(e: Any) -> Any:
    return e.astype(SUM.result_dtype(e.dtype))


def _combine_positions(better: np.ufunc) -> Callable[[Any, Any], Any]:
    def combine(a: Any, b: Any) -> Any:
        (value, place), (other, later) = a, b
        tie = np.equal(other, value) | (np.isnan(other) & np.isnan(value))
        wins = better(other, value) | (np.isnan(other) & ~np.isnan(value))
        wins = (wins & ~np.isnan(value)) | (tie & np.less(later, place))
        return np.where(wins, other, value), np.where(wins, later, place)

    return combine


def _merge_exponentials(a: Any, b: Any) -> Any:
    """Combine two states: a maximum, and the sum of exp(element - maximum)."""
    (m, s), (n, t) = a, b
    top, low = np.maximum(m, n), np.minimum(m, n)
    share = np.exp(low - np.where(np.isfinite(top), top, 0.0))  # inf - inf would be NaN
    return top, np.where(m == top, s + t * share, s * share + t)


def _merge_moments(a: Any, b: Any) -> Any:
    """Combine two states: a count, a mean, and the sum of squared deviations from the mean."""
    (n1, mean1, square1), (n2, mean2, square2) = a, b
    n, apart = n1 + n2, mean2 - mean1
    share = n2 / np.where(n == 0, 1.0, n)
    return n, mean1 + apart * share, square1 + square2 + apart * apart * (n1 * share)


def _moments(e: Any) -> Any:
    return 1.0, e, 0.0


def _accumulators() -> tuple[BuiltIn, ...]:
    return (
        BuiltIn("sum", _numpy_fold(np.sum), 0, np.add, _in_state_dtype),
        BuiltIn("prod", _numpy_fold(np.prod), 1, np.multiply, _in_state_dtype),
        BuiltIn("max", _numpy_fold(np.max), None, np.maximum),
        BuiltIn("min", _numpy_fold(np.min), None, np.minimum),
        BuiltIn("any", _numpy_fold(np.any), False, np.logical_or, lambda e: e != 0),
        BuiltIn("all", _numpy_fold(np.all), True, np.logical_and, lambda e: e != 0),
        BuiltIn(
            "argmax",
            partial(choose_position, MAX),
            None,
            _combine_positions(np.greater),
            None,
            lambda s: s[1],
        ),
        BuiltIn(
            "argmin",
            partial(choose_position, MIN),
            None,
            _combine_positions(np.less),
            None,
            lambda s: s[1],
        ),
        BuiltIn(
            *("mean", _numpy_fold(np.mean), (0.0, 0.0)),
            lambda a, b: (a[0] + b[0], a[1] + b[1]),
            lambda e: (e, 1.0),
            lambda s: s[0] / s[1],
        ),
        BuiltIn(
            *("logsumexp", log_sum_exp, (-np.inf, 0.0), _merge_exponentials),
            lambda e: (e, 1.0),
            lambda s: s[0] + np.log(s[1]),
        ),
        BuiltIn(
            *("variance", _numpy_fold(np.var), (0.0, 0.0, 0.0), _merge_moments, _moments),
            lambda s: s[2] / s[0],
        ),
        BuiltIn(
            *("std", _numpy_fold(np.std), (0.0, 0.0, 0.0), _merge_moments, _moments),
            lambda s: np.sqrt(s[2] / s[0]),
        ),
    )


BUILT_IN: Final[dict[str, BuiltIn]] = {one.name: one for one in _accumulators()}
"""The built-in accumulators by name."""
