"""`np.piecewise`: functions of the elements that masks choose, in one new array."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from axiomjit.base.dtypes import BOOL
from axiomjit.graph import builder
from axiomjit.graph.builder import cast
from axiomjit.graph.nodes import Node
from axiomjit.graph.primitives import PRIMITIVES
from axiomjit.numpy_table.creation import FUNCTIONS as NEW
from axiomjit.numpy_table.indexing import index_node
from axiomjit.numpy_table.reductions import FUNCTIONS as REDUCTIONS
from axiomjit.numpy_table.shapes import array_node
from axiomjit.tracing.operands import node_of


def piecewise(
    represented: Callable[[Node, bool], Any],
    x: Any,
    condlist: Any,
    funclist: Any,
    *args: Any,
    **kw: Any,
) -> Any:
    """What `np.piecewise` gives: where a condition holds a number, or a function of the elements.

    Raises:
        ValueError: there are too few or too many functions.
    """
    node = array_node(node_of(x), "piecewise")
    given, values = represented(node, True), represented(NEW[np.zeros_like](node), True)
    conditions = _conditions(condlist, node, len(funclist))
    for condition, function in zip(conditions, funclist, strict=True):
        mask = represented(condition, True)
        value = function
        if callable(function):
            value = function(given[mask] if node.shape else given.reshape(1), *args, **kw)
        if node.shape:
            values[mask] = value
        else:  # one bool cannot choose what the result is made of
            np.copyto(values, np.reshape(value, ()), casting="unsafe", where=mask)
    return values


def _conditions(condlist: Any, node: Node, count: int) -> list[Node]:
    """The masks of the functions; where there is one function more, it has all other elements."""
    first = None if np.isscalar(condlist) else condlist[0]
    if first is None or (not isinstance(first, list | np.ndarray) and node.shape):
        condlist = [condlist]
    every = cast(array_node(node_of(condlist), "piecewise"), BOOL)
    found = [index_node(every, k) for k in range(int(every.shape[0]))]
    if len(found) == count - 1:
        some = REDUCTIONS[np.any](every, 0)
        return [*found, builder.elementwise(PRIMITIVES["logical_not"], some)]
    if len(found) != count:
        raise ValueError(
            f"with {len(found)} condition(s), either {len(found)} or {len(found) + 1} functions "
            "are expected"
        )
    return found
