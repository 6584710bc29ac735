"""Folds that need each other walk a row that stays in the cache: one nest, no temporaries."""

import math
from unittest.mock import patch

import numpy as np
import pytest

import axiomjit as aj
from axiomjit.passes.ir.plan_ir import Launch
from axiomjit.passes.ir.print_program import print_program
from tests.passes.folded import MEANT, whole_numbers
from tests.passes.graphs import evaluated, follow, lowered, run_plain_case, small_forms


def softmax(x):
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def layernorm(x, g, b):
    apart = x - x.mean(axis=-1, keepdims=True)
    return apart / np.sqrt((apart * apart).mean(axis=-1, keepdims=True) + 1e-5) * g + b


def logsumexp(x):
    return aj.fold("logsumexp", x, axes=-1)


def argmax(x):
    return np.argmax(x, axis=-1)


def variance(x):
    return np.var(x, axis=-1)


def deviation(x):
    return np.std(x, axis=-1)


def leading(x):
    return x.sum(axis=0)


def ranks(x):
    """One result per rank, as in the sketch of a loop nest with an accumulator per rank."""
    whole = x * 2.0 + 1.0
    return whole, aj.fold("sum", whole, axes=2), aj.fold("sum", whole, axes=(1, 2))


def composed(x):
    return aj.fold(MEANT["compose"].acc, x, x, axes=1)


CASES = {
    "softmax": softmax,
    "logsumexp": logsumexp,
    "argmax": argmax,
    "variance": variance,
    "deviation": deviation,
}


def layernorm_of(shape, dtype="f8"):
    rng = np.random.default_rng(0)
    x, (g, b) = rng.standard_normal(shape), rng.standard_normal((2, shape[-1]))
    return x.astype(dtype), g.astype(dtype), b.astype(dtype)


def exactly(name, row):
    """What a function gives for a row of floats, exact to rounding."""
    n, top = len(row), max(row)
    mean = math.fsum(row) / n
    spread = math.fsum((v - mean) ** 2 for v in row) / n
    total = math.fsum(math.exp(v - top) for v in row)
    return {
        "softmax": lambda: [math.exp(v - top) / total for v in row],
        "logsumexp": lambda: top + math.log(total),
        "argmax": lambda: row.index(top),
        "variance": lambda: spread,
        "deviation": lambda: math.sqrt(spread),
    }[name]()


@pytest.mark.parametrize("shape", [(3, 1), (5, 7), (2, 40), (2, 3, 17)], ids=str)
@pytest.mark.parametrize("offset", [0.0, 1e8])
@pytest.mark.parametrize("name", CASES)
def test_results_are_exact_to_rounding(name, shape, offset):
    x = np.random.default_rng(1).standard_normal(shape) + offset
    case = follow(CASES[name], x)
    with small_forms():
        stages = lowered(case)
    (found,) = run_plain_case(case, stages.plan, 2)
    flat = x.reshape(-1, shape[-1]).tolist()
    wanted = np.array([exactly(name, row) for row in flat]).reshape(found.shape)
    np.testing.assert_allclose(found, wanted, rtol=2e-7 if offset else 1e-13, atol=1e-300)


@pytest.mark.parametrize("name", CASES)
def test_one_nest_without_temporaries(name):
    stages = lowered(follow(CASES[name], np.ones((40, 300))))
    assert len(stages.loops.steps) == 1
    assert stages.plan.cost.temporary_bytes.constant == 0


@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_layernorm_is_one_nest(dtype):
    arguments = layernorm_of((6, 30), dtype)
    stages = lowered(follow(layernorm, *arguments))
    assert len(stages.loops.steps) == 1
    with small_forms():
        stages = lowered(case := follow(layernorm, *arguments))
    (found,) = run_plain_case(case, stages.plan)
    np.testing.assert_allclose(found, layernorm(*arguments), rtol=3e-5 if dtype == "f4" else 1e-12)


def test_long_rows_stay_apart_so_that_all_threads_have_work():
    short = lowered(follow(softmax, np.ones((2, 65_536))))
    long = lowered(follow(softmax, np.ones((2, 65_537))))
    assert (len(short.loops.steps), len(long.loops.steps)) == (1, 3)


def test_columns_are_not_walked_as_rows():
    stages = lowered(follow(lambda x: x - x.mean(axis=0), np.ones((50, 60))))
    assert len(stages.loops.steps) == 2


SPECIAL = [
    ([-np.inf, -np.inf], -np.inf),
    ([np.inf, 1.0], np.inf),
    ([np.inf, -np.inf], np.inf),
    ([np.nan, 1.0], np.nan),
    ([1e4, 1e4], 1e4 + math.log(2)),
    ([-1e4, -np.inf], -1e4),
]


@pytest.mark.parametrize(("row", "wanted"), SPECIAL)
def test_logsumexp_of_special_values(row, wanted):
    np.testing.assert_allclose(aj.fold("logsumexp", np.array([row]), axes=1), [wanted])
    assert aj.fold("logsumexp", np.ones((2, 0)), axes=1).tolist() == [-np.inf, -np.inf]


POSITIONS = [
    [1.0, np.nan, np.nan, 5.0],
    [-np.inf, -np.inf, -np.inf],
    [3.0, 7.0, 7.0],
    [0.0, -0.0, 0.0],
    [np.inf, np.nan],
]


@pytest.mark.parametrize("row", POSITIONS)
@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", "c16"])
def test_positions_are_those_of_the_first(row, dtype):
    x = np.tile(np.array(row, dtype), (3, 1))
    for function in (np.argmax, np.argmin):
        for axis in (0, 1, None):
            case = follow(lambda x, f=function, a=axis: f(x, axis=a), x)
            with small_forms():
                stages = lowered(case)
            np.testing.assert_array_equal(
                run_plain_case(case, stages.plan)[0], function(x, axis=axis)
            )


GOLDEN = {**CASES, "leading": leading, "ranks": ranks, "composed": composed}


@pytest.mark.parametrize("name", [*GOLDEN, "layernorm"])
def test_rows_golden(golden, name):
    if name == "layernorm":
        case = follow(layernorm, *layernorm_of((60, 50)))
    else:
        case = follow(GOLDEN[name], np.ones((6, 50, 70) if name == "ranks" else (60, 50)))
    stages = lowered(case)
    golden(print_program(stages.loops), "loops")
    kernels = [step.kernel.source for step in stages.plan.steps if isinstance(step, Launch)]
    golden("\n".join(kernels), "source")


def affine(x):
    return (*aj.fold(MEANT["compose"].acc, x, x + 1, axes=(1, 2)), x.sum(axis=2))


def planes(x):
    return x.sum(axis=(1, 2, 3)), x.sum(axis=(2, 3)), x.sum(axis=3), x + 1


def in_any_order(x):
    whole = x * 2
    return whole.sum(axis=(1, 2)), whole, whole.max(axis=2), whole.sum(axis=2)


BY_RANK = {
    "ranks": (ranks, (3, 4, 21)),
    "in_any_order": (in_any_order, (3, 5, 7)),
    "planes": (planes, (2, 3, 4, 9)),
    "affine": (affine, (3, 4, 21)),
}


@pytest.mark.parametrize("name", BY_RANK)
def test_accumulators_of_several_ranks_are_one_nest(name):
    function, shape = BY_RANK[name]
    x = whole_numbers(np.random.default_rng(7), shape)
    case = follow(function, x)
    with patch("axiomjit.passes.loops.fuse_loops.MIN_BLOCK_STEPS", 2):
        large = lowered(case)
        with small_forms():
            small = lowered(case)
    assert len(large.loops.steps) == 1
    wanted = evaluated(case.graph, case)
    for stages, chunks in ((large, 2), (small, 3)):
        for one, other in zip(run_plain_case(case, stages.plan, chunks), wanted, strict=True):
            np.testing.assert_array_equal(one, other)


def test_short_folds_of_several_ranks_stay_apart():
    assert len(lowered(follow(ranks, np.ones((6, 50, 63)))).loops.steps) == 2
