"""Which values have storage, and how it lies."""

import numpy as np
import pytest

from axiomjit.passes.views.lower_to_views import lower_to_views
from tests.passes.examples import example, numbers
from tests.passes.graphs import before_and_after, follow, lower_until


@pytest.mark.parametrize(
    "name", ["l2", "sums_and_map", "centred", "strided", "product", "merged", "parts"]
)
def test_lower_to_views_golden(golden, name):
    golden(before_and_after("lower_to_views", example(name)))


def views_of(function, *arguments):
    """The view program of a function."""
    case = follow(function, *arguments)
    return lower_to_views(lower_until("lower_to_views", case), case.context)


def roles(program):
    """The roles of all storages, in order."""
    return [storage.role for storage in program.storages]


def test_lower_to_views_leaves_alone():
    argument = views_of(lambda x: x[::2].T, numbers(6, 5))
    assert roles(argument) == ["argument"]
    assert argument.definitions == ()
    chain = views_of(lambda x: ((x + 1.0) * 2.0 - x) / 3.0, numbers(9))
    assert roles(chain) == ["argument", "result"]
    assert [d.storage is None for d in chain.definitions] == [True, True, True, False]


def test_products_of_matrices_store_their_operands():
    program = views_of(lambda a, b: np.dot(a - 1.0, b + 1.0), numbers(5, 6), numbers(6, 7))
    assert sorted(roles(program)) == ["argument", "argument", "result", "temporary", "temporary"]
    assert [d.library.operation.name for d in program.definitions if d.library] == ["tensordot"]


@pytest.mark.parametrize(
    ("function", "temporaries"),
    [
        (lambda x: x - x.sum(axis=0), 1),  # a fold that others broadcast
        (lambda x: x.sum(axis=0) * 2.0, 0),  # a fold finished by its only reader
        (lambda x: np.sqrt(x[0]) + x, 1),  # dear and repeated
        (lambda x: -x[0] + x, 0),  # cheap and repeated
        (lambda x: np.sqrt(x) + 1.0, 0),  # dear, once
    ],
)
def test_what_is_stored(function, temporaries):
    assert roles(views_of(function, numbers(6, 5))).count("temporary") == temporaries


@pytest.mark.parametrize("order", ["C", "F"])
def test_results_lie_as_their_operands(order):
    x = np.array(numbers(6, 5), order=order)
    result, *_ = views_of(lambda x: x + 1.0, x).results
    assert result.strides[order == "C"].constant == 1


def test_views_of_results_share_one_storage():
    def function(x):
        y = x + 1.0
        return y, y.T, y[::2]

    program = views_of(function, numbers(6, 5))
    assert len({view.storage for view in program.results}) == 1
