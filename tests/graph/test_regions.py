"""Regions: what the verifier finds in them."""

import numpy as np
import pytest

import axiomjit as aj
from axiomjit.graph.nodes import Op
from axiomjit.graph.regions import Loop, Written, overwritten
from axiomjit.graph.verify_graph import graph_faults
from axiomjit.passes.ir.print_program import graph_lines
from axiomjit.symbolic.dims import LENGTH, Scope, Symbol, bound, dim
from tests.tracing.loop_programs import PROGRAMS


@pytest.fixture(scope="module")
def graph():
    function, make = PROGRAMS["recurrence"]
    return aj.jit(function).lower(*make(7, np.random.default_rng(0)))._stages.graph


def loop_of(graph):
    return next(op for op in graph.ops if isinstance(op.primitive, Loop))


def faults(node, graph):
    return [fault for fault, _ in graph_faults(graph.replace(outputs=(node,), writes=()))]


def test_a_legal_loop_has_no_faults(graph):
    assert list(graph_faults(graph)) == []
    loop = loop_of(graph)
    assert overwritten(loop) == 1
    assert any(line.startswith("  do:") for line in graph_lines(graph))


SPOILT = {
    "other inputs": lambda r: r.replace(
        bodies=(r.bodies[0].replace(inputs=r.bodies[0].inputs[:1]),)
    ),
    "writes": lambda r: r.replace(overwrites=0),
    "returns": lambda r: r.replace(bodies=(r.bodies[0].replace(writes=()),)),
    "without an end": lambda r: r.replace(trips=None),
    "bodies": lambda r: r.replace(bodies=()),
}


@pytest.mark.parametrize("fault", SPOILT)
def test_planted_faults_are_found(graph, fault):
    loop = loop_of(graph)
    spoilt = Op(
        *(loop.dtype, SPOILT[fault](loop.primitive), None, loop.operands, loop.maps),
        *(loop.extents, loop.rank),
    )
    assert any(fault in found for found in faults(spoilt, graph))


def test_a_version_of_another_storage_is_found(graph):
    version = next(op for op in graph.ops if isinstance(op, Written))
    assert any("does not overwrite" in f for f in faults(version.replace(place=1), graph))


def test_regions_of_other_lengths_are_told_apart_without_a_guard(graph):
    loop = loop_of(graph).primitive
    scope = Scope({Symbol("n0", LENGTH): 5, Symbol("n1", LENGTH): 5})
    with bound(scope):
        loops = {loop.replace(trips=dim(one) + k) for one in scope.values for k in range(4)}
    assert len(loops) == 8
    assert not scope.guards
