"""Copies into C order are dropped where readers split again, or where memory is dense."""

import numpy as np
import pytest

from axiomjit.graph import builder
from axiomjit.graph.nodes import Graph, Input
from axiomjit.graph.primitives import MAX, PRIMITIVES
from axiomjit.graph.shape_ops import merge, split
from axiomjit.passes.graph.compose_views import compose_views
from axiomjit.passes.graph.elide_copies import elide_copies
from axiomjit.symbolic.dims import Scope, dim, named_length
from axiomjit.symbolic.index_maps import identity, shift
from tests.passes.examples import example, numbers
from tests.passes.graphs import (
    CONTEXT,
    Case,
    before_and_after,
    evaluated,
    follow,
    lowered,
    run_plain_case,
)

N, M = named_length("n0"), named_length("n1")
X = Input(np.dtype("f8"), 0, (N, M))
VALUE = numbers(6, 7)
LATER = shift(identity(2), (1, 0))


DENSE = (M, dim(1))


def case(node, value=VALUE, strides=DENSE):
    """The case of a node that depends on X alone."""
    values = {d.terms[0][0][0]: length for d, length in zip((N, M), value.shape, strict=True)}
    return Case(Graph((X,), (node,)), {0: strides}, Scope(values), (value,), None, ((0, None),))


def doubled(node):
    return builder.elementwise(PRIMITIVES["add"], node, node)


CASES = {
    "dense": lambda: case(doubled(merge(X, [2]))),
    "dense-part": lambda: case(doubled(merge(builder.view(X, LATER, (N - 1, M)), [2]))),
    "not-dense": lambda: case(doubled(merge(X, [2])), VALUE.T.copy().T, (dim(1), N)),
    "split-again": lambda: case(doubled(split(merge(doubled(X), [2]), 0, (N, M)))),
    "split-otherwise": lambda: case(doubled(split(merge(doubled(X), [2]), 0, (M, N)))),
    "computed-row": lambda: case(doubled(merge(doubled(doubled(X)), [2]))),
    "computed-of-columns": lambda: case(
        doubled(merge(doubled(X), [2])), VALUE.T.copy().T, (dim(1), N)
    ),
    "computed-of-rows": lambda: case(
        doubled(merge(builder.elementwise(PRIMITIVES["add"], X, builder.fold(MAX, X, (0,))), [2]))
    ),
    "folded": lambda: case(builder.fold(builder.SUM, merge(X, [2]), (0,))),
}


@pytest.mark.parametrize("name", CASES)
def test_elide_copies_golden(golden, name):
    golden(before_and_after("elide_copies", CASES[name]()))


@pytest.mark.parametrize("name", CASES)
def test_values_stay(name):
    one = CASES[name]()
    (want,) = evaluated(one.graph, one)
    after = elide_copies(compose_views(one.graph, CONTEXT), one.context)
    np.testing.assert_array_equal(evaluated(after, one)[0], want)
    np.testing.assert_array_equal(run_plain_case(one, lowered(one).plan)[0], want)


@pytest.mark.parametrize("name", ["strided", "centred", "merged"])
def test_elide_copies_leaves_alone(name):
    one = example(name)
    before = compose_views(one.graph, CONTEXT)
    assert elide_copies(before, one.context) is before


@pytest.mark.parametrize("function", [np.sort, np.argsort])
def test_operations_along_a_dimension_are_not_computed_along_memory(function):
    def f(x):
        return (function(x, axis=-1) + 1).cumsum()

    one = follow(f, np.sin(VALUE))
    (got,) = evaluated(elide_copies(compose_views(one.graph, one.context), one.context), one)
    np.testing.assert_allclose(got, f(np.sin(VALUE)), rtol=1e-14)


def test_views_that_are_outputs_keep_their_copy():
    one = follow(lambda x: x.T.reshape(-1).reshape(7, 6), VALUE)
    before = compose_views(one.graph, CONTEXT)
    assert elide_copies(before, one.context) is before
    (result,) = run_plain_case(one, lowered(one).plan)
    assert not np.shares_memory(result, one.arguments[0])
