"""Loops end where windows do, so that no statement has a condition."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from axiomjit.passes.ir.loop_ir import For, If
from axiomjit.passes.loops.limit_loops import limit_loops
from tests.passes.examples import example, numbers
from tests.passes.graphs import (
    before_and_after,
    evaluated,
    lower_until,
    lowered,
    run_plain_case,
    small_forms,
)
from tests.passes.windows import CASES, convolved, of_products, pooled


@pytest.mark.parametrize("name", CASES)
def test_limit_loops_golden(golden, name):
    golden(before_and_after("limit_loops", CASES[name]()))


@pytest.mark.parametrize("name", ["padded", "centred"])
def test_limit_loops_leaves_alone(name):
    case = example(name)
    program = lower_until("limit_loops", case)
    assert limit_loops(program, case.context) is program


@pytest.mark.parametrize("name", CASES)
def test_no_statement_has_a_condition(name):
    for nest in lowered(CASES[name]()).loops.steps:
        assert not any(isinstance(stmt, If) for stmt in nest.statements)
        assert any(isinstance(stmt, For) and stmt.limits for stmt in nest.statements)


def same(case):
    """Whether plans, in plain Python and with small blocks, give what the graph means."""
    want = evaluated(case.graph, case)
    np.testing.assert_array_equal(evaluated(lowered(case).simplified, case), want)
    np.testing.assert_array_equal(run_plain_case(case, lowered(case).plan, 2), want)
    with small_forms():
        np.testing.assert_array_equal(run_plain_case(case, lowered(case).plan, 3), want)


ENDS = st.tuples(st.integers(0, 4), st.integers(0, 4))
STEPS = st.integers(1, 3)


@settings(max_examples=20, deadline=None, derandomize=True)
@given(st.sampled_from(["max", "sum", "mean"]), st.tuples(STEPS, STEPS), ENDS, st.booleans())
def test_any_pooling(op, strides, padding, is_integer):
    same(pooled(op, (5, 2), strides, padding, "i4" if is_integer else "f8"))


@settings(max_examples=20, deadline=None, derandomize=True)
@given(STEPS, ENDS, STEPS, st.sampled_from(["f4", "i8"]))
def test_any_convolution(strides, padding, dilation, dtype):
    same(convolved(strides=strides, padding=padding, dilation=dilation, dtype=dtype, window=(2, 2)))


@settings(max_examples=20, deadline=None, derandomize=True)
@given(st.sampled_from(["add", "multiply"]), st.sampled_from(["max", "sum"]), ENDS, STEPS, STEPS)
def test_any_products(combine, reduce, ends, stride, dilation):
    same(of_products(combine, reduce, *ends, stride, dilation))


def test_places_without_elements_are_neutral():
    """Padding beyond the windows leaves nothing to fold."""
    case = of_products("add", "sum", 9, 9, 1, 1)
    (result,) = evaluated(case.graph, case)
    x, f = np.pad(numbers(9) * 2.0, 9, constant_values=np.nan), numbers(4) * 0.5
    want = [np.nansum(x[k : k + 4] + f) for k in range(len(result))]
    np.testing.assert_array_equal(result, want)
    same(case)
