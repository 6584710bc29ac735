"""Moments of a block are found in two loops over it, and merged once for the block."""

from unittest.mock import patch

import numpy as np
import pytest

from axiomjit.graph.reductions import WelfordFold
from axiomjit.passes.ir.loop_ir import Fold, For, walk
from axiomjit.passes.loops.center_blocks import center_blocks
from tests.passes.examples import example, numbers
from tests.passes.graphs import (
    before_and_after,
    evaluated,
    follow,
    lower_until,
    lowered,
    run_plain_case,
)
from tests.passes.loops.test_join_moments import CASES, case_of
from tests.passes.test_packed import compiled, vector_loops


@pytest.mark.parametrize("name", ["rows", "planes"])
def test_center_blocks_golden(golden, name):
    golden(before_and_after("center_blocks", case_of(CASES, name)))


@pytest.mark.parametrize("name", ["l2", "sums_and_map", "centred"])
def test_center_blocks_leaves_alone(name):
    case = example(name)
    program = lower_until("center_blocks", case)
    assert center_blocks(program, case.context) is program


@pytest.mark.parametrize("name", CASES)
def test_no_innermost_loop_folds_moments(name):
    case = case_of(CASES, name)
    program = center_blocks(lower_until("center_blocks", case), case.context)
    for step in program.steps:
        for loop in (s for s in walk(step.body) if isinstance(s, For)):
            if not any(isinstance(s, For) for s in loop.body):
                folds = [s.state.accumulator for s in loop.body if isinstance(s, Fold)]
                assert not any(isinstance(fold, WelfordFold) for fold in folds)


def test_moments_of_two_arrays_in_one_walk():
    """Squares of both are apart, if one nest would be large, while their means are in one."""
    x = numbers(3000)
    case = follow(lambda x, y: (x.var(), y.var()), x, x * x)
    with patch("axiomjit.passes.loops.fuse_loops.MAX_STATEMENTS", 13):
        stages = lowered(case)
    assert len(stages.loops.steps) == 1
    for found, wanted in zip(
        run_plain_case(case, stages.plan, 3), evaluated(case.graph, case), strict=True
    ):
        assert abs(found - wanted) < 1e-12 * wanted


@pytest.mark.parametrize("code", ["f8", "f4", "i4"])
def test_both_loops_over_a_block_are_vector_code(code):
    for step in (1, 2):
        (kernel,) = compiled(follow(lambda x: x.var(), np.ones(100_000, code)[::step]))
        assert vector_loops(kernel) >= 2
