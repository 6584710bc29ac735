"""Folds and writes of elements that a mask selects loop over the mask; unused counts vanish."""

import numpy as np
import pytest

import axiomjit
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


def changed(x, y):
    x[y > 0] -= 2 * y[y > 0]


def rows(x, y):
    x[y[:, 0] > 0] *= y[y[:, 0] > 0] + 1


def columns(x, y):
    x[:, y[1] > 0] = y[:, y[1] > 0] - x[:, :1]


def one_column(x, y):
    x[::-1][y[:, 1] > 0, 2] = np.sqrt(abs(y[y[:, 1] > 0, 0]))


def logarithm(x, y):
    x[y > 0] = np.log(y[y > 0])


def in_turn(x, y):
    x[y > 0] = y[y > 0].sum()
    x[x > 2] = x[x > 2] ** 2 - y[x > 2]


def cast_down(x, y):
    x.astype(np.float32)[y > 1] = y[y > 1]
    x[y < 0] = 1


WRITTEN = (changed, rows, columns, one_column, logarithm, in_turn, cast_down)


def sorted_again(x, y):
    x[y > 0] = np.sort(x[y > 0])


def of_another_mask(x, y):
    x[y > 0] = y[x > 0][: x[y > 0].size].sum()
    x[y > 0] = np.roll(x[y > 0], 1)


def at_positions(x, y):
    i = (y[:, 0] > 0).astype(np.int64)
    x[i] = x[i] * 2


def out_of_range(x, y):
    """The positions that the mask leaves out are beyond the end."""
    i = np.where(y[:, 1] > 0, 1, 1 << 40)
    x[y[:, 1] > 0, 0] = y[i[y[:, 1] > 0], 2]


def across(x, y):
    i, j = np.nonzero(y[:5, :5] > 0)
    x[j, i] = y[i, j]


def added(x, y):
    np.add.at(x, y > 0, 2.0)


def power(x, y):
    x[y > 0] = y[y > 0] ** 1.7


LEFT = (power, sorted_again, of_another_mask, at_positions, out_of_range, across, added)
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


def positions(graph):
    """The ops that find the positions of a mask."""
    ops = [n for n in post_order(graph.outputs) if isinstance(n, Op)]
    return [op for op in ops if op.primitive is NONZERO]


def test_writes_under_a_mask_golden(golden):
    golden(before_and_after("fold_masks", follow(rows, X, X - 1)))
    golden(print_program(lowered(follow(changed, X, X - 1)).plan), "source")


@pytest.mark.parametrize("function", [*WRITTEN, *LEFT], ids=lambda function: function.__name__)
def test_writes_under_a_mask(function):
    def copied(x, y):
        x = x * 1.0
        function(x, y)
        return x

    case = follow(copied, X, X[::-1] - 0.5)
    after = fold_masks(compose_views(case.graph, case.context), case.context)
    assert bool(positions(after)) is (function in LEFT and function is not at_positions)
    wanted, y = X.copy(), X[::-1] - 0.5
    function(wanted, y)
    want = evaluated(case.graph, case)
    for found in (want, evaluated(after, case), run_plain_case(case, lowered(case).plan)):
        np.testing.assert_allclose(found[0], wanted, rtol=1e-15)


def test_a_write_that_reads_what_an_earlier_one_replaced():
    def doubled(x):
        chosen = x[x > 0]
        x[x > 0] = -1.0
        x[x == -1.0] = 3.0
        return chosen * 2, x

    compiled = axiomjit.jit(doubled, strict=True)
    for values in (X, -X, abs(X), -abs(X), X[:1]):
        x, other = values.copy(), values.copy()
        for got, want in zip(compiled(x), doubled(other), strict=True):
            np.testing.assert_array_equal(got, want)


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
