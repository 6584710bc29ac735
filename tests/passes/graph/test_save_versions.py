"""What is read after its storage was written again is saved before, and nothing else."""

from unittest.mock import patch

import numpy as np
import pytest

from axiomjit.base.dtypes import FLOAT
from axiomjit.gradients.transposes import zeros
from axiomjit.graph.builder import elementwise
from axiomjit.graph.nodes import Graph, Input, Op, Token, Update, post_order, root_of
from axiomjit.graph.primitives import PRIMITIVES
from axiomjit.graph.storages import update
from axiomjit.passes.graph.save_versions import save_versions
from axiomjit.passes.ir.print_program import print_program
from axiomjit.symbolic.dims import dim
from axiomjit.symbolic.index_maps import identity
from tests.passes.examples import example
from tests.passes.graphs import (
    CONTEXT,
    before_and_after,
    evaluated,
    lower_until,
    lowered,
    run_plain_case,
    small_forms,
)
from tests.passes.stored import MAKERS, assert_same


@pytest.mark.parametrize("name", ["swapped", "swapped_rows", "reversed_rows", "given"])
def test_save_versions_golden(golden, name):
    golden(before_and_after("save_versions", MAKERS[name]()))
    golden(print_program(lowered(MAKERS[name]()).plan), "source")


@pytest.mark.parametrize("name", ["l2", "sums_and_map", "product"])
def test_save_versions_leaves_alone(name):
    graph = lower_until("save_versions", example(name))
    assert save_versions(graph, CONTEXT) is graph
    graph = lower_until("save_versions", MAKERS["in_place"]())
    assert save_versions(graph, CONTEXT) is graph


@pytest.mark.parametrize("name", MAKERS)
def test_views_and_loops_of_writes(golden, name):
    stages = lowered(MAKERS[name]())
    golden(print_program(stages.views) + print_program(stages.loops))


SAVED = {
    "in_place": 0,  # each element is read before it is written
    "exchanged": 0,  # reads bind to the version of their moment: y = x = y
    "swapped": 1,
    "swapped_rows": 2,
    "reversed_rows": 1,
    "parts": 0,
    "kept_apart": 0,
    "beside_a_fold": 0,
    "given": 1,  # an output that shows what was before
}


@pytest.mark.parametrize("name", SAVED)
def test_how_many_copies_are_made(name):
    graph = save_versions(lower_until("save_versions", MAKERS[name]()), CONTEXT)
    ops = [node for node in post_order(graph.outputs) if isinstance(node, Op)]
    assert sum(op.primitive.name == "save" for op in ops) == SAVED[name]


def test_the_version_that_is_written_into_an_input_stays_in_its_memory():
    """Of two next versions of an input the one that is no result is made in a copy."""
    length = (dim(4),)
    x, whole = Input(FLOAT, 0, length, False, Token()), identity(1)
    other = update(x, whole, zeros(FLOAT, length), whole, length)
    last = update(x, whole, elementwise(PRIMITIVES["add"], other, x), whole, length)
    graph = save_versions(Graph((x,), (last,), writes=(0,)), CONTEXT)
    assert root_of(graph.outputs[0]) is x
    copies = [n for n in post_order(graph.outputs) if isinstance(n, Update) and root_of(n) is not x]
    assert [root_of(n).primitive.name for n in copies] == ["save"]


@pytest.mark.parametrize("name", MAKERS)
def test_writes_mean_what_the_evaluator_says(name):
    case = MAKERS[name]()
    want = evaluated(case.graph, case)
    stages = lowered(case)
    assert_same(run_plain_case(case, stages.plan), want, name)
    assert_same(evaluated(stages.simplified, case), want, name)
    again = MAKERS[name]()
    with small_forms():
        plan = lowered(again).plan
    assert_same(run_plain_case(again, plan, chunks=3), want, name)


def test_loops_fused_over_shifted_reads_would_be_wrong():
    case = MAKERS["reversed_rows"]()
    module = "axiomjit.passes.loops.fuse_loops"
    with (
        patch(f"{module}._reads_other_place", lambda body: False),
        patch(f"{module}._Accesses.reads_other_place", lambda self, behind: False),
    ):
        got = run_plain_case(case, lowered(case).plan)
    with pytest.raises(AssertionError, match="output"):
        assert_same(got, evaluated(case.graph, case), "rows")


def test_a_swap_is_one_loop_without_a_temporary():
    stages = lowered(MAKERS["swapped"]())
    cost = stages.cost
    assert cost.kernels == 1
    assert cost.temporary_bytes.constant == 0


def test_rows_that_change_places_cost_a_copy_of_one():
    assert str(lowered(MAKERS["swapped_rows"]()).cost.temporary_bytes) == "8*n1"


def test_a_shifted_read_costs_a_copy():
    cost = lowered(MAKERS["reversed_rows"]()).cost
    assert cost.temporary_bytes is not None
    assert str(cost.temporary_bytes) == "8*n0*n1"


def test_writes_are_seen_in_the_arguments():
    case = MAKERS["in_place"]()
    (written,) = {step.position for step in lowered(case).plan.steps if hasattr(step, "position")}
    assert isinstance(case.arguments[written], np.ndarray)
