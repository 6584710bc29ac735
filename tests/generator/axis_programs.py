"""Random programs of tensors with axes, beside the same in NumPy with the dimensions lined up."""

from typing import NamedTuple

import numpy as np

import axiomjit as aj
from axiomjit.axis.elementwise import FUNCTIONS
from tests.generator.draw import OFTEN, elements, is_small
from tests.generator.draws import Draws
from tests.generator.exact import determined, distance
from tests.generator.layouts import LAYOUTS
from tests.generator.operations import WEAK
from tests.generator.programs import Step
from tests.passes.graphs import quiet

AXES = tuple(aj.make_axis(n, name) for n, name in ((1, "A"), (2, "B"), (3, "C"), (6, "D")))
NAMES = [name for name in FUNCTIONS if isinstance(getattr(np, name, None), np.ufunc)]
FOLDS = ("sum", "prod", "max", "min", "any", "all", "mean")


class Value(NamedTuple):
    """A tensor, what it is in NumPy, its axes, and how far it may lie from that."""

    tensor: aj.Tensor
    array: np.ndarray
    axes: tuple
    ulps: int = 0


def lined_up(value, axes):
    """The array with one dimension per axis, of length 1 where it has none."""
    if not isinstance(value, Value):
        return value
    kept = [axis for axis in axes if axis in value.axes]
    array = np.transpose(value.array, [value.axes.index(axis) for axis in kept])
    return array.reshape([axis.length if axis in value.axes else 1 for axis in axes])


def union(first, second):
    """Axes of an elementwise result (ngraph axes)."""
    if set(first) >= set(second):
        return first
    return second if set(second) >= set(first) else (*first, *(a for a in second if a not in first))


def leaf(d):
    """A constant of some axes."""
    axes = tuple(d.order(AXES)[: d.below(4)])
    shape = tuple(axis.length for axis in axes)
    dtype = d.pick((*OFTEN, np.dtype("b1"), np.dtype("i2")))
    given = LAYOUTS[d.pick(list(LAYOUTS))](elements(d, dtype, shape))
    return Value(aj.constant(given, axes), np.array(given, dtype), axes)


def built(step, tensor, array, axes, operands):
    """The value of a step, None where NumPy refuses it or where it is not determined."""
    far = distance(step, [o.ulps for o in operands if isinstance(o, Value)])
    arrays = [np.asarray(o.array if isinstance(o, Value) else o) for o in operands]
    try:
        with quiet():
            want = np.asarray(array())
    except (TypeError, ValueError, OverflowError):
        return None
    if far is None or not is_small(want) or not determined(step, arrays, want):
        return None
    return Value(tensor(), want, axes, far)


def elementwise(d, values):
    """A function of the table."""
    name = d.pick(NAMES)
    ufunc = getattr(np, name)
    if ufunc is np.power or ufunc.nout > 1:
        return None
    operands = [d.pick(values)]
    for _ in range(ufunc.nin - 1):
        operands.append(d.pick(WEAK) if d.chance(0.2) else d.pick(values))
    axes = ()
    for operand in operands:
        axes = union(axes, operand.axes) if isinstance(operand, Value) else axes
    tensors = [o.tensor if isinstance(o, Value) else o for o in operands]
    arrays = [lined_up(o, axes) for o in operands]
    step = Step(ufunc.__name__, "", tuple(operands))
    return built(step, lambda: FUNCTIONS[name](*tensors), lambda: ufunc(*arrays), axes, operands)


def folded(d, values):
    """A reduction over some axes, its result in any order."""
    value, name = d.pick(values), d.pick(FOLDS)
    reduced = d.some(value.axes) if value.axes else []
    left = d.order(axis for axis in value.axes if axis not in reduced)
    options = {"reduction_axes": d.order(reduced)} | ({"out_axes": left} if d.chance(0.5) else {})
    order = left if "out_axes" in options else [a for a in value.axes if a not in reduced]
    dims = tuple(value.axes.index(axis) for axis in reduced)

    def array():
        result = Value(
            None,
            getattr(np, name)(value.array, axis=dims),
            tuple(axis for axis in value.axes if axis not in reduced),
        )
        return lined_up(result, order)

    step = Step(name, "", (value,), (("axis", dims),))
    tensor = lambda: getattr(aj, name)(value.tensor, **options)  # noqa: E731
    return built(step, tensor, array, tuple(order), [value])


def product(d, values):
    """The sum of products over all common axes."""
    left, right = d.pick(values), d.pick(values)
    met = [axis for axis in left.axes if axis in right.axes]
    axes = (*(a for a in left.axes if a not in met), *(a for a in right.axes if a not in met))
    dims = [[value.axes.index(axis) for axis in met] for value in (left, right)]
    if not met or "b" in left.array.dtype.kind + right.array.dtype.kind:
        return None
    step = Step("dot", "", (left, right))
    return built(
        step,
        lambda: aj.dot(left.tensor, right.tensor),
        lambda: np.tensordot(left.array, right.array, dims),
        axes,
        [left, right],
    )


def reordered(d, values):
    """The axes in another order."""
    value = d.pick(values)
    axes = tuple(d.order(value.axes))
    return Value(aj.axes_with_order(value.tensor, axes), lined_up(value, axes), axes, value.ulps)


def draw(seed, index):
    """The values of a program, leaves apart."""
    d = Draws(seed, index)
    values = [leaf(d) for _ in range(d.between(1, 3))]
    count = len(values)
    for _ in range(3 * d.between(1, 6)):
        value = d.pick((*[elementwise] * 4, *[folded] * 3, product, reordered))(d, values)
        if value is not None:
            values.append(value)
    return values[count:]
