"""Operations that undo each other go, bits stay."""

import numpy as np
import pytest

import axiomjit
from axiomjit.graph.nodes import Op, post_order
from axiomjit.passes.graph.simplify_algebra import simplify_algebra
from axiomjit.symbolic.index_maps import identity
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


X, Y = numbers(7), numbers(7)[::-1].copy()
X[3] = X[5] = Y[0] = 0.0


def apart(x):
    return x[:, None] - x


def turned(function):
    """Whether the transpose of a value is read as it is, in the simplified graph of two arrays."""
    graph = simplify_algebra(
        lower_until("simplify_algebra", follow(lambda x, y: function(x, y).T * y, X, Y)), CONTEXT
    )
    (last,) = graph.outputs
    assert isinstance(last, Op)
    return last.maps[0] == identity(2)


@pytest.mark.parametrize(
    ("function", "symmetric"),
    [
        (lambda x, y: np.exp(apart(x) ** 2), True),
        (lambda x, y: np.sqrt(abs(apart(x)) + x * x[:, None]), True),
        (lambda x, y: np.maximum(np.abs(-apart(x)), 1.0) / (x[:, None] + x), True),
        (lambda x, y: np.where(apart(x) ** 2 > 1, 2.0, apart(x) * apart(x)), True),
        (lambda x, y: ((x[:, None, None] - x[:, None]) ** 2 * abs(y)).max(axis=2), True),
        (lambda x, y: apart(x), False),
        (lambda x, y: apart(x) * apart(y), False),  # 0.0 * -1.0 is not -0.0 * 1.0
        (lambda x, y: 1.0 / apart(x) ** 2 * y, False),
        (lambda x, y: x[:, None] - y, False),
        (lambda x, y: x[:, None] / x, False),
        (lambda x, y: np.exp(apart(x)), False),
        (lambda x, y: abs(1.0 / apart(x)), False),
        (lambda x, y: np.cumsum(apart(x) ** 2, axis=1), False),
    ],
)
def test_a_transpose_of_a_symmetric_value_is_the_value(function, symmetric):
    assert turned(function) == symmetric
    with np.errstate(divide="ignore", invalid="ignore"):
        expected = function(X, Y).T * Y
    found = axiomjit.jit(lambda x, y: function(x, y).T * y)(X, Y)
    np.testing.assert_allclose(found, expected, rtol=1e-15)
    assert np.array_equal(np.signbit(found), np.signbit(expected))


@pytest.mark.parametrize("x", [np.arange(5, dtype="u1"), np.array([0, 1, 1j, -1j, 1 + 1j])])
@pytest.mark.parametrize("function", [np.square, np.absolute])
def test_squares_and_sizes_of_unsigned_and_complex_differences(function, x):
    """Sizes of unsigned numbers are not symmetric; complex squares are, up to signs of zeros."""
    ours, expected = axiomjit.jit(lambda x: function(apart(x)).T * x)(x), function(apart(x)).T * x
    assert (ours == expected).all()
    for part in (np.real, np.imag):
        assert (np.signbit(part(ours)) == np.signbit(part(expected))).all()


def sums(x, y):
    pull = apart(x) * np.exp(apart(x) ** 2)
    return (-pull).sum(axis=0) + pull.sum(axis=1)


def test_a_sum_along_columns_of_differences_is_one_along_rows():
    simple = simplify_algebra(lower_until("simplify_algebra", follow(sums, X, Y)), CONTEXT)
    (total,) = simple.outputs
    assert isinstance(total, Op)
    assert total.operands[0] is total.operands[1]
    np.testing.assert_allclose(axiomjit.jit(sums)(X, Y), sums(X, Y), rtol=1e-14)


def test_a_sum_over_a_literal_length_keeps_signs_of_zeros():
    function, x = (lambda x: (-(x[:, None] - x)).sum(axis=0)), np.zeros(2)
    simple = simplify_algebra(lower_until("simplify_algebra", follow(function, x)), CONTEXT)
    assert all(n.maps[0] != identity(2) for n in simple.ops if n.fold)
