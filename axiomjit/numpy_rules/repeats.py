"""The rules that repeat arrays and elements, and the rules of np.tril and np.triu."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from axiomjit.graph import builder
from axiomjit.graph.nodes import Node, Scalar
from axiomjit.graph.primitives import WHERE
from axiomjit.graph.shape_ops import insert_dimensions, is_copied, reshaped
from axiomjit.numpy_rules.creation import COUNTERS
from axiomjit.numpy_rules.elementwise import copied
from axiomjit.numpy_rules.library import OneAxis, flat_along
from axiomjit.numpy_rules.options import Rule, array_node, refuse
from axiomjit.symbolic.dims import Dim, dim
from axiomjit.symbolic.index_maps import Affine, iterator


def _count(value: Any, function: str, option: str) -> Dim:
    """The number of repeats, as a length.

    Raises:
        UnsupportedError: the number is computed, or it is an array.
        ValueError: the number is negative.
    """
    if isinstance(value, Node | np.ndarray | list | tuple):
        raise refuse(function, option, value)
    times = value if isinstance(value, Dim) else dim(operator.index(value))
    if times < 0:
        raise ValueError("repeats may not contain negative values.")
    return times


def _tile(A: object, reps: Any) -> Node:
    """The rule of np.tile: a copy in C order, or in the array's memory order if nothing repeats."""
    node = array_node(A, "tile")
    given = reps if isinstance(reps, list | tuple) else (reps,)
    times = tuple(_count(one, "tile", "reps") for one in given)
    node = insert_dimensions(node, range(len(times) - len(node.shape)))
    times = (dim(1),) * (len(node.shape) - len(times)) + times
    if all(one.constant == 1 for one in times):
        return copied(node)
    return _repeated(node, times, before=True)


def _repeat(a: object, repeats: Any, axis: OneAxis = None) -> Node:
    """The rule of np.repeat with a single number of repeats: a copy in C order."""
    times = _count(repeats, "repeat", "repeats")
    node, along = flat_along(array_node(a, "repeat"), axis)
    each = [times if d == along else dim(1) for d in range(len(node.shape))]
    return _repeated(node, each, before=False)


def _repeated(node: Node, times: Sequence[Dim], *, before: bool) -> Node:
    """The node, repeated along each dimension; with `before` in entire copies, else by elements."""
    maps: list[Affine] = []
    extents: list[Dim] = []
    for length, count in zip(node.shape, times, strict=True):
        both = (count, length) if before else (length, count)
        maps.append(iterator(len(extents) + (before and count.constant != 1)))
        extents += both if count.constant != 1 else (length,)
    spread = builder.view(node, tuple(maps), tuple(extents))
    merged = tuple(n if m.constant == 1 else n * m for n, m in zip(node.shape, times, strict=True))
    made = reshaped(spread, merged)
    return made if is_copied(spread, merged) else copied(made, "C")


def _triangle_rule(name: str, *, upper: bool) -> Rule:
    def rule(m: object, k: Any = 0) -> Node:
        if not isinstance(k, int | np.integer | Dim):
            raise refuse(name, "k", k)
        node = array_node(m, name)
        if not node.shape:
            raise TypeError("tri() missing 1 required positional argument: 'N'")
        lengths = node.shape[-2:]
        below = COUNTERS[np.tri](lengths[0], lengths[-1], k - 1 if upper else k, bool)
        zero = Scalar(node.dtype, node.dtype.type(0), False)
        return builder.elementwise(WHERE, below, *((zero, node) if upper else (node, zero)))

    return rule


FUNCTIONS: Final[dict[Callable[..., object], Rule]] = {
    np.tile: _tile,
    np.repeat: _repeat,
    np.tril: _triangle_rule("tril", upper=False),
    np.triu: _triangle_rule("triu", upper=True),
}
METHODS: Final[dict[str, Rule]] = {"repeat": _repeat}
