"""Contractions and stencils."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from axiomjit.bench.suite.cases_elementwise import SIDE, N, matrices, vectors
from axiomjit.bench.suite.workload import Array, Shelf, prange

CONTRACTIONS = Shelf("contractions")
STENCILS = Shelf("stencils")

SQUARE: Final = 512


@CONTRACTIONS.add(matrices(2, SQUARE, SQUARE), einsum="ij,jk->ik")
def matmul(a: Array, b: Array) -> Any:
    """A product of matrices."""
    return a @ b


@CONTRACTIONS.add(vectors(2), numexpr="sum((x - y) * (x - y))")
def l2(x: Array, y: Array) -> Any:
    """A squared distance as a product."""
    t = x - y
    return np.dot(t.T, t)


@CONTRACTIONS.add(lambda rng: (rng.random((SIDE, SIDE)), rng.random(SIDE), rng.random(SIDE)))
def dense_layer(a: Array, x: Array, b: Array) -> Any:
    """A matrix times a vector, and what follows it in a network."""
    return np.maximum(a @ x + b, 0.0)


def _batch_loops(a: Array, b: Array) -> Any:
    out = np.zeros((a.shape[0], a.shape[1], b.shape[2]))
    for n in prange(a.shape[0]):
        for i in range(a.shape[1]):
            for k in range(a.shape[2]):
                for j in range(b.shape[2]):
                    out[n, i, j] += a[n, i, k] * b[n, k, j]
    return out


@CONTRACTIONS.add(
    lambda rng: (rng.random((4000, 8, 8)), rng.random((4000, 8, 8))),
    einsum="nik,nkj->nij",
    loops=_batch_loops,
)
def batch_matmul(a: Array, b: Array) -> Any:
    """Products of many small matrices."""
    return a @ b


@CONTRACTIONS.add(
    lambda rng: (rng.random((300, 20)), rng.random((20, 300)), rng.random((300, 20))),
    einsum="ij,jk,kl->il",
)
def chain(a: Array, b: Array, c: Array) -> Any:
    """A chain of products whose order matters."""
    return np.einsum("ij,jk,kl->il", a, b, c, optimize=True)


def _jacobi_loops(a: Array) -> Any:
    out = np.empty((a.shape[0] - 2, a.shape[1] - 2))
    for i in prange(out.shape[0]):
        for j in range(out.shape[1]):
            across = a[i + 1, j] + a[i + 1, j + 2]
            out[i, j] = 0.25 * (across + a[i, j + 1] + a[i + 2, j + 1])
    return out


@STENCILS.add(matrices(1), loops=_jacobi_loops)
def jacobi(a: Array) -> Any:
    """The mean of four neighbours."""
    return 0.25 * (a[1:-1, :-2] + a[1:-1, 2:] + a[:-2, 1:-1] + a[2:, 1:-1])


@STENCILS.add(vectors(1))
def second_difference(x: Array) -> Any:
    """Three neighbours in a row."""
    return x[2:] - 2.0 * x[1:-1] + x[:-2]


def _blur_loops(a: Array) -> Any:
    rows, columns = a.shape
    out = np.empty_like(a)
    for i in prange(rows):
        for j in range(columns):
            s = 0.0
            for di in range(-1, 2):
                for dj in range(-1, 2):
                    s += a[min(max(i + di, 0), rows - 1), min(max(j + dj, 0), columns - 1)]
            out[i, j] = s / 9.0
    return out


@STENCILS.add(matrices(1), loops=_blur_loops)
def blur(a: Array) -> Any:
    """A box filter with its edges repeated."""
    p = np.pad(a, 1, mode="edge")
    top = p[:-2, :-2] + p[:-2, 1:-1] + p[:-2, 2:]
    middle = p[1:-1, :-2] + p[1:-1, 1:-1] + p[1:-1, 2:]
    bottom = p[2:, :-2] + p[2:, 1:-1] + p[2:, 2:]
    return (top + middle + bottom) / 9.0


def _moving_mean_loops(x: Array) -> Any:
    out = np.empty(len(x) - 7)
    for i in prange(len(out)):
        s = 0.0
        for k in range(8):
            s += x[i + k]
        out[i] = s / 8.0
    return out


@STENCILS.add(vectors(1, N // 2), loops=_moving_mean_loops)
def moving_mean(x: Array) -> Any:
    """Means over a sliding window."""
    return sliding_window_view(x, 8).mean(axis=-1)
