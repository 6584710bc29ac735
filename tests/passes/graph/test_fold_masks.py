"""Folds of what a mask chooses are folds over the mask; counts that nobody needs are dropped."""

import numpy as np
import pytest

from axiomjit.graph.evaluate_graph import evaluate_graph
from axiomjit.graph.library_operations import NONZERO
from axiomjit.graph.nodes import Op, post_order
from axiomjit.passes.graph.compose_views import compose_views
from axiomjit.passes.graph.fold_masks import fold_masks
from axiomjit.passes.ir.loop_ir import LibraryCall
from axiomjit.passes.ir.print_program import print_program
from axiomjit.symbolic.data_dependent import OtherLengthError
from tests.passes.examples import example
from tests.passes.graphs import (
    CONTEXT,
    before_and_after,
    evaluated,
    follow,
    lowered,
    run_plain_case,
)

X = np.array(
    [[2.0, -1.0, 3.0, 0.5, -2.0], [-4.0, 7.0, -0.5, 1.0, 6.0], [1.5, -3.0, 2.5, -1.0, 8.0]]
)
X = np.concatenate([X, -X, X * 3])
FOLDED = {
    "sum": lambda x: x[x > 0].sum(),
    "mean": lambda x: x[x > 0].mean(),
    "max": lambda x: x[x > 0].max(),
    "rows": lambda x: x[x[:, 0] > 0].sum(axis=0),
    "columns": lambda x: (x * 2)[:, x[1] > 0].sum(axis=1),
    "of-chosen": lambda x: np.sqrt(x[x > 0])[x[x > 0] > 1].prod(),
    "variance": lambda x: x[x > 0].var(),
    "count": lambda x: x[x > 0].size * 2 + x.sum(),
    "tests": lambda x: ((x[x > 0] > 3).any(), (x[x < 0] < 0).all(), (x > 1).sum()),
    "taken": lambda x: x[:, x[1] > 0][np.array([0, 2])].sum(),
}
STORED = {
    "chosen": lambda x: x[x > 0] * 2,
    "sorted": lambda x: np.sort(x[x > 0])[::-1],
    "share": lambda x: x[x > 0] / x[x > 0].sum(),
    "places": lambda x: np.nonzero(x > 2),
    "positions": lambda x: x[0][x[:, 1].astype(np.int64)[abs(x[:, 1]) < 5]].sum(),
}


def functions():
    return FOLDED | STORED


@pytest.mark.parametrize("name", ["mean", "max", "rows", "share"])
def test_fold_masks_golden(golden, name):
    golden(before_and_after("fold_masks", follow(functions()[name], X)))
    golden(print_program(lowered(follow(functions()[name], X)).plan), "source")


@pytest.mark.parametrize("name", ["strided", "centred", "merged"])
def test_fold_masks_leaves_alone(name):
    graph = compose_views(example(name).graph, CONTEXT)
    assert fold_masks(graph, CONTEXT) is graph


@pytest.mark.parametrize("name", functions())
def test_values_stay(name):
    case = follow(functions()[name], X)
    want = evaluated(case.graph, case)
    after = fold_masks(compose_views(case.graph, case.context), case.context)
    wanted = functions()[name](X)
    wanted = wanted if isinstance(wanted, tuple) else (wanted,)
    for found in (want, evaluated(after, case), run_plain_case(case, lowered(case).plan)):
        for one, other in zip(found, wanted, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-15)


@pytest.mark.parametrize("name", FOLDED)
def test_nothing_is_compressed(name):
    case = follow(FOLDED[name], X)
    after = fold_masks(compose_views(case.graph, case.context), case.context)
    ops = [n for n in post_order(after.outputs) if isinstance(n, Op)]
    assert not any(op.primitive is NONZERO for op in ops)


def test_positions_that_a_mask_leaves_out_are_not_read():
    """They may be anywhere: the sum is over what is chosen."""
    case = follow(lambda x, i: x[i[i < 5]].sum(), X[0], np.array([4, 1 << 40, 0]))
    before = compose_views(case.graph, case.context)
    (found,) = evaluated(fold_masks(before, case.context), case)
    assert found == X[0][4] + X[0][0]


def test_a_masked_sum_is_one_loop_without_memory_of_its_own():
    stages = lowered(follow(FOLDED["sum"], X))
    assert len(stages.loops.steps) == 1
    assert not any(isinstance(step, LibraryCall) for step in stages.loops.steps)
    assert stages.cost.temporary_bytes.constant == 0
    assert stages.graph.data_dependent
    assert not stages.simplified.data_dependent


def test_a_guard_of_a_number_of_chosen_elements_is_asked_when_it_is_known():
    case = follow(FOLDED["max"], X)
    (choice,) = lowered(case).simplified.data_dependent
    assert [str(g.left) for g in choice.guards] == ["m0"]
    with pytest.raises(OtherLengthError, match="m0 = 0"):
        evaluate_graph(case.graph, (-abs(X),), case.values)
