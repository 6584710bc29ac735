"""Sums of products of several operands: two at a time, or at once where that is as good."""

from unittest.mock import patch

import numpy as np
import pytest

from axiomjit.graph.library_operations import MATRIX_PRODUCTS
from axiomjit.graph.nodes import Op, post_order
from axiomjit.graph.primitives import PRODUCT
from axiomjit.passes.graph.order_contractions import order_contractions
from axiomjit.passes.ir.plan_ir import Call, Launch
from tests.passes.examples import example, numbers
from tests.passes.graphs import (
    before_and_after,
    evaluated,
    follow,
    lower_until,
    lowered,
    run_plan_plain,
)


def arrays(spec, **sizes):
    """Operands of a spec of NumPy's, in which unnamed lengths are 4."""
    inputs = spec.partition("->")[0].split(",")
    return [numbers(*(sizes.get(name, 4) for name in one)) for one in inputs]


def contraction(spec, **sizes):
    """The case of a contraction."""
    return follow(lambda *x: np.einsum(spec, *x), *arrays(spec, **sizes))


CASES = {
    "chain": ("ij,jk,kl->il", {"i": 20, "j": 30, "k": 10, "l": 20}),
    "vector": ("ij,jk,k->i", {"i": 20, "j": 30, "k": 10}),
    "stack": ("bij,bjk->bik", {"i": 30, "j": 30, "k": 30}),
    "interleaved": ("ajb,jc->acb", {"a": 10, "b": 10, "c": 10, "j": 20}),
    "alone": ("ij,jk->k", {"i": 30, "j": 30, "k": 30}),
    "elementwise": ("i,i,i->", {"i": 50}),
    "diagonal": ("ii,ij,jk->k", {"i": 8, "j": 9, "k": 10}),
}


@pytest.mark.parametrize("name", CASES)
def test_order_contractions_golden(golden, name):
    spec, sizes = CASES[name]
    golden(before_and_after("order_contractions", contraction(spec, **sizes)))


@pytest.mark.parametrize("name", ["l2", "product", "centred"])
def test_order_contractions_leaves_alone(name):
    case = example(name)
    graph = lower_until("order_contractions", case)
    assert order_contractions(graph, case.context) is graph


MORE = {
    **CASES,
    "outer": ("a,b,c->abc", {}),
    "nothing in common": ("ij,kl->", {}),
    "four": ("ijk,ilm,njm,nlk,abc->", {}),
    "stacks in another order": ("bhqd,bkhd->qbhk", {"q": 30, "k": 30, "d": 30}),
    "small stack": ("bij,bjk->bik", {"b": 20}),
    "two sums": ("ijk,jkl->il", {"j": 20, "k": 20, "i": 20, "l": 20}),
    "transposed": ("ij,jk->ki", {"i": 30, "j": 30, "k": 30}),
    "empty": ("ij,jk,kl->il", {"j": 0}),
}


@pytest.mark.parametrize("name", MORE)
@pytest.mark.parametrize("by_numpy", [False, True])
def test_values_are_those_of_numpy(name, by_numpy):
    spec, sizes = MORE[name]
    given = arrays(spec, **sizes)
    want = np.einsum(spec, *given, optimize=True)
    hidden = patch("axiomjit.passes.graph.order_contractions.find_spec", lambda name: None)
    case = contraction(spec, **sizes)
    np.testing.assert_allclose(evaluated(case.graph, case)[0], want)
    if by_numpy:
        with hidden:
            stages = lowered(case)
    else:
        stages = lowered(case)
    np.testing.assert_allclose(evaluated(stages.simplified, case)[0], want)
    (got,) = run_plan_plain(stages.plan, case.arguments, case.values)
    np.testing.assert_allclose(got, want)
    left = [n for n in post_order(stages.simplified.outputs) if isinstance(n, Op)]
    assert all(node.primitive is not PRODUCT for node in left)


@pytest.mark.parametrize(
    ("name", "kernels", "calls"),
    [
        ("chain", 0, 2),
        ("vector", 1, 1),
        ("stack", 0, 1),
        ("interleaved", 0, 1),
        ("elementwise", 1, 0),
        ("stacks in another order", 0, 1),
        ("small stack", 1, 0),
        ("two sums", 0, 1),
        ("transposed", 0, 1),
    ],
)
def test_matrices_go_to_a_library_and_small_ones_into_loops(name, kernels, calls):
    spec, sizes = MORE[name]
    steps = lowered(contraction(spec, **sizes)).plan.steps
    found = [sum(isinstance(step, kind) for step in steps) for kind in (Launch, Call)]
    assert found == [kernels, calls]


def test_the_order_has_fewest_multiplications():
    """A matrix times a matrix times a vector: the vector first."""
    stages = lowered(contraction("ij,jk,k->i", i=100, j=100, k=100))
    multiplied = [n for n in post_order(stages.simplified.outputs) if isinstance(n, Op)]
    assert all(len(op.extents) <= 2 for op in multiplied)


@pytest.mark.parametrize("layout", ["C", "F", "broadcast", "strided"])
def test_stacks_of_any_layout(layout):
    left, right = numbers(3, 5, 4), numbers(3, 4, 6)
    if layout == "F":
        left, right = np.asfortranarray(left), np.asfortranarray(right)
    elif layout == "broadcast":
        left = np.broadcast_to(left[:1], left.shape)
        right = np.broadcast_to(right[:, :, :1], right.shape)
    elif layout == "strided":
        left, right = numbers(6, 10, 8)[::2, ::-2, ::2], numbers(3, 8, 6)[:, ::-2]
    for out in (np.empty((3, 5, 6)), np.empty((5, 6, 3)).transpose(2, 0, 1)):
        MATRIX_PRODUCTS.evaluate((left, right), ((0, 1, 3), (0, 3, 2)), out)
        np.testing.assert_allclose(out, left @ right)
    shuffled = np.empty((6, 3, 5))
    MATRIX_PRODUCTS.evaluate((left, right), ((1, 2, 3), (1, 3, 0)), shuffled)
    np.testing.assert_allclose(shuffled, (left @ right).transpose(2, 0, 1))


STACKS = {
    "a matrix by a stack": ((2, 4), (3, 4, 5), ((1, 3), (0, 3, 2))),
    "a stack by a matrix": ((3, 2, 4), (4, 5), ((0, 1, 3), (3, 2))),
    "a stack by a stack": ((3, 2, 4), (3, 4, 5), ((0, 1, 3), (0, 3, 2))),
    "a vector by a stack": ((4,), (3, 4, 5), ((2,), (0, 2, 1))),
    "images by channels": ((3, 4, 5, 6), (2, 4), ((0, 4, 2, 3), (1, 4))),
}


@pytest.mark.parametrize("name", STACKS)
@pytest.mark.parametrize("turned", [False, True])
def test_products_of_stacks_copy_nothing(name, turned, monkeypatch):
    first, second, labels = STACKS[name]
    operands = [np.random.default_rng(1).random([4 * n for n in one]) for one in (first, second)]
    rank = max(map(max, labels))
    pairs = [zip(one, a.shape, strict=True) for one, a in zip(labels, operands, strict=True)]
    lengths = dict(pair for one in pairs for pair in one)
    out, met = np.empty([lengths[k] for k in range(rank)]), []
    right = np.einsum(operands[0], labels[0], operands[1], labels[1], range(rank))
    matmul = np.matmul

    def noted(left, right, out=None):
        met.extend((left, right, out))
        return matmul(left, right, out=out)

    monkeypatch.setattr(np, "matmul", noted)
    order = [1, 0] if turned else [0, 1]
    MATRIX_PRODUCTS.evaluate([operands[k] for k in order], tuple(labels[k] for k in order), out)
    np.testing.assert_allclose(out, right, rtol=1e-12)
    assert all(any(np.shares_memory(one, given) for given in (*operands, out)) for one in met)


@pytest.mark.parametrize("n", [3, 64])
@pytest.mark.parametrize("bound", [False, True])
def test_a_stack_of_single_columns_is_one_matrix(n, bound, monkeypatch):
    """NumPy's matmul multiplies the columns one by one."""
    left, right = np.random.default_rng(1).random((n, n)), numbers(100, n, 1)
    labels, out, met = ((1, 3), (0, 3, 2)), np.empty((100, n, 1)), []
    want, matmul = left @ right, np.matmul

    def noted(left, right, out=None):
        met.extend((left.ndim, right.ndim))
        return matmul(left, right, out=out)

    if bound:
        assert MATRIX_PRODUCTS.direct_function((left, right), labels) is None
        assert MATRIX_PRODUCTS.direct_function((left, numbers(100, n, 8)), labels) is not None
    monkeypatch.setattr(np, "matmul", noted)
    MATRIX_PRODUCTS.evaluate((left, right), labels, out)
    np.testing.assert_allclose(out, want, rtol=1e-12)
    assert met == [2, 2]


def drawn(rng, lengths):
    """An array of these lengths, with its dimensions in any order in memory, and any strides."""
    order = rng.permutation(len(lengths))
    array = rng.random([2 * lengths[d] for d in order])
    parts = [slice(0, n) if rng.random() < 0.7 else slice(n // 2, None) for n in array.shape]
    pairs = zip(parts, order, strict=True)
    array = array[tuple(slice(p.start, p.start + lengths[d]) for p, d in pairs)]
    array = array.transpose(np.argsort(order))
    return array[::-1] if len(lengths) and rng.random() < 0.2 else array


def test_products_of_any_labels():
    rng = np.random.default_rng(0)
    for _ in range(1500):
        count = int(rng.integers(2, 6))
        rank = int(rng.integers(1, count + 1))
        lengths = rng.integers(0 if rng.random() < 0.1 else 1, 5, count).tolist()
        whose = [int(rng.integers(0, 3)) if k < rank else 2 for k in range(count)]
        sides = [[k for k in range(count) if whose[k] in (side, 2)] for side in (0, 1)]
        labels = tuple(tuple(rng.permutation(one).tolist()) for one in sides)
        left, right = (drawn(rng, [lengths[k] for k in one]) for one in labels)
        out = drawn(rng, lengths[:rank])
        expected = np.einsum(left, labels[0], right, labels[1], range(rank))
        MATRIX_PRODUCTS.evaluate((left, right), labels, out)
        np.testing.assert_allclose(out, expected, rtol=1e-12)


@pytest.mark.parametrize(("matrices", "length"), [(2, 64), (100, 8), (2, 4), (1000, 2)])
def test_stacks_of_many_small_matrices_go_to_the_library(matrices, length):
    left, right = numbers(matrices, length, length), numbers(matrices, length, length)
    steps = lowered(follow(np.matmul, left, right)).plan.steps
    calls = sum(isinstance(step, Call) for step in steps)
    assert calls == (matrices * length**3 >= 16_384 and length > 2)
