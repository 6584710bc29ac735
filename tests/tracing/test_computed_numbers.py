"""Truths and integers of computed values decide what a function does, in each call anew."""

import cmath
import math

import numpy as np
import pytest

import axiomjit as aj
from axiomjit.base.errors import FallbackWarning, NeedsValuesError
from axiomjit.passes.ir.plan_ir import Check
from axiomjit.symbolic import data_dependent
from tests.functions.deciding import NUMBERS, PATHS, RAISING, State

ROUNDS = 8


def same(one, other):
    """True if two values have one type, one shape and nearly the same elements."""
    if type(one) is not type(other):
        return False
    if isinstance(one, tuple):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, type | str):
        return one == other
    near = np.allclose(one, other, rtol=1e-12, atol=0, equal_nan=True)
    return np.shape(one) == np.shape(other) and near


def outcome(function, *args):
    """The result of a call, or its error."""
    try:
        return function(*args)
    except Exception as error:
        return type(error), str(error)


def arguments(number):
    """An array whose mean, first element and number of large elements differ from call to call."""
    return np.random.default_rng(number).random(7) * 4 - number % 3


@pytest.mark.usefixtures("in_numpy")
@pytest.mark.parametrize("name", [*PATHS, *NUMBERS])
def test_each_call_takes_its_own_path(name):
    function = {**PATHS, **NUMBERS}[name]
    compiled = aj.jit(function, strict=True)
    for number in (*range(ROUNDS), *range(ROUNDS)):
        x, y = arguments(number), arguments(number)
        assert same(outcome(compiled, x), outcome(function, y)), (name, number)
        np.testing.assert_array_equal(x, y)
    assert compiled.cache_info().traced <= 4


@pytest.mark.usefixtures("in_numpy")
@pytest.mark.parametrize("name", RAISING)
def test_errors_behind_a_truth_are_the_users(name):
    function = RAISING[name]
    compiled = aj.jit(function, strict=True)
    for number in (0, 2, 1, 0, 2, 3, 5):
        x, y = arguments(number), arguments(number)
        assert same(outcome(compiled, x), outcome(function, y)), (name, number)
        np.testing.assert_array_equal(x, y)


def test_paths_are_answered_natively_in_turn():
    compiled = aj.jit(PATHS["branch"], strict=True)
    x = np.arange(4.0)
    for _ in range(4):
        compiled(x), compiled(-x)
    before = compiled.hits_natively[0]
    for _ in range(5):
        np.testing.assert_array_equal(compiled(x), x * 2)
        np.testing.assert_array_equal(compiled(-x), x)
    assert compiled.hits_natively[0] == before + 10
    reasons = compiled.cache_info().reasons
    assert reasons[0] == "first call"
    assert "another truth at" in reasons[1]


def test_a_truth_is_checked_before_anything_is_written():
    compiled = aj.jit(PATHS["write"], strict=True)
    for number in range(4):
        compiled(arguments(number))
    programs = [program for found in compiled._programs.values() for program in found]
    assert len(programs) == 2
    for program in programs:
        steps = program.stages.plan.steps
        assert not program.stages.plan.early
        assert any(isinstance(step, Check) for step in steps)


def test_an_instance_changes_on_its_own_path():
    ours, plain = State(), State()
    step = aj.jit(State.step, strict=True)
    for number in (0, 2, 0, 1, 2, 2, 0, 0):
        assert same(step(ours, arguments(number)), plain.step(arguments(number)))
        assert (ours.small, ours.large) == (plain.small, plain.large)


@pytest.mark.usefixtures("in_numpy")
def test_a_fifth_path_leaves_the_function_to_numpy():
    def levels(x):
        for level in (1, 2, 3, 4, 5):
            if x[0] < level:
                return x * level
        return x

    compiled = aj.jit(levels)
    for first in (0.5, 1.5, 2.5, 3.5):
        np.testing.assert_array_equal(compiled(np.array([first, 1])), levels(np.array([first, 1])))
    with pytest.warns(FallbackWarning, match="4 different paths"):
        np.testing.assert_array_equal(compiled(np.array([4.5, 1])), [4.5 * 5, 5])
    strict = aj.jit(levels, strict=True)
    for first in (0.5, 1.5, 2.5, 3.5):
        strict(np.array([first, 1]))
    with pytest.raises(NeedsValuesError, match="4 different paths"):
        strict(np.array([4.5, 1]))


def halved(x):
    while x.max() > 1:
        try:  # no region
            x = x / 2
        finally:
            pass
    return x


@pytest.mark.usefixtures("in_numpy")
def test_a_line_asks_for_eight_truths_at_most():
    compiled = aj.jit(halved, strict=True)
    np.testing.assert_array_equal(compiled(np.array([1.0, 100.0])), halved(np.array([1.0, 100.0])))
    with pytest.raises(NeedsValuesError, match="the truth of an array's values"):
        aj.jit(halved, strict=True)(np.array([1.0, 1000.0]))


@pytest.mark.usefixtures("in_numpy")
def test_random_numbers_are_not_drawn_to_know_a_truth():
    generator = np.random.default_rng(3)
    state = generator.bit_generator.state

    def drawn(x):
        return x if generator.random() > 0.5 else -x

    with pytest.raises(NeedsValuesError, match="truth"):
        aj.jit(drawn, strict=True)(np.ones(3))
    assert generator.bit_generator.state == state


@pytest.mark.parametrize(
    ("function", "bad"),
    [
        (lambda x: x * math.log(x.min()), -1.0),
        (lambda x: x * math.sqrt(x.min()), -2.0),
        (lambda x: x * math.exp(x.max()), 800.0),
        (lambda x: x * cmath.log(x.min()).real, 0.0),
        (lambda x: x[: int(x.max())], math.inf),
        (lambda x: x * int(x[0]), math.nan),
    ],
)
def test_functions_of_numbers_raise_as_in_python(function, bad):
    compiled = aj.jit(function)
    x = np.array([1.0, 2.0])
    for value in (1.5, bad, 2.5, bad, 1.5):
        x[0] = value
        assert same(outcome(compiled, x), outcome(function, x))


def without_check(monkeypatch):
    """Plant a fault: no computed number is checked."""
    monkeypatch.setattr(data_dependent.DataDependent, "check", lambda self, lengths: None)


@pytest.mark.usefixtures("in_numpy")
def test_a_planted_fault_is_found(monkeypatch):
    without_check(monkeypatch)
    compiled = aj.jit(PATHS["branch"], strict=True)
    compiled(np.ones(3))
    assert not same(compiled(-np.ones(3)), PATHS["branch"](-np.ones(3)))
