"""Sums of products of windows and a filter are products of matrices that stay in the cache."""

from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from axiomjit.graph.library_operations import CONVOLUTION
from axiomjit.passes.graph.find_convolutions import find_convolutions
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
from tests.passes.windows import CASES, convolved


def large(**given):
    """A convolution that is left to products of matrices."""
    return convolved(**({"channels": 3, "outputs": 9} | given))


@pytest.mark.parametrize("padding", [0, 1])
def test_find_convolutions_golden(golden, padding):
    golden(before_and_after("find_convolutions", large(padding=padding)))


@pytest.mark.parametrize("name", ["pooled", "of_products"])
def test_find_convolutions_leaves_alone(name):
    case = CASES[name]()
    graph = lower_until("find_convolutions", case)
    assert find_convolutions(graph, case.context) is graph


@pytest.mark.parametrize(
    "case",
    [
        lambda: example("product"),
        lambda: convolved(outputs=7),
        lambda: convolved(channels=1, window=(2, 2)),
        lambda: large(dtype="i8"),
    ],
)
def test_other_sums_are_loops(case):
    assert census(lowered(case()).simplified)["convolution"] == 0


def test_nothing_is_stored_but_the_result():
    stages = lowered(large())
    (step,) = stages.loops.steps
    assert isinstance(step, LibraryCall)
    assert step.operation is CONVOLUTION
    assert stages.cost.temporary_bytes.constant == 0
    assert census(stages.views)["temporary"] == 0


ENDS = st.tuples(st.integers(0, 4), st.integers(0, 4))
STEPS = st.integers(1, 3)


@settings(max_examples=40, deadline=None, derandomize=True)
@given(STEPS, ENDS, STEPS, st.sampled_from(["f4", "f8", "c16"]), st.integers(200, 5000))
def test_any_convolution(strides, padding, dilation, dtype, block):
    """Small whole numbers, of which sums in any order are equal; blocks of one place or more."""
    case = large(strides=strides, padding=padding, dilation=dilation, dtype=dtype, window=(2, 2))
    want = evaluated(case.graph, case)
    with patch("axiomjit.graph.window_products.BLOCK_BYTES", block):
        np.testing.assert_array_equal(evaluated(lowered(case).simplified, case), want)
        np.testing.assert_array_equal(run_plain_case(case, lowered(case).plan), want)
