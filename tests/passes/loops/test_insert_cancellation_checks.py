"""Long loops within a unit look whether the call was given up, and give the same bits."""

import ctypes

import numpy as np
import pytest

import axiomjit
from axiomjit.graph.reductions import NO_POSITION
from axiomjit.passes.ir.loop_ir import For
from axiomjit.passes.ir.plan_ir import Launch
from axiomjit.passes.loops import insert_cancellation_checks as checking
from axiomjit.passes.loops.insert_cancellation_checks import insert_cancellation_checks
from axiomjit.runtime.codegen.kernel_cache import KERNELS
from axiomjit.runtime.codegen.plain_builtins import run_plain
from axiomjit.symbolic.dims import evaluate
from tests.passes.examples import example, numbers
from tests.passes.graphs import (
    before_and_after,
    evaluated,
    follow,
    lower_until,
    lowered,
    run_plain_case,
)
from tests.runtime.codegen.kernels import same_bits

FUNCTIONS = {
    "few columns": lambda x: np.exp(x).sum(axis=0),
    "extremes of columns": lambda x: np.abs(x).max(axis=0),
    "places in columns": lambda x: np.argmax(x * 2.0, axis=0),
    "long rows": lambda x: x.T.sum(axis=1) + np.abs(x.T).max(axis=1),
    "rows of softmax": lambda x: np.exp(x.T) / np.exp(x.T).sum(axis=1)[:, None],
    "products": lambda x: (x * 0.5).prod(axis=0),
    "middle": lambda x: np.abs(x.reshape(3, -1, 5)).sum(axis=1),
}
GOLDEN = ("few columns", "long rows")
X = numbers(30_000, 5) / 70_000.0


@pytest.fixture
def soon(monkeypatch):
    """Loops are long at once, so that small arrays do."""
    monkeypatch.setattr(checking, "MIN_WORK", 200_000)
    monkeypatch.setattr(checking, "MAX_WORK_BETWEEN_CHECKS", 60_000)


def looking(program):
    """The loops of a program that look."""
    found = [s for step in program.steps for s in step.statements if isinstance(s, For)]
    return [loop for loop in found if loop.poll_every]


@pytest.mark.parametrize("name", GOLDEN)
def test_insert_cancellation_checks_golden(golden, name, soon):
    case = follow(FUNCTIONS[name], X)
    kernels = [s.kernel.source for s in lowered(case).plan.steps if isinstance(s, Launch)]
    golden("\n".join([before_and_after("insert_cancellation_checks", case), *kernels]))


@pytest.mark.parametrize("name", ["rows_and_columns", "planes", "centred"])
def test_insert_cancellation_checks_leaves_alone(name):
    case = example(name)
    program = lower_until("insert_cancellation_checks", case)
    assert insert_cancellation_checks(program, case.context) is program


@pytest.mark.parametrize("name", FUNCTIONS)
def test_loops_that_look_give_the_same_bits(name, monkeypatch):
    function = FUNCTIONS[name]
    before = axiomjit.jit(function)(X)
    for short in (1, 60_000, 10**7):
        monkeypatch.setattr(checking, "MAX_WORK_BETWEEN_CHECKS", short)
        monkeypatch.setattr(checking, "MIN_WORK", 150)
        case = follow(function, X[:60])
        want = evaluated(case.graph, case)
        for got, meant in zip(run_plain_case(case, lowered(case).plan, 2), want, strict=True):
            np.testing.assert_allclose(got, meant, rtol=1e-13)
        monkeypatch.setattr(checking, "MIN_WORK", 200_000)
        jitted = axiomjit.jit(lambda x: function(x))
        assert looking(jitted.lower(X)._stages.loops)
        assert same_bits(jitted(X), before)


def test_other_lengths_look_as_they_need(soon):
    """What was decided of the work leaves a guard."""
    jitted = axiomjit.jit(FUNCTIONS["extremes of columns"])
    for rows, looks in ((30_000, True), (7, False), (25_000, True)):
        assert any(kernel.polls for kernel in jitted.lower(X[:rows]).kernels) == looks
        np.testing.assert_array_equal(jitted(X[:rows]), np.abs(X[:rows]).max(axis=0))
    assert jitted.cache_info().traced == 2


def test_a_flag_ends_loops_early(soon):
    """Compiled and in plain Python: no step is taken, so the extreme is that of nothing."""
    case = follow(FUNCTIONS["extremes of columns"], X)
    (launch,) = (s for s in lowered(case).plan.steps if isinstance(s, Launch))
    kernel, result = launch.kernel, np.zeros(5)
    assert kernel.polls
    words = [X, result, 5, 30_000]
    assert len(words) == len(kernel.parameters) - 1
    for flag, want in ((0, np.abs(X).max(axis=0)), (1, np.full(5, -np.inf))):
        run_plain(kernel.source, kernel.parameters, [*words, flag], 0, 1)
        np.testing.assert_array_equal(result, want)
        addresses = [X.ctypes.data, result.ctypes.data, 5, 30_000, flag]
        block = (ctypes.c_int64 * 5)(*addresses)
        result[:] = 0.0
        assert KERNELS.get(kernel).entry(ctypes.addressof(block), 0, 1) == 0
        np.testing.assert_array_equal(result, want)


def test_no_block_is_searched_for_the_place_of_nothing(soon):
    """An extreme of no elements has no place, and no block that could be read."""
    rows = np.pad(X.T, ((1, 0), (0, 0)))[1:]
    case = follow(lambda x: np.argmax(np.exp(x), axis=1), rows)
    (launch,) = (s for s in lowered(case).plan.steps if isinstance(s, Launch))
    places = np.zeros(5, "i8")
    lengths = [evaluate(length, case.values) for length in launch.lengths[:-1]]
    words = [rows.ctypes.data, places.ctypes.data, *lengths, 1]
    block = (ctypes.c_int64 * len(words))(*words)
    assert KERNELS.get(launch.kernel).entry(ctypes.addressof(block), 0, 5) == 0
    np.testing.assert_array_equal(places, NO_POSITION)


def test_what_a_caller_keeps_is_never_written_in_part(soon):
    """A sum that was given up half way must not reach an argument."""

    def write(x, out):
        out[:] = np.abs(x).max(axis=0)

    case = follow(write, X, np.zeros(5))
    assert not looking(lowered(case).loops)
    assert looking(lowered(follow(FUNCTIONS["extremes of columns"], X)).loops)


def prefix_sums(x):
    for i in range(1, x.shape[0]):
        x[i] += x[i - 1]


def lengths_of_paths(d):
    n = d.shape[0]
    for k in range(n):
        for i in range(n):
            for j in range(n):
                way = d[i, k] + d[k, j]
                if way < d[i, j]:
                    d[i, j] = way


REGIONS = {
    "numbers": (prefix_sums, (numbers(60),)),
    "nests": (lengths_of_paths, (numbers(9, 9),)),
    "rows": (prefix_sums, (numbers(60, 5),)),
}


def region_of(name):
    """The kernel of a region with its loops that look, the outermost first."""
    function, arguments = REGIONS[name]
    found = axiomjit.jit(function, strict=True).lower(*arguments)
    loops = [s for step in found._stages.loops.steps for s in step.statements]
    serial = [s for s in loops if isinstance(s, For) and s.kind == "serial"]
    (kernel,) = (one for one in found.kernels if "live" in one.source)
    return kernel, serial


@pytest.mark.parametrize(("name", "looks"), [("numbers", [2**20]), ("rows", [1])])
def test_regions_that_write_arguments_look_between_trips(name, looks):
    _, loops = region_of(name)
    assert [loop.poll_every for loop in loops] == looks


def test_regions_look_in_long_trips_only(monkeypatch):
    _, loops = region_of("nests")
    assert [loop.poll_every for loop in loops] == [1, 0, 0]
    monkeypatch.setattr(checking, "MIN_WORK", 100)
    _, loops = region_of("nests")
    assert [loop.poll_every for loop in loops[:2]] == [1, 1]


@pytest.mark.parametrize("name", REGIONS)
def test_a_flag_ends_a_region_before_its_first_trip(name):
    kernel, _ = region_of(name)
    function, arguments = REGIONS[name]
    want = [one.copy() for one in arguments]
    function(*want)
    numbers_of = {"numbers": [60], "nests": [9], "rows": [60, 5]}
    for flag, expected in ((1, arguments), (0, want)):
        (given,) = (one.copy() for one in arguments)
        run_plain(kernel.source, kernel.parameters, [given, *numbers_of[name], flag], 0, 1)
        np.testing.assert_array_equal(given, expected[0])
