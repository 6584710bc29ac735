"""Nodes: interning, long chains, rewriting, text, index maps, records."""

import gc

import numpy as np
import pytest

from axiomjit.base.dtypes import FLOAT
from axiomjit.base.records import Record
from axiomjit.graph import builder
from axiomjit.graph import nodes as graphs
from axiomjit.graph.builder import as_node, elementwise
from axiomjit.graph.evaluate_graph import evaluate_graph
from axiomjit.graph.nodes import Graph, Input, Op, Scalar, map_fields, post_order, rewrite, users
from axiomjit.graph.primitives import MAX, PRIMITIVES
from axiomjit.graph.reductions import choose_position
from axiomjit.graph.storages import update
from axiomjit.passes.ir.print_program import print_program
from axiomjit.passes.ir.verify_program import verify_program
from axiomjit.symbolic.dims import Symbol, dim, named_length, substitute
from axiomjit.symbolic.index_maps import (
    affine,
    compose,
    condition,
    fixed,
    identity,
    iterator,
    permutation,
    show,
)
from tests.passes.examples import example
from tests.passes.graphs import CONTEXT, GRAPH_PASSES, follow, follow_plainly

(n,) = named_length("n0").symbols
N = named_length("n0")
X = Input(FLOAT, 0, (N,))


def add(left, right):
    return elementwise(PRIMITIVES["add"], as_node(left, "test"), as_node(right, "test"))


def test_equal_nodes_are_one_object():
    assert add(X, 1.0) is add(X, 1.0)
    assert add(X, 1.0) is not add(X, 2.0)
    assert Input(FLOAT, 0, (named_length("n0"),)) is X


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        (0.0, -0.0, False),
        (np.nan, np.nan, True),
        (1, 1.0, False),
        (1.0, np.float64(1.0), False),  # a Python number is weak
        (True, 1, False),
    ],
)
def test_numbers_are_told_apart_by_bits_and_kind(one, other, same):
    assert (as_node(one, "test") is as_node(other, "test")) is same


def test_held_arrays_are_told_apart_by_identity():
    array = np.ones(3)
    assert as_node(array, "test") is as_node(array, "test")
    assert as_node(array, "test") is not as_node(np.ones(3), "test")


def test_nodes_that_nobody_holds_are_freed():
    before = len(graphs._interned)
    made = [add(X, float(k)) for k in range(500)]
    assert len(graphs._interned) >= before + 500
    del made
    gc.collect()
    assert len(graphs._interned) < before + 50


def test_nodes_cannot_change():
    with pytest.raises(AttributeError, match="cannot change"):
        X.position = 3
    with pytest.raises(AttributeError, match="cannot change"):
        del X.position


LENGTH = 10_000


@pytest.fixture(scope="module")
def chain():
    node = X
    for _ in range(LENGTH):
        node = add(node, 1.0)
    return Graph((X,), (node,))


def test_a_long_chain_is_walked_printed_verified_and_run(chain):
    assert len(list(post_order(chain.outputs))) == LENGTH + 2
    assert print_program(chain).count("add(") == LENGTH
    verify_program(chain)
    (result,) = evaluate_graph(chain, [np.zeros(2)], {Symbol("n0"): 2})
    assert result.tolist() == [LENGTH, LENGTH]
    assert len(users(chain)) == LENGTH + 2


@pytest.mark.parametrize("graph_pass", GRAPH_PASSES)
def test_a_long_chain_goes_through_each_pass(chain, graph_pass):
    assert graph_pass(chain, CONTEXT) is chain


def test_a_long_chain_of_python_numbers_stays_weak():
    number = Input(FLOAT, 0, (), True)
    node = number
    for _ in range(1000):
        node = add(node, 1)
    # Not `assert node.weak`: pytest would show the node, and its repr recurses.
    weak = node.weak
    assert weak


def test_operands_come_before_users_and_once():
    shared = add(X, 1.0)
    order = list(post_order((add(shared, shared), shared)))
    assert order.index(X) < order.index(shared)
    assert len(order) == len(set(order)) == 4


def test_rewrite_keeps_what_no_rule_touches():
    graph = Graph((X,), (add(X, 1.0), add(X, 2.0)))

    def one_to_three(node):
        is_one = isinstance(node, Scalar) and node.value == 1.0
        return Scalar(FLOAT, np.float64(3.0), False) if is_one else node

    changed = rewrite(graph, one_to_three)
    assert changed.outputs[1] is graph.outputs[1]
    assert changed.outputs[0].operands[1].value == 3.0
    assert rewrite(graph, lambda node: node) is graph


LENGTHS = {
    "maps": lambda: builder.view(X, (affine({0: dim(-1)}, N - 1),), (N,)),
    "regions": lambda: builder.concatenate([X, X], 0),
    "conditions": lambda: SCATTERED.replace(conditions=(condition(iterator(0), dim(1), N),)),
    "whole": lambda: SCATTERED,
    "length": lambda: graphs.size(N),
    "extents": lambda: X,
}
SCATTERED = update(X, (affine({0: dim(1)}, 3),), X, identity(1), (N - 3,))


def lengths_of(node):
    """All lengths in the fields of a node."""
    found = []
    map_fields(node, lambda child: child, lambda length: found.append(length) or length)
    return found


@pytest.mark.parametrize("field", LENGTHS)
def test_lengths_are_mapped_in_every_field(field):
    node = LENGTHS[field]()
    other = map_fields(node, lambda child: child, lambda length: substitute(length, {n: 2 * N}))
    for old, new in zip(lengths_of(node), lengths_of(other), strict=True):
        assert new is substitute(old, {n: 2 * N})
        assert old.symbols <= node.symbols
    assert getattr(other, field, None) is not getattr(node, field, None)
    assert map_fields(node, lambda child: child, lambda length: length) is node


def test_nodes_of_a_fold_are_not_those_of_the_graph():
    place = choose_position(MAX, X, (0,))
    (folded,) = place.operands
    value = Input(FLOAT, 0, ())  # as the fold has for the value of its left state
    assert value in post_order(folded.fold.outputs)
    other = map_fields(folded, lambda child: add(child, 1.0), lambda length: length)
    assert other.fold is folded.fold
    assert other.operands[0] is add(X, 1.0)


@pytest.mark.parametrize("name", ["l2", "centred", "product", "strided"])
def test_print_graph_golden(golden, name):
    golden(print_program(example(name).graph))


def test_text_of_every_kind_of_leaf():
    held = np.ones(3)
    case = follow_plainly(lambda x, k: (x + k) * held[0] + x.mean() + held.sum(), np.ones(9), 2.5)
    shown = print_program(case.graph)
    for part in ("input 0: f8[n0]", "input 1: ~f8[]", "length n0: ~f8[]", "scalar 1.0: f8[]"):
        assert part in shown


@pytest.mark.parametrize(
    ("inner", "outer", "text"),
    [
        (identity(2), permutation((1, 0)), "[i1, i0]"),
        ((affine({0: dim(2)}, 1),), (affine({0: dim(3)}, 4),), "[6*i0 + 9]"),
        ((iterator(1), iterator(0)), (fixed(2), iterator(0)), "[i0, 2]"),
        ((fixed(5),), (), "[5]"),
        ((affine({0: dim(-1)}, N - 1),), (affine({0: dim(-1)}, N - 1),), "[i0]"),
        ((iterator(0), iterator(0)), (iterator(3),), "[i3, i3]"),
        ((affine({0: dim(1), 1: dim(1)}),), (iterator(0), iterator(0)), "[2*i0]"),
        ((affine({0: dim(1), 1: dim(-1)}),), (iterator(0), iterator(0)), "[0]"),
    ],
)
def test_composed_maps(inner, outer, text):
    assert show(compose(inner, outer)) == text


class Pair(Record):
    left: int
    right: int = 2


class Triple(Pair):
    last: int = 3


def test_records_are_values():
    assert Pair(1) == Pair(1, 2) == Pair(left=1, right=2)
    assert Pair(1) != Pair(2)
    assert Pair(1) != Triple(1)
    assert len({Pair(1), Pair(1, 2), Pair(1, 3)}) == 2
    assert repr(Triple(1)) == "Triple(left=1, right=2, last=3)"
    assert Triple(1).replace(right=5) == Triple(1, 5)


@pytest.mark.parametrize(
    ("act", "message"),
    [
        (lambda: Pair(), "needs 'left'"),
        (lambda: Pair(1, 2, 3), "takes 2 fields, got 3"),
        (lambda: Pair(1, left=2), "got 'left' twice"),
        (lambda: Pair(1, middle=2), "no field 'middle'"),
        (lambda: Pair(1).replace(middle=2), "no field 'middle'"),
    ],
)
def test_wrong_fields_are_refused(act, message):
    with pytest.raises(TypeError, match=message):
        act()


def test_an_op_is_iterated_by_its_result_first():
    (node,) = follow(lambda x: x.sum(axis=0), np.ones((5, 6))).graph.outputs
    assert isinstance(node, Op)
    assert [str(n) for n in node.extents] == ["n1", "n0"]
    assert node.rank == 1
