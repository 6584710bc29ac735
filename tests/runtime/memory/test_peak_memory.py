"""What fused kernels allocate beside their results: at most a mebibyte."""

from unittest.mock import patch

import numpy as np
import pytest

import axiomjit as aj
from axiomjit.runtime.memory import allocation
from tests.passes.folded import MEANT
from tests.passes.loops.test_rows_in_cache import argmax, layernorm, logsumexp, ranks, softmax

MEBIBYTE = 2**20
SHAPE = (1200, 1000)
COMPOSE = MEANT["compose"].acc
SQUARES = aj.Accumulator(0.0, np.add, lambda e: e * e, None, True, True)
PROGRAMS = {
    "sum": lambda x: x.sum(),
    "sum of squares by rows": lambda x: (x * x).sum(axis=1),
    "sum of squares by columns": lambda x: (x * x).sum(axis=0),
    "max": lambda x: (x - 1.0).max(axis=1),
    "min by columns": lambda x: np.abs(x).min(axis=0),
    "mean": lambda x: (x * 2.0).mean(axis=1),
    "variance": lambda x: x.var(axis=1),
    "variance of all": lambda x: x.var(),
    "standardised": lambda x: (x - x.mean()) / x.std(),
    "cumsum of two rows": lambda x: np.cumsum(x.reshape(2, 600_000) * 2.0, axis=1),
    "deviation": lambda x: (x + 1.0).std(axis=-1),
    "softmax": softmax,
    "layernorm": lambda x: layernorm(x, x[0], x[1]),
    "logsumexp": logsumexp,
    "argmax": argmax,
    "argmax of all": lambda x: np.argmax(x),
    "argmin by columns": lambda x: np.argmin(x * 2.0, axis=0),
    "ranks": lambda x: ranks(x.reshape(4, 300, 1000)),
    "several": lambda x: (x.sum(axis=1), x.max(axis=1), x * 2.0),
    "centred": lambda x: x - x.mean(axis=1, keepdims=True),
    "affine": lambda x: aj.fold(COMPOSE, x, x, axes=1),
    "affine by columns": lambda x: aj.fold(COMPOSE, x, x * 2.0, axes=0),
    "affine of all": lambda x: aj.fold(COMPOSE, x, x),
    "cumsum": lambda x: np.cumsum(x * 2.0, axis=1) + 1.0,
    "cumsum by columns": lambda x: np.sqrt(np.cumsum(x * x, axis=0)),
    "maximum.accumulate": lambda x: np.maximum.accumulate(x, axis=1),
    "affine running": lambda x: aj.fold(COMPOSE, x, x, axes=1, running=True),
    "tropical product": lambda x: aj.einsum(
        "ij;kj=>ik", x[:, :300], x[:300, :300], combine="add", reduce="max"
    ),
    "logsumexp of sums": lambda x: aj.einsum(
        "ij;kj=>ik", x[:, :300], x[:300, :300], combine="add", reduce="logsumexp"
    ),
    "squared distances": lambda x: aj.einsum(
        "ij;kj=>ik", x[:, :300], x[:300, :300], combine="sub", reduce=SQUARES
    ),
    "affine running by columns": lambda x: aj.fold(COMPOSE, x, x, axes=0, running=True),
    "cumsum of all": lambda x: np.cumsum(x * 2.0),
    "cumsum along several axes": lambda x: aj.fold("sum", x, running=True),
    "scan of a scan": lambda x: np.cumsum(np.cumsum(x, axis=0) * 2.0, axis=0),
    "argmax running": lambda x: aj.fold("argmax", x, axes=1, running=True),
    "reversed": lambda x: (x[::-1, ::-1] * 2.0).sum(),
    "reversed rows of Fortran order": lambda x: (x.T[::-1] + 1.0).max(axis=0),
    "masked": lambda x: np.where(x > 1.0, x, 0.0).sum(axis=0),
    "matrices": lambda x: aj.fold(MEANT["matrices"].acc, x, x, x, x, axes=1),
    "mixed ranks": lambda x: aj.elementwise(
        lambda a, b: (a * b, a + b), ["broadcast", ("accumulate", "sum")]
    )(x, x[:, 0]),
}


def beside_results(program):
    """Bytes that a call of a compiled program allocates beside its results."""
    taken: list[int] = []
    allocate = allocation.allocate

    def counted(shape, dtype, size_bytes=0):
        made = allocate(shape, dtype, size_bytes)
        taken.append(made.nbytes)
        return made

    x = np.random.default_rng(0).uniform(0.5, 1.5, SHAPE)
    function = aj.jit(program)
    function(x)
    with patch.object(allocation, "allocate", counted):
        made = function(x)
    results = made if isinstance(made, tuple | list) else (made,)
    return sum(taken) - sum(np.asarray(one).nbytes for one in results)


@pytest.mark.parametrize("name", PROGRAMS)
def test_fused_kernels_allocate_their_results(name):
    assert beside_results(PROGRAMS[name]) <= MEBIBYTE


def test_the_count_sees_temporaries():
    assert beside_results(lambda x: np.sort(x * 2.0).sum()) >= 8 * np.prod(SHAPE)
