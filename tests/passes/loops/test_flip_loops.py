"""Loops over reversed arrays run from their end; folds that take elements in order do not."""

import numpy as np
import pytest

import axiomjit as aj
from axiomjit.passes.ir.loop_ir import For, Load
from axiomjit.passes.loops.flip_loops import flip_loops
from tests.passes.examples import example, numbers
from tests.passes.folded import MEANT, folded_exactly, layouts, whole_numbers
from tests.passes.graphs import (
    CONTEXT,
    before_and_after,
    follow,
    in_numpy,
    lower_until,
    lowered,
    run_plain_case,
    small_forms,
)

CUBE = numbers(5, 6, 7)


@pytest.mark.parametrize("name", ["reversed_total", "reversed_join"])
def test_flip_loops_golden(golden, name):
    golden(before_and_after("flip_loops", example(name)))


@pytest.mark.parametrize("name", ["l2", "single", "mapped", "centred", "total"])
def test_flip_loops_leaves_alone(name):
    program = lower_until("flip_loops", example(name))
    assert flip_loops(program, CONTEXT) is program


def loops(function, *arguments):
    """The number of loops of a program after they were flipped and collapsed."""
    program = lower_until("estimate_cost", follow(function, *arguments))
    return sum(isinstance(s, For) for step in program.steps for s in step.statements)


@pytest.mark.parametrize(
    ("function", "arguments", "count"),
    [
        (lambda x: x.sum(), [CUBE[::-1]], 1),
        (lambda x: x.sum(), [CUBE[:, ::-1]], 1),
        (lambda x: x.max(), [CUBE[::-1, ::-1, ::-1].transpose(1, 2, 0)], 1),
        (lambda x: x.sum(), [CUBE[::-2]], 2),
        (lambda x, y: (x * y).sum(), [CUBE[::-1], CUBE[::-1] + 0.0], 2),
        (lambda x, y: (x * y).sum(), [CUBE[::-1], (CUBE + 0.0)[::-1]], 1),
        (lambda x: x[::-1].sum(), [CUBE], 1),
        (lambda x: aj.fold(MEANT["last"].acc, x), [CUBE.astype("i8")[::-1]], 2),
        (lambda x: np.cumsum(x), [CUBE[::-1, 0, 0]], 1),
    ],
)
def test_reversed_arrays_are_collapsed(function, arguments, count):
    assert loops(function, *arguments) == count


@pytest.mark.parametrize("layout", ["negative", "C", "F"])
@pytest.mark.parametrize("name", ["matrices", "last", "seeded", "spread"])
def test_order_is_kept_where_it_matters(name, layout):
    meant = MEANT[name]
    rng = np.random.default_rng(0)
    operands = [layouts(whole_numbers(rng, (4, 9)))[layout] for _ in range(meant.operands)]
    case = follow(lambda *xs: aj.fold(meant.acc, *(x[::-1] for x in xs), axes=(1, 0)), *operands)
    with small_forms():
        found = run_plain_case(case, lowered(case).plan)
    for one, other in zip(
        found, folded_exactly(meant, [x[::-1] for x in operands], (1, 0)), strict=True
    ):
        np.testing.assert_array_equal(one, other)


FUNCTIONS = [
    lambda x: (x.sum(), x.max(axis=1), x.argmax(), x.argmin(axis=0), np.cumsum(x, axis=1)),
    lambda x: np.concatenate([x[::-1], x[:3] * 2.0])[::-1].sum(axis=0),
    lambda x: (np.pad(x, 2)[::-1, ::-1].max(axis=0), x[::-1].prod(axis=1)),
]


@pytest.mark.parametrize("flipped", [(0,), (1,), (0, 1)], ids=str)
@pytest.mark.parametrize("function", FUNCTIONS)
def test_flipped_loops_mean_the_same(function, flipped):
    x = np.flip(np.random.default_rng(1).integers(-3, 4, (9, 8)).astype("f8"), flipped)
    case = follow(function, x)
    with small_forms():
        found = run_plain_case(case, lowered(case).plan, 2)
    for one, other in zip(found, in_numpy(function, [x]), strict=True):
        np.testing.assert_array_equal(one, other)


def test_strides_are_positive():
    program = lower_until("collapse_loops", follow(lambda x: x.sum(), CUBE[::-1, :, ::-3]))
    (load,) = [s for step in program.steps for s in step.statements if isinstance(s, Load)]
    assert "-" not in " ".join(
        str(stride) for _, stride in load.index.terms if "u" not in str(stride)
    )
    assert all(str(stride).startswith("-") for _, stride in load.index.terms if "u" in str(stride))
