"""The memory that `.cost` predicts is what a call allocates."""

import tracemalloc

import numpy as np
import pytest

import axiomjit

N = 400
RNG = np.random.default_rng(0)
X, Y = RNG.normal(size=(2, N, N))
SMALL = 20_000
"""Bytes of Python objects of one call, and of what the libraries keep for themselves."""


def standardised(x):
    return (x - x.mean(axis=0)) / x.std(axis=0)


PROGRAMS = {
    "chain": lambda x, y: np.sqrt(np.abs(x - y)) * 2 + np.exp(x),
    "two results": lambda x, y: (x + y, x * y),
    "rows": lambda x, y: np.exp(x - x.max(axis=1)[:, None]).sum(axis=1),
    "everything": lambda x, y: ((x - y) ** 2).sum(),
    "columns": lambda x, y: standardised(x) * y,
    "product": lambda x, y: (x * 2) @ (y + 1),
    "products": lambda x, y: ((x * 2) @ (y + 1)) @ (x - y),
    "chain of products": lambda x, y: np.exp(-np.abs((np.tanh(x @ y) + 1) @ y)) @ x,
    "matrix times vector": lambda x, y: (x * y) @ y[0],
    "transposed": lambda x, y: (x.T + y).T @ y,
    "joined": lambda x, y: np.concatenate([x * 2, y + 1], axis=1),
    "prefix sums": lambda x, y: np.cumsum(x * y, axis=1) + 1,
    "sorted": lambda x, y: np.sort(x * y, axis=1)[:, ::2],
}


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize("name", PROGRAMS)
def test_the_peak_is_predicted(name, monkeypatch):
    monkeypatch.setattr(axiomjit.config, "check", False)
    jitted = axiomjit.jit(PROGRAMS[name])
    peak = jitted.lower(X, Y).cost.peak_bytes
    for _ in range(3):  # the first calls make the program and its native entry
        jitted(X, Y)
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        result = jitted(X, Y)
        measured = tracemalloc.get_traced_memory()[1] - before
    finally:
        tracemalloc.stop()
    del result
    assert peak - SMALL <= measured <= peak + SMALL


@pytest.mark.usefixtures("unchecked")
def test_an_elementwise_chain_needs_its_result_only():
    cost = axiomjit.jit(PROGRAMS["chain"]).lower(X, Y).cost
    assert cost.peak_bytes == X.nbytes
    assert cost.temporary_bytes == 0


@pytest.mark.parametrize("length", [2, 5, 9])
@pytest.mark.parametrize("transposed", [False, True])
def test_chains_of_products_reuse_their_temporaries(length, transposed):
    def chain(x, y):
        for k in range(length):
            x = np.tanh(x) @ (y.T if transposed and k % 2 else y)
        return x.T.copy() if transposed else x

    jitted = axiomjit.jit(chain)
    assert jitted.lower(X, Y).cost.peak_bytes <= 3 * X.nbytes
    results = [jitted(X, Y) for _ in range(2)]
    assert np.allclose(results[0], chain(X, Y))
    assert np.array_equal(*results)
    assert all(result.base is None and result.flags.owndata for result in results)
