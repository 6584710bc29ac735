"""Requirements between lengths of axes: checked at once if the lengths are known, else at a call.

A requirement is kept beside the node it belongs to, as its origin is, never in it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Final
from weakref import WeakKeyDictionary

from axiomjit.algebra.dims import SIGNS, Dim, Symbol, evaluate
from axiomjit.axis.axes import Axes
from axiomjit.axis.axis import Axis
from axiomjit.base.errors import AxesError
from axiomjit.base.origins import user_location
from axiomjit.base.records import Record
from axiomjit.graph.nodes import Node, is_view, post_order

MessageParts = tuple[str, str, str]
"""What was asked, what was seen, and what to do instead."""


class Requirement(Record):
    """`left sign right`; `explain` makes the error message, with the lengths known then."""

    left: Dim
    sign: str
    right: Dim
    explain: Callable[[], MessageParts]
    where: str | None

    def check(self, lengths: Mapping[Symbol, int]) -> None:
        """Compare the lengths.

        Raises:
            AxesError: the requirement does not hold.
        """
        if not SIGNS[self.sign](evaluate(self.left - self.right, lengths), 0):
            raise AxesError(*self.explain(), self.where)


_required: Final[WeakKeyDictionary[Node, tuple[Requirement, ...]]] = WeakKeyDictionary()


def require(
    node: Node,
    left: Dim,
    sign: str,
    right: Dim,
    axes: Iterable[Axis],
    explain: Callable[[], MessageParts],
) -> None:
    """Require `left sign right` for the value of a node.

    Args:
        node: The node that needs it.
        left: A length.
        sign: One of `== < <= > >=`.
        right: A length.
        axes: The axes on whose lengths the two depend.
        explain: The three parts of the error; it may hold axes, but not the node.

    Raises:
        AxesError: the lengths are known and it does not hold.
    """
    requirement = Requirement(left, sign, right, explain, user_location())
    known = known_lengths(axes)
    roots = {root for axis in axes for root in axis.roots}
    decided = (left - right).constant is not None
    if decided or len(known) == len(roots):
        requirement.check(known)
        return
    before = _required.get(node, ())
    if all((r.left, r.sign, r.right) != (left, sign, right) for r in before):
        _required[node] = (*before, requirement)


def of_nothing(asked: str, name: str) -> MessageParts:
    """The error of a fold of no elements that has no value then."""
    seen = f"a length of 0, and {name} of nothing has no value"
    return asked, seen, "reduce axes that have a position"


def inherit(node: Node, source: Node) -> None:
    """Require for a node what another node, and the node that this one views, require."""
    found = list(_required.get(source, ()))
    while is_view(source):
        (source,) = source.children
        found += _required.get(source, ())
    if found:
        _required[node] = tuple(dict.fromkeys((*_required.get(node, ()), *found)))


def known_lengths(axes: Iterable[Axis]) -> dict[Symbol, int]:
    """The known lengths of the roots of axes."""
    lengths = {root.symbol: root.length for axis in axes for root in axis.roots}
    return {symbol: length for symbol, length in lengths.items() if length is not None}


def bound_lengths(outputs: Iterable[Node], axes: Axes, asked: str) -> dict[Symbol, int]:
    """The length of every root of axes, after checking all requirements of nodes below the outputs.

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
        for requirement in _required.get(node, ()):
            requirement.check(lengths)
    return lengths
