"""Scalar operations, and elementary functions in turn, get loops of their own.

Scalar are remainders of 64-bit integers, on CPUs that divide them one by one, as here.
"""

import re
import time
from contextlib import nullcontext
from unittest.mock import patch

import numpy as np
import pytest

from axiomjit import erf
from axiomjit.passes.ir.loop_ir import For, Let, walk
from axiomjit.passes.ir.plan_ir import Launch
from axiomjit.passes.loops.strip_mine import MAX_LOOPS, MIN_ITERATIONS, STRIP, strip_mine
from axiomjit.runtime.codegen.compile_source import compile_source
from axiomjit.runtime.elementary.functions import RECIPES
from axiomjit.runtime.execution.execute import BoundPlan
from axiomjit.symbolic.dims import evaluate
from tests.passes.examples import example, numbers
from tests.passes.graphs import (
    before_and_after,
    follow,
    in_numpy,
    lower_until,
    lowered,
    plain_division,
)
from tools.elementary.turns import interleaved

pytestmark = pytest.mark.usefixtures("one_by_one")


@pytest.fixture(name="one_by_one")
def make_one_by_one(request):
    with plain_division() if getattr(request, "param", True) else nullcontext():
        yield


@pytest.mark.parametrize(
    "name", ["remainder", "remainders", "remainder_total", "chained", "chained_total"]
)
def test_strip_mine_golden(golden, name):
    golden(before_and_after("strip_mine", example(name)))


@pytest.mark.parametrize("name", ["l2", "mapped", "planes", "single"])
def test_strip_mine_leaves_alone(name):
    case = example(name)
    program = lower_until("strip_mine", case)
    assert strip_mine(program, case.context) is program


def mined(function, *arguments):
    """The last nest after the pass; None where it is left alone."""
    case = follow(function, *arguments)
    program = lower_until("strip_mine", case)
    nest = strip_mine(program, case.context).steps[-1]
    return None if nest is program.steps[-1] else nest


def heavy(x):
    """Vector code worth a loop of its own."""
    return np.sqrt(x * x + 1.0) / x


X, Y, K, M = numbers(3000) + 5, numbers(3000) + 6, numbers(3000).astype("i8"), numbers(60, 50) + 5


@pytest.mark.parametrize(
    ("function", "arguments", "tiles", "loops"),
    [
        (lambda x, k: heavy(x) * (k % 7), [X, K], 1, 2),
        (lambda x, k: heavy(x) * (k % 7) + k // 3, [X, K], 2, 2),
        (lambda x, k: heavy(x) * (k % 7 // 3), [X, K], 1, 2),  # both in one scalar loop
        (lambda x, k: heavy(x) * ((k % 7 * x).astype("i8") // 3), [X, K], 3, 4),
        (lambda x, k: heavy(x) + (k + 1) * ((k + 1) % 7), [X, K], 1, 2),  # k + 1 computed again
        (lambda x, k: heavy(x) + (k * k * k + 1) * ((k * k * k + 1) % 7), [X, K], 2, 3),
        (lambda x, k: (heavy(x), k % 7), [X, K], 0, 2),
        (lambda x, k: x * (k % 7), [X, K], None, 0),  # too little vector code
        (lambda x, k: heavy(x).astype("i8") % 7, [X, K], 1, 2),
        (lambda x, k: heavy(x) * (k % 7), [M[:, :40], K.reshape(60, 50)[:, :40]], 1, 2),
    ],
)
def test_what_crosses(function, arguments, tiles, loops):
    nest = mined(function, *arguments)
    if tiles is None:
        assert nest is None
        return
    assert len(nest.tiles) == tiles
    assert len(innermost(nest)) == loops


def innermost(nest):
    """The loops of a nest's main part that have no loop inside."""
    loops = [s for s in walk(nest.body) if isinstance(s, For)]
    return [loop for loop in loops if not any(isinstance(s, For) for s in loop.body)]


def long_way(x):
    """Eight functions, each of the one before."""
    for function in (np.sin, np.exp, np.tanh, np.cos, np.arctan, np.exp2, np.log1p, np.sin):
        x = function(x)
    return x


def functions_in_turn(loop):
    """How many elementary functions of a loop each need the one before, at most."""
    lengths = {}
    for let in (s for s in loop.body if isinstance(s, Let)):
        before = max((lengths.get(name, 0) for name in let.operands), default=0)
        lengths[let.name] = before + (let.primitive.name in RECIPES)
    return max(lengths.values(), default=0)


@pytest.mark.parametrize(
    ("function", "tiles", "in_turn"),
    [
        (lambda x, y: np.log1p(np.exp(x)), 1, [1, 1]),
        (lambda x, y: x * np.tanh(np.log1p(np.exp(x))), 2, [1, 1, 1]),
        (lambda x, y: long_way(x), 2, [3, 3, 2]),  # not into more than three loops
        (lambda x, y: np.log(np.exp(x) * y) + np.sin(y), 2, [1, 1]),  # sin beside exp
        (lambda x, y: (np.log(np.exp(x) * y), np.sin(y)), 1, [1, 1]),  # and stored there
        (lambda x, y: np.exp(x) ** (np.exp(x) + 1.0), 1, [1, 1]),  # exp(x) + 1 computed again
        (lambda x, y: erf(np.log(x) * y) * erf(y - np.log(x)), 2, [1, 1]),
        (lambda x, y: np.log1p(np.exp(x)).max(), 1, [1, 1]),
        (lambda x, y: np.log1p(np.exp(x)) * (y.astype("i8") % 7), 2, [1, 0, 1]),
        (lambda x, y: np.exp(np.sin(x)), 1, [1, 1]),
        (lambda x, y: np.exp2(x) - x * np.exp(y), None, []),  # too little work
        (lambda x, y: np.sin(x) + np.exp(y) * np.log(x) - np.tanh(y), None, []),  # no chain
        (lambda x, y: np.sqrt(np.sqrt(x * y) / y) / np.sqrt(x / y), None, []),  # no such function
    ],
)
def test_chains_of_functions_are_cut(function, tiles, in_turn):
    nest = mined(function, X, Y)
    if tiles is None:
        assert nest is None
        return
    assert len(nest.tiles) == tiles
    assert list(map(functions_in_turn, innermost(nest))) == in_turn


def divisions(loop):
    """How many divisions and roots a loop has."""
    names = [let.primitive.name for let in loop.body if isinstance(let, Let)]
    return sum(name in ("divide", "sqrt") for name in names)


def prices(spot, strike, years):
    """Prices of options: chains that end far behind the last function."""
    width = 0.3 * np.sqrt(years)
    near = (np.log(spot / strike) + 0.065 * years) / width
    worth = spot * (0.5 + 0.5 * erf(near)) - strike * (0.5 + 0.5 * erf(near - width))
    return worth + (strike - spot + worth) * np.exp(-0.02 * years)


@pytest.mark.parametrize(
    ("function", "arguments", "found"),
    [
        # what divides has its time where other work is; what follows the last function, its own
        (prices, 3, [2, 1, 0]),
        (lambda x, y: np.arctan(np.sin(x) / np.cos(y)), 2, [1, 0]),  # arctan divides itself
        (lambda x, y: erf(np.log(x / y) / y), 2, [1, 1]),
    ],
)
def test_divisions_are_where_the_divider_has_time(function, arguments, found):
    nest = mined(function, *[X.astype("f4")] * arguments)
    assert list(map(divisions, innermost(nest))) == found


@pytest.mark.parametrize(("length", "split"), [(MIN_ITERATIONS - 1, False), (MIN_ITERATIONS, True)])
def test_short_loops_are_left_alone_and_leave_a_guard(length, split):
    case = follow(lambda x, k: heavy(x) * (k % 7), X[:length], K[:length])
    program = lower_until("strip_mine", case)
    before = len(case.scope.guards)
    assert (strip_mine(program, case.context) is not program) is split
    (guard,) = list(case.scope.guards)[before:]
    assert guard.holds(case.values)
    assert not guard.holds(dict.fromkeys(case.values, MIN_ITERATIONS - split))


def test_many_tiles_make_short_strips():
    def function(x, k):
        return sum(k // n * x for n in range(2, 14)) * heavy(x)

    nest = mined(function, X, K)
    assert len(nest.tiles) == 12
    assert {tile.shape[0].constant for tile in nest.tiles} == {128}


RNG = np.random.default_rng(3)
N = 5003
A, B = RNG.uniform(0.5, 2.0, (2, N))
H, J = RNG.integers(-(10**6), 10**6, (2, N))
P, Q = RNG.uniform(0.5, 2.0, (2, 67, 601))
G = RNG.integers(-(2**62), 2**62, (67, 601))


COMPILED = {
    "remainder in floats": (lambda x, y, i, j: heavy(x) * (i % 7) + y, (A, B, H, J)),
    "integers alone": (
        lambda x, y, i, j: ((i * 3 + j) ^ i) % j * i - abs((j - 5) * (i + j) ^ i) + (i | j) * j,
        (A, B, H, J),
    ),
    "dependent": (
        lambda x, y, i, j: (heavy(x) * (i % 7)).astype("i8") // 3 % 5 * heavy(y) + j % 11,
        (A, B, H, J),
    ),
    "unsigned": (
        lambda x, y, i, j: heavy(y) + i.astype("u8") % j.astype("u8"),
        (A, B, H, J),
    ),
    "rows": (lambda x, y, i, j: heavy(x) * (i % j) + y[3], (P, Q, G, J[:601])),
    "columns reversed": (lambda x, y, i, j: heavy(x[:, ::-1]) * np.fmod(i, j), (P, Q, G, J[:601])),
    "largest": (lambda x, y, i, j: (heavy(x) * (i % 7) + y).max(), (A, B, H, J)),
    "largest of rows": (lambda x, y, i, j: (heavy(x) * (i % 7) + y).max(axis=1), (P, Q, G, J)),
    "largest of columns": (lambda x, y, i, j: (heavy(x) * (i % 7) + y).max(axis=0), (P, Q, G, J)),
    "exact total": (lambda x, y, i, j: (np.rint(heavy(x)) * (i % 7)).sum(), (A, B, H, J)),
    "exact columns": (lambda x, y, i, j: (np.rint(heavy(x)) * (i % 7)).sum(axis=0), (P, Q, G, J)),
}


CHAINS = {
    "map": (lambda x, y: np.log(np.tanh(np.exp(-x)) + y) * np.cos(y), (A, B)),
    "float32": (lambda x, y: erf(np.log(x * y)), (A.astype("f4"), B.astype("f4"))),
    "complex": (lambda x, y: np.exp(np.log(x + 1j * y) * 2.0), (A, B)),
    "rows": (lambda x, y: np.log1p(np.exp(x[:, ::-1] * y)), (P, Q)),
    "largest of columns": (lambda x, y: np.log1p(np.exp(x * y)).max(axis=0), (P, Q)),
    "called": (lambda x, y: long_way(x), (A, B)),
}


@pytest.mark.parametrize("name", CHAINS)
def test_loops_of_a_cut_chain_are_vector_code_with_the_same_bits(name):
    function, arguments = CHAINS[name]
    results = []
    for loops in (1, MAX_LOOPS):
        with patch("axiomjit.passes.loops.strip_mine.MAX_LOOPS", loops):
            case = follow(function, *arguments)
            plan = lowered(case).plan
        with patch("axiomjit.runtime.execution.plan_steps.SERIAL_WORK", 0):  # in chunks, on threads
            results.append(case.returned(BoundPlan(plan, case.values).run(case.arguments)))
        (kernel,) = [step.kernel for step in plan.steps if isinstance(step, Launch)]
        assert ("x0 = tile(" in kernel.source) is (loops > 1)
    assert vector_loops(kernel) >= 2
    np.testing.assert_array_equal(*results, strict=True)


def kernels_of(case):
    """The kernels of a case."""
    return [step.kernel for step in lowered(case).plan.steps if isinstance(step, Launch)]


def vector_loops(kernel):
    """The loops that LLVM made packed code of."""
    text = compile_source(
        kernel.source, kernel.parameters, kernel.target.record, kernel.traits
    ).llvm
    return len(re.findall(r"^vector\.body\d*:", text, re.MULTILINE))


@pytest.mark.parametrize("name", COMPILED)
def test_compiled_strips_have_the_bits_of_numpy(name):
    function, arguments = COMPILED[name]
    case = follow(function, *arguments)
    plan = lowered(case).plan
    (kernel,) = [step.kernel for step in plan.steps if isinstance(step, Launch)]
    assert "x0 = tile(" in kernel.source
    assert vector_loops(kernel) >= 1
    with patch("axiomjit.runtime.execution.plan_steps.SERIAL_WORK", 0):  # chunks, on threads
        (got,) = case.returned(BoundPlan(plan, case.values).run(case.arguments))
    (want,) = in_numpy(function, arguments)
    np.testing.assert_array_equal(got, want, strict=True)


def test_the_unit_of_the_grid_is_a_strip():
    case = follow(COMPILED["remainder in floats"][0], A, B, H, J)
    (step,) = [s for s in lowered(case).plan.steps if isinstance(s, Launch)]
    assert evaluate(step.grid, case.values) == -(-N // STRIP)


def test_without_the_pass_there_is_no_vector_code():
    function, arguments = COMPILED["integers alone"]
    with patch("axiomjit.passes.loops.strip_mine.HIDDEN_ADDITIONS", 10**6):
        (kernel,) = kernels_of(follow(function, *arguments))
    assert vector_loops(kernel) == 0


def long_chain(i, j):
    """Twice 16 additions and exclusive ors."""
    for _ in range(8):
        i = (i + j) ^ (i * 3)
    return i


def cost_of_a_remainder(i, j):
    """Time of a chain with a remainder in its middle by that of its parts, run apart."""
    parts = (
        (lambda i, j: long_chain(long_chain(i, j) % 7, j), (i, j)),
        (lambda i, j: long_chain(long_chain(i, j), j), (i, j)),
        (lambda i: i % 7, (long_chain(i, j),)),  # how long it takes depends on the numbers
    )
    runs = []
    for function, arguments in parts:
        case = follow(function, *arguments)
        plan = BoundPlan(lowered(case).plan, case.values)
        runs.append(lambda plan=plan, case=case: plan.run(case.arguments))
    whole, chain, alone = runs
    return interleaved(whole, lambda: (chain(), alone()), 31, clock=time.thread_time).ratio


@pytest.mark.parametrize("one_by_one", [True, False], indirect=True)
@pytest.mark.alone
def test_a_remainder_costs_at_most_what_its_parts_do():
    i, j = RNG.integers(1, 10**6, (2, 50_000))
    with patch("axiomjit.runtime.execution.plan_steps.SERIAL_WORK", 10**9):
        assert cost_of_a_remainder(i, j) <= 1.3
