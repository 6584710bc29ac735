"""Memory is walked in small steps."""

import numpy as np
import pytest

from axiomjit.passes.ir.loop_ir import For, Load, Store
from axiomjit.passes.loops.order_loops import order_loops
from tests.passes.examples import example, numbers
from tests.passes.graphs import CONTEXT, before_and_after, follow, lower_until


@pytest.mark.parametrize("name", ["rows_and_columns", "strided", "total"])
def test_order_loops_golden(golden, name):
    golden(before_and_after("order_loops", example(name)))


@pytest.mark.parametrize("name", ["l2", "single", "mapped", "centred"])
def test_order_loops_leaves_alone(name):
    program = lower_until("order_loops", example(name))
    assert order_loops(program, CONTEXT) is program


def loops(function, *arguments):
    """The innermost step of each access, and the extents of all loops, after ordering."""
    program = order_loops(lower_until("order_loops", follow(function, *arguments)), CONTEXT)
    return [s for step in program.steps for s in step.statements]


@pytest.mark.parametrize("order", ["C", "F"])
def test_unit_stride_is_innermost(order):
    found = loops(lambda x: x + 1.0, np.array(numbers(6, 5), order=order))
    innermost = [s.iterator for s in found if isinstance(s, For)][-1]
    steps = [dict(s.index.terms)[innermost].constant for s in found if isinstance(s, Load | Store)]
    assert steps == [1, 1]


def test_loops_of_one_step_are_dropped():
    found = loops(lambda x: x + 1.0, numbers(1, 6, 1))
    assert len([s for s in found if isinstance(s, For)]) == 1


def test_a_fold_of_one_step_keeps_a_loop():
    found = loops(lambda x: x.sum(axis=1), numbers(6, 1))
    assert [s.kind for s in found if isinstance(s, For)] == ["map", "fold"]
