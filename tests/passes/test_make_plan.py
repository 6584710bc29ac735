"""Memory first, then kernels in order, temporaries released after their last reader."""

import pytest

from axiomjit.passes.ir.plan_ir import Allocate, Launch, Release
from axiomjit.passes.make_plan import make_plan
from tests.graphs import CONTEXT, before_and_after, follow, lower_until, lowered
from tests.passes.examples import example, numbers


@pytest.mark.parametrize("name", ["l2", "sums_and_map", "centred", "product"])
def test_make_plan_golden(golden, name):
    golden(before_and_after("make_plan", example(name)))


def planned(function, *arguments):
    """The plan of a function."""
    return lowered(follow(function, *arguments)).plan


def test_make_plan_leaves_alone():
    plan = planned(lambda x: (x.T, x[::2]), numbers(6, 5))
    assert plan.steps == ()
    assert [window.buffer for window in plan.results] == ["a0", "a0"]
    assert make_plan(lower_until("make_plan", example("single")), CONTEXT).buffers


def test_everything_is_allocated_before_anything_runs():
    steps = lowered(example("product")).plan.steps
    kinds = [isinstance(step, Allocate) for step in steps]
    assert kinds == sorted(kinds, reverse=True)


@pytest.mark.parametrize("name", ["l2", "sums_and_map", "centred", "product"])
def test_temporaries_are_released_once_after_their_last_reader(name):
    plan = lowered(example(name)).plan
    scratch = {b.name for b in plan.buffers if b.role in ("temporary", "partial")}
    released = [step.buffer for step in plan.steps if isinstance(step, Release)]
    assert sorted(released) == sorted(scratch)
    for k, step in enumerate(plan.steps):
        if isinstance(step, Launch):
            gone = {s.buffer for s in plan.steps[:k] if isinstance(s, Release)}
            assert not gone & set(step.buffers)
