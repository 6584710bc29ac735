"""Temporaries lie so that the loops that read them walk memory in small steps."""

from itertools import permutations
from unittest.mock import patch

import numpy as np
import pytest

from axiomjit.base.errors import VerifyError
from axiomjit.passes.graph.choose_storage import choose_storage
from axiomjit.passes.views import lower_to_views
from axiomjit.passes.views.choose_layouts import choose_layouts
from tests.passes.examples import numbers
from tests.passes.graphs import (
    before_and_after,
    follow,
    in_numpy,
    lower_until,
    lowered,
    run_plain_case,
    small_forms,
)

PLANES = numbers(6, 9, 7) + 9


def distances(x, planes):
    """How far each of some matrices is from the transpose of another one's logarithm."""
    return np.abs(np.log(x).T - planes).sum(axis=(1, 2))


def twice_transposed(x, planes):
    return (np.log(x).T * planes).max(axis=0), np.sqrt(x.T + 9.0) - planes


def used_both_ways(x, planes):
    t = np.log(x)
    return np.abs(t.T - planes).sum(axis=(1, 2)), t * 2.0


def stages_of_one(x, planes):
    t = np.exp(np.log(x).T - planes[0]).sum(axis=1)
    return (np.sqrt(planes + t[:, None]) - np.log(x).T).max(axis=0)


FUNCTIONS = [distances, twice_transposed, used_both_ways, stages_of_one]
X = numbers(7, 9) + 9


def orders(function, *arguments):
    """The orders of what is stored, by role: temporaries and results."""
    case = follow(function, *arguments)
    graph = lower_until("lower_to_views", case)
    stored = choose_storage(graph, case.scope).stored
    found = choose_layouts(graph, case.layouts, stored)
    shown = set(graph.outputs)
    return (
        [order for op, order in found.items() if op in stored and op not in shown],
        [order for op, order in found.items() if op in shown],
    )


def test_choose_layouts_golden(golden):
    golden(before_and_after("lower_to_views", follow(distances, X, PLANES)))


@pytest.mark.parametrize(
    ("function", "arguments"),
    [
        (lambda x, p: np.abs(np.log(x) - p).sum(axis=(1, 2)), [X.T.copy(), PLANES]),
        (lambda x, p: np.log(x).T * p[0], [X, PLANES]),
        (lambda x: np.log(x) - np.log(x).mean(axis=0), [X]),
        (lambda x, p: np.log(x) * p, [X.T.copy(), PLANES]),
    ],
)
def test_choose_layouts_leaves_alone(function, arguments):
    temporaries, results = orders(function, *arguments)
    assert temporaries == [tuple(range(len(order))) for order in temporaries]
    assert results == [tuple(range(len(order))) for order in results]


def test_transposed_readers_get_a_transposed_temporary():
    assert orders(distances, X, PLANES)[0] == [(1, 0)]
    views = lower_until("lower_to_loops", follow(distances, X, PLANES))
    (stored,) = [s for s in views.storages if s.role == "temporary"]
    read = [
        operand
        for definition in views.definitions
        for operand in definition.operands
        if getattr(operand, "storage", None) is stored
    ]
    assert [view.strides[-1].constant for view in read] == [1]


def test_results_keep_numpys_order():
    for function in FUNCTIONS:
        case = follow(function, X, PLANES)
        found = run_plain_case(case, lowered(case).plan)
        for one, other in zip(found, in_numpy(function, (X, PLANES)), strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-12)
            assert one.strides == other.strides


@pytest.mark.parametrize("function", FUNCTIONS)
def test_any_layout_of_temporaries_means_the_same(function):
    case = follow(function, X, PLANES)
    wanted = in_numpy(function, (X, PLANES))
    for order in permutations(range(2)):

        def forced(graph, layouts, stored, order=order):
            found = choose_layouts(graph, layouts, stored)
            outputs = set(graph.outputs)
            return {
                op: order if len(was) == 2 and op not in outputs else was
                for op, was in found.items()
            }

        with patch.object(lower_to_views, "choose_layouts", forced), small_forms():
            found = run_plain_case(case, lowered(case).plan, 2)
        for one, other in zip(found, wanted, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-12)


def with_layouts(order):
    """`lower_to_views` with another order of dimensions for each value."""
    right = lower_to_views.choose_layouts

    def spoilt(*given):
        return {node: order(was) for node, was in right(*given).items()}

    return patch.object(lower_to_views, "choose_layouts", spoilt)


def lies_as_in_numpy(function, *arguments) -> bool:
    """Whether results have the values of NumPy's, and lie in memory as those do."""
    case = follow(function, *arguments)
    found = run_plain_case(case, lowered(case).plan)
    pairs = list(zip(found, in_numpy(function, arguments), strict=True))
    assert all(np.array_equal(one, other) for one, other in pairs)
    return all(one.strides == other.strides for one, other in pairs)


@pytest.mark.parametrize("x", [numbers(5, 6), numbers(6, 5).T])
def test_a_wrong_choice_of_layouts_is_found(x):
    def scaled(x):
        return x * 2.0

    assert lies_as_in_numpy(scaled, x)
    with with_layouts(lambda was: was[::-1]):
        assert not lies_as_in_numpy(scaled, x)
    with with_layouts(lambda was: was[:1] * 2), pytest.raises(VerifyError, match="share memory"):
        lowered(follow(scaled, x))
