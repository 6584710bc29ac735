"""Reads through views become reads of what is viewed."""

import pytest

from axiomjit.graph.nodes import is_view, post_order
from axiomjit.passes.graph.compose_views import compose_views
from tests.passes.examples import example, numbers
from tests.passes.graphs import CONTEXT, before_and_after, follow


@pytest.mark.parametrize("name", ["strided", "centred", "undone", "parts"])
def test_compose_views_golden(golden, name):
    golden(before_and_after("compose_views", example(name)))


@pytest.mark.parametrize("name", ["l2", "rows_and_columns", "mapped"])
def test_compose_views_leaves_alone(name):
    graph = example(name).graph
    assert compose_views(graph, CONTEXT) is graph


def test_only_outputs_stay_views():
    case = follow(lambda x: (x.T[::2], x.T[::2] + 1.0), numbers(6, 5))
    after = compose_views(case.graph, CONTEXT)
    assert is_view(after.outputs[0])
    views = [n for n in post_order(after.outputs) if is_view(n)]
    assert views == [after.outputs[0]]


def test_views_of_views_compose_into_one_map():
    case = follow(lambda x: x[2:][::-2][1:] + 1.0, numbers(11))
    (output,) = compose_views(case.graph, CONTEXT).outputs
    assert output.operands[0] is case.graph.inputs[0]
    assert output.maps[0][0].coefficient(0).constant == -2
