"""Every pass keeps the meaning: random programs against NumPy, bit for bit."""

import os

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings

from axiomjit.passes.pipeline import GRAPH_PASSES
from tests.graphs import (
    apply_pass,
    evaluated,
    follow,
    in_numpy,
    lowered,
    run_plain_case,
    run_plan_plain,
    signature_of,
    small_forms,
)
from tests.passes.programs import programs
from tests.runtime.kernels import same_bits

PROGRAMS = int(os.environ.get("AXIOMJIT_PROGRAMS", "600"))
MANY = settings(
    max_examples=PROGRAMS,
    deadline=None,
    derandomize="AXIOMJIT_PROGRAMS" not in os.environ,
    database=None,
    suppress_health_check=list(HealthCheck),
)


def assert_same(got, want, what, products=False):
    """Equal in number, dtype, shape and bits."""
    assert len(got) == len(want), what
    for k, (one, other) in enumerate(zip(got, want, strict=True)):
        assert one.dtype == other.dtype, f"{what}: output {k}"
        assert one.shape == other.shape, f"{what}: output {k}"
        # BLAS starts some products at -0.0 and some at 0.0; adding 0.0 makes both 0.0.
        pair = [np.ascontiguousarray(v + 0.0 if products else v) for v in (one, other)]
        assert same_bits(*pair), f"{what}: output {k}\n{one}\n{other}"


@MANY
@given(programs())
def test_graph_and_passes_over_it_mean_what_numpy_does(program):
    want = in_numpy(program, program.arguments)
    case = follow(program.function(), *program.arguments)
    graph = case.graph
    assert_same(evaluated(graph, case), want, "the graph")
    for graph_pass in GRAPH_PASSES:
        graph = apply_pass(graph_pass, graph, case)
        assert_same(evaluated(graph, case), want, graph_pass.__name__)


@MANY
@given(programs())
def test_plan_means_what_numpy_does(program):
    want = in_numpy(program, program.arguments)
    case = follow(program.function(), *program.arguments)
    got = run_plain_case(case, lowered(case).plan)
    assert_same(got, want, "the plan")
    arrays = [a for a in program.arguments if isinstance(a, np.ndarray)]
    for k, (one, other) in enumerate(zip(got, want, strict=True)):
        shared = [[np.shares_memory(result, a) for a in arrays] for result in (one, other)]
        # An element taken out is a copy in NumPy.
        assert shared[0] == shared[1] or other.size <= 1, f"output {k} is a view, or is not one"
        if any(shared[1]) and other.size > 1:
            assert one.flags.writeable == other.flags.writeable, f"output {k}"


@MANY
@given(programs())
def test_plan_of_small_blocks_means_what_numpy_does(program):
    want = in_numpy(program, program.arguments)
    case = follow(program.function(), *program.arguments)
    with small_forms():
        plan = lowered(case).plan
    got = run_plain_case(case, plan, chunks=3)
    assert_same(got, want, "the plan in small blocks")


OTHER_LENGTHS = {5: 9, 6: 5, 7: 8}


def resized(argument, rng):
    """An argument of the same class with other lengths and elements."""
    if not isinstance(argument, np.ndarray) or not argument.ndim:
        return argument
    shape = [OTHER_LENGTHS.get(n, n) for n in argument.shape]
    values = rng.integers(-3, 4, shape).astype(argument.dtype)
    if argument.flags.c_contiguous:
        return values
    return np.asfortranarray(values) if argument.flags.f_contiguous else values


@MANY
@given(programs())
def test_plan_serves_every_length_that_its_guards_allow(program):
    case = follow(program.function(), *program.arguments)
    with small_forms():
        plan = lowered(case).plan
    rng = np.random.default_rng(1)
    others = tuple(resized(argument, rng) for argument in program.arguments)
    signature, plain = signature_of(program.function(), others)
    assume(signature.key == case.key)
    assume(all(guard.holds(signature.values) for guard in case.scope.guards))
    want = in_numpy(program, others)
    got = case.returned(run_plan_plain(plan, plain, signature.values), signature.values)
    for one, other in zip(got, want, strict=True):
        assert one.shape == other.shape
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("wrong", [0.0, np.nextafter(1.0, 2.0), np.nan])
def test_comparison_sees_one_wrong_element(wrong):
    right = np.array([1.0, 2.0])
    with pytest.raises(AssertionError, match="output 0"):
        assert_same((np.array([wrong, 2.0]),), (right,), "it")
