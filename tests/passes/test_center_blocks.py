"""Moments of a block are found in two loops over it, and merged once for the block."""

import pytest

from axiomjit.graph.moments import MomentFold
from axiomjit.passes.center_blocks import center_blocks
from axiomjit.passes.ir.loop_ir import Fold, For, walk
from tests.graphs import before_and_after, lower_until
from tests.passes.examples import example
from tests.passes.test_join_moments import CASES, case_of


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
                assert not any(isinstance(fold, MomentFold) for fold in folds)
