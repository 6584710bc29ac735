"""One nest per stored value."""

import pytest

from axiomjit.passes.ir.loop_ir import Let, LibraryCall
from axiomjit.passes.loops.lower_to_loops import lower_to_loops
from tests.passes.examples import example, numbers
from tests.passes.graphs import CONTEXT, before_and_after, follow, lower_until


@pytest.mark.parametrize("name", ["l2", "rows_and_columns", "centred", "strided", "product"])
def test_lower_to_loops_golden(golden, name):
    golden(before_and_after("lower_to_loops", example(name)))


def test_lower_to_loops_leaves_alone():
    views = lower_until("lower_to_loops", follow(lambda x: x[::2].T, numbers(6, 5)))
    program = lower_to_loops(views, CONTEXT)
    assert program.steps == ()
    assert program.storages is views.storages
    assert program.results is views.results


@pytest.mark.parametrize("name", ["l2", "rows_and_columns", "centred", "product"])
def test_there_is_one_step_per_stored_value(name):
    views = lower_until("lower_to_loops", example(name))
    stored = [d for d in views.definitions if d.storage is not None]
    steps = lower_to_loops(views, CONTEXT).steps
    assert [isinstance(s, LibraryCall) for s in steps] == [d.library is not None for d in stored]


def test_a_shared_value_is_computed_once():
    case = follow(lambda x: (x - 1.0) * (x - 1.0), numbers(9))
    (nest,) = lower_to_loops(lower_until("lower_to_loops", case), CONTEXT).steps
    names = [s.primitive.name for s in nest.statements if isinstance(s, Let)]
    assert names == ["subtract", "multiply"]
