"""Which values are stored, and which products go to the library."""

import numpy as np
import pytest

import axiomjit as aj
from axiomjit.passes.graph.choose_storage import choose_storage
from tests.passes.examples import numbers
from tests.passes.graphs import follow, lower_until

SQUARE, TALL, LINE = numbers(6, 6), numbers(7, 6), numbers(6)


def chosen(function, *arguments):
    """Names of the stored ops in order of the program, and how many the library computes."""
    case = follow(function, *arguments)
    found = choose_storage(lower_until("lower_to_views", case), case.scope).stored
    names = [str(op.primitive) for op in reversed(found)]
    return names, sum(library is not None for library in found.values())


@pytest.mark.parametrize(
    ("function", "arguments", "products"),
    [
        (np.dot, (TALL, SQUARE), 1),
        (lambda x: np.dot(x, x.T), (TALL,), 1),
        (lambda x: np.dot(x.T, x), (TALL,), 1),
        (np.dot, (TALL, LINE), 1),
        (np.dot, (LINE, LINE), 0),
        (lambda x, y: (x * y).sum(axis=1), (SQUARE, SQUARE), 0),
        (lambda x, y: np.dot(x[::2], y), (TALL, SQUARE), 1),
    ],
)
def test_products_of_matrices_go_to_the_library(function, arguments, products):
    assert chosen(function, *arguments)[1] == products


def pairs(x):
    near = np.exp(x)[:, :, None] * (x[:, None] - x[None])
    return near.sum(axis=0), near.sum(axis=1)


@pytest.mark.parametrize(
    ("function", "names"),
    [
        (pairs, ["exp", "view", "view"]),  # the rest of the products costs less than memory
        (lambda x: x * np.sqrt(1.0 / x.size), ["multiply"]),
        (aj.grad(lambda x: np.exp(x).mean()), ["multiply"]),
        (lambda x: np.sqrt(x) * 2.0, ["multiply"]),
        (lambda x: (np.sqrt(x), np.sqrt(x) * 2.0), ["sqrt", "multiply"]),
        (lambda x: x.sum(axis=1) * 2.0, ["multiply"]),
        (lambda x: x - x.sum(axis=0), ["view", "subtract"]),
        (lambda x: x.sum(axis=1)[:, None] * np.ones((6, 1)), ["multiply"]),
        (lambda x: x.sum(axis=1)[::-1] * 2.0, ["view", "multiply"]),
    ],
)
def test_what_is_stored(function, names):
    assert chosen(function, SQUARE)[0] == names


POINTS = numbers(9, 3) / 9


def energy(x):
    return np.sqrt(((x[:, None] - x) ** 2).sum(axis=2)).sum()


def pulls(x):
    apart = x[:, None] - x
    return (np.exp(-(apart**2).sum(axis=2))[:, :, None] * apart).sum(axis=1)


def pulls_of_many(x):
    return pulls(np.hstack([x, x, x])[:, :9])


def pulls_in_place(x):
    y = x * 2.0
    y += pulls(x)
    return y


@pytest.mark.parametrize(
    ("function", "names"),
    [
        (energy, ["view"]),  # distances are computed by the sum
        (lambda x: x.max(axis=1) + x.max(axis=1)[::-1], ["add"]),
        (lambda x: x - x.max(axis=1)[:, None], ["view", "subtract"]),  # once for each row
        (lambda x: np.exp(x).prod(axis=1) + np.exp(x).prod(axis=1)[::-1], ["view", "add"]),
        (pulls, ["view"]),  # the exponential is computed once for three sums
        (pulls_in_place, ["multiply", "update"]),
        (lambda x: pulls(x) + 1.0, ["add"]),
        (lambda x: np.concatenate([pulls(x), x]), ["view", "join"]),
        (pulls_of_many, ["exp", "view"]),
    ],
)
def test_a_short_fold_is_stored_only_where_its_readers_would_repeat_it(function, names):
    assert chosen(function, POINTS)[0] == names
    given = POINTS.copy()
    np.testing.assert_allclose(
        aj.jit(function)(given), function(POINTS.copy()), rtol=1e-12, atol=1e-15
    )


@pytest.mark.parametrize("dtype", ["b1", "u1", "i4", "f2", "f4", "f8", "c16"])
@pytest.mark.parametrize("name", ["sum", "prod", "max", "min", "any", "all"])
@pytest.mark.parametrize("axis", [1, (1, 2)])
def test_a_fold_without_loop_has_the_value_of_numpy(name, dtype, axis):
    """The fold is read at two places."""
    if dtype == "c16" and name in ("max", "min", "any", "all"):
        pytest.skip("complex numbers have no order")

    def function(x):
        y = getattr(np, name)(x, axis=axis)
        return y + y[::-1]

    given = numbers(11, 2, 2, dtype="f8") * 3
    given[4] = 0
    given = given.astype(dtype)
    if given.dtype.kind == "f":
        given[5, 1, 1] = np.nan
    unrolled = choose_storage(
        lower_until("lower_to_views", follow(function, given)), follow(function, given).scope
    ).unrolled
    assert unrolled
    found, expected = aj.jit(function)(given), function(given)
    assert found.dtype == expected.dtype
    np.testing.assert_allclose(found, expected, rtol=1e-3 if dtype == "f2" else 1e-6)


TABLE, NEAR, FEW = numbers(20) + 9, np.arange(60) % 20, np.arange(3)


def several(x, i, j):
    y = x * 2
    return y[i] + y[j]


def in_two_loops(x, i, j):
    y = x * 2
    return y[i].sum(), y[j]


@pytest.mark.parametrize(
    ("function", "arguments", "stored"),
    [
        (lambda x, i: np.exp(x)[i], (TABLE, NEAR), True),
        (lambda x, i: np.exp(x)[i], (TABLE, FEW), True),
        (lambda x, i: np.exp(x)[i], (TABLE, FEW[:2]), False),
        (lambda x, i: np.exp(x)[i] + np.exp(x)[i + 1], (TABLE, FEW[:2]), True),
        (lambda x, i: (x - x[::-1])[i], (TABLE, NEAR[:24]), True),
        (lambda x, i: (x - x * x)[i], (TABLE, NEAR[:24]), False),
        (lambda x, i: (x * 2)[i], (TABLE, np.arange(200) % 20), True),
        (lambda x, i: np.exp(x[x > 6])[i[:2]], (TABLE, FEW), True),
        (several, (TABLE, NEAR, NEAR[::-1]), True),
        (several, (TABLE, FEW, FEW), False),
        (in_two_loops, (TABLE, NEAR, NEAR[::-1]), True),
        (lambda x, i: x[:, None][i, 0], (TABLE, NEAR), False),
        (lambda x, i: x[::-1][1:][i], (TABLE, NEAR % 19), False),
    ],
)
def test_what_is_gathered_is_stored_where_that_takes_less(function, arguments, stored):
    case = follow(function, *arguments)
    graph = lower_until("lower_to_views", case)
    names = chosen(function, *arguments)[0]
    temporaries = [n for n in names if n in ("exp", "sqrt", "subtract", "multiply")]
    assert bool(temporaries) == stored, graph
    compiled = aj.jit(function)(*arguments)
    expected = function(*arguments)
    np.testing.assert_allclose(np.hstack(compiled), np.hstack(expected), rtol=1e-15)
