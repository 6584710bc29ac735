"""The rules of differences, gradients, areas, windows, cross products and polynomials."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np
from numpy.lib.array_utils import normalize_axis_index, normalize_axis_tuple
from numpy.lib.stride_tricks import sliding_window_view

from axiomjit.base.dtypes import BOOL, FLOAT, is_inexact, is_integer, supported
from axiomjit.base.origins import user_location
from axiomjit.base.records import Record
from axiomjit.graph import builder
from axiomjit.graph.builder import cast, promotable
from axiomjit.graph.external_calls import ArrayCall
from axiomjit.graph.library_operations import Labels, Shapes
from axiomjit.graph.nodes import Node, Scalar
from axiomjit.graph.primitives import ALL_OF, PRIMITIVES, SUM, WHERE
from axiomjit.graph.shape_ops import insert_dimensions, reshaped, sliced
from axiomjit.numpy_rules.indexing import index_node
from axiomjit.numpy_rules.joins import FUNCTIONS as JOINS
from axiomjit.numpy_rules.options import AxisOption, Rule, array_node, only_defaults, refuse
from axiomjit.numpy_rules.shapes import at_least_1d, lengths_of
from axiomjit.symbolic.data_dependent import assumed_equal, data_dependent_in
from axiomjit.symbolic.dims import Dim, dim, product
from axiomjit.symbolic.index_maps import affine

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
    """The distances between neighbouring positions along a dimension.

    `equal` is the distance between neighbours if all distances are equal. `apart` has the distance
    of each pair of neighbours, along the dimension of the array. `alike` is a bool that is True if
    all distances are equal; then `equal` is used.
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

    As in NumPy, the spacing is a number if all neighbouring positions have the same distance.
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
    distances = FUNCTIONS[np.diff](cast(step, FLOAT) if is_integer(step.dtype) else step)
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
    """The derivatives at the first, the inner and the last elements, for equal distances."""
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
    """The derivatives of `_equally_spaced`, for distances that differ between neighbours."""
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
        if node.dtype == BOOL and spacing.apart is not None:  # NumPy may subtract bools: an error
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
    """The coefficients of a polynomial as nodes; a captured array is read in each call."""
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


_SUBTRACT: Final = PRIMITIVES["subtract"]
_MULTIPLY: Final = PRIMITIVES["multiply"]
_ADD: Final = PRIMITIVES["add"]


def _without_ends(node: Node, axis: int) -> tuple[Node, Node]:
    """Two views along a dimension: one without the first element, one without the last."""
    return sliced(node, [axis], slice(1, None)), sliced(node, [axis], slice(None, -1))


def _diff(
    a: object, n: int = 1, axis: int = -1, prepend: Any = np._NoValue, append: Any = np._NoValue
) -> Node:
    times = operator.index(n)
    if times == 0:
        return array_node(a, "diff")
    if times < 0:
        raise ValueError("order must be non-negative but got " + repr(n))
    node = array_node(a, "diff")
    if not node.shape:
        raise ValueError("diff requires input that is at least one dimensional")
    along = normalize_axis_index(operator.index(axis), len(node.shape))
    ends = [_end(value, node, along) for value in (prepend, append)]
    parts = [part for part in (ends[0], node, ends[1]) if part is not None]
    if len(parts) > 1:
        node = JOINS[np.concatenate](parts, along)
    primitive = PRIMITIVES["not_equal"] if node.dtype == BOOL else _SUBTRACT
    for _ in range(times):
        node = builder.elementwise(primitive, *_without_ends(node, along))
    return node


def _end(value: Any, node: Node, axis: int) -> Node | None:
    """The array to join with a node along an axis; a number becomes an array of length 1."""
    if value is np._NoValue:
        return None
    end = array_node(value, "diff")
    if end.shape:
        return end
    return builder.broadcast_to(end, (*node.shape[:axis], dim(1), *node.shape[axis + 1 :]))


def _ediff1d(ary: object, to_end: Any = None, to_begin: Any = None) -> Node:
    node = array_node(ary, "ediff1d")
    flat = reshaped(node, (product(node.shape),))
    if flat.dtype == BOOL:
        raise refuse("ediff1d", "ary", node)
    parts = [builder.elementwise(_SUBTRACT, *_without_ends(flat, 0))]
    for name, value in (("to_end", to_end), ("to_begin", to_begin)):
        if value is None:
            continue
        end = array_node(value, "ediff1d")
        if not np.can_cast(end.dtype, node.dtype, casting="same_kind"):
            raise TypeError(
                f"dtype of `{name}` must be compatible with input `ary` under the `same_kind` rule."
            )
        whole = cast(reshaped(end, (product(end.shape),)), node.dtype)
        parts = [*parts, whole] if name == "to_end" else [whole, *parts]
    found: Node = JOINS[np.concatenate](parts, 0) if len(parts) > 1 else parts[0]
    return found


def _trapezoid(y: object, x: object = None, dx: Any = 1.0, axis: int = -1) -> Node:
    node = array_node(y, "trapezoid")
    along = normalize_axis_index(operator.index(axis), len(node.shape))
    if x is None:
        steps = builder.as_node(dx, "trapezoid")
    else:
        points = array_node(x, "trapezoid")
        steps = _diff(points, axis=-1 if len(points.shape) == 1 else axis)
        if len(points.shape) == 1:
            behind = range(1, len(node.shape) - along)
            steps = insert_dimensions(steps, tuple(behind))
    if node.dtype == BOOL:
        raise refuse("trapezoid", "y", node)
    pairs = builder.elementwise(_ADD, *_without_ends(node, along))
    two = builder.as_node(2.0, "trapezoid")
    areas = builder.elementwise(_MULTIPLY, steps, pairs)
    halves = builder.elementwise(PRIMITIVES["divide"], areas, two)
    return builder.fold(SUM, halves, (along,))


def _kron(a: object, b: object) -> Node:
    left, right = array_node(a, "kron"), array_node(b, "kron")
    rank = max(len(left.shape), len(right.shape))
    left, right = (
        insert_dimensions(node, tuple(range(rank - len(node.shape)))) for node in (left, right)
    )
    shape = [m * n for m, n in zip(left.shape, right.shape, strict=True)]
    wide = insert_dimensions(left, tuple(range(1, 2 * rank, 2)))
    other = insert_dimensions(right, tuple(range(0, 2 * rank, 2)))
    return reshaped(builder.elementwise(_MULTIPLY, wide, other), tuple(shape))


def _cross(
    a: object, b: object, axisa: int = -1, axisb: int = -1, axisc: int = -1, axis: Any = None
) -> Node:
    if axis is not None:
        axisa = axisb = axisc = axis
    left, right = array_node(a, "cross"), array_node(b, "cross")
    if not left.shape or not right.shape:
        raise ValueError("At least one array has zero dimension")
    first = normalize_axis_index(axisa, len(left.shape), "axisa")
    second = normalize_axis_index(axisb, len(right.shape), "axisb")
    if left.shape[first] != 3 or right.shape[second] != 3:
        if any(n not in (2, 3) for n in (left.shape[first], right.shape[second])):
            raise ValueError(
                "incompatible dimensions for cross product\n(dimension must be 2 or 3)"
            )
        raise refuse("cross", "axis", "vectors of two elements")
    u, v = _elements(left, first), _elements(right, second)
    parts = []
    for i, j in ((1, 2), (2, 0), (0, 1)):
        one = builder.elementwise(_MULTIPLY, u[i], v[j])
        parts.append(
            builder.elementwise(_SUBTRACT, one, builder.elementwise(_MULTIPLY, u[j], v[i]))
        )
    at = normalize_axis_index(axisc, len(parts[0].shape) + 1, "axisc")
    found: Node = JOINS[np.stack](parts, at)
    return found


def _elements(node: Node, axis: int) -> list[Node]:
    """The three nodes at the positions along a dimension of length 3; they lack this dimension."""
    order = [*(d for d in range(len(node.shape)) if d != axis), axis]
    last = builder.transpose(node, order)
    rest = last.shape[:-1]
    from_axis = [sliced(last, [len(rest)], slice(k, k + 1)) for k in range(3)]
    return [reshaped(one, rest) for one in from_axis]


def _convolution_cost(shapes: Shapes, labels: Labels) -> Dim:
    return shapes[0][0] * shapes[1][0] * 2


def _convolution_rule(function: Callable[..., Any], usual: str) -> Rule:
    name = function.__name__

    def rule(a: object, v: object, mode: str = usual) -> Node:
        operands = array_node(a, name), array_node(v, name)
        if name == "convolve":
            operands = at_least_1d(operands[0]), at_least_1d(operands[1])
        call = ArrayCall(name, function, operands, (("mode", mode),), additions=_convolution_cost)
        (dtype,) = call.dtypes()
        left, right = operands[0].shape[0], operands[1].shape[0]
        if left == 0 or right == 0:
            function(*(np.ones(0 if length == 0 else 1) for length in (left, right)))
        most, least = (left, right) if left >= right else (right, left)
        lengths = {"full": most + least - 1, "same": most, "valid": most - least + 1}
        if mode not in lengths:
            raise refuse(name, "mode", mode)
        return call.result((lengths[mode],), dtype)

    return rule


class Choices(Record):
    """A call of np.choose; `given` lists the choices: a number, or None for the next array."""

    given: tuple[Any, ...]

    def __call__(self, a: np.ndarray, *arrays: np.ndarray, mode: Any) -> Any:
        """Call np.choose, with each None of `given` replaced by the next array."""
        rest = iter(arrays)
        return np.choose(a, [next(rest) if one is None else one for one in self.given], mode=mode)


def _choose(a: object, choices: Any, out: object = None, mode: str = "raise") -> Node:
    only_defaults("choose", out=out)
    if not isinstance(mode, str | int | np.integer):
        raise refuse("choose", "mode", mode)
    at = array_node(a, "choose")
    if isinstance(choices, list | tuple):
        nodes = [builder.as_node(one, "choose") for one in choices]
    else:
        whole = array_node(choices, "choose")
        count = int(whole.shape[0])
        nodes = [sliced(whole, [0], slice(k, k + 1)) for k in range(count)]
        nodes = [reshaped(node, whole.shape[1:]) for node in nodes]
    given = tuple(n.value.item() if isinstance(n, Scalar) and n.weak else None for n in nodes)
    arrays = [array_node(n, "choose") for n, g in zip(nodes, given, strict=True) if g is None]
    shape = builder.broadcast_shapes([at.shape, *(node.shape for node in arrays)], "choose")
    operands = (at, *arrays)
    probed = ArrayCall("choose", Choices(given), operands, (("mode", "wrap"),))
    (dtype,) = probed.dtypes()
    options = (("mode", mode),)
    call = ArrayCall("choose", Choices(given), operands, options, may_raise=mode == "raise")
    return call.result(shape, dtype)


def _select(condlist: Sequence[object], choicelist: Sequence[object], default: Any = 0) -> Node:
    if len(condlist) != len(choicelist):
        raise ValueError("list of cases must be same length as list of conditions")
    if not condlist:
        raise ValueError("select with an empty condition list is not possible")
    values = [builder.as_node(one, "select") for one in (*choicelist, default)]
    kinds = (promotable(value) for value in values)
    known = [kind(1) if isinstance(kind, type) else kind for kind in kinds]
    dtype = supported(np.result_type(*known), "select", user_location())
    for value in values[:-1]:
        if not np.can_cast(value.dtype, dtype, "same_kind"):
            rule = "according to the rule 'same_kind'"
            raise TypeError(f"Cannot cast array data from {value.dtype!r} to {dtype!r} {rule}")
    conditions = [array_node(one, "select") for one in condlist]
    for k, condition in enumerate(conditions):
        if condition.dtype != BOOL:
            raise TypeError(f"invalid entry {k} in condlist: should be boolean ndarray")
    result = cast(builder.strong(values[-1]), dtype)
    for condition, value in zip(reversed(conditions), reversed(values[:-1]), strict=True):
        result = builder.elementwise(WHERE, condition, cast(builder.strong(value), dtype), result)
    return result


METHODS: Final[dict[str, Rule]] = {"choose": _choose}


def _sliding_window_view(
    x: object,
    window_shape: Any,
    axis: int | Sequence[int] | None = None,
    *,
    subok: bool = False,
    writeable: bool = False,
) -> Node:
    """The rule of sliding_window_view: element k of window i is element i + k of the array.

    As in NumPy, an axis that is listed several times gets several windows.
    """
    node = array_node(x, "sliding_window_view")
    rank = len(node.shape)
    windows = lengths_of(tuple(window_shape) if np.iterable(window_shape) else window_shape)
    if any(window < 0 for window in windows):
        raise ValueError("`window_shape` cannot contain negative values")
    axes = tuple(range(rank))
    if axis is not None:
        axes = normalize_axis_tuple(axis, rank, allow_duplicate=True)
    if len(windows) != len(axes):
        raise ValueError(
            f"Must provide a window length for each axis; got {len(windows)} window_shape "
            f"elements for {len(axes)} axes"
        )
    steps = [{d: dim(1)} for d in range(rank)]
    places = list(node.shape)
    for k, (d, window) in enumerate(zip(axes, windows, strict=True)):
        if places[d] < window:
            raise ValueError("window shape cannot be larger than input array shape")
        steps[d][rank + k] = dim(1)
        places[d] = places[d] - (window - 1)
    seen = builder.view(node, tuple(map(affine, steps)), (*places, *windows))
    return seen if writeable else builder.read_only(node, seen)


FUNCTIONS: Final[dict[Callable[..., object], Rule]] = {
    np.diff: _diff,
    np.gradient: _gradient,
    np.polyval: _polyval,
    np.ediff1d: _ediff1d,
    np.trapezoid: _trapezoid,
    np.kron: _kron,
    np.cross: _cross,
    np.convolve: _convolution_rule(np.convolve, "full"),
    np.correlate: _convolution_rule(np.correlate, "valid"),
    np.choose: _choose,
    np.select: _select,
    sliding_window_view: _sliding_window_view,
}
