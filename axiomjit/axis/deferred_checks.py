"""Requirements on lengths of axes, checked at once or, if a length is unknown, at a call.

Requirements are stored in a table by node, not in the node, like the origins of nodes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Final
from weakref import WeakKeyDictionary

from axiomjit.axis.axes import Axes
from axiomjit.axis.axis import Axis
from axiomjit.base.errors import AxesError
from axiomjit.base.origins import user_location
from axiomjit.base.records import Record
from axiomjit.graph.nodes import Node, post_order, views_on
from axiomjit.symbolic.dims import Dim, Guard, Symbol, dim

MessageParts = tuple[str, str, str]
"""The three parts of an error: the request, the finding, and the remedy."""


class Refusal(Record):
    """The error for a guard that fails: `explain` returns the three parts of the message."""

    explain: Callable[[], MessageParts]
    where: str | None


_required: Final[WeakKeyDictionary[Node, dict[Guard, Refusal]]] = WeakKeyDictionary()


def _check(guard: Guard, refusal: Refusal, lengths: Mapping[Symbol, int]) -> None:
    if not guard.holds(lengths):
        raise AxesError(*refusal.explain(), refusal.where)


def require(
    node: Node,
    left: Dim,
    sign: str,
    right: Dim,
    axes: Iterable[Axis],
    explain: Callable[[], MessageParts],
) -> None:
    """Require that `left sign right` holds wherever the value of a node is computed.

    Args:
        node: The node whose value is defined only if the comparison holds.
        left: A length.
        sign: The comparison, one of `== < <= > >=`.
        right: A length.
        axes: The axes whose lengths `left` and `right` depend on.
        explain: Returns the three parts of the error; may refer to axes, but not to the node.

    Raises:
        AxesError: the lengths are known, and the comparison does not hold.
    """
    guard = Guard(left - right, dim(0), sign, True)
    refusal = Refusal(explain, user_location())
    known = known_lengths(axes)
    roots = {root for axis in axes for root in axis.roots}
    if guard.left.constant is not None or len(known) == len(roots):
        _check(guard, refusal, known)
        return
    _required.setdefault(node, {}).setdefault(guard, refusal)


def empty_reduction_message(asked: str, name: str) -> MessageParts:
    """The three parts of the error for a reduction without elements that has no value."""
    seen = f"a length of 0, and {name} of nothing has no value"
    return asked, seen, "reduce axes that have a position"


def inherit(node: Node, source: Node) -> None:
    """Copy to `node` the requirements of `source` and of all nodes that `source` is a view of."""
    base, views = views_on(source)
    for one in (*reversed(views), base):
        for guard, refusal in _required.get(one, {}).items():
            _required.setdefault(node, {}).setdefault(guard, refusal)


def known_lengths(axes: Iterable[Axis]) -> dict[Symbol, int]:
    """The known lengths of the roots of axes, by symbol."""
    lengths = {root.symbol: root.length for axis in axes for root in axis.roots}
    return {symbol: length for symbol, length in lengths.items() if length is not None}


def bound_lengths(outputs: Iterable[Node], axes: Axes, asked: str) -> dict[Symbol, int]:
    """The lengths of the roots of `axes`, after checking all requirements below the outputs.

    Raises:
        AxesError: a length is unknown, or a requirement does not hold.
    """
    unknown = [root for root in axes.roots if root.length is None]
    if unknown:
        raise AxesError(
            f"values of {asked}",
            f"no length for {', '.join(map(repr, unknown))}",
            "assign axis.length before the call",
            user_location(),
        )
    lengths = known_lengths(axes)
    for node in post_order(tuple(outputs)):
        for guard, refusal in _required.get(node, {}).items():
            _check(guard, refusal, lengths)
    return lengths
