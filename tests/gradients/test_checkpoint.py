"""`checkpoint`: what is inside is computed once more, and the same gradients come out."""

import numpy as np
import pytest

import axiomjit as aj
from axiomjit.gradients import recomputing
from axiomjit.gradients.marks import marked

R = np.random.default_rng(11)
X, W = R.normal(size=(200, 4)), R.normal(size=(4, 4))


def layers(x):
    for _ in range(5):
        x = np.tanh(np.exp(0.1 * np.sin(x @ W)) @ W)
    return x


def stack(block):
    return lambda x: (block(block(block(block(x)))) ** 2).sum()


@pytest.fixture(autouse=True)
def _in_numpy(monkeypatch):
    monkeypatch.setattr(aj.config, "disable", True)


def test_a_block_is_computed_again_and_frees_memory():
    plain, again = (aj.grad(stack(one)) for one in (layers, aj.checkpoint(layers)))
    np.testing.assert_allclose(again(X), plain(X), rtol=1e-12)
    costs = [one.lower(X).cost for one in (plain, again)]
    assert costs[1].library_calls >= costs[0].library_calls + 30
    assert costs[1].peak_bytes < 0.6 * costs[0].peak_bytes


def test_without_marks_nothing_is_computed_again(monkeypatch):
    """Planted fault: copies without numbers are the nodes that exist."""
    monkeypatch.setattr(recomputing, "marked", lambda node: node)
    plain, again = (aj.grad(stack(one)) for one in (layers, aj.checkpoint(layers)))
    costs = [one.lower(X).cost for one in (plain, again)]
    assert costs[1].library_calls == costs[0].library_calls
    assert recomputing.marked is not marked


def test_what_a_closure_reads_has_a_gradient():
    def loss(x, w):
        block = aj.checkpoint(lambda y: np.tanh(y @ w) + w[0])
        return (block(x) ** 2).sum()

    def plain(x, w):
        return ((np.tanh(x @ w) + w[0]) ** 2).sum()

    for found, wanted in zip(
        aj.grad(loss, (0, 1))(X, W), aj.grad(plain, (0, 1))(X, W), strict=True
    ):
        np.testing.assert_allclose(found, wanted, rtol=1e-12)


def test_draws_happen_once():
    def loss(x, generator):
        block = aj.checkpoint(lambda y: np.sin(y * generator.normal(size=4)))
        return block(x).sum()

    drawn = np.random.default_rng(3).normal(size=4)
    gradient, generator = aj.grad(loss), np.random.default_rng(3)
    np.testing.assert_allclose(gradient(X, generator), np.cos(X * drawn) * drawn)
    np.testing.assert_array_equal(
        generator.normal(size=2), np.random.default_rng(3).normal(size=6)[4:]
    )


def test_results_in_containers_and_higher_orders():
    @aj.checkpoint
    def block(a, both):
        return {"sum": a + both[0], "parts": [a * both[1], 2]}

    def loss(x):
        made = block(x, (x * x, np.sin(x)))
        return (made["sum"] * made["parts"][0]).sum()

    aj.check_grad(loss, np.array([0.3, -1.2]), order=2)
    cube = aj.checkpoint(lambda s: np.sin(s) ** 3)
    aj.check_grad(lambda s: cube(cube(s)), np.array([0.3, -1.2]), order=2)


def test_outside_of_gradients_it_is_the_function():
    block = aj.checkpoint(layers)
    np.testing.assert_array_equal(block(X), layers(X))
    np.testing.assert_allclose(aj.jit(block)(X), layers(X))
    assert block.__name__ == "layers"


def test_rules_inside_and_loops_around():
    @aj.custom_grad
    def clipped(x):
        return x * 1.0, lambda g: np.clip(g, -1, 1)

    block = aj.checkpoint(lambda x: clipped(x) * 5)
    assert aj.grad(lambda x: block(x).sum())(np.ones(2)).tolist() == [1, 1]

    def loop(x):
        return aj.fori_loop(0, 9, lambda k, y: aj.checkpoint(np.sin)(y), x[0])

    aj.check_grad(loop, X[0])
