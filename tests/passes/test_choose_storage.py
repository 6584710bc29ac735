"""Which values are stored, and which products go to the library."""

import numpy as np
import pytest

from axiomjit.passes.choose_storage import choose_storage
from tests.graphs import follow, lower_until
from tests.passes.examples import numbers

SQUARE, TALL, LINE = numbers(6, 6), numbers(7, 6), numbers(6)


def chosen(function, *arguments):
    """Names of the stored ops in order of the program, and how many the library computes."""
    found = choose_storage(lower_until("lower_to_views", follow(function, *arguments)))
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


@pytest.mark.parametrize(
    ("function", "names"),
    [
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
