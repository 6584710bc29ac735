"""Functions that rules share: nodes of arguments, refused options, dimensions of `axis`."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np
from numpy.lib.array_utils import normalize_axis_tuple

from axiomjit.base.errors import UnsupportedError
from axiomjit.base.origins import user_location
from axiomjit.base.records import Record
from axiomjit.graph import builder
from axiomjit.graph.nodes import Node, describe_type

AxisOption = int | Sequence[int] | None
Rule = Callable[..., Any]
"""The implementation of a NumPy function: it takes nodes for arrays, and returns nodes."""


class RuleByKind(Record):
    """The two rules of a function: one for arrays, one for numbers and lists, as in NumPy."""

    of_arrays: Rule
    of_numbers: Rule

    def __call__(self, *args: Any, **options: Any) -> Any:
        """Call the rule for arrays."""
        return self.of_arrays(*args, **options)


UNGIVEN: Final = np._NoValue


def refuse(function: str, option: str, value: object) -> UnsupportedError:
    """The error for an option that is not compiled."""
    shown = describe_type(value) if isinstance(value, Node) else repr(value)
    return UnsupportedError(
        f"{function}(..., {option}={shown})",
        f"the option {option} of {function}",
        f"call {function} without {option}, or apply it outside the compiled function",
        user_location(),
    )


def array_node(value: object, function: str) -> Node:
    """The node of an array; a Python number becomes an array without dimensions."""
    return builder.strong(builder.as_node(value, function))


def only_defaults(function: str, **options: object) -> None:
    """Refuse options with another value than their default.

    Raises:
        UnsupportedError: an option is given that is neither None nor True.
    """
    for option, value in options.items():
        if value is not None and value is not UNGIVEN and value is not True:
            raise refuse(function, option, value)


def kept(keepdims: Any) -> bool:
    """True if a reduction keeps the reduced dimensions, with length 1."""
    if keepdims is UNGIVEN or isinstance(keepdims, bool | np.bool):
        return keepdims is not UNGIVEN and bool(keepdims)
    return operator.index(keepdims) != 0


def reduced_dimensions(node: Node, axis: AxisOption) -> tuple[int, ...]:
    """The dimensions of an `axis` argument in ascending order, in which NumPy reduces them.

    Raises:
        numpy.exceptions.AxisError: there is no such dimension.
    """
    is_array = isinstance(axis, np.ndarray | bool)
    if not node.shape and not is_array and axis in (0, -1):
        return ()
    return counted_dimensions(node, axis)


def counted_dimensions(node: Node, axis: AxisOption) -> tuple[int, ...]:
    """The dimensions of an `axis` argument, for functions that count elements.

    In contrast to `reduced_dimensions`, a number has no dimension 0.

    Raises:
        numpy.exceptions.AxisError: there is no such dimension.
    """
    if isinstance(axis, list | set | frozenset | dict | np.ndarray | bool | str):
        kind = type(axis).__name__
        raise TypeError(f"'{kind}' object cannot be interpreted as an integer: axis={axis!r}")
    rank = len(node.shape)
    return tuple(range(rank)) if axis is None else tuple(sorted(normalize_axis_tuple(axis, rank)))
