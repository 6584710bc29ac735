"""Functions of NumPy and their gradients as graphs, run by the evaluator: nothing is compiled."""

import math

import numpy as np

from axiomjit.gradients.reverse import gradients
from axiomjit.gradients.values import NodeArray
from axiomjit.graph.builder import as_node, cast, elementwise, fold, strong
from axiomjit.graph.evaluate_graph import evaluate_graph
from axiomjit.graph.nodes import Graph, Input
from axiomjit.graph.primitives import PRIMITIVES, SUM
from axiomjit.symbolic.dims import Scope, bound, dim

_MULTIPLY, _ADD = PRIMITIVES["multiply"], PRIMITIVES["add"]


def inputs_of(arrays):
    """An input for each array."""
    return [Input(a.dtype, k, tuple(map(dim, a.shape))) for k, a in enumerate(arrays)]


def run(nodes, inputs, arrays):
    """The values of nodes, and all warnings off."""
    with np.errstate(all="ignore"):
        return evaluate_graph(Graph(tuple(inputs), tuple(nodes)), arrays, {})


def total(node):
    """The sum of all elements."""
    return fold(SUM, node, tuple(range(len(node.shape))))


def gradients_of(function, *arrays, order=1, weights=None):
    """The gradients of the sum of a function's elements, perhaps times weights.

    For order 2 those of the sum of the first gradients, each times 1, 2, 3 and so on.
    """
    arrays = [np.asarray(a) for a in arrays]
    inputs = inputs_of(arrays)
    with bound(Scope({})):
        node = function(*map(NodeArray, inputs)).node
        if weights is not None:
            node = elementwise(_MULTIPLY, node, as_node(weights, "weights"))
        node = total(node)
        for _ in range(order):
            found = gradients([(node, strong(cast(as_node(1.0, "one"), node.dtype)))], inputs)
            nodes = [found[one] for one in inputs]
            node = None
            for k, one in enumerate(nodes):
                part = elementwise(_MULTIPLY, total(one), as_node(float(k + 1), "factor"))
                node = part if node is None else elementwise(_ADD, node, part)
    return [np.asarray(value) for value in run(nodes, inputs, arrays)]


def central(function, order):
    """The derivative at 0 of a function of a step, from `2 * order` values around."""
    total = 0.0
    for k in range(1, order + 1):
        share = math.factorial(order) ** 2 / (
            math.factorial(order - k) * math.factorial(order + k) * k
        )
        total = total - (-1) ** k * share * (function(k) - function(-k))
    return total


def differences(function, arrays, step=1e-3, weights=None, order=2):
    """Differences of the sum of a function's elements, by each element.

    With `order` 2 from four values around, with 6 from twelve, to nearly all digits.
    """
    arrays = [np.asarray(a) for a in arrays]
    found = []
    for k, array in enumerate(arrays):
        gradient = np.zeros(array.shape, array.dtype)
        for place in np.ndindex(array.shape):

            def value(shift, k=k, array=array, place=place):
                moved = array.copy()
                moved[place] += shift * step
                made = np.asarray(function(*arrays[:k], moved, *arrays[k + 1 :]))
                return (made if weights is None else made * weights).sum()

            gradient[place] = central(value, order) / step
        found.append(gradient)
    return found


def check(function, *arrays, rtol=1e-7, step=1e-3, seed=0, order=2):
    """Compare the gradients of a function by floats with differences, for random weights."""
    arrays = [np.asarray(a, float) for a in arrays]
    shape = np.shape(function(*arrays))
    weights = np.random.default_rng(seed).uniform(0.5, 1.5, shape)
    found = gradients_of(function, *arrays, weights=weights)
    wanted = differences(function, arrays, step, weights, order)
    for one, other in zip(found, wanted, strict=True):
        np.testing.assert_allclose(one, other, rtol=rtol, atol=rtol)


def check_second(function, *arrays, rtol=1e-9, step=0.02, seed=1):
    """Compare the second derivatives along a direction with differences of the first ones."""
    arrays = [np.asarray(a, float) for a in arrays]
    generator = np.random.default_rng(seed)
    along = [generator.normal(size=a.shape) for a in arrays]

    def first(shift):
        moved = [a + shift * step * v for a, v in zip(arrays, along, strict=True)]
        return sum((k + 1) * g.sum() for k, g in enumerate(gradients_of(function, *moved)))

    wanted = central(first, 6) / step
    found = gradients_of(function, *arrays, order=2)
    made = sum((g * v).sum() for g, v in zip(found, along, strict=True))
    size = sum(np.linalg.norm(g) * np.linalg.norm(v) for g, v in zip(found, along, strict=True))
    assert abs(made - wanted) <= rtol * max(1.0, size), (made, wanted)


def directional(function, x, v, step):
    """The five-point difference along a direction."""
    a, b, c, d = (function(x + k * step * v) for k in (-2, -1, 1, 2))
    return (a - 8 * b + 8 * c - d) / (12 * step)
