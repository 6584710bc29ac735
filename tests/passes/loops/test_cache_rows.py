"""What a fold over a row computes is kept in the row of the result."""

import numpy as np
import pytest

from axiomjit.passes.ir.loop_ir import Let, Load, Store
from axiomjit.passes.ir.print_program import print_program
from axiomjit.passes.loops.cache_rows import cache_rows
from tests.passes.examples import example
from tests.passes.graphs import (
    before_and_after,
    follow,
    lower_until,
    lowered,
    run_plain_case,
    small_forms,
)
from tests.passes.loops.test_rows_in_cache import layernorm, layernorm_of, logsumexp, softmax
from tests.passes.test_packed import compiled, vector_loops

X = np.random.default_rng(3).standard_normal((5, 40))


def with_operand(x):
    e = np.exp(x)
    return e * x / e.sum(axis=1, keepdims=True)


def two_results(x):
    shares = softmax(x)
    return shares, np.log(shares)


def of_two(x, y):
    e = np.exp(x - y)
    return e / e.sum(axis=1, keepdims=True) + np.sqrt(np.abs(x))


KEPT = {
    "softmax": (softmax, [X]),
    "single": (softmax, [X.astype("f4")]),
    "planes": (softmax, [X.reshape(5, 4, 10)]),
    "with_operand": (with_operand, [X]),
    "of_two": (of_two, [X, X[::-1] * 2]),
    "two_results": (two_results, [X]),
}
ALONE = {
    "cheap": (layernorm, layernorm_of((6, 30))),
    "no result has rows": (logsumexp, [X]),
    "another dtype": (lambda x: (softmax(x) * 10).astype("f4"), [X]),
    "columns": (lambda x: np.exp(x) / np.exp(x).sum(axis=0), [X]),
    "in two directions": (softmax, [X[:, ::-1]]),
}


def rows_of(name, cases):
    function, arguments = cases[name]
    return follow(function, *arguments)


def test_cache_rows_golden(golden):
    golden(before_and_after("cache_rows", rows_of("softmax", KEPT)))
    golden(print_program(lowered(rows_of("softmax", KEPT)).plan), "source")


@pytest.mark.parametrize("name", [*ALONE, "sums_and_map", "planes"])
def test_cache_rows_leaves_alone(name):
    case = rows_of(name, ALONE) if name in ALONE else example(name)
    program = lower_until("cache_rows", case)
    assert cache_rows(program, case.context) is program


@pytest.mark.parametrize("name", KEPT)
def test_expensive_values_are_computed_once(name):
    case = rows_of(name, KEPT)
    program = cache_rows(lower_until("cache_rows", case), case.context)
    every = [s for step in program.steps for s in step.statements]
    assert sum(isinstance(s, Let) and s.primitive.name == "exp" for s in every) == 1
    results = {s.buffer for s in every if isinstance(s, Store)}
    assert sum(isinstance(s, Load) and s.buffer in results for s in every) == 1


@pytest.mark.parametrize("name", [*KEPT, *ALONE])
def test_results_are_numpys(name):
    cases = KEPT if name in KEPT else ALONE
    function, arguments = cases[name]
    case = rows_of(name, cases)
    with small_forms():
        found = run_plain_case(case, lowered(case).plan, 2)
    wanted = function(*arguments)
    wanted = wanted if isinstance(wanted, tuple) else (wanted,)
    for one, other in zip(found, wanted, strict=True):
        rtol = 3e-6 if other.dtype == np.float32 else 1e-13
        np.testing.assert_allclose(one, other, rtol=rtol, atol=1e-13)


def test_all_loops_stay_vector_code():
    (kernel,) = compiled(follow(softmax, np.ones((30, 2000))))
    assert vector_loops(kernel) >= 3
