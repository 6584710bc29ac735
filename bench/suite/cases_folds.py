"""Cases that reduce axes: reductions, rows, scans, and reductions of broadcast operands."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from axiomjit.bench.suite.cases_elementwise import matrices, vectors
from axiomjit.bench.suite.workload import Array, Shelf, prange

REDUCTIONS = Shelf("reductions")
ROWS = Shelf("rows")
SCANS = Shelf("scans")
BROADCAST = Shelf("broadcast-reduce")

WIDE: Final = 1024


@REDUCTIONS.add(vectors(1), numexpr="sum(x)")
def sum_all(x: Array) -> Any:
    """A sum."""
    return x.sum()


def _sum_down_loops(a: Array) -> Any:
    out = np.zeros(a.shape[1])
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            out[j] += a[i, j]
    return out


@REDUCTIONS.add(matrices(1), numexpr="sum(a, axis=0)", loops=_sum_down_loops)
def sum_down(a: Array) -> Any:
    """Sums of columns."""
    return a.sum(axis=0)


def _sum_across_loops(a: Array) -> Any:
    out = np.zeros(a.shape[0])
    for i in prange(a.shape[0]):
        s = 0.0
        for j in range(a.shape[1]):
            s += a[i, j]
        out[i] = s
    return out


@REDUCTIONS.add(matrices(1), numexpr="sum(a, axis=1)", loops=_sum_across_loops)
def sum_across(a: Array) -> Any:
    """Sums of rows."""
    return a.sum(axis=1)


@REDUCTIONS.add(vectors(1), numexpr="max(x)")
def greatest(x: Array) -> Any:
    """A maximum."""
    return x.max()


@REDUCTIONS.add(vectors(1))
def variance(x: Array) -> Any:
    """A variance, two passes."""
    return x.var()


@REDUCTIONS.add(vectors(2), numexpr="sum((x - y) ** 2)")
def squared_difference(x: Array, y: Array) -> Any:
    """A map that is summed."""
    return ((x - y) ** 2).sum()


@REDUCTIONS.add(vectors(1))
def four_at_once(x: Array) -> Any:
    """Four folds of one array."""
    return x.sum(), x.max(), x.min(), (x * x).sum()


@REDUCTIONS.add(vectors(1))
def where_greatest(x: Array) -> Any:
    """The index of the maximum."""
    return np.argmax(x)


def _softmax_loops(a: Array) -> Any:
    out = np.empty_like(a)
    for i in prange(a.shape[0]):
        top = -np.inf
        for j in range(a.shape[1]):
            top = max(top, a[i, j])
        total = 0.0
        for j in range(a.shape[1]):
            out[i, j] = np.exp(a[i, j] - top)
            total += out[i, j]
        for j in range(a.shape[1]):
            out[i, j] /= total
    return out


@ROWS.add(matrices(1, WIDE, WIDE), loops=_softmax_loops)
def softmax(a: Array) -> Any:
    """A softmax of each row."""
    e = np.exp(a - a.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def _layernorm_loops(a: Array) -> Any:
    out = np.empty_like(a)
    n = a.shape[1]
    for i in prange(a.shape[0]):
        mean = 0.0
        for j in range(n):
            mean += a[i, j]
        mean /= n
        spread = 0.0
        for j in range(n):
            spread += (a[i, j] - mean) ** 2
        scale = 1.0 / np.sqrt(spread / n + 1e-5)
        for j in range(n):
            out[i, j] = (a[i, j] - mean) * scale
    return out


@ROWS.add(matrices(1, WIDE, WIDE), loops=_layernorm_loops)
def layernorm(a: Array) -> Any:
    """Each row minus its mean, divided by its standard deviation."""
    centred = a - a.mean(axis=1, keepdims=True)
    return centred / np.sqrt((centred * centred).mean(axis=1, keepdims=True) + 1e-5)


def _centre_columns_loops(a: Array) -> Any:
    mean = np.zeros(a.shape[1])
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            mean[j] += a[i, j]
    mean /= a.shape[0]
    out = np.empty_like(a)
    for i in prange(a.shape[0]):
        for j in range(a.shape[1]):
            out[i, j] = a[i, j] - mean[j]
    return out


@ROWS.add(matrices(1, WIDE, WIDE), loops=_centre_columns_loops)
def centre_columns(a: Array) -> Any:
    """Each column minus its mean."""
    return a - a.mean(axis=0)


@SCANS.add(vectors(1))
def running_sum(x: Array) -> Any:
    """A cumulative sum."""
    return np.cumsum(x)


def _drawdown_loops(x: Array) -> Any:
    out = np.empty_like(x)
    top = -np.inf
    for i in range(len(x)):
        top = max(top, x[i])
        out[i] = top - x[i]
    return out


@SCANS.add(vectors(1), loops=_drawdown_loops)
def drawdown(x: Array) -> Any:
    """How far each element is below the maximum so far."""
    return np.maximum.accumulate(x) - x


def _pairwise_loops(a: Array, b: Array) -> Any:
    out = np.empty((a.shape[0], b.shape[0]))
    for i in prange(a.shape[0]):
        for j in range(b.shape[0]):
            s = 0.0
            for k in range(a.shape[1]):
                s += (a[i, k] - b[j, k]) ** 2
            out[i, j] = s
    return out


@BROADCAST.add(matrices(2, 400, 32), loops=_pairwise_loops)
def pairwise(a: Array, b: Array) -> Any:
    """Squared distances of all pairs of points."""
    return ((a[:, None, :] - b[None, :, :]) ** 2).sum(axis=-1)


def _nearest_loops(x: Array, y: Array) -> Any:
    out = np.empty_like(x)
    for i in prange(len(x)):
        least = np.inf
        for j in range(len(y)):
            least = min(least, abs(x[i] - y[j]))
        out[i] = least
    return out


@BROADCAST.add(
    lambda rng: (rng.random(2000), rng.random(1000)),
    loops=_nearest_loops,
)
def nearest(x: Array, y: Array) -> Any:
    """The distance of each number to the nearest number of another array."""
    return np.abs(x[:, None] - y[None, :]).min(axis=1)


@BROADCAST.add(
    lambda rng: (rng.random(1000), rng.random(1000)),
)
def outer_waves(x: Array, y: Array) -> Any:
    """Expensive functions of each operand, combined in all pairs."""
    return np.sin(x * x)[None, :] + np.cos(y * y)[:, None]


@BROADCAST.add(
    lambda rng: (rng.random(1000), rng.random(500)),
)
def density(x: Array, centres: Array) -> Any:
    """A sum of bell curves."""
    return np.exp(-50.0 * (x[:, None] - centres[None, :]) ** 2).sum(axis=1)
