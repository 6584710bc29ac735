"""Commutative folds of users run in lanes."""

import numpy as np
import pytest

import axiomjit as aj
from axiomjit.passes.ir.loop_ir import Fold, For
from axiomjit.passes.loops.interleave_folds import interleave_folds
from tests.passes.examples import example, numbers
from tests.passes.graphs import (
    before_and_after,
    evaluated,
    follow,
    lower_until,
    lowered,
    run_plain_case,
    small_forms,
)
from tests.passes.test_packed import compiled, vector_loops


def growth(a, b):
    """The larger first value, and what two growths make one after the other."""
    return np.maximum(a[0], b[0]), a[1] * b[1] + a[1] + b[1]


ACC = aj.Accumulator((0.0, 0.0), growth, lift=lambda e: (e, e), commutative=True)
LISTED = aj.Accumulator((0.0, 0.0), growth, lift=lambda e: (e, e))
TOTAL = aj.Accumulator(5, lambda a, b: a + b, commutative=True)


def rows(x):
    return aj.fold(ACC, x, axes=1)


CASES = {
    "rows": (rows, (3, 1100)),
    "short blocks": (rows, (3, 300)),
    "all": (lambda x: aj.fold(ACC, x * 2, axes=(0, 1)), (40, 70)),
    "integers": (lambda x: aj.fold(TOTAL, x.astype("i4"), axes=1), (4, 700)),
    "beside a map": (lambda x: (aj.fold(TOTAL, x, axes=1), x * 2), (4, 700)),
}
ALONE = {
    "short": (rows, (3, 255)),
    "listed order": (lambda x: aj.fold(LISTED, x, axes=1), (3, 1100)),
    "columns": (lambda x: aj.fold(ACC, x, axes=0), (300, 40)),
    "running": (lambda x: aj.fold(TOTAL, x, axes=1, running=True), (3, 300)),
    "beside a sum": (lambda x: (*rows(x), x.sum(axis=1)), (3, 300)),
}


def case_of(cases, name):
    function, shape = cases[name]
    return follow(function, numbers(*shape))


@pytest.mark.parametrize("name", ["rows", "all"])
def test_interleave_folds_golden(golden, name):
    golden(before_and_after("interleave_folds", case_of(CASES, name)))


@pytest.mark.parametrize("name", [*ALONE, "sums_and_map"])
def test_interleave_folds_leaves_alone(name):
    case = case_of(ALONE, name) if name in ALONE else example(name)
    program = lower_until("interleave_folds", case)
    assert interleave_folds(program, case.context) is program


@pytest.mark.parametrize("name", CASES)
def test_innermost_loops_run_over_lanes(name):
    case = case_of(CASES, name)
    program = interleave_folds(lower_until("interleave_folds", case), case.context)
    every = [s for step in program.steps for s in step.statements]
    lanes = [s for s in every if isinstance(s, Fold) and s.state.lanes is not None]
    assert len(lanes) == 1
    loops = [s for s in every if isinstance(s, For) and any(x is lanes[0] for x in s.body)]
    assert [loop.kind for loop in loops] == ["map"]


@pytest.mark.parametrize("length", [1, 2, 3, 7, 8, 9, 17, 30])
@pytest.mark.parametrize("name", [*CASES, *ALONE])
def test_results_are_those_of_the_evaluator(name, length):
    function, shape = (CASES | ALONE)[name]
    x = numbers(min(shape[0], 4), length) % 3
    case = follow(function, x)
    with small_forms():
        plans = [lowered(case).plan]
    plans.append(lowered(case).plan)
    for plan in plans:
        found = run_plain_case(case, plan, 2)
        for one, other in zip(found, evaluated(case.graph, case), strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-14)


def test_lanes_are_vector_code():
    (kernel,) = compiled(follow(rows, np.ones((30, 5000))))
    assert vector_loops(kernel) >= 1  # that of the lanes


def test_bits_do_not_depend_on_threads():
    x = np.random.default_rng(0).standard_normal((3, 300_000)) * 1e-3
    function = aj.jit(lambda x: (*rows(x), *aj.fold(ACC, x, axes=(0, 1))))
    with aj.threads(1):
        alone = function(x)
    for one, other in zip(function(x), alone, strict=True):
        assert one.tobytes() == other.tobytes()
