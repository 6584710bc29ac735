"""Folds that leave out padding read what is padded; nothing is copied for it."""

import numpy as np
import pytest

from axiomjit.graph.nodes import is_partial, post_order
from axiomjit.passes.graph.drop_padding import drop_padding
from axiomjit.passes.ir.loop_ir import LibraryCall
from tests.passes.examples import example
from tests.passes.graphs import (
    before_and_after,
    census,
    evaluated,
    lower_until,
    lowered,
    run_plain_case,
)
from tests.passes.windows import CASES


@pytest.mark.parametrize("name", CASES)
def test_drop_padding_golden(golden, name):
    golden(before_and_after("drop_padding", CASES[name]()))


@pytest.mark.parametrize("name", ["padded", "joined", "centred"])
def test_drop_padding_leaves_alone(name):
    case = example(name)
    graph = lower_until("drop_padding", case)
    assert drop_padding(graph, case.context) is graph


@pytest.mark.parametrize("name", ["pooled", "convolved", "of_products"])
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


def test_a_sum_with_conditions_is_no_product_of_matrices():
    """Where the operand is undefined, only loops leave it out."""
    case = CASES["of_casts"]()
    stages = lowered(case)
    assert not any(isinstance(step, LibraryCall) for step in stages.loops.steps)
    want = evaluated(case.graph, case)
    np.testing.assert_array_equal(run_plain_case(case, stages.plan), want)
