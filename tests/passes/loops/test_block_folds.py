"""Folds run in blocks whose results form a tree."""

import numpy as np
import pytest

from axiomjit.passes.ir.loop_ir import Alloc, For, Store, walk
from axiomjit.passes.loops.block_folds import block_folds
from axiomjit.symbolic.dims import Symbol, evaluate
from tests.passes.examples import example, numbers
from tests.passes.graphs import (
    before_and_after,
    follow,
    lower_until,
    lowered,
    run_plain_case,
    small_forms,
)


@pytest.mark.parametrize("name", ["l2", "sums_and_map", "rows_and_columns", "planes"])
def test_block_folds_golden(golden, name):
    golden(before_and_after("block_folds", example(name)))


@pytest.mark.parametrize("name", ["single", "mapped", "centred", "strided", "planes"])
def test_block_folds_leaves_alone(name):
    case = example(name)
    program = lower_until("block_folds", case)
    assert block_folds(program, case.context) is program


def blocked(function, *arguments):
    """The only nest after blocking."""
    case = follow(function, *arguments)
    (nest,) = block_folds(lower_until("block_folds", case), case.context).steps
    return nest


def test_a_total_has_groups_and_a_combine_part():
    nest = blocked(lambda x: (x.sum(), x.max()), numbers(70_000))
    assert [s.kind for s in nest.body] == ["map"]
    assert len(nest.partials) == 2
    assert evaluate(nest.partials[0].shape[0], {Symbol("n0"): 70_000}) == 2
    assert [s.kind for s in nest.combine if isinstance(s, For)] == ["fold"]


def test_what_is_written_before_a_fold_is_written_once():
    def f(x):
        x += x[::-1]
        return x.sum()

    nest = blocked(f, numbers(1))
    stored = [s.buffer.role for s in walk(nest.body) if isinstance(s, Store)]
    combined = [s.buffer.role for s in walk(nest.combine) if isinstance(s, Store)]
    assert (stored, combined) == (["partial"], ["argument", "result"])


@pytest.mark.parametrize(("length", "trees"), [(1024, 0), (1025, 1)])
def test_rows_are_cut_where_they_are_longer_than_a_block(length, trees):
    nest = blocked(lambda x: x.sum(axis=1), numbers(6, length))
    found = [s for s in nest.statements if isinstance(s, Alloc) and s.scope == "tree"]
    assert len(found) == trees
    assert nest.combine == ()


def test_exact_folds_of_rows_are_not_cut():
    nest = blocked(lambda x: x.max(axis=1), numbers(6, 5000))
    assert [s.kind for s in nest.statements if isinstance(s, For)] == ["map", "fold"]


def test_what_was_looked_at_is_guarded():
    case = follow(lambda x: x.sum(axis=1), numbers(6, 1024))
    block_folds(lower_until("block_folds", case), case.context)
    assert all(guard.holds({Symbol("n0"): 6, Symbol("n1"): 1000}) for guard in case.scope.guards)
    assert not all(g.holds({Symbol("n0"): 6, Symbol("n1"): 1025}) for g in case.scope.guards)


@pytest.mark.parametrize(
    ("first", "second"),
    [((6, 5), (6, 30)), ((6, 30), (6, 5)), ((6, 30), (6, 20)), ((6, 5), (6, 7))],
)
def test_folds_side_by_side_keep_their_own_states(first, second):
    case = follow(lambda x, y: x.sum(axis=1) * y.sum(axis=1), numbers(*first), numbers(*second))
    with small_forms():
        got = run_plain_case(case, lowered(case).plan)
    np.testing.assert_array_equal(got[0], case.arguments[0].sum(1) * case.arguments[1].sum(1))


@pytest.mark.parametrize("shape", [(300, 0), (0, 300), (1, 0), (0,)])
def test_folds_of_nothing(shape):
    case = follow(lambda x: x.sum(), np.zeros(shape))
    with small_forms():
        assert run_plain_case(case, lowered(case).plan)[0] == 0.0
