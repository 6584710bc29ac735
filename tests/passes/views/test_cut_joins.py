"""Joins of many parts are written by several nests, each of a few parts."""

import numpy as np
import pytest

from axiomjit.base.errors import VerifyError
from axiomjit.graph.primitives import JOIN
from axiomjit.passes.graph.choose_storage import MAX_PARTS
from axiomjit.passes.ir.loop_ir import For
from axiomjit.passes.ir.plan_ir import Launch
from axiomjit.passes.ir.verify_program import verify_program
from axiomjit.passes.views.cut_joins import MAX_PIECE, cut_joins
from tests.passes.examples import example, numbers
from tests.passes.graphs import (
    before_and_after,
    evaluated,
    follow,
    in_numpy,
    lower_until,
    lowered,
    run_plain_case,
    small_forms,
)
from tests.passes.stored import assert_same


def test_cut_joins_golden(golden):
    golden(before_and_after("cut_joins", example("many_parts")))


@pytest.mark.parametrize("name", ["l2", "padded", "joined", "rows_and_columns"])
def test_cut_joins_leaves_alone(name):
    case = example(name)
    program = lower_until("cut_joins", case)
    assert cut_joins(program, case.context) is program


X = numbers(30, 12)


def rows(count):
    return lambda x: np.concatenate([x[k % 20 : k % 20 + 2] * 2.0 for k in range(count)])


def columns(count):
    parts = [(k % 4, k % 8 + 1) for k in range(count)]
    return lambda x: np.concatenate([x[:, k : k + n] for k, n in parts], axis=1)


def stacked(count):
    return lambda x: np.stack([x[k % 30] - k for k in tuple(range(count))], axis=1)


def folded(count):
    return lambda x: rows(count)(x).sum(axis=0) + rows(count)(x)[1]


def nested(count):
    def function(x):
        blocks = [
            np.concatenate([x * (k + n) for k in range(count // 4)], axis=1) for n in range(4)
        ]
        return np.concatenate(blocks)

    return function


def padded(count):
    return lambda x: np.concatenate([np.pad(x[k % 9 : k % 9 + 2], 1) for k in range(count)])


def turned(count):
    return lambda x: np.concatenate([x[:3].T for _ in range(count)], axis=1).T[::-1] * 2.0


def mixed(count):
    def function(x):
        parts = [x[k % 30] if k % 2 else np.sqrt(abs(x[k % 30])) for k in range(count)]
        return np.concatenate(parts)[1:-1] + 1.0

    return function


FUNCTIONS = [rows, columns, stacked, folded, nested, padded, turned, mixed]


@pytest.mark.parametrize("make", FUNCTIONS)
@pytest.mark.parametrize("count", [MAX_PARTS, MAX_PARTS + 1, 3 * MAX_PARTS + 1])
def test_cut_joins_mean_the_same(make, count):
    function = make(count)
    case = follow(function, X)
    stages = lowered(case)
    want = in_numpy(function, (X,))
    assert_same(evaluated(stages.simplified, case), want, "graph")
    assert_same(run_plain_case(case, stages.plan), want, "plan")
    with small_forms():
        assert_same(run_plain_case(case, lowered(case).plan, 3), want, "plan of small forms")


@pytest.mark.parametrize("make", [rows, columns, stacked, turned, mixed])
@pytest.mark.parametrize("count", [MAX_PARTS + 1, 5 * MAX_PARTS])
def test_no_kernel_has_more_parts(make, count):
    steps = lowered(follow(make(count), X)).loops.steps
    for step in steps:
        loops = [s for s in step.statements if isinstance(s, For)]
        assert len(loops) <= 2 * MAX_PIECE


@pytest.mark.parametrize("make", [rows, columns, stacked])
def test_parts_alike_share_their_kernels(make):
    """So the time to compile does not grow with the number of parts."""
    sizes = []
    for count in (10 * MAX_PARTS, 20 * MAX_PARTS):
        steps = lowered(follow(make(count), numbers(400, 12))).plan.steps
        kernels = [step.kernel.key for step in steps if isinstance(step, Launch)]
        assert len(kernels) >= count // MAX_PIECE
        sizes.append(len(set(kernels)))
    assert sizes[1] <= sizes[0] + 1


def test_a_storage_is_read_when_its_pieces_fill_it():
    case = follow(rows(MAX_PARTS + 1), X)
    program = cut_joins(lower_until("cut_joins", case), case.context)
    joins = [d for d in program.definitions if d.target is not None]
    assert len(joins) == 3
    assert joins[0].primitive is JOIN
    verify_program(program)
    less = tuple(d for d in program.definitions if d is not joins[2])
    with pytest.raises(VerifyError, match=r"2\*n1 elements that are never written"):
        verify_program(
            program.replace(
                definitions=less,
                results=tuple(view.replace(version=1) for view in program.results),
            )
        )
