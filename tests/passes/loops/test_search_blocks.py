"""The place of an extreme is searched in one block."""

import numpy as np
import pytest

import axiomjit
from axiomjit.axis.axes import make_axis
from axiomjit.axis.reductions import argmin
from axiomjit.axis.state import assign, variable
from axiomjit.graph.reductions import ArgReduceFold
from axiomjit.passes.ir.loop_ir import Fold, For, walk
from axiomjit.passes.loops.search_blocks import search_blocks
from tests.passes.examples import example, numbers
from tests.passes.graphs import (
    before_and_after,
    evaluated,
    follow,
    lower_until,
    lowered,
    run_plain_case,
    run_plan_plain,
    small_forms,
    stored,
)
from tests.passes.test_packed import compiled, vector_loops


def both(x):
    return np.argmax(x + 1, axis=1), np.argmin(x + 1, axis=1), x.sum(axis=1)


def loss(x):
    fallen = x / np.maximum.accumulate(x) - 1
    return fallen.argmin(), fallen.argmax(), fallen.min()


RUNNING = {
    "loss": (loss, (3000,)),
    "sums": (lambda x: np.argmax(np.cumsum(x)), (1100,)),
    "rows": (lambda x: np.argmax(np.cumsum(x, axis=1), axis=1), (3, 1100)),
}
CASES = {
    "rows": (lambda x: np.argmax(x, axis=1), (3, 100)),
    "all": (lambda x: np.argmin(x), (5000,)),
    "planes": (lambda x: np.argmax(x[:, :, 1:], axis=None), (3, 4, 71)),
    "beside_a_sum": (both, (3, 1100)),
    "joined": (lambda x: np.argmax(np.pad(x, 1)), (9, 80)),
}


def case_of(name):
    function, shape = CASES[name]
    return follow(function, numbers(*shape))


@pytest.mark.parametrize("name", ["rows", "all"])
def test_search_blocks_golden(golden, name):
    golden(before_and_after("search_blocks", case_of(name)))


ALONE = {
    "short": lambda: follow(lambda x: np.argmax(x, axis=1), numbers(30, 63)),
    "lanes": lambda: follow(lambda x: np.argmax(x, axis=0), numbers(100, 70)),
    "short running": lambda: follow(lambda x: np.argmax(np.cumsum(x)), numbers(63)),
    "no places": lambda: example("sums_and_map"),
}


@pytest.mark.parametrize("name", ALONE)
def test_search_blocks_leaves_alone(name):
    case = ALONE[name]()
    program = lower_until("search_blocks", case)
    assert search_blocks(program, case.context) is program


@pytest.mark.parametrize("name", CASES)
def test_inner_loops_fold_no_places(name):
    case = case_of(name)
    program = search_blocks(lower_until("search_blocks", case), case.context)
    loops = [s for step in program.steps for s in walk(step.body) if isinstance(s, For)]
    inner = [loop for loop in loops if not any(isinstance(s, For) for s in loop.body)]
    kept = [s.state.accumulator for x in inner for s in x.body if isinstance(s, Fold)]
    assert kept
    assert any(loop.at is not None for loop in loops)
    assert not any(isinstance(fold, ArgReduceFold) for fold in kept)


@pytest.mark.parametrize("dtype", ["b1", "u1", "i8", "f2", "f4", "f8", "c8"])
@pytest.mark.parametrize("name", CASES)
def test_places_are_numpys(name, dtype):
    function, shape = CASES[name]
    rng = np.random.default_rng(len(name))
    small = tuple(min(n, 13) for n in shape)
    for _ in range(4):
        x = rng.integers(0, 4, small).astype(dtype)
        if np.dtype(dtype).kind in "fc":
            x.flat[rng.integers(0, x.size, 2)] = rng.choice([np.nan, -np.inf, -0.0])
        case = follow(function, x)
        with small_forms():
            found = run_plain_case(case, lowered(case).plan, 3)
        for one, other, wanted in zip(
            found, evaluated(case.graph, case), _tuple(function(x)), strict=True
        ):
            np.testing.assert_array_equal(one, wanted)
            np.testing.assert_array_equal(other, wanted)


@pytest.mark.parametrize("name", RUNNING)
def test_running_values_are_searched_in_tiles(name):
    function, shape = RUNNING[name]
    case = follow(function, numbers(*shape))
    program = search_blocks(lower_until("search_blocks", case), case.context)
    loops = [s for step in program.steps for s in walk(step.body) if isinstance(s, For)]
    inner = [loop for loop in loops if not any(isinstance(s, For) for s in loop.body)]
    kept = [s.state.accumulator for x in inner for s in x.body if isinstance(s, Fold)]
    assert any(step.tiles for step in program.steps)
    assert not any(isinstance(fold, ArgReduceFold) for fold in kept)


@pytest.mark.parametrize("dtype", ["i8", "f2", "f4", "f8"])
@pytest.mark.parametrize("name", RUNNING)
def test_places_of_running_values_are_numpys(name, dtype):
    function, shape = RUNNING[name]
    small = tuple(min(n, 35) for n in shape)
    rng = np.random.default_rng(len(name))
    for missing in (0, 0, 1, 3):
        x = rng.integers(1, 5, small).astype(dtype)
        if np.dtype(dtype).kind == "f":
            x.flat[rng.integers(0, x.size, missing)] = rng.choice([np.nan, np.inf])
        case = follow(function, x)
        with small_forms(), np.errstate(all="ignore"):
            found = run_plain_case(case, lowered(case).plan, 3)
            for one, wanted in zip(found, _tuple(function(x)), strict=True):
                np.testing.assert_array_equal(one, wanted)


@pytest.mark.parametrize("size", [64, 1023, 1024, 1025, 70_001])
def test_places_of_running_values_when_compiled(size):
    x = np.random.default_rng(size).integers(1, 90, size).astype(float)
    function = axiomjit.jit(loss)
    for place in (None, 0, size // 2, size - 1):
        if place is not None:
            x[place] = np.nan
        np.testing.assert_array_equal(function(x), loss(x))


def _tuple(results):
    return results if isinstance(results, tuple) else (results,)


def test_elements_that_are_written_over_are_not_computed_again():
    x = variable([make_axis(40)], None, numbers(40))
    place = argmin(x * 3.0)
    with small_forms():
        case = stored([place, assign(x, x * 3.0)])
        stages = lowered(case)
        found = run_plan_plain(stages.plan, case.arguments, case.values)
    assert len(stages.loops.steps) == 1
    assert case.returned(found)[0] == np.argmin(numbers(40))


@pytest.mark.parametrize("order", ["C", "F"])
def test_ties_in_another_order_of_loops(order):
    x = np.array(np.arange(60).reshape(6, 10) % 7, order=order)
    for axis in (None, 0, 1):
        case = follow(lambda x, axis=axis: np.argmax(x, axis=axis), x)
        with small_forms():
            (found,) = run_plain_case(case, lowered(case).plan, 2)
        np.testing.assert_array_equal(found, np.argmax(x, axis=axis))


@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_both_loops_are_vector_code(dtype):
    (kernel,) = compiled(follow(CASES["rows"][0], numbers(30, 2000, dtype=dtype)))
    assert vector_loops(kernel) >= 2


def test_what_was_looked_at_is_guarded():
    case = follow(CASES["rows"][0], numbers(6, 64))
    before = len(case.scope.guards)
    search_blocks(lower_until("search_blocks", case), case.context)
    assert len(case.scope.guards) > before


def test_zeros_are_equal_and_a_largest_one_keeps_its_sign():
    x = np.full(1000, -0.0)
    x[600] = 0.0
    for values in (x, x[:600], -x[:600]):
        case = follow(lambda x: (np.argmax(x), x.max(), np.argmin(x), x.min()), values)
        found = run_plain_case(case, lowered(case).plan, 2)
        assert [found[0], found[2]] == [0, 0]
        signs = np.signbit(values)
        assert np.signbit([found[1], found[3]]).tolist() == [signs.all(), signs.any()]
