"""Operations that undo each other go, bits stay."""

import numpy as np
import pytest

from axiomjit.graph.nodes import Op, post_order
from axiomjit.passes.graph.simplify_algebra import simplify_algebra
from tests.passes.examples import example, numbers
from tests.passes.graphs import CONTEXT, before_and_after, follow, lower_until


@pytest.mark.parametrize("name", ["undone", "centred"])
def test_simplify_algebra_golden(golden, name):
    golden(before_and_after("simplify_algebra", example(name)))


@pytest.mark.parametrize("name", ["l2", "sums_and_map", "product"])
def test_simplify_algebra_leaves_alone(name):
    graph = lower_until("simplify_algebra", example(name))
    assert simplify_algebra(graph, CONTEXT) is graph


def simplified(function, *arguments):
    """The names of the operations that are left."""
    graph = simplify_algebra(follow(function, *arguments).graph, CONTEXT)
    return [n.primitive.name for n in post_order(graph.outputs) if isinstance(n, Op)]


SINGLE = numbers(9, dtype="f4")
DOUBLE = numbers(9)


@pytest.mark.parametrize(
    ("function", "argument", "left"),
    [
        (lambda x: np.negative(-x) + 1.0, DOUBLE, ["add"]),
        (lambda x: np.negative(np.negative(-x)) + 1.0, DOUBLE, ["negative", "add"]),
        (lambda x: abs(-x), DOUBLE, ["absolute"]),
        (lambda x: x.astype("f8").astype("f4") + x, SINGLE, ["add"]),
        # narrowing rounds, so the way back does not undo it
        (lambda x: x.astype("f4").astype("f8") + 1.0, DOUBLE, ["cast", "cast", "add"]),
        # an integer may not survive a float
        (
            lambda x: x.astype("f8").astype("i8") + x,
            numbers(9, dtype="i8"),
            ["cast", "cast", "add"],
        ),
        # outputs stay fresh arrays
        (lambda x: np.negative(-x), DOUBLE, ["negative", "negative"]),
        # and views of them views of fresh arrays
        (lambda x: np.negative(-x)[1:], DOUBLE, ["negative", "negative", "view"]),
        # a sum of negatives is no negative
        (lambda x: -((-x).sum()) + 1.0, DOUBLE, ["negative", "view", "negative", "add"]),
    ],
)
def test_what_is_simplified(function, argument, left):
    assert simplified(function, argument) == left
