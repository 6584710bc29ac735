"""Verifiers find conditions and limits that are not legal."""

import pytest

from axiomjit.base.errors import VerifyError
from axiomjit.graph.nodes import Graph
from axiomjit.graph.primitives import VIEW
from axiomjit.passes.ir.loop_ir import For, If, Limit
from axiomjit.passes.ir.verify_program import verify_program
from axiomjit.symbolic.dims import dim
from axiomjit.symbolic.index_maps import affine, condition
from tests.passes.ir.test_verifiers import LOAD, MAPPED, STORE, SUM, X, copied, inside, loops


def within(terms):
    """The condition that a sum of iterators is from 1 to 4."""
    return condition(affine({k: dim(c) for k, c in terms.items()}), dim(1), dim(5))


def total_within(terms, operand=X):
    """The sum of the elements where a condition holds."""
    conditions = (within(terms),)
    return copied(primitive=VIEW, fold=SUM, rank=0, operands=(operand,), conditions=conditions)


def limit(iterator, factor=1):
    """A limit of one iterator."""
    return Limit(((iterator, dim(factor)),), dim(1), dim(5))


@pytest.mark.parametrize(
    ("node", "fault"),
    [
        (total_within({1: 1}), "condition 1 <= i1 < 5 names an iterator beyond 1"),
        (total_within({0: -1}), "has a coefficient below 1"),
        (
            total_within({0: 1}, copied(primitive=VIEW, conditions=(within({0: 1}),))),
            "conditions of a view, which has none",
        ),
        (copied(conditions=(within({0: 1}),)), "an output is undefined at some places"),
        (
            copied(operands=(copied(conditions=(within({0: 1}),)),)),
            "negative reads places where its operand is undefined",
        ),
    ],
)
def test_of_graphs(node, fault):
    with pytest.raises(VerifyError, match=fault):
        verify_program(Graph((X,), (node,)))


def test_legal_conditions_are_left_alone():
    partial = copied(conditions=(within({0: 1}),))
    assert verify_program(Graph((X,), (total_within({0: 1}, partial),))) is None
    assert verify_program(inside(If((limit("i0"),), (LOAD, STORE)))) is None
    assert verify_program(loops(MAPPED.replace(limits=(limit("i0"),)))) is None


@pytest.mark.parametrize(
    ("program", "fault"),
    [
        (inside(If((limit("i1"),), (LOAD, STORE))), "a limit names i1 outside its loop"),
        (inside(If((limit("i0", -2),), (LOAD, STORE))), "a limit with the factor -2 of i0"),
        (inside(If((limit("i0"),), (LOAD,)), STORE), "v0 is used before it is defined"),
        (
            loops(For("i1", dim(2), "map", (MAPPED.replace(limits=(limit("i1"),)),))),
            "i0 has the limit of another loop",
        ),
    ],
)
def test_of_loops(program, fault):
    with pytest.raises(VerifyError, match=fault):
        verify_program(program)
