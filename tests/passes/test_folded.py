"""Folds by accumulators of users, in every place that passes put them, against plain Python."""

from itertools import permutations

import numpy as np
import pytest

import axiomjit as aj
from axiomjit.graph.evaluate_graph import evaluate_graph
from axiomjit.passes.ir.plan_ir import Launch
from axiomjit.passes.ir.print_program import print_program
from tests.passes.folded import MEANT, folded_exactly, layouts, whole_numbers
from tests.passes.graphs import follow, lowered, run_plain_case, small_forms

SHAPE = (5, 3, 9)
AXES = [axes for n in (1, 2, 3) for axes in permutations(range(3), n)]


def operands_of(meant, shape, layout="C", dtype="i8", seed=0):
    rng = np.random.default_rng(seed)
    return [layouts(whole_numbers(rng, shape, dtype))[layout] for _ in range(meant.operands)]


def check(name, operands, axes, chunks=2):
    """The plan in plain Python, of tiny blocks and tiles, and the evaluator: exact."""
    meant = MEANT[name]
    case = follow(lambda *xs: aj.fold(meant.acc, *xs, axes=axes), *operands)
    with small_forms():
        stages = lowered(case)
    given = axes if isinstance(axes, tuple) else (axes,)
    wanted = folded_exactly(meant, operands, [d % operands[0].ndim for d in given])
    for found in (
        run_plain_case(case, stages.plan, chunks),
        case.returned(evaluate_graph(case.graph, case.arguments, case.values)),
    ):
        assert len(found) == len(wanted)
        for one, other in zip(found, wanted, strict=True):
            np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("axes", AXES, ids=str)
@pytest.mark.parametrize("name", MEANT)
def test_folds_along_any_axes_in_the_order_listed(name, axes):
    check(name, operands_of(MEANT[name], SHAPE), axes)


@pytest.mark.parametrize("layout", ["F", "strided", "negative", "permuted"])
@pytest.mark.parametrize("name", ["matrices", "seeded", "spread"])
@pytest.mark.parametrize("axes", [(0,), (2,), (2, 0), (0, 1, 2)], ids=str)
def test_folds_of_any_layout(name, layout, axes):
    check(name, operands_of(MEANT[name], SHAPE, layout), axes, chunks=3)


@pytest.mark.parametrize("n", [1, 2, 7, 8, 9, 16, 17, 64, 100])
@pytest.mark.parametrize("name", MEANT)
def test_folds_of_any_number_of_blocks(name, n):
    check(name, operands_of(MEANT[name], (n,)), (0,), chunks=3)
    check(name, operands_of(MEANT[name], (2, n)), (1,))
    check(name, operands_of(MEANT[name], (n, 6)), (0,))


@pytest.mark.parametrize("dtype", ["i1", "i4", "u2", "f4", "f8"])
@pytest.mark.parametrize("name", ["seeded", "last", "spread"])
def test_states_have_the_dtypes_that_combining_gives(name, dtype):
    operands = operands_of(MEANT[name], (4, 6), dtype=dtype)
    found = aj.fold(MEANT[name].acc, *operands, axes=1)
    whole = found if isinstance(found, tuple) else (found,)
    assert {one.dtype for one in whole} == {np.dtype(dtype)}


@pytest.mark.parametrize("axes", [(0,), (1,), (0, 1)], ids=str)
@pytest.mark.parametrize("name", [n for n, meant in MEANT.items() if meant.acc.init is not None])
def test_the_fold_of_nothing_is_the_initial_value(name, axes):
    meant = MEANT[name]
    operands = operands_of(meant, (0, 3) if axes == (0,) else (3, 0))
    found = aj.fold(meant.acc, *operands, axes=axes)
    wanted = folded_exactly(meant, operands, list(axes))
    for one, other in zip(found if isinstance(found, tuple) else (found,), wanted, strict=True):
        np.testing.assert_array_equal(one, other)


def test_only_folded_lengths_of_nothing_matter():
    assert aj.fold(MEANT["spread"].acc, np.ones((0, 3)), axes=1)[0].shape == (0,)
    with pytest.raises(ValueError, match="an accumulator without an initial value"):
        aj.fold(MEANT["spread"].acc, np.ones((0, 3)), axes=0)
    assert aj.fold("max", np.ones((0, 3)), axes=1).shape == (0,)


def test_what_a_fold_gives_is_used_in_one_nest():
    def standard(x):
        high, low = aj.fold(bounds, x, axes=1)
        return (x - low[:, None]) / (high - low)[:, None]

    bounds = aj.Accumulator(
        None, lambda a, b: (np.maximum(a[0], b[0]), np.minimum(a[1], b[1])), lambda x: (x, x)
    )
    x = whole_numbers(np.random.default_rng(1), (6, 11), "f8")
    case = follow(standard, x)
    with small_forms():
        stages = lowered(case)
    (found,) = run_plain_case(case, stages.plan)
    low, high = x.min(1, keepdims=True), x.max(1, keepdims=True)
    np.testing.assert_array_equal(found, (x - low) / (high - low))


def test_two_parts_are_folded_in_one_loop():
    pair = MEANT["compose"].acc
    x = whole_numbers(np.random.default_rng(2), (40, 50))
    case = follow(lambda x: aj.fold(pair, x, x + 1, axes=1), x)
    stages = lowered(case)
    assert stages.loops.steps[0].body[0].extent is stages.graph.inputs[0].shape[0]
    assert len(stages.loops.steps) == 1


GOLDEN = {
    "rows": lambda x, y: aj.fold(MEANT["compose"].acc, x, y, axes=1),
    "columns": lambda x, y: aj.fold(MEANT["compose"].acc, x, y, axes=0),
    "all": lambda x, y: aj.fold(MEANT["compose"].acc, x, y),
    "neutral": lambda x, y: aj.fold(MEANT["neutral"].acc, x * y, axes=1),
}


@pytest.mark.parametrize("name", GOLDEN)
def test_folded_golden(golden, name):
    x = whole_numbers(np.random.default_rng(3), (60, 50), "f8")
    stages = lowered(follow(GOLDEN[name], x, x))
    golden(print_program(stages.loops), "loops")
    kernels = [step.kernel.source for step in stages.plan.steps if isinstance(step, Launch)]
    golden("\n".join(kernels), "source")
