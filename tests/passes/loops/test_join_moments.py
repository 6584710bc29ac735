"""A mean and the squared distances from it are folded in one walk of a long row."""

from fractions import Fraction
from unittest.mock import patch

import numpy as np
import pytest

import axiomjit as aj
from axiomjit.passes.ir.loop_ir import Nest
from axiomjit.passes.ir.print_program import print_program
from axiomjit.passes.loops.join_moments import join_moments
from tests.passes.examples import numbers
from tests.passes.folded import layouts
from tests.passes.graphs import (
    before_and_after,
    evaluated,
    follow,
    lower_until,
    lowered,
    quiet,
    run_plain_case,
    small_forms,
)


def layernorm(x):
    apart = x - x.mean(axis=-1, keepdims=True)
    return apart / np.sqrt((apart * apart).mean(axis=-1, keepdims=True) + 1e-5)


CASES = {
    "all": (lambda x: x.var(), (3000,)),
    "rows": (lambda x: np.std(x, axis=1, ddof=1), (3, 70_000)),
    "planes": (lambda x: x.var(axis=(1, 2)), (3, 300, 400)),
    "both": (lambda x: (x.mean(), x.var()), (40, 50)),
    "both at once": (lambda x: x.mean() + 2 * x.std(), (3000,)),
    "both in rows": (lambda x: x.std(axis=1) / x.mean(axis=1), (3, 70_000)),
    "other signs": (lambda x: ((x.mean() - x) ** 2).sum(), (3000,)),
    "computed": (lambda x: np.var(np.exp(x) * 2.0), (3000,)),
    "beside": (lambda x: (x.max(), x.var()), (3000,)),
    "layernorm": (layernorm, (3, 70_000)),
    "whole numbers": (lambda x: x.astype("i4").var(), (3000,)),
    "singles": (lambda x: x.astype("f4").std(axis=0), (3000,)),
}
ALONE = {
    "short rows": (lambda x: x.var(axis=1), (40, 50)),
    "columns": (lambda x: x.var(axis=0), (70_000, 40)),
    "complex": (lambda x: (x + 1j).var(), (3000,)),
    "other distances": (lambda x: ((x - x.max()) ** 2).sum(), (3000,)),
    "half of the mean": (lambda x: ((x - x.sum() / 7) * (x - x.sum() / 7)).sum(), (3000,)),
    "a product": (lambda x, m=2.0: ((x - x.mean()) * (x - m)).sum(), (3000,)),
    "chosen elements": (lambda x: x[np.nonzero(x > 9.0)].var(), (3000,)),
    "a rounded mean": (lambda x: ((x - x.mean().astype("f4").astype("f8")) ** 2).sum(), (3000,)),
    "a cut mean": (lambda x: ((x - x.mean().astype("i8").astype("f8")) ** 2).sum(), (3000,)),
    "a cut sum": (lambda x: ((x - x.sum().astype("i8") / x.size) ** 2).sum(), (3000,)),
    "other elements": (lambda x: ((x[1:] - x[:-1].mean()) ** 2).sum(), (3000,)),
}


def case_of(cases, name):
    function, shape = cases[name]
    return follow(function, numbers(*shape))


def joined(case):
    """What the pass makes of a case, and what it was given."""
    before = lower_until("join_moments", case)
    return join_moments(before, case.context), before


@pytest.mark.parametrize("name", ["all", "rows", "layernorm", "singles"])
def test_join_moments_golden(golden, name):
    golden(before_and_after("join_moments", case_of(CASES, name)))
    golden(print_program(lowered(case_of(CASES, name)).plan), "source")


@pytest.mark.parametrize("name", ALONE)
def test_join_moments_leaves_alone(name):
    after, before = joined(case_of(ALONE, name))
    assert after is before


@pytest.mark.parametrize("name", CASES)
def test_a_walk_is_saved(name):
    case = case_of(CASES, name)
    after, before = joined(case)
    assert len(after.steps) == len(before.steps) - 1
    nests = [step for step in lowered(case).loops.steps if isinstance(step, Nest)]
    assert len(nests) == 1 + (name == "layernorm")


def test_a_long_row_is_read_once():
    for function, times in ((lambda x: x.var(), 1), (lambda x: (x - x.mean()) / x.std(), 2)):
        read = aj.jit(function).lower(np.ones(1_000_000)).cost.bytes_read
        assert times * 8_000_000 <= read <= times * 8_000_000 + 100


@pytest.mark.parametrize("shape", [(5,), (9,), (40,), (131,), (3, 21), (2, 5, 7), (1, 17)], ids=str)
@pytest.mark.parametrize("dtype", ["f8", "f4", "i4", "u1", "b1"])
def test_small_blocks_give_the_variance(shape, dtype):
    x = (np.arange(np.prod(shape)) ** 2 % 7).reshape(shape).astype(dtype)
    axes = tuple(range(1, len(shape))) or None
    case = follow(lambda x: (x.var(axis=axes), x.std(ddof=1), x.mean(axis=axes)), x)
    with small_forms(), patch("axiomjit.passes.loops.fuse_loops.MAX_CACHED_ROW", 4), quiet():
        stages = lowered(case)
        assert any("moments" in str(step) for step in stages.loops.steps)
        found = run_plain_case(case, stages.plan, 3)
        wanted = evaluated(case.graph, case)
    for one, other in zip(found, wanted, strict=True):
        assert one.dtype == other.dtype
        np.testing.assert_allclose(one, other, rtol=2e-6 if dtype == "f4" else 1e-13, atol=1e-12)


@pytest.mark.parametrize("layout", ["F", "strided", "negative", "permuted"])
def test_layouts(layout):
    x = layouts(numbers(4, 9, 6))[layout]
    case = follow(lambda x: (x.var(), x.std(axis=(0, 2))), x)
    with small_forms(), patch("axiomjit.passes.loops.fuse_loops.MAX_CACHED_ROW", 4):
        stages = lowered(case)
    found = run_plain_case(case, stages.plan, 2)
    for one, other in zip(found, (x.var(), x.std(axis=(0, 2))), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-13)


def exactly(x):
    """The variance of numbers."""
    values = [Fraction(float(value)) for value in x]
    mean = sum(values) / len(values)
    return float(sum((value - mean) ** 2 for value in values) / len(values))


@pytest.mark.parametrize("length", [5, 1024, 1025, 70_001])
@pytest.mark.parametrize("offset", [0.0, 1.0, 1e8, -1e12])
@pytest.mark.parametrize("dtype", ["f8", "f4"])
def test_nothing_cancels(length, offset, dtype):
    x = (np.random.default_rng(0).normal(size=length) + offset).astype(dtype)
    found = float(aj.jit(lambda x: x.var())(x))
    np.testing.assert_allclose(found, exactly(x), rtol=2e-13 if dtype == "f8" else 2e-6)


@pytest.mark.parametrize("far", [0, 1, -1])
def test_one_element_far_from_the_others(far):
    x = np.random.default_rng(1).normal(size=20_000)
    x[far] = 1e9
    np.testing.assert_allclose(aj.jit(lambda x: x.var())(x), exactly(x), rtol=2e-13)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("place", [0, 1500, -1])
def test_special_values_are_numpys(value, place):
    x = np.ones(3000)
    x[place] = value
    with quiet():
        for one, other in zip(
            aj.jit(lambda x: (x.mean(), x.var()))(x), (x.mean(), x.var()), strict=True
        ):
            np.testing.assert_array_equal(one, other)


def test_equal_elements_have_no_variance():
    for x in (np.full(100_003, 0.1), np.full((3, 70_003), 1 / 3)):
        assert not aj.jit(lambda x: x.var(axis=-1))(x).any()
        assert not aj.jit(lambda x: x.std())(x).any()


def test_no_elements_and_too_few():
    with quiet():
        assert np.isnan(aj.jit(lambda x: x.var())(np.ones(0)))
        assert np.isnan(aj.jit(lambda x: x.var(ddof=1))(np.ones(1)))
        for n in (1, 2, 5):
            x = np.arange(float(n))
            np.testing.assert_array_equal(aj.jit(lambda x: x.var(ddof=5))(x), x.var(ddof=5))


@pytest.mark.parametrize("shape", [(3_000_001,), (3, 500_000)], ids=str)
def test_bits_do_not_depend_on_threads(shape):
    x = np.random.default_rng(5).normal(size=shape)
    function = aj.jit(lambda x: x.var(axis=-1))
    with aj.threads(1):
        one = np.asarray(function(x)).tobytes()
    for _ in range(3):
        assert np.asarray(function(x)).tobytes() == one
