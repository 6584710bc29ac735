"""Memory first, then kernels in order, temporaries released after their last reader."""

import numpy as np
import pytest

from axiomjit.dispatch.jit import jit
from axiomjit.passes.ir.plan_ir import Allocate, Call, Launch, Release, Reuse
from axiomjit.passes.plan.make_plan import make_plan
from tests.passes.examples import example, numbers
from tests.passes.graphs import CONTEXT, before_and_after, follow, lower_until, lowered


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
    released += [step.source for step in plan.steps if isinstance(step, Reuse)]
    assert sorted(released) == sorted(scratch)
    for k, step in enumerate(plan.steps):
        if isinstance(step, Launch):
            gone = {s.buffer for s in plan.steps[:k] if isinstance(s, Release)}
            assert not gone & set(step.buffers)


def test_calls_before_and_after_a_write_are_two():
    def medians(y):
        first = np.median(y)
        y[0] = first + 10.0
        return first, np.median(y)

    plan = planned(medians, np.arange(5.0))
    assert sum(isinstance(step, Call) for step in plan.steps) == 2
    assert jit(medians)(np.arange(5.0)) == medians(np.arange(5.0))


def used_by(step):
    """The buffers that a step uses."""
    windows = (*step.operands, step.target) if isinstance(step, Call) else ()
    return {w.buffer for w in windows} | set(getattr(step, "buffers", ()))


@pytest.mark.parametrize("length", range(2, 7))
def test_dead_temporaries_give_their_memory_to_later_ones(length):
    """However long a chain of products is, three memories are enough; one use ends before one."""

    def chain(x, y):
        for _ in range(length):
            x = (x * 2) @ y
        return x

    plan = planned(chain, numbers(6, 6), numbers(6, 6))
    made = [s.buffer for s in plan.steps if isinstance(s, Allocate)]
    heirs = [s for s in plan.steps if isinstance(s, Reuse)]
    assert len(made) == min(len(made) + len(heirs), 3)
    for k, step in enumerate(plan.steps):
        if isinstance(step, Reuse):
            assert all(step.source not in used_by(later) for later in plan.steps[k:])
            assert all(step.buffer not in used_by(earlier) for earlier in plan.steps[:k])


def test_temporaries_of_other_sizes_keep_their_own_memory():
    plan = planned(lambda x, y: ((x * 2) @ y * 3) @ y.T, numbers(6, 5), numbers(5, 4))
    sizes = {b.name: (b.shape, b.dtype) for b in plan.buffers}
    assert all(sizes[s.buffer] == sizes[s.source] for s in plan.steps if isinstance(s, Reuse))
