"""The rules of `np.gradient`, derivatives on grids, and of `np.polyval`, values of polynomials."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np
from numpy.lib.array_utils import normalize_axis_tuple

from axiomjit.base.dtypes import BOOL, FLOAT, is_inexact, is_integer
from axiomjit.base.records import Record
from axiomjit.graph import builder
from axiomjit.graph.builder import cast
from axiomjit.graph.nodes import Node, Scalar
from axiomjit.graph.primitives import ALL_OF, PRIMITIVES, WHERE
from axiomjit.graph.shape_ops import insert_dimensions, sliced
from axiomjit.numpy_rules.indexing import index_node
from axiomjit.numpy_rules.neighbours import FUNCTIONS as NEIGHBOURS
from axiomjit.numpy_rules.options import AxisOption, Rule, array_node, refuse
from axiomjit.symbolic.data_dependent import assumed_equal, data_dependent_in

MAX_COEFFICIENTS: Final = 64
"""The largest number of coefficients of a polynomial that becomes one expression."""


def _operation(name: str) -> Callable[..., Node]:
    """The function that applies a primitive to each element of nodes and numbers."""

    def apply(*operands: object) -> Node:
        return builder.elementwise(
            PRIMITIVES[name], *(builder.as_node(operand, name) for operand in operands)
        )

    return apply


_add, _subtract = _operation("add"), _operation("subtract")
_multiply, _divide, _negative = map(_operation, ("multiply", "divide", "negative"))


class _Spacing(Record):
    """The distances between neighbours along a dimension.

    `equal` is the distance if all are equal. `apart` has the distance of each pair of neighbours,
    along the dimension of the array. `alike` is a bool: True if all distances are equal, so that
    `equal` is used.
    """

    equal: Node
    apart: Node | None = None
    alike: Node | None = None


def _spacings(node: Node, axes: Sequence[int], given: Sequence[object]) -> list[_Spacing]:
    """The spacing along each dimension, from the arguments of `np.gradient` after the array."""
    if len(given) == 1 and not array_node(given[0], "gradient").shape:
        given = list(given) * len(axes)
    if given and len(given) != len(axes):
        raise TypeError("invalid number of arguments")
    steps = [builder.as_node(one, "gradient") for one in given or [1.0] * len(axes)]
    return [_spacing(node, d, step) for d, step in zip(axes, steps, strict=True)]


def _spacing(node: Node, axis: int, step: Node) -> _Spacing:
    """The spacing along one dimension: a number, or the positions of its elements.

    As in NumPy, positions with equal distances are replaced by this distance.
    """
    if not step.shape:
        return _Spacing(step)
    if len(step.shape) != 1:
        raise ValueError("distances must be either scalars or 1d")
    if not assumed_equal(step.shape[0], node.shape[axis]):
        raise ValueError("when 1d, distances must match the length of the corresponding dimension")
    if step.dtype == BOOL:
        raise refuse("gradient", "varargs", step)
    if step.shape[0] <= 1:
        raise IndexError("index 0 is out of bounds for axis 0 with size 0")
    distances = NEIGHBOURS[np.diff](cast(step, FLOAT) if is_integer(step.dtype) else step)
    first = index_node(distances, 0)
    alike = builder.elementwise(PRIMITIVES["equal"], distances, first)
    behind = tuple(range(1, len(node.shape) - axis))
    return _Spacing(first, insert_dimensions(distances, behind), builder.fold(ALL_OF, alike, (0,)))


class _Along(Record):
    """An array, and the dimension along which it is differentiated."""

    node: Node
    axis: int

    def part(self, start: int | None, stop: int | None) -> Node:
        """The elements of a slice along the dimension."""
        return sliced(self.node, [self.axis], slice(start, stop))


def _weighted(line: _Along, weights: Sequence[Node], parts: Sequence[Any]) -> Node:
    """The sum of three slices of the array, each multiplied by its weight."""
    one, two, three = (_multiply(w, line.part(*at)) for w, at in zip(weights, parts, strict=True))
    return _add(_add(one, two), three)


_INSIDE: Final = ((None, -2), (1, -1), (2, None))
_FIRST: Final = ((0, 1), (1, 2), (2, 3))
_LAST: Final = ((-3, -2), (-2, -1), (-1, None))


def _equally_spaced(line: _Along, step: Node, edge_order: int) -> list[Node]:
    """The derivatives at the first element, inside, and at the last, for equal distances."""
    before, after = line.part(None, -2), line.part(2, None)
    inside = _divide(_subtract(after, before), _multiply(2.0, step))
    if edge_order == 1:
        first = _divide(_subtract(line.part(1, 2), line.part(0, 1)), step)
        last = _divide(_subtract(line.part(-1, None), line.part(-2, -1)), step)
        return [first, inside, last]
    forward, backward = (
        [_divide(number, step) for number in numbers]
        for numbers in ((-1.5, 2.0, -0.5), (0.5, -2.0, 1.5))
    )
    return [_weighted(line, forward, _FIRST), inside, _weighted(line, backward, _LAST)]


def _unequally_spaced(line: _Along, apart: Node, edge_order: int) -> list[Node]:
    """The derivatives of `_equally_spaced`, for different distances between neighbours."""
    every = _Along(apart, 0)  # distances have no earlier dimensions
    one, two = every.part(0, -1), every.part(1, None)
    both, squares = _add(one, two), _multiply(one, two)
    weights = (
        _divide(_negative(two), _multiply(one, both)),
        _divide(_subtract(two, one), squares),
        _divide(one, _multiply(two, both)),
    )
    inside = _weighted(line, weights, _INSIDE)
    if edge_order == 1:
        first = _divide(_subtract(line.part(1, 2), line.part(0, 1)), every.part(0, 1))
        last = _divide(_subtract(line.part(-1, None), line.part(-2, -1)), every.part(-1, None))
        return [first, inside, last]
    one, two = every.part(0, 1), every.part(1, 2)
    both, squares = _add(one, two), _multiply(one, two)
    forward = (
        _divide(_negative(_add(_multiply(2.0, one), two)), _multiply(one, both)),
        _divide(both, squares),
        _divide(_negative(one), _multiply(two, both)),
    )
    one, two = every.part(-2, -1), every.part(-1, None)
    both, squares = _add(one, two), _multiply(one, two)
    backward = (
        _divide(two, _multiply(one, both)),
        _divide(_negative(_add(two, one)), squares),
        _divide(_add(_multiply(2.0, two), one), _multiply(two, both)),
    )
    return [_weighted(line, forward, _FIRST), inside, _weighted(line, backward, _LAST)]


def _gradient(
    f: object, *varargs: object, axis: AxisOption = None, edge_order: int = 1
) -> Node | tuple[Node, ...]:
    node = array_node(f, "gradient")
    rank = len(node.shape)
    axes = tuple(range(rank)) if axis is None else normalize_axis_tuple(axis, rank)
    steps = _spacings(node, axes, varargs)
    if edge_order not in (1, 2) or not axes:
        raise refuse("gradient", "edge_order", edge_order)
    result = node.dtype if is_inexact(node.dtype) else FLOAT
    node = cast(node, FLOAT) if is_integer(node.dtype) else node
    found = []
    for d, spacing in zip(axes, steps, strict=True):
        if node.shape[d] < edge_order + 1:
            raise ValueError(
                "Shape of array too small to calculate a numerical gradient, "
                "at least (edge_order + 1) elements are required."
            )
        if node.dtype == BOOL and spacing.apart is not None:  # NumPy may subtract, an error
            raise refuse("gradient", "f", node)
        line = _Along(node, d)
        parts = _equally_spaced(line, spacing.equal, edge_order)
        if spacing.apart is not None and spacing.alike is not None:
            others = _unequally_spaced(line, spacing.apart, edge_order)
            pairs = zip(parts, others, strict=True)
            parts = [builder.elementwise(WHERE, spacing.alike, *pair) for pair in pairs]
        found.append(builder.concatenate([cast(part, result) for part in parts], d))
    return found[0] if len(found) == 1 else tuple(found)


def _coefficients(p: object) -> list[Node]:
    """The coefficients of a polynomial; an array outside the function is read in each call."""
    if not isinstance(p, Node | np.ndarray) and not builder.holds_nodes(p):
        return [builder.as_node(one, "polyval") for one in np.asarray(p)]
    node = array_node(p, "polyval")
    if not node.shape or data_dependent_in(node.shape[0]) or node.shape[0] > MAX_COEFFICIENTS:
        raise refuse("polyval", "p", node)
    return [index_node(node, k) for k in range(int(node.shape[0]))]


def _polyval(p: object, x: object) -> Node:
    if isinstance(x, np.poly1d):
        raise refuse("polyval", "x", x)
    numbers, node = _coefficients(p), array_node(x, "polyval")
    if not 0 < len(numbers) <= MAX_COEFFICIENTS:
        raise refuse("polyval", "p", p)
    value: Node = Scalar(node.dtype, node.dtype.type(0), False)
    for number in numbers:
        value = _add(_multiply(value, node), number)
    return value


FUNCTIONS: Final[dict[Callable[..., object], Rule]] = {
    np.gradient: _gradient,
    np.polyval: _polyval,
}
