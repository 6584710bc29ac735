"""Loops and branches that no kernel runs become steps that run the plans of their bodies."""

import numpy as np
import pytest

import axiomjit as aj
from axiomjit.base.errors import VerifyError
from axiomjit.passes.ir.plan_ir import Allocate, Branch, Call, Launch, OfRegion, Repeat, WriteBack
from axiomjit.passes.ir.verify_program import verify_program
from axiomjit.passes.loops import lower_regions
from axiomjit.passes.plan import repeat_regions as repeat_module
from axiomjit.passes.plan.repeat_regions import repeat_regions
from axiomjit.runtime.execution import repeats
from axiomjit.symbolic.dims import dim
from tests.passes.examples import example
from tests.passes.graphs import follow, in_numpy, lower_until, lowered, run_plan_plain, small_forms
from tests.tracing.loop_programs import PROGRAMS as SERIAL
from tests.tracing.repeat_programs import PROGRAMS

GOLDEN = ("shrinking", "either_side", "newton", "turned", "inner_and_outer")


def lowered_program(name, n=7):
    function, make = PROGRAMS[name]
    return aj.jit(function).lower(*make(n, np.random.default_rng(n)))


@pytest.mark.parametrize("name", GOLDEN)
def test_repeat_regions_golden(golden, name):
    found = lowered_program(name)
    golden(f"{found.graph}\n{found.plan}")


def test_repeat_regions_leaves_alone():
    case = example("product")
    plan = lower_until("repeat_regions", case)
    assert repeat_regions(plan, case.context) is plan


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_that_call_libraries_are_repeated(name):
    plan = lowered_program(name)._stages.plan
    assert not plan.calls_regions
    assert any(isinstance(step, OfRegion) for step in plan.steps)
    assert len(plan.launches) == plan.cost.kernels


@pytest.mark.parametrize("name", ["shrinking", "either_side", "inner_and_outer", "turned"])
def test_plans_in_plain_python_mean_what_numpy_does(name):
    function, make = PROGRAMS[name]
    arguments = make(6, np.random.default_rng(1))
    with small_forms():
        case = follow(function, *arguments)
        stages = lowered(case)
    results = case.returned(run_plan_plain(stages.plan, case.arguments, case.values, in_place=True))
    plain = make(6, np.random.default_rng(1))
    wanted = in_numpy(function, plain)
    if results[0].dtype != object:
        np.testing.assert_allclose(results[0], wanted[0], rtol=1e-12)
    np.testing.assert_allclose(arguments[0], plain[0], rtol=1e-12)


@pytest.mark.parametrize("name", SERIAL)
def test_serial_kernels_and_plans_mean_the_same(name, monkeypatch):
    """Programs that are one kernel give the same results as repeated plans."""
    function, make = SERIAL[name]
    mine, plain = (make(7, np.random.default_rng(7)) for _ in range(2))
    monkeypatch.setattr(lower_regions, "_is_for_one_kernel", lambda region, context: False)
    compiled = aj.jit(strict=True)(function)
    compiled(*mine)
    function(*plain)
    for one, other in zip(mine, plain, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-13)
    steps = compiled.lower(*plain)._stages.plan.every_step
    assert any(isinstance(step, Repeat) for step in steps)


def trips_of(function, *arguments):
    """The kinds of steps in the plan of a loop, its bodies' among them."""
    plan = lowered(follow(function, *arguments)).plan
    return {type(step) for step in plan.every_step}


def products(a, x):
    return aj.fori_loop(0, 9, lambda i, x: a @ x * 0.1, x)


def test_large_products_and_large_trips_are_repeated():
    small, large = (np.ones((n, n)) for n in (20, 300))
    assert Repeat not in trips_of(products, small, small[0])
    assert {Repeat, Call} <= trips_of(products, large, large)
    assert {Repeat, Call} <= trips_of(products, large, large[0])

    def scaled(x):
        return aj.fori_loop(0, 9, lambda i, x: x * 0.5 + 1.0, x)

    assert Repeat not in trips_of(scaled, large[:2])
    assert {Repeat, Launch} <= trips_of(scaled, large)


def rolled(x, n):
    """An array of which each trip makes another one, from other elements."""
    for i in range(n):
        x = 0.5 * x + 0.25 * (np.roll(x, 1) - i * np.roll(x, -1))
    return x


def sorted_anew(x, n):
    def step(carried):
        x, k = carried
        return np.sort(0.5 - x), k + 1

    return aj.while_loop(lambda carried: carried[1] < n, step, (x, 0))[0]


@pytest.fixture
def _small_is_large(monkeypatch):
    monkeypatch.setattr(repeat_module, "MIN_ELEMENTS", 0)


@pytest.mark.usefixtures("_small_is_large")
@pytest.mark.parametrize("function", [rolled, sorted_anew])
def test_arrays_bound_anew_are_made_in_two_memories(golden, function):
    x = np.random.default_rng(0).random(9)
    compiled = aj.jit(strict=True)(function)
    for n in (1, 2, 9, 12, 9, 30):
        before = x.copy()
        assert np.allclose(compiled(x, n), function(x, n), rtol=1e-12)
        assert np.array_equal(x, before)
    with small_forms():
        case = follow(function, x, 9)
        plan = lowered(case).plan
    (step,) = (step for step in plan.steps if isinstance(step, Repeat))
    assert step.renewed == (0,)
    (result,) = case.returned(run_plan_plain(plan, case.arguments, case.values))
    assert np.allclose(result, function(x, 9), rtol=1e-12)
    golden(compiled.lower(x, 9).plan)
    for places in ((), (0, 0)):
        at = plan.steps.index(step)
        steps = *plan.steps[:at], step.replace(renewed=places), *plan.steps[at + 1 :]
        with pytest.raises(VerifyError):
            verify_program(plan.replace(steps=steps))


@pytest.mark.usefixtures("_small_is_large")
def test_parts_and_arrays_that_are_read_again_stay_in_their_memory():
    def first_part(x, n):
        for i in range(n):
            x[: n - i] = np.sort(0.5 - x[: n - i])

    def read_again(x, n):
        for i in range(n):
            x[...] = np.concatenate([x[1:], x[:1]]) * 0.5
            x[i] += x[i - 1]

    for function in (first_part, read_again):
        mine, plain = (np.random.default_rng(0).random(12) for _ in range(2))
        compiled = aj.jit(strict=True)(function)
        compiled(mine, 9)
        function(plain, 9)
        assert np.allclose(mine, plain, rtol=1e-12)
        (step,) = (s for s in compiled.lower(mine, 9)._stages.plan.steps if isinstance(s, Repeat))
        assert step.renewed == ()


@pytest.mark.usefixtures("_small_is_large")
@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_mean_the_same_in_two_memories(name):
    function, make = PROGRAMS[name]
    mine, plain = (make(7, np.random.default_rng(7)) for _ in range(2))
    found, wanted = aj.jit(strict=True)(function)(*mine), function(*plain)
    if isinstance(wanted, np.ndarray):
        np.testing.assert_allclose(found, wanted, rtol=1e-10)
    for one, other in zip(mine, plain, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-10)


def test_results_that_take_the_wrong_place_are_found(monkeypatch):
    right = repeats.Repeating._run_renewing

    def stays(self, trips, seen):
        return right(self, list(trips)[:-1], seen)

    monkeypatch.setattr(repeats.Repeating, "_run_renewing", stays)
    x = np.random.default_rng(0).random(5000)
    assert not np.allclose(aj.jit(rolled)(x, 9), rolled(x, 9))


def spoiled(name, rule):
    """The plan of a program with its first loop or branch changed."""
    plan = lowered_program(name)._stages.plan
    at = next(k for k, step in enumerate(plan.steps) if isinstance(step, OfRegion))
    return plan.replace(steps=(*plan.steps[:at], rule(plan.steps[at]), *plan.steps[at + 1 :]))


def without_writes(step):
    return step.replace(written=0)


def in_first(rule):
    return lambda step: step.replace(bodies=(rule(step.bodies[0]), *step.bodies[1:]))


def without_memory(plan):
    return plan.replace(steps=tuple(s for s in plan.steps if not isinstance(s, Allocate)))


def with_another_buffer(plan):
    first = plan.buffers[0]
    return plan.replace(buffers=(first.replace(shape=(*first.shape, dim(2))), *plan.buffers[1:]))


FAULTS = [
    ("shrinking", without_writes, "a body writes the windows"),
    ("shrinking", lambda step: step.replace(bodies=step.bodies * 3), "a region of 3 bodies"),
    ("shrinking", lambda step: step.replace(trips=None), "a region without an end"),
    ("shrinking", in_first(without_memory), "which has no memory"),
    ("shrinking", in_first(with_another_buffer), "is not like its window"),
    ("newton", lambda step: step.replace(bodies=step.bodies[::-1]), "a body returns 1 results"),
    ("shrinking", lambda step: step.replace(target=step.target.replace(buffer="x")), "uses x"),
]


@pytest.mark.parametrize(("name", "rule", "fault"), FAULTS)
def test_illegal_steps_are_found(name, rule, fault):
    verify_program(spoiled(name, lambda step: step))
    with pytest.raises(VerifyError) as caught:
        verify_program(spoiled(name, rule))
    assert fault in str(caught.value)


def test_bodies_write_the_windows_themselves():
    (step,) = (s for s in lowered_program("either_side")._stages.plan.steps if type(s) is Repeat)
    back = [one.position for one in step.bodies[0].steps if isinstance(one, WriteBack)]
    assert back == [0]
    assert any(isinstance(one, Branch) for one in step.bodies[0].steps)
