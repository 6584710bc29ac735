"""Folds that leave out padding read what is padded; nothing is copied for it."""

import numpy as np
import pytest

from axiomjit.graph.nodes import is_partial, post_order
from axiomjit.passes.drop_padding import drop_padding
from tests.graphs import before_and_after, census, evaluated, lower_until, lowered
from tests.passes.examples import example
from tests.passes.windows import CASES


@pytest.mark.parametrize("name", CASES)
def test_drop_padding_golden(golden, name):
    golden(before_and_after("drop_padding", CASES[name]()))


@pytest.mark.parametrize("name", ["padded", "joined", "centred"])
def test_drop_padding_leaves_alone(name):
    case = example(name)
    graph = lower_until("drop_padding", case)
    assert drop_padding(graph, case.context) is graph


@pytest.mark.parametrize("name", CASES)
def test_nothing_is_padded(name):
    case = CASES[name]()
    stages = lowered(case)
    counts = census(stages.simplified)
    assert (counts["join"], census(stages.views)["temporary"]) == (0, 0)
    np.testing.assert_array_equal(evaluated(stages.simplified, case), evaluated(case.graph, case))


def test_elementwise_operands_have_the_conditions_of_their_reader():
    case = CASES["of_products"]()
    nodes = list(post_order(lowered(case).simplified.outputs))
    assert [n.primitive.name for n in nodes if is_partial(n)] == ["add", "add"]
